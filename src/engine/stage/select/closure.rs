//! Dependency graph between the changes of a stage, from which the dependency closure of a
//! selection is computed. Changes depend on each other through shared points, so that the instances
//! of two resources need no edge for each pair.

use super::{ChangeRef, applies, has_effect};
use lang::addr::AbsInstance;
use model::Action;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Graph of needs. Changes need others through points, so that instances of two resources do not
/// need edges for each pair. Changes without effect only pass on their own needs.
pub(super) struct DependencyGraph {
    /// Edges by node: changes first, then points and passages.
    pub(super) edges: Vec<Vec<usize>>,
    needed_by: Vec<Vec<usize>>,
    points: HashMap<(Point, String), usize>,
    /// True for nodes that are changes with an effect.
    has_effect: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Point {
    /// All changes that create, update or read the address.
    Applied,
    /// All changes that destroy dependents of an object, direct or not.
    Dependents,
    /// The same, and all changes that update them.
    DependentsMoved,
}

impl DependencyGraph {
    pub(super) fn new(changes: &[ChangeRef]) -> Self {
        let mut web = Self {
            edges: vec![Vec::new(); changes.len()],
            needed_by: vec![Vec::new(); changes.len()],
            points: HashMap::new(),
            has_effect: changes.iter().map(has_effect).collect(),
        };
        for (i, change) in changes
            .iter()
            .enumerate()
            .filter(|(_, c)| applies(c) || !has_effect(c))
        {
            for key in keys(&change.address).into_iter().collect::<BTreeSet<_>>() {
                let at = web.point(Point::Applied, key);
                web.add_edge(at, i);
            }
        }
        // A second pass, because a need may name the point of a later change.
        for (i, change) in changes
            .iter()
            .enumerate()
            .filter(|(_, c)| applies(c) || !has_effect(c))
        {
            let own = keys(&change.address);
            for need in change.needs.iter().filter(|need| !own.contains(need)) {
                if let Some(at) = web.point_of(Point::Applied, need) {
                    web.add_edge(i, at);
                }
            }
        }
        for point in [Point::Dependents, Point::DependentsMoved] {
            web.dependents(changes, point);
        }
        // A destroy, also the last half under create_before_destroy, waits until its dependents are
        // destroyed or updated. A plain replacement destroys first and dependents are updated
        // afterwards, so only destroys of dependents precede it.
        for (i, change) in changes.iter().enumerate() {
            match change.action {
                Action::Destroy | Action::ReplaceCreateFirst => {
                    web.need_dependents(i, change, Point::DependentsMoved)
                }
                Action::Replace => web.need_dependents(i, change, Point::Dependents),
                _ => {}
            }
        }
        web
    }

    /// Adds the changes that must precede the destroy of an object. Each change has a passage
    /// behind the points of its old needs, which leads on to its own dependents.
    fn dependents(&mut self, changes: &[ChangeRef], point: Point) {
        let moves = |c: &ChangeRef| {
            c.action.destroys() || point == Point::DependentsMoved && c.action == Action::Update
        };
        let mut passages = Vec::with_capacity(changes.len());
        for (i, change) in changes.iter().enumerate() {
            let passage = self.add();
            for needed in &change.prior_needs {
                let at = self.point(point, needed.clone());
                self.add_edge(at, passage);
                if moves(change) {
                    self.add_edge(at, i);
                }
            }
            passages.push(passage);
        }
        // A second pass, because a passage may lead to the points of later changes.
        for (change, passage) in changes.iter().zip(passages) {
            self.need_dependents(passage, change, point);
        }
    }

    fn need_dependents(&mut self, who: usize, change: &ChangeRef, point: Point) {
        for key in keys(&change.address).into_iter().collect::<BTreeSet<_>>() {
            if let Some(&at) = self.points.get(&(point, key)) {
                self.add_edge(who, at);
            }
        }
    }

    fn point_of(&self, point: Point, key: &str) -> Option<usize> {
        self.points.get(&(point, key.to_owned())).copied()
    }

    fn add(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.needed_by.push(Vec::new());
        self.has_effect.push(false);
        self.edges.len() - 1
    }

    fn point(&mut self, point: Point, key: String) -> usize {
        if let Some(&at) = self.points.get(&(point, key.clone())) {
            return at;
        }
        let at = self.add();
        self.points.insert((point, key), at);
        at
    }

    fn add_edge(&mut self, who: usize, what: usize) {
        self.edges[who].push(what);
        self.needed_by[what].push(who);
    }

    /// Selects all needs of `start`. Returns the changes selected along, each with its cause.
    pub(super) fn pull(&self, taken: &mut [bool], start: Vec<usize>) -> Vec<(usize, usize)> {
        self.propagate(&self.edges, taken, start, true)
    }

    /// Deselects all dependents of `start`. Returns the changes deselected along, each with its
    /// cause.
    pub(super) fn deselect_dependents(
        &self,
        taken: &mut [bool],
        start: Vec<usize>,
    ) -> Vec<(usize, usize)> {
        self.propagate(&self.needed_by, taken, start, false)
    }

    fn propagate(
        &self,
        edges: &[Vec<usize>],
        taken: &mut [bool],
        start: Vec<usize>,
        to: bool,
    ) -> Vec<(usize, usize)> {
        let mut seen = vec![false; edges.len()];
        let mut along = Vec::new();
        // Breadth first, so that the cause of a change is the nearest one.
        let mut queue: VecDeque<(usize, usize)> = start.into_iter().map(|i| (i, i)).collect();
        for (i, _) in &queue {
            seen[*i] = true;
        }
        while let Some((node, cause)) = queue.pop_front() {
            for &next in &edges[node] {
                if std::mem::replace(&mut seen[next], true) {
                    continue;
                }
                // Points and passages keep the cause of the change that led to them.
                if !self.has_effect[next] {
                    queue.push_back((next, cause));
                    continue;
                }
                if taken[next] != to {
                    taken[next] = to;
                    along.push((next, cause));
                }
                queue.push_back((next, next));
            }
        }
        along
    }
}

/// Returns the names of changed needs for each change: an instance, or a resource if the instance
/// is not known or several count.
pub fn changed_needs(changes: &[ChangeRef]) -> Vec<Vec<String>> {
    let web = DependencyGraph::new(changes);
    let of = |(i, change): (usize, &ChangeRef)| {
        let mut names = BTreeSet::new();
        if !has_effect(change) {
            return Vec::new();
        }
        if applies(change) {
            let changing = |need: &&String| {
                web.point_of(Point::Applied, need)
                    .is_some_and(|p| web.edges[p].iter().any(|&j| has_effect(&changes[j])))
            };
            names.extend(change.needs.iter().filter(changing).cloned());
        }
        if change.action.destroys() {
            // Several instances are named by their resource, to keep the display short.
            let mut by_resource: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for point in keys(&change.address)
                .iter()
                .filter_map(|key| web.point_of(Point::Dependents, key))
            {
                for &j in web.edges[point]
                    .iter()
                    .filter(|&&j| j < changes.len() && j != i && has_effect(&changes[j]))
                {
                    by_resource
                        .entry(changes[j].address.abs().to_string())
                        .or_default()
                        .push(j);
                }
            }
            names.extend(
                by_resource
                    .into_iter()
                    .map(|(resource, all)| match all[..] {
                        [one] => changes[one].id.clone(),
                        _ => resource,
                    }),
            );
        }
        let own = keys(&change.address);
        names
            .into_iter()
            .filter(|name| !own.contains(name))
            .collect()
    };
    changes.iter().enumerate().map(of).collect()
}

/// Returns the addresses of an instance, and of its resource in each enclosing module instance.
pub fn keys(address: &AbsInstance) -> Vec<String> {
    let config = address.config();
    let within = address.module.enclosing();
    let resources = within.map(|module| config.within(&module).to_string());
    [address.to_string()].into_iter().chain(resources).collect()
}
