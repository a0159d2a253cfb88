//! Selects the instance of a provider configuration with `for_each` that serves an object: from the
//! configuration, or from the state if the configuration no longer declares the object. Same rules
//! as OpenTofu.

use super::cell::Cell;
use super::scope::{ModuleScope, Surroundings};
use super::values::Repetition;
use super::walk::Walk;
use crate::engine::provider::Provider;
use crate::engine::store::model::StateObject;
use crate::engine::words::ConfigKey;
use crate::engine::workspace::provider_addr::{self, By, Route};
use cty::{Mark, Type, Value};
use lang::addr::{AbsInstance, ModuleInstance, ModulePath};
use lang::diag::{Diagnostic, Diagnostics};
use lang::syntax::ast::Expr;
use std::sync::Arc;

/// Configured provider with its key.
pub type Chosen = (ConfigKey, Arc<dyn Provider>);

impl Walk {
    /// Returns the provider of a declared instance; `None` with the reasons in the diagnostics.
    pub fn choose(
        &self,
        route: &Route<'_>,
        address: &AbsInstance,
        repetition: &Repetition,
        cell: &mut Cell,
    ) -> Option<Chosen> {
        let Some(by) = &route.by else {
            return self.configured(route.block.clone(), address, None, cell);
        };
        match self.key(by, address, repetition, cell) {
            Ok(key) => self.configured(route.block.with_instance(Some(key)), address, None, cell),
            Err(diags) => {
                cell.report(diags);
                None
            }
        }
    }

    /// Returns the provider of an object that the configuration does not declare: the one recorded
    /// with the object.
    pub fn choose_by_record(
        &self,
        block: &ConfigKey,
        address: &AbsInstance,
        object: &StateObject,
        cell: &mut Cell,
    ) -> Option<Chosen> {
        let deposed = Some(&*object.deposed).filter(|d| !d.is_empty());
        match ConfigKey::parse(&object.provider) {
            // Only an instance of the same block: another block may configure another account.
            Some(kept) if kept.block() == *block => self.configured(kept, address, deposed, cell),
            _ => {
                let detail = format!(
                    "{address} is in the state with the provider configuration {}, and its resource is declared with {block}, whose instances say nothing of it. Give the resource its former configuration until the object is destroyed.",
                    object.provider
                );
                cell.report(
                    Diagnostic::error("Unable to use fallback provider from state", detail)
                        .about(address.to_string()),
                );
                None
            }
        }
    }

    /// Returns a provider configuration that is ready. A failed one has its diagnostics already; a
    /// missing one is reported here.
    fn configured(
        &self,
        key: ConfigKey,
        address: &AbsInstance,
        deposed: Option<&str>,
        cell: &mut Cell,
    ) -> Option<Chosen> {
        if let Some(provider) = self.ready(&key) {
            return Some((key, provider));
        }
        // A declared configuration that is not ready has failed in its own node, which reports the
        // reason.
        if !provider_addr::is_there(&self.around.root, &key) {
            cell.report(self.absent(&key, address, deposed));
        }
        None
    }

    /// Returns the error for a provider configuration that an object needs but that is not declared
    /// (any more).
    fn absent(&self, key: &ConfigKey, address: &AbsInstance, deposed: Option<&str>) -> Diagnostic {
        let what = deposed.map_or_else(
            || address.to_string(),
            |deposed| format!("the deposed object {deposed} of {address}"),
        );
        let block = provider_addr::block_of(&self.around.root, key);
        let (summary, detail) = match &key.instance {
            Some(instance) if block.is_some() => (
                "Provider instance not present",
                format!(
                    "{what} belongs to {key}, and for_each of that provider block has no {instance:?} (any more). Put the key back; once the object is destroyed it may go. Where for_each of the block and of the resource (or its module) are one collection, an element takes both away at once: let the block keep it longer."
                ),
            ),
            None if block.is_some() => (
                "Provider instance not present",
                format!(
                    "{what} belongs to {key} as it was without for_each. Take for_each out of the block until the object is destroyed or forgotten, or declare an instance for it."
                ),
            ),
            _ => (
                "Provider configuration not present",
                format!(
                    "{what} belongs to {key}, which is not configured (any more). Put the provider block back; once the object is destroyed it may go."
                ),
            ),
        };
        Diagnostic::error(summary, detail).about(address.to_string())
    }

    fn key(
        &self,
        by: &By<'_>,
        address: &AbsInstance,
        repetition: &Repetition,
        cell: &mut Cell,
    ) -> Result<Arc<str>, Diagnostics> {
        let (value, diags) = match &by.module {
            None => {
                let module = self
                    .module(&address.module.path())
                    .ok_or_else(Diagnostics::new)?;
                ModuleScope {
                    own: Some(&address.resource),
                    ..ModuleScope::new(&self.around, module, &address.module)
                }
                .repeated(repetition.clone())
                .evaluate(by.key)
            }
            Some(path) => passed(&self.around, by.key, path, &address.module)?,
        };
        if diags.has_errors() {
            return Err(diags);
        }
        cell.report(diags);
        text(value, by.key, &address.to_string()).map_err(Diagnostics::from)
    }
}

/// Returns the key that the call of the module at `path` passes for `within`, an instance at or
/// below it. `what` names the subject in errors.
pub fn passed_key(
    around: &Surroundings,
    key: &Expr,
    path: &ModulePath,
    within: &ModuleInstance,
    what: &str,
) -> Result<Arc<str>, Diagnostics> {
    let (value, diags) = passed(around, key, path, within)?;
    if diags.has_errors() {
        return Err(diags);
    }
    text(value, key, what).map_err(Diagnostics::from)
}

/// Evaluates the key in the scope of the module's caller.
fn passed(
    around: &Surroundings,
    key: &Expr,
    path: &ModulePath,
    within: &ModuleInstance,
) -> Result<(Value, Diagnostics), Diagnostics> {
    // `within` may be nested deeper; the key is passed by the call at `path`.
    let called = ModuleInstance(within.0[..path.0.len()].to_vec());
    let caller = called.parent().unwrap_or_default();
    let module = around.root.descendant(&caller.path().0);
    let scope = ModuleScope::new(around, module.ok_or_else(Diagnostics::new)?, &caller);
    Ok(scope
        .repeated(around.values.repetition(&called))
        .evaluate(key))
}

/// Converts a key to a string; numbers and bools are converted too.
fn text(value: Value, expr: &Expr, what: &str) -> Result<Arc<str>, Diagnostic> {
    let wrong = |detail: String| {
        Diagnostic::error("Invalid provider instance key", detail)
            .at(expr.span)
            .about(what)
    };
    if value.has_mark(&Mark::Sensitive) {
        return Err(wrong("The key of a provider instance shows in every plan, and so must not rest on a sensitive value.".to_owned()));
    }
    if value.has_mark(&Mark::Ephemeral) {
        return Err(wrong("The key of a provider instance is kept in the state, and so must not rest on an ephemeral value.".to_owned()));
    }
    let value = value.unmark().0;
    if value.is_known() && value.is_null() {
        return Err(wrong(
            "The key of a provider instance must not be null.".to_owned(),
        ));
    }
    if !value.is_known() {
        let detail = format!(
            "The provider instance for {what} rests on something that is known only once it is deployed, so that nothing can be planned with it. Use a key that is known, or deploy first what it rests on (--target)."
        );
        return Err(wrong(detail));
    }
    match cty::convert::convert(&value, &Type::String) {
        Ok(text) => Ok(text.as_str().unwrap_or_default().into()),
        Err(error) => Err(wrong(format!(
            "The key of a provider instance is a text: {error}."
        ))),
    }
}
