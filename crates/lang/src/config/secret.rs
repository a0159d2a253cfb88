//! Reads `secret` blocks, and decides whether a variable takes its value from one. The engine
//! resolves the references; nothing is read or run here.

use std::sync::Arc;

use cty::{Type, Value};

use super::assignments::Given;
use super::inputs::{InputValue, Inputs, Origin};
use super::model::{Module, SecretReference, SecretSource, Variable};
use super::shared_blocks::check_name;
use super::{constant, environment};
use crate::body::{Block, BodySchema};
use crate::diag::{Diagnostic, Diagnostics};

/// Block type.
pub(super) const SECRET: &str = "secret";

/// Lengths of generated secrets, in characters.
const GENERATED: std::ops::RangeInclusive<usize> = 16..=1024;

const SCHEMES: &str =
    "\"env:NAME\", \"file:PATH\", \"command:PROGRAM ARGUMENTS\" or \"generate:N\"";

/// Declares the secrets of a root module. Other modules get values from their callers.
pub(super) fn declare(module: &mut Module, block: &Block, is_root: bool, diags: &mut Diagnostics) {
    if !is_root {
        let detail = "Declare secrets in the root module, for its variables, and pass the values \
            to modules in their calls.";
        diags.error(block.def_span, "Secret outside the root module", detail);
        return;
    }
    let Some(label) = block.labels.first() else {
        return;
    };
    check_name(label, "name of a secret", diags);
    let (content, found) = block.body.content(&BodySchema::new().required(&["from"]));
    diags.append(found);
    let Some(from) = content.attribute("from") else {
        return;
    };
    let Some(text) = constant::text(from, diags) else {
        return;
    };
    let source = match source(&text) {
        Ok(source) => source,
        Err(why) => {
            let summary = "Invalid reference of a secret";
            diags.error(from.expr.span, summary, format!("{why}."));
            return;
        }
    };
    let secret = SecretReference {
        variable: label.text.clone(),
        from: text.into(),
        source,
        span: from.expr.span,
    };
    if module.secrets.contains_key(&label.text) {
        let detail = format!(
            "A secret for the variable \"{}\" was already declared. A variable has one value.",
            label.text
        );
        diags.error(block.def_span, "Duplicate secret", detail);
        return;
    }
    module.secrets.insert(label.text.clone(), secret);
}

/// Parses the text of a reference.
fn source(text: &str) -> Result<SecretSource, String> {
    let Some((scheme, rest)) = text.split_once(':') else {
        return Err(format!("\"from\" must be {SCHEMES}"));
    };
    if rest.trim().is_empty() || rest.contains('\0') {
        return Err(format!(
            "the text behind \"{scheme}:\" is empty or contains NUL"
        ));
    }
    match scheme {
        "env" => {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            match rest.chars().all(is_name) && !rest.starts_with(|c: char| c.is_ascii_digit()) {
                true => Ok(SecretSource::Environment(rest.to_owned())),
                false => Err(format!(
                    "{rest:?} is not the name of an environment variable: use letters, digits and _"
                )),
            }
        }
        "file" => Ok(SecretSource::File(rest.to_owned())),
        "command" => match shlex::split(rest) {
            Some(words) if words.first().is_some_and(|word| !word.is_empty()) => {
                Ok(SecretSource::Command(words))
            }
            Some(_) => Err("the command has no program".to_owned()),
            None => Err("the command has a quote or backslash without its end".to_owned()),
        },
        "generate" => match rest.parse() {
            Ok(length) if GENERATED.contains(&length) => Ok(SecretSource::Generate(length)),
            _ => Err(format!(
                "\"generate:\" needs a number of characters from {} to {}",
                GENERATED.start(),
                GENERATED.end()
            )),
        },
        _ => Err(format!(
            "\"{scheme}:\" is not a known source; \"from\" must be {SCHEMES}"
        )),
    }
}

/// Checks that the variables of all secrets exist and hold text, and makes them sensitive.
pub(super) fn bind(root: &mut Module, diags: &mut Diagnostics) {
    for secret in root.secrets.values() {
        let name = &secret.variable;
        let Some(variable) = root.variables.get_mut(name) else {
            let detail = format!(
                "The root module has no variable \"{name}\". Declare it, or name the secret like \
                 the variable that gets its value."
            );
            diags.error(secret.span, "Secret for an undeclared variable", detail);
            continue;
        };
        let takes_text = [Type::String, Type::Number, Type::Bool, Type::Dynamic];
        if !takes_text.contains(&variable.ty.ty) {
            let detail = format!(
                "A secret is a text, but var.{name} is of another type. Declare it with type = \
                 string, and decode the text where it is used, for instance with jsondecode."
            );
            diags.error(secret.span, "Secret for a variable of another type", detail);
        }
        if variable.constant == Some(true) {
            let detail = format!(
                "var.{name} is declared with const = true, so its value is needed while modules \
                 are loaded; a secret is resolved later."
            );
            diags.error(secret.span, "Secret for a constant variable", detail);
        }
        variable.sensitive = true;
    }
}

/// Value of a variable whose reference is in use: unknown, until the engine resolves it. `None` if
/// the variable has no reference, or another value replaces it.
pub(super) fn unresolved(
    root: &Module,
    variable: &Variable,
    given: Option<&Given>,
    inputs: &Inputs,
    diags: &mut Diagnostics,
) -> Option<InputValue> {
    let secret = root.secrets.get(&variable.name)?;
    let planned = inputs.planned.as_ref();
    // The stage was planned with a value instead of the reference.
    if planned.is_some_and(|planned| planned.values.contains_key(&variable.name)) {
        return None;
    }
    match given.map(|given| given.origin) {
        // The value of an earlier deploy, which had one instead of the reference.
        Some(Origin::Plan) => return None,
        Some(Origin::Flag | Origin::NamedFile) if planned.is_none() => {
            diags.push(replaced(secret));
            return None;
        }
        Some(Origin::Environment) if is_same_variable(secret) => {}
        Some(origin) => diags.push(conflict(secret, origin, given)),
        None => {}
    }
    let value = Value::unknown(variable.ty.value_type());
    Some(InputValue {
        value: value.clone(),
        given: value,
        origin: Origin::Secret,
        span: Some(secret.span),
    })
}

/// Returns true if the reference names the environment variable of its own variable.
fn is_same_variable(secret: &SecretReference) -> bool {
    let SecretSource::Environment(name) = &secret.source else {
        return false;
    };
    name.strip_prefix(environment::PREFIX) == Some(&*secret.variable)
}

fn replaced(secret: &SecretReference) -> Diagnostic {
    let name = &secret.variable;
    let detail = format!(
        "The command line gives a value for var.{name}, so {} is not used. Unlike the value of a \
         reference, this value is stored with the stage.",
        secret.from
    );
    Diagnostic::warning("Secret replaced on the command line", detail).at(secret.span)
}

fn conflict(secret: &SecretReference, origin: Origin, given: Option<&Given>) -> Diagnostic {
    let name: &Arc<str> = &secret.variable;
    let (from, remedy) = match origin {
        Origin::Environment => (
            format!("the environment variable TF_VAR_{name}"),
            format!("Unset TF_VAR_{name}"),
        ),
        Origin::Flag | Origin::NamedFile => (
            "the command line, although the stage was planned with the reference".to_owned(),
            "Deploy without this value, or stage again with it".to_owned(),
        ),
        _ => (
            "a file with values of variables".to_owned(),
            "Remove that line".to_owned(),
        ),
    };
    let detail = format!(
        "var.{name} has a value in {from}, and a reference to its value ({}). {remedy}, or remove \
         the secret block.",
        secret.from
    );
    let place = given.and_then(|given| given.span).unwrap_or(secret.span);
    Diagnostic::error("Both a value and a secret for a variable", detail).at(place)
}

#[cfg(test)]
mod tests;
