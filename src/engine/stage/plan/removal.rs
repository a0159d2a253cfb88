//! Plans the removal of objects that are undeclared or deposed: reads them, then plans to destroy
//! or forget them.

use super::guards::DestroyGuards;
use super::options::PlanOptions;
use super::provision::ProvisionerCommands;
use super::read_object::ObjectReader;
use super::removal_input::{ReadObject, Removal, RemovalOf};
use super::removed::removed;
use super::walk::Progress;
use crate::stage::cell::Cell;
use crate::stage::change::{Act, Change, Object};
use crate::stage::managed::{self, NoPlan, Planned, Prior, Reason};
use crate::stage::needs::Needs;
use crate::stage::objects::{self};
use crate::stage::prior::{Objects, PriorState};
use crate::stage::values::{Expansion, Repetition};
use crate::stage::walk::Walk;
use cty::Value;
use lang::addr::{AbsInstance, InstanceKey, Mode};
use lang::config::{Module, Removed, Resource};
use lang::diag::Diagnostic;
use model::{Action, StageMode};
use std::sync::Arc;
use store::records::{StateEdit, StateObject};
use workspace::provider_addr::Route;

/// Removal of an object.
pub(super) struct End<'a> {
    /// Key of a deposed object.
    pub(super) deposed: Option<&'a str>,
    pub(super) reason: Option<Reason>,
    /// True if only the state forgets the object.
    pub(super) forget: bool,
}

/// Removal of objects that are no longer declared or wanted.
#[derive(Clone, Copy)]
pub(super) struct Removals<'a> {
    pub(super) walk: &'a Walk,
    pub(super) prior: &'a PriorState,
    pub(super) options: &'a PlanOptions,
    pub(super) reader: ObjectReader<'a>,
    pub(super) progress: &'a Progress,
}

impl Removals<'_> {
    fn commands(&self) -> ProvisionerCommands<'_> {
        let context = &self.walk.context;
        ProvisionerCommands { context }
    }

    fn guards(&self) -> DestroyGuards<'_> {
        let context = &self.walk.context;
        DestroyGuards { context }
    }

    /// Plans the destroy of an object that was read.
    pub(super) async fn destroy(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        there: &Objects,
        looked: ReadObject,
        end: End<'_>,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let Some(object) = &looked.object else {
            return Ok(());
        };
        let Some(now) = &looked.current else {
            // The object was deleted outside of flightdeck, so only its record is removed.
            cell.edits.push(StateEdit::Remove {
                address: object.address.clone(),
                deposed: object.deposed.clone(),
            });
            return Ok(());
        };
        // Destroy provisioners run only for complete current objects, as in OpenTofu.
        let commands = if !end.forget && end.deposed.is_none() && !object.tainted {
            self.commands().on_destroy(address, &now.value, cell)?
        } else {
            Vec::new()
        };
        let planned = self.plan_end(gone, address, now, end.forget, cell).await?;
        // In a destroy of everything the previous address does not matter.
        let previous = there.previous.clone();
        let previous = previous.filter(|_| self.options.mode != StageMode::Destroy);
        let create_first = object.create_before_destroy;
        cell.changes.push(Change {
            address: address.clone(),
            deposed: end.deposed.map(str::to_owned),
            previous,
            provider: gone.key.clone(),
            act: if end.forget {
                Act::Forget { create_first }
            } else {
                Act::Destroy {
                    create_first,
                    commands,
                }
            },
            reason: end.reason,
            before: Object {
                value: planned.before,
                private: now.private.to_vec(),
                identity: now.identity.clone(),
            },
            after: Object {
                value: planned.after,
                private: planned.private.to_vec(),
                identity: None,
            },
            schema_version: gone.schema.version,
            dependencies: Arc::new(object.dependencies.iter().cloned().collect()),
            // A destroy is ordered by the recorded needs alone.
            needs: Needs::new(),
            recorded: objects::recorded(object),
            drifted: looked.drifted,
        });
        Ok(())
    }

    async fn plan_end(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        now: &Prior,
        forget: bool,
        cell: &mut Cell,
    ) -> Result<Planned, ()> {
        let ctx = self
            .walk
            .context_of(&gone.key.address, address, cell)
            .ok_or(())?;
        // The object stays, so its provider has nothing to plan.
        if forget {
            return Ok(Planned {
                action: Action::Forget,
                reason: None,
                before: now.value.clone(),
                after: Value::null(gone.schema.implied_type().clone()),
                private: now.private.clone(),
                identity: None,
                replace_paths: Vec::new(),
                warnings: Vec::new(),
            });
        }
        let planned = managed::plan_destroy(
            gone.provider.as_ref(),
            &address.resource.kind,
            gone.schema,
            now,
            gone.plan_destroy,
            &ctx,
        );
        planned.await.map_err(|error| {
            let address = address.to_string();
            match error {
                NoPlan::Call(error) => cell.report_call(&error, &address, gone.span),
                NoPlan::Refused(said) => cell.report_provider(&said, &address, None, gone.span),
            };
        })
    }

    /// Plans the removal of an undeclared instance: its current object and its deposed ones.
    pub(super) async fn plan(
        &self,
        going: &Removal<'_>,
        address: &AbsInstance,
        there: &Objects,
        reason: Reason,
        cell: &mut Cell,
    ) -> bool {
        if !self.options.removes(address, false) {
            return true;
        }
        if address.resource.mode == Mode::Data {
            forget_data(there, cell);
            return true;
        }
        let Some(object) = &there.current else {
            return self.deposed(going, address, there, cell).await;
        };
        let Some(gone) = &self.removal_provider(going, address, object, cell) else {
            return false;
        };
        let Some(ctx) = self.walk.context_of(&gone.key.address, address, cell) else {
            return false;
        };
        let Ok(looked) = self
            .reader
            .read_current(gone, address, there, &ctx, cell)
            .await
        else {
            return false;
        };
        // A refresh-only stage plans no removal; it only records the result of the read.
        if self.options.mode == StageMode::RefreshOnly {
            self.reader.record_read(gone, address, &looked, cell);
            return self.deposed(going, address, there, cell).await;
        }
        let (forget, reason) = self.ending(gone, address, there, reason);
        if !forget {
            self.warn_about_removed_block(address, cell);
        }
        if let Some((module, resource)) = self.guard(address)
            // An object that no longer exists needs no protection.
            && looked.current.is_some()
            && self
                .guards()
                .check(module, resource, address, !forget, cell)
                .is_err()
        {
            return false;
        }
        let end = End {
            deposed: None,
            reason,
            forget,
        };
        let good = self
            .destroy(gone, address, there, looked, end, cell)
            .await
            .is_ok();
        (self.progress)(address);
        // Without short circuit, so that one run also reports the errors of deposed objects.
        good & self.deposed(going, address, there, cell).await
    }

    /// Returns true if the object is forgotten instead of destroyed, and the reason to show.
    fn ending(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        there: &Objects,
        reason: Reason,
    ) -> (bool, Option<Reason>) {
        // The move is the more precise reason: its target is not declared.
        let moved = there.previous.is_some() && reason == Reason::DeleteBecauseNoResourceConfig;
        let reason = if moved {
            Reason::DeleteBecauseNoMoveTarget
        } else {
            reason
        };
        let (forget, reason) = match self.removed_block(address) {
            Some(removed) => (!removed.destroy, reason),
            None => match there.current.as_ref().and_then(|o| gone.forget_reason(o)) {
                Some(why) => (true, why),
                None => (false, reason),
            },
        };
        // In a destroy of everything the mode is the reason.
        let shown = self.options.mode != StageMode::Destroy || forget;
        (forget, shown.then_some(reason))
    }

    /// Returns the provider of an object without a declared instance.
    fn removal_provider<'a>(
        &self,
        going: &Removal<'a>,
        address: &AbsInstance,
        object: &StateObject,
        cell: &mut Cell,
    ) -> Option<RemovalOf<'a>> {
        let chosen = if going.by_record {
            self.walk
                .recorded_provider(&going.block, address, object, cell)
        } else {
            self.walk.choose(
                &Route {
                    block: going.block.clone(),
                    by: None,
                },
                address,
                &Repetition::default(),
                cell,
            )
        };
        Some(going.clone().by(chosen?))
    }

    /// Returns the `removed` block of an instance. Destroy mode ignores these blocks, as in
    /// OpenTofu; only `destroy = false` of a resource keeps its objects then.
    fn removed_block(&self, address: &AbsInstance) -> Option<&Removed> {
        let found = removed(&self.walk.context.root, address);
        found
            .map(|(_, removed)| removed)
            .filter(|_| self.options.mode != StageMode::Destroy)
    }

    /// Warns if an object is destroyed although a `removed` block would keep it.
    fn warn_about_removed_block(&self, address: &AbsInstance, cell: &mut Cell) {
        let Some((_, removed)) = removed(&self.walk.context.root, address) else {
            return;
        };
        if self.options.mode != StageMode::Destroy || removed.destroy {
            return;
        }
        let detail = format!(
            "This block removes {address} from the state and keeps the object. Destroy mode ignores it, so the object is destroyed. To keep the object, deploy this configuration first, or run `flightdeck state forget '{address}'`."
        );
        let warning =
            Diagnostic::warning("The removed block has no effect in destroy mode", detail);
        cell.report(warning.at(removed.span));
    }

    /// Returns the declaration of an instance's resource, if it is still declared.
    fn guard(&self, address: &AbsInstance) -> Option<(&Module, &Resource)> {
        let module = self.walk.module(&address.module.path())?;
        Some((module, module.resources.get(&address.resource)?))
    }

    pub(super) async fn deposed(
        &self,
        going: &Removal<'_>,
        address: &AbsInstance,
        there: &Objects,
        cell: &mut Cell,
    ) -> bool {
        let mut good = true;
        for object in there
            .deposed
            .iter()
            .filter(|_| self.options.removes(address, true))
        {
            let Some(gone) = &self.removal_provider(going, address, object, cell) else {
                return false;
            };
            let Some(ctx) = self.walk.context_of(&gone.key.address, address, cell) else {
                return false;
            };
            let Ok(looked) = self
                .reader
                .read_object(gone, address, object, None, &ctx, cell)
                .await
            else {
                good = false;
                continue;
            };
            if self.options.mode == StageMode::RefreshOnly {
                self.reader.record_read(gone, address, &looked, cell);
            } else {
                let reason = gone.forget_reason(object);
                let forget = self
                    .removed_block(address)
                    .map_or(reason.is_some(), |removed| !removed.destroy);
                let end = End {
                    deposed: Some(&object.deposed),
                    reason,
                    forget,
                };
                good &= self
                    .destroy(gone, address, there, looked, end, cell)
                    .await
                    .is_ok();
            }
        }
        good
    }
}

/// Removes the state record of a data source.
pub(super) fn forget_data(there: &Objects, cell: &mut Cell) {
    if let Some(object) = &there.current {
        cell.edits.push(StateEdit::Remove {
            address: object.address.clone(),
            deposed: String::new(),
        });
    }
}

pub(super) fn wrong_key(expansion: &Expansion, key: &InstanceKey) -> Reason {
    match (expansion, key) {
        (Expansion::Disabled, _) => Reason::DeleteBecauseEnabledFalse,
        (Expansion::Count(_), InstanceKey::Int(_)) => Reason::DeleteBecauseCountIndex,
        (Expansion::Each(_), InstanceKey::Str(_)) => Reason::DeleteBecauseEachKey,
        _ => Reason::DeleteBecauseWrongRepetition,
    }
}
