//! Planned changes for OpenTofu's JSON lines, read from the plan representation.

use super::address::Resource;
use serde_json::{Map, Value, json};

/// One planned change, or one detected drift.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) resource: Resource,
    previous: Option<Resource>,
    /// Action name of OpenTofu's lines.
    pub(super) action: &'static str,
    /// Actions of the plan representation.
    actions: Vec<String>,
    reason: Option<String>,
    importing: Option<Value>,
    generated_config: Option<Value>,
}

/// Reads the changes of one list of a plan representation.
pub(super) fn changes(plan: &Value, list: &str) -> Vec<Change> {
    let rows = plan[list].as_array().map(Vec::as_slice).unwrap_or_default();
    rows.iter().map(Change::from_json).collect()
}

impl Change {
    fn from_json(row: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let change = &row["change"];
        let actions: Vec<String> = change["actions"].as_array().map_or_else(Vec::new, |all| {
            all.iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        });
        let previous = row["previous_address"].as_str().map(Resource::of);
        let importing = Some(change["importing"].clone()).filter(|v| !v.is_null());
        let words: Vec<&str> = actions.iter().map(String::as_str).collect();
        let action = match words.as_slice() {
            ["create"] => "create",
            ["read"] => "read",
            ["update"] => "update",
            ["delete"] => "delete",
            ["forget"] => "remove",
            ["delete", "create"] | ["create", "delete"] => "replace",
            // Imports and moves without other changes are no-ops in the plan representation.
            _ if importing.is_some() => "import",
            _ if previous.is_some() => "move",
            _ => "noop",
        };
        Self {
            resource: Resource::of(row["address"].as_str().unwrap_or_default()),
            previous,
            action,
            actions,
            reason: text(&row["action_reason"]).map(|reason| reason_name(&reason)),
            importing,
            generated_config: Some(change["generated_config"].clone()).filter(|v| !v.is_null()),
        }
    }

    fn has_action(&self, action: &str) -> bool {
        self.actions.iter().any(|a| a == action)
    }

    /// Returns true if the change has a line. `whole` plans include moves and imports without other
    /// changes.
    pub(super) fn has_line(&self, whole: bool) -> bool {
        !self.has_action("no-op") || whole && (self.previous.is_some() || self.importing.is_some())
    }

    pub(super) fn json(&self) -> Value {
        let mut all = json!({ "resource": self.resource.json() });
        if let Some(previous) = &self.previous {
            all["previous_resource"] = previous.json();
        }
        all["action"] = self.action.into();
        if let Some(reason) = &self.reason {
            all["reason"] = reason.as_str().into();
        }
        if let Some(importing) = &self.importing {
            all["importing"] = importing.clone();
        }
        if let Some(config) = &self.generated_config {
            all["generated_config"] = config.clone();
        }
        all
    }
}

/// Maps a reason of the plan representation to that of OpenTofu's lines.
fn reason_name(reason: &str) -> String {
    match reason {
        "replace_because_tainted" => "tainted",
        "replace_by_request" => "requested",
        "replace_because_cannot_update" => "cannot_update",
        "replace_by_triggers" => "replace_triggered_by",
        other => other,
    }
    .to_owned()
}

/// Counts the changes, as JSON and as text.
pub(super) fn count_changes(changes: &[Change]) -> (Value, String) {
    // A replacement has both actions, so it counts as an addition and as a removal.
    let count = |action: &str| changes.iter().filter(|c| c.has_action(action)).count();
    let (add, change) = (count("create"), count("update"));
    let (remove, forget) = (count("delete"), count("forget"));
    let import = changes.iter().filter(|c| c.importing.is_some()).count();
    let imported = match import {
        0 => String::new(),
        n => format!("{n} to import, "),
    };
    let forgotten = match forget {
        0 => String::new(),
        n => format!(", {n} to forget"),
    };
    let message = format!(
        "Plan: {imported}{add} to add, {change} to change, {remove} to destroy{forgotten}."
    );
    let sums = json!({
        "add": add, "change": change, "import": import, "remove": remove, "forget": forget,
        "operation": "plan",
    });
    (sums, message)
}

/// Returns the outputs of a plan with the action on each.
pub(super) fn outputs(plan: &Value) -> Map<String, Value> {
    let none = Map::new();
    let outputs = plan["output_changes"].as_object().unwrap_or(&none);
    let one = |(name, change): (&String, &Value)| {
        let sensitive = change["after_sensitive"] == true || change["before_sensitive"] == true;
        // Outputs are never replaced, so they have one action.
        let action = match change["actions"][0].as_str() {
            Some("create") => "create",
            Some("update") => "update",
            Some("delete") => "delete",
            _ => "noop",
        };
        (
            name.clone(),
            json!({ "sensitive": sensitive, "action": action }),
        )
    };
    let mut all: Vec<(String, Value)> = outputs.iter().map(one).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.into_iter().collect()
}
