//! Expressions whose elements belong to the instances of one managed resource, under their keys.
//! Pure.

use lang::addr::{InstanceKey, Mode, Resource as Name};
use lang::config::{Module, Resource};
use lang::syntax::ast::{Expr, ExprKind, Traversal};
use workspace::refs::{self, Ref};

/// Local value with an element for each instance of a resource.
pub struct KeyedLocal<'m> {
    pub resource: &'m Name,
    /// Parts of the expression that each element needs besides its instance.
    pub rest: Vec<&'m Expr>,
}

/// Returns an instance key in the form of the declaration, because `x["0"]` and `x[0]` name the
/// same instance; `None` if the declaration cannot have it.
pub fn declared_key(key: &InstanceKey, count: bool, for_each: bool) -> Option<InstanceKey> {
    match key {
        InstanceKey::Str(text) if count => text.parse().ok().map(InstanceKey::Int),
        InstanceKey::Int(n) if for_each => Some(InstanceKey::Str(n.to_string().into())),
        InstanceKey::Str(_) if for_each => Some(key.clone()),
        InstanceKey::Int(_) if count => Some(key.clone()),
        // With `enabled`, or without a repetition.
        _ => (!count && !for_each).then(|| key.clone()),
    }
}

/// Returns the resource or module whose instances an expression uses unchanged.
pub fn chained(expr: &Expr) -> Option<&Traversal> {
    let ExprKind::Traversal(t) = &expr.kind else {
        return None;
    };
    match refs::parse(t).ok()? {
        Ref::Resource {
            used, key: None, ..
        } if t.steps.len() == used => Some(t),
        Ref::Module { key: None, .. } => Some(t),
        _ => None,
    }
}

/// Returns the managed resource of the module whose keys and objects `for_each` uses unchanged.
pub fn chained_resource<'m>(module: &'m Module, for_each: &Expr) -> Option<&'m Name> {
    let on = whole_resource(module, for_each)?;
    on.for_each.is_some().then_some(&on.name)
}

/// Returns the local value by its name: a resource with several instances (`l = x_y.a`), or an
/// object made of one (`l = { for k, v in x_y.a : k => v.id }`).
pub fn keyed_local<'m>(module: &'m Module, name: &str) -> Option<KeyedLocal<'m>> {
    let expr = &module.locals.get(name)?.expr;
    let ExprKind::For(each) = &expr.kind else {
        let on = whole_resource(module, expr)?;
        return (on.count.is_some() || on.for_each.is_some()).then_some(KeyedLocal {
            resource: &on.name,
            rest: Vec::new(),
        });
    };
    let keeps_key = match &each.key.as_ref()?.kind {
        ExprKind::Traversal(t) => t.steps.is_empty() && Some(&t.root) == each.key_var.as_ref(),
        _ => false,
    };
    // A function such as `uuid` gives another result each time.
    if !keeps_key || each.group || !expr.calls().is_empty() {
        return None;
    }
    Some(KeyedLocal {
        resource: chained_resource(module, &each.collection)?,
        rest: [&each.value].into_iter().chain(&each.cond).collect(),
    })
}

fn whole_resource<'m>(module: &'m Module, expr: &Expr) -> Option<&'m Resource> {
    let Ref::Resource { resource, .. } = refs::parse(chained(expr)?).ok()? else {
        return None;
    };
    let is_managed = resource.mode == Mode::Managed;
    module.resources.get(&resource).filter(|_| is_managed)
}
