//! Parses references in expressions. Pure.

use lang::addr::{InstanceKey, Mode, Resource};
use lang::diag::Diagnostic;
use lang::syntax::ast::{Step, StepKind, Traversal};
use std::sync::Arc;

/// Object that a traversal's first steps refer to; `used` is the number of these steps after the
/// root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ref {
    Var(Arc<str>),
    Local(Arc<str>),
    /// A resource, with its instance key if constant.
    Resource {
        resource: Resource,
        key: Option<InstanceKey>,
        used: usize,
    },
    /// A module call without an output, with an optional key.
    Module {
        call: Arc<str>,
        key: Option<InstanceKey>,
    },
    /// One output of a module call.
    ModuleOutput {
        call: Arc<str>,
        key: Option<InstanceKey>,
        output: Arc<str>,
    },
    /// `each.key`, `each.value`.
    Each(Arc<str>),
    /// `count.index`.
    Count(Arc<str>),
    SelfObject,
    Path(Arc<str>),
    /// `terraform.…`, `tofu.…`.
    Terraform(Arc<str>),
    /// A check block's name; only valid in places such as `depends_on`.
    Check(Arc<str>),
}

fn attr(step: Option<&Step>) -> Option<Arc<str>> {
    match &step?.kind {
        StepKind::Attr(name) => Some(name.clone()),
        StepKind::Index(_) => None,
    }
}

/// Instance key of a constant index step.
pub fn key_of(step: Option<&Step>) -> Option<InstanceKey> {
    match &step?.kind {
        StepKind::Attr(_) => None,
        StepKind::Index(value) => match value.as_str() {
            Some(text) => Some(InstanceKey::Str(text.into())),
            None => value
                .as_number()
                .and_then(|n| n.to_u64())
                .map(InstanceKey::Int),
        },
    }
}

fn invalid(traversal: &Traversal, detail: String) -> Diagnostic {
    Diagnostic::error("Invalid reference", detail).at(traversal.span())
}

/// Parses a reference.
///
/// # Errors
/// The reference is malformed. Its target may still be missing.
pub fn parse(t: &Traversal) -> Result<Ref, Diagnostic> {
    let first = t.steps.first();
    let one = |kind: &str| {
        attr(first).ok_or_else(|| {
            invalid(
                t,
                format!(
                    "The {:?} object must be followed by a dot and the name of {kind}.",
                    &*t.root
                ),
            )
        })
    };
    Ok(match &*t.root {
        "var" => Ref::Var(one("an input variable")?),
        "local" => Ref::Local(one("a local value")?),
        "each" => Ref::Each(one("\"key\" or \"value\"")?),
        "count" => Ref::Count(one("\"index\"")?),
        "path" => Ref::Path(one("\"module\", \"root\" or \"cwd\"")?),
        "terraform" | "tofu" => Ref::Terraform(one("one of its attributes")?),
        "self" => Ref::SelfObject,
        "check" => Ref::Check(one("a check")?),
        "module" => {
            let call = one("a module call")?;
            let key = key_of(t.steps.get(1));
            let at = if key.is_some() { 2 } else { 1 };
            match attr(t.steps.get(at)) {
                Some(output) => Ref::ModuleOutput { call, key, output },
                None => Ref::Module { call, key },
            }
        }
        "data" | "ephemeral" | "resource" => {
            let mode = match &*t.root {
                "data" => Mode::Data,
                "ephemeral" => Mode::Ephemeral,
                _ => Mode::Managed,
            };
            let (kind, name) = (attr(first), attr(t.steps.get(1)));
            let (Some(kind), Some(name)) = (kind, name) else {
                let detail = format!(
                    "The {:?} object must be followed by two attribute names: the type and the resource name.",
                    &*t.root
                );
                return Err(invalid(t, detail));
            };
            resource(t, Resource { mode, kind, name }, 2)
        }
        "template" | "lazy" | "arg" => {
            return Err(invalid(
                t,
                format!(
                    "The symbol name {:?} is reserved for use in a future version.",
                    &*t.root
                ),
            ));
        }
        _ => {
            let Some(name) = attr(first) else {
                let detail = "A reference to a resource type must be followed by at least one attribute access, specifying the resource name.";
                return Err(invalid(t, detail.to_owned()));
            };
            resource(
                t,
                Resource {
                    mode: Mode::Managed,
                    kind: t.root.clone(),
                    name,
                },
                1,
            )
        }
    })
}

fn resource(t: &Traversal, resource: Resource, used: usize) -> Ref {
    let key = key_of(t.steps.get(used));
    Ref::Resource {
        resource,
        used: used + usize::from(key.is_some()),
        key,
    }
}
