//! Plan representation (`format_version` 1.2) in OpenTofu's form, for policy and cost tools.
//! Contains sensitive values unredacted, so it is only written to files of mode 0600.

use super::change::{Change, Drift, Importing, Stage};
use super::checks_json::check;
use super::config_json::Configuration;
use super::encoding::StageCodecError;
use super::scope::timestamp;
use super::sealing::Sealer;
use super::{checks_json, diff, masks, prior_values};
use cty::{Path, PathStep, Value};
use lang::addr::{AbsInstance, InstanceKey, Mode};
use lang::config::Module;
use model::{Action, StageMode, TERRAFORM_VERSION};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use store::records::State;

/// Version of the plan representation.
const FORMAT_VERSION: &str = "1.2";
/// Version of the values in `prior_state`.
const STATE_FORMAT_VERSION: &str = "1.0";

/// Builds the representation of a state.
pub fn state_json(state: &State) -> Json {
    if state.objects.is_empty() && state.outputs.is_empty() {
        return json!({ "format_version": STATE_FORMAT_VERSION });
    }
    let mut out = json!({
        "format_version": STATE_FORMAT_VERSION,
        "terraform_version": TERRAFORM_VERSION,
        "values": prior_values::values(state),
    });
    let checks = checks_json::of_state(state.check_results.as_deref().unwrap_or_default());
    if !checks.is_empty() {
        out["checks"] = checks.into();
    }
    out
}

/// Builds the plan representation. `state` is the one that the stage was planned on,
/// `configuration` its configuration.
pub fn plan_json(stage: &Stage, state: &State, configuration: &Configuration<'_>) -> Json {
    Surroundings::new(stage, state, configuration).plan_json(stage)
}

/// Parts of the representation that are not made from the stage alone. A plan file stores them, so
/// that it can be shown without configuration, state and providers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Surroundings {
    /// Defaults of the root variables that are not given.
    defaults: BTreeMap<String, Json>,
    /// Versions of identity schemas that are not 0, by provider and type.
    identity_versions: BTreeMap<String, i64>,
    /// The refreshed state, as in OpenTofu. Null if it is empty.
    prior_state: Json,
    configuration: Json,
}

impl Surroundings {
    pub fn new(stage: &Stage, state: &State, configuration: &Configuration<'_>) -> Self {
        let mut prior = prior_values::state_after_edits(state, &stage.edits);
        prior_values::refresh_outputs(&mut prior, stage, configuration.root);
        prior_values::refresh_objects(&mut prior, state, stage, configuration);
        let prior_state = match prior.objects.is_empty() && prior.outputs.is_empty() {
            true => Json::Null,
            false => json!({
                "format_version": STATE_FORMAT_VERSION,
                "terraform_version": TERRAFORM_VERSION,
                "values": prior_values::values(&prior),
            }),
        };
        let versions = stage.changes.iter().filter_map(|change| {
            let version = configuration.identity_version(change);
            (version != 0).then(|| (type_key(change), version))
        });
        Self {
            defaults: defaults(stage, configuration.root),
            identity_versions: versions.collect(),
            prior_state,
            configuration: configuration.json(),
        }
    }

    /// Returns these parts without the texts of secrets.
    ///
    /// # Errors
    /// They cannot be encoded.
    pub fn redacted(&self, sealer: &Sealer) -> Result<Self, StageCodecError> {
        let mut json = serde_json::to_value(self).map_err(|e| StageCodecError::text("plan", e))?;
        sealer.redact_json(&mut json);
        serde_json::from_value(json).map_err(|e| StageCodecError::text("plan", e))
    }

    /// Returns the name of a part that differs from the other one's.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let parts = [
            ("values of variables", self.defaults == other.defaults),
            ("state", self.prior_state == other.prior_state),
            ("configuration", self.configuration == other.configuration),
            (
                "identity versions",
                self.identity_versions == other.identity_versions,
            ),
        ];
        let mut differing = parts.into_iter().filter(|(_, are_same)| !are_same);
        differing.next().map(|(name, _)| name)
    }

    /// Builds the representation of the stage.
    pub fn plan_json(&self, stage: &Stage) -> Json {
        let mut out = Map::new();
        out.insert("format_version".into(), FORMAT_VERSION.into());
        out.insert("terraform_version".into(), TERRAFORM_VERSION.into());
        let variables = self.variables(stage);
        if !variables.is_empty() {
            out.insert("variables".into(), variables.into());
        }
        out.insert("planned_values".into(), self.planned_values(stage));
        // A destroy reports no drift, because it starts from the refreshed state. Deposed objects
        // are left out, and pure moves appear here only if there are no changes to show them.
        let whose = |d: &&&Drift| {
            stage.request.mode != StageMode::Destroy
                && d.deposed.is_none()
                && (d.action != Action::NoOp || stage.request.mode == StageMode::RefreshOnly)
        };
        let drift: Vec<&Drift> = sorted(&stage.drift, |d| d.address.clone());
        let drift: Vec<Json> = drift.iter().filter(whose).map(|d| drifted(d)).collect();
        if !drift.is_empty() {
            out.insert("resource_drift".into(), drift.into());
        }
        let changes: Vec<Json> = sorted(&stage.changes, |c| (c.address.clone(), c.deposed.clone()))
            .into_iter()
            .map(resource_change)
            .collect();
        if !changes.is_empty() {
            out.insert("resource_changes".into(), changes.into());
        }
        if !stage.outputs.is_empty() {
            out.insert("output_changes".into(), output_changes(stage));
        }
        if !self.prior_state.is_null() {
            out.insert("prior_state".into(), self.prior_state.clone());
        }
        out.insert("configuration".into(), self.configuration.clone());
        if !stage.relevant.is_empty() {
            out.insert("relevant_attributes".into(), json!(stage.relevant));
        }
        let checks = stage.statuses.0.iter();
        let checks: Vec<Json> = checks
            .map(|(address, status)| {
                check(address, status.plan_name(), stage.checked.json(address))
            })
            .collect();
        if !checks.is_empty() {
            out.insert("checks".into(), checks.into());
        }
        out.insert("timestamp".into(), timestamp(stage.at).into());
        out.insert("errored".into(), false.into());
        Json::Object(out)
    }

    /// Encodes root variables: given values and defaults. Ephemeral values are omitted, because the
    /// representation is stored.
    fn variables(&self, stage: &Stage) -> Map<String, Json> {
        let given = stage.variables.iter();
        let given = given.filter(|(_, value)| !value.contains_mark(&cty::Mark::Ephemeral));
        let given = given.map(|(name, value)| (name.to_string(), masks::known_json(value)));
        let mut all = self.defaults.clone();
        all.extend(given);
        let all = all.into_iter();
        all.map(|(name, value)| (name, json!({ "value": value })))
            .collect()
    }

    /// Returns each given value of a root variable for display, as `name = value`.
    pub fn given_variables(&self, stage: &Stage) -> Vec<String> {
        let declared = &self.configuration["root_module"]["variables"];
        let is_hidden = |name: &str| {
            let declared = &declared[name];
            declared["sensitive"] == true || declared["ephemeral"] == true
        };
        let given = stage.variables.iter().map(|(name, value)| {
            let value = match is_hidden(name) {
                true => diff::SENSITIVE.to_owned(),
                false => diff::render(value),
            };
            format!("{name} = {value}")
        });
        given.collect()
    }

    /// Encodes the planned outputs and objects.
    fn planned_values(&self, stage: &Stage) -> Json {
        let mut out = Map::new();
        let mut outputs = Map::new();
        for change in &stage.outputs {
            let mut one = json!({ "sensitive": change.sensitive });
            match &change.after {
                Some(after) if after.is_wholly_known() => {
                    one["type"] = after.ty().to_json_value();
                    one["value"] = masks::known_json(after);
                }
                Some(_) => {}
                None if change.null => {
                    one["type"] = cty::Type::Dynamic.to_json_value();
                    one["value"] = Json::Null;
                }
                None => continue,
            }
            outputs.insert(change.name.to_string(), one);
        }
        if !outputs.is_empty() {
            out.insert("outputs".into(), outputs.into());
        }
        let mut modules: BTreeMap<_, Vec<Json>> = BTreeMap::new();
        // By address as text, unlike the changes, which sort by address.
        for change in sorted(&stage.changes, |c| c.address.to_string()) {
            if change.deposed.is_some() || change.action() == Action::Destroy {
                continue;
            }
            let mut one = object_address(&change.address);
            one.insert(
                "provider_name".into(),
                change.provider.address.as_ref().into(),
            );
            one.insert("schema_version".into(), change.schema_version.into());
            // A forgotten object still exists, but without known values; OpenTofu omits empty
            // values.
            let values = masks::known_json(&change.after.value);
            if values.as_object().is_some_and(|all| !all.is_empty()) {
                one.insert("values".into(), values);
            }
            one.insert(
                "sensitive_values".into(),
                masks::sensitive(&change.after.value),
            );
            let identity = change.after.identity.as_ref();
            if let Some(identity) = identity.filter(|v| !v.is_null() && v.is_wholly_known()) {
                one.insert("identity".into(), masks::known_json(identity));
                let version = self.identity_versions.get(&type_key(change));
                let version = version.copied().unwrap_or_default();
                one.insert("identity_schema_version".into(), version.into());
            }
            modules
                .entry(change.address.module.clone())
                .or_default()
                .push(one.into());
        }
        out.insert("root_module".into(), prior_values::module_tree(modules));
        out.into()
    }
}

/// Returns the defaults of the root variables that are not given.
fn defaults(stage: &Stage, root: &Module) -> BTreeMap<String, Json> {
    let secrets = &stage.secrets.recorded;
    let is_given = |name: &str| {
        let value = stage.variables.get(name);
        secrets.contains(name) || value.is_some_and(|v| !v.contains_mark(&cty::Mark::Ephemeral))
    };
    let declared = root.variables.iter().filter(|(name, _)| !is_given(name));
    declared
        .filter_map(|(name, declared)| {
            let default = declared.default.as_ref()?;
            Some((name.to_string(), masks::known_json(default)))
        })
        .collect()
}

fn type_key(change: &Change) -> String {
    let kind = &change.address.resource.kind;
    format!("{} {kind}", change.provider.address)
}

fn sorted<T, K: Ord>(all: &[T], key: impl Fn(&T) -> K) -> Vec<&T> {
    let mut all: Vec<&T> = all.iter().collect();
    all.sort_by_cached_key(|one| key(one));
    all
}

/// Encodes the address of a changed resource instance.
fn changed_address(address: &AbsInstance, previous: Option<&AbsInstance>) -> Map<String, Json> {
    let mut out = Map::new();
    out.insert("address".into(), address.to_string().into());
    if let Some(previous) = previous {
        out.insert("previous_address".into(), previous.to_string().into());
    }
    if !address.module.is_root() {
        out.insert("module_address".into(), address.module.to_string().into());
    }
    out.insert("mode".into(), mode(address.resource.mode).into());
    out.insert("type".into(), address.resource.kind.as_ref().into());
    out.insert("name".into(), address.resource.name.as_ref().into());
    match &address.key {
        InstanceKey::None => {}
        InstanceKey::Int(n) => drop(out.insert("index".into(), (*n).into())),
        InstanceKey::Str(text) => drop(out.insert("index".into(), text.as_ref().into())),
    }
    out
}

/// Encodes the address of an object.
pub(super) fn object_address(address: &AbsInstance) -> Map<String, Json> {
    let mut out = changed_address(address, None);
    // `values` has no module address: the module tree contains it.
    out.shift_remove("module_address");
    out
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Managed => "managed",
        Mode::Data => "data",
        Mode::Ephemeral => "ephemeral",
    }
}

fn resource_change(change: &Change) -> Json {
    let mut out = changed_address(&change.address, change.previous.as_ref());
    out.insert(
        "provider_name".into(),
        change.provider.address.as_ref().into(),
    );
    if let Some(key) = &change.deposed {
        out.insert("deposed".into(), key.as_str().into());
    }
    let mut what = change_object(
        change.plan_actions(),
        &change.before.value,
        &change.after.value,
    );
    if !change.replace_paths().is_empty() {
        what.insert(
            "replace_paths".into(),
            change.replace_paths().iter().map(path).collect(),
        );
    }
    match change.importing() {
        None => {}
        Some(Importing::Id(id)) => drop(what.insert("importing".into(), json!({ "id": id }))),
        Some(Importing::Identity { identity }) => {
            drop(what.insert("importing".into(), json!({ "identity": identity })))
        }
    }
    for (name, identity) in [
        ("before_identity", &change.before.identity),
        ("after_identity", &change.after.identity),
    ] {
        // The format cannot express unknown parts of an identity.
        if let Some(identity) = identity.as_ref().filter(|v| v.is_wholly_known()) {
            what.insert(name.into(), masks::known_json(identity));
        }
    }
    out.insert("change".into(), what.into());
    if let Some(reason) = change.reason {
        out.insert("action_reason".into(), reason.plan_name().into());
    }
    out.into()
}

fn drifted(drift: &Drift) -> Json {
    let mut out = changed_address(&drift.address, drift.previous.as_ref());
    out.insert(
        "provider_name".into(),
        drift.provider.address.as_ref().into(),
    );
    out.insert(
        "change".into(),
        change_object(drift.action.plan_actions(), &drift.before, &drift.after).into(),
    );
    out.into()
}

/// Encodes the `change` object of a resource.
fn change_object(actions: &[&str], before: &Value, after: &Value) -> Map<String, Json> {
    let mut out = Map::new();
    out.insert("actions".into(), json!(actions));
    out.insert("before".into(), masks::known_json(before));
    // An object that is unknown as a whole has no `after`, as in OpenTofu.
    if after.is_known() {
        out.insert("after".into(), masks::known_json(after));
    }
    out.insert(
        "after_unknown".into(),
        if after.is_wholly_known() {
            json!({})
        } else {
            masks::unknown(after)
        },
    );
    out.insert("before_sensitive".into(), masks::sensitive(before));
    out.insert("after_sensitive".into(), masks::sensitive(after));
    out
}

fn path(path: &Path) -> Json {
    let step = |step: &PathStep| match step {
        PathStep::Attr(name) => name.as_ref().into(),
        PathStep::Index(key) => masks::known_json(key),
    };
    path.steps().iter().map(step).collect()
}

fn output_changes(stage: &Stage) -> Json {
    let mut all = Map::new();
    for change in &stage.outputs {
        let after = change.after.as_ref();
        let mut one = Map::new();
        one.insert("actions".into(), json!(change.action.plan_actions()));
        one.insert(
            "before".into(),
            change.before.as_ref().map_or(Json::Null, masks::known_json),
        );
        if after.is_none_or(Value::is_known) {
            one.insert("after".into(), after.map_or(Json::Null, masks::known_json));
        }
        one.insert(
            "after_unknown".into(),
            after
                .filter(|v| !v.is_wholly_known())
                .map_or(false.into(), masks::unknown),
        );
        // The plan only knows whether an output is or was sensitive, so both sides are equal.
        one.insert("before_sensitive".into(), change.sensitive.into());
        one.insert("after_sensitive".into(), change.sensitive.into());
        all.insert(change.name.to_string(), one.into());
    }
    all.into()
}

#[cfg(test)]
#[path = "plan_json_tests.rs"]
mod tests;
