//! Objects during a deploy: those of the state, and the values of the ones that this deploy has
//! applied or read.

use crate::deploy::record::Objects;
use crate::stage::managed;
use crate::stage::prior::marked;
use cty::Value;
use cty::schema::Schema;
use lang::addr::{AbsInstance, ConfigResource};
use model::mutex::lock;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use store::records::StateObject;

/// Objects of a running deploy.
pub(super) struct DeployedObjects {
    /// Current objects of the state. Shared with the records of calls that plugins request.
    state: Objects,
    applied: Mutex<Applied>,
}

#[derive(Default)]
struct Applied {
    /// Values of instances that were applied or read.
    values: HashMap<AbsInstance, Value>,
    /// Decoded values of the state's objects, because the value of a resource is assembled once
    /// for each of its instances in a group.
    decoded: HashMap<AbsInstance, Value>,
    /// Deposed keys of replaced objects, by change.
    deposed: HashMap<usize, String>,
}

impl DeployedObjects {
    /// Creates the objects from those of the state. Deposed ones have no value.
    pub(super) fn new(state: &[StateObject]) -> Self {
        let current = state.iter().filter(|o| o.deposed.is_empty());
        let state = current.filter_map(|o| Some((o.address.parse().ok()?, o.clone())));
        Self {
            state: Arc::new(Mutex::new(state.collect())),
            applied: Mutex::default(),
        }
    }

    /// Returns the current objects of the state.
    pub(super) fn in_state(&self) -> &Objects {
        &self.state
    }

    /// Returns the current object of an instance.
    pub(super) fn object(&self, address: &AbsInstance) -> Option<StateObject> {
        lock(&self.state).get(address).cloned()
    }

    /// Returns true if an instance has a current object.
    pub(super) fn contains(&self, address: &AbsInstance) -> bool {
        lock(&self.state).contains_key(address)
    }

    /// Returns the current value of an instance: applied, otherwise from the state.
    pub(super) fn value(&self, address: &AbsInstance, schema: &Schema) -> Option<Value> {
        let mut known = lock(&self.applied);
        if let Some(value) = known.values.get(address) {
            return Some(value.clone());
        }
        let state = lock(&self.state);
        let object = state.get(address)?;
        if let Some(value) = known.decoded.get(address) {
            return Some(value.clone());
        }
        let value = cty::json::decode(object.attributes.as_bytes(), schema.implied_type()).ok()?;
        let (plain, marks) = marked(value, &object.sensitive).unmark_deep_with_paths();
        let value = managed::mark(schema, plain, &marks);
        known.decoded.insert(address.clone(), value.clone());
        Some(value)
    }

    /// Replaces the current object of an instance.
    pub(super) fn put(&self, address: &AbsInstance, object: StateObject, value: Value) {
        lock(&self.state).insert(address.clone(), object);
        let mut known = lock(&self.applied);
        known.decoded.remove(address);
        known.values.insert(address.clone(), value);
    }

    /// Removes the current object of an instance.
    pub(super) fn remove(&self, address: &AbsInstance) {
        lock(&self.state).remove(address);
    }

    /// Adds the deposed key of the object that a change replaces.
    pub(super) fn set_deposed(&self, change: usize, key: String) {
        lock(&self.applied).deposed.insert(change, key);
    }

    /// Returns the deposed key of the object that a change replaces; `None` if it had no object.
    pub(super) fn deposed(&self, change: usize) -> Option<String> {
        lock(&self.applied).deposed.get(&change).cloned()
    }

    /// Removes and returns the deposed key, because the object becomes current again.
    pub(super) fn take_deposed(&self, change: usize) -> Option<String> {
        lock(&self.applied).deposed.remove(&change)
    }

    /// Returns the resources whose instances were applied or read.
    pub(super) fn changed_resources(&self) -> HashSet<ConfigResource> {
        let applied = lock(&self.applied);
        applied.values.keys().map(AbsInstance::config).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::Type;
    use cty::schema::{Attribute, Block};

    fn object(deposed: &str, id: &str) -> StateObject {
        StateObject {
            address: "x_y.a".to_owned(),
            deposed: deposed.to_owned(),
            provider: String::new(),
            schema_version: 0,
            attributes: format!("{{\"id\":\"{id}\"}}"),
            sensitive: "[]".to_owned(),
            private: Vec::new(),
            tainted: false,
            create_before_destroy: false,
            skip_destroy: false,
            dependencies: Vec::new(),
            needs: Vec::new(),
            identity: None,
            identity_version: 0,
            rest: String::new(),
        }
    }

    #[test]
    fn value_is_the_applied_one_otherwise_that_of_the_state() {
        let attributes = [("id".into(), Attribute::computed(Type::String))];
        let block = Block {
            attributes: attributes.into(),
            ..Block::default()
        };
        let schema = Schema::new(0, block);
        let address: AbsInstance = "x_y.a".parse().unwrap();
        let objects = DeployedObjects::new(&[object("", "1"), object("0a1b2c3d", "0")]);
        let id = || {
            let value = objects.value(&address, &schema)?;
            value.get_attr("id")?.as_str().map(str::to_owned)
        };
        assert_eq!(id().as_deref(), Some("1"));
        assert!(objects.changed_resources().is_empty());
        let applied = Value::object([("id", Value::string("2"))]);
        objects.put(&address, object("", "2"), applied);
        assert_eq!(id().as_deref(), Some("2"));
        assert_eq!(objects.changed_resources().len(), 1);
        objects.remove(&address);
        assert!(!objects.contains(&address) && objects.object(&address).is_none());
    }

    #[test]
    fn deposed_key_is_taken_once() {
        let objects = DeployedObjects::new(&[]);
        objects.set_deposed(3, "0a1b2c3d".to_owned());
        assert_eq!(objects.deposed(2), None);
        assert_eq!(objects.deposed(3).as_deref(), Some("0a1b2c3d"));
        assert_eq!(objects.take_deposed(3).as_deref(), Some("0a1b2c3d"));
        assert_eq!(objects.take_deposed(3), None);
    }
}
