//! Resolves calls of provider functions, by the local names that a module gives its providers.

use super::{ModuleScope, Phase};
use crate::stage::names::provider_function;
use crate::stage::provider_instance;
use lang::diag::{Diagnostic, Diagnostics};
use lang::functions::Function;
use lang::source::Span;
use model::{ConfigKey, short_provider};
use provider::functions::placeholder_function;
use std::sync::Arc;
use workspace::provider_addr;

impl ModuleScope<'_> {
    /// Returns a provider's function for the configuration in this scope; `None` if it does not
    /// exist, and for other functions. Errors concern the key of the provider instance.
    pub(super) fn of_provider(&self, name: &str) -> Result<Option<Arc<Function>>, Diagnostics> {
        let Some(called) = provider_function(name) else {
            return Ok(None);
        };
        let around = self.context;
        let validating = around.phase == Phase::Validate;
        let route =
            provider_addr::for_function(&around.root, self.module, called.provider, called.alias);
        let key = match route.by.and_then(|by| Some((by.key, by.module?))) {
            // While validating, keys are unknown and the block stands for all its instances.
            Some((key, path)) if !validating => {
                let what = format!("{name} in {}", self.instance);
                let key = provider_instance::passed_key(around, key, &path, self.instance, &what)?;
                route.block.with_instance(Some(key))
            }
            None if !validating => self.without_instance(route.block)?,
            _ => route.block,
        };
        let found = around.functions.find(&key, called.function);
        // An unconfigured provider may offer more functions once it is configured.
        Ok(found.or_else(|| validating.then(placeholder_function)))
    }

    /// Returns the configuration if it has no instances, otherwise an error.
    fn without_instance(&self, key: ConfigKey) -> Result<ConfigKey, Diagnostics> {
        let block = provider_addr::block_of(&self.context.root, &key);
        if block.is_none_or(|block| block.instances.is_none()) {
            return Ok(key);
        }
        let detail = format!(
            "{key} has for_each, so a call by name does not select one of its instances. Pass the instance to a module as its provider, and call the function there."
        );
        Err(Diagnostic::error("Uninitialized function provider", detail).into())
    }

    /// Reports called functions that even their configured providers do not have.
    pub(in crate::stage) fn missing(
        &self,
        calls: impl FnOnce() -> Vec<(Arc<str>, Span)>,
    ) -> Diagnostics {
        let mut missing = Diagnostics::new();
        if self.context.unregistered.is_empty() || self.context.phase == Phase::Validate {
            return missing;
        }
        let at_issue = |(_, span): &(_, Span)| self.context.unregistered.contains(span);
        for (name, span) in calls().into_iter().filter(at_issue) {
            match self.of_provider(&name) {
                Ok(Some(_)) => {}
                Ok(None) => missing.push(self.no_such(&name).at(span)),
                Err(mut faults) => {
                    faults.0.iter_mut().for_each(|d| {
                        d.subject.get_or_insert(span);
                    });
                    missing.append(faults);
                }
            }
        }
        missing
    }

    fn no_such(&self, name: &str) -> Diagnostic {
        let called = provider_function(name);
        let detail = called.map_or_else(String::new, |called| {
            let address = provider_addr::address_of(self.module, called.provider);
            format!(
                "The provider {} has no function {:?}, neither in its schema nor with its configuration in this module.",
                short_provider(&address),
                called.function
            )
        });
        Diagnostic::error("Function not found in provider", detail)
    }
}
