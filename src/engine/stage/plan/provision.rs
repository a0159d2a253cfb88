//! Evaluates provisioners while planning, to list their commands and to record the external inputs
//! that they use.

use super::instance::Declared;
use super::removed::{removed, repetition};
use crate::stage::cell::Cell;
use crate::stage::commands::{self};
use crate::stage::external_inputs::ExternalInputs;
use crate::stage::managed::Planned;
use crate::stage::provision;
use crate::stage::scope::{ModuleScope, WalkContext};
use crate::stage::values::Repetition;
use cty::Value;
use lang::addr::{AbsInstance, ModuleInstance};
use lang::config::{Module, Provisioner};
use lang::diag::{Diagnostic, Message};
use model::{Action, CommandView};

/// Commands of the provisioners of an object.
#[derive(Clone, Copy)]
pub(super) struct ProvisionerCommands<'a> {
    pub(super) context: &'a WalkContext,
}

impl ProvisionerCommands<'_> {
    /// Evaluates the creation provisioners of an instance with the planned object as `self`, and
    /// returns their commands.
    pub(super) fn on_creation(
        &self,
        declared: &Declared<'_>,
        scope: &ModuleScope<'_>,
        planned: &Planned,
        cell: &mut Cell,
    ) -> Result<Vec<CommandView>, ()> {
        if !matches!(
            planned.action,
            Action::Create | Action::Replace | Action::ReplaceCreateFirst
        ) {
            return Ok(Vec::new());
        }
        let all = declared
            .resource
            .provisioners
            .iter()
            .filter(|p| !p.on_destroy);
        self.commands(
            declared.module,
            scope.instance,
            &scope.repetition,
            &planned.after,
            all,
            cell,
        )
    }

    /// Evaluates the destroy provisioners of an object and returns their commands.
    pub(super) fn on_destroy(
        &self,
        address: &AbsInstance,
        before: &Value,
        cell: &mut Cell,
    ) -> Result<Vec<CommandView>, ()> {
        let declared = self.context.root.descendant(&address.module.path().0);
        let (module, all) = match declared
            .and_then(|m| Some((m, &m.resources.get(&address.resource)?.provisioners)))
        {
            Some(found) => found,
            None => match removed(&self.context.root, address) {
                Some((module, removed)) => (module, &removed.provisioners),
                None => return Ok(Vec::new()),
            },
        };
        // A `removed` block may belong to an outer module, whose scope its provisioners use.
        let within = ModuleInstance(address.module.0[..module.path.0.len()].to_vec());
        self.commands(
            module,
            &within,
            &repetition(&address.key),
            before,
            all.iter().filter(|p| p.on_destroy),
            cell,
        )
    }

    fn commands<'a>(
        &self,
        module: &Module,
        instance: &ModuleInstance,
        repetition: &Repetition,
        object: &Value,
        provisioners: impl Iterator<Item = &'a Provisioner>,
        cell: &mut Cell,
    ) -> Result<Vec<CommandView>, ()> {
        let mut named = Vec::new();
        for provisioner in provisioners {
            let sights = ExternalInputs::default();
            let scope = ModuleScope {
                self_value: Some(object.clone()),
                external_inputs: Some(&sights),
                ..ModuleScope::new(self.context, module, instance)
                    .with_repetition(repetition.clone())
            };
            named.extend(commands::of(&scope, provisioner));
            // An invalid provisioner may become valid with values of the deploy, so its external
            // inputs are not recorded yet.
            if provision::validate(&scope, provisioner).has_errors() {
                continue;
            }
            drop(scope);
            if let Err(changed) = self.context.external_inputs.record_all(sights) {
                let text = changed.to_string();
                cell.report(
                    Diagnostic::error("External input changed", Message::plain(text))
                        .at(provisioner.span),
                );
                return Err(());
            }
        }
        Ok(named)
    }
}
