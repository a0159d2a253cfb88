//! Which `moved` statement is made before which: chains from their beginning, and what lies within
//! something that moves together with it. Pure.

use crate::engine::graph::{Graph, Step};
use lang::addr::{InstanceKey, ModuleInstance, ModulePath, Resource, Target};
use lang::config::Moved;
use std::sync::Arc;

/// The order of statements, each with the module that it stands in, by their number; or those that
/// wait for each other.
pub fn order(all: &[(ModulePath, &Moved)]) -> Result<Vec<Step>, Vec<Step>> {
    let statements: Vec<Statement<'_>> = all
        .iter()
        .map(|(path, moved)| Statement::of(path, moved))
        .collect();
    let mut graph = Graph::default();
    for _ in &statements {
        graph.add();
    }
    for (later, a) in statements.iter().enumerate() {
        for (earlier, b) in statements.iter().enumerate() {
            if later != earlier && a.waits_for(b) {
                graph.need(later, earlier);
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
    /// How deep the module lies that declares it.
    depth: usize,
}

/// One side of a statement, as seen from the root.
struct End<'m> {
    /// Steps to the module; the key is not there where any instance is meant.
    path: Vec<(Arc<str>, Option<InstanceKey>)>,
    what: What<'m>,
}

#[derive(Clone, Copy)]
enum What<'m> {
    /// All instances of the call at the end of the path.
    Call,
    /// The one instance.
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
        let one = last_key(&moved.from) || last_key(&moved.to);
        Self {
            from: End::of(path, &moved.from, one),
            to: End::of(path, &moved.to, one),
            depth: path.0.len(),
        }
    }

    /// Whether this one is made after `other`.
    fn waits_for(&self, other: &Self) -> bool {
        if self.from.follows(&other.to) {
            return true;
        }
        let inside = self.from.within(&other.to) || self.to.within(&other.to);
        if !inside && !other.from.within(&self.from) && !other.to.within(&self.from) {
            return false;
        }
        // A call that only changes its keys keeps its name, and what moves within it would match on
        // both sides.
        self.depth >= other.depth || !self.keeps_its_name()
    }

    fn keeps_its_name(&self) -> bool {
        let names = |end: &End<'_>| {
            end.path
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        let modules = matches!(
            (self.from.what, self.to.what),
            (What::Call | What::Module, What::Call | What::Module)
        );
        modules && names(&self.from) == names(&self.to)
    }
}

impl<'m> End<'m> {
    /// `one`: the statement is about one instance, even where this side has no key.
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
            Target::Module(_) if one => What::Module,
            Target::Module(_) => {
                if let Some((_, key)) = steps.last_mut() {
                    *key = None;
                }
                What::Call
            }
            Target::Resource(r) if one => What::Instance(&r.resource, NO_KEY),
            Target::Resource(r) => What::Resource(&r.resource),
            Target::Instance(i) => What::Instance(&i.resource, &i.key),
        };
        Self { path: steps, what }
    }

    /// Whether this path can begin with that of `other`.
    fn begins_with(&self, other: &Self) -> bool {
        let same = |(a, b): (
            &(Arc<str>, Option<InstanceKey>),
            &(Arc<str>, Option<InstanceKey>),
        )| { a.0 == b.0 && (a.1.is_none() || b.1.is_none() || a.1 == b.1) };
        other.path.len() <= self.path.len() && other.path.iter().zip(&self.path).all(same)
    }

    /// Whether both can be the same object.
    fn follows(&self, other: &Self) -> bool {
        let same = match (self.what, other.what) {
            (What::Call | What::Module, What::Call | What::Module) => true,
            (What::Resource(a), What::Resource(b)) => a == b,
            (What::Instance(a, at), What::Instance(b, bt)) => a == b && at == bt,
            _ => false,
        };
        same && self.path.len() == other.path.len() && self.begins_with(other)
    }

    /// Whether this lies in `other`.
    fn within(&self, other: &Self) -> bool {
        if !self.begins_with(other) {
            return false;
        }
        let longer = self.path.len() > other.path.len();
        match (self.what, other.what) {
            (What::Call, What::Call) | (What::Call | What::Module, What::Module) => longer,
            (_, What::Call | What::Module) => true,
            (What::Instance(a, _), What::Resource(b)) => !longer && a == b,
            _ => false,
        }
    }
}
