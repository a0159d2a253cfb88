//! Summary of a stage for display: rows of changes with their reasons and dependencies. Pure; all
//! values pass through [`super::diff`], which masks sensitive parts.

use super::change::{Change, Drift, Importing, OutputChange, Stage};
use super::managed::Reason;
use super::sealing::Sealer;
use super::{diff, select};
use cty::{Path, PathStep, Value};
use lang::addr::Mode;
use model::cores;
use model::secrets::Secrets;
use model::*;
use std::collections::{BTreeMap, BTreeSet};

/// Limit of attributes named in a reason.
const MAX_LISTED: usize = 3;

/// Returns the summary of a stage, redacted: a provider may repeat a sensitive attribute in another
/// one, so known secrets are hidden everywhere.
pub fn redacted_summary(stage: &Stage, secrets: &Secrets) -> StageSummary {
    let mut summary = summary(stage);
    summary
        .changes
        .iter_mut()
        .flat_map(|c| &mut c.commands)
        .for_each(|c| super::commands::redact(c, secrets));
    let attributes = summary
        .changes
        .iter_mut()
        .flat_map(|c| &mut c.attributes)
        .flat_map(|a| [&mut a.before, &mut a.after]);
    let drift = summary
        .drift
        .iter_mut()
        .flat_map(|d| &mut d.attributes)
        .flat_map(|a| [&mut a.before, &mut a.after]);
    let outputs = summary
        .outputs
        .iter_mut()
        .flat_map(|o| [&mut o.before, &mut o.after]);
    attributes
        .chain(drift)
        .chain(outputs)
        .flatten()
        .for_each(|text| secrets.redact_in_place(text));
    summary
}

/// Returns the summary with marked values masked, but without further redaction.
pub fn summary(stage: &Stage) -> StageSummary {
    let needs = select::changed_needs(&select::references(stage));
    let mut counts = Counts::default();
    for change in &stage.changes {
        counts.add(change.action());
        counts.import += u32::from(change.importing().is_some());
    }
    let mut outputs: Vec<OutputView> = stage.outputs.iter().map(output).collect();
    outputs.sort_by(|a, b| natural_cmp(&a.name, &b.name));
    let mut drift: Vec<DriftView> = stage.drift.iter().map(self::drift).collect();
    drift.sort_by(|a, b| natural_cmp(&a.address, &b.address));
    StageSummary {
        stage: stage.id,
        mode: stage.request.mode,
        configuration_of: stage.request.configuration_of,
        at: stage.at,
        took_ms: stage.took_ms,
        counts,
        // Large stages render for long; changes are independent, so all cores share the work.
        changes: cores::each(stage.changes.iter().zip(needs).collect(), |(c, needs)| {
            let mut view = change_view(c, stage.request.mode, needs);
            if let Some(sealer) = &stage.secrets.sealer {
                name_secrets(&mut view.attributes, &c.after.value, sealer);
            }
            view
        }),
        left: stage.deselected.clone(),
        outputs,
        drift,
        groups: stage.groups.clone(),
        secrets: stage.secrets.recorded.origins(),
        state_edits: state_edits::of(stage),
    }
}

fn change_view(change: &Change, mode: StageMode, needs: Vec<String>) -> ChangeView {
    let (before, after) = (
        with_input_marks(change, &change.before.value),
        with_input_marks(change, &change.after.value),
    );
    let attributes = diff::attributes(&before, &after, change.replace_paths());
    ChangeView {
        address: change.id(),
        previous_address: change.previous.as_ref().map(ToString::to_string),
        import: change.importing().map(import_key),
        resource_type: change.address.resource.kind.to_string(),
        provider: short_provider(&change.provider.address).to_owned(),
        action: change.action(),
        action_reason: change.reason.map(|r| r.plan_name().to_owned()),
        why: describe_reason(change, mode, &attributes),
        needs,
        attributes,
        drifted: change.drifted,
        commands: change.commands().to_vec(),
    }
}

/// Names the secret in the place of a hidden value that is exactly its text.
fn name_secrets(attributes: &mut [AttributeChange], after: &Value, sealer: &Sealer) {
    let mut named = BTreeMap::new();
    after.walk(&mut |path, part| {
        if let Some(origin) = part.as_str().and_then(|text| sealer.origin_of(text)) {
            named.insert(diff::path_text(path), origin);
        }
        true
    });
    let hidden = |a: &&mut AttributeChange| a.sensitive && !a.unknown && a.after.is_some();
    for attribute in attributes.iter_mut().filter(hidden) {
        if let Some(origin) = named.get(&attribute.path) {
            attribute.after = Some(format!("({origin})"));
        }
    }
}

/// Returns an attribute of a change with its sensitive values, by its index in the summary. `None`
/// if another attribute is there, or none.
pub fn revealed_attribute(change: &Change, index: usize, path: &str) -> Option<AttributeChange> {
    let (before, after) = (
        with_input_marks(change, &change.before.value),
        with_input_marks(change, &change.after.value),
    );
    let row = diff::revealed_attributes(&before, &after, change.replace_paths())
        .into_iter()
        .nth(index)?;
    (row.path == path).then_some(row)
}

/// Returns both sides of an output with its sensitive values.
pub fn revealed_output(change: &OutputChange) -> (Option<String>, Option<String>) {
    let text = |v: &Value| diff::render(&v.clone().unmark_deep().0);
    (
        change.before.as_ref().map(text),
        change.after.as_ref().map(text),
    )
}

/// Returns a side of a change with further marks: `terraform_data` returns its input as output, so
/// the output is as sensitive as the input. For display only; expressions that read it see no
/// marks.
fn with_input_marks(change: &Change, side: &Value) -> Value {
    let resource = &change.address.resource;
    if resource.mode != Mode::Managed
        || &*resource.kind != "terraform_data"
        || !diff::has_hidden_part(side)
    {
        return side.clone();
    }
    let (_, marks) = side.clone().unmark_deep_with_paths();
    let back = marks.into_iter().filter_map(|(path, marks)| {
        let (first, rest) = path.steps().split_first()?;
        (*first == PathStep::Attr("input".into())).then(|| {
            (
                Path::root().attr("output").join(&Path::new(rest.to_vec())),
                marks,
            )
        })
    });
    side.clone().mark_with_paths(&back.collect::<Vec<_>>())
}

fn drift(drift: &Drift) -> DriftView {
    let address = drift.address.to_string();
    DriftView {
        address: drift.deposed.as_ref().map_or_else(
            || address.clone(),
            |key| format!("{address} (deposed {key})"),
        ),
        previous_address: drift.previous.as_ref().map(ToString::to_string),
        resource_type: drift.address.resource.kind.to_string(),
        provider: short_provider(&drift.provider.address).to_owned(),
        what: match drift.action {
            Action::Destroy => DriftKind::Gone,
            Action::NoOp => DriftKind::Moved,
            _ => DriftKind::Changed,
        },
        attributes: diff::attributes(&drift.before, &drift.after, &[]),
        aspects: drift.aspects.clone(),
    }
}

fn output(change: &OutputChange) -> OutputView {
    // One hidden part hides the whole output, because it has a single row.
    let sensitive = change.sensitive
        || change
            .before
            .iter()
            .chain(&change.after)
            .any(diff::has_hidden_part);
    let text = |v: &Value| match (v.is_known(), sensitive) {
        (false, _) => diff::UNKNOWN.to_owned(),
        (true, true) => diff::SENSITIVE.to_owned(),
        (true, false) => diff::render(v),
    };
    OutputView {
        name: change.name.to_string(),
        action: change.action,
        before: change.before.as_ref().map(text),
        after: change.after.as_ref().map(text),
        sensitive,
        needs: change.needs.iter().cloned().collect(),
    }
}

fn import_key(by: &Importing) -> String {
    match by {
        Importing::Id(id) => format!("id {}", lang::addr::quote(id)),
        Importing::Identity { identity } => format!("identity {identity}"),
    }
}

/// Describes the reason of a change, without values.
fn describe_reason(change: &Change, mode: StageMode, attributes: &[AttributeChange]) -> String {
    let mut parts = Vec::new();
    if let Some(by) = change.importing() {
        parts.push(format!("imported with the {}", import_key(by)));
    }
    if let Some(from) = &change.previous {
        parts.push(format!("moved from {from}"));
    }
    if change.drifted {
        parts.push("changed outside of deploys".to_owned());
    }
    match change.action() {
        Action::NoOp if parts.is_empty() => parts.push("as configured".to_owned()),
        Action::NoOp => {}
        Action::Create if change.drifted => {
            parts.push("it no longer exists and is created again".to_owned())
        }
        Action::Create => parts.push("new".to_owned()),
        Action::Read => parts.push(format!("read during the deploy: {}", reason(change))),
        Action::Update => parts.push(match names(attributes, |a| a.changed) {
            // Only the marks or the private data change.
            names if names.is_empty() => {
                "the plugin plans an update without a visible change".to_owned()
            }
            names => format!(
                "{names} {}",
                if names.contains(", ") {
                    "change"
                } else {
                    "changes"
                }
            ),
        }),
        Action::Replace | Action::ReplaceCreateFirst => {
            let forcing = names(attributes, |a| a.forces_replacement);
            parts.push(match change.reason {
                // The attributes are the reason only if no other one is recorded.
                Some(Reason::ReplaceBecauseCannotUpdate) | None if !forcing.is_empty() => {
                    format!("{forcing} cannot be changed in place")
                }
                _ => reason(change),
            });
            if change.forgets() {
                parts.push("the old object stays and is only removed from the state".to_owned());
            }
        }
        Action::Destroy if change.deposed.is_some() => {
            parts.push("left over from a replacement".to_owned())
        }
        Action::Destroy | Action::Forget
            if change.reason.is_none() && mode == StageMode::Destroy =>
        {
            parts.push(DESTROY_MODE.to_owned());
        }
        Action::Destroy => parts.push(reason(change)),
        Action::Forget => parts.push(format!(
            "{}; the object stays and is only removed from the state",
            reason(change)
        )),
    }
    parts.join("; ")
}

fn reason(change: &Change) -> String {
    change.reason.map_or_else(
        || change.action().label().to_owned(),
        |r| r.text().to_owned(),
    )
}

/// Returns the affected attributes by their outermost name, known values first.
fn names(attributes: &[AttributeChange], pick: impl Fn(&AttributeChange) -> bool) -> String {
    let of = |unknown: bool| attributes.iter().filter(move |a| a.unknown == unknown);
    let mut seen = BTreeSet::new();
    let mut names: Vec<&str> = Vec::new();
    for unknown in [false, true] {
        // Values known after apply usually follow from the others, so they are named only if there
        // are no others.
        if unknown && !names.is_empty() {
            break;
        }
        for a in of(unknown).filter(|a| pick(a)) {
            let name = a.path.split(['.', '[']).next().unwrap_or(&a.path);
            if seen.insert(name) {
                names.push(name);
            }
        }
    }
    let more = names.len().saturating_sub(MAX_LISTED);
    let mut text = names[..names.len() - more].join(", ");
    if more > 0 {
        text.push_str(&format!(", and {more} more"));
    }
    text
}

mod state_edits;
#[cfg(test)]
mod tests;
