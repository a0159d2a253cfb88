//! What others say of objects that have other addresses now: what they depend on and need, what
//! they link. Pure.

use super::links;
use super::needs::Needs;
use crate::engine::provider::LINK;
use crate::engine::store::model::StateObject;
use lang::addr::AbsInstance;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Instances that have other addresses now.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    instances: HashMap<String, String>,
    /// By the addresses in the configuration.
    declared: BTreeMap<String, BTreeSet<String>>,
    /// Addresses in the configuration of which some instances stay: who depends on them still does.
    stay: BTreeSet<String>,
}

impl Renames {
    /// From old and new addresses, and those of all objects that stay where they are.
    pub fn new<'a>(
        moves: impl IntoIterator<Item = (&'a AbsInstance, &'a AbsInstance)>,
        staying: impl IntoIterator<Item = AbsInstance>,
    ) -> Self {
        let mut all = Self::default();
        for (from, to) in moves {
            all.instances.insert(from.to_string(), to.to_string());
            let new = all.declared.entry(from.config().to_string()).or_default();
            new.insert(to.config().to_string());
        }
        if !all.is_empty() {
            let staying = staying.into_iter().map(|a| a.config().to_string());
            all.stay = staying.collect();
        }
        all
    }

    /// Whether nothing has moved.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// Where an instance is now, where it has moved.
    pub fn address(&self, was: &str) -> Option<&String> {
        self.instances.get(was)
    }

    /// Whether who depends on a resource by this name depends on something else now.
    pub fn concern(&self, on: &str) -> bool {
        self.declared.contains_key(on)
    }

    /// The names of what is depended on, as resources are declared; as long as one of the instances
    /// stays, a dependency on its resource holds.
    pub fn dependencies<'a>(&self, on: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for name in on {
            let new = self.declared.get(name);
            if new.is_none() || self.stay.contains(name) {
                all.insert(name.clone());
            }
            all.extend(new.into_iter().flatten().cloned());
        }
        all
    }

    /// The addresses of what is needed, by instance.
    pub fn needs<'a>(&self, of: impl IntoIterator<Item = &'a String>) -> Needs {
        let now = |was: &String| self.address(was).unwrap_or(was).clone();
        of.into_iter().map(now).collect()
    }

    /// What the state says of a link whose ends have moved; `None` where neither has, and where it
    /// is no link.
    pub fn link(&self, object: &StateObject) -> Option<String> {
        let address = object.address.parse::<AbsInstance>().ok()?;
        let is_link = *address.resource.kind == *LINK;
        is_link.then(|| links::followed(&object.attributes, |end| self.address(end).cloned()))?
    }
}
