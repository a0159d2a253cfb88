//! What draws what with it: changes and what stands for all of a resource, each with what it needs.

use super::{ChangeRef, acts, applies, needed};
use crate::engine::words::Action;
use lang::addr::AbsInstance;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Who needs whom. Changes need others through points, so that instances of two resources do not
/// all have edges to one another. What does nothing itself leads on to what it needs.
pub(super) struct Web {
    /// For each node (changes first, then points and passages) the nodes that it needs.
    pub(super) needs: Vec<Vec<usize>>,
    needed_by: Vec<Vec<usize>>,
    points: HashMap<(Point, String), usize>,
    /// Which of the nodes are changes that do something.
    acting: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Point {
    /// All that creates, updates or reads what an address names.
    Applied,
    /// All that destroys objects which needed it, directly or not.
    Dependents,
    /// The same, and all that updates them.
    DependentsMoved,
}

impl Web {
    pub(super) fn new(changes: &[ChangeRef]) -> Self {
        let mut web = Self {
            needs: vec![Vec::new(); changes.len()],
            needed_by: vec![Vec::new(); changes.len()],
            points: HashMap::new(),
            acting: changes.iter().map(acts).collect(),
        };
        for (i, change) in changes
            .iter()
            .enumerate()
            .filter(|(_, c)| applies(c) || !acts(c))
        {
            for key in keys(&change.address).into_iter().collect::<BTreeSet<_>>() {
                let at = web.point(Point::Applied, key);
                web.need(at, i);
            }
        }
        for (i, change) in changes
            .iter()
            .enumerate()
            .filter(|(_, c)| applies(c) || !acts(c))
        {
            let own = keys(&change.address);
            for need in change.needs.iter().filter(|need| !own.contains(need)) {
                if let Some(at) = web.point_of(Point::Applied, need) {
                    web.need(i, at);
                }
            }
        }
        for point in [Point::Dependents, Point::DependentsMoved] {
            web.dependents(changes, point);
        }
        // The old object goes before its replacement comes, and dependents that are updated look at
        // the replacement afterwards; in all other cases they must have let go of the old object
        // first.
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

    /// What must let go of an object first: each change stands behind what its old object needed,
    /// and passes on to those that needed its own.
    fn dependents(&mut self, changes: &[ChangeRef], point: Point) {
        let moves = |c: &ChangeRef| {
            c.action.destroys() || point == Point::DependentsMoved && c.action == Action::Update
        };
        let mut passages = Vec::with_capacity(changes.len());
        for (i, change) in changes.iter().enumerate() {
            let passage = self.add();
            for needed in needed(change) {
                let at = self.point(point, needed);
                self.need(at, passage);
                if moves(change) {
                    self.need(at, i);
                }
            }
            passages.push(passage);
        }
        for (change, passage) in changes.iter().zip(passages) {
            self.need_dependents(passage, change, point);
        }
    }

    fn need_dependents(&mut self, who: usize, change: &ChangeRef, point: Point) {
        for key in keys(&change.address).into_iter().collect::<BTreeSet<_>>() {
            if let Some(&at) = self.points.get(&(point, key)) {
                self.need(who, at);
            }
        }
    }

    fn point_of(&self, point: Point, key: &str) -> Option<usize> {
        self.points.get(&(point, key.to_owned())).copied()
    }

    fn add(&mut self) -> usize {
        self.needs.push(Vec::new());
        self.needed_by.push(Vec::new());
        self.acting.push(false);
        self.needs.len() - 1
    }

    fn point(&mut self, point: Point, key: String) -> usize {
        if let Some(&at) = self.points.get(&(point, key.clone())) {
            return at;
        }
        let at = self.add();
        self.points.insert((point, key), at);
        at
    }

    fn need(&mut self, who: usize, what: usize) {
        self.needs[who].push(what);
        self.needed_by[what].push(who);
    }

    /// Takes what is needed; answers what was taken along, and by which change.
    pub(super) fn pull(&self, taken: &mut [bool], start: Vec<usize>) -> Vec<(usize, usize)> {
        self.spread(&self.needs, taken, start, true)
    }

    /// Leaves what needs something that is left; answers what was left along, and by which change.
    pub(super) fn drop(&self, taken: &mut [bool], start: Vec<usize>) -> Vec<(usize, usize)> {
        self.spread(&self.needed_by, taken, start, false)
    }

    fn spread(
        &self,
        edges: &[Vec<usize>],
        taken: &mut [bool],
        start: Vec<usize>,
        to: bool,
    ) -> Vec<(usize, usize)> {
        let mut seen = vec![false; edges.len()];
        let mut along = Vec::new();
        let mut queue: VecDeque<(usize, usize)> = start.into_iter().map(|i| (i, i)).collect();
        for (i, _) in &queue {
            seen[*i] = true;
        }
        while let Some((node, cause)) = queue.pop_front() {
            for &next in &edges[node] {
                if std::mem::replace(&mut seen[next], true) {
                    continue;
                }
                if !self.acting[next] {
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

/// For each change by number the names of what it needs itself and what changes too: an instance,
/// or a resource where it is not known which instance, or where it is several.
pub fn named_needs(changes: &[ChangeRef]) -> Vec<Vec<String>> {
    let web = Web::new(changes);
    let of = |(i, change): (usize, &ChangeRef)| {
        let mut names = BTreeSet::new();
        if !acts(change) {
            return Vec::new();
        }
        if applies(change) {
            let changing = |need: &&String| {
                web.point_of(Point::Applied, need)
                    .is_some_and(|p| web.needs[p].iter().any(|&j| acts(&changes[j])))
            };
            names.extend(change.needs.iter().filter(changing).cloned());
        }
        if change.action.destroys() {
            let mut by_resource: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for point in keys(&change.address)
                .iter()
                .filter_map(|key| web.point_of(Point::Dependents, key))
            {
                for &j in web.needs[point]
                    .iter()
                    .filter(|&&j| j < changes.len() && j != i && acts(&changes[j]))
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

/// An instance's own address, that of its resource in its module, and that of what declares it.
pub(super) fn keys(address: &AbsInstance) -> [String; 3] {
    [
        address.to_string(),
        address.abs().to_string(),
        address.config().to_string(),
    ]
}
