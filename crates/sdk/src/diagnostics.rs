//! Diagnostics of a call: errors and warnings, each with an optional attribute.

use cty::{Path, PathStep};
use proto::tfplugin6 as pb;

use crate::State;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The call failed.
    Error,
    /// The call succeeded; the operator should know this.
    Warning,
}

/// Error or warning for the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Problem in one line.
    pub summary: String,
    /// Reason and remedy; can be empty.
    pub detail: String,
    /// Attribute that it refers to, as a path in the resource's configuration.
    pub attribute: Option<Path>,
}

impl Diagnostic {
    /// Creates an error.
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            summary: summary.into(),
            detail: detail.into(),
            attribute: None,
        }
    }

    /// Creates a warning.
    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(summary, detail)
        }
    }

    /// Sets the attribute.
    #[must_use]
    pub fn at(self, path: Path) -> Diagnostic {
        Diagnostic {
            attribute: Some(path),
            ..self
        }
    }

    /// Sets an attribute of the outermost object.
    #[must_use]
    pub fn at_attr(self, name: &str) -> Diagnostic {
        self.at(Path::root().attr(name))
    }
}

/// Diagnostics of a call, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Creates an empty list.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds a diagnostic.
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

    /// Adds all of another list.
    pub fn extend(&mut self, more: Diagnostics) {
        self.0.extend(more.0);
    }

    /// Returns true if any of them is an error.
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

/// Failure of a call, with a partial state if the object exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Diagnostics for the operator. Without an error, a generic one is added.
    pub diagnostics: Diagnostics,
    /// Object that exists now. After a failed create the host stores it as tainted; after a failed
    /// update it replaces the former state.
    pub partial: Option<Box<State>>,
    /// Nothing was changed, and a retry can succeed. A Bluelink host then repeats the call; over
    /// protocol 6 it is a failure like others.
    pub transient: bool,
}

impl Failure {
    /// Creates a failure with one error.
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Failure {
        Diagnostic::error(summary, detail).into()
    }

    /// Sets the object that exists despite the failure.
    #[must_use]
    pub fn with_partial(self, state: State) -> Failure {
        Failure {
            partial: Some(Box::new(state)),
            ..self
        }
    }

    /// Marks the failure as transient.
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

/// Converts a path to the wire. It ends before a step into a set, which the wire cannot represent;
/// other providers do the same.
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
                // A key of another type addresses an element of a set.
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
