//! Plans one instance: selects its provider, then plans it or keeps it unchanged.

use super::removal_input::removal;
use super::resource::Shared;
use super::walk::PlanWalk;
use crate::stage::cell::Cell;
use crate::stage::provider_instance::Chosen;
use crate::stage::values::Repetition;
use cty::Value;
use lang::addr::{AbsInstance, Mode};
use model::{ConfigKey, StageMode};
use provider::Provider;
use std::sync::Arc;

/// Instance of a resource with its own provider configuration.
pub(super) struct Declared<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) key: ConfigKey,
    pub(super) provider: Arc<dyn Provider>,
}

impl<'a> std::ops::Deref for Declared<'a> {
    type Target = Shared<'a>;

    fn deref(&self) -> &Shared<'a> {
        self.shared
    }
}

impl PlanWalk {
    /// Plans one instance; returns the value that references to it see.
    pub(super) async fn instance(
        &self,
        shared: &Shared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        if !self.options.plans(address) && !self.options.destroys(address) {
            return self.unchanged_value(shared, address, cell).await;
        }
        let there = self.prior.objects(address).and_then(|o| o.current.as_ref());
        let chosen: Option<Chosen> = match there {
            // A destroy without refresh uses the provider instance that made the object.
            Some(object)
                if self.options.mode == StageMode::Destroy
                    && !self.options.refresh
                    && shared.route.by.is_some() =>
            {
                self.walk
                    .recorded_provider(&shared.route.block, address, object, cell)
            }
            _ => self.walk.choose(&shared.route, address, &repetition, cell),
        };
        let (key, provider) = chosen.ok_or(())?;
        let declared = &Declared {
            shared,
            key,
            provider,
        };
        match shared.resource.name.mode {
            Mode::Data => {
                let data = self.data_sources();
                data.plan(declared, address, repetition, cell).await
            }
            _ => self.managed(declared, address, repetition, cell).await,
        }
    }

    /// Returns the value of an instance outside of the targets, which stays unchanged.
    async fn unchanged_value(
        &self,
        shared: &Shared<'_>,
        address: &AbsInstance,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        let unknown = || Value::unknown(shared.schema.implied_type().clone());
        let there = self.prior.objects(address).and_then(|o| o.current.as_ref());
        // A data source outside of the targets is not read, so its value is unknown.
        let Some(object) = there.filter(|_| address.resource.mode == Mode::Managed) else {
            return Ok(unknown());
        };
        let key = &shared.route.block;
        let ctx = self
            .walk
            .context_of(&key.address, address, cell)
            .ok_or(())?;
        // Upgrading a record needs no provider configuration.
        let provider = match self.walk.providers.unconfigured(&key.address, &ctx).await {
            Ok(provider) => provider,
            Err(error) => {
                cell.report_call(&error, address, Some(shared.resource.span));
                return Err(());
            }
        };
        Ok(self
            .reader()
            .load(
                &removal(shared).by((key.clone(), provider)),
                address,
                object,
                &ctx,
                cell,
            )
            .await?
            .value)
    }
}
