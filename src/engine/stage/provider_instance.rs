//! Selects the instance of a provider configuration with `for_each` that manages an object: from
//! the configuration, or from the state if the configuration no longer declares the object. Same
//! rules as OpenTofu.

use super::cell::Cell;
use super::scope::{ModuleScope, WalkContext};
use super::values::Repetition;
use super::walk::Walk;
use cty::{Mark, Type, Value};
use lang::addr::{AbsInstance, ModuleInstance, ModulePath};
use lang::diag::{Diagnostic, Diagnostics};
use lang::syntax::ast::Expr;
use model::ConfigKey;
use provider::Provider;
use std::sync::Arc;
use store::records::StateObject;
use workspace::provider_addr::{self, By, Route};

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
    pub fn recorded_provider(
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
                    "The state records the provider configuration {} for {address}, but its resource now uses {block}. No instance of {block} can be chosen for the object. Restore the former provider configuration of the resource until the object is destroyed.",
                    object.provider
                );
                cell.report(
                    Diagnostic::error("Unable to use fallback provider from state", detail)
                        .with_address(address.to_string()),
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
        if !provider_addr::is_configured(&self.context.root, &key) {
            cell.report(self.absent(&key, address, deposed));
        }
        None
    }

    /// Returns the error for a provider configuration that an object needs but that is not declared
    /// (any more).
    fn absent(&self, key: &ConfigKey, address: &AbsInstance, deposed: Option<&str>) -> Diagnostic {
        let subject = deposed.map_or_else(
            || address.to_string(),
            |deposed| format!("the deposed object {deposed} of {address}"),
        );
        let block = provider_addr::block_of(&self.context.root, key);
        let (summary, detail) = match &key.instance {
            Some(instance) if block.is_some() => (
                "Provider instance not present",
                format!(
                    "An operation on {subject} needs {key}, but for_each of that provider block has no key {instance:?}. Restore the key until the object is destroyed. If the provider block and the resource (or its module) use the same for_each collection, removing an element removes both at once: use another collection for the provider block, and keep the element there longer."
                ),
            ),
            None if block.is_some() => (
                "Provider instance not present",
                format!(
                    "An operation on {subject} needs {key} without an instance key, but that provider block has for_each. Remove for_each from the block until the object is destroyed or forgotten, or declare an instance for it."
                ),
            ),
            _ => (
                "Provider configuration not present",
                format!(
                    "An operation on {subject} needs {key}, but that provider configuration is not declared. Restore the provider block until the object is destroyed."
                ),
            ),
        };
        Diagnostic::error(summary, detail).with_address(address.to_string())
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
                    // The provider of a resource must not depend on the resource itself.
                    own_resource: Some(&address.resource),
                    ..ModuleScope::new(&self.context, module, &address.module)
                }
                .with_repetition(repetition.clone())
                .evaluate(by.key)
            }
            Some(path) => evaluate_in_caller(&self.context, by.key, path, &address.module)?,
        };
        if diags.has_errors() {
            return Err(diags);
        }
        cell.report(diags);
        text(value, by.key, &address.to_string()).map_err(Diagnostics::from)
    }
}

/// Returns the key that the call of the module at `path` passes for `within`, an instance at or
/// below it. `subject` names the object in errors.
pub fn passed_key(
    around: &WalkContext,
    key: &Expr,
    path: &ModulePath,
    within: &ModuleInstance,
    subject: &str,
) -> Result<Arc<str>, Diagnostics> {
    let (value, diags) = evaluate_in_caller(around, key, path, within)?;
    if diags.has_errors() {
        return Err(diags);
    }
    text(value, key, subject).map_err(Diagnostics::from)
}

/// Evaluates the key in the scope of the module's caller.
fn evaluate_in_caller(
    around: &WalkContext,
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
        .with_repetition(around.values.repetition(&called))
        .evaluate(key))
}

/// Converts a key to a string; numbers and bools are converted too.
fn text(value: Value, expr: &Expr, subject: &str) -> Result<Arc<str>, Diagnostic> {
    let wrong = |detail: String| {
        Diagnostic::error("Invalid provider instance key", detail)
            .at(expr.span)
            .with_address(subject)
    };
    if value.has_mark(&Mark::Sensitive) {
        return Err(wrong("The key of a provider instance is visible in plans, so it must not depend on a sensitive value.".to_owned()));
    }
    if value.has_mark(&Mark::Ephemeral) {
        return Err(wrong("The key of a provider instance is stored in the state, so it must not depend on an ephemeral value.".to_owned()));
    }
    let value = value.unmark().0;
    if value.is_known() && value.is_null() {
        return Err(wrong(
            "The key of a provider instance must not be null.".to_owned(),
        ));
    }
    if !value.is_known() {
        let detail = format!(
            "The provider instance for {subject} depends on values known only after apply, so nothing can be planned with it. Use a known key, or deploy its dependencies first (--target)."
        );
        return Err(wrong(detail));
    }
    match cty::convert::convert(&value, &Type::String) {
        Ok(text) => Ok(text.as_str().unwrap_or_default().into()),
        Err(error) => Err(wrong(format!(
            "The key of a provider instance must be a string: {error}."
        ))),
    }
}
