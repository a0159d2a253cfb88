//! Expansions of resources during a deploy: each one is evaluated once.

use crate::stage::expand::{self, Meta};
use crate::stage::scope::{ModuleScope, WalkContext};
use crate::stage::values::{Expansion, Repetition};
use lang::addr::{AbsInstance, AbsResource};
use lang::config::{Module, Resource};
use lang::diag::Diagnostics;
use model::mutex::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Expansions of a running deploy, with `count` and `each` of their instances.
#[derive(Default)]
pub(super) struct Expansions(Mutex<Known>);

#[derive(Default)]
struct Known {
    resources: HashMap<AbsResource, Arc<Expansion>>,
    repetitions: HashMap<AbsInstance, Repetition>,
}

impl Expansions {
    /// Returns the expansion of a resource, if it was evaluated.
    pub(super) fn known(&self, resource: &AbsResource) -> Option<Arc<Expansion>> {
        lock(&self.0).resources.get(resource).cloned()
    }

    /// Evaluates the expansion of a resource. It is kept unless there are errors.
    pub(super) fn evaluate(
        &self,
        context: &WalkContext,
        module: &Module,
        resource: &Resource,
        address: &AbsResource,
    ) -> (Option<Arc<Expansion>>, Diagnostics) {
        let scope = ModuleScope::new(context, module, &address.module);
        let meta = Meta {
            count: resource.count.as_ref(),
            for_each: resource.for_each.as_ref(),
            enabled: resource.lifecycle.enabled.as_ref(),
        };
        let (expansion, diags) = expand::expand(&scope, meta);
        let expansion = expansion.filter(|_| !diags.has_errors()).map(Arc::new);
        if let Some(expansion) = &expansion {
            self.add(address, expansion);
        }
        (expansion, diags)
    }

    /// Takes over the expansion of a resource.
    pub(super) fn add(&self, resource: &AbsResource, expansion: &Arc<Expansion>) {
        let instances = expansion.instances().into_iter();
        let instances = instances.map(|(key, repetition)| (resource.instance(key), repetition));
        let mut known = lock(&self.0);
        known.repetitions.extend(instances);
        known.resources.insert(resource.clone(), expansion.clone());
    }

    /// Returns `count` and `each` of an instance; neither for one without an expansion.
    pub(super) fn repetition(&self, instance: &AbsInstance) -> Repetition {
        let known = lock(&self.0);
        known.repetitions.get(instance).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::Value;

    #[test]
    fn instances_of_an_expansion_have_their_repetition() {
        let expansions = Expansions::default();
        let resource = "x_y.a[0]".parse::<AbsInstance>().unwrap().abs();
        assert_eq!(expansions.known(&resource), None);
        expansions.add(&resource, &Arc::new(Expansion::Count(2)));
        let index = |address: &str| {
            let repetition = expansions.repetition(&address.parse().unwrap());
            repetition.count_index
        };
        assert_eq!(index("x_y.a[1]"), Some(Value::number(1)));
        assert_eq!(index("x_y.a[2]"), None);
        let known = expansions.known(&resource);
        assert_eq!(known.as_deref(), Some(&Expansion::Count(2)));
    }
}
