//! Dependents of single members: the instances that a change depends on, through any number of
//! resources. Other resources are ordered as a whole, as OpenTofu does. Pure.

use crate::stage::change::Change;
use crate::stage::groups::ChangedGroup;
use crate::stage::needs::Needs;
use crate::stage::select::keys;
use lang::addr::ModuleInstance;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Instances of one resource that a change depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// All, or not known.
    All,
    /// None by its direct needs, all of which are known: the resource as a whole depends on it only
    /// within the module instance of the change.
    None,
    /// Addresses of some.
    Some(BTreeSet<String>),
}

impl Reach {
    /// Returns the addresses of the instances; `None` for the resource as a whole. Each with the
    /// module instance that encloses it and its dependent: `around`, or `own` if they share only
    /// that.
    pub(super) fn instances(
        self,
        around: &ModuleInstance,
        own: impl FnOnce() -> ModuleInstance,
    ) -> BTreeSet<(ModuleInstance, Option<String>)> {
        match self {
            Reach::All => BTreeSet::from([(around.clone(), None)]),
            Reach::None => BTreeSet::from([(own(), None)]),
            Reach::Some(addresses) => {
                let all = addresses.into_iter();
                all.map(|address| (around.clone(), Some(address))).collect()
            }
        }
    }
}

/// Object of a change whose dependencies count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// As the state records it.
    Old,
    /// As planned.
    New,
}

/// Instances of all changes, by address.
#[derive(Default)]
pub(super) struct Dependents {
    /// Configuration addresses of the resources whose instances are ordered one by one: those of
    /// members, and those that depend on them.
    single: HashSet<String>,
    /// Configuration addresses of the resources whose instances are destroyed one by one: all with
    /// several changes.
    separate: HashSet<String>,
    /// Configuration address of each change.
    configs: Vec<String>,
    by_address: HashMap<String, Vec<usize>>,
    /// By address without the key, in each enclosing module instance.
    by_resource: HashMap<String, Vec<usize>>,
}

impl Dependents {
    /// Finds the resources to order by instance.
    pub(super) fn of(groups: &[&ChangedGroup], changes: &[Change]) -> Self {
        // Each instance of a committed group is a resource of its own.
        let native = groups.iter().filter(|g| g.declared.committed.is_none());
        let members: HashSet<String> = native.map(|g| g.declared.instance.to_string()).collect();
        let mut all = Self {
            single: members.clone(),
            ..Self::default()
        };
        let mut seen = HashSet::new();
        for change in changes {
            let config = change.address.config().to_string();
            if !seen.insert(config.clone()) {
                all.separate.insert(config);
            }
            let recorded = &change.recorded.dependencies;
            let mut on = change.dependencies.iter().chain(recorded);
            if on.any(|on| members.contains(on)) {
                all.single.insert(change.address.config().to_string());
            }
        }
        all.separate.extend(all.single.iter().cloned());
        all.index(changes);
        all
    }

    fn index(&mut self, changes: &[Change]) {
        for (at, change) in changes.iter().enumerate() {
            self.configs.push(change.address.config().to_string());
            let address = change.address.to_string();
            self.by_address.entry(address).or_default().push(at);
            for resource in keys(&change.address).into_iter().skip(1) {
                self.by_resource.entry(resource).or_default().push(at);
            }
        }
    }

    /// Returns true if the instances of a resource are destroyed one by one.
    pub(super) fn is_separate(&self, config: &str) -> bool {
        self.separate.contains(config)
    }

    /// Returns true if the instances of a resource are ordered one by one.
    pub(super) fn is_single(&self, config: &str) -> bool {
        self.single.contains(config)
    }

    /// Returns the instances of `on` that the old or the new object of each change depends on.
    pub(super) fn reaching<'a>(&'a self, changes: &'a [Change], on: &'a str) -> Reaching<'a> {
        Reaching {
            all: self,
            changes,
            on,
            known: HashMap::new(),
            meets_unknown: false,
        }
    }

    /// Returns the instances of `on` that a change names itself. `None` if it names the whole
    /// resource, or none.
    pub(super) fn named(&self, change: &Change, on: &str) -> Option<BTreeSet<&usize>> {
        let mut named = BTreeSet::new();
        for need in &change.needs {
            let one = self.by_address.get(need);
            let all = one.or_else(|| self.by_resource.get(need));
            let of_resource = |at: &&usize| self.configs[**at] == on;
            let mut found = all.into_iter().flatten().filter(of_resource).peekable();
            if one.is_none() && found.peek().is_some() {
                return None;
            }
            named.extend(found);
        }
        (!named.is_empty()).then_some(named)
    }
}

/// Instances of one resource that changes depend on, as far as looked up.
pub(super) struct Reaching<'a> {
    all: &'a Dependents,
    changes: &'a [Change],
    on: &'a str,
    known: HashMap<(Side, usize), Reach>,
    /// A need is no change, such as a data source that was read before: its own needs are not
    /// known.
    meets_unknown: bool,
}

impl Reaching<'_> {
    /// Returns the instances for one change. A dependency without a known instance is one on all,
    /// unless no change on the way needs anything unknown.
    pub(super) fn of(&mut self, side: Side, change: usize) -> Reach {
        match self.visit(side, change) {
            Reach::Some(found) if found.is_empty() && self.meets_unknown => Reach::All,
            Reach::Some(found) if found.is_empty() => Reach::None,
            reach => reach,
        }
    }

    fn visit(&mut self, side: Side, change: usize) -> Reach {
        if let Some(known) = self.known.get(&(side, change)) {
            return known.clone();
        }
        // A cycle adds nothing more.
        let nothing = Reach::Some(BTreeSet::new());
        self.known.insert((side, change), nothing);
        let found = self.search(side, change);
        self.known.insert((side, change), found.clone());
        found
    }

    fn search(&mut self, side: Side, change: usize) -> Reach {
        let of = &self.changes[change];
        let (needs, dependencies): (Option<&Needs>, &BTreeSet<String>) = match side {
            Side::New => (Some(&of.needs), &of.dependencies),
            Side::Old => (of.recorded.needs.as_ref(), &of.recorded.dependencies),
        };
        let mut found = BTreeSet::new();
        if !dependencies.contains(self.on) {
            return Reach::Some(found);
        }
        let Some(needs) = needs else {
            return Reach::All;
        };
        let all = self.all;
        for need in needs {
            if need == self.on && !all.by_address.contains_key(need) {
                return Reach::All;
            }
            // Others are data sources that were read before.
            let named = all.by_address.get(need);
            let named = named.or_else(|| all.by_resource.get(need));
            self.meets_unknown |= named.is_none();
            for instance in named.into_iter().flatten() {
                if all.configs[*instance] == self.on {
                    found.insert(self.changes[*instance].address.to_string());
                    continue;
                }
                match self.visit(side, *instance) {
                    Reach::All => return Reach::All,
                    Reach::None => {}
                    Reach::Some(more) => found.extend(more),
                }
            }
        }
        Reach::Some(found)
    }
}

/// Members that a change depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// All in one batch.
    Batch,
    /// In several batches.
    Batches,
    /// All members of the group.
    Group,
}

/// A change that depends on members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Follower {
    /// Index of the change.
    pub(super) change: usize,
    /// First and last of these members, by the steps of the rollout.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) span: Span,
}

/// Returns the changes that depend on members of a group.
pub(super) fn followers(
    group: &ChangedGroup,
    dependents: &Dependents,
    changes: &[Change],
) -> Vec<Follower> {
    let on = group.declared.instance.to_string();
    if !dependents.is_single(&on) {
        return Vec::new();
    }
    let members = group.changes.iter().enumerate();
    let places: HashMap<String, usize> = members
        .map(|(member, change)| (changes[*change].address.to_string(), member))
        .collect();
    let mut reaching = dependents.reaching(changes, &on);
    let mut found = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let sides = [
            (Side::New, change.dependencies.contains(&on)),
            (Side::Old, change.recorded.dependencies.contains(&on)),
        ];
        let sides = sides.into_iter().filter(|(_, depends)| *depends);
        let reaches: Vec<Reach> = sides.map(|(side, _)| reaching.of(side, at)).collect();
        let is_whole = reaches.contains(&Reach::All) || reaches.contains(&Reach::None);
        let addresses = reaches.iter().flat_map(|reach| match reach {
            Reach::All | Reach::None => None,
            Reach::Some(addresses) => Some(addresses),
        });
        let members: BTreeSet<usize> = match is_whole {
            true => places.values().copied().collect(),
            false => addresses
                .flatten()
                .filter_map(|address| places.get(address).copied())
                .collect(),
        };
        let (Some(first), Some(last)) = (members.first(), members.last()) else {
            continue;
        };
        let batch = |member: &usize| group.member(*member).batch;
        let span = match members.iter().any(|member| batch(member) != batch(first)) {
            _ if is_whole => Span::Group,
            true => Span::Batches,
            false => Span::Batch,
        };
        found.push(Follower {
            change: at,
            first: *first,
            last: *last,
            span,
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::change::Recorded;
    use crate::stage::test_stages::bare;
    use model::Action;
    use std::sync::Arc;

    /// Changes of `w`, `v` and `u`: instance, needs, recorded needs.
    fn changes(rows: &[(&str, &str, Option<&str>)]) -> Vec<Change> {
        let set = |text: &str| -> BTreeSet<String> {
            text.split_whitespace()
                .map(|n| format!("x_y.{n}"))
                .collect()
        };
        let on = |of: &str| match of.chars().next() {
            Some('v') => set("w"),
            Some('u') => set("v w"),
            _ => set(""),
        };
        let one = |(of, needs, recorded): &(&str, &str, Option<&str>)| {
            let mut change = bare(&format!("x_y.{of}"), Action::Update, &[], &[]);
            change.needs = set(needs);
            change.dependencies = Arc::new(on(of));
            change.recorded = Recorded {
                dependencies: on(of),
                needs: recorded.map(set),
                tainted: false,
            };
            change
        };
        rows.iter().map(one).collect()
    }

    #[test]
    fn change_reaches_the_instances_that_it_needs() {
        let all = changes(&[
            ("w[0]", "", Some("")),
            ("w[1]", "", Some("")),
            ("v[0]", "w[0]", Some("w[1]")),
            ("v[1]", "w[0] w[1]", None),
            ("v[2]", "w", Some("w[9]")),
            ("u", "v[0]", Some("v[0]")),
            ("u2", "v", Some("v[0] v[1]")),
        ]);
        let mut dependents = Dependents {
            single: HashSet::from(["x_y.w".to_owned(), "x_y.v".to_owned()]),
            ..Dependents::default()
        };
        dependents.index(&all);
        let mut reaching = dependents.reaching(&all, "x_y.w");
        let text = |reach| match reach {
            Reach::All => "all".to_owned(),
            Reach::None => "none".to_owned(),
            Reach::Some(found) => found.into_iter().collect::<Vec<_>>().join(" "),
        };
        for (at, new, old) in [
            (2, "x_y.w[0]", "x_y.w[1]"),
            // Without recorded needs, and with the whole resource.
            (3, "x_y.w[0] x_y.w[1]", "all"),
            (4, "all", "all"),
            // Through other resources.
            (5, "x_y.w[0]", "x_y.w[1]"),
            (6, "all", "all"),
        ] {
            assert_eq!(text(reaching.of(Side::New, at)), new, "{at}");
            assert_eq!(text(reaching.of(Side::Old, at)), old, "{at}");
        }
        let named = |at: usize| dependents.named(&all[at], "x_y.w").map(|named| named.len());
        assert_eq!([2, 3, 4, 5].map(named), [Some(1), Some(2), None, None]);
    }
}
