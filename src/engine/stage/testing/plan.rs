//! Stages of short configurations over the fake provider, rendered as lines.

use super::lab::Lab;
use super::workspace::{Workspace, read};
use crate::stage::change::{Change, Drift, OutputChange, Stage, StageResult};
use crate::stage::external_inputs::InputDigest;
use crate::stage::nodes::{Nodes, Sources};
use crate::stage::prior::PriorState;
use crate::stage::scope::Phase;
use crate::stage::select::{references, select, select_only};
use crate::stage::staging::stage;
use crate::stage::steps::{self, Steps, Task};
use crate::stage::{diff, moves, show};
use cty::{Path, Value};
use graph::Step;
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use lang::functions::ExternalInput;
use model::{Action, AttributeChange, CommandView, Select, Selection};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::records::StateEdit;

/// Result of planning one configuration.
pub struct Plan {
    /// `None` after errors.
    pub stage: Option<Stage>,
    pub diags: Diagnostics,
    pub lab: Arc<Lab>,
    pub nodes: Nodes,
}

/// Plans a configuration against a state. `flags` are those of `flightdeck stage`.
pub async fn plan(config: &str, objects: &[&str], flags: &[&str]) -> Plan {
    let (lab, read) = read(config, objects, flags);
    let Workspace {
        input,
        warnings: mut diags,
        dir: _dir,
    } = match read {
        Ok(workspace) => workspace,
        Err(diags) => {
            let nodes = Nodes::build(&Sources {
                root: &Module::default(),
                schemas: &Default::default(),
                in_state: &Default::default(),
                orphan_providers: &Default::default(),
            });
            return Plan {
                stage: None,
                diags,
                lab,
                nodes,
            };
        }
    };
    let mut prior = PriorState::new(&input.state);
    // Wrong moves are diagnostics of the stage.
    drop(moves::apply(&input.root, &mut prior));
    let nodes = input.new_walk(Phase::Plan, &prior, 0).nodes;
    let (stage, found) = stage(input).await;
    diags.append(found);
    let stage = match stage {
        StageResult::Complete(stage) => Some(*stage),
        StageResult::Errored(_) => None,
    };
    Plan {
        stage,
        diags,
        lab,
        nodes,
    }
}

impl Plan {
    /// Returns the diagnostics: severity and summary.
    pub fn diagnostics(&self) -> Vec<String> {
        summaries(&self.diags)
    }

    /// Returns one line for each change with an effect, a move or an import: symbol, address,
    /// former address, import and reason.
    pub fn changes(&self) -> Vec<String> {
        self.shown().map(line).collect()
    }

    /// Returns the same lines with the changed attributes.
    pub fn values(&self) -> Vec<String> {
        let one = |change: &Change| {
            let (before, after) = (&change.before.value, &change.after.value);
            let changed = changed_attributes(before, after, change.replace_paths());
            format!("{}: {changed}", line(change)).trim().to_owned()
        };
        self.shown().map(one).collect()
    }

    fn shown(&self) -> impl Iterator<Item = &Change> {
        let changes = self.stage.iter().flat_map(|stage| &stage.changes);
        changes.filter(|c| {
            c.action() != Action::NoOp || c.importing().is_some() || c.previous.is_some()
        })
    }

    /// Returns the explanation of each change, as it is shown.
    pub fn because(&self) -> Vec<String> {
        let shown: BTreeSet<String> = self.shown().map(Change::id).collect();
        let all = self.stage.iter().flat_map(|s| show::summary(s).changes);
        let all = all.filter(|change| shown.contains(&change.address));
        all.map(|change| format!("{}: {}", change.address, change.why))
            .collect()
    }

    /// Returns the changes that targets deselect from the start.
    pub fn deselected(&self) -> Vec<String> {
        let stages = self.stage.iter();
        stages.flat_map(|stage| stage.deselected.clone()).collect()
    }

    /// Returns the objects that a read found changed, moved or deleted.
    pub fn drift(&self) -> Vec<String> {
        let one = |d: &Drift| {
            let id = d.deposed.as_ref().map(|key| format!(" (deposed {key})"));
            let from = d.previous.as_ref().map(|from| format!(" <- {from}"));
            let changed = changed_attributes(&d.before, &d.after, &[]);
            let (id, from) = (id.unwrap_or_default(), from.unwrap_or_default());
            let line = format!("{} {}{id}{from}: {changed}", sign(d.action), d.address);
            line.trim().to_owned()
        };
        self.stage.iter().flat_map(|s| &s.drift).map(one).collect()
    }

    /// Returns the aspects of the drift of each object.
    pub fn aspects(&self) -> Vec<String> {
        let one = |d: &Drift| {
            let aspects = d.aspects.iter().map(|aspect| aspect.label());
            let aspects = aspects.collect::<Vec<_>>().join(", ");
            format!("{}: {aspects}", d.address).trim().to_owned()
        };
        self.stage.iter().flat_map(|s| &s.drift).map(one).collect()
    }

    /// Returns the state edits of the stage, in order.
    pub fn edits(&self) -> Vec<String> {
        let key = |deposed: &str| match deposed {
            "" => String::new(),
            key => format!(" (deposed {key})"),
        };
        let one = |edit: &StateEdit| match edit {
            StateEdit::Put(o) => format!("put {}{}", o.address, key(&o.deposed)),
            StateEdit::Remove { address, deposed } => format!("remove {address}{}", key(deposed)),
            StateEdit::Move { from, to } => format!("move {from} to {to}"),
            other => format!("{other:?}"),
        };
        self.stage.iter().flat_map(|s| &s.edits).map(one).collect()
    }

    /// Returns the changes of root outputs that have an effect.
    pub fn outputs(&self) -> Vec<String> {
        let side = |value: &Option<Value>| short(value.as_ref().map(diff::render));
        let outputs = self.stage.iter().flat_map(|stage| &stage.outputs);
        let shown = outputs.filter(|o| o.action != Action::NoOp);
        let line = |o: &OutputChange| {
            let (before, after) = (side(&o.before), side(&o.after));
            format!("{} {}: {before} > {after}", sign(o.action), o.name)
        };
        shown.map(line).collect()
    }

    /// Returns the status of each checked object.
    pub fn checks(&self) -> Vec<String> {
        let all = self.stage.iter().flat_map(|stage| &stage.statuses.0);
        all.map(|(object, status)| format!("{} {object}", status.plan_name()))
            .collect()
    }

    /// Returns the direct dependencies of each change that has some.
    pub fn needs(&self) -> Vec<String> {
        let needs = |change: &Change| (change.id(), change.needs.clone());
        related(self.shown().map(needs), "needs")
    }

    /// Returns all dependencies of each change that has some, as the state will record them.
    pub fn depends(&self) -> Vec<String> {
        let all = |change: &Change| (change.id(), (*change.dependencies).clone());
        related(self.shown().map(all), "on")
    }

    /// Returns the attributes that contribute to the changes.
    pub fn relevant(&self) -> Vec<String> {
        let all = self.stage.iter().flat_map(|stage| &stage.relevant);
        all.map(|one| format!("{} {}", one.resource, one.attribute))
            .collect()
    }

    /// Returns the commands that each change runs, in order.
    pub fn commands(&self) -> Vec<String> {
        let changes = self.shown();
        let of = |change: &Change| {
            let one = |command: &CommandView| {
                let text = short(Some(command.text())).replace('\n', " / ");
                match &command.host {
                    None => format!("{} runs {text}", change.id()),
                    Some(_) => {
                        let machine = command.kind_and_machine();
                        format!("{} {}: {text}", change.id(), short(Some(machine)))
                    }
                }
            };
            change.commands().iter().map(one).collect::<Vec<_>>()
        };
        changes.flat_map(of).collect()
    }

    /// Returns the external inputs that the stage records.
    pub fn inputs(&self) -> Vec<String> {
        let all = self.stage.iter().flat_map(|stage| &stage.external_inputs);
        let line = |(input, found): (&ExternalInput, &InputDigest)| match found.secret {
            true => format!("{input} (hidden)"),
            false => input.to_string(),
        };
        all.map(line).collect()
    }

    /// Builds the steps of a deploy of these changes, by index.
    pub fn steps(&self, stage: &Stage, taken: &BTreeSet<usize>) -> Result<Steps, Diagnostic> {
        let outputs: Vec<&OutputChange> = stage.outputs.iter().collect();
        let ends = steps::ends(&self.nodes, &stage.request, &outputs);
        steps::build(&self.nodes, &stage.changes, taken, &ends, &[])
    }

    /// Returns the operations of a deploy of all changes, each with those that it waits for.
    pub fn order(&self) -> Vec<String> {
        let Some(stage) = &self.stage else {
            return Vec::new();
        };
        let changes = &stage.changes;
        let taken: BTreeSet<usize> = (0..changes.len())
            .filter(|i| steps::has_effect(&changes[*i]))
            .collect();
        let steps = self.steps(stage, &taken);
        operations(&steps.expect("no cycle"), changes)
    }

    /// Returns the selection after these steps: `take ADDRESS`, `leave ADDRESS`, `only ADDRESS`,
    /// `nothing`, `everything`, `inverse`.
    pub fn selection(&self, steps: &[&str]) -> Selection {
        let stage = self.stage.as_ref().expect("a stage");
        let changes = references(stage);
        let left = stage.deselected.iter().cloned().collect();
        let mut now = select(&changes, &left, &Select::All).expect("a selection");
        if !left.is_empty() {
            now.left = stage.deselected.clone();
        }
        for step in steps {
            let (verb, address) = step.split_once(' ').unwrap_or((step, ""));
            let how = match verb {
                "take" => Select::Take(address.to_owned()),
                "leave" => Select::Leave(address.to_owned()),
                "nothing" => Select::None,
                "everything" => Select::All,
                "inverse" => Select::Invert,
                _ => {
                    now = select_only(&changes, &[address.to_owned()]).expect("a selection");
                    continue;
                }
            };
            let left = now.left.into_iter().collect();
            now = select(&changes, &left, &how).expect("a selection");
        }
        now
    }

    /// Returns the provider's calls, sorted.
    pub fn calls(&self) -> Vec<String> {
        self.lab.calls()
    }
}

fn related(all: impl Iterator<Item = (String, BTreeSet<String>)>, how: &str) -> Vec<String> {
    let some = all.filter(|(_, others)| !others.is_empty());
    let line = |(id, others): (String, BTreeSet<String>)| {
        let others: Vec<String> = others.into_iter().collect();
        format!("{id} {how} {}", others.join(", "))
    };
    some.map(line).collect()
}

/// Renders each operation with the nearest ones before it.
fn operations(steps: &Steps, changes: &[Change]) -> Vec<String> {
    let name = |step: &Step| match steps.tasks[*step] {
        Task::Apply(i) => Some(format!("apply {}", changes[i].address)),
        Task::Destroy(i) => Some(format!("destroy {}", changes[i].id())),
        _ => None,
    };
    let before = |step: Step| {
        let mut found = BTreeSet::new();
        let mut queue: Vec<Step> = steps.graph.needs(step).collect();
        while let Some(next) = queue.pop() {
            match name(&next) {
                Some(_) => drop(found.insert(next)),
                None => queue.extend(steps.graph.needs(next)),
            }
        }
        found
    };
    let mut lines = Vec::new();
    for (step, name_of) in (0..steps.tasks.len()).filter_map(|s| Some((s, name(&s)?))) {
        let all = before(step);
        // Those that another one waits for follow from it.
        let nearest = all.iter().filter(|one| {
            let behind =
                |other: &&Step| other != one && steps.graph.closure([**other]).contains(one);
            !all.iter().any(|other| behind(&other))
        });
        let mut nearest: Vec<String> = nearest.filter_map(name).collect();
        nearest.sort();
        lines.push(match nearest.is_empty() {
            true => name_of,
            false => format!("{name_of} after {}", nearest.join(", ")),
        });
    }
    lines.sort();
    lines
}

/// Renders each diagnostic: severity and summary.
pub fn summaries(diags: &Diagnostics) -> Vec<String> {
    let severity = |error| if error { "error" } else { "warning" };
    let all = diags.iter();
    all.map(|d| format!("{}: {}", severity(d.is_error()), d.summary))
        .collect()
}

fn sign(action: Action) -> &'static str {
    match action {
        Action::NoOp => "=",
        action => action.sign(),
    }
}

fn line(change: &Change) -> String {
    let mut line = format!("{} {}", sign(change.action()), change.id());
    if let Some(from) = &change.previous {
        line += &format!(" <- {from}");
    }
    if let Some(by) = change.importing() {
        let by = serde_json::to_string(by).expect("JSON");
        line += &format!(" (import {by})");
    }
    if let Some(reason) = change.reason {
        line += &format!(" ({})", reason.plan_name());
    }
    line
}

/// Renders the changed leaves: `name "a" > "b"`. `!` marks those that force a replacement, `?` is a
/// value known after apply, `***` a sensitive one.
fn changed_attributes(before: &Value, after: &Value, forcing: &[Path]) -> String {
    let rows = diff::attributes(before, after, forcing);
    let one = |row: AttributeChange| {
        let forces = if row.forces_replacement { "!" } else { "" };
        let (before, after) = (short(row.before), short(row.after));
        format!("{}{forces} {before} > {after}", row.path)
    };
    // An object without blocks has an empty list of them.
    let some = |side: &Option<String>| side.as_ref().is_some_and(|text| text != "[]");
    let changed = rows.into_iter().filter(|row| row.changed);
    let changed = changed.filter(|row| some(&row.before) || some(&row.after));
    changed.map(one).collect::<Vec<_>>().join(", ")
}

fn short(value: Option<String>) -> String {
    let text = value.unwrap_or("none".to_owned());
    text.replace(diff::UNKNOWN, "?")
        .replace(diff::SENSITIVE, "***")
}
