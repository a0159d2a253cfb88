//! Diagnostics of a call: errors and warnings, each with an optional attribute.

use cty::{Path, PathStep, Value};
use proto::tfplugin6 as pb;

use crate::State;
use crate::typed::Model;

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

    /// Writes the warnings to the log, for answers that have no field for them.
    pub(crate) fn log_warnings(&self) {
        let warnings = self.0.iter();
        for one in warnings.filter(|one| one.severity == Severity::Warning) {
            crate::log::warn(&one.summary, &[("detail", &one.detail)]);
        }
    }

    pub(crate) fn from_wire(said: Vec<pb::Diagnostic>) -> Diagnostics {
        let one = |one: pb::Diagnostic| Diagnostic {
            severity: match one.severity() {
                pb::diagnostic::Severity::Warning => Severity::Warning,
                _ => Severity::Error,
            },
            attribute: one.attribute.as_ref().map(path_from_wire),
            summary: one.summary,
            detail: one.detail,
        };
        Diagnostics(said.into_iter().map(one).collect())
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
    /// update it replaces the former state, so it must have exactly the changes that were made.
    pub partial: Option<Box<State>>,
    /// Nothing was changed, and a retry can succeed. A Bluelink host then repeats the call; over
    /// protocol 6 it is a failure like others.
    pub transient: bool,
    /// The call cannot be made yet, for this reason. A host that supports deferral then defers the
    /// object; for other hosts it is a failure like others.
    pub deferred: Option<Deferral>,
}

/// Reason for which a call cannot be made yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// Unknown values in the configuration of the object.
    ConfigUnknown,
    /// Unknown values in the configuration of the provider.
    ProviderConfigUnknown,
    /// Something that the object needs does not exist yet.
    AbsentPrerequisite,
}

impl Deferral {
    pub(crate) fn into_wire(self) -> pb::Deferred {
        let reason = match self {
            Deferral::ConfigUnknown => pb::deferred::Reason::ResourceConfigUnknown,
            Deferral::ProviderConfigUnknown => pb::deferred::Reason::ProviderConfigUnknown,
            Deferral::AbsentPrerequisite => pb::deferred::Reason::AbsentPrereq,
        };
        pb::Deferred {
            reason: reason.into(),
        }
    }
}

impl Failure {
    /// Creates a failure with one error.
    pub fn new(summary: impl Into<String>, detail: impl Into<String>) -> Failure {
        Diagnostic::error(summary, detail).into()
    }

    /// Converts an error: its text is the summary, and its causes are the detail. For use with
    /// `map_err`; authors implement `From` for errors of their own.
    pub fn of(error: impl std::error::Error) -> Failure {
        let mut causes = Vec::new();
        let mut cause = error.source();
        // The chain of causes is finite, because each error owns its cause.
        while let Some(inner) = cause {
            causes.push(inner.to_string());
            cause = inner.source();
        }
        Failure::new(error.to_string(), causes.join(": "))
    }

    /// Sets the object that exists despite the failure.
    #[must_use]
    pub fn with_partial(self, state: State) -> Failure {
        Failure {
            partial: Some(Box::new(state)),
            ..self
        }
    }

    /// Sets the typed object that exists despite the failure; its unknown values become null.
    #[must_use]
    pub fn with_object(self, object: &impl Model) -> Failure {
        self.with_partial(State::new(object.to_object().unknown_as_null()))
    }

    /// Returns the deferral to answer with, if the host allows it.
    pub(crate) fn deferral(
        &self,
        capabilities: Option<&pb::ClientCapabilities>,
    ) -> Option<pb::Deferred> {
        let allowed = capabilities.is_some_and(|host| host.deferral_allowed);
        self.deferred.filter(|_| allowed).map(Deferral::into_wire)
    }

    /// Marks the failure as a call that cannot be made yet.
    #[must_use]
    pub fn deferred(self, reason: Deferral) -> Failure {
        Failure {
            deferred: Some(reason),
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
            deferred: None,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::of(error)
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::of(error)
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Failure {
        Failure {
            diagnostics,
            partial: None,
            transient: false,
            deferred: None,
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

/// Converts a path from the wire.
pub(crate) fn path_from_wire(path: &pb::AttributePath) -> Path {
    use pb::attribute_path::step::Selector;
    let mut converted = Path::root();
    for step in path.steps.iter().filter_map(|step| step.selector.as_ref()) {
        converted = match step {
            Selector::AttributeName(name) => converted.attr(name.as_str()),
            Selector::ElementKeyString(key) => converted.index_str(key),
            Selector::ElementKeyInt(number) => converted.index(Value::int(*number)),
        };
    }
    converted
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
