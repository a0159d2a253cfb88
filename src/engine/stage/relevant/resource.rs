//! References in a resource, or only in the part of it that an attribute path names.

use super::{Following, Referred, reference};
use crate::stage::nodes::schema_of;
use cty::schema::{Block, Nesting};
use lang::addr::{ModuleInstance, Resource as Name};
use lang::body::{Body, BodySchema};
use lang::decode;
use lang::syntax::ast::{Expr, Step, StepKind, Traversal};
use std::sync::Arc;
use workspace::provider_addr::{address_of, provider_name};

impl Following<'_> {
    /// Returns the references in the part of a resource that these steps lead to.
    pub(super) fn of_resource(
        &self,
        at: &ModuleInstance,
        name: &Name,
        steps: &[Step],
    ) -> Vec<Referred> {
        let Some(module) = self.root.descendant(&at.path().0) else {
            return Vec::new();
        };
        let Some(resource) = module.resources.get(name) else {
            return Vec::new();
        };
        let address = address_of(module, provider_name(resource));
        let schemas = self.schemas.get(&address);
        let Some(schema) = schemas.and_then(|schemas| schema_of(schemas, name)) else {
            return Vec::new();
        };
        let all = Part::from_body(&resource.body, &schema.block).references_at(steps);
        all.iter()
            .filter_map(|t| reference(t, at, Some(name)))
            .collect()
    }
}

/// Part of a resource: bodies of one schema, and expressions found on the way.
struct Part<'s> {
    bodies: Vec<Body>,
    expressions: Vec<Arc<Expr>>,
    /// `None` within an attribute.
    schema: Option<&'s Block>,
}

impl<'s> Part<'s> {
    fn from_body(body: &Body, schema: &'s Block) -> Self {
        Self {
            bodies: vec![body.clone()],
            expressions: Vec::new(),
            schema: Some(schema),
        }
    }

    fn references_at(mut self, steps: &[Step]) -> Vec<Traversal> {
        for step in steps {
            if self.bodies.is_empty() {
                return Vec::new();
            }
            let Some(schema) = self.schema else { break };
            let name = match &step.kind {
                StepKind::Attr(name) => name.to_string(),
                // `x["name"]` selects the same as `x.name`.
                StepKind::Index(key) => match (key.as_str(), key.as_number()) {
                    (Some(text), _) => text.to_owned(),
                    (None, Some(number)) => number.to_text(),
                    (None, None) => return Vec::new(),
                },
            };
            if schema.attributes.contains_key(name.as_str()) {
                self.attribute(&name);
                break;
            }
            match schema.blocks.get(name.as_str()) {
                Some(nested) if matches!(nested.nesting, Nesting::Single | Nesting::Group) => {
                    self.block(&name);
                    self.schema = Some(&nested.block);
                }
                // The steps do not select one of several blocks; the whole body counts.
                Some(_) => {}
                None => {
                    (self.bodies, self.schema) = (Vec::new(), None);
                    break;
                }
            }
        }
        self.references()
    }

    fn attribute(&mut self, name: &str) {
        for body in std::mem::take(&mut self.bodies) {
            let (content, _, _) = body.partial_content(&BodySchema::new().optional(&[name]));
            self.expressions
                .extend(content.attribute(name).map(|a| a.expr.clone()));
        }
        self.schema = None;
    }

    fn block(&mut self, name: &str) {
        let either = BodySchema::new()
            .block(name, &[])
            .block("dynamic", &["type"]);
        let made = BodySchema::new()
            .optional(&["for_each", "labels"])
            .block("content", &[]);
        for body in std::mem::take(&mut self.bodies) {
            let (content, _, _) = body.partial_content(&either);
            for block in content.blocks {
                if *block.type_name == *name {
                    self.bodies.push(block.body);
                } else if block.labels.first().is_some_and(|l| &*l.text == name) {
                    let (content, _, _) = block.body.partial_content(&made);
                    // The collection and the labels of a `dynamic` block contribute to each of its
                    // blocks.
                    let arguments = content.attributes.values();
                    self.expressions.extend(arguments.map(|a| a.expr.clone()));
                    let last = content.blocks.into_iter().next_back();
                    self.bodies.extend(last.map(|block| block.body));
                }
            }
        }
    }

    fn references(&self) -> Vec<Traversal> {
        let met = self.expressions.iter();
        let mut all: Vec<Traversal> = met
            .flat_map(|expr| expr.traversals().into_iter().cloned())
            .collect();
        if let Some(schema) = self.schema {
            let inside = self.bodies.iter();
            all.extend(inside.flat_map(|body| decode::references(body, schema)));
        }
        all
    }
}
