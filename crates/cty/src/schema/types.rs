//! Types implied by schemas: the type of decoded values, and the type for conversion, in which
//! nested attributes that may be absent are optional.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Attribute, Block, NestedObject, Nesting, Schema};
use crate::{ObjectType, Path, PathStep, Type};

impl Schema {
    /// Returns the type of values of this schema; computed once.
    pub fn implied_type(&self) -> &Type {
        self.implied.get_or_init(|| self.block.implied_type())
    }
}

impl Block {
    /// Returns the type of values of this block, on the wire and in state. Lists and maps of blocks
    /// with dynamic parts are themselves dynamic: their values are tuples and objects.
    pub fn implied_type(&self) -> Type {
        self.conversion_type().without_optional()
    }

    /// Returns the type to which a configuration is converted: like [`Block::implied_type`], but
    /// nested attributes are optional if they are optional or computed.
    pub fn conversion_type(&self) -> Type {
        let mut attributes: BTreeMap<Arc<str>, Type> = BTreeMap::new();
        for (name, block) in &self.blocks {
            let inner = block.block.conversion_type();
            let ty = match block.nesting {
                Nesting::Single | Nesting::Group => inner,
                // The blocks can have different types, so no list or map type could hold them.
                Nesting::List | Nesting::Map if inner.has_dynamic() => Type::Dynamic,
                Nesting::List => Type::list(inner),
                Nesting::Map => Type::map(inner),
                Nesting::Set => Type::set(inner),
            };
            attributes.insert(name.clone(), ty);
        }
        for (name, attribute) in &self.attributes {
            attributes.insert(name.clone(), attribute.conversion_type());
        }
        Type::Object(Arc::new(ObjectType {
            attributes,
            optional: BTreeSet::new(),
        }))
    }

    /// Returns true if anything inside is sensitive.
    pub fn contains_sensitive(&self) -> bool {
        self.attributes.values().any(Attribute::contains_sensitive)
            || self.blocks.values().any(|b| b.block.contains_sensitive())
    }

    /// Returns the attribute at a path through nested blocks and nested attributes; `None` for
    /// blocks and for paths into an attribute of a plain type.
    pub fn attribute_at(&self, path: &Path) -> Option<&Attribute> {
        attribute_at(self, path.steps())
    }
}

fn attribute_at<'a>(block: &'a Block, steps: &[PathStep]) -> Option<&'a Attribute> {
    let (name, rest) = next_name(steps)?;
    match block.attributes.get(name) {
        Some(attribute) => attribute.at(rest),
        None => attribute_at(&block.blocks.get(name)?.block, rest),
    }
}

/// Returns the next attribute name and the steps after it; element keys are skipped.
fn next_name(steps: &[PathStep]) -> Option<(&str, &[PathStep])> {
    let at = steps.iter().position(|s| matches!(s, PathStep::Attr(_)))?;
    match &steps[at] {
        PathStep::Attr(name) => Some((name, &steps[at + 1..])),
        PathStep::Index(_) => None,
    }
}

impl Attribute {
    /// Returns the type of values of this attribute.
    pub fn implied_type(&self) -> Type {
        match &self.nested {
            Some(nested) => nested.implied_type(),
            None => self.ty.clone(),
        }
    }

    /// Returns the type for conversion.
    pub fn conversion_type(&self) -> Type {
        match &self.nested {
            Some(nested) => nested.conversion_type(),
            None => self.ty.clone(),
        }
    }

    /// Returns true if the attribute or anything inside it is sensitive.
    pub fn contains_sensitive(&self) -> bool {
        self.sensitive
            || self
                .nested
                .as_ref()
                .is_some_and(|n| n.attributes.values().any(Attribute::contains_sensitive))
    }

    fn at(&self, steps: &[PathStep]) -> Option<&Attribute> {
        if steps.is_empty() {
            return Some(self);
        }
        let (name, rest) = next_name(steps)?;
        match &self.nested {
            Some(nested) => nested.attributes.get(name)?.at(rest),
            None => None,
        }
    }
}

impl NestedObject {
    /// Returns the type of values of the attribute.
    pub fn implied_type(&self) -> Type {
        self.conversion_type().without_optional()
    }

    /// Returns the type for conversion: optional and computed attributes may be absent.
    pub fn conversion_type(&self) -> Type {
        let object = self.object_conversion_type();
        match self.nesting {
            Nesting::Single | Nesting::Group => object,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }

    /// Returns the type of one of the objects, for conversion.
    pub fn object_conversion_type(&self) -> Type {
        let attributes = self
            .attributes
            .iter()
            .map(|(n, a)| (n.clone(), a.conversion_type()))
            .collect();
        let optional = self
            .attributes
            .iter()
            .filter(|(_, a)| a.optional || a.computed)
            .map(|(n, _)| n.clone())
            .collect();
        Type::Object(Arc::new(ObjectType {
            attributes,
            optional,
        }))
    }

    /// Returns the attribute at a path inside a value of this schema; `None` for the objects
    /// themselves.
    pub fn attribute_at(&self, path: &Path) -> Option<&Attribute> {
        let (name, rest) = next_name(path.steps())?;
        self.attributes.get(name)?.at(rest)
    }

    /// Returns the type of one of the objects.
    pub fn object_type(&self) -> Type {
        self.object_conversion_type().without_optional()
    }
}
