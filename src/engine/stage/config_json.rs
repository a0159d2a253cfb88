//! Configuration in the plan representation: declarations, with each expression as its constant
//! value or its references. Built from the syntax tree; only constants are evaluated.

mod expression;
mod module;
mod provider;
mod reference;

use crate::stage::change::Change;
use crate::stage::managed::Reason;
use crate::stage::masks;
use crate::stage::objects::{self, RecordContext};
use ::provider::ProviderSchema;
use cty::schema::Schema;
use lang::addr::Resource as Name;
use lang::config::Module;
use lang::source::SourceMap;
use model::Action;
use provider::Providers;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use store::records::StateObject;

/// Input of the representation.
pub struct Configuration<'a> {
    /// Configuration as declared.
    pub declared: &'a Module,
    /// The same configuration, with resolved provider addresses.
    pub root: &'a Module,
    pub sources: &'a SourceMap,
    pub schemas: &'a HashMap<Arc<str>, Arc<ProviderSchema>>,
}

impl Configuration<'_> {
    /// Returns the representation.
    pub fn json(&self) -> Json {
        let providers = Providers::of(self);
        let mut out = Map::new();
        let blocks = providers.json();
        if !blocks.is_empty() {
            out.insert("provider_config".into(), blocks.into());
        }
        out.insert("root_module".into(), self.module(self.root, &providers));
        out.into()
    }

    /// Returns the version of the identity schema of an object's type.
    pub fn identity_version(&self, change: &Change) -> i64 {
        let schemas = self.schemas.get(&change.provider.address);
        let kind = &*change.address.resource.kind;
        schemas
            .and_then(|schemas| schemas.identities.get(kind))
            .map_or(0, |schema| schema.version)
    }

    /// Returns an object that refresh read but no state has: a data source of a check, which the
    /// deploy reads again (null for unknown parts if it failed), or an object to import.
    pub fn read_without_record(&self, change: &Change) -> Option<StateObject> {
        let read = change.reason == Some(Reason::ReadBecauseCheckNested);
        let (value, identity) = match change.importing().is_some() {
            true => (change.before.value.clone(), change.before.identity.as_ref()),
            false if read => (change.after.value.unknown_as_null(), None),
            false => return None,
        };
        // A state record cannot hold unknown values.
        if value.is_null() || !value.is_wholly_known() {
            return None;
        }
        let schema = self.schema(&change.provider.address, &change.address.resource)?;
        // An identity may be known only after the apply, even if the object is known.
        let known = identity.filter(|v| !v.is_null() && v.is_wholly_known());
        let nothing = BTreeSet::new();
        let around = RecordContext {
            address: &change.address,
            deposed: "",
            provider: &change.provider,
            tainted: false,
            create_before_destroy: false,
            skip_destroy: false,
            // A change replaces the dependencies when it is deployed.
            dependencies: match change.action() {
                Action::NoOp => &change.dependencies,
                _ => &nothing,
            },
            needs: &change.needs,
            identity: known.map(|v| {
                let text = masks::known_json(v).to_string();
                (text, self.identity_version(change))
            }),
        };
        objects::record(&around, schema, &value, &[]).ok()
    }

    fn schema(&self, address: &str, resource: &Name) -> Option<&Schema> {
        super::nodes::schema_of(self.schemas.get(address)?, resource)
    }
}

/// Inserts a value unless it is empty or false.
fn insert_nonempty(out: &mut Map<String, Json>, name: &str, value: impl Into<Json>) {
    let value = value.into();
    let empty = match &value {
        Json::String(text) => text.is_empty(),
        Json::Array(all) => all.is_empty(),
        Json::Object(all) => all.is_empty(),
        Json::Bool(is) => !is,
        Json::Null | Json::Number(_) => false,
    };
    if !empty {
        out.insert(name.to_owned(), value);
    }
}
