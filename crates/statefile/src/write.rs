//! Serialization of a state file: fields in the order of OpenTofu, and empty fields omitted.

use crate::document::{Instance, Key, Mode, Output, Resource, StateFile};
use crate::fields::Fields;
use base64::Engine as _;
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};

/// Text that is already JSON.
struct Json<'a>(&'a str);

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let raw = serde_json::from_str::<&serde_json::value::RawValue>(self.0);
        raw.map_err(serde::ser::Error::custom)?.serialize(to)
    }
}

fn write_remaining<M: serde::ser::SerializeMap>(
    map: &mut M,
    rest: &Fields,
) -> Result<(), M::Error> {
    rest.0
        .iter()
        .try_for_each(|(name, raw)| map.serialize_entry(name, raw))
}

impl Serialize for StateFile {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("version", &4)?;
        map.serialize_entry("terraform_version", &self.terraform_version)?;
        map.serialize_entry("serial", &self.serial)?;
        map.serialize_entry("lineage", &self.lineage)?;
        map.serialize_entry("outputs", &Outputs(&self.outputs))?;
        map.serialize_entry("resources", &self.resources)?;
        // OpenTofu always writes this field.
        let checks = self.check_results.as_deref().unwrap_or("null");
        map.serialize_entry("check_results", &Json(checks))?;
        write_remaining(&mut map, &self.unknown_fields)?;
        map.end()
    }
}

struct Outputs<'a>(&'a [Output]);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for output in self.0 {
            map.serialize_entry(&output.name, output)?;
        }
        map.end()
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("value", &Json(&self.value))?;
        map.serialize_entry("type", &Json(&self.ty))?;
        if self.sensitive {
            map.serialize_entry("sensitive", &true)?;
        }
        write_remaining(&mut map, &self.unknown_fields)?;
        map.end()
    }
}

impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        if !self.module.is_empty() {
            map.serialize_entry("module", &self.module)?;
        }
        let mode = match self.mode {
            Mode::Data => "data",
            Mode::Managed => "managed",
        };
        map.serialize_entry("mode", mode)?;
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(provider) = &self.provider {
            map.serialize_entry("provider", provider)?;
        }
        map.serialize_entry("instances", &Instances(&self.instances))?;
        write_remaining(&mut map, &self.unknown_fields)?;
        map.end()
    }
}

struct Instances<'a>(&'a [Instance]);

impl Serialize for Instances<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.0.len()))?;
        for instance in self.0 {
            list.serialize_element(instance)?;
        }
        list.end()
    }
}

impl Serialize for Instance {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        match &self.key {
            Key::None => {}
            Key::Number(number) => map.serialize_entry("index_key", number)?,
            Key::Name(name) => map.serialize_entry("index_key", name)?,
        }
        if self.tainted {
            map.serialize_entry("status", "tainted")?;
        }
        if !self.deposed.is_empty() {
            map.serialize_entry("deposed", &self.deposed)?;
        }
        if let Some(provider) = &self.provider {
            map.serialize_entry("provider", provider)?;
        }
        map.serialize_entry("schema_version", &self.schema_version)?;
        map.serialize_entry("attributes", &Json(&self.attributes))?;
        map.serialize_entry("sensitive_attributes", &Json(&self.sensitive))?;
        if !self.private.is_empty() {
            let text = base64::engine::general_purpose::STANDARD.encode(&self.private);
            map.serialize_entry("private", &text)?;
        }
        if !self.dependencies.is_empty() {
            map.serialize_entry("dependencies", &self.dependencies)?;
        }
        for (name, set) in [
            ("create_before_destroy", self.create_before_destroy),
            ("skip_destroy", self.skip_destroy),
        ] {
            if set {
                map.serialize_entry(name, &true)?;
            }
        }
        if let Some(identity) = &self.identity {
            map.serialize_entry("identity", &Json(identity))?;
        }
        if let Some(version) = self.identity_version {
            map.serialize_entry("identity_schema_version", &version)?;
        }
        write_remaining(&mut map, &self.unknown_fields)?;
        map.end()
    }
}
