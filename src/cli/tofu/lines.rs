//! OpenTofu's JSON lines (`plan -json` and related commands, version 1.2): progress of each object,
//! planned changes, change summary, diagnostics and outputs. Owns the start times of objects being
//! applied.

use super::super::time::{HEARTBEAT, elapsed};
use super::address::Resource;
use super::diagnostic::Shown;
use super::output_type::shown_type;
use super::plan;
use lang::config::LANGUAGE_VERSION;
use model::{
    Action, Counts, Diagnostic, Event, EventKind, ObjectPhase, ObjectStep, ObjectWork, OutputValue,
    Severity, Unknown,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

/// Version of the format.
const VERSION: &str = "1.2";

/// State kept between lines.
#[derive(Debug, Default)]
pub(in crate::cli) struct Lines {
    /// The version line has been written.
    version_written: bool,
    shown: Shown,
    /// Objects being applied, by address.
    applying: BTreeMap<String, Applying>,
    /// Counts of objects applied without failure.
    applied: Applied,
}

#[derive(Debug)]
struct Applying {
    resource: Resource,
    action: Action,
    since: Instant,
    /// Time of the next progress line.
    due: Instant,
}

#[derive(Debug, Default)]
struct Applied {
    add: u32,
    change: u32,
    remove: u32,
}

/// Level, message and payload of one line.
pub(super) struct Line {
    level: &'static str,
    message: String,
    kind: &'static str,
    payload: Option<(&'static str, Value)>,
}

impl Lines {
    /// Returns the lines of an event.
    pub(in crate::cli) fn event(&mut self, event: &Event) -> Vec<String> {
        let lines = match &event.kind {
            EventKind::Object(step) => self.object(step).into_iter().collect(),
            EventKind::Notice { text } | EventKind::Cancel { text, .. } => {
                vec![info("log", text.clone(), None)]
            }
            _ => Vec::new(),
        };
        self.format_lines(lines)
    }

    /// Returns the lines of a diagnostic.
    pub(in crate::cli) fn diagnostic(&mut self, d: &Diagnostic) -> Vec<String> {
        let (level, word) = match d.severity {
            Severity::Error => ("error", "Error"),
            Severity::Warning => ("warn", "Warning"),
        };
        let line = Line {
            level,
            message: format!("{word}: {}", d.summary),
            kind: "diagnostic",
            payload: Some(("diagnostic", self.shown.json(d))),
        };
        self.format_lines(vec![line])
    }

    /// Returns the lines of a plan representation; with `whole` also drift, sums and outputs.
    pub(in crate::cli) fn plan(&mut self, plan: &Value, whole: bool) -> Vec<String> {
        let mut lines = Vec::new();
        // OpenTofu writes drift before changes, and sums and outputs after them.
        if whole {
            let drift = plan::changes(plan, "resource_drift");
            lines.extend(drift.iter().map(|change| {
                let message = format!(
                    "{}: Drift detected ({})",
                    change.resource.address, change.action
                );
                info("resource_drift", message, Some(("change", change.json())))
            }));
        }
        let changes = plan::changes(plan, "resource_changes");
        let told = changes.iter().filter(|c| c.has_line(whole));
        lines.extend(told.map(|change| {
            let message = format!("{}: Plan to {}", change.resource.address, change.action);
            info("planned_change", message, Some(("change", change.json())))
        }));
        if whole {
            let (sums, message) = plan::count_changes(&changes);
            lines.push(info("change_summary", message, Some(("changes", sums))));
            let outputs = plan::outputs(plan);
            lines.extend(Some(outputs).filter(|o| !o.is_empty()).map(outputs_line));
        }
        self.format_lines(lines)
    }

    /// Returns the sums of a successful deploy. `counts` supplies imports and forgotten objects,
    /// which no apply step counts.
    pub(in crate::cli) fn applied(&mut self, counts: &Counts, destroys: bool) -> Vec<String> {
        let Applied {
            add,
            change,
            remove,
        } = self.applied;
        let (import, forget) = (counts.import, counts.forget);
        let message = if destroys {
            format!("Destroy complete! Resources: {remove} destroyed.")
        } else {
            let imported = match import {
                0 => String::new(),
                n => format!("{n} imported, "),
            };
            let forgotten = match forget {
                0 => String::new(),
                n => format!(", {n} forgotten"),
            };
            format!(
                "Apply complete! Resources: {imported}{add} added, {change} changed, {remove} destroyed{forgotten}."
            )
        };
        let operation = if destroys { "destroy" } else { "apply" };
        let sums = json!({
            "add": add, "change": change, "import": import, "remove": remove, "forget": forget,
            "operation": operation,
        });
        self.format_lines(vec![info(
            "change_summary",
            message,
            Some(("changes", sums)),
        )])
    }

    /// Returns the line of a state's outputs.
    pub(in crate::cli) fn outputs(&mut self, outputs: &[OutputValue]) -> Vec<String> {
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let mut all: Vec<&OutputValue> = outputs.iter().collect();
        // OpenTofu sorts them, and consumers may compare lines.
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let members = all.into_iter().map(|output| {
            let mut one = json!({ "sensitive": output.sensitive, "type": shown_type(output) });
            // The type is public, but a sensitive value must not reach the lines.
            if !output.sensitive {
                one["value"] = parsed(&output.value);
            }
            (output.name.clone(), one)
        });
        let members: Map<String, Value> = members.collect();
        self.format_lines(vec![outputs_line(members)])
    }

    /// Returns the line of an unknown outcome, which OpenTofu does not have.
    pub(in crate::cli) fn unknown_outcome(&mut self, text: &str, outcome: &Unknown) -> Vec<String> {
        let payload = Some(("outcome", json!(outcome)));
        let line = Line {
            level: "warn",
            ..info("unknown_outcome", text.to_owned(), payload)
        };
        self.format_lines(vec![line])
    }

    /// Returns progress lines of objects that take long.
    pub(in crate::cli) fn tick(&mut self, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        for one in self.applying.values_mut().filter(|one| one.due <= now) {
            one.due = now + HEARTBEAT;
            let seconds = now.duration_since(one.since).as_secs();
            let (_, verb, _) = verbs(one.action);
            let message = format!(
                "{}: Still {verb}... [{} elapsed]",
                one.resource.address,
                elapsed(seconds)
            );
            let hook = json!({
                "resource": one.resource.json(), "action": action_name(one.action), "elapsed_seconds": seconds,
            });
            lines.push(info("apply_progress", message, Some(("hook", hook))));
        }
        self.format_lines(lines)
    }

    /// Returns lines as text. The version line precedes the first one.
    pub(super) fn format_lines(&mut self, lines: Vec<Line>) -> Vec<String> {
        let mut all = Vec::with_capacity(lines.len() + 1);
        if !std::mem::replace(&mut self.version_written, true) {
            all.push(version());
        }
        all.extend(lines.into_iter().map(Line::text));
        all
    }

    fn object(&mut self, step: &ObjectStep) -> Option<Line> {
        let resource = Resource::of(&step.address);
        match &step.work {
            ObjectWork::Apply(action) => self.apply(step, resource, *action),
            ObjectWork::Refresh => refresh(step, &resource),
            ObjectWork::Provision(kind) => Some(provision(step, &resource, kind)),
            ObjectWork::Open | ObjectWork::Renew | ObjectWork::Close => {
                Some(ephemeral(step, &resource))
            }
        }
    }

    fn apply(&mut self, step: &ObjectStep, resource: Resource, action: Action) -> Option<Line> {
        let (begins, _, noun) = verbs(action);
        let mut hook = json!({ "resource": resource.json(), "action": action_name(action) });
        let known = add_identifier(step, &mut hook);
        let address = resource.address.clone();
        if step.phase == ObjectPhase::Begun {
            let now = Instant::now();
            let begun = Applying {
                resource,
                action,
                since: now,
                due: now + HEARTBEAT,
            };
            self.applying.insert(address.clone(), begun);
            let message = format!("{address}: {begins}...{known}");
            return Some(info("apply_start", message, Some(("hook", hook))));
        }
        // Removed at the end, so that no further progress lines are written.
        let since = self.applying.remove(&address).map(|begun| begun.since);
        let seconds = since.map_or(0, |since| since.elapsed().as_secs());
        hook["elapsed_seconds"] = seconds.into();
        let (kind, ended) = match step.phase {
            ObjectPhase::Failed => ("apply_errored", "errored"),
            _ => ("apply_complete", "complete"),
        };
        // Failed operations are not part of the sums.
        if step.phase != ObjectPhase::Failed {
            self.applied.count(action);
        }
        let message = format!(
            "{address}: {noun} {ended} after {}{known}",
            elapsed(seconds)
        );
        Some(info(kind, message, Some(("hook", hook))))
    }
}

impl Applied {
    fn count(&mut self, action: Action) {
        // A replacement is reported as a destroy and a create, and counts as both.
        match action {
            Action::Create => self.add += 1,
            Action::Update => self.change += 1,
            Action::Destroy => self.remove += 1,
            _ => {}
        }
    }
}

impl Line {
    /// Serialises the line with sorted keys, as OpenTofu does.
    fn text(self) -> String {
        let mut all = Map::new();
        all.insert("@level".into(), self.level.into());
        all.insert("@message".into(), self.message.into());
        all.insert("@module".into(), "tofu.ui".into());
        all.insert("@timestamp".into(), timestamp().into());
        all.extend(self.payload.map(|(name, value)| (name.to_owned(), value)));
        all.insert("type".into(), self.kind.into());
        Value::Object(all).to_string()
    }
}

fn info(kind: &'static str, message: String, payload: Option<(&'static str, Value)>) -> Line {
    Line {
        level: "info",
        message,
        kind,
        payload,
    }
}

fn outputs_line(outputs: Map<String, Value>) -> Line {
    let message = format!("Outputs: {}", outputs.len());
    info(
        "outputs",
        message,
        Some(("outputs", Value::Object(outputs))),
    )
}

/// Version line. The message names flightdeck; the fields for programs are OpenTofu's.
fn version() -> String {
    let message = format!(
        "flightdeck {}, with the language of OpenTofu {LANGUAGE_VERSION}",
        env!("CARGO_PKG_VERSION")
    );
    json!({
        "@level": "info", "@message": message, "@module": "tofu.ui", "@timestamp": timestamp(),
        "tofu": LANGUAGE_VERSION, "type": "version", "ui": VERSION,
    })
    .to_string()
}

fn timestamp() -> String {
    let now = jiff::Zoned::now();
    let zone = if now.offset().is_zero() { "Z" } else { "%:z" };
    now.strftime(&format!("%Y-%m-%dT%H:%M:%S%.6f{zone}"))
        .to_string()
}

fn refresh(step: &ObjectStep, resource: &Resource) -> Option<Line> {
    let mut hook = json!({ "resource": resource.json() });
    let known = add_identifier(step, &mut hook);
    let (kind, words) = match step.phase {
        ObjectPhase::Begun => ("refresh_start", "Refreshing state..."),
        ObjectPhase::Ended => ("refresh_complete", "Refresh complete"),
        // OpenTofu has no lines for these phases.
        ObjectPhase::Said(_) | ObjectPhase::Failed => return None,
    };
    let message = format!("{}: {words}{known}", resource.address);
    Some(info(kind, message, Some(("hook", hook))))
}

fn provision(step: &ObjectStep, resource: &Resource, by: &str) -> Line {
    let mut hook = json!({ "resource": resource.json(), "provisioner": by });
    let (kind, words) = match &step.phase {
        ObjectPhase::Begun => ("provision_start", format!("Provisioning with '{by}'...")),
        ObjectPhase::Said(text) => {
            // Each line is an event of its own, so its line break has no meaning.
            let text = text.trim_end();
            hook["output"] = text.into();
            ("provision_progress", format!("({by}): {text}"))
        }
        ObjectPhase::Ended => (
            "provision_complete",
            format!("({by}) Provisioning complete"),
        ),
        ObjectPhase::Failed => ("provision_errored", format!("({by}) Provisioning errored")),
    };
    let message = format!("{}: {words}", resource.address);
    info(kind, message, Some(("hook", hook)))
}

fn ephemeral(step: &ObjectStep, resource: &Resource) -> Line {
    let (begins, ended) = match step.work {
        ObjectWork::Open => ("Opening...", "Open complete"),
        ObjectWork::Renew => ("Renewing...", "Renew complete"),
        _ => ("Closing...", "Close complete"),
    };
    let (kind, words) = match step.phase {
        ObjectPhase::Begun => ("ephemeral_action_started", begins),
        _ => ("ephemeral_action_complete", ended),
    };
    // The key is capitalised in OpenTofu, too.
    let hook = json!({ "resource": resource.json(), "Msg": words });
    let message = format!("{}: {words}", resource.address);
    info(kind, message, Some(("hook", hook)))
}

/// Adds the identifying attribute to the payload, and returns it as text.
fn add_identifier(step: &ObjectStep, hook: &mut Value) -> String {
    let Some((key, text)) = step.known_by.as_ref().filter(|(_, text)| !text.is_empty()) else {
        return String::new();
    };
    hook["id_key"] = key.as_str().into();
    hook["id_value"] = text.as_str().into();
    format!(" [{key}={text}]")
}

/// Returns OpenTofu's name of an action.
fn action_name(action: Action) -> &'static str {
    match action {
        Action::NoOp => "noop",
        Action::Read => "read",
        Action::Create => "create",
        Action::Update => "update",
        Action::Replace | Action::ReplaceCreateFirst => "replace",
        Action::Destroy => "delete",
        Action::Forget => "remove",
    }
}

/// Returns the texts for the start, the progress and the end of an action.
fn verbs(action: Action) -> (&'static str, &'static str, &'static str) {
    match action {
        Action::Create => ("Creating", "creating", "Creation"),
        Action::Update => ("Modifying", "modifying", "Modifications"),
        Action::Destroy => ("Destroying", "destroying", "Destruction"),
        Action::Read => ("Refreshing", "refreshing", "Refresh"),
        Action::Replace | Action::ReplaceCreateFirst => ("Replacing", "replacing", "Replacement"),
        Action::Forget => ("Removing", "removing", "Removal"),
        Action::NoOp => ("Applying", "applying", "Apply"),
    }
}
