//! Body variants (native, JSON, merged, joined) and the queries on them that need no schema.

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
        /// Unexpected items give warnings instead of errors.
        lenient: bool,
    },
    /// Two bodies as one, neither with precedence: an item defined in both is a duplicate.
    Joined {
        first: Box<Body>,
        second: Box<Body>,
    },
    /// Body whose blocks of one type are replaced by one block.
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

    /// Body of a JSON value.
    pub fn json(node: Arc<Node>) -> Body {
        Body(Kind::Json {
            node,
            hidden: Arc::default(),
        })
    }

    /// Empty body at a source position.
    pub fn empty(span: Span) -> Body {
        Body(Kind::Empty(span))
    }

    /// Merges two bodies: each argument of `over` replaces that of `base`, and its blocks of a type
    /// replace all of that type.
    pub fn merged(base: Body, over: Body) -> Body {
        Body(Kind::Merged {
            base: Box::new(base),
            over: Box::new(over),
            lenient: false,
        })
    }

    /// Merges the override of a block whose arguments are declared elsewhere: a provider or a
    /// called module. Arguments unknown to the declaration give warnings only, because OpenTofu
    /// ignores them in override files.
    pub fn overridden(base: Body, over: Body) -> Body {
        Body(Kind::Merged {
            base: Box::new(base),
            over: Box::new(over),
            lenient: true,
        })
    }

    /// Joins two bodies; an argument in both is an error.
    pub fn joined(first: Body, second: Body) -> Body {
        Body(Kind::Joined {
            first: Box::new(first),
            second: Box::new(second),
        })
    }

    /// Replaces all blocks of the same type by this one.
    #[must_use]
    pub fn with_block(self, block: Block) -> Body {
        Body(Kind::WithBlock {
            body: Box::new(self),
            block: Box::new(block),
            taken: false,
        })
    }

    /// Returns the body without these arguments and blocks.
    #[must_use]
    pub fn without(&self, schema: &BodySchema) -> Body {
        // Errors are dropped, because reading these items elsewhere reports them.
        self.take(schema, &mut Diagnostics::new()).1
    }

    /// Source position of errors about items missing from the body.
    pub fn missing_span(&self) -> Span {
        match &self.0 {
            // Same places as in HCL, since diagnostics are compared with those of the reference.
            Kind::Native { body, .. } => body.span.at_start(),
            Kind::Json { node, .. } => match node.kind {
                NodeKind::Object(_) => node.close_span(),
                _ => node.start_span(),
            },
            // The declaration itself is in the base.
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

    /// Returns the items named by the schema; any other item is an error.
    pub fn content(&self, schema: &BodySchema) -> (Content, Diagnostics) {
        let (content, rest, mut diags) = self.partial_content(schema);
        rest.report_leftovers(schema, &content, &mut diags);
        (content, diags)
    }

    /// Returns the items named by the schema, and a body with the remaining ones.
    pub fn partial_content(&self, schema: &BodySchema) -> (Content, Body, Diagnostics) {
        let mut diags = Diagnostics::new();
        let (content, rest) = self.take(schema, &mut diags);
        // Checked here and not in `take`, so that either of two merged bodies may define it.
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

    /// Reads all of the body as arguments; blocks are an error.
    pub fn just_attributes(&self) -> (IndexMap<Arc<str>, Attribute>, Diagnostics) {
        let mut diags = Diagnostics::new();
        let mut attributes = IndexMap::new();
        self.take_all(&mut attributes, &mut diags);
        (attributes, diags)
    }

    /// Block types in the body. Empty for JSON, where only the schema tells blocks from arguments.
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
                // The replacement stands for all blocks of its type.
                types.remove(&block.type_name);
                if !taken {
                    types.insert(block.type_name.clone());
                }
                types
            }
            _ => BTreeSet::new(),
        }
    }

    /// Returns true if the body has an argument (JSON: a property) of this name.
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

    /// Returns true for a body in JSON syntax.
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
