//! Checks overlays: expressions that use each other in a cycle, and attributes that the type does
//! not have. A wrong overlay is left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::schema::{Attribute, Block, Schema};
use cty::{Type, Value};
use lang::diag::Diagnostics;
use lang::syntax::{Expr, ExprKind, Step, StepKind};

use crate::block::Overlay;
use crate::evaluate::{READY, SELF, STATUS, evaluate};
use crate::load::{Overlays, as_warnings};
use crate::settings::{Layer, TypeSettings};

impl Overlay {
    /// Reports `status` and `ready` that use themselves or each other.
    pub(crate) fn check_cycles(&self, diags: &mut Diagnostics) {
        let uses = |expr: &Expr, name: &str| expr.traversals().iter().any(|t| &*t.root == name);
        let named: Vec<_> = self.settings.named().collect();
        let both = named.len() == 2 && uses(named[0].1, READY) && uses(named[1].1, STATUS);
        for (name, expr) in named {
            if uses(expr, name) || both {
                let detail = match uses(expr, name) {
                    true => format!("\"{name}\" refers to itself. Use attributes of self instead."),
                    false => "\"status\" and \"ready\" refer to each other. Use attributes of self in one of them.".to_owned(),
                };
                diags.error(expr.span, "Cycle in a type", detail);
            }
        }
    }

    /// Reports expressions that are invalid for objects of the type.
    fn check(&self, schema: &Schema) -> Diagnostics {
        let mut diags = Diagnostics::new();
        let settings = &self.settings;
        let object = Value::unknown(schema.implied_type().clone());
        // A name that another layer may define has any value.
        let any = || Value::unknown(Type::Dynamic);
        let scope: BTreeMap<Arc<str>, Value> = BTreeMap::from([
            (Arc::from(SELF), object),
            (Arc::from(STATUS), any()),
            (Arc::from(READY), any()),
        ]);
        let columns = self.settings.columns.iter().flat_map(|c| &c.value);
        let columns = columns.map(|(_, expr)| ("columns", expr));
        for (name, expr) in settings.named().chain(columns) {
            let (value, found) = evaluate(expr, scope.clone());
            let failed = found.has_errors();
            diags.append(found);
            let ty = value.ty();
            let fits = match name {
                READY => *ty == Type::Bool,
                _ => !(ty.is_object() || ty.is_tuple() || ty.is_collection()),
            };
            if !failed && *ty != Type::Dynamic && !fits {
                let detail = match name {
                    READY => "It must be a bool.",
                    _ => "It must be a string, a number or a bool.",
                };
                let summary = format!("Invalid value of \"{name}\"");
                diags.error(expr.span, summary, detail);
            }
        }
        let mut block = schema.block.clone();
        for expr in self.settings.redacted() {
            if !redact(&mut block, &names(expr)) {
                let detail = "The type has no such attribute.";
                diags.error(expr.span, "Invalid value of \"redact\"", detail);
            }
        }
        diags
    }
}

impl Overlays {
    /// Leaves out the overlays that do not fit the schemas; types without a schema stay as they
    /// are, and so do built-in ones, which only display: a provider may lack their attributes.
    /// Returns a warning for each problem.
    pub fn check<'s>(&mut self, schema: impl Fn(&str) -> Option<&'s Schema>) -> Diagnostics {
        let mut diags = Diagnostics::new();
        for (name, overlays) in &mut self.by_type {
            // Decoded only for a type with an overlay of the operator.
            let checked = overlays.iter().any(|o| o.origin.layer > Layer::BuiltIn);
            let Some(schema) = checked.then(|| schema(name)).flatten() else {
                continue;
            };
            overlays.retain(|overlay| {
                if overlay.origin.layer == Layer::BuiltIn {
                    return true;
                }
                let found = overlay.check(schema);
                let valid = !found.has_errors();
                diags.append(found);
                valid
            });
        }
        as_warnings(diags)
    }

    /// Types with additional redactions, and their settings.
    pub fn redacting(&self) -> impl Iterator<Item = (&str, TypeSettings)> {
        let redacts = |overlays: &&Vec<Overlay>| {
            let mut all = overlays.iter();
            all.any(|overlay| !overlay.settings.redact.is_empty())
        };
        let types = self.by_type.iter().filter(move |(_, all)| redacts(all));
        types.map(|(name, _)| (&**name, self.effective(name)))
    }
}

impl TypeSettings {
    /// Marks the additional redactions in the schema of the type, so that all who use it hide these
    /// attributes. An attribute that the schema lacks is ignored.
    pub fn redact_schema(&self, schema: &mut Schema) {
        for expr in self.redacted() {
            redact(&mut schema.block, &names(expr));
        }
    }

    /// Returns true if an attribute of an object is redacted. `leaf` is its path as it is shown,
    /// such as `disk[0].key`.
    pub fn redacts(&self, leaf: &str) -> bool {
        let shown = leaf
            .split('.')
            .map(|step| step.split('[').next().unwrap_or(step));
        let shown: Vec<&str> = shown.collect();
        self.redacted().any(|expr| {
            let names = names(expr);
            let same = names
                .iter()
                .zip(&shown)
                .all(|(name, shown)| **name == **shown);
            // A leaf above the redacted attribute contains it.
            same && !names.is_empty()
        })
    }

    /// Marks each attribute of an object that is redacted, or contains a redacted one, as a whole.
    pub(crate) fn with_redactions(&self, object: &Value) -> Value {
        let members = object.as_map().filter(|_| !self.redact.is_empty());
        let Some(members) = members else {
            return object.clone();
        };
        let mut members = members.to_map();
        for expr in self.redacted() {
            let name = names(expr).into_iter().next();
            if let Some(value) = name.and_then(|name| members.get_mut(&*name)) {
                *value = value.clone().mark(cty::Mark::Sensitive);
            }
        }
        Value::object_from_map(members)
    }

    fn redacted(&self) -> impl Iterator<Item = &Expr> {
        self.redact.iter().flat_map(|redact| &redact.value)
    }
}

/// Marks an attribute as sensitive; a place inside a map or a list marks all of it. Returns false
/// if there is no such attribute.
fn redact(block: &mut Block, names: &[Arc<str>]) -> bool {
    let Some((name, rest)) = names.split_first() else {
        return false;
    };
    match block.attributes.get_mut(name) {
        Some(attribute) => redact_attribute(attribute, rest),
        None => match block.blocks.get_mut(name) {
            Some(inner) => redact(&mut inner.block, rest),
            None => false,
        },
    }
}

fn redact_attribute(attribute: &mut Attribute, names: &[Arc<str>]) -> bool {
    match (&mut attribute.nested, names.split_first()) {
        (Some(nested), Some((name, rest))) => match nested.attributes.get_mut(name) {
            Some(inner) => redact_attribute(inner, rest),
            None => false,
        },
        _ => {
            attribute.sensitive = true;
            true
        }
    }
}

/// Names of the attributes and blocks from the object to a part of it.
fn names(expr: &Expr) -> Vec<Arc<str>> {
    let ExprKind::Traversal(traversal) = &expr.kind else {
        return Vec::new();
    };
    let name = |step: &Step| match &step.kind {
        StepKind::Attr(name) => Some(name.clone()),
        StepKind::Index(_) => None,
    };
    traversal.steps.iter().filter_map(name).collect()
}
