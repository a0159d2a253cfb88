//! Evaluates provider configurations, per instance if the block has `for_each`, and configures a
//! process for each.

use super::cell::{Cell, Ready};
use super::scope::{ModuleScope, Phase};
use super::values::Repetition;
use super::walk::Walk;
use calls::CallContext;
use cty::Value;
use futures_util::stream::{self, StreamExt};
use lang::config::ProviderConfig;
use model::ConfigKey;
use provider::{Provider, ProviderSchema, Signatures};
use std::sync::Arc;
use workspace::provider_addr::{self};

/// Instances of one block configured at a time.
const MAX_CONCURRENT: usize = 8;

impl Walk {
    /// Evaluates a provider block and configures its processes.
    pub(super) async fn provider_block(&self, key: &ConfigKey, cell: &mut Cell) -> bool {
        let Some(schema) = self.context.schemas.get(&key.address).cloned() else {
            return true;
        };
        let Some(block) = provider_addr::block_of(&self.context.root, key) else {
            // Only the root's default configuration may be undeclared. Missing others are reported
            // with the objects that need them.
            return !provider_addr::is_configured(&self.context.root, key)
                || self
                    .provider(key, &schema, None, Repetition::default(), cell)
                    .await;
        };
        let Some(instances) = &block.instances else {
            return self
                .provider(key, &schema, Some(block), Repetition::default(), cell)
                .await;
        };
        let mut work = Vec::new();
        for (instance, value) in instances {
            let (each_key, each_value) = (Some(Value::string(instance)), Some(value.clone()));
            let repetition = Repetition {
                each_key,
                each_value,
                ..Repetition::default()
            };
            let (key, schema) = (key.with_instance(Some(instance.clone())), &schema);
            work.push(async move {
                let mut part = Cell::default();
                let good = self
                    .provider(&key, schema, Some(block), repetition, &mut part)
                    .await;
                part.failed_unless(good)
            });
        }
        // `buffered` keeps the order of instances, so that diagnostics do not depend on timing.
        let parts: Vec<Cell> = stream::iter(work).buffered(MAX_CONCURRENT).collect().await;
        parts.into_iter().for_each(|part| cell.append(part));
        !cell.failed
    }

    /// Evaluates and configures one provider configuration.
    async fn provider(
        &self,
        key: &ConfigKey,
        schema: &ProviderSchema,
        declared: Option<&ProviderConfig>,
        repetition: Repetition,
        cell: &mut Cell,
    ) -> bool {
        let span = declared.map(|d| d.span);
        let config = match declared {
            Some(block) => match self.config_of(key, schema, block, repetition, cell) {
                Ok(config) => config,
                Err(good) => return good,
            },
            None => schema.provider.block.empty_value(),
        };
        let (config, _) = config.unmark_deep();
        let ctx = CallContext::general(&self.cancel);
        let address = key.to_string();
        let body = declared.map(|d| &d.body);
        let checked = async {
            let plain = self.providers.unconfigured(&key.address, &ctx).await?;
            // Providers have checked their blocks in the validate walk.
            if self.context.phase != Phase::Validate || declared.is_none() {
                return Ok(None);
            }
            plain
                .validate_provider(config.clone(), &ctx)
                .await
                .map(Some)
        };
        match checked.await {
            Err(error) => return cell.report_call(&error, &address, span),
            Ok(Some(answer)) => {
                if !cell.report_provider(&answer.diagnostics, &address, body, span) {
                    return false;
                }
            }
            Ok(None) => {}
        }
        if self.context.phase == Phase::Validate {
            return true;
        }
        // The pool may return a process that already has this configuration.
        let (provider, done) = match self.providers.configured(key, &config, &ctx).await {
            Ok(found) => found,
            Err(error) => return cell.report_call(&error, &address, span),
        };
        if !done {
            match provider.configure(config.clone(), &ctx).await {
                Err(error) => return cell.report_call(&error, &address, span),
                Ok(answer) => {
                    if !cell.report_provider(&answer.diagnostics, &address, body, span) {
                        return false;
                    }
                }
            }
        }
        let Some(functions) = self.functions_of(key, &provider, declared, cell).await else {
            return false;
        };
        let key = key.clone();
        cell.ready.push(Ready {
            key,
            provider,
            functions,
        });
        true
    }

    /// Evaluates a block. The error is true if there is nothing to configure, false after errors.
    fn config_of(
        &self,
        key: &ConfigKey,
        schema: &ProviderSchema,
        block: &ProviderConfig,
        repetition: Repetition,
        cell: &mut Cell,
    ) -> Result<Value, bool> {
        let module = self.module(&key.module).ok_or(true)?;
        let instances = self.context.values.instances(&key.module);
        let instance = instances.first().ok_or(true)?;
        let scope = ModuleScope::new(&self.context, module, instance).with_repetition(repetition);
        let (value, diags) = self.decode(&block.body, &schema.provider.block, &scope);
        if cell.report(diags) {
            Ok(value)
        } else {
            Err(false)
        }
    }

    /// Fetches the functions that a configured provider has besides its schema, if the
    /// configuration calls any; `None` after errors.
    async fn functions_of(
        &self,
        key: &ConfigKey,
        provider: &Arc<dyn Provider>,
        declared: Option<&ProviderConfig>,
        cell: &mut Cell,
    ) -> Option<Signatures> {
        let mut called = self.nodes.unregistered_functions().values();
        if !called.any(|address| *address == key.address) {
            return Some(Signatures::new());
        }
        let (body, span) = (declared.map(|d| &d.body), declared.map(|d| d.span));
        let address = key.to_string();
        match provider
            .functions(&CallContext::general(&self.cancel))
            .await
        {
            Ok(answer) => cell
                .report_provider(&answer.diagnostics, &address, body, span)
                .then_some(answer.signatures),
            Err(error) => {
                cell.report_call(&error, &address, span);
                None
            }
        }
    }
}
