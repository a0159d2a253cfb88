//! Reads `group` blocks: the resources of a group, and how its instances are updated. Only syntax
//! and values; the meaning of the values is checked where a group is planned.

use std::collections::BTreeMap;
use std::sync::Arc;

use cty::Value;

use super::model::{Group, GroupHook, GroupResource, GroupSettings, GroupUpdate, Module};
use super::shared_blocks::{check_name, list};
use super::statics::{Given, Statics};
use crate::addr::{ConfigResource, InstanceKey, Mode, Target};
use crate::body::{Block, BodySchema, Content};
use crate::diag::Diagnostics;
use crate::eval::Scope;
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, StepKind, Traversal};

/// Block type.
pub(super) const GROUP: &str = "group";

/// Objects that describe the member in the expressions of a hook.
const MEMBER_NAMES: [&str; 3] = ["member", "self", "group"];

/// Objects whose values are known when the configuration is loaded.
const STATIC_NAMES: [&str; 5] = ["var", "local", "path", "terraform", "tofu"];

const UPDATE: [&str; 6] = [
    "batch",
    "max_unavailable",
    "surge",
    "order",
    "pause_between",
    "on_unhealthy",
];
const DRAIN: [&str; 1] = ["timeout"];
const HEALTH: [&str; 4] = ["interval", "consecutive", "duration", "timeout"];
const RECONCILE: [&str; 4] = ["mode", "every", "jitter", "allow_replace"];

/// Ways to find out that a member is ready.
pub(super) const PROBES: [&str; 4] = ["http", "tcp", "command", "ready"];

/// Declares the groups of a root module. Other modules may not have any, because a group takes part
/// in the order of the whole deploy.
pub(super) fn declare(module: &mut Module, block: &Block, is_root: bool, diags: &mut Diagnostics) {
    if !is_root {
        let detail = "Declare groups in the root module. A group can name resources of other \
            modules, such as module.app.aws_instance.worker.";
        diags.error(block.def_span, "Group outside the root module", detail);
        return;
    }
    let Some(group) = group(block, diags) else {
        return;
    };
    if module.groups.contains_key(&group.name) {
        let detail = format!(
            "A group named \"{}\" was already declared. Names of groups must be unique.",
            group.name
        );
        diags.error(block.def_span, "Duplicate group", detail);
        return;
    }
    module.groups.insert(group.name.clone(), group);
}

fn group(block: &Block, diags: &mut Diagnostics) -> Option<Group> {
    let label = block.labels.first()?;
    check_name(label, "name of a group", diags);
    let schema = BodySchema::new()
        .required(&["instance"])
        .optional(&["dedicated", "global"])
        .block("update", &[])
        .block("reconcile", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let instance = content.attribute("instance");
    let instance = instance.and_then(|a| resource(&a.expr, "instance", diags));
    let mut resources = |name: &str| -> Vec<GroupResource> {
        let attribute = content.attribute(name);
        let items = attribute.map(|a| list(&a.expr, diags)).unwrap_or_default();
        let items = items.iter().filter_map(|item| resource(item, name, diags));
        items.collect()
    };
    let (dedicated, global) = (resources("dedicated"), resources("global"));
    let update = one(&content, "update", diags);
    let update = update.map(|block| update_block(block, diags));
    let reconcile = one(&content, "reconcile", diags);
    let reconcile = reconcile.map(|block| settings_block(block, &RECONCILE, diags));
    Some(Group {
        name: label.text.clone(),
        instance: instance?,
        dedicated,
        global,
        update,
        reconcile,
        span: block.def_span,
    })
}

/// The block of a type, and an error for each further one.
fn one<'c>(content: &'c Content, kind: &str, diags: &mut Diagnostics) -> Option<&'c Block> {
    let mut blocks = content.blocks.iter().filter(|b| &*b.type_name == kind);
    let first = blocks.next();
    for block in blocks {
        let detail = format!("A \"{kind}\" block was already given; there can be only one here.");
        diags.error(block.def_span, format!("Duplicate {kind} block"), detail);
    }
    first
}

fn update_block(block: &Block, diags: &mut Diagnostics) -> GroupUpdate {
    let schema = BodySchema::new()
        .optional(&UPDATE)
        .block("drain", &[])
        .block("health", &[]);
    let (content, found) = block.body.content(&schema);
    diags.append(found);
    let drain = one(&content, "drain", diags);
    let health = one(&content, "health", diags);
    GroupUpdate {
        drain: drain.and_then(|block| hook(block, &DRAIN, &["command"], diags)),
        health: health.and_then(|block| hook(block, &HEALTH, &PROBES, diags)),
        settings: settings(&content, &UPDATE, block.def_span),
    }
}

/// Reads a hook; it has exactly one of the arguments in `actions`.
fn hook(
    block: &Block,
    arguments: &[&str],
    actions: &[&str],
    diags: &mut Diagnostics,
) -> Option<GroupHook> {
    let schema = BodySchema::new().optional(arguments).optional(actions);
    let (content, found) = block.body.content(&schema);
    let failed = found.has_errors();
    diags.append(found);
    let given = actions.iter().filter_map(|name| content.attribute(name));
    let expressions: BTreeMap<Arc<str>, Expr> =
        given.map(|a| (a.name.clone(), (*a.expr).clone())).collect();
    if expressions.len() != 1 && !failed {
        let detail = match actions {
            [only] => format!("The argument \"{only}\" is required."),
            _ => format!(
                "Give exactly one of {}; {} are given.",
                actions.join(", "),
                expressions.len()
            ),
        };
        let summary = format!("Invalid {} block", block.type_name);
        diags.error(block.def_span, summary, detail);
    }
    for expr in expressions.values() {
        check_names(expr, diags);
    }
    (expressions.len() == 1).then(|| GroupHook {
        settings: settings(&content, arguments, block.def_span),
        expressions,
        names: BTreeMap::new(),
    })
}

fn check_names(expr: &Expr, diags: &mut Diagnostics) {
    for traversal in expr.traversals() {
        let root = &*traversal.root;
        if !MEMBER_NAMES.contains(&root) && !STATIC_NAMES.contains(&root) {
            let detail = format!(
                "{traversal} cannot be used here. Use self (the attributes of the instance), \
                member.key, group.name, and variables and locals that are known when modules are \
                loaded."
            );
            diags.error(traversal.span(), "Invalid reference in a group", detail);
        }
    }
}

fn settings_block(block: &Block, names: &[&str], diags: &mut Diagnostics) -> GroupSettings {
    let (content, found) = block.body.content(&BodySchema::new().optional(names));
    diags.append(found);
    settings(&content, names, block.def_span)
}

fn settings(content: &Content, names: &[&str], span: Span) -> GroupSettings {
    let given = names.iter().filter_map(|name| content.attribute(name));
    GroupSettings {
        expressions: given.map(|a| (a.name.clone(), (*a.expr).clone())).collect(),
        values: BTreeMap::new(),
        span,
    }
}

/// Parses the name of a managed resource, without a key.
fn resource(expr: &Expr, argument: &str, diags: &mut Diagnostics) -> Option<GroupResource> {
    let target = match &expr.kind {
        // A syntax error is already reported.
        ExprKind::Error => return None,
        ExprKind::Traversal(traversal) => Target::from_traversal(traversal).ok(),
        _ => None,
    };
    if let Some(Target::Resource(found)) = target
        && found.resource.mode == Mode::Managed
        && found
            .module
            .0
            .iter()
            .all(|(_, key)| *key == InstanceKey::None)
    {
        let module = found.module.path();
        let resource = found.resource;
        return Some(GroupResource {
            address: ConfigResource { module, resource },
            span: expr.span,
        });
    }
    let detail = format!(
        "\"{argument}\" must name a managed resource as a whole, such as aws_instance.worker or \
        module.app.aws_instance.worker, without the key of an instance."
    );
    diags.error(expr.span, "Invalid resource of a group", detail);
    None
}

/// Checks that the resources of all groups exist, and that none is in two groups.
pub(super) fn check(root: &Module, diags: &mut Diagnostics) {
    let mut taken: BTreeMap<ConfigResource, &str> = BTreeMap::new();
    for group in root.groups.values() {
        let owned = std::iter::once(&group.instance).chain(&group.dedicated);
        for named in owned.clone().chain(&group.global) {
            check_exists(root, named, diags);
        }
        for named in owned {
            let other = taken.insert(named.address.clone(), &group.name);
            if let Some(other) = other {
                let detail = match other == &*group.name {
                    true => format!("{} is named twice.", named.address),
                    false => format!(
                        "{} is already a resource of the group \"{other}\". Two groups cannot \
                        update the same instances.",
                        named.address
                    ),
                };
                diags.error(named.span, "Resource in two places of groups", detail);
            }
        }
    }
}

fn check_exists(root: &Module, named: &GroupResource, diags: &mut Diagnostics) {
    let ConfigResource { module, resource } = &named.address;
    let declared = root.descendant(&module.0);
    if declared.is_some_and(|m| m.resources.contains_key(resource)) {
        return;
    }
    let detail = match declared {
        Some(_) => format!("No resource {} is declared.", named.address),
        None => format!("No module {module} is declared."),
    };
    diags.error(named.span, "Undeclared resource of a group", detail);
}

/// Evaluates the arguments of all groups. With `partial`, variables may have no values, so errors
/// of arguments that use them are dropped, and the arguments have no value.
pub(super) fn evaluate(
    root: &mut Module,
    partial: bool,
    given: Given<'_>,
    diags: &mut Diagnostics,
) {
    let mut groups = std::mem::take(&mut root.groups);
    let evaluation = Evaluation {
        statics: Statics::new(root, given),
        partial,
    };
    for group in groups.values_mut() {
        if let Some(settings) = &mut group.reconcile {
            evaluation.settings(settings, diags);
        }
        let Some(update) = &mut group.update else {
            continue;
        };
        evaluation.settings(&mut update.settings, diags);
        for hook in update.drain.iter_mut().chain(&mut update.health) {
            evaluation.settings(&mut hook.settings, diags);
            evaluation.names(hook, diags);
        }
    }
    root.groups = groups;
}

struct Evaluation<'a> {
    statics: Statics<'a>,
    partial: bool,
}

impl Evaluation<'_> {
    fn settings(&self, settings: &mut GroupSettings, diags: &mut Diagnostics) {
        for (name, expr) in &settings.expressions {
            match self.statics.limited_value(expr) {
                Ok(value) => {
                    settings.values.insert(name.clone(), (value, expr.span));
                }
                Err(_) if self.partial && !expr.traversals().is_empty() => {}
                Err(errors) => diags.append(errors),
            }
        }
    }

    /// Looks up the values of variables, locals and paths that a hook uses.
    fn names(&self, hook: &mut GroupHook, diags: &mut Diagnostics) {
        let mut objects: BTreeMap<Arc<str>, Vec<(Arc<str>, Value)>> = BTreeMap::new();
        for traversal in hook.expressions.values().flat_map(Expr::traversals) {
            if !STATIC_NAMES.contains(&&*traversal.root) {
                continue;
            }
            match self.statics.resolve(traversal) {
                Ok((value, _)) => {
                    let named = first_name(traversal).map(|name| (name, value));
                    let object = objects.entry(traversal.root.clone()).or_default();
                    object.extend(named);
                }
                Err(_) if self.partial => {}
                Err(errors) => diags.append(errors),
            }
        }
        hook.names = objects
            .into_iter()
            .map(|(root, values)| (root, Value::object(values)))
            .collect();
    }
}

fn first_name(traversal: &Traversal) -> Option<Arc<str>> {
    match &traversal.steps.first()?.kind {
        StepKind::Attr(name) => Some(name.clone()),
        StepKind::Index(_) => None,
    }
}

#[cfg(test)]
mod tests;
