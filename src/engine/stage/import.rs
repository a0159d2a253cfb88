//! `import` blocks: which objects are to be taken into the state under which ids, and what their
//! provider says of them. Pure but for the provider's calls; the state gets an imported object when
//! the stage is deployed. What is imported by hand is looked at here too, see [`super::adopt`].

use super::cell::Cell;
use super::change::Importing;
use super::managed::{self, Prior};
use super::plan::PlanWalk;
use super::scope::{ModuleScope, Phase, Surroundings};
use super::values::Repetition;
use super::walk::Walk;
use crate::engine::calls::CallContext;
use crate::engine::provider::{IdentitySchema, ImportRequest, Imported, Provider, ReadRequest};
use cty::schema::Schema;
use cty::{Mark, Type, Value};
use lang::addr::{AbsInstance, ConfigResource, InstanceKey, Mode, ModuleInstance, Target};
use lang::config::{Import, Module};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use lang::syntax::ast::{Expr, ExprKind, Step, StepKind, Traversal};
use std::collections::BTreeMap;

/// What an `import` block, or an operator, asks for one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Empty where the object is to be created after all, or the identity says which object it is.
    pub id: String,
    /// As it is written, not yet of the type that the provider wants.
    pub identity: Option<Value>,
    /// The block; the resource where an operator asks.
    pub span: Span,
}

impl Wanted {
    /// What the object is imported by; `None` where it is to be created after all.
    pub fn by(&self) -> Option<Importing> {
        match &self.identity {
            Some(identity) => Some(Importing::Identity {
                identity: super::masks::known_json(identity),
            }),
            None => (!self.id.is_empty()).then(|| Importing::Id(self.id.clone())),
        }
    }

    /// What is shown of it.
    fn shown(&self) -> String {
        match self.by() {
            Some(Importing::Identity { identity }) => format!("identity {identity}"),
            _ => format!("id {}", lang::addr::quote(&self.id)),
        }
    }
}

/// The resource that a block imports into, whatever the keys in its address.
pub fn resource_of(import: &Import) -> Option<ConfigResource> {
    let target = Target::from_traversal(&names(&import.to)?).ok()?;
    let resource = match &target {
        Target::Module(_) => return None,
        Target::Resource(r) => r.resource.clone(),
        Target::Instance(i) => i.resource.clone(),
    };
    Some(ConfigResource {
        module: target.module().path(),
        resource,
    })
}

/// The address without computed keys.
fn names(expr: &Expr) -> Option<Traversal> {
    match &expr.kind {
        ExprKind::Traversal(t) => Some(t.clone()),
        ExprKind::Index { source, .. } => names(source),
        ExprKind::RelativeTraversal { source, steps } => {
            let mut base = names(source)?;
            base.steps.extend(steps.iter().cloned());
            Some(base)
        }
        _ => None,
    }
}

/// The expressions of computed keys in an address.
fn keys<'e>(expr: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &expr.kind {
        ExprKind::Index { source, key, .. } => {
            keys(source, out);
            out.push(key);
        }
        ExprKind::RelativeTraversal { source, .. } => keys(source, out),
        _ => {}
    }
}

/// Everything that has to be worked out before a block's objects are known.
pub fn expressions(import: &Import) -> Vec<&Expr> {
    let mut all: Vec<&Expr> = [&import.id, &import.identity, &import.for_each]
        .into_iter()
        .flatten()
        .collect();
    keys(&import.to, &mut all);
    all
}

/// What can be said against the blocks without a plan.
pub fn validate(walk: &Walk) -> Diagnostics {
    let root = &walk.around.root;
    let here = ModuleInstance::root();
    let mut diags = Diagnostics::new();
    for import in &root.imports {
        let Some(target) = resource_of(import) else {
            continue;
        };
        let declared = root
            .descendant(&target.module.0)
            .is_some_and(|m| m.resources.contains_key(&target.resource));
        if target.resource.mode != Mode::Managed {
            let detail = format!("{target} is no managed resource; only those can be imported.");
            let place = if target.resource.mode == Mode::Ephemeral {
                import.span
            } else {
                import.to.span
            };
            diags.push(Diagnostic::error("Invalid import target", detail).at(place));
        } else if !declared {
            // Somebody may be about to declare it: a plan needs it, and asks for it.
            continue;
        } else if let Some(provider) = &import.provider {
            let detail = format!(
                "The object of {target} is imported with the provider configuration that the resource has. Take \"provider\" out of the import block."
            );
            diags.push(
                Diagnostic::error("Invalid import provider argument", detail).at(provider.span),
            );
        }
        let base = ModuleScope::new(&walk.around, root, &here);
        if let Some(expr) = &import.for_each {
            diags.append(base.check(&expr.traversals()));
        }
        let repetition = match &import.for_each {
            Some(_) => Repetition {
                each_key: Some(Value::dynamic()),
                each_value: Some(Value::dynamic()),
                ..Repetition::default()
            },
            None => Repetition::default(),
        };
        let scope = base.repeated(repetition);
        for expr in expressions(import) {
            diags.append(scope.check(&expr.traversals()));
        }
    }
    diags
}

/// Blocks whose target nobody declares. Planning ends there, before anything else is looked at.
pub fn undeclared(root: &Module) -> Diagnostics {
    let mut diags = Diagnostics::new();
    for import in &root.imports {
        let Some(target) = resource_of(import) else {
            continue;
        };
        if !root
            .descendant(&target.module.0)
            .is_some_and(|m| m.resources.contains_key(&target.resource))
        {
            diags.push(no_configuration(&target.to_string(), import.span));
        }
    }
    diags
}

fn no_configuration(target: &str, span: Span) -> Diagnostic {
    let detail = format!(
        "The configuration for the import target {target} does not exist. What is imported must be declared: add the block."
    );
    Diagnostic::error("Configuration for import target does not exist", detail).at(span)
}

/// The instances that the blocks name for one resource, with what is wrong with them.
pub fn resolve(
    around: &Surroundings,
    address: &ConfigResource,
) -> (BTreeMap<AbsInstance, Wanted>, Diagnostics) {
    let mut all: BTreeMap<AbsInstance, Wanted> = BTreeMap::new();
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
                Ok(all) => all,
                Err(more) => {
                    diags.append(more);
                    continue;
                }
            },
        };
        for repetition in repetitions {
            let scope = ModuleScope::new(around, root, &here).repeated(repetition);
            match one(&scope, import) {
                Err(more) => diags.append(more),
                Ok((to, wanted)) => {
                    if let Some(known) = all.get(&to) {
                        let detail = format!(
                            "{to} is to be imported twice, with the {} and the {}. Leave one of them out.",
                            known.shown(),
                            wanted.shown()
                        );
                        diags.push(
                            Diagnostic::error("Duplicate import configuration", detail)
                                .at(import.span)
                                .about(to.to_string()),
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

/// `each` for the elements: a list's elements have their number as key.
fn for_each(scope: &ModuleScope<'_>, expr: &Expr) -> Result<Vec<Repetition>, Diagnostics> {
    let (value, diags) = scope.evaluate(expr);
    if diags.has_errors() {
        return Err(diags);
    }
    let fault = |detail: &'static str| {
        Diagnostics::from(Diagnostic::error("Invalid for_each argument", detail).at(expr.span))
    };
    if value.contains_mark(&Mark::Sensitive) || value.contains_mark(&Mark::Ephemeral) {
        return Err(fault(
            "The \"for_each\" of an import block can be neither sensitive nor ephemeral: its keys become part of addresses.",
        ));
    }
    let (value, _) = value.unmark_deep();
    if !value.is_known() {
        return Err(fault(
            "The \"for_each\" of an import block depends on values that are known only after apply, so it is not known what to import.",
        ));
    }
    if value.is_null() {
        return Err(fault(
            "The \"for_each\" of an import block is null; a map, set or list is required.",
        ));
    }
    let pair = |key: Value, value: Value| Repetition {
        each_key: Some(key),
        each_value: Some(value),
        ..Repetition::default()
    };
    if let Some(map) = value.as_map() {
        return Ok(map
            .iter()
            .map(|(k, v)| pair(Value::string(k), v.clone()))
            .collect());
    }
    let Some(elements) = value.as_slice() else {
        return Err(fault(
            "The \"for_each\" of an import block must be a map, a set or a list.",
        ));
    };
    let set = value.ty().is_set();
    Ok(elements
        .iter()
        .enumerate()
        .map(|(n, v)| {
            pair(
                if set {
                    v.clone()
                } else {
                    Value::number(n as u64)
                },
                v.clone(),
            )
        })
        .collect())
}

fn one(scope: &ModuleScope<'_>, import: &Import) -> Result<(AbsInstance, Wanted), Diagnostics> {
    let mut diags = Diagnostics::new();
    let to = address(scope, &import.to, &mut diags);
    let wanted = match (&import.id, &import.identity) {
        (Some(expr), _) => id(scope, expr, &mut diags).map(|id| Wanted {
            id,
            identity: None,
            span: import.span,
        }),
        (None, Some(expr)) => {
            let identity = plain(scope, expr, "identity", &mut diags);
            identity.map(|identity| Wanted {
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

/// The address with its keys worked out.
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
            let usable =
                plain.is_known() && (plain.as_str().is_some() || plain.as_number().is_some());
            if !usable
                || value.contains_mark(&Mark::Sensitive)
                || value.contains_mark(&Mark::Ephemeral)
            {
                let detail = "A key in the address of an import must be a text or a number that is known, and neither sensitive nor ephemeral.";
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

/// The value of an `id` or an `identity`: known, not null, and fit to be shown and kept.
fn plain(
    scope: &ModuleScope<'_>,
    expr: &Expr,
    what: &str,
    diags: &mut Diagnostics,
) -> Option<Value> {
    let (value, more) = scope.evaluate(expr);
    let failed = more.has_errors();
    diags.append(more);
    if failed {
        return None;
    }
    let name = if what == "id" { "ID" } else { what };
    let mut fault = |detail: &str| {
        let detail = format!("The import {name} {detail}");
        diags.push(
            Diagnostic::error(format!("Invalid import {what} argument"), detail).at(expr.span),
        );
        None
    };
    if value.contains_mark(&Mark::Sensitive) {
        return fault("cannot be sensitive: it is shown with the stage.");
    }
    if value.contains_mark(&Mark::Ephemeral) {
        return fault("cannot be ephemeral: it is kept with the stage.");
    }
    let plain = value.unmark_deep().0;
    if !plain.is_wholly_known() {
        return fault(
            "depends on values that are known only after apply, so it is not known what to import.",
        );
    }
    if plain.is_null() {
        return fault("cannot be null.");
    }
    Some(plain)
}

fn id(scope: &ModuleScope<'_>, expr: &Expr, diags: &mut Diagnostics) -> Option<String> {
    let plain = plain(scope, expr, "id", diags)?;
    let text = cty::convert::convert(&plain, &Type::String)
        .ok()
        .and_then(|v| v.as_str().map(str::to_owned));
    if text.is_none() {
        diags.push(
            Diagnostic::error(
                "Invalid import id argument",
                "The import ID must be a text.",
            )
            .at(expr.span),
        );
    }
    text
}

/// An identity as its type's provider wants it: what may be left out and is, is null.
fn identity(schema: Option<&IdentitySchema>, kind: &str, given: &Value) -> Result<Value, String> {
    let schema =
        schema.ok_or_else(|| format!("{kind} has no identities; import its objects by id."))?;
    let wanted = &schema
        .ty
        .as_object()
        .ok_or_else(|| format!("the identity of {kind} is no object."))?
        .attributes;
    let given = given
        .as_map()
        .ok_or_else(|| "it must be an object.".to_owned())?;
    if let Some(name) = given.keys().find(|name| !wanted.contains_key(*name)) {
        let names: Vec<&str> = wanted.keys().map(AsRef::as_ref).collect();
        return Err(format!(
            "the identity of {kind} has no attribute {name:?}; it has: {}.",
            names.join(", ")
        ));
    }
    let one = |(name, ty): (&std::sync::Arc<str>, &Type)| match given
        .get(name)
        .filter(|v| !v.is_null())
    {
        Some(value) => Ok((
            name.to_string(),
            value
                .convert(ty)
                .map_err(|e| format!("its attribute {name:?}: {e}."))?,
        )),
        None if schema.required_for_import.iter().any(|r| **r == **name) => {
            Err(format!("the attribute {name:?} is missing, and needed."))
        }
        None => Ok((name.to_string(), Value::null(ty.clone()))),
    };
    Ok(Value::object(
        wanted.iter().map(one).collect::<Result<Vec<_>, String>>()?,
    ))
}

/// What the provider has under an id, read as it is now.
pub async fn fetch(
    provider: &dyn Provider,
    schema: &Schema,
    address: &AbsInstance,
    wanted: &Wanted,
    ctx: &CallContext,
) -> Result<(Prior, Diagnostics), Diagnostics> {
    let text = address.to_string();
    let who = provider.info().address.clone();
    let call = |e: crate::engine::calls::ProviderError| {
        Diagnostics::from(
            Diagnostic::error("Plugin call failed", e.to_string())
                .at(wanted.span)
                .about(text.as_str()),
        )
    };
    let kind = address.resource.kind.to_string();
    let identity = match &wanted.identity {
        None => None,
        Some(given) => {
            let schemas = provider.known_schema();
            let made = identity(
                schemas.as_ref().and_then(|s| s.identities.get(&kind)),
                &kind,
                given,
            );
            Some(made.map_err(|e| {
                let detail = format!("The identity to import {text} by does not fit: {e}");
                Diagnostics::from(
                    Diagnostic::error("Invalid import identity argument", detail)
                        .at(wanted.span)
                        .about(text.as_str()),
                )
            })?)
        }
    };
    let request = ImportRequest {
        type_name: kind.clone(),
        id: wanted.id.clone(),
        identity,
    };
    let answer = provider.import(request, ctx).await.map_err(call)?;
    let mut said = super::walk::placed(&answer.diagnostics, &text, None, Some(wanted.span));
    if said.has_errors() {
        return Err(said);
    }
    let fault = |summary: &str, detail: String| {
        Diagnostics::from(
            Diagnostic::error(summary, detail)
                .at(wanted.span)
                .about(text.as_str()),
        )
    };
    let shown = wanted.shown();
    let [
        Imported {
            type_name,
            state,
            private,
            identity,
        },
    ] = answer.imported.as_slice()
    else {
        let detail = format!(
            "{who} answered {} objects for the {shown}, and one is needed. What stands for several objects cannot be imported; name one.",
            answer.imported.len()
        );
        return Err(fault("Import did not find one object", detail));
    };
    if *type_name != kind {
        let detail =
            format!("{who} answered a {type_name} for the {shown}, and {address} is a {kind}.");
        return Err(fault("Import found another type of object", detail));
    }
    let request = ReadRequest {
        type_name: kind,
        current: state.clone(),
        private: private.clone(),
        identity: identity.clone(),
    };
    let read = provider.read(request, ctx).await.map_err(call)?;
    said.append(super::walk::placed(
        &read.diagnostics,
        &text,
        None,
        Some(wanted.span),
    ));
    if said.has_errors() {
        return Err(said);
    }
    if read.state.is_null() {
        let detail = format!(
            "{who} found nothing under the {shown}. Check the id, and that the provider is configured for the account and region where the object is. Where nothing is imported, it is created."
        );
        return Err(fault("Cannot import non-existent remote object", detail));
    }
    let value = managed::mark(schema, read.state, &[]);
    let identity = read.identity.or_else(|| identity.clone());
    Ok((
        Prior {
            value,
            private: read.private,
            tainted: false,
            identity,
        },
        said,
    ))
}

impl PlanWalk {
    /// Notes what is to be imported into a resource; `false` where that cannot be worked out.
    pub fn imports(
        &self,
        address: &ConfigResource,
        cell: &mut Cell,
    ) -> Option<BTreeMap<AbsInstance, Wanted>> {
        debug_assert!(
            self.walk.around.phase == Phase::Plan,
            "imports are worked out while planning"
        );
        let (all, diags) = resolve(&self.walk.around, address);
        cell.report(diags).then_some(all)
    }

    /// Reports imports into instances that are not declared.
    pub fn imports_without_configuration(
        &self,
        all: &BTreeMap<AbsInstance, Wanted>,
        cell: &mut Cell,
    ) -> bool {
        let declared = |i: &AbsInstance| {
            cell.expansions
                .get(&i.abs())
                .is_some_and(|keys| keys.contains(&i.key))
        };
        let mut diags = Diagnostics::new();
        for (address, wanted) in all {
            if self.wishes.wants(address) && !declared(address) {
                diags.push(
                    no_configuration(&address.to_string(), wanted.span).about(address.to_string()),
                );
            }
        }
        cell.report(diags)
    }
}
