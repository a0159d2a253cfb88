//! Taking and leaving changes of a stage: a selection stays closed under dependency, and says what was pulled in or
//! dropped and by what. Pure; linear in changes and their dependencies.

use super::change::{Change, Stage};
use crate::engine::api::{Select, Selection};
use crate::engine::event::Action;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// What of a change matters here.
#[derive(Debug, Clone)]
pub struct ChangeRef {
    /// As [`Change::id`].
    pub id: String,
    /// The address of what declares it, or declared it.
    pub config: String,
    pub action: Action,
    /// Whether deploying it does something although the action is a no-op: an import.
    pub imports: bool,
    pub dependencies: BTreeSet<String>,
    pub prior_dependencies: BTreeSet<String>,
}

impl From<&Change> for ChangeRef {
    fn from(change: &Change) -> Self {
        Self {
            id: change.id(),
            config: change.address.config().to_string(),
            action: change.action,
            imports: change.importing.is_some(),
            dependencies: change.dependencies.clone(),
            prior_dependencies: change.prior_dependencies.clone(),
        }
    }
}

/// The changes of a stage.
pub fn references(stage: &Stage) -> Vec<ChangeRef> {
    stage.changes.iter().map(ChangeRef::from).collect()
}

/// The selection after `how`, where `left` are the changes left out so far. Changes that do nothing belong to neither side.
///
/// # Errors
/// In words, for an address without a change to take or leave.
pub fn select(changes: &[ChangeRef], left: &BTreeSet<String>, how: &Select) -> Result<Selection, String> {
    let web = Web::new(changes);
    let mut taken: Vec<bool> = changes.iter().map(|c| acts(c) && !left.contains(&c.id)).collect();
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
            taken = changes.iter().zip(&taken).map(|(c, taken)| acts(c) && !taken).collect();
            let all = (0..changes.len()).filter(|i| taken[*i]).collect();
            web.pull(&mut taken, all)
        }
    };
    Ok(selection(changes, &taken, along))
}

/// The selection of these changes with all that they need.
///
/// # Errors
/// In words, for an address without a change to take.
pub fn only(changes: &[ChangeRef], addresses: &[String]) -> Result<Selection, String> {
    let mut taken = vec![false; changes.len()];
    let by_id: HashMap<&str, usize> = changes.iter().enumerate().filter(|(_, c)| acts(c)).map(|(i, c)| (c.id.as_str(), i)).collect();
    let mut start = Vec::with_capacity(addresses.len());
    for address in addresses {
        let at = by_id.get(address.as_str()).copied().map_or_else(|| find(changes, address), Ok)?;
        if !std::mem::replace(&mut taken[at], true) {
            start.push(at);
        }
    }
    let along = Web::new(changes).pull(&mut taken, start);
    Ok(selection(changes, &taken, along))
}

fn selection(changes: &[ChangeRef], taken: &[bool], along: Vec<(usize, usize)>) -> Selection {
    let ids = |wanted: bool| {
        let picked = changes.iter().zip(taken).filter(|(c, taken)| acts(c) && **taken == wanted);
        picked.map(|(c, _)| c.id.clone()).collect()
    };
    Selection {
        taken: ids(true),
        left: ids(false),
        along: along.into_iter().map(|(what, cause)| (changes[what].id.clone(), changes[cause].id.clone())).collect(),
    }
}

/// Whether there is anything to take.
fn acts(change: &ChangeRef) -> bool {
    change.action != Action::NoOp || change.imports
}

fn find(changes: &[ChangeRef], address: &str) -> Result<usize, String> {
    match changes.iter().position(|c| c.id == address) {
        Some(at) if acts(&changes[at]) => Ok(at),
        Some(_) => Err(format!("{address} does not change in this stage, so there is nothing to take or to leave")),
        None => {
            let alike: Vec<&str> = changes.iter().filter(|c| acts(c) && c.config == address).map(|c| c.id.as_str()).take(5).collect();
            let hint = if alike.is_empty() { String::new() } else { format!("; of its instances there are {}", alike.join(", ")) };
            Err(format!("there is no change of {address} in this stage{hint}"))
        }
    }
}

/// Who needs whom. Changes need others through a point for each declared resource, so that instances of two resources do
/// not all have edges to one another.
struct Web {
    /// For each node (changes first, then points) the nodes that it needs.
    needs: Vec<Vec<usize>>,
    needed_by: Vec<Vec<usize>>,
    /// How many of the nodes are changes.
    changes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Point {
    /// All that creates, updates or reads instances of a resource.
    Applied,
    /// All that destroys objects which depended on a resource.
    Dependents,
    /// The same, and all that updates them.
    DependentsMoved,
}

impl Web {
    fn new(changes: &[ChangeRef]) -> Self {
        let mut web = Self { needs: vec![Vec::new(); changes.len()], needed_by: vec![Vec::new(); changes.len()], changes: changes.len() };
        let mut points: HashMap<(Point, &str), usize> = HashMap::new();
        // What may be needed.
        for (i, change) in changes.iter().enumerate().filter(|(_, c)| acts(c)) {
            if applies(change.action) || change.imports {
                let at = web.point(&mut points, Point::Applied, &change.config);
                web.need(at, i);
            }
            for needed in change.prior_dependencies.iter().filter(|needed| **needed != change.config) {
                if change.action.destroys() {
                    let at = web.point(&mut points, Point::Dependents, needed);
                    web.need(at, i);
                }
                if change.action.destroys() || change.action == Action::Update {
                    let at = web.point(&mut points, Point::DependentsMoved, needed);
                    web.need(at, i);
                }
            }
        }
        // Who needs it.
        for (i, change) in changes.iter().enumerate().filter(|(_, c)| acts(c)) {
            if applies(change.action) || change.imports {
                for needed in change.dependencies.iter().filter(|needed| **needed != change.config) {
                    if let Some(&at) = points.get(&(Point::Applied, needed.as_str())) {
                        web.need(i, at);
                    }
                }
            }
            // The old object goes before its replacement comes, and dependents that are updated look at the replacement
            // afterwards; in all other cases they must have let go of the old object first.
            let before = match change.action {
                Action::Destroy | Action::ReplaceCreateFirst => Some(Point::DependentsMoved),
                Action::Replace => Some(Point::Dependents),
                _ => None,
            };
            if let Some(point) = before
                && let Some(&at) = points.get(&(point, change.config.as_str()))
            {
                web.need(i, at);
            }
        }
        web
    }

    fn point<'c>(&mut self, points: &mut HashMap<(Point, &'c str), usize>, point: Point, config: &'c str) -> usize {
        *points.entry((point, config)).or_insert_with(|| {
            self.needs.push(Vec::new());
            self.needed_by.push(Vec::new());
            self.needs.len() - 1
        })
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

    fn spread(&self, edges: &[Vec<usize>], taken: &mut [bool], start: Vec<usize>, to: bool) -> Vec<(usize, usize)> {
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
                if next >= self.changes {
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

fn applies(action: Action) -> bool {
    matches!(action, Action::Create | Action::Update | Action::Replace | Action::ReplaceCreateFirst | Action::Read)
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
