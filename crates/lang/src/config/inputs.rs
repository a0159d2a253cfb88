//! Values for the root module's variables: environment, `terraform.tfvars`, `*.auto.tfvars`,
//! `--var-file`, `--var`, later ones winning. Text becomes a value by the declared type.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cty::Value;

use super::encryption::VARIABLE;
use super::files::read_body;
use super::model::{Module, Variable};
use super::{constant, files};
use crate::diag::Diagnostics;
use crate::source::{SourceMap, Span};

/// What the operator gave, beside the files that are read anyway.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// `--var` and `--var-file` in the order given.
    pub flags: Vec<Flag>,
    /// Environment variables `TF_VAR_name`: name and text. See [`Inputs::environment`].
    pub env: Vec<(String, String)>,
    /// Whether variables may have no value, and what a caller would pass need not be there: a
    /// configuration is validated by itself.
    pub partial: bool,
    /// The selected workspace, `terraform.workspace`; empty for the default one.
    pub workspace: Arc<str>,
    /// The data directory, seen from the configuration's; empty where it is `.terraform`.
    pub data_dir: PathBuf,
    /// What is said of encryption beside the configuration; empty for nothing.
    pub encryption: String,
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
    /// With the `TF_VAR_…` variables of this process's environment, its `TF_DATA_DIR` and its
    /// `TF_ENCRYPTION`.
    pub fn environment(mut self) -> Inputs {
        self.env = std::env::vars_os()
            .filter_map(|(k, v)| {
                Some((
                    k.to_str()?.strip_prefix("TF_VAR_")?.to_owned(),
                    v.to_str()?.to_owned(),
                ))
            })
            .collect();
        self.env.sort();
        self.data_dir = std::env::var_os("TF_DATA_DIR").unwrap_or_default().into();
        self.encryption = std::env::var_os(VARIABLE)
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        self
    }

    /// The data directory, seen from the configuration's.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        match self.data_dir.as_os_str().is_empty() {
            true => Path::new(".terraform"),
            false => &self.data_dir,
        }
    }
}

/// Where a value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The variable's default.
    Default,
    /// The environment.
    Environment,
    /// A file of variables.
    File,
    /// A `--var` flag.
    Flag,
}

/// The value of a root variable.
#[derive(Clone, Debug)]
pub struct InputValue {
    /// Converted to the variable's type; unknown of that type where conversion failed.
    pub value: Value,
    /// As it was given.
    pub given: Value,
    /// Where it came from.
    pub origin: Origin,
    /// Its place, for values of files.
    pub span: Option<Span>,
}

/// Values of all root variables, and what is wrong with them.
#[derive(Clone, Debug, Default)]
pub struct RootValues {
    /// One for each declared variable that has a value.
    pub values: BTreeMap<Arc<str>, InputValue>,
    /// Values of a wrong type, or null where null is none: told when the variable is first
    /// evaluated.
    pub value_errors: Diagnostics,
}

struct Given {
    value: Value,
    origin: Origin,
    span: Option<Span>,
}

/// Collects the values for a root module in `dir`. Errors: files that cannot be read or hold
/// references, texts that are no expressions, flags for variables that are not declared, required
/// variables without value.
pub(crate) fn collect(
    root: &Module,
    dir: &Path,
    inputs: &Inputs,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> RootValues {
    let mut given: BTreeMap<Arc<str>, Given> = BTreeMap::new();
    for (name, text) in &inputs.env {
        if let Some(variable) = root.variables.get(name.as_str())
            && let Some(value) = from_text(variable, text, sources, diags)
        {
            given.insert(
                variable.name.clone(),
                Given {
                    value,
                    origin: Origin::Environment,
                    span: None,
                },
            );
        }
    }
    for name in automatic(dir) {
        from_file(
            &dir.join(&name),
            &name,
            root,
            sources,
            &mut given,
            inputs.partial,
            diags,
        );
    }
    for flag in &inputs.flags {
        match flag {
            Flag::File(path) => from_file(
                path,
                &path.display().to_string(),
                root,
                sources,
                &mut given,
                inputs.partial,
                diags,
            ),
            Flag::Var { name, text } => match root.variables.get(name.as_str()) {
                Some(variable) => {
                    // A text that is no expression leaves the variable without value, whatever a
                    // file says.
                    match from_text(variable, text, sources, diags) {
                        Some(value) => given.insert(
                            variable.name.clone(),
                            Given {
                                value,
                                origin: Origin::Flag,
                                span: None,
                            },
                        ),
                        None => given.remove(name.as_str()),
                    };
                }
                None => {
                    // Whether it is sensitive would stand in the declaration that is not there.
                    let file =
                        sources.add_private(format!("<value for var.{name}>"), text.as_str());
                    diags.error(
                        Span::new(file, 0, text.len()),
                        "Value for undeclared variable",
                        format!(
                            "A variable named \"{name}\" was assigned on the command line, but the root module does not declare one. \
                             To use this value, add a \"variable\" block."
                        ),
                    );
                }
            },
        }
    }
    let mut out = RootValues::default();
    for (name, variable) in &root.variables {
        match given.remove(name) {
            Some(one) => {
                if let Some(why) = variable.deprecated.as_ref().filter(|_| !inputs.partial) {
                    diags.warning(
                        variable.span,
                        "Deprecated variable used from the root module",
                        format!("The root variable \"{name}\" is deprecated: {why}"),
                    );
                }
                let value = settle(variable, &one.value, one.span, &mut out.value_errors);
                out.values.insert(name.clone(), InputValue { value, given: one.value, origin: one.origin, span: one.span });
            }
            None => match &variable.default {
                Some(value) => {
                    let value = InputValue { value: value.clone(), given: value.clone(), origin: Origin::Default, span: variable.default_span };
                    out.values.insert(name.clone(), value);
                }
                None if inputs.partial => {}
                None => diags.error(
                    variable.span,
                    "No value for required variable",
                    format!(
                        "The root module input variable \"{name}\" is not set, and has no default value. \
                         Set it with --var, --var-file, a tfvars file or TF_VAR_{name}."
                    ),
                ),
            },
        }
    }
    out
}

/// A given value as the variable's type; null gives way to the default where null is no value.
pub(super) fn settle(
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

/// Files of variables that are read without being asked for, in order.
fn automatic(dir: &Path) -> Vec<String> {
    // Whatever has the name is meant: a link to nowhere, or a directory, is told when it is read,
    // and not passed over.
    let there = |name: &str| std::fs::symlink_metadata(dir.join(name)).is_ok();
    let mut out: Vec<String> = ["terraform.tfvars", "terraform.tfvars.json"]
        .into_iter()
        .filter(|n| there(n))
        .map(str::to_owned)
        .collect();
    let mut auto: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| n.ends_with(".auto.tfvars") || n.ends_with(".auto.tfvars.json"))
        .collect();
    auto.sort();
    out.extend(auto);
    out
}

fn from_file(
    path: &Path,
    shown: &str,
    root: &Module,
    sources: &SourceMap,
    given: &mut BTreeMap<Arc<str>, Given>,
    partial: bool,
    diags: &mut Diagnostics,
) {
    let private = root.variables.values().any(|v| v.sensitive || v.ephemeral);
    let Some(body) = read_body(path, shown, private, sources, diags) else {
        return;
    };
    let (attributes, found) = body.just_attributes();
    diags.append(found);
    for (name, attribute) in attributes {
        if !root.variables.contains_key(&name) {
            diags.warning(
                attribute.name_span,
                "Value for undeclared variable",
                format!("The root module does not declare a variable named \"{name}\"; the value is not used."),
            );
            continue;
        }
        let mut found = Diagnostics::new();
        let value = constant::value(&attribute, &mut found);
        // What a value comes to is not asked of a configuration as such.
        if !partial {
            diags.append(found);
        }
        if let Some(value) = value {
            given.insert(
                name,
                Given {
                    value,
                    origin: Origin::File,
                    span: Some(attribute.expr.span),
                },
            );
        }
    }
}

/// Text as a value: as it stands for primitive and undeclared types, otherwise as an expression.
fn from_text(
    variable: &Variable,
    text: &str,
    sources: &SourceMap,
    diags: &mut Diagnostics,
) -> Option<Value> {
    if variable.ty.takes_text(variable.typed) {
        return Some(Value::string(text));
    }
    let name = format!("<value for var.{}>", variable.name);
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

/// Reads one file of variables without declarations at hand: every value as written.
pub fn read_tfvars(path: &Path, sources: &SourceMap) -> (BTreeMap<Arc<str>, Value>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let mut out = BTreeMap::new();
    if let Some(body) =
        files::read_body(path, &path.display().to_string(), true, sources, &mut diags)
    {
        let (attributes, found) = body.just_attributes();
        diags.append(found);
        for (name, attribute) in attributes {
            if let Some(value) = constant::value(&attribute, &mut diags) {
                out.insert(name, value);
            }
        }
    }
    (out, diags)
}
