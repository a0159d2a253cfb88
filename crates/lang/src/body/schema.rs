//! Schemas to read a body by, and the content they find.

use std::sync::Arc;

use indexmap::IndexMap;

use super::forms::Body;
use crate::source::Span;
use crate::syntax::{Attribute, Label};

/// Arguments and blocks that a body may have.
#[derive(Clone, Debug, Default)]
pub struct BodySchema {
    /// Argument names; true if required.
    pub attributes: Vec<(Arc<str>, bool)>,
    /// Block types, with the names of their labels.
    pub blocks: Vec<(Arc<str>, Vec<Arc<str>>)>,
}

impl BodySchema {
    /// Empty schema.
    pub fn new() -> Self {
        Self::default()
    }

    /// Optional arguments.
    #[must_use]
    pub fn optional(mut self, names: &[&str]) -> Self {
        self.attributes
            .extend(names.iter().map(|n| (Arc::from(*n), false)));
        self
    }

    /// Required arguments.
    #[must_use]
    pub fn required(mut self, names: &[&str]) -> Self {
        self.attributes
            .extend(names.iter().map(|n| (Arc::from(*n), true)));
        self
    }

    /// A type of block with its labels.
    #[must_use]
    pub fn block(mut self, type_name: &str, labels: &[&str]) -> Self {
        self.blocks.push((
            type_name.into(),
            labels.iter().map(|l| Arc::from(*l)).collect(),
        ));
        self
    }
}

/// A block of either syntax.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its type.
    pub type_name: Arc<str>,
    /// The type alone.
    pub type_span: Span,
    /// Labels, as many as the schema requires.
    pub labels: Vec<Label>,
    /// Content of the block.
    pub body: Body,
    /// Source position of errors about the whole block: its header, or the opening brace in JSON.
    pub def_span: Span,
}

/// Items that a schema found in a body.
#[derive(Clone, Debug)]
pub struct Content {
    /// Arguments by name, in source order.
    pub attributes: IndexMap<Arc<str>, Attribute>,
    /// Blocks in source order.
    pub blocks: Vec<Block>,
    /// The source position of an error about something that is missing.
    pub missing: Span,
}

impl Content {
    /// An argument.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name)
    }

    /// The blocks of a type, in source order.
    pub fn blocks_of<'a>(&'a self, type_name: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks
            .iter()
            .filter(move |b| &*b.type_name == type_name)
    }
}
