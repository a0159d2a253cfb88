//! What a provider has to say about a call: errors and warnings, each with the attribute it is
//! about.

use cty::{Path, PathStep};
use proto::tfplugin6 as pb;

use crate::State;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The call did not do what was asked.
    Error,
    /// The call did; the operator should know this all the same.
    Warning,
}

/// One thing to say to the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one line.
    pub summary: String,
    /// Why, and what to do; may be empty.
    pub detail: String,
    /// The attribute it is about, seen from the resource's configuration.
    pub attribute: Option<Path>,
}

impl Diagnostic {
    /// An error.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            attribute: None,
        }
    }

    /// A warning.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(summary, detail)
        }
    }

    /// The same, about an attribute.
    #[must_use]
    pub fn at(self, path: Path) -> Diagnostic {
        Diagnostic {
            attribute: Some(path),
            ..self
        }
    }

    /// The same, about an attribute of the outermost object.
    #[must_use]
    pub fn at_attr(self, name: &str) -> Diagnostic {
        self.at(Path::root().attr(name))
    }
}

/// Everything a call has to say, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Nothing to say.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Adds an error.
    pub fn error(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::error(summary, detail));
    }

    /// Adds a warning.
    pub fn warning(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.push(Diagnostic::warning(summary, detail));
    }

    /// Adds all of another's.
    pub fn extend(&mut self, more: Diagnostics) {
        self.0.extend(more.0);
    }

    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0
            .iter()
            .any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    pub(crate) fn into_wire(self) -> Vec<pb::Diagnostic> {
        self.0.into_iter().map(to_wire).collect()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(one: Diagnostic) -> Diagnostics {
        Diagnostics(vec![one])
    }
}

/// Why a call failed and, where something came of it all the same, what.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// What to tell the operator; at least one error (one is added where there is none).
    pub diagnostics: Diagnostics,
    /// What exists now: a create that failed with this leaves a tainted object instead of none, an
    /// update keeps this instead of the former state.
    pub partial: Option<Box<State>>,
    /// Nothing was changed, and the same call would go better another time: a host that is told so
    /// makes it again (Bluelink's; over protocol 6 it is a failure like others).
    pub transient: bool,
}

impl Failure {
    /// A failure in one sentence and its explanation.
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Failure {
        Diagnostic::error(summary, detail).into()
    }

    /// The same failure, with what exists all the same.
    #[must_use]
    pub fn with_partial(self, state: State) -> Failure {
        Failure {
            partial: Some(Box::new(state)),
            ..self
        }
    }

    /// The same failure, one that passes.
    #[must_use]
    pub fn transient(self) -> Failure {
        Failure {
            transient: true,
            ..self
        }
    }
}

impl From<Diagnostic> for Failure {
    fn from(one: Diagnostic) -> Failure {
        Failure {
            diagnostics: one.into(),
            partial: None,
            transient: false,
        }
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Failure {
        Failure {
            diagnostics,
            partial: None,
            transient: false,
        }
    }
}

/// A path as the wire has it. A step into a set cannot be said there, so the path ends before it,
/// as other providers' do.
pub(crate) fn path_to_wire(path: &Path) -> pb::AttributePath {
    use pb::attribute_path::{Step, step::Selector};
    let mut steps = Vec::new();
    for step in path.steps() {
        let selector = match step {
            PathStep::Attr(name) => Selector::AttributeName(name.to_string()),
            PathStep::Index(key) => match (
                key.as_str(),
                key.as_number()
                    .and_then(|number| number.to_string().parse::<i64>().ok()),
            ) {
                (Some(text), _) => Selector::ElementKeyString(text.to_string()),
                (None, Some(number)) => Selector::ElementKeyInt(number),
                (None, None) => break,
            },
        };
        steps.push(Step {
            selector: Some(selector),
        });
    }
    pb::AttributePath { steps }
}

fn to_wire(diagnostic: Diagnostic) -> pb::Diagnostic {
    let severity = match diagnostic.severity {
        Severity::Error => pb::diagnostic::Severity::Error,
        Severity::Warning => pb::diagnostic::Severity::Warning,
    };
    pb::Diagnostic {
        severity: severity as i32,
        summary: diagnostic.summary,
        detail: diagnostic.detail,
        attribute: diagnostic.attribute.as_ref().map(path_to_wire),
    }
}
