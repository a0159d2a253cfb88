//! References in expressions: the named object at the start of a traversal and the steps left to
//! evaluate.

use std::sync::Arc;

use super::traversal::instance_key;
use super::{InstanceKey, Mode, Resource};
use crate::diag::{Diagnostic, Message};
use crate::source::Span;
use crate::syntax::{Step, StepKind, Traversal};

/// Object named by a reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// `var.name`.
    Variable(Arc<str>),
    /// `local.name`.
    Local(Arc<str>),
    /// `aws_x.y`, `data.aws_x.y`, with the key if one follows.
    Resource {
        /// The resource.
        resource: Resource,
        /// The key that follows as a constant index.
        key: InstanceKey,
    },
    /// `module.name`: the whole call or one instance.
    Module {
        /// The call.
        name: Arc<str>,
        /// The key that follows as a constant index.
        key: InstanceKey,
    },
    /// `module.name.output`.
    ModuleOutput {
        /// The call.
        name: Arc<str>,
        /// The key between name and output.
        key: InstanceKey,
        /// The output.
        output: Arc<str>,
    },
    /// `count.index`.
    Count(Arc<str>),
    /// `each.key`, `each.value`.
    Each(Arc<str>),
    /// `path.module`, `path.root`, `path.cwd`.
    Path(Arc<str>),
    /// `terraform.workspace`, `tofu.applying`.
    Terraform(Arc<str>),
    /// `self`.
    SelfValue,
}

/// A reference found in an expression.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Named object.
    pub subject: Subject,
    /// The part of the traversal that names it.
    pub span: Span,
    /// The steps after that part.
    pub remaining: Vec<Step>,
}

fn invalid(detail: impl Into<Message>, span: Span) -> Diagnostic {
    Diagnostic::error("Invalid reference", detail).at(span)
}

fn attr(step: &Step) -> Option<&Arc<str>> {
    match &step.kind {
        StepKind::Attr(name) => Some(name),
        StepKind::Index(_) => None,
    }
}

impl Reference {
    /// Parses the reference at the start of a traversal.
    pub fn parse(traversal: &Traversal) -> Result<Reference, Diagnostic> {
        match &*traversal.root {
            "var" => single(traversal, Subject::Variable),
            "local" => single(traversal, Subject::Local),
            "count" => single(traversal, Subject::Count),
            "each" => single(traversal, Subject::Each),
            "path" => single(traversal, Subject::Path),
            // OpenTofu accepts both names for the same object.
            "terraform" | "tofu" => single(traversal, Subject::Terraform),
            "module" => module(traversal),
            // `self` takes no name, so all steps are left for evaluation.
            "self" => Ok(Reference {
                subject: Subject::SelfValue,
                span: traversal.root_span,
                remaining: traversal.steps.clone(),
            }),
            "data" => prefixed(
                traversal,
                Mode::Data,
                "the data source type and the resource name",
            ),
            "ephemeral" => prefixed(
                traversal,
                Mode::Ephemeral,
                "the ephemeral resource type and its name",
            ),
            "resource" => prefixed(
                traversal,
                Mode::Managed,
                "the resource type and the resource name",
            ),
            // OpenTofu reserves these names for future features.
            root @ ("template" | "lazy" | "arg") => Err(Diagnostic::error(
                "Reserved symbol name",
                format!(
                    "The symbol name \"{root}\" is reserved. To refer to a resource type with \
                    this name, write \"resource.{root}\"."
                ),
            )
            .at(traversal.root_span)),
            // Any other name is the type of a managed resource.
            _ => resource(
                Mode::Managed,
                traversal.root.clone(),
                traversal.root_span,
                traversal.root_span,
                &traversal.steps,
            ),
        }
    }
}

fn single(
    traversal: &Traversal,
    make: impl FnOnce(Arc<str>) -> Subject,
) -> Result<Reference, Diagnostic> {
    let root = &traversal.root;
    let Some(first) = traversal.steps.first() else {
        let detail = format!(
            "The \"{root}\" object cannot be accessed directly. Instead, access one of its attributes."
        );
        return Err(invalid(detail, traversal.root_span));
    };
    let Some(name) = attr(first) else {
        return Err(invalid(
            format!("The \"{root}\" object does not support this operation."),
            first.span,
        ));
    };
    Ok(Reference {
        subject: make(name.clone()),
        span: traversal.root_span.to(first.span),
        remaining: traversal.steps[1..].to_vec(),
    })
}

fn prefixed(traversal: &Traversal, mode: Mode, what: &str) -> Result<Reference, Diagnostic> {
    let [first, rest @ ..] = &traversal.steps[..] else {
        let detail = format!(
            "The \"{}\" object must be followed by two attribute names: {what}.",
            traversal.root
        );
        return Err(invalid(detail, traversal.span()));
    };
    if rest.is_empty() {
        let detail = format!(
            "The \"{}\" object must be followed by two attribute names: {what}.",
            traversal.root
        );
        return Err(invalid(detail, traversal.span()));
    }
    let Some(type_name) = attr(first) else {
        return Err(invalid(
            format!(
                "The \"{}\" object does not support this operation.",
                traversal.root
            ),
            first.span,
        ));
    };
    resource(
        mode,
        type_name.clone(),
        traversal.root_span,
        first.span,
        rest,
    )
}

fn resource(
    mode: Mode,
    type_name: Arc<str>,
    start: Span,
    type_span: Span,
    steps: &[Step],
) -> Result<Reference, Diagnostic> {
    let Some(second) = steps.first() else {
        let detail = "A reference to a resource type must be followed by at least one attribute access, specifying the resource name.";
        return Err(invalid(detail, type_span));
    };
    let Some(name) = attr(second) else {
        let what = match mode {
            Mode::Data => "a data source",
            Mode::Ephemeral => "an ephemeral resource",
            Mode::Managed => "a resource type",
        };
        let detail = format!(
            "A reference to {what} must be followed by at least one attribute access, specifying the resource name."
        );
        return Err(invalid(detail, second.span));
    };
    let resource = Resource {
        mode,
        kind: type_name,
        name: name.clone(),
    };
    // A constant key is part of the reference; a computed one is an index expression around it.
    let mut span = start.to(second.span);
    let mut remaining = &steps[1..];
    let mut key = InstanceKey::None;
    if let Some(
        step @ Step {
            kind: StepKind::Index(_),
            ..
        },
    ) = remaining.first()
    {
        key = instance_key(step)?;
        span = span.to(step.span);
        remaining = &remaining[1..];
    }
    Ok(Reference {
        subject: Subject::Resource { resource, key },
        span,
        remaining: remaining.to_vec(),
    })
}

fn module(traversal: &Traversal) -> Result<Reference, Diagnostic> {
    let call = single(traversal, |name| Subject::Module {
        name,
        key: InstanceKey::None,
    })?;
    let Subject::Module { name, mut key } = call.subject else {
        return Err(invalid("Not a module.", call.span));
    };
    let mut span = call.span;
    let mut remaining = &call.remaining[..];
    if let Some(
        step @ Step {
            kind: StepKind::Index(_),
            ..
        },
    ) = remaining.first()
    {
        key = instance_key(step)?;
        span = span.to(step.span);
        remaining = &remaining[1..];
    }
    match remaining {
        // Without an output, the reference is to the whole call or instance.
        [] => Ok(Reference {
            subject: Subject::Module { name, key },
            span,
            remaining: Vec::new(),
        }),
        [step, rest @ ..] => match attr(step) {
            Some(output) => Ok(Reference {
                subject: Subject::ModuleOutput {
                    name,
                    key,
                    output: output.clone(),
                },
                span: span.to(step.span),
                remaining: rest.to_vec(),
            }),
            None => Err(invalid(
                "Module instance objects do not support this operation.",
                step.span,
            )),
        },
    }
}
