//! Taking and leaving changes of a stage: a selection stays closed under dependency, and says what
//! was pulled in or dropped and by what. Pure; linear in changes and their dependencies.

use super::change::{Change, Stage};
use super::needs::Needs;
use crate::engine::words::{Action, Select, Selection};
use lang::addr::{AbsInstance, AbsResource, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// What of a change matters here.
#[derive(Debug, Clone)]
pub struct ChangeRef {
    /// As [`Change::id`].
    pub id: String,
    pub address: AbsInstance,
    pub action: Action,
    /// Whether deploying it does something although the action is a no-op: an import.
    pub imports: bool,
    pub needs: Needs,
    /// What the old object needed: itself, where that is on record, else by resource and in any
    /// number of steps.
    pub needed: Needed,
}

/// What an object needed when it was written.
#[derive(Debug, Clone)]
pub enum Needed {
    Itself(Needs),
    Dependencies(BTreeSet<String>),
}

impl From<&Change> for ChangeRef {
    fn from(change: &Change) -> Self {
        let dependencies = || Needed::Dependencies(change.prior_dependencies.clone());
        Self {
            id: change.id(),
            address: change.address.clone(),
            action: change.action,
            imports: change.importing.is_some(),
            needs: change.needs.clone(),
            needed: change
                .prior_needs
                .clone()
                .map_or_else(dependencies, Needed::Itself),
        }
    }
}

/// Why there is nothing to take or to leave at an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error("{0} does not change in this stage, so there is nothing to take or to leave")]
    Unchanged(String),
    /// No change has this address; `alike` are some of its instances that change.
    #[error("there is no change of {address} in this stage{}", hint(alike))]
    NoChange { address: String, alike: Vec<String> },
}

fn hint(alike: &[String]) -> String {
    if alike.is_empty() {
        String::new()
    } else {
        format!("; of its instances there are {}", alike.join(", "))
    }
}

/// The changes of a stage.
pub fn references(stage: &Stage) -> Vec<ChangeRef> {
    stage.changes.iter().map(ChangeRef::from).collect()
}

/// The selection after `how`, where `left` are the changes left out so far. Changes that do nothing
/// belong to neither side.
///
/// # Errors
/// For an address without a change to take or leave.
pub fn select(
    changes: &[ChangeRef],
    left: &BTreeSet<String>,
    how: &Select,
) -> Result<Selection, SelectError> {
    let web = Web::new(changes);
    let mut taken: Vec<bool> = changes
        .iter()
        .map(|c| acts(c) && !left.contains(&c.id))
        .collect();
    let along = match how {
        Select::Take(address) => {
            let start = find(changes, address)?;
            taken[start] = true;
            web.pull(&mut taken, vec![start])
        }
        Select::Leave(address) => {
            let start = find(changes, address)?;
            taken[start] = false;
            web.drop(&mut taken, vec![start])
        }
        Select::All => {
            taken = changes.iter().map(acts).collect();
            Vec::new()
        }
        Select::None => {
            taken.fill(false);
            Vec::new()
        }
        Select::Invert => {
            taken = changes
                .iter()
                .zip(&taken)
                .map(|(c, taken)| acts(c) && !taken)
                .collect();
            let all = (0..changes.len()).filter(|i| taken[*i]).collect();
            web.pull(&mut taken, all)
        }
    };
    Ok(selection(changes, &taken, along))
}

/// The selection of these changes with all that they need.
///
/// # Errors
/// For an address without a change to take.
pub fn only(changes: &[ChangeRef], addresses: &[String]) -> Result<Selection, SelectError> {
    let mut taken = vec![false; changes.len()];
    let by_id: HashMap<&str, usize> = changes
        .iter()
        .enumerate()
        .filter(|(_, c)| acts(c))
        .map(|(i, c)| (c.id.as_str(), i))
        .collect();
    let mut start = Vec::with_capacity(addresses.len());
    for address in addresses {
        let at = by_id
            .get(address.as_str())
            .copied()
            .map_or_else(|| find(changes, address), Ok)?;
        if !std::mem::replace(&mut taken[at], true) {
            start.push(at);
        }
    }
    let along = Web::new(changes).pull(&mut taken, start);
    Ok(selection(changes, &taken, along))
}

fn selection(changes: &[ChangeRef], taken: &[bool], along: Vec<(usize, usize)>) -> Selection {
    let ids = |wanted: bool| {
        let picked = changes
            .iter()
            .zip(taken)
            .filter(|(c, taken)| acts(c) && **taken == wanted);
        picked.map(|(c, _)| c.id.clone()).collect()
    };
    Selection {
        taken: ids(true),
        left: ids(false),
        along: along
            .into_iter()
            .map(|(what, cause)| (changes[what].id.clone(), changes[cause].id.clone()))
            .collect(),
    }
}

/// Whether there is anything to take.
fn acts(change: &ChangeRef) -> bool {
    change.action != Action::NoOp || change.imports
}

fn find(changes: &[ChangeRef], address: &str) -> Result<usize, SelectError> {
    match changes.iter().position(|c| c.id == address) {
        Some(at) if acts(&changes[at]) => Ok(at),
        Some(_) => Err(SelectError::Unchanged(address.to_owned())),
        None => {
            let of = |c: &&ChangeRef| acts(c) && c.address.config().to_string() == address;
            let alike = changes.iter().filter(of).map(|c| c.id.clone());
            Err(SelectError::NoChange {
                address: address.to_owned(),
                alike: alike.take(5).collect(),
            })
        }
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
fn keys(address: &AbsInstance) -> [String; 3] {
    [
        address.to_string(),
        address.abs().to_string(),
        address.config().to_string(),
    ]
}

/// Who needs whom. Changes need others through points, so that instances of two resources do not
/// all have edges to one another. What does nothing itself leads on to what it needs.
struct Web {
    /// For each node (changes first, then points and passages) the nodes that it needs.
    needs: Vec<Vec<usize>>,
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
    fn new(changes: &[ChangeRef]) -> Self {
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
    fn pull(&self, taken: &mut [bool], start: Vec<usize>) -> Vec<(usize, usize)> {
        self.spread(&self.needs, taken, start, true)
    }

    /// Leaves what needs something that is left; answers what was left along, and by which change.
    fn drop(&self, taken: &mut [bool], start: Vec<usize>) -> Vec<(usize, usize)> {
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

/// Whether a change has a part that others can need: what is there after it.
fn applies(change: &ChangeRef) -> bool {
    matches!(
        change.action,
        Action::Create
            | Action::Update
            | Action::Replace
            | Action::ReplaceCreateFirst
            | Action::Read
    ) || change.imports
}

/// What the old object of a change needed, as names of points. Of what only the resource is known,
/// all instances count; in its own module those of its own instance, since names mean other objects
/// in another one.
fn needed(change: &ChangeRef) -> BTreeSet<String> {
    let own = keys(&change.address);
    let all: BTreeSet<String> = match &change.needed {
        Needed::Itself(needs) => needs.clone(),
        Needed::Dependencies(all) => all.iter().map(|on| within(on, &change.address)).collect(),
    };
    all.into_iter().filter(|on| !own.contains(on)).collect()
}

fn within(on: &str, address: &AbsInstance) -> String {
    match on.parse::<Target>() {
        Ok(Target::Resource(r)) if r.module.path() == address.module.path() => AbsResource {
            module: address.module.clone(),
            ..r
        }
        .to_string(),
        _ => on.to_owned(),
    }
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
