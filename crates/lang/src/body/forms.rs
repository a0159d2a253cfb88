//! The forms of a body: of either syntax, merged, joined; and what is asked of each without a
//! schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use super::json::deep_properties;
use super::schema::{Block, BodySchema, Content};
use crate::diag::Diagnostics;
use crate::source::Span;
use crate::syntax::NativeBody;
use crate::syntax::json::{Node, NodeKind};

use crate::syntax::Attribute;

pub(super) type Names = BTreeSet<Arc<str>>;

/// A body of either syntax, or merged from two; cheap to clone.
#[derive(Clone, Debug)]
pub struct Body(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Native {
        body: Arc<NativeBody>,
        hidden_attributes: Arc<Names>,
        hidden_blocks: Arc<Names>,
    },
    Json {
        node: Arc<Node>,
        hidden: Arc<Names>,
    },
    Merged {
        base: Box<Body>,
        over: Box<Body>,
        /// Whether what nobody asks for is passed over, with a warning.
        lenient: bool,
    },
    /// Two bodies as one, without either going first: what both define is a duplicate.
    Joined {
        first: Box<Body>,
        second: Box<Body>,
    },
    /// A body in which all blocks of one type are replaced by this one.
    WithBlock {
        body: Box<Body>,
        block: Box<Block>,
        taken: bool,
    },
    Empty(Span),
}

impl Body {
    /// A body of the native syntax.
    pub fn native(body: Arc<NativeBody>) -> Body {
        Body(Kind::Native {
            body,
            hidden_attributes: Arc::default(),
            hidden_blocks: Arc::default(),
        })
    }

    /// A JSON value that is to be a body.
    pub fn json(node: Arc<Node>) -> Body {
        Body(Kind::Json {
            node,
            hidden: Arc::default(),
        })
    }

    /// A body without anything, at a place.
    pub fn empty(span: Span) -> Body {
        Body(Kind::Empty(span))
    }

    /// `base` with every argument of `over` in place of its own, and every type of block that
    /// `over` has instead of its own.
    pub fn merged(base: Body, over: Body) -> Body {
        Body(Kind::Merged {
            base: Box::new(base),
            over: Box::new(over),
            lenient: false,
        })
    }

    /// The same, of a block whose arguments somebody else asks for: a provider, or a module that is
    /// called. The reference engine passes over what they do not ask for where an override file
    /// changes the block.
    pub fn overridden(base: Body, over: Body) -> Body {
        Body(Kind::Merged {
            base: Box::new(base),
            over: Box::new(over),
            lenient: true,
        })
    }

    /// Both bodies as one; an argument in both is an error.
    pub fn joined(first: Body, second: Body) -> Body {
        Body(Kind::Joined {
            first: Box::new(first),
            second: Box::new(second),
        })
    }

    /// The body with this block instead of all of its type.
    #[must_use]
    pub fn with_block(self, block: Block) -> Body {
        Body(Kind::WithBlock {
            body: Box::new(self),
            block: Box::new(block),
            taken: false,
        })
    }

    /// The body without these arguments and blocks.
    #[must_use]
    pub fn without(&self, schema: &BodySchema) -> Body {
        self.take(schema, &mut Diagnostics::new()).1
    }

    /// The place of errors about what is missing from the body.
    pub fn missing_span(&self) -> Span {
        match &self.0 {
            Kind::Native { body, .. } => body.span.at_start(),
            Kind::Json { node, .. } => match node.kind {
                NodeKind::Object(_) => node.close_span(),
                _ => node.start_span(),
            },
            Kind::Merged { base, .. } => base.missing_span(),
            Kind::Joined { first, .. } => first.missing_span(),
            Kind::WithBlock { body, .. } => body.missing_span(),
            Kind::Empty(span) => *span,
        }
    }

    /// All of the body, braces included.
    pub fn span(&self) -> Span {
        match &self.0 {
            Kind::Native { body, .. } => body.span,
            Kind::Json { node, .. } => node.span,
            Kind::Merged { base, .. } => base.span(),
            Kind::Joined { first, .. } => first.span(),
            Kind::WithBlock { body, .. } => body.span(),
            Kind::Empty(span) => *span,
        }
    }

    /// What the schema names; anything else in the body is an error.
    pub fn content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        let (content, rest, mut diags) = self.partial_content(schema);
        rest.report_leftovers(schema, &content, &mut diags);
        (content, diags)
    }

    /// What the schema names, and a body with the rest.
    pub fn partial_content(&self, schema: &BodySchema) -> (Content, Body, Diagnostics) {
        let mut diags = Diagnostics::new();
        let (content, rest) = self.take(schema, &mut diags);
        for (name, required) in &schema.attributes {
            if *required && !content.attributes.contains_key(name) {
                diags.error(
                    content.missing,
                    "Missing required argument",
                    format!("The argument \"{name}\" is required, but no definition was found."),
                );
            }
        }
        (content, rest, diags)
    }

    /// Everything in the body as arguments; blocks are an error.
    pub fn just_attributes(&self) -> (IndexMap<Arc<str>, Attribute>, Diagnostics) {
        let mut diags = Diagnostics::new();
        let mut attributes = IndexMap::new();
        self.take_all(&mut attributes, &mut diags);
        (attributes, diags)
    }

    /// The types of blocks that the body holds (JSON cannot tell: none).
    pub fn block_types(&self) -> BTreeSet<Arc<str>> {
        match &self.0 {
            Kind::Native {
                body,
                hidden_blocks,
                ..
            } => body
                .blocks
                .iter()
                .map(|b| b.type_name.clone())
                .filter(|t| !hidden_blocks.contains(t))
                .collect(),
            Kind::Merged {
                base: a, over: b, ..
            }
            | Kind::Joined {
                first: a,
                second: b,
            } => a.block_types().union(&b.block_types()).cloned().collect(),
            Kind::WithBlock { body, block, taken } => {
                let mut types = body.block_types();
                types.remove(&block.type_name);
                if !taken {
                    types.insert(block.type_name.clone());
                }
                types
            }
            _ => BTreeSet::new(),
        }
    }

    /// Whether the body holds an argument (JSON: a property) of this name.
    pub fn has_attribute(&self, name: &str) -> bool {
        match &self.0 {
            Kind::Native {
                body,
                hidden_attributes,
                ..
            } => body.attributes.contains_key(name) && !hidden_attributes.contains(name),
            Kind::Json { node, hidden } => {
                let mut ignored = Diagnostics::new();
                !hidden.contains(name)
                    && deep_properties(node, None, &mut ignored)
                        .iter()
                        .any(|p| &*p.name == name)
            }
            Kind::Merged {
                base: a, over: b, ..
            }
            | Kind::Joined {
                first: a,
                second: b,
            } => a.has_attribute(name) || b.has_attribute(name),
            Kind::WithBlock { body, .. } => body.has_attribute(name),
            Kind::Empty(_) => false,
        }
    }

    /// Whether the body is of the JSON syntax.
    pub fn is_json(&self) -> bool {
        match &self.0 {
            Kind::Json { .. } => true,
            Kind::Merged { base, .. } => base.is_json(),
            Kind::Joined { first, .. } => first.is_json(),
            Kind::WithBlock { body, .. } => body.is_json(),
            _ => false,
        }
    }
}
