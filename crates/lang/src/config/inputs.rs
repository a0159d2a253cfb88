//! Values of root variables from the environment, `terraform.tfvars`, `*.auto.tfvars`, `--var-file`
//! and `--var`; later sources win. The declared type decides how text is parsed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cty::Value;

use super::encryption::VARIABLE;
use super::model::{Module, Variable};
use super::planned::Planned;
use super::{assignments, environment, secret};
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::{SourceMap, Span};

/// Inputs from the operator, besides files that are read automatically.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// `--var` and `--var-file` in the order given.
    pub flags: Vec<Flag>,
    /// Environment variables `TF_VAR_name`: name and text. See [`Inputs::environment`].
    pub env: Vec<(String, String)>,
    /// Validate mode: variables need no values, and configurations passed by a caller may be
    /// missing.
    pub partial: bool,
    /// The selected workspace, `terraform.workspace`; empty for the default one.
    pub workspace: Arc<str>,
    /// Data directory, relative to the configuration; empty for `.terraform`.
    pub data_dir: PathBuf,
    /// Content of `TF_ENCRYPTION`; empty if unset.
    pub encryption: String,
    /// Values of the plan to apply or show; `None` while planning.
    pub planned: Option<Arc<Planned>>,
}

/// One flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flag {
    /// `--var name=text`.
    Var {
        /// The variable.
        name: String,
        /// Its value as text.
        text: String,
    },
    /// `--var-file path`, relative to the working directory.
    File(PathBuf),
}

impl Inputs {
    /// Adds the process environment: `TF_VAR_…`, `TF_DATA_DIR` and `TF_ENCRYPTION`.
    pub fn environment(mut self) -> Inputs {
        self.env = environment::variables()
            .into_iter()
            // Text that is not UTF-8 cannot be a value of the language.
            .filter_map(|(k, v)| {
                Some((
                    k.to_str()?.strip_prefix(environment::PREFIX)?.to_owned(),
                    v.to_str()?.to_owned(),
                ))
            })
            .collect();
        // The order of the environment is arbitrary.
        self.env.sort();
        self.data_dir = std::env::var_os("TF_DATA_DIR").unwrap_or_default().into();
        self.encryption = std::env::var_os(VARIABLE)
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        self
    }

    /// Data directory, relative to the configuration.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        match self.data_dir.as_os_str().is_empty() {
            true => Path::new(".terraform"),
            false => &self.data_dir,
        }
    }
}

/// Source of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The variable's default.
    Default,
    /// The environment.
    Environment,
    /// A file that is read automatically.
    File,
    /// A `--var-file` flag.
    NamedFile,
    /// A `--var` flag.
    Flag,
    /// The plan that is applied, or the deploy of a stored configuration.
    Plan,
    /// A `secret` block; the value is unknown until the engine resolves it.
    Secret,
}

impl Origin {
    /// Returns true for values that someone wrote: no defaults and no references.
    pub fn is_given(self) -> bool {
        !matches!(self, Origin::Default | Origin::Secret)
    }
}

/// The value of a root variable.
#[derive(Clone, Debug)]
pub struct InputValue {
    /// Converted to the variable's type; unknown of that type where conversion failed.
    pub value: Value,
    /// As it was given.
    pub given: Value,
    /// Source of the value.
    pub origin: Origin,
    /// Its source position, for values of files.
    pub span: Option<Span>,
}

/// Values of all root variables, with their errors.
#[derive(Clone, Debug, Default)]
pub struct RootValues {
    /// One for each declared variable that has a value.
    pub values: BTreeMap<Arc<str>, InputValue>,
    /// Errors of values of a wrong type or not nullable; reported when the variable is first
    /// evaluated.
    pub value_errors: Diagnostics,
    /// Values of the environment and of automatic files that another source overrides.
    pub overridden: Overridden,
}

/// Values by variable that had no effect, as they were given.
pub type Overridden = BTreeMap<Arc<str>, Vec<Value>>;

/// Collects the values for a root module in `dir`. Reports unreadable files, references in files,
/// invalid expressions, flags for undeclared variables, and missing required values.
pub(crate) fn collect(
    root: &Module,
    dir: &Path,
    inputs: &Inputs,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> RootValues {
    let (mut given, overridden) = assignments::values(root, dir, inputs, sources, diags);
    let mut out = RootValues {
        overridden,
        ..RootValues::default()
    };
    for (name, variable) in &root.variables {
        let one = given.remove(name);
        if let Some(value) = secret::unresolved(root, variable, one.as_ref(), inputs, diags) {
            out.values.insert(name.clone(), value);
            continue;
        }
        let one = one.map(|one| {
            // With a stored plan, errors must show now, because the values are compared with the
            // plan's.
            let faults = match inputs.planned {
                Some(_) => &mut *diags,
                None => &mut out.value_errors,
            };
            let value = convert_given(variable, &one.value, one.span, faults);
            InputValue {
                value,
                given: one.value,
                origin: one.origin,
                span: one.span,
            }
        });
        let value = match &inputs.planned {
            // The plan's values win; given values are only compared with them.
            Some(planned) => planned.value(variable, one, diags),
            None if one.is_none() && !inputs.partial && is_withheld(variable, sources) => {
                diags.push(withheld(variable, sources));
                None
            }
            None => one
                .inspect(|_| deprecated(variable, inputs, diags))
                .or_else(|| default_of(variable, inputs, diags)),
        };
        if let Some(value) = value {
            out.values.insert(name.clone(), value);
        }
    }
    out
}

fn deprecated(variable: &Variable, inputs: &Inputs, diags: &mut Diagnostics) {
    if let Some(why) = variable.deprecated.as_ref().filter(|_| !inputs.partial) {
        diags.warning(
            variable.span,
            "Deprecated variable used from the root module",
            format!(
                "The root variable \"{}\" is deprecated: {why}",
                variable.name
            ),
        );
    }
}

/// Returns true if a stored configuration lacks the value that the variable had.
fn is_withheld(variable: &Variable, sources: &SourceMap) -> bool {
    sources.stored().is_some_and(|stored| {
        let known = stored.variables.get(&variable.name);
        // An ephemeral variable without an entry had its default.
        let had_default = variable.ephemeral && variable.default.is_some();
        known.map_or(!had_default, Option::is_none)
    })
}

fn withheld(variable: &Variable, sources: &SourceMap) -> Diagnostic {
    let name = &variable.name;
    let origin = sources.stored().map_or("", |stored| &stored.origin);
    let detail = format!(
        "The value that the variable \"{name}\" had in {origin} is not stored, or not any more. Set it \
         with --var, --var-file or TF_VAR_{name}."
    );
    Diagnostic::error("Value of an earlier deploy is not stored", detail).at(variable.span)
}

fn default_of(variable: &Variable, inputs: &Inputs, diags: &mut Diagnostics) -> Option<InputValue> {
    let name = &variable.name;
    if variable.default.is_none() && !inputs.partial {
        diags.error(
            variable.span,
            "No value for required variable",
            format!(
                "The root module input variable \"{name}\" is not set, and has no default value. \
                 Set it with --var, --var-file, a tfvars file or TF_VAR_{name}."
            ),
        );
    }
    let value = variable.default.clone()?;
    Some(InputValue {
        value: value.clone(),
        given: value,
        origin: Origin::Default,
        span: variable.default_span,
    })
}

/// Converts a given value to the variable's type. Null selects the default if null is not allowed.
pub(super) fn convert_given(
    variable: &Variable,
    given: &Value,
    span: Option<Span>,
    diags: &mut Diagnostics,
) -> Value {
    let name = &variable.name;
    let unknown = || Value::unknown(variable.ty.value_type());
    let value = match variable.convert(given) {
        Ok(value) => value,
        Err(error) => {
            diags.error(
                variable.span,
                "Invalid value for input variable",
                format!("The given value is not suitable for var.{name}: {error}."),
            );
            return unknown();
        }
    };
    if !value.is_null() || variable.nullable {
        return value;
    }
    if let Some(default) = &variable.default {
        return default.clone();
    }
    diags.error(
        span.unwrap_or(variable.span),
        "Required variable not set",
        format!(
            "The given value is not suitable for var.{name}: it is null, and null is not allowed."
        ),
    );
    unknown()
}
