//! Values of root variables from environment, files and flags. Only the value of the last source is
//! evaluated; earlier ones may be invalid.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use cty::Value;

use super::constant;
use super::inputs::{Flag, Inputs, Origin, Overridden};
use super::model::{Module, Variable};
use super::var_files::{automatic, from_file};
use crate::diag::Diagnostics;
use crate::source::{SourceMap, Span};
use crate::syntax::Attribute;

/// Given value, before conversion to the variable's type.
pub(super) struct Given {
    pub(super) value: Value,
    pub(super) origin: Origin,
    pub(super) span: Option<Span>,
}

/// An unevaluated value of one source.
pub(super) enum Assignment {
    /// Text of the environment or of a flag.
    Text(String, Origin),
    /// An argument of a file.
    Attribute(Attribute, Origin),
    /// Value of an earlier deploy.
    Stored(Value),
}

/// Assignments by variable; the last one wins.
#[derive(Default)]
pub(super) struct Assignments(BTreeMap<Arc<str>, Vec<Assignment>>);

impl Assignments {
    pub(super) fn add(&mut self, name: Arc<str>, assignment: Assignment) {
        self.0.entry(name).or_default().push(assignment);
    }
}

impl Assignment {
    fn origin(&self) -> Origin {
        match self {
            Assignment::Text(_, origin) | Assignment::Attribute(_, origin) => *origin,
            Assignment::Stored(_) => Origin::Plan,
        }
    }

    fn span(&self) -> Option<Span> {
        match self {
            Assignment::Text(..) | Assignment::Stored(_) => None,
            Assignment::Attribute(attribute, _) => Some(attribute.expr.span),
        }
    }

    /// The value, or `None` with errors.
    fn evaluate(
        &self,
        variable: &Variable,
        sources: &SourceMap,
        diags: &mut Diagnostics,
    ) -> Option<Value> {
        match self {
            Assignment::Text(text, _) => from_text(variable, text, sources, diags),
            Assignment::Attribute(attribute, _) => constant::value(attribute, diags),
            Assignment::Stored(value) => Some(value.clone()),
        }
    }
}

/// Values of declared variables from their winning sources, and the overridden values.
pub(super) fn values(
    root: &Module,
    dir: &Path,
    inputs: &Inputs,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> (BTreeMap<Arc<str>, Given>, Overridden) {
    let (mut values, mut overridden) = (BTreeMap::new(), Overridden::new());
    for (name, mut assignments) in assignments(root, dir, inputs, sources, diags).0 {
        let Some(winner) = assignments.pop() else {
            continue;
        };
        let Some(variable) = root.variables.get(&name) else {
            undeclared(&name, &winner, sources, diags);
            continue;
        };
        let mut found = Diagnostics::new();
        if let Some(value) = winner.evaluate(variable, sources, &mut found) {
            let (origin, span) = (winner.origin(), winner.span());
            let given = Given {
                value,
                origin,
                span,
            };
            values.insert(name.clone(), given);
        }
        // Validation drops errors in values of files, but not in text of flags and environment.
        if !inputs.partial || matches!(winner, Assignment::Text(..)) {
            diags.append(found);
        }
        // Kept for a later apply, where values that had no effect are no mismatch with the plan.
        let automatic = assignments
            .iter()
            .filter(|a| matches!(a.origin(), Origin::Environment | Origin::File));
        let before: Vec<Value> = automatic
            .filter_map(|a| a.evaluate(variable, sources, &mut Diagnostics::new()))
            .collect();
        if !before.is_empty() {
            overridden.insert(name, before);
        }
    }
    (values, overridden)
}

/// Assignments of all sources in order of precedence, lowest first.
fn assignments(
    root: &Module,
    dir: &Path,
    inputs: &Inputs,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Assignments {
    let mut given = Assignments::default();
    // Order of precedence in OpenTofu: environment, automatic files, flags as given.
    for (name, text) in &inputs.env {
        let text = Assignment::Text(text.clone(), Origin::Environment);
        given.add(name.as_str().into(), text);
    }
    // The files on disk belong to another configuration than a stored one.
    for name in sources
        .stored()
        .map_or_else(|| automatic(dir), |_| Vec::new())
    {
        let file = (&*dir.join(&name), &*name, Origin::File);
        from_file(file, root, sources, &mut given, diags);
    }
    // The values of a plan already include those of the earlier deploy.
    let stored = sources.stored().filter(|_| inputs.planned.is_none());
    for (name, value) in stored.iter().flat_map(|stored| &stored.variables) {
        if let Some(value) = value {
            given.add(name.clone(), Assignment::Stored(value.clone()));
        }
    }
    for flag in &inputs.flags {
        match flag {
            Flag::File(path) => {
                let file = (&**path, &*path.display().to_string(), Origin::NamedFile);
                from_file(file, root, sources, &mut given, diags);
            }
            Flag::Var { name, text } => {
                let text = Assignment::Text(text.clone(), Origin::Flag);
                given.add(name.as_str().into(), text);
            }
        }
    }
    given
}

/// Reports a value for an undeclared root variable. Environment variables are exempt, because they
/// serve many configurations.
fn undeclared(name: &str, winner: &Assignment, sources: &SourceMap, diags: &mut Diagnostics) {
    match winner {
        Assignment::Text(text, Origin::Flag) => {
            // Private, because an undeclared variable may be sensitive.
            let file = sources.add_private(format!("<value for var.{name}>"), text.as_str());
            let detail = format!(
                "A variable named \"{name}\" was assigned on the command line, but the root module does not declare one. \
                 To use this value, add a \"variable\" block."
            );
            let place = Span::new(file, 0, text.len());
            diags.error(place, "Value for undeclared variable", detail);
        }
        Assignment::Text(..) | Assignment::Stored(_) => {}
        Assignment::Attribute(attribute, _) => diags.warning(
            attribute.name_span,
            "Value for undeclared variable",
            format!("The root module does not declare a variable named \"{name}\"; the value is not used."),
        ),
    }
}

/// Converts text to a value: literally for primitive and undeclared types, otherwise as an
/// expression.
fn from_text(
    variable: &Variable,
    text: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<Value> {
    if variable.ty.takes_literal_text(variable.typed) {
        return Some(Value::string(text));
    }
    let name = format!("<value for var.{}>", variable.name);
    // Diagnostics must not quote the value of a sensitive variable.
    let private = variable.sensitive || variable.ephemeral;
    let file = if private {
        sources.add_private(name, text)
    } else {
        sources.add(name, text)
    };
    let (expr, found) = crate::syntax::parse_expression_at(text, file, 0);
    let failed = found.has_errors();
    diags.append(found);
    if failed {
        None
    } else {
        constant::of_expr(&expr, diags)
    }
}
