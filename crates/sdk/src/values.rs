//! Helpers for values of a schema: the objects in nested blocks, and empty collections in place of
//! missing blocks.

use cty::{Path, Value};

use crate::schema::{Block, Nested, Nesting};

impl Block {
    /// Replaces null in place of repeated blocks, as in states of other programs, by empty
    /// collections.
    pub(crate) fn with_empty_blocks(&self, value: Value) -> Value {
        // Most objects have no nested blocks and are returned without a copy.
        let (Some(members), false) = (value.as_map(), self.blocks.is_empty()) else {
            return value;
        };
        let mut members = members.to_map();
        for nested in &self.blocks {
            if let Some(inner) = members.get_mut(nested.name.as_str()) {
                *inner = nested.with_empty_blocks(inner);
            }
        }
        Value::object_from_map(members)
    }
}

impl Nested {
    fn with_empty_blocks(&self, value: &Value) -> Value {
        let element = self.block.implied_type();
        let inside = || {
            value
                .elements()
                .map(|(_, element)| self.block.with_empty_blocks(element.clone()))
        };
        match self.nesting {
            // An unknown block can still become any number of blocks.
            _ if !value.is_known() => value.clone(),
            Nesting::Single | Nesting::Group => self.block.with_empty_blocks(value.clone()),
            Nesting::List => Value::list(element, inside().collect()),
            Nesting::Set => Value::set(element, inside().collect()),
            Nesting::Map => {
                let keys = value
                    .elements()
                    .map(|(key, _)| key.as_str().unwrap_or_default().to_owned());
                Value::map(element, keys.zip(inside()))
            }
        }
    }
}

/// Returns the objects in a nested block or nested attribute, with their paths.
pub(crate) fn elements(nesting: Nesting, value: &Value, path: &Path) -> Vec<(Path, Value)> {
    match nesting {
        _ if !value.is_given() => Vec::new(),
        Nesting::Single | Nesting::Group => vec![(path.clone(), value.clone())],
        Nesting::List | Nesting::Map | Nesting::Set => value
            .elements()
            .map(|(key, element)| (path.index(key), element.clone()))
            .collect(),
    }
}
