//! Check status of each instance of an object with conditions, in addition to the status of the
//! object as a whole.

use super::checks_json::split_module_path;
use super::conditions::{HIDDEN_MESSAGE, NO_MESSAGE, Status, declared};
use super::nodes::Node;
use super::plan::PlanWalk;
use super::scope::ModuleScope;
use lang::addr::{AbsResource, InstanceKey, ModuleInstance};
use lang::diag::{Diagnostic, Diagnostics};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// Module and instance in which a condition was evaluated.
#[derive(Debug, Clone)]
pub struct At {
    pub module: ModuleInstance,
    /// Key of the resource's instance.
    pub key: InstanceKey,
}

impl At {
    /// Creates it for a module instance without a resource.
    pub fn module(module: &ModuleInstance) -> Self {
        Self {
            module: module.clone(),
            key: InstanceKey::None,
        }
    }

    /// Creates it for a scope: its module instance, with the key of the repeated resource if any.
    pub fn of(scope: &ModuleScope<'_>) -> Self {
        let repeated = &scope.repetition;
        let number = |v: &cty::Value| v.as_number().and_then(|n| n.to_u64());
        let text = |v: &cty::Value| v.as_str().map(|text| InstanceKey::Str(text.into()));
        // Keys of enclosing module calls are part of `module`; only that of the resource is
        // separate.
        let counted = repeated.count_index.as_ref().and_then(number);
        let keyed = || repeated.each_key.as_ref().and_then(text);
        Self {
            module: scope.instance.clone(),
            key: counted
                .map(InstanceKey::Int)
                .or_else(keyed)
                .unwrap_or(InstanceKey::None),
        }
    }

    /// Returns the address of the instance that this text names here.
    fn address(&self, rest: &str) -> String {
        match self.module.is_root() {
            true => format!("{rest}{}", self.key),
            false => format!("{}.{rest}{}", self.module, self.key),
        }
    }

    /// Returns the address of the declaration under this text, without keys.
    pub fn object(&self, rest: &str) -> String {
        match self.module.is_root() {
            true => rest.to_owned(),
            false => format!("{}.{rest}", self.module.path()),
        }
    }
}

/// Status of one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    module: String,
    #[serde(default, skip_serializing_if = "Json::is_null")]
    key: Json,
    pub(super) status: Status,
    /// Messages of failed conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<String>,
}

/// Instances by address, per address of the checked object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked(BTreeMap<String, BTreeMap<String, Instance>>);

impl Checked {
    /// Records the status of one condition; the worst of an instance counts.
    pub fn record_condition(
        &mut self,
        at: &At,
        rest: &str,
        status: Status,
        problem: Option<String>,
    ) {
        let instances = self.0.entry(at.object(rest)).or_default();
        let one = instances
            .entry(at.address(rest))
            .or_insert_with(|| Instance {
                module: at.module.to_string(),
                key: match &at.key {
                    InstanceKey::None => Json::Null,
                    InstanceKey::Int(n) => (*n).into(),
                    InstanceKey::Str(text) => text.as_ref().into(),
                },
                status,
                problems: Vec::new(),
            });
        one.status = one.status.max(status);
        one.problems.extend(problem);
        // Sorted, so that results do not depend on the order in which conditions are evaluated.
        one.problems.sort();
    }

    /// Records an instance without a status as unknown.
    fn record_unknown(&mut self, at: &At, rest: &str) {
        let known = self.0.get(&at.object(rest));
        if known.is_none_or(|known| !known.contains_key(&at.address(rest))) {
            self.record_condition(at, rest, Status::Unknown, None);
        }
    }

    /// Adds evaluated instances of objects with conditions that have no status yet, as unknown.
    pub(super) fn complete(
        &mut self,
        plan: &PlanWalk,
        expansions: &BTreeMap<AbsResource, BTreeSet<InstanceKey>>,
    ) {
        let walk = &plan.walk;
        let worked_out = |node: &Node| {
            let step = walk.nodes.step(node);
            step.filter(|step| plan.options.evaluates(*step))
        };
        for node in declared(&walk.context.root) {
            // Nodes outside of the targets are not expanded, so their instances are not known.
            if worked_out(&node).is_none() {
                continue;
            }
            let (path, rest) = match &node {
                Node::Variable(path, name) => (path, format!("var.{name}")),
                Node::Output(path, name) => (path, format!("output.{name}")),
                Node::Check(path, name) => (path, format!("check.{name}")),
                Node::Resource(resource) => (&resource.module, resource.resource.to_string()),
                _ => continue,
            };
            for module in walk.context.values.instances(path).iter() {
                let mut at = At::module(module);
                let Node::Resource(resource) = &node else {
                    self.record_unknown(&at, &rest);
                    continue;
                };
                let resource = AbsResource {
                    module: module.clone(),
                    resource: resource.resource.clone(),
                };
                let keys = expansions.get(&resource);
                for key in keys.into_iter().flatten() {
                    at.key = key.clone();
                    self.record_unknown(&at, &rest);
                }
            }
        }
    }

    /// Merges statuses recorded elsewhere.
    pub fn append(&mut self, more: Self) {
        for (object, instances) in more.0 {
            let known = self.0.entry(object).or_default();
            for (address, instance) in instances {
                match known.get_mut(&address) {
                    None => drop(known.insert(address, instance)),
                    Some(one) => {
                        one.status = one.status.max(instance.status);
                        one.problems.extend(instance.problems);
                        one.problems.sort();
                    }
                }
            }
        }
    }

    /// Replaces the statuses of known instances with later ones. Instances that the stage did not
    /// have are ignored.
    pub fn update_known(&mut self, later: Self) {
        for (object, instances) in later.0 {
            let Some(known) = self.0.get_mut(&object) else {
                continue;
            };
            for (address, instance) in instances {
                if let Some(one) = known.get_mut(&address) {
                    *one = instance;
                }
            }
        }
    }

    /// Resets data sources to unknown, because OpenTofu writes this status for data sources that it
    /// read while planning.
    pub fn forget_data(&mut self) {
        let data = |object: &str| split_module_path(object).1.starts_with("data.");
        let instances = self.0.iter_mut().filter(|(object, _)| data(object));
        for one in instances.flat_map(|(_, all)| all.values_mut()) {
            (one.status, one.problems) = (Status::Unknown, Vec::new());
        }
    }

    /// Returns the status of an instance, if it exists.
    pub fn status(&self, at: &At, rest: &str) -> Option<Status> {
        let instance = self.0.get(&at.object(rest))?.get(&at.address(rest))?;
        Some(instance.status)
    }

    /// Changes the status of an instance from unknown to pass.
    pub fn mark_passed(&mut self, at: &At, rest: &str) {
        let instances = self.0.get_mut(&at.object(rest));
        let instance = instances.and_then(|all| all.get_mut(&at.address(rest)));
        if let Some(one) = instance.filter(|one| one.status == Status::Unknown) {
            one.status = Status::Pass;
        }
    }

    /// Returns the instances of an object, by address.
    pub(super) fn of(&self, object: &str) -> Vec<(&String, &Instance)> {
        self.0.get(object).into_iter().flatten().collect()
    }

    /// Returns the instances of an object in the plan representation.
    pub fn json(&self, object: &str) -> Vec<Json> {
        let instances = self.0.get(object).into_iter().flatten();
        instances.map(|(address, one)| one.json(address)).collect()
    }
}

impl Instance {
    fn json(&self, address: &str) -> Json {
        let mut at = Map::new();
        if !self.key.is_null() {
            at.insert("instance_key".into(), self.key.clone());
        }
        if !self.module.is_empty() {
            at.insert("module".into(), self.module.as_str().into());
        }
        at.insert("to_display".into(), address.into());
        let mut out = Map::new();
        out.insert("address".into(), at.into());
        out.insert("status".into(), self.status.plan_name().into());
        if !self.problems.is_empty() {
            let problems = self.problems.iter();
            let problems = problems.map(|message| json!({ "message": message }));
            out.insert("problems".into(), problems.collect());
        }
        out.into()
    }
}

/// Returns the message of a failed condition unless it is hidden or unknown.
pub fn problem(status: Status, said: &Diagnostics) -> Option<String> {
    // As in OpenTofu, a message that cannot be shown is not listed as a problem.
    let hidden = |d: &Diagnostic| d.summary.starts_with(HIDDEN_MESSAGE) || d.detail == NO_MESSAGE;
    let told = status == Status::Fail && !said.0.iter().any(hidden);
    Some(said.0.last().filter(|_| told)?.detail.clone())
}
