//! Checks `moved` and `removed` blocks against the declarations and the targets. Pure.

use super::nodes::Node;
use super::prior::PriorState;
use super::walk::Walk;
use lang::addr::{AbsInstance, AbsResource, InstanceKey, ModuleInstance, ModulePath, Target};
use lang::config::{Module, Moved};
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// Reports `removed` blocks whose object is still declared.
pub fn removed(root: &Module) -> Diagnostics {
    let mut diags = Diagnostics::new();
    for module in root.all() {
        for removed in &module.removed {
            let inner = removed.from.module().path();
            let path = ModulePath(module.path.0.iter().chain(&inner.0).cloned().collect());
            let there = root.descendant(&path.0);
            let declared = match &removed.from {
                Target::Module(_) => there.is_some(),
                Target::Resource(r) => there.is_some_and(|m| m.resources.contains_key(&r.resource)),
                Target::Instance(i) => there.is_some_and(|m| m.resources.contains_key(&i.resource)),
            };
            if declared {
                let detail = format!(
                    "This statement declares that {} was removed, but the configuration still declares it. Remove the statement or the declaration.",
                    removed.from
                );
                let kind = if matches!(removed.from, Target::Module(_)) {
                    "module"
                } else {
                    "resource"
                };
                diags.push(
                    Diagnostic::error(format!("Removed {kind} still exists"), detail)
                        .at(removed.span),
                );
            }
        }
    }
    diags
}

/// Reports moves that cross the targets: both addresses of a moved object must be staged.
pub fn targeted(state: &PriorState, targets: &[Target], excludes: &[Target]) -> Option<Diagnostic> {
    if targets.is_empty() && excludes.is_empty() {
        return None;
    }
    let inside = |i: &AbsInstance| {
        (targets.is_empty() || targets.iter().any(|t| t.contains(i)))
            && !excludes.iter().any(|t| t.contains(i))
    };
    let mut outside = BTreeSet::new();
    for (resource, instances) in &state.resources {
        for (key, objects) in instances {
            let Some(from) = &objects.previous else {
                continue;
            };
            let to = resource.instance(key.clone());
            // With one address alone, the object would be planned as new or as removed.
            outside.extend(
                [from, &to]
                    .into_iter()
                    .filter(|i| !inside(i))
                    .map(ToString::to_string),
            );
        }
    }
    if outside.is_empty() {
        return None;
    }
    let names: Vec<String> = outside.into_iter().collect();
    let detail = format!(
        "Objects in the state have moved, and some of their old or new addresses are outside of the targets: {}. Target both addresses with --target (or exclude neither), or stage everything.",
        names.join(", ")
    );
    Some(Diagnostic::error(
        "Moved resource instances excluded by targeting",
        detail,
    ))
}

/// Side of a move in one module instance. A resource or call without a key on both sides means all
/// its instances.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum End {
    Call(ModuleInstance),
    Module(ModuleInstance),
    Resource(AbsResource),
    Instance(AbsInstance),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(m) | Self::Module(m) => m.fmt(f),
            Self::Resource(r) => r.fmt(f),
            Self::Instance(i) => i.fmt(f),
        }
    }
}

fn move_ends(moved: &Moved, within: &ModuleInstance) -> Option<(End, End)> {
    let full =
        |inner: &ModuleInstance| ModuleInstance(within.0.iter().chain(&inner.0).cloned().collect());
    let resource = |r: &AbsResource| AbsResource {
        module: full(&r.module),
        resource: r.resource.clone(),
    };
    let instance = |t: &Target| match t {
        Target::Instance(i) => Some(End::Instance(AbsInstance {
            module: full(&i.module),
            ..i.clone()
        })),
        Target::Resource(r) => Some(End::Instance(resource(r).instance(InstanceKey::None))),
        Target::Module(_) => None,
    };
    match (&moved.from, &moved.to) {
        (Target::Module(a), Target::Module(b)) => {
            let whole = [a, b]
                .iter()
                .all(|m| m.0.last().is_none_or(|(_, key)| *key == InstanceKey::None));
            let end = |m: &ModuleInstance| {
                if whole {
                    End::Call(full(m))
                } else {
                    End::Module(full(m))
                }
            };
            Some((end(a), end(b)))
        }
        (Target::Resource(a), Target::Resource(b)) => {
            Some((End::Resource(resource(a)), End::Resource(resource(b))))
        }
        (a, b) => Some((instance(a)?, instance(b)?)),
    }
}

/// Checks the `moved` blocks once the declared instances are known.
pub(super) fn moves(walk: &Walk) -> Diagnostics {
    let expanded = Expanded { walk };
    let root = &walk.context.root;
    let mut diags = Diagnostics::new();
    let mut to_of: HashMap<End, (End, lang::source::Span)> = HashMap::new();
    let mut from_of: HashMap<End, (End, lang::source::Span)> = HashMap::new();
    for module in root.all() {
        for moved in &module.moved {
            // A statement applies in each instance of its module.
            for within in walk.context.values.instances(&module.path).iter() {
                let Some((from, to)) = move_ends(moved, within) else {
                    continue;
                };
                let mut fault = |summary: &str, detail: String| {
                    diags.push(Diagnostic::error(summary, detail).at(moved.span))
                };
                if from == to {
                    fault(
                        "Redundant move statement",
                        format!(
                            "This statement declares a move from {from} to the same address, so it has no effect. Remove it."
                        ),
                    );
                    continue;
                }
                if expanded.declared(&from) {
                    let detail = format!(
                        "This statement declares a move from {from}, but the configuration still declares {from}. Remove the statement, or remove or rename the declaration."
                    );
                    fault("Moved object still exists", detail);
                }
                // One object cannot move to two addresses.
                match to_of.get(&from) {
                    Some((other, _)) if *other != to => {
                        let detail = format!(
                            "This statement declares that {from} moved to {to}, but another statement declares that it moved to {other}."
                        );
                        fault("Ambiguous move statements", detail);
                    }
                    Some(_) => {}
                    None => drop(to_of.insert(from.clone(), (to.clone(), moved.span))),
                }
                // Two objects cannot move to one address.
                match from_of.get(&to) {
                    Some((other, _)) if *other != from => {
                        let detail = format!(
                            "This statement declares that {from} moved to {to}, but another statement declares that {other} moved there."
                        );
                        fault("Ambiguous move statements", detail);
                    }
                    Some(_) => {}
                    None => drop(from_of.insert(to, (from, moved.span))),
                }
            }
        }
    }
    diags
}

/// Declared instances, as a walk has expanded them.
struct Expanded<'a> {
    walk: &'a Walk,
}

impl Expanded<'_> {
    /// Returns true if the resource was expanded to keys that fulfil `wanted`.
    fn has_keys(
        &self,
        resource: &AbsResource,
        wanted: impl Fn(&BTreeSet<InstanceKey>) -> bool,
    ) -> bool {
        let step = self.walk.nodes.step(&Node::Resource(resource.config()));
        step.and_then(|step| self.walk.cells.of(step))
            .is_some_and(|cell| cell.expansions.get(resource).is_some_and(wanted))
    }

    fn declared(&self, end: &End) -> bool {
        let root = &self.walk.context.root;
        match end {
            End::Module(module) => self
                .walk
                .context
                .values
                .instances(&module.path())
                .contains(module),
            // A call is declared even if it has no instances.
            End::Call(module) => match (module.parent(), module.path().parent()) {
                (Some(parent), Some((path, call))) => {
                    let calls = |m: &Module| m.calls.contains_key(call);
                    self.walk.context.values.instances(&path).contains(&parent)
                        && root.descendant(&path.0).is_some_and(calls)
                }
                _ => false,
            },
            // An empty expansion declares the resource too.
            End::Resource(resource) => self.has_keys(resource, |_| true),
            End::Instance(instance) => {
                self.has_keys(&instance.abs(), |keys| keys.contains(&instance.key))
            }
        }
    }
}
