//! Evaluates import blocks: target address and id or identity.

use super::{ImportTarget, resource_of};
use crate::stage::scope::{ModuleScope, Phase, WalkContext};
use crate::stage::values::Repetition;
use cty::{Mark, Type, Value};
use lang::addr::{AbsInstance, ConfigResource, InstanceKey, ModuleInstance, Target};
use lang::config::{Import, for_each_instances};
use lang::diag::{Diagnostic, Diagnostics};
use lang::syntax::ast::{Expr, ExprKind, Step, StepKind, Traversal};
use provider::IdentitySchema;
use std::collections::BTreeMap;

/// Returns the instances that the blocks import into one resource, with diagnostics.
pub fn resolve(
    around: &WalkContext,
    address: &ConfigResource,
) -> (BTreeMap<AbsInstance, ImportTarget>, Diagnostics) {
    let mut all: BTreeMap<AbsInstance, ImportTarget> = BTreeMap::new();
    let mut diags = Diagnostics::new();
    let root = &around.root;
    let here = ModuleInstance::root();
    for import in root
        .imports
        .iter()
        .filter(|i| resource_of(i).as_ref() == Some(address))
    {
        let repetitions = match &import.for_each {
            None => vec![Repetition::default()],
            Some(expr) => match for_each(&ModuleScope::new(around, root, &here), expr) {
                Ok(Some(all)) => all,
                Ok(None) => {
                    diags.push(fault(expr, "depends on values known only after apply, so the objects to import are unknown"));
                    continue;
                }
                Err(more) => {
                    diags.append(more);
                    continue;
                }
            },
        };
        for repetition in repetitions {
            let scope = ModuleScope::new(around, root, &here).with_repetition(repetition);
            match evaluate_import(&scope, import) {
                Err(more) => diags.append(more),
                Ok((to, wanted)) => {
                    // With two imports the result would depend on the order of the blocks.
                    if let Some(known) = all.get(&to) {
                        let detail = format!(
                            "{to} has two imports, with the {} and with the {}. Remove one of them.",
                            known.describe(),
                            wanted.describe()
                        );
                        diags.push(
                            Diagnostic::error("Duplicate import configuration", detail)
                                .at(known.span)
                                .with_address(to.to_string()),
                        );
                        continue;
                    }
                    all.insert(to, wanted);
                }
            }
        }
    }
    (all, diags)
}

/// Checks a block without a plan. Unknown values are accepted, because they may turn out valid.
pub fn validate(
    around: &WalkContext,
    import: &Import,
    identities: Option<&IdentitySchema>,
) -> Diagnostics {
    let (root, here) = (&around.root, ModuleInstance::root());
    let base = ModuleScope::new(around, root, &here);
    let repetitions = match import.for_each.as_ref().map(|expr| for_each(&base, expr)) {
        None => vec![Repetition::default()],
        // While the collection is unknown, there is no element to check.
        Some(Ok(all)) => all.unwrap_or_default(),
        Some(Err(diags)) => return diags,
    };
    let mut diags = Diagnostics::new();
    for repetition in repetitions {
        let scope = ModuleScope::new(around, root, &here).with_repetition(repetition);
        match (&import.id, &import.identity) {
            (Some(expr), _) => drop(id(&scope, expr, &mut diags)),
            (None, Some(expr)) if identities.is_none() => {
                let detail = "Objects of this type have no identities; import them by id.";
                let summary = "Unable to determine identity schema for import identity";
                diags.push(Diagnostic::error(summary, detail).at(expr.span));
            }
            (None, Some(expr)) => drop(evaluate_known(&scope, expr, "identity", &mut diags)),
            (None, None) => {}
        }
    }
    diags
}

fn fault(expr: &Expr, why: &str) -> Diagnostic {
    let detail = format!("The \"for_each\" of an import block {why}.");
    Diagnostic::error("Invalid for_each argument", detail).at(expr.span)
}

/// Returns `each` for all elements; elements of a tuple are keyed by index. `None` if unknown.
fn for_each(scope: &ModuleScope<'_>, expr: &Expr) -> Result<Option<Vec<Repetition>>, Diagnostics> {
    let (value, diags) = scope.evaluate(expr);
    if diags.has_errors() {
        return Err(diags);
    }
    let pair = |key: Value, value: Value| Repetition {
        each_key: Some(key),
        each_value: Some(value),
        ..Repetition::default()
    };
    // Unlike resources, imports accept tuples; other collections follow the same rules.
    if !value.ty().is_tuple() {
        let items = for_each_instances(value, expr.span).map_err(Diagnostics::from)?;
        return Ok(items.map(|items| {
            let items = items.into_iter();
            items.map(|(k, v)| pair(Value::string(&*k), v)).collect()
        }));
    }
    if value.has_mark(&Mark::Sensitive) || value.has_mark(&Mark::Ephemeral) {
        let why = "can be neither sensitive nor ephemeral: its keys become part of addresses";
        return Err(fault(expr, why).into());
    }
    let (value, _) = value.unmark();
    if value.is_known() && value.is_null() {
        return Err(fault(expr, "is null; a map, set of strings or tuple is required").into());
    }
    let elements = value.as_slice().map(|all| all.iter().enumerate());
    Ok(elements.map(|all| {
        all.map(|(n, v)| pair(Value::number(n as u64), v.clone()))
            .collect()
    }))
}

fn evaluate_import(
    scope: &ModuleScope<'_>,
    import: &Import,
) -> Result<(AbsInstance, ImportTarget), Diagnostics> {
    let mut diags = Diagnostics::new();
    // Target and key are both evaluated, so that one run reports the errors of both.
    let to = address(scope, &import.to, &mut diags);
    let wanted = match (&import.id, &import.identity) {
        (Some(expr), _) => id(scope, expr, &mut diags).map(|id| ImportTarget {
            id,
            identity: None,
            span: import.span,
        }),
        (None, Some(expr)) => {
            let identity = evaluate_known(scope, expr, "identity", &mut diags);
            identity.map(|identity| ImportTarget {
                id: String::new(),
                identity: Some(identity),
                span: expr.span,
            })
        }
        (None, None) => None,
    };
    match (to, wanted) {
        (Some(to), Some(wanted)) if !diags.has_errors() => Ok((to, wanted)),
        _ => Err(diags),
    }
}

fn address(scope: &ModuleScope<'_>, expr: &Expr, diags: &mut Diagnostics) -> Option<AbsInstance> {
    let traversal = concrete(scope, expr, diags)?;
    match Target::from_traversal(&traversal) {
        Ok(Target::Instance(instance)) => Some(instance),
        Ok(Target::Resource(resource)) => Some(resource.instance(InstanceKey::None)),
        Ok(Target::Module(_)) => None,
        Err(d) => {
            diags.push(d);
            None
        }
    }
}

/// Returns the target address with its keys evaluated.
fn concrete(scope: &ModuleScope<'_>, expr: &Expr, diags: &mut Diagnostics) -> Option<Traversal> {
    match &expr.kind {
        ExprKind::Traversal(t) => Some(t.clone()),
        ExprKind::RelativeTraversal { source, steps } => {
            let mut base = concrete(scope, source, diags)?;
            base.steps.extend(steps.iter().cloned());
            Some(base)
        }
        ExprKind::Index {
            source,
            key,
            brackets,
        } => {
            let mut base = concrete(scope, source, diags)?;
            let (value, more) = scope.evaluate(key);
            let failed = more.has_errors();
            diags.append(more);
            if failed {
                return None;
            }
            let plain = value.clone().unmark_deep().0;
            // The key becomes part of an address, which is shown and stored.
            let usable =
                plain.is_known() && (plain.as_str().is_some() || plain.as_number().is_some());
            if !usable
                || value.contains_mark(&Mark::Sensitive)
                || value.contains_mark(&Mark::Ephemeral)
            {
                let detail = "A key in an import address must be a known string or number, and neither sensitive nor ephemeral.";
                diags.push(Diagnostic::error("Invalid import address key", detail).at(key.span));
                return None;
            }
            base.steps.push(Step {
                kind: StepKind::Index(plain),
                span: *brackets,
            });
            Some(base)
        }
        _ => None,
    }
}

/// Evaluates an `id` or `identity`: must be known, not null, and neither sensitive nor ephemeral.
fn evaluate_known(
    scope: &ModuleScope<'_>,
    expr: &Expr,
    argument: &str,
    diags: &mut Diagnostics,
) -> Option<Value> {
    let (value, more) = scope.evaluate(expr);
    let failed = more.has_errors();
    diags.append(more);
    if failed {
        return None;
    }
    let name = if argument == "id" { "ID" } else { argument };
    let mut fault = |detail: &str| {
        let detail = format!("The import {name} {detail}");
        diags.push(
            Diagnostic::error(format!("Invalid import {argument} argument"), detail).at(expr.span),
        );
        None
    };
    if value.contains_mark(&Mark::Sensitive) {
        return fault("cannot be sensitive: it is shown with the stage.");
    }
    if value.contains_mark(&Mark::Ephemeral) {
        return fault("cannot be ephemeral: it is stored with the stage.");
    }
    let plain = value.unmark_deep().0;
    // While validating, an unknown value is not an error yet.
    if !plain.is_wholly_known() && scope.context.phase == Phase::Validate {
        return None;
    }
    if !plain.is_wholly_known() {
        return fault(
            "depends on values known only after apply, so the object to import is unknown.",
        );
    }
    if plain.is_null() {
        return fault("cannot be null.");
    }
    Some(plain)
}

fn id(scope: &ModuleScope<'_>, expr: &Expr, diags: &mut Diagnostics) -> Option<String> {
    let plain = evaluate_known(scope, expr, "id", diags)?;
    let text = cty::convert::convert(&plain, &Type::String)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned));
    if text.is_none() {
        diags.push(
            Diagnostic::error(
                "Invalid import id argument",
                "The import ID must be a string.",
            )
            .at(expr.span),
        );
    }
    text
}

/// Reason that a value is not a valid identity, as a sentence.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoIdentity {
    #[error("objects of type {0} have no identity; import them by id.")]
    NoSchema(String),
    #[error(
        "the provider's schema of the identity of {0} is not an object, which is a bug in the provider."
    )]
    SchemaIsNoObject(String),
    #[error("the identity must be an object.")]
    NoObject,
    #[error("the identity of {kind} has no attribute {name:?}; it has: {names}.")]
    Unknown {
        kind: String,
        name: String,
        names: String,
    },
    #[error("the attribute {name:?} is invalid: {source}.")]
    Attribute {
        name: String,
        source: cty::ConvertError,
    },
    #[error("the required attribute {0:?} is missing.")]
    Missing(String),
}

/// Converts an identity to its type; missing optional attributes become null.
pub(super) fn identity(
    schema: Option<&IdentitySchema>,
    kind: &str,
    given: &Value,
) -> Result<Value, NoIdentity> {
    let schema = schema.ok_or_else(|| NoIdentity::NoSchema(kind.to_owned()))?;
    let wanted = &schema
        .ty
        .as_object()
        .ok_or_else(|| NoIdentity::SchemaIsNoObject(kind.to_owned()))?
        .attributes;
    let given = given.as_map().ok_or(NoIdentity::NoObject)?;
    // Most likely a typo, so it is not ignored.
    if let Some(name) = given.keys().find(|name| !wanted.contains_key(*name)) {
        let names: Vec<&str> = wanted.keys().map(AsRef::as_ref).collect();
        return Err(NoIdentity::Unknown {
            kind: kind.to_owned(),
            name: name.to_string(),
            names: names.join(", "),
        });
    }
    let one = |(name, ty): (&std::sync::Arc<str>, &Type)| match given
        .get(name)
        .filter(|v| !v.is_null())
    {
        Some(value) => Ok((
            name.to_string(),
            value.convert(ty).map_err(|source| NoIdentity::Attribute {
                name: name.to_string(),
                source,
            })?,
        )),
        None if schema.required_for_import.iter().any(|r| **r == **name) => {
            Err(NoIdentity::Missing(name.to_string()))
        }
        None => Ok((name.to_string(), Value::null(ty.clone()))),
    };
    Ok(Value::object(
        wanted
            .iter()
            .map(one)
            .collect::<Result<Vec<_>, NoIdentity>>()?,
    ))
}
