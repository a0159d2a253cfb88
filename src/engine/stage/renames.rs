//! Addresses that moved, old to new, and their replacement in other objects: in dependencies and in
//! the ends of links. Pure.

use super::link_arguments;
use super::needs::Needs;
use lang::addr::AbsInstance;
use provider::LINK;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::records::StateObject;

/// Instances with new addresses.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    instances: HashMap<String, String>,
    /// New configuration addresses, by the old one.
    declared: BTreeMap<String, BTreeSet<String>>,
    /// Configuration addresses of which some instances stay, so that dependencies on them remain.
    stay: BTreeSet<String>,
}

impl Renames {
    /// Builds the renames from old and new addresses, and the addresses of all other objects.
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
        // Without moves, the addresses of all other objects are not needed.
        if !all.is_empty() {
            let staying = staying.into_iter().map(|a| a.config().to_string());
            all.stay = staying.collect();
        }
        all
    }

    /// Returns true if nothing has moved.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// Returns the new address of an instance, if it has moved.
    pub fn address(&self, was: &str) -> Option<&String> {
        self.instances.get(was)
    }

    /// Returns true if dependencies on this configuration address change.
    pub fn affects(&self, on: &str) -> bool {
        self.declared.contains_key(on)
    }

    /// Renames dependencies on resources. A dependency remains as long as one instance of the
    /// resource stays.
    pub fn dependencies<'a>(&self, on: impl IntoIterator<Item = &'a String>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for name in on {
            let new = self.declared.get(name);
            if new.is_none() || self.stay.contains(name) {
                all.insert(name.clone());
            }
            // Several names, if instances of one resource have moved to different ones.
            all.extend(new.into_iter().flatten().cloned());
        }
        all
    }

    /// Renames needs.
    pub fn rename_needs<'a>(&self, of: impl IntoIterator<Item = &'a String>) -> Needs {
        let now = |was: &String| self.address(was).unwrap_or(was).clone();
        of.into_iter().map(now).collect()
    }

    /// Returns the record of a link with its moved ends renamed; `None` if no end has moved, or if
    /// the object is not a link.
    pub fn link(&self, object: &StateObject) -> Option<String> {
        let address = object.address.parse::<AbsInstance>().ok()?;
        let is_link = *address.resource.kind == *LINK;
        is_link.then(|| {
            link_arguments::renamed_link(&object.attributes, |end| self.address(end).cloned())
        })?
    }
}
