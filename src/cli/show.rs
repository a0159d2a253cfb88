//! Text of stages, deploys and their counts.

use super::escape::{safe, safe_lines};
use super::output::{Ink, Output};
use super::progress::ink_of;
use super::time::format_local;
use crate::app::doc::{Grouped, Role, grouped, long_attribute};
use model::{
    Action, AttributeChange, ChangeView, Counts, DeployOutcome, DeploySummary, DriftKind,
    DriftView, OutputView, StageMode, StageSummary, StateChange, StateChangeKind, duration,
    hidden_text,
};
use std::collections::HashSet;

/// Prints a stage: its changes, outputs, drift and counts.
pub(super) fn stage(out: &mut Output, summary: &StageSummary) {
    out.batch(|out| stage_lines(out, summary));
}

/// Shows one change of a stage.
pub(super) fn change(out: &mut Output, change: &ChangeView) {
    print_change(out, change, false);
}

fn stage_lines(out: &mut Output, summary: &StageSummary) {
    summary
        .drift
        .iter()
        .for_each(|found| print_drift(out, found));
    // A set, because a stage may have thousands of changes.
    let left: HashSet<&str> = summary.left.iter().map(String::as_str).collect();
    for change in summary.changes.iter().filter(|c| c.has_effect()) {
        print_change(out, change, left.contains(change.address.as_str()));
    }
    for output in summary.outputs.iter().filter(|o| o.action != Action::NoOp) {
        print_output(out, output, output.is_unchanged_without(&summary.left));
    }
    for edit in &summary.state_edits {
        let all = edit.addresses.join(", ");
        out.line(&format!("  · {}: {}", edit.text(), safe(&all)));
    }
    for secret in &summary.secrets {
        out.line(&safe(&secret.to_string()));
    }
    for planned in &summary.groups {
        out.line(&format!("group {}: {}", safe(&planned.group), planned.plan));
    }
    let outputs = summary
        .outputs
        .iter()
        .filter(|o| o.action != Action::NoOp)
        .count();
    let left = if left.is_empty() {
        String::new()
    } else {
        format!(", of which {} deselected", left.len())
    };
    // A refresh-only stage counts drift instead of changes.
    let said = match (summary.counts.changes() + summary.counts.read, outputs) {
        _ if summary.mode == StageMode::RefreshOnly => refreshed(summary, outputs),
        (_, 0) => counts_text(&summary.counts) + &left,
        (0, n) => format!("no resource changes, {}", outputs_text(n)),
        (_, n) => format!(
            "{}{left}, {}",
            counts_text(&summary.counts),
            outputs_text(n)
        ),
    } + &edits_text(summary);
    let of = summary.configuration_of;
    let of = of.map_or_else(String::new, |of| format!(", configuration of deploy #{of}"));
    let text = format!(
        "Stage #{}{of}: {said} ({})",
        summary.stage,
        duration(summary.took_ms)
    );
    let text = out.paint(Ink::Bold, &text);
    out.line(&text);
}

/// Prints one drifted object. The change that corrects it is listed with the other changes.
fn print_drift(out: &mut Output, found: &DriftView) {
    let mut line = out.paint(Ink::Cyan, &format!("  ! {}", safe(&found.address)));
    if let Some(from) = &found.previous_address {
        line.push_str(&format!(" (was {})", safe(from)));
    }
    let what = match found.what {
        DriftKind::Changed => "changed outside of flightdeck",
        DriftKind::Gone => "deleted outside of flightdeck",
        DriftKind::Moved => "moved",
    };
    line.push_str(&format!("  {what}"));
    out.line(&line);
    // Only a changed object has attributes to compare.
    let changed = found
        .attributes
        .iter()
        .filter(|a| a.changed && found.what == DriftKind::Changed);
    changed.for_each(|a| {
        out.line(&format!(
            "      {}",
            indented(&attribute_line(a, &safe(&a.path), Action::Update))
        ))
    });
}

/// Returns the result of a refresh-only stage and the commands that act on it.
fn refreshed(summary: &StageSummary, outputs: usize) -> String {
    let found = [
        (DriftKind::Changed, "changed outside of flightdeck"),
        (DriftKind::Gone, "deleted outside of flightdeck"),
        (DriftKind::Moved, "moved"),
    ];
    let counted = found.map(|(what, word)| (summary.drifted(what), word));
    let mut said: Vec<String> = counted
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    if said.is_empty() {
        said.push("no drift".to_owned());
    }
    if outputs > 0 {
        said.push(outputs_text(outputs));
    }
    let todo = if summary.drift.is_empty() && outputs == 0 {
        String::new()
    } else {
        format!(
            "; run `flightdeck deploy {}` to accept this in the state, or `flightdeck stage` to plan a correction",
            summary.stage
        )
    };
    said.join(", ") + &todo
}

/// Returns the counts of moves and of further edits of the state.
fn edits_text(summary: &StageSummary) -> String {
    let (moved, edited) = (summary.moves().count(), summary.state_edit_count());
    let mut text = String::new();
    if moved > 0 {
        text += &format!(", {moved} to move");
    }
    match edited {
        0 => {}
        1 => text += ", 1 state edit",
        n => text += &format!(", {n} state edits"),
    }
    text
}

fn outputs_text(n: usize) -> String {
    if n == 1 {
        "1 output to change".to_owned()
    } else {
        format!("{n} outputs to change")
    }
}

fn print_change(out: &mut Output, change: &ChangeView, left: bool) {
    let head = format!("{:>3} {}", change.sign(), safe(&change.address));
    let ink = match change.is_selectable() && change.action == Action::NoOp {
        true => Ink::Cyan,
        false => ink_of(change.action),
    };
    let mut line = out.paint(ink, &head);
    if let Some(from) = &change.previous_address {
        line.push_str(&format!(" (was {})", safe(from)));
    }
    if left {
        line.push_str(&out.paint(Ink::Yellow, "  deselected"));
    }
    if !change.why.is_empty() {
        line.push_str(&out.paint(Ink::Dim, &format!("  {}", safe(&change.why))));
    }
    out.line(&line);
    // An unchanged attribute is shown only if it is a reason for the replacement.
    let shown = change.attributes.iter();
    let shown: Vec<_> = shown
        .filter(|a| a.changed || a.forces_replacement)
        .collect();
    for row in grouped(&shown, false) {
        print_attribute(out, &row, change.action);
    }
    for command in &change.commands {
        let line = format!(
            "      {} {}",
            out.paint(Ink::Yellow, &format!("{}:", command.kind_and_machine())),
            indented(&command.text())
        );
        out.line(&line);
    }
}

/// Prints an attribute, and the lines of a long text below it.
fn print_attribute(out: &mut Output, row: &Grouped, action: Action) {
    let (attribute, path) = (row.attribute, safe(&row.path));
    let long = long_attribute(attribute, action);
    let mut line = match &long {
        Some((summary, _)) => format!("      {path}: {summary}"),
        None => format!(
            "      {}",
            indented(&attribute_line(attribute, &path, action))
        ),
    };
    if row.times > 1 {
        line.push_str(&format!("  ×{}", row.times));
    }
    if attribute.forces_replacement {
        line.push_str(&out.paint(Ink::Magenta, "  forces replacement"));
    }
    out.line(&line);
    for line in long.iter().flat_map(|(_, lines)| lines) {
        let text: String = line
            .iter()
            .map(|s| match s.role {
                Role::Create | Role::Added => out.paint(Ink::Green, &s.text),
                Role::Destroy | Role::Removed => out.paint(Ink::Red, &s.text),
                Role::Update => out.paint(Ink::Yellow, &s.text),
                Role::Dim => out.paint(Ink::Dim, &s.text),
                _ => s.text.clone(),
            })
            .collect();
        out.line(&format!("        {}", text.trim_end()));
    }
}

fn attribute_line(attribute: &AttributeChange, path: &str, action: Action) -> String {
    let value = |side: &Option<String>| match side {
        // Also for null: the absence of a value may be sensitive.
        _ if attribute.sensitive => hidden_text(side.as_deref()).to_owned(),
        Some(text) => text.clone(),
        None => "null".to_owned(),
    };
    let after = if attribute.unknown {
        "(known after apply)".to_owned()
    } else {
        value(&attribute.after)
    };
    match action {
        // There is no earlier value to compare.
        Action::Create | Action::Read => format!("{path} = {after}"),
        Action::Destroy | Action::Forget => {
            format!("{path} = {}", value(&attribute.before))
        }
        _ => format!("{path}: {} → {after}", value(&attribute.before)),
    }
}

fn indented(text: &str) -> String {
    safe_lines(text).replace('\n', "\n      ")
}

fn print_output(out: &mut Output, output: &OutputView, left: bool) {
    let side = |side: &Option<String>| match side {
        _ if output.sensitive => "(sensitive)".to_owned(),
        Some(text) => indented(text),
        None => "null".to_owned(),
    };
    let head = out.paint(
        ink_of(output.action),
        &format!("{:>3} output {}", output.action.sign(), safe(&output.name)),
    );
    let tail = match output.action {
        Action::Create => format!(" = {}", side(&output.after)),
        Action::Destroy => format!(" = {}", side(&output.before)),
        _ => format!(": {} → {}", side(&output.before), side(&output.after)),
    };
    let left = if left {
        out.paint(Ink::Yellow, "  deselected")
    } else {
        String::new()
    };
    out.line(&format!("{head}{left}{tail}"));
}

/// Returns the counts that are not zero as text.
pub(super) fn counts_text(c: &Counts) -> String {
    let named = [
        (c.import, "to import"),
        (c.create, "to create"),
        (c.update, "to update"),
        (c.replace, "to replace"),
        (c.destroy, "to destroy"),
        (c.forget, "to forget"),
        (c.read, "to read"),
    ];
    let said: Vec<String> = named
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    if said.is_empty() {
        "no changes".to_owned()
    } else {
        said.join(", ")
    }
}

/// Prints the outcome of a deploy in one line.
pub(super) fn print_deploy_outcome(out: &mut Output, summary: &DeploySummary) {
    let ink = if summary.outcome == DeployOutcome::Succeeded {
        Ink::Green
    } else {
        Ink::Red
    };
    let line = format!(
        "Deploy #{} {}: {}",
        summary.deploy,
        summary.outcome.label(),
        summary.operations.text()
    );
    let line = out.paint(ink, &line);
    out.line(&line);
}

/// Returns one line about a manual change of the state.
pub(super) fn state_change(c: &StateChange) -> String {
    let id =
        c.id.as_ref()
            .map_or_else(String::new, |id| format!(" (id {})", safe(id)));
    let deposed = c
        .deposed
        .as_ref()
        .map_or_else(String::new, |key| format!(" (deposed {key})"));
    let to = || c.to.clone().unwrap_or_default();
    let what = match c.what {
        StateChangeKind::Imported => format!("imported{id}"),
        StateChangeKind::Forgotten => format!("forgotten; the object itself{id} is unchanged"),
        StateChangeKind::Tainted => "tainted: the next deploy replaces it".to_owned(),
        StateChangeKind::Untainted => "no longer tainted".to_owned(),
        StateChangeKind::Settled => "record discarded; the state had no object".to_owned(),
        StateChangeKind::Renamed => format!("moved to {}", safe(&to())),
        StateChangeKind::Reassigned => format!("provider changed to {}", safe(&to())),
        StateChangeKind::Pushed => format!("pushed: {}", safe(&to())),
    };
    let settled = if c.settled.is_empty() {
        String::new()
    } else {
        format!("; resolved: {}", c.settled.join(", "))
    };
    format!("{}{deposed}: {what}{settled}", safe(&c.address))
}

/// Returns one line about a deploy.
pub(super) fn deploy_line(d: &DeploySummary) -> String {
    let took = d
        .ended
        .and_then(|end| u64::try_from(end - d.began).ok())
        .map_or_else(|| "–".to_owned(), duration);
    format!(
        "#{:<4} {}  {:<11} {:>9}  {:<20} stage #{} by {} on {}",
        d.deploy,
        format_local(d.began),
        d.outcome.label(),
        took,
        d.operations.text(),
        d.stage,
        safe(&d.who),
        safe(&d.host)
    )
}
