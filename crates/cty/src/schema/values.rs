//! Values derived from a schema: the value with nothing set, and the paths of a value's sensitive
//! and write-only attributes.

use std::sync::Arc;

use super::{Attribute, Block, NestedBlock, NestedObject, Nesting, Schema};
use crate::transform::step_to;
use crate::{Path, PathStep, Type, Value};

impl Schema {
    /// Returns the value with nothing set; computed once.
    pub fn empty_value(&self) -> &Value {
        self.empty.get_or_init(|| self.block.empty_value())
    }
}

impl Block {
    /// Returns the value of this block with nothing set: attributes are null; lists, sets and maps
    /// of blocks are empty; groups are present.
    pub fn empty_value(&self) -> Value {
        let blocks = self
            .blocks
            .iter()
            .map(|(n, b)| (n.clone(), b.empty_value()));
        let attributes = self
            .attributes
            .iter()
            .map(|(n, a)| (n.clone(), a.empty_value()));
        Value::object_from_map(blocks.chain(attributes))
    }

    /// Returns the paths of the outermost attributes of this value that are sensitive by the
    /// schema.
    pub fn sensitive_paths(&self, value: &Value) -> Vec<Path> {
        let mut paths = Vec::new();
        block_paths(self, value, &Path::root(), &|a| a.sensitive, &mut paths);
        paths
    }

    /// Returns the paths of the write-only attributes of this value, even if null.
    pub fn write_only_paths(&self, value: &Value) -> Vec<Path> {
        let mut paths = Vec::new();
        block_paths(self, value, &Path::root(), &|a| a.write_only, &mut paths);
        paths
    }

    /// Returns the paths of the outermost attributes for which `chosen` is true, even if they are
    /// null.
    pub fn paths_where(&self, value: &Value, chosen: &dyn Fn(&Attribute) -> bool) -> Vec<Path> {
        let mut paths = Vec::new();
        block_paths(self, value, &Path::root(), chosen, &mut paths);
        paths
    }
}

impl Attribute {
    /// Returns null of the attribute's type.
    pub fn empty_value(&self) -> Value {
        Value::null(self.implied_type())
    }
}

impl NestedBlock {
    /// Returns the value without such a block.
    pub fn empty_value(&self) -> Value {
        let none: [(&str, Value); 0] = [];
        match self.nesting {
            Nesting::Single => Value::null(self.block.implied_type()),
            Nesting::Group => self.block.empty_value(),
            Nesting::Set => Value::set(self.block.implied_type(), Vec::new()),
            Nesting::List => match self.block.implied_type() {
                // Blocks with dynamic parts are tuples and objects; see [`Block::implied_type`].
                ty if ty.has_dynamic() => Value::empty_tuple(),
                ty => Value::list(ty, Vec::new()),
            },
            Nesting::Map => match self.block.implied_type() {
                ty if ty.has_dynamic() => Value::empty_object(),
                ty => Value::map(ty, none),
            },
        }
    }
}

type Chosen<'a> = &'a dyn Fn(&Attribute) -> bool;

fn block_paths(block: &Block, value: &Value, at: &Path, chosen: Chosen<'_>, paths: &mut Vec<Path>) {
    if !matches!(value.ty(), Type::Object(_)) || value.is_null() {
        return;
    }
    attribute_paths(block.attributes.iter(), value, at, chosen, paths);
    for (name, nested) in &block.blocks {
        let Some(inner) = value.as_map().and_then(|m| m.get(name)) else {
            continue;
        };
        let at = at.attr(name.clone());
        match nested.nesting {
            Nesting::Single | Nesting::Group => {
                block_paths(&nested.block, inner, &at, chosen, paths)
            }
            Nesting::List | Nesting::Set | Nesting::Map => {
                for (key, element) in inner.elements() {
                    block_paths(
                        &nested.block,
                        element,
                        &at.with(step_to(inner, &key)),
                        chosen,
                        paths,
                    );
                }
            }
        }
    }
}

fn attribute_paths<'a>(
    attributes: impl Iterator<Item = (&'a Arc<str>, &'a Attribute)>,
    value: &Value,
    at: &Path,
    chosen: Chosen<'_>,
    paths: &mut Vec<Path>,
) {
    for (name, attribute) in attributes {
        let here = || at.with(PathStep::Attr(name.clone()));
        if chosen(attribute) {
            // A chosen attribute covers everything inside it.
            paths.push(here());
            continue;
        }
        let Some(nested) = &attribute.nested else {
            continue;
        };
        if let Some(inner) = value.as_map().and_then(|m| m.get(name)) {
            nested_paths(nested, inner, &here(), chosen, paths);
        }
    }
}

fn nested_paths(
    nested: &NestedObject,
    value: &Value,
    at: &Path,
    chosen: Chosen<'_>,
    paths: &mut Vec<Path>,
) {
    if !value.is_given() {
        return;
    }
    match nested.nesting {
        Nesting::Single | Nesting::Group => {
            attribute_paths(nested.attributes.iter(), value, at, chosen, paths)
        }
        Nesting::List | Nesting::Set | Nesting::Map => {
            for (key, element) in value.elements().filter(|(_, e)| e.is_given()) {
                attribute_paths(
                    nested.attributes.iter(),
                    element,
                    &at.with(step_to(value, &key)),
                    chosen,
                    paths,
                );
            }
        }
    }
}
