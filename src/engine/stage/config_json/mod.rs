//! The configuration as the plan representation has it: what is declared, each expression as the
//! constant that it is or by what it refers to. Made from the tree alone; nothing is evaluated but
//! constants.

mod expression;
mod module;
mod provider;
mod reference;

use crate::engine::provider::ProviderSchema;
use cty::schema::Schema;
use lang::addr::Resource as Name;
use lang::config::Module;
use lang::source::SourceMap;
use provider::Providers;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// What a representation is made from.
pub struct Configuration<'a> {
    /// As it is declared.
    pub declared: &'a Module,
    /// The same, with the whole address of every provider.
    pub root: &'a Module,
    pub sources: &'a SourceMap,
    pub schemas: &'a HashMap<Arc<str>, Arc<ProviderSchema>>,
}

impl Configuration<'_> {
    /// The representation.
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

    fn schema(&self, address: &str, resource: &Name) -> Option<&Schema> {
        super::nodes::schema_of(self.schemas.get(address)?, resource)
    }
}

/// Puts in what is not empty.
fn put(out: &mut Map<String, Json>, name: &str, value: impl Into<Json>) {
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
