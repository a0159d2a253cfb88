//! Orders `moved` statements: chains start at their beginning, and moves within an object that
//! moves itself are ordered around it. Pure.

use graph::{Graph, Step};
use lang::addr::{InstanceKey, ModuleInstance, ModulePath, Resource, Target};
use lang::config::Moved;
use std::sync::Arc;

/// Returns the order of the statements, by index, each given with its declaring module. The error
/// contains the statements of all cycles.
pub fn order(all: &[(ModulePath, &Moved)]) -> Result<Vec<Step>, Vec<Step>> {
    let statements: Vec<Statement<'_>> = all
        .iter()
        .map(|(path, moved)| Statement::of(path, moved))
        .collect();
    let mut graph = Graph::default();
    for _ in &statements {
        graph.add();
    }
    // Every pair is compared, because a configuration has few statements.
    for (later, a) in statements.iter().enumerate() {
        for (earlier, b) in statements.iter().enumerate() {
            if later != earlier && a.waits_for(b) {
                graph.add_need(later, earlier);
            }
        }
    }
    match graph.cycles().is_empty() {
        true => Ok(graph.order()),
        false => Err(graph.cycles().into_iter().flatten().collect()),
    }
}

struct Statement<'m> {
    from: End<'m>,
    to: End<'m>,
    /// Depth of the declaring module.
    depth: usize,
}

/// Side of a statement, relative to the root.
struct End<'m> {
    /// Path of the module; a key is `None` if all instances are meant.
    path: Vec<(Arc<str>, Option<InstanceKey>)>,
    what: MoveSubject<'m>,
}

#[derive(Clone, Copy)]
enum MoveSubject<'m> {
    /// All instances of the last call of the path.
    Call,
    /// One module instance.
    Module,
    Resource(&'m Resource),
    Instance(&'m Resource, &'m InstanceKey),
}

impl<'m> Statement<'m> {
    fn of(path: &ModulePath, moved: &'m Moved) -> Self {
        let last_key = |t: &Target| match t {
            Target::Module(m) => m.0.last().is_some_and(|(_, key)| *key != InstanceKey::None),
            Target::Resource(_) => false,
            Target::Instance(_) => true,
        };
        // If one side has a key, the other side means a single instance too.
        let one = last_key(&moved.from) || last_key(&moved.to);
        Self {
            from: End::of(path, &moved.from, one),
            to: End::of(path, &moved.to, one),
            depth: path.0.len(),
        }
    }

    /// Returns true if this statement is applied after `other`.
    fn waits_for(&self, other: &Self) -> bool {
        // A chain: `other` moves an object to the place that this one moves it from.
        if self.from.may_match(&other.to) {
            return true;
        }
        let inside = self.from.is_within(&other.to) || self.to.is_within(&other.to);
        if !inside && !other.from.is_within(&self.from) && !other.to.is_within(&self.from) {
            return false;
        }
        // A call whose name stays matches moves within it on both sides; in this case the depth
        // decides, or both would wait for each other.
        self.depth >= other.depth || !self.keeps_module_names()
    }

    fn keeps_module_names(&self) -> bool {
        let names = |end: &End<'_>| {
            end.path
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        let modules = matches!(
            (self.from.what, self.to.what),
            (
                MoveSubject::Call | MoveSubject::Module,
                MoveSubject::Call | MoveSubject::Module
            )
        );
        modules && names(&self.from) == names(&self.to)
    }
}

impl<'m> End<'m> {
    /// `one`: the statement concerns one instance, even if this side has no key.
    fn of(path: &ModulePath, target: &'m Target, one: bool) -> Self {
        const NO_KEY: &InstanceKey = &InstanceKey::None;
        let mut steps: Vec<_> = path.0.iter().map(|name| (name.clone(), None)).collect();
        let inner: &ModuleInstance = target.module();
        steps.extend(
            inner
                .0
                .iter()
                .map(|(name, key)| (name.clone(), Some(key.clone()))),
        );
        let what = match target {
            Target::Module(_) if one => MoveSubject::Module,
            Target::Module(_) => {
                if let Some((_, key)) = steps.last_mut() {
                    *key = None;
                }
                MoveSubject::Call
            }
            Target::Resource(r) if one => MoveSubject::Instance(&r.resource, NO_KEY),
            Target::Resource(r) => MoveSubject::Resource(&r.resource),
            Target::Instance(i) => MoveSubject::Instance(&i.resource, &i.key),
        };
        Self { path: steps, what }
    }

    /// Returns true if the path of `other` can be a prefix of this path.
    fn begins_with(&self, other: &Self) -> bool {
        let same = |(a, b): (
            &(Arc<str>, Option<InstanceKey>),
            &(Arc<str>, Option<InstanceKey>),
        )| { a.0 == b.0 && (a.1.is_none() || b.1.is_none() || a.1 == b.1) };
        other.path.len() <= self.path.len() && other.path.iter().zip(&self.path).all(same)
    }

    /// Returns true if both can name the same object.
    fn may_match(&self, other: &Self) -> bool {
        let same = match (self.what, other.what) {
            (MoveSubject::Call | MoveSubject::Module, MoveSubject::Call | MoveSubject::Module) => {
                true
            }
            (MoveSubject::Resource(a), MoveSubject::Resource(b)) => a == b,
            (MoveSubject::Instance(a, at), MoveSubject::Instance(b, bt)) => a == b && at == bt,
            _ => false,
        };
        same && self.path.len() == other.path.len() && self.begins_with(other)
    }

    /// Returns true if this lies within `other`.
    fn is_within(&self, other: &Self) -> bool {
        if !self.begins_with(other) {
            return false;
        }
        let longer = self.path.len() > other.path.len();
        match (self.what, other.what) {
            (MoveSubject::Call, MoveSubject::Call)
            | (MoveSubject::Call | MoveSubject::Module, MoveSubject::Module) => longer,
            (_, MoveSubject::Call | MoveSubject::Module) => true,
            (MoveSubject::Instance(a, _), MoveSubject::Resource(b)) => !longer && a == b,
            _ => false,
        }
    }
}
