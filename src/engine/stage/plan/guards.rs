//! Arguments of a resource that forbid or change a destroy: `prevent_destroy` and `destroy`.

use crate::stage::cell::Cell;
use crate::stage::scope::{ModuleScope, WalkContext};
use lang::addr::AbsInstance;
use lang::config::{Module, Resource};
use lang::diag::Diagnostic;
use lang::syntax::ast::Expr;

/// Protection of objects against a destroy.
#[derive(Clone, Copy)]
pub(super) struct DestroyGuards<'a> {
    pub(super) context: &'a WalkContext,
}

impl DestroyGuards<'_> {
    /// Checks `destroy` and `prevent_destroy` of an instance. `prevent_destroy` must have a valid
    /// value for any change, and be false for a destroy. `each` and `count` are not available in
    /// it, because undeclared instances have neither.
    pub(super) fn check(
        &self,
        module: &Module,
        resource: &Resource,
        address: &AbsInstance,
        destroys: bool,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        check_destroy_argument(resource, address, cell)?;
        let Some(expr) = resource.lifecycle.prevent_destroy.as_ref() else {
            return Ok(());
        };
        let scope = ModuleScope::new(self.context, module, &address.module);
        let (value, diags) = scope.evaluate(expr);
        if !cell.report(diags) {
            return Err(());
        }
        let mut refuse = |why: &str| {
            cell.report(invalid_prevent_destroy(expr, why).with_address(address.to_string()));
            Err(())
        };
        let Ok(guard) = cty::convert::convert(&value, &cty::Type::Bool) else {
            return refuse("is not a bool");
        };
        if guard.contains_mark(&cty::Mark::Ephemeral) {
            return refuse("is ephemeral, so it could change before the stage is deployed");
        }
        if guard.contains_mark(&cty::Mark::Sensitive) {
            return refuse("is sensitive, but the result of the plan would reveal it");
        }
        // The value must be valid for every change, but it only prevents a destroy.
        match guard.as_bool() {
            _ if !destroys => Ok(()),
            Some(false) => Ok(()),
            None if guard.is_known() => refuse("is null; set it to false to allow the destroy"),
            None if scope.is_orphaned() => refuse(
                "depends on a value that the configuration no longer has for this module instance; exclude the resource with --exclude, or set prevent_destroy to false",
            ),
            None => {
                refuse("is known only after apply; exclude the resource with --exclude until then")
            }
            Some(true) => {
                let detail = format!(
                    "Resource {address} has lifecycle.prevent_destroy set, but the stage calls for this resource to be destroyed. To continue, disable prevent_destroy for it, or narrow the stage with --target or --exclude."
                );
                let fault = Diagnostic::error("Instance cannot be destroyed", detail)
                    .at(resource.span)
                    .with_address(address.to_string());
                cell.report(fault);
                Err(())
            }
        }
    }
}

/// Reports an invalid value of `destroy`.
pub(super) fn check_destroy_argument(
    resource: &Resource,
    address: &AbsInstance,
    cell: &mut Cell,
) -> Result<(), ()> {
    let Some(Err(fault)) = &resource.lifecycle.destroy else {
        return Ok(());
    };
    cell.report(fault.clone().with_address(address.to_string()));
    Err(())
}

/// Returns the error for an invalid `prevent_destroy`.
pub fn invalid_prevent_destroy(expr: &Expr, why: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid value for prevent_destroy",
        format!("The value of prevent_destroy {why}."),
    )
    .at(expr.span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::testing::Unplanned;

    /// Checks this value of `prevent_destroy`; returns the error.
    fn checked(value: &str, destroys: bool) -> Option<String> {
        let lifecycle = format!("lifecycle {{ prevent_destroy = {value} }}");
        let config = format!("resource lab_thing a {{ {lifecycle} }}");
        let unplanned = Unplanned::new(&config, &[], &[]);
        let (module, resource) = unplanned.resource();
        let context = &unplanned.walk.context;
        let address = "lab_thing.a".parse().expect("an address");
        let mut cell = Cell::default();
        let guards = DestroyGuards { context };
        let result = guards.check(module, resource, &address, destroys, &mut cell);
        let error = cell.diags.iter().next().map(|d| d.detail.to_string());
        assert_eq!(result.is_err(), error.is_some(), "{value}: {error:?}");
        error
    }

    #[test]
    fn prevent_destroy_must_be_false_for_a_destroy() {
        const PREVENTED: Option<&str> = Some("has lifecycle.prevent_destroy set");
        for (value, destroys, part) in [
            ("false", true, None),
            ("true", true, PREVENTED),
            ("true", false, None),
            // Text is converted.
            ("\"true\"", true, PREVENTED),
            ("\"false\"", true, None),
            ("null", true, Some("is null; set it to false")),
            ("null", false, None),
            ("timestamp() == \"\"", true, Some("known only after apply")),
            ("timestamp() == \"\"", false, None),
            // An invalid value is an error for every change.
            ("[]", false, Some("is not a bool")),
            ("sensitive(false)", false, Some("is sensitive")),
        ] {
            let error = checked(value, destroys);
            match part {
                None => assert_eq!(error, None, "{value}"),
                Some(part) => assert!(error.expect(value).contains(part), "{value}"),
            }
        }
    }
}
