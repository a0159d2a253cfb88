//! Parses addresses from traversals of the syntax tree; errors have source positions.

use std::sync::Arc;

use super::{AbsInstance, AbsResource, InstanceKey, Mode, ModuleInstance, Resource, Target};
use crate::diag::Diagnostic;
use crate::source::Span;
use crate::syntax::{Step, StepKind, Traversal};

/// The key of an index step: a whole number or a string.
pub(crate) fn instance_key(step: &Step) -> Result<InstanceKey, Diagnostic> {
    let wrong = |detail: &str| {
        Err(Diagnostic::error(
            "Invalid index key",
            format!("Invalid index for an instance: {detail}."),
        )
        .at(step.span))
    };
    let StepKind::Index(value) = &step.kind else {
        return wrong("it must be given in square brackets");
    };
    if let Some(text) = value.as_str() {
        return Ok(InstanceKey::Str(text.into()));
    }
    match value.as_number() {
        Some(number) => match number.to_u64() {
            Some(index) => Ok(InstanceKey::Int(index)),
            None => wrong("a whole number is required"),
        },
        None => wrong("must be a string or an integer"),
    }
}

/// Names of a traversal as steps, starting with the root.
fn all_steps(traversal: &Traversal) -> Vec<Step> {
    let root = Step {
        kind: StepKind::Attr(traversal.root.clone()),
        span: traversal.root_span,
    };
    std::iter::once(root)
        .chain(traversal.steps.iter().cloned())
        .collect()
}

fn attr(step: Option<&Step>) -> Option<&Arc<str>> {
    match step.map(|s| &s.kind) {
        Some(StepKind::Attr(name)) => Some(name),
        _ => None,
    }
}

impl Target {
    /// Parses an address: `module.a["k"].aws_x.y[0]`, `data.x.y`, `module.a`.
    pub fn from_traversal(traversal: &Traversal) -> Result<Target, Diagnostic> {
        let steps = all_steps(traversal);
        let mut rest = &steps[..];
        let mut module = ModuleInstance::root();
        // Each module takes two steps, and a third one for its key.
        while attr(rest.first()).is_some_and(|n| &**n == "module") {
            let Some(name) = attr(rest.get(1)).cloned() else {
                let detail = "Prefix \"module.\" must be followed by a module name.";
                return Err(Diagnostic::error("Invalid address operator", detail).at(rest[0].span));
            };
            rest = &rest[2..];
            let mut key = InstanceKey::None;
            if let Some(
                step @ Step {
                    kind: StepKind::Index(_),
                    ..
                },
            ) = rest.first()
            {
                key = instance_key(step)?;
                rest = &rest[1..];
            }
            module.0.push((name, key));
        }
        if rest.is_empty() {
            return Ok(Target::Module(module));
        }
        let (resource, rest) = resource_steps(rest)?;
        match rest {
            [] => Ok(Target::Resource(AbsResource { module, resource })),
            [
                step @ Step {
                    kind: StepKind::Index(_),
                    ..
                },
            ] => Ok(Target::Instance(AbsInstance {
                module,
                resource,
                key: instance_key(step)?,
            })),
            [step] => Err(invalid(
                "Resource instance key must be given in square brackets.",
                step.span,
            )),
            [_, step, ..] => Err(invalid(
                "Unexpected extra operators after address.",
                step.span,
            )),
        }
    }
}

fn invalid(detail: &'static str, span: Span) -> Diagnostic {
    Diagnostic::error("Invalid address", detail).at(span)
}

fn resource_steps(steps: &[Step]) -> Result<(Resource, &[Step]), Diagnostic> {
    let (mode, rest) = match attr(steps.first()).map(|n| &**n) {
        Some("data") => (Mode::Data, &steps[1..]),
        Some("ephemeral") => (Mode::Ephemeral, &steps[1..]),
        _ => (Mode::Managed, steps),
    };
    let whole = steps
        .first()
        .zip(steps.last())
        .map_or(Span::new(crate::source::FileId(0), 0, 0), |(a, b)| {
            a.span.to(b.span)
        });
    let [first, second, after @ ..] = rest else {
        return Err(invalid(
            "Resource specification must include a resource type and name.",
            whole,
        ));
    };
    let Some(type_name) = attr(Some(first)) else {
        return Err(invalid("A resource type name is required.", first.span));
    };
    let Some(name) = attr(Some(second)) else {
        return Err(invalid("A resource name is required.", second.span));
    };
    Ok((
        Resource {
            mode,
            kind: type_name.clone(),
            name: name.clone(),
        },
        after,
    ))
}
