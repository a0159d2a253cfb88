//! Model of a state file, and its parsing.

use crate::error::ReadError;
use crate::fields::{Fields, path};
use crate::members::Members;
use crate::sensitive_paths;
use crate::text::{compact, indented};
use crate::version3;
use base64::Engine as _;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt::Display;

/// State file of version 4.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StateFile {
    /// Version of the program that wrote it.
    pub terraform_version: String,
    pub serial: u64,
    /// Empty if the file has none; no lineage is generated here.
    pub lineage: String,
    pub outputs: Vec<Output>,
    pub resources: Vec<Resource>,
    /// Results of checks: a list or `null`, as JSON text.
    pub check_results: Option<String>,
    /// Unknown fields.
    pub unknown_fields: Fields,
}

/// Output of the root module.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub name: String,
    /// Value as JSON text.
    pub value: String,
    /// Type as JSON text.
    pub ty: String,
    pub sensitive: bool,
    pub unknown_fields: Fields,
}

/// Kind of a resource: managed or data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Data,
    Managed,
}

/// Resource with its instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Address of the module instance; empty for the root module.
    pub module: String,
    pub mode: Mode,
    pub kind: String,
    pub name: String,
    /// Provider configuration, `provider["host/namespace/type"].alias`; `None` if each instance has
    /// its own.
    pub provider: Option<String>,
    pub instances: Vec<Instance>,
    pub unknown_fields: Fields,
}

impl Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.module.is_empty() {
            write!(f, "{}.", self.module)?;
        }
        if self.mode == Mode::Data {
            f.write_str("data.")?;
        }
        write!(f, "{}.{}", self.kind, self.name)
    }
}

/// Key of a resource instance.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    None,
    Number(u64),
    Name(String),
}

impl Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Number(n) => write!(f, "[{n}]"),
            Self::Name(name) => write!(f, "[{name:?}]"),
        }
    }
}

/// Object of an instance: the current one, or a deposed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    pub key: Key,
    pub tainted: bool,
    /// Deposed key of eight hexadecimal digits; empty for the current object.
    pub deposed: String,
    pub provider: Option<String>,
    pub schema_version: u64,
    /// JSON text of an object.
    pub attributes: String,
    /// JSON text of a list of paths.
    pub sensitive: String,
    pub private: Vec<u8>,
    pub dependencies: Vec<String>,
    pub create_before_destroy: bool,
    pub skip_destroy: bool,
    /// JSON text of an object.
    pub identity: Option<String>,
    pub identity_version: Option<u64>,
    pub unknown_fields: Fields,
}

impl StateFile {
    /// Parses the text of a state file; `None` for an empty file, that is, no state yet.
    ///
    /// # Errors
    /// The text is not a state file of a supported version; the error names the place.
    pub fn read(text: &[u8]) -> Result<Option<Self>, ReadError> {
        if text.is_empty() {
            return Ok(None);
        }
        let mut fields = Members::of_document(text).map_err(ReadError::Json)?;
        // Version 3 has another structure, and only its outputs can be converted.
        if version(&mut fields)? == 3 {
            return version3::read(fields).map(Some);
        }
        let outputs = fields.take_raw("outputs");
        let mut file = Self {
            outputs: outputs.map_or_else(|| Ok(Vec::new()), outputs_of)?,
            resources: Vec::new(),
            check_results: fields.take_raw("check_results").map(text_of),
            terraform_version: fields.take("terraform_version", "")?.unwrap_or_default(),
            serial: fields.take("serial", "")?.unwrap_or_default(),
            lineage: fields.take("lineage", "")?.unwrap_or_default(),
            unknown_fields: Fields::default(),
        };
        let resources = fields.take_list("resources", "")?;
        file.unknown_fields = fields.into_remaining();
        for (position, fields) in resources.into_iter().enumerate() {
            file.resources.push(Resource::read(fields, position)?);
        }
        refuse_duplicates(&file.resources)?;
        Ok(Some(file))
    }

    /// Returns the text of a state file on one line with a newline, as all backends but the local
    /// one store it; `None` for an empty file. Text of version 4 is only reformatted, not checked
    /// further.
    ///
    /// # Errors
    /// The text is not a state file.
    pub fn read_on_one_line(text: &[u8]) -> Result<Option<String>, ReadError> {
        if text.is_empty() {
            return Ok(None);
        }
        let mut fields = Members::of_document(text).map_err(ReadError::Json)?;
        if version(&mut fields)? == 3 {
            return Ok(Some(version3::read(fields)?.to_line()));
        }
        // The text was parsed as JSON before, so it is valid UTF-8.
        Ok(Some(compact(&String::from_utf8_lossy(text)) + "\n"))
    }

    /// Iterates over the provider configurations of resources and single instances, with
    /// duplicates.
    pub fn providers(&self) -> impl Iterator<Item = &String> {
        self.resources.iter().flat_map(|resource| {
            let of_instances = resource
                .instances
                .iter()
                .filter_map(|i| i.provider.as_ref());
            resource.provider.iter().chain(of_instances)
        })
    }

    /// Returns the text in the format of a local file: indented, with two newlines at the end.
    #[must_use]
    pub fn to_local(&self) -> String {
        indented(&self.json()) + "\n\n"
    }

    /// Returns the text in the format of all other backends: on one line, with a newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        compact(&self.json()) + "\n"
    }

    fn json(&self) -> String {
        // The maps have string keys and the JSON was parsed before, so writing cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Sorts resources, instances and outputs into the order of the format.
    pub fn sort(&mut self) {
        self.outputs.sort_by(|a, b| a.name.cmp(&b.name));
        self.resources.sort_by(|a, b| {
            let key = |r: &Resource| (r.module.clone(), r.mode, r.kind.clone(), r.name.clone());
            key(a).cmp(&key(b))
        });
        for resource in &mut self.resources {
            let key = |i: &Instance| (i.key.clone(), i.deposed.clone());
            resource.instances.sort_by_key(key);
        }
    }
}

/// Removes the version field; fails for versions other than 3 and 4.
fn version(fields: &mut Members<'_>) -> Result<u64, ReadError> {
    if fields.has("encrypted_data") {
        return Err(ReadError::Encrypted);
    }
    // A missing or malformed version suggests a file of another kind, not an old state.
    match fields.take::<u64>("version", "") {
        Ok(Some(known @ 3..=4)) => Ok(known),
        Ok(Some(0) | None) | Err(_) => Err(ReadError::Unversioned),
        Ok(Some(old @ 1..3)) => Err(ReadError::Old(old)),
        Ok(Some(version)) => Err(ReadError::New {
            version,
            writer: fields.take("terraform_version", "").ok().flatten(),
        }),
    }
}

fn text_of(raw: &RawValue) -> String {
    raw.get().to_owned()
}

fn outputs_of(raw: &RawValue) -> Result<Vec<Output>, ReadError> {
    let all = Members::of(raw, &path("", "outputs"))?;
    all.each()
        .map(|(name, raw)| Output::read(name, raw))
        .collect()
}

impl Output {
    fn read(name: String, raw: &RawValue) -> Result<Self, ReadError> {
        let at = format!("output {name:?}");
        let mut fields = Members::of(raw, &at)?;
        Ok(Self {
            // A null value is a value, so the field is required.
            value: text_of(fields.take_required_raw("value", &at)?),
            ty: text_of(fields.take_required_raw("type", &at)?),
            sensitive: fields.take("sensitive", &at)?.unwrap_or_default(),
            unknown_fields: fields.into_remaining(),
            name,
        })
    }
}

impl Resource {
    fn read(mut fields: Members<'_>, position: usize) -> Result<Self, ReadError> {
        let at = format!("resource {}", position + 1);
        let mode: String = fields.take_required("mode", &at)?;
        let instances = fields.take_list("instances", &at)?;
        let mut resource = Self {
            module: fields.take("module", &at)?.unwrap_or_default(),
            mode: match mode.as_str() {
                "managed" => Mode::Managed,
                "data" => Mode::Data,
                _ => {
                    return Err(ReadError::Value {
                        at: path(&at, "mode"),
                        found: mode,
                        expected: "\"managed\" or \"data\" is expected",
                    });
                }
            },
            kind: fields.take_required("type", &at)?,
            name: fields.take_required("name", &at)?,
            provider: fields.take("provider", &at)?,
            instances: Vec::new(),
            unknown_fields: fields.into_remaining(),
        };
        // Version 0.12 and 0.13 wrote the repetition mode of a resource. It follows from the
        // instance keys, and current versions do not write it.
        resource.unknown_fields.0.retain(|(name, _)| name != "each");
        let address = resource.to_string();
        for fields in instances {
            let instance = Instance::read(fields, &address)?;
            // Providers are per instance only if the resource has none.
            if resource.provider.is_none() && instance.provider.is_none() {
                return Err(ReadError::Missing {
                    at: path(&address, "provider"),
                });
            }
            resource.instances.push(instance);
        }
        Ok(resource)
    }
}

impl Instance {
    fn read(mut fields: Members<'_>, resource: &str) -> Result<Self, ReadError> {
        let key = key(&mut fields, resource)?;
        let at = format!("{resource}{key}");
        let status: Option<String> = fields.take("status", &at)?;
        let deposed: String = fields.take("deposed", &at)?.unwrap_or_default();
        let wrong = |name: &str, found: &str, expected| ReadError::Value {
            at: path(&at, name),
            found: found.to_owned(),
            expected,
        };
        let tainted = match status.as_deref() {
            None | Some("") => false,
            Some("tainted") => true,
            Some(other) => return Err(wrong("status", other, "only \"tainted\" is expected")),
        };
        if !deposed.is_empty() && deposed.len() != 8 {
            return Err(wrong("deposed", &deposed, "a deposed key has 8 characters"));
        }
        let private: Option<String> = fields.take("private", &at)?;
        let private = private.unwrap_or_default();
        let private = base64::engine::general_purpose::STANDARD
            .decode(&private)
            .map_err(|_| wrong("private", &private, "it must be base64"))?;
        let attributes = fields.take_raw("attributes");
        let sensitive = fields.take_raw("sensitive_attributes");
        if let Some(raw) = sensitive {
            // A path that is not understood would leave its value unprotected.
            sensitive_paths::check(raw, &path(&at, "sensitive_attributes"))?;
        }
        let identity = fields.take_raw("identity");
        Ok(Self {
            key,
            tainted,
            deposed,
            provider: fields.take("provider", &at)?,
            schema_version: fields.take("schema_version", &at)?.unwrap_or_default(),
            attributes: attributes.map_or_else(|| "{}".to_owned(), text_of),
            sensitive: sensitive.map_or_else(|| "[]".to_owned(), text_of),
            private,
            dependencies: fields.take("dependencies", &at)?.unwrap_or_default(),
            create_before_destroy: fields
                .take("create_before_destroy", &at)?
                .unwrap_or_default(),
            skip_destroy: fields.take("skip_destroy", &at)?.unwrap_or_default(),
            identity: identity.map(text_of),
            identity_version: fields.take("identity_schema_version", &at)?,
            unknown_fields: fields.into_remaining(),
        })
    }
}

fn key(fields: &mut Members<'_>, resource: &str) -> Result<Key, ReadError> {
    use serde_json::Value;
    let value: Option<Value> = fields.take("index_key", resource)?;
    let wrong = |found: &Value| ReadError::Value {
        at: path(resource, "index_key"),
        found: found.to_string(),
        expected: "a key is a non-negative whole number or a string",
    };
    match value {
        None => Ok(Key::None),
        Some(Value::String(name)) => Ok(Key::Name(name)),
        Some(found @ Value::Number(_)) => match found.as_u64().or_else(|| integer_part(&found)) {
            Some(number) => Ok(Key::Number(number)),
            None => Err(wrong(&found)),
        },
        Some(other) => Err(wrong(&other)),
    }
}

/// A fractional index without its fraction, as OpenTofu reads it. The instance then stands for the
/// whole index, and a plan removes it where the resource does not have that index.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is whole and within the checked range"
)]
fn integer_part(number: &serde_json::Value) -> Option<u64> {
    /// Every whole number up to here is exact in a float.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = number.as_f64()?.trunc();
    (0.0..=MAX_EXACT).contains(&whole).then_some(whole as u64)
}

/// Refuses duplicate objects, and instance keys of different kinds in one resource.
fn refuse_duplicates(resources: &[Resource]) -> Result<(), ReadError> {
    let mut seen = BTreeSet::new();
    for resource in resources {
        let address = resource.to_string();
        for instance in &resource.instances {
            let place = format!("{address}{}", instance.key);
            // A current object and deposed objects of one instance are different objects.
            let object = if instance.deposed.is_empty() {
                place.clone()
            } else {
                format!("{place} (deposed object {})", instance.deposed)
            };
            if !seen.insert(object.clone()) {
                return Err(ReadError::Twice(object));
            }
        }
        let numbers = |i: &Instance| matches!(i.key, Key::Number(_));
        let names = |i: &Instance| matches!(i.key, Key::Name(_));
        if resource.instances.iter().any(numbers) && resource.instances.iter().any(names) {
            return Err(ReadError::Keys(address));
        }
    }
    Ok(())
}
