//! Objects of resources that are no longer declared.

use super::removal::{Removals, forget_data};
use super::removal_input::Removal;
use crate::stage::cell::Cell;
use crate::stage::managed::Reason;
use crate::stage::prior::Objects;
use lang::addr::{AbsInstance, ConfigResource, Mode};
use lang::diag::Diagnostic;
use model::{ConfigKey, short_provider};

impl Removals<'_> {
    /// Plans the removal of all objects of an undeclared resource.
    pub(super) async fn orphans(&self, address: &ConfigResource) -> Cell {
        let mut cell = Cell::default();
        let all: Vec<(AbsInstance, Objects)> = self
            .prior
            .of_config(address)
            .flat_map(|(abs, instances)| {
                instances
                    .iter()
                    .map(|(k, o)| (abs.instance(k.clone()), o.clone()))
            })
            .filter(|(instance, _)| self.options.removes(instance, false))
            .collect();
        if address.resource.mode == Mode::Data {
            all.iter()
                .for_each(|(_, there)| forget_data(there, &mut cell));
            return cell;
        }
        let mut good = true;
        for (instance, there) in all {
            let Some(fine) = self.orphan(&instance, &there, &mut cell).await else {
                return cell.failed_unless(false);
            };
            good &= fine;
        }
        cell.failed_unless(good)
    }

    /// Plans the removal of one instance. `None` if its provider has no schemas, which holds for
    /// all others too.
    async fn orphan(
        &self,
        instance: &AbsInstance,
        there: &Objects,
        cell: &mut Cell,
    ) -> Option<bool> {
        // A resource may have deposed objects only.
        let Some(object) = there.current.as_ref().or(there.deposed.first()) else {
            return Some(true);
        };
        let Some(key) = ConfigKey::parse(&object.provider) else {
            return Some(true);
        };
        let schemas = self.walk.context.schemas.get(&key.address)?;
        let Some(schema) = schemas.resources.get(instance.resource.kind.as_ref()) else {
            let detail = format!(
                "{} has no resource type {:?}, so it cannot destroy {instance}, which is in the state. Use a version of the provider that has the type, or run `flightdeck state forget '{instance}'`.",
                short_provider(&key.address),
                &*instance.resource.kind
            );
            let error = Diagnostic::error("Unsupported resource type", detail);
            cell.report(error.with_address(instance.to_string()));
            return Some(false);
        };
        let going = Removal {
            block: key.block(),
            by_record: true,
            schema,
            plan_destroy: schemas.capabilities.plan_destroy,
            forgets: None,
            span: None,
        };
        let reason = self.orphaned(instance);
        Some(self.plan(&going, instance, there, reason, cell).await)
    }

    /// Returns the reason: the module instance does not exist any more, or only the resource.
    fn orphaned(&self, instance: &AbsInstance) -> Reason {
        let module = instance.module.path();
        let exists = self
            .walk
            .context
            .values
            .instances(&module)
            .contains(&instance.module);
        let call_there = module.parent().is_some_and(|(p, call)| {
            self.walk
                .module(&p)
                .is_some_and(|m| m.calls.contains_key(call))
        });
        if !exists && call_there {
            Reason::DeleteBecauseNoModule
        } else {
            Reason::DeleteBecauseNoResourceConfig
        }
    }
}
