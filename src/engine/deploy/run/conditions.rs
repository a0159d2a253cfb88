//! Statuses of resource conditions that a deploy has evaluated, for the check results of the state.

use crate::stage::checked::{At, Checked, problem};
use crate::stage::conditions::{self, Kind, Status};
use crate::stage::scope::ModuleScope;
use lang::addr::AbsInstance;
use lang::config::{Condition, Resource};
use lang::diag::Diagnostics;
use model::mutex::lock;
use std::sync::Mutex;

/// Statuses of the resource conditions of a running deploy.
#[derive(Default)]
pub(super) struct ResourceConditions(Mutex<Checked>);

impl ResourceConditions {
    /// Evaluates conditions of a resource instance and records their statuses.
    pub(super) fn evaluate(
        &self,
        scope: &ModuleScope<'_>,
        address: &AbsInstance,
        all: &[Condition],
        kind: Kind,
    ) -> Result<(), Diagnostics> {
        let mut failed = Diagnostics::new();
        let (at, rest) = (at(address), address.resource.to_string());
        for condition in all {
            let (status, diags) = conditions::check(scope, condition, kind);
            let why = problem(status, &diags);
            lock(&self.0).record_condition(&at, &rest, status, why);
            failed.append(diags);
        }
        if failed.has_errors() {
            Err(failed)
        } else {
            Ok(())
        }
    }

    /// Marks postconditions of a changed instance as unknown until they are evaluated.
    pub(super) fn mark_postconditions_unknown(&self, address: &AbsInstance, resource: &Resource) {
        if !resource.lifecycle.postconditions.is_empty() {
            let rest = address.resource.to_string();
            lock(&self.0).record_condition(&at(address), &rest, Status::Unknown, None);
        }
    }

    /// Marks the conditions of an instance as known, right before they are evaluated.
    pub(super) fn mark_known(&self, address: &AbsInstance) {
        lock(&self.0).mark_passed(&at(address), &address.resource.to_string());
    }

    /// Removes and returns all statuses.
    pub(super) fn take(&self) -> Checked {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// Returns the place of an instance in the check results.
pub(super) fn at(address: &AbsInstance) -> At {
    At {
        module: address.module.clone(),
        key: address.key.clone(),
    }
}
