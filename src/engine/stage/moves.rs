//! Applies moves to a copy of the state before planning: `moved` blocks, and implied moves when
//! `count` is added or removed. Pure.

use super::move_order;
use super::prior::PriorState;
use lang::addr::{AbsInstance, AbsResource, InstanceKey, ModuleInstance, ModulePath, Target};
use lang::config::{Module, Moved};
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::HashSet;

/// Applies all moves of a configuration; returns warnings.
///
/// # Errors
/// If the moves form a cycle; nothing is applied then.
pub fn apply(root: &Module, state: &mut PriorState) -> Result<Diagnostics, Diagnostics> {
    let mut diags = Diagnostics::new();
    // An instance that a block has moved is not moved again by an implied move.
    let mut here: HashSet<AbsInstance> = state
        .resources
        .iter()
        .flat_map(|(r, instances)| instances.keys().map(|k| r.instance(k.clone())))
        .collect();
    let mut all: Vec<(ModulePath, &Moved)> = Vec::new();
    for module in root.all() {
        all.extend(module.moved.iter().map(|m| (module.path.clone(), m)));
    }
    match move_order::order(&all) {
        Ok(order) => order
            .into_iter()
            .for_each(|i| apply_explicit(&all[i].0, all[i].1, state, &mut diags)),
        Err(circle) => {
            for i in circle {
                let detail = "The moved blocks form a cycle, so the final address of an object cannot be determined. Remove one of them.";
                diags.push(
                    Diagnostic::error("Cyclic dependency in move statements", detail)
                        .at(all[i].1.span),
                );
            }
            return Err(diags);
        }
    }
    implied(root, state, &mut here);
    state.finish_moves();
    Ok(diags)
}

fn apply_explicit(
    path: &ModulePath,
    moved: &Moved,
    state: &mut PriorState,
    diags: &mut Diagnostics,
) {
    let all: Vec<AbsInstance> = state
        .resources
        .iter()
        .flat_map(|(r, instances)| instances.keys().map(|k| r.instance(k.clone())))
        .collect();
    for from in all {
        // The statement is relative to its module, so it applies in each instance of that module.
        if from.module.0.len() < path.0.len() || from.module.path().0[..path.0.len()] != path.0[..]
        {
            continue;
        }
        let outer = ModuleInstance(from.module.0[..path.0.len()].to_vec());
        let inner = AbsInstance {
            module: ModuleInstance(from.module.0[path.0.len()..].to_vec()),
            ..from.clone()
        };
        let Some(to) = translate(&inner, &moved.from, &moved.to) else {
            continue;
        };
        let mut steps = outer.0.clone();
        steps.extend(to.module.0);
        let to = AbsInstance {
            module: ModuleInstance(steps),
            resource: to.resource,
            key: to.key,
        };
        if to == from {
            continue;
        }
        if !state.rename(&from, &to) {
            let detail = format!(
                "{from} cannot move to {to}, because the state already has an object at {to}. The object at {from} keeps its address."
            );
            diags.push(
                Diagnostic::warning("Unresolved resource instance address changes", detail)
                    .at(moved.span),
            );
        }
    }
}

/// Returns the target of an instance under one move, or `None` if it is not affected. All addresses
/// are relative to the module of the move.
fn translate(instance: &AbsInstance, from: &Target, to: &Target) -> Option<AbsInstance> {
    match (from, to) {
        (Target::Module(a), Target::Module(b)) => {
            let n = a.0.len();
            let (head, rest) = (instance.module.0.get(..n)?, &instance.module.0[n..]);
            let (last_a, before_a) = a.0.split_last()?;
            let (last_head, before_head) = head.split_last()?;
            if before_a != before_head || last_a.0 != last_head.0 {
                return None;
            }
            // A call without a key means all its instances, unless the other side has a key.
            let (last_b, before_b) = b.0.split_last()?;
            let whole = last_a.1 == InstanceKey::None && last_b.1 == InstanceKey::None;
            if !whole && last_a.1 != last_head.1 {
                return None;
            }
            let mut steps = before_b.to_vec();
            steps.push((
                last_b.0.clone(),
                if whole {
                    last_head.1.clone()
                } else {
                    last_b.1.clone()
                },
            ));
            steps.extend_from_slice(rest);
            Some(AbsInstance {
                module: ModuleInstance(steps),
                ..instance.clone()
            })
        }
        (Target::Resource(a), Target::Resource(b)) => {
            (instance.abs() == *a).then(|| b.instance(instance.key.clone()))
        }
        (from, to) => {
            let a = single(from)?;
            (instance.abs() == a.abs() && instance.key == a.key).then(|| single(to))?
        }
    }
}

/// Returns the one instance that an address names if the other side of the move has a key.
fn single(target: &Target) -> Option<AbsInstance> {
    match target {
        Target::Instance(i) => Some(i.clone()),
        Target::Resource(r) => Some(r.instance(InstanceKey::None)),
        Target::Module(_) => None,
    }
}

/// Applies implied moves: `x` becomes `x[0]` when `count` is added, and back when it is removed;
/// likewise for module calls.
fn implied(root: &Module, state: &mut PriorState, here: &mut HashSet<AbsInstance>) {
    for module in root.all() {
        for call in module.calls.values() {
            let counted = call.count.is_some();
            // Only the switch between a single instance and `count` implies a move.
            if call.for_each.is_some() {
                continue;
            }
            let path = module.path.child(&call.name);
            let all: Vec<AbsInstance> = state
                .resources
                .iter()
                .flat_map(|(r, i)| i.keys().map(|k| r.instance(k.clone())))
                .filter(|i| i.module.path().starts_with(&path))
                .collect();
            let at = path.0.len() - 1;
            for from in all {
                let mut to = from.clone();
                let (was, becomes) = if counted {
                    (InstanceKey::None, InstanceKey::Int(0))
                } else {
                    (InstanceKey::Int(0), InstanceKey::None)
                };
                if from.module.0[at].1 == was && here.contains(&from) {
                    to.module.0[at].1 = becomes;
                    // An object at the target stays without a warning, as no statement asks for it.
                    state.rename(&from, &to);
                    // Registered, so that the resources in it can move on by an implied move of
                    // their own.
                    here.insert(to);
                }
            }
        }
        for resource in module.resources.values().filter(|r| r.for_each.is_none()) {
            let instances: Vec<AbsResource> = state
                .resources
                .keys()
                .filter(|r| r.resource == resource.name && r.module.path() == module.path)
                .cloned()
                .collect();
            for abs in instances {
                let (was, becomes) = if resource.count.is_some() {
                    (InstanceKey::None, InstanceKey::Int(0))
                } else {
                    (InstanceKey::Int(0), InstanceKey::None)
                };
                let (from, to) = (abs.instance(was), abs.instance(becomes));
                if state.objects(&from).is_some() && here.contains(&from) {
                    state.rename(&from, &to);
                }
            }
        }
    }
}
