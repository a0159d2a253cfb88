//! Arguments of a provisioner or its connection, evaluated with the object as `self`. Each argument
//! is checked on its own, and its value becomes known to the redaction.

use crate::stage::scope::ModuleScope;
use cty::{Mark, Type, Value};
use lang::body::{Body, BodySchema, Content};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use model::secrets::Secrets;

/// Value of an argument.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given<T> {
    /// Missing or null.
    No,
    /// Known only during the deploy.
    Unknown,
    Yes(T),
}

impl<T> Given<T> {
    pub(super) fn map<U>(self, how: impl FnOnce(T) -> U) -> Given<U> {
        match self {
            Self::No => Given::No,
            Self::Unknown => Given::Unknown,
            Self::Yes(value) => Given::Yes(how(value)),
        }
    }

    pub(super) fn is_given(&self) -> bool {
        !matches!(self, Self::No)
    }

    pub(super) fn known(self) -> Option<T> {
        match self {
            Self::Yes(value) => Some(value),
            _ => None,
        }
    }
}

/// Body of a provisioner or connection that is being evaluated.
pub(super) struct Arguments<'a, 's> {
    scope: &'a ModuleScope<'s>,
    secrets: Option<&'a Secrets>,
    content: Content,
    diags: Diagnostics,
    /// True if any value is sensitive or ephemeral.
    pub(super) secret: bool,
}

impl<'a, 's> Arguments<'a, 's> {
    /// Reads a body. `secrets` learn its values; without them this is a check before the deploy,
    /// and unknown values are no errors.
    pub(super) fn of(
        scope: &'a ModuleScope<'s>,
        body: &Body,
        schema: &BodySchema,
        secrets: Option<&'a Secrets>,
    ) -> Self {
        let (content, diags) = body.content(schema);
        Self {
            scope,
            secrets,
            content,
            diags,
            secret: false,
        }
    }

    /// Returns true during a check before the deploy.
    pub(super) fn is_early_check(&self) -> bool {
        self.secrets.is_none()
    }

    /// Returns the source position of an argument's value.
    pub(super) fn argument_span(&self, name: &str) -> Option<Span> {
        self.content.attribute(name).map(|a| a.expr.span)
    }

    pub(super) fn get(&mut self, name: &str, ty: &Type) -> Given<Value> {
        let Some(attribute) = self.content.attribute(name) else {
            return Given::No;
        };
        let faults = self.scope.check(&attribute.expr.traversals());
        if faults.has_errors() {
            self.diags.append(faults);
            // Counts as given, so that no second error about a missing argument follows.
            return Given::Unknown;
        }
        let (value, mut more) = lang::eval::evaluate_as(&attribute.expr, ty, self.scope);
        self.scope.unchanged(&mut more, Some(attribute.expr.span));
        let faulty = more.has_errors();
        self.diags.append(more);
        // Learned before the command runs, so that its output is redacted.
        if let Some(secrets) = self.secrets {
            secrets.register(&value);
        }
        self.secret |=
            value.contains_mark(&Mark::Sensitive) || value.contains_mark(&Mark::Ephemeral);
        let value = value.unmark_deep().0;
        match () {
            () if faulty => Given::Unknown,
            () if value.is_null() => Given::No,
            () if value.is_wholly_known() => Given::Yes(value),
            () => {
                if !self.is_early_check() {
                    let detail = format!(
                        "The argument {name:?} is still unknown, but the provisioner needs its value."
                    );
                    self.diags
                        .push(Diagnostic::error("Unknown value", detail).at(attribute.expr.span));
                }
                Given::Unknown
            }
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Given<String> {
        self.get(name, &Type::String)
            .map(|v| v.as_str().unwrap_or_default().to_owned())
    }

    /// Returns a non-empty string.
    pub(super) fn nonempty_text(&mut self, name: &str) -> Option<String> {
        self.text(name).known().filter(|text| !text.is_empty())
    }

    /// Returns a list of strings; null elements are `None`.
    pub(super) fn texts(&mut self, name: &str) -> Given<Vec<Option<String>>> {
        let all = |v: Value| {
            v.as_slice()
                .unwrap_or_default()
                .iter()
                .map(|e| e.as_str().map(str::to_owned))
                .collect()
        };
        self.get(name, &Type::list(Type::String)).map(all)
    }

    pub(super) fn flag(&mut self, name: &str) -> Given<bool> {
        self.get(name, &Type::Bool)
            .map(|v| v.as_bool().unwrap_or_default())
    }

    pub(super) fn fault(&mut self, diagnostic: Diagnostic) {
        self.diags.push(diagnostic);
    }

    /// Returns true if any error was found.
    pub(super) fn has_errors(&self) -> bool {
        self.diags.has_errors()
    }

    /// Returns the errors, if any.
    pub(super) fn finish(self) -> Result<(), Diagnostics> {
        if self.diags.has_errors() {
            Err(self.diags)
        } else {
            Ok(())
        }
    }
}
