//! Confirmation of a deploy: counts, all destroys and replacements by address, deselected changes.

use super::select::on_screen;
use crate::app::doc;
use crate::app::doc::{Doc, Line, Role, change_sign, line, span};
use crate::app::entry::Entry;
use crate::app::format::count;
use crate::app::msg::Effect;
use crate::app::popups::UnknownOutcomes;
use crate::app::state::*;
use crate::app::unsettled::{Target, is_of, unsettled};
use engine::stage::commands::summarize;
use model::{
    Action, ChangeView, Counts, DeployRequest, DriftKind, PluginId, StageMode, StageSummary,
};
use std::collections::BTreeSet;

/// Maximum number of names in a line; the Stage screen has all of them.
const MAX_NAMED: usize = 8;

/// Lists the edits of the state that run whatever is selected, by address.
fn add_state_edits(body: &mut Doc, s: &StageSummary) {
    let moved = s.moves().map(|c| {
        let from = c.previous_address.as_deref().unwrap_or_default();
        format!("{from} → {}", c.address)
    });
    let moved: Vec<String> = moved.collect();
    if !moved.is_empty() {
        let text = format!(
            "{} to another address in the state:",
            count(moved.len(), "object")
        );
        body.push(pair("moved", span(Role::Plain, text)));
        add_addresses(body, &moved);
    }
    for edit in &s.state_edits {
        body.push(pair("state", span(Role::Plain, edit.text() + ":")));
        add_addresses(body, &edit.addresses);
    }
}

fn add_addresses(body: &mut Doc, all: &[String]) {
    let named = all.iter().take(MAX_NAMED);
    body.extend(named.map(|address| line(Role::Plain, format!("  {address}"))));
    if all.len() > MAX_NAMED {
        let more = format!("  and {} more", all.len() - MAX_NAMED);
        body.push(line(Role::Dim, more));
    }
}

/// Lists the drift that a refresh-only deploy accepts, by address.
fn drift_to_accept(s: &StageSummary) -> Doc {
    let mut body = vec![line(
        Role::Warn,
        "The state is updated to match the real objects; no object is changed.",
    )];
    for what in [DriftKind::Gone, DriftKind::Changed, DriftKind::Moved] {
        let found: Vec<_> = s.drift.iter().filter(|d| d.what == what).collect();
        if !found.is_empty() {
            body.push(Line::new());
            let role = doc::drift_role(what);
            body.push(line(
                role,
                format!(
                    "{} {}, {}:",
                    count(found.len(), "object"),
                    what.label(),
                    what.refresh_effect()
                ),
            ));
            body.extend(
                found
                    .iter()
                    .map(|d| line(Role::Plain, format!("  {}", d.address))),
            );
        }
    }
    body
}

fn add_named(body: &mut Doc, word: &str, role: Role, changes: &[&ChangeView]) {
    if changes.is_empty() {
        return;
    }
    body.push(Line::new());
    body.push(line(
        role,
        format!("{} {word}:", count(changes.len(), "object")),
    ));
    for c in changes {
        let mut l = vec![span(Role::Plain, "  ")];
        l.extend(change_sign(c));
        l.push(span(Role::Plain, format!(" {}", c.address)));
        // The key decides which object is imported.
        l.extend(
            c.import
                .iter()
                .map(|by| span(Role::Dim, format!(" by {by}"))),
        );
        body.push(l);
    }
}

/// Describes the deploy, with repaired drift by address, except for destroys and replacements.
fn describe(state: &State, s: &StageSummary, taken: &[&ChangeView]) -> Doc {
    let mut body = vec![pair("workspace", span(Role::Strong, workspace(state)))];
    if let Some(deploy) = s.configuration_of {
        let text = format!("of deploy #{deploy}, not the files on disk");
        body.push(pair("configuration", span(Role::Warn, text)));
    }
    match s.mode {
        // Such a stage has drift to accept and no changes to count.
        StageMode::RefreshOnly => body.extend(drift_to_accept(s)),
        StageMode::Normal => body.push(count_actions(taken)),
        StageMode::Destroy => {
            let mode = span(Role::Warn, doc::mode(s.mode));
            body.extend([pair("stage mode", mode), count_actions(taken)]);
        }
    }
    add_other_counts(&mut body, state, s, taken);
    add_state_edits(&mut body, s);
    let names: Vec<&str> = s
        .changed_outputs(&state.view.left)
        .map(|o| o.name.as_str())
        .collect();
    if !names.is_empty() {
        let text = format!("{}: {}", names.len(), names.join(", "));
        body.push(pair("outputs", span(Role::Plain, text)));
    }
    body.extend(groups(s));
    for u in unsettled(state) {
        let (name, text) = match u.target {
            Target::Diagnostics => (u.word, format!("{} {}", u.sign, u.text)),
            Target::Plugin(id) => {
                let text = unusable(state, &id, (u.sign, u.word), taken);
                body.extend(text.map(|text| pair("plugin", span(Role::Bad, text))));
                continue;
            }
            _ => continue,
        };
        body.push(pair(name, span(u.role, text)));
    }
    let drifted: BTreeSet<&str> = s.drift.iter().map(|d| d.address.as_str()).collect();
    let is_repaired = |c: &&ChangeView| {
        matches!(c.action, Action::Create | Action::Update) && drifted.contains(c.address.as_str())
    };
    let repaired: Vec<&ChangeView> = taken.iter().copied().filter(is_repaired).collect();
    let word = "with drift, brought back to the configuration";
    add_named(&mut body, word, Role::Update, &repaired);
    if let Some((count, lines)) = summarize(taken.iter().copied()) {
        body.push(Line::new());
        body.push(line(Role::Warn, format!("{count}:")));
        body.extend(
            lines
                .into_iter()
                .map(|l| line(Role::Plain, format!("  {l}"))),
        );
    }
    body
}

/// Plans of the groups. They are of all changes, so a narrower selection has none.
fn groups(s: &StageSummary) -> impl Iterator<Item = Line> {
    s.groups.iter().map(|group| {
        let plan = match s.left.is_empty() {
            true => group.plan.as_str(),
            false => "the selected instances change in batches",
        };
        let text = format!("{}: {plan}", group.group);
        pair("group", span(Role::Plain, text))
    })
}

/// Says how many of the selected changes need a plugin that cannot be used; `None` if none does.
fn unusable(
    state: &State,
    id: &PluginId,
    (sign, word): (&str, &str),
    taken: &[&ChangeView],
) -> Option<String> {
    let head = format!("{sign} {id} {word}: ");
    let plugin = state.view.plugins.get(id);
    let address = plugin.and_then(|p| p.found.as_ref()).map(|f| &f.address);
    // A change without a known provider may be of any.
    let is_known = taken.iter().all(|c| !c.provider.is_empty());
    let Some(address) = address.filter(|a| !a.is_empty() && is_known) else {
        return Some(head + "its resources cannot be staged or applied");
    };
    let of = taken.iter().filter(|c| is_of(&c.provider, address)).count();
    let need = if taken.len() == 1 { "needs" } else { "need" };
    let all = count(taken.len(), "selected change");
    (of > 0).then(|| format!("{head}{of} of {all} {need} it"))
}

fn pair(name: &str, value: doc::Span) -> Line {
    vec![span(Role::Dim, format!("{name:<12} ")), value]
}

/// Name of the directory, and of a workspace other than the default one.
fn workspace(state: &State) -> String {
    let place = &state.place;
    match place.workspace.as_str() {
        model::DEFAULT_WORKSPACE => place.directory_name.clone(),
        other => format!("{} · {other}", place.directory_name),
    }
}

/// Counts the selected changes by action. Destroys and replacements are counted if there are none,
/// too.
fn count_actions(taken: &[&ChangeView]) -> Line {
    let mut n = Counts::default();
    taken.iter().for_each(|c| n.add_change(c));
    let mut l = pair("changes", span(Role::Plain, ""));
    let separator = |l: &Line| if l.len() > 2 { " · " } else { "" };
    for (n, sign, role, word) in [
        (n.import, "←", Role::Read, "import"),
        (n.create, "+", Role::Create, "create"),
        (n.update, "~", Role::Update, "update"),
        (n.replace, "-/+", Role::Destroy, "replace"),
        (n.destroy, "-", Role::Destroy, "destroy"),
        (n.read, "<=", Role::Read, "read"),
        (n.forget, "×", Role::Forget, "forget"),
    ] {
        if n > 0 {
            l.push(span(Role::Dim, separator(&l)));
            l.push(span(role, format!("{sign}{n} to {word}")));
        }
    }
    let none: Vec<&str> = [(n.replace, "0 to replace"), (n.destroy, "0 to destroy")]
        .into_iter()
        .filter_map(|(n, text)| (n == 0).then_some(text))
        .collect();
    if !none.is_empty() {
        l.push(span(Role::Dim, separator(&l)));
        l.push(span(Role::Dim, none.join(", ")));
    }
    l
}

/// Adds the numbers of deselected changes and of selected ones hidden by the filter.
fn add_other_counts(body: &mut Doc, state: &State, s: &StageSummary, taken: &[&ChangeView]) {
    let is_left = |c: &&ChangeView| c.is_selectable() && state.view.left.contains(&c.address);
    let left = s.changes.iter().filter(is_left).count();
    if left > 0 {
        let text = format!("{}, not applied", count(left, "change"));
        body.push(pair("deselected", span(Role::Warn, text)));
    }
    let shown = on_screen(state);
    let hidden = taken
        .iter()
        .filter(|t| !shown.iter().any(|c| c.address == t.address))
        .count();
    if hidden > 0 {
        let text = format!("{} hidden by the filter", count(hidden, "selected change"));
        body.push(pair("hidden", span(Role::Warn, text)));
    }
}

/// Adds the changes that need attention by name. Returns the number of destroyed objects.
fn name_changes(body: &mut Doc, taken: &[&ChangeView]) -> usize {
    let of = |is: fn(&ChangeView) -> bool| -> Vec<&ChangeView> {
        taken.iter().copied().filter(|c| is(c)).collect()
    };
    let destroys = of(|c| c.action == Action::Destroy);
    let replaces = of(|c| matches!(c.action, Action::Replace | Action::ReplaceCreateFirst));
    let imports = of(|c| c.import.is_some());
    let forgets = of(|c| c.action == Action::Forget);
    for (what, role, changes) in [
        ("imported", Role::Read, &imports),
        (
            "removed from the state without destroying",
            Role::Forget,
            &forgets,
        ),
        ("destroyed", Role::Destroy, &destroys),
        (
            "replaced (destroyed and re-created)",
            Role::Destroy,
            &replaces,
        ),
    ] {
        add_named(body, what, role, changes);
    }
    // A replacement destroys an object, too.
    destroys.len() + replaces.len()
}

/// Opens the confirmation of a deploy: counts, destroys and replacements by address, deselected
/// changes.
pub fn ask_apply(state: &mut State, effects: &mut Vec<Effect>) {
    state.end_message();
    let Some(s) = &state.view.stage else { return };
    let twice = state
        .possible_duplicates()
        .next()
        .map(|c| c.address.clone());
    // A create with an unknown outcome may have succeeded: applying it could create a second
    // object.
    if let Some(address) = twice {
        let selected = state
            .view
            .unknown
            .iter()
            .position(|u| u.creation && u.address == address)
            .unwrap_or(0);
        state.open(UnknownOutcomes {
            selected,
            refused: true,
        });
        return;
    }
    let taken: Vec<&ChangeView> = state.selected_changes().collect();
    let mut body = describe(state, s, &taken);
    let lost = name_changes(&mut body, &taken);
    let (stage, parallelism) = (s.stage, state.options.parallelism);
    // Names exactly the confirmed changes, so that a later change of the selection adds none.
    let only =
        (!state.view.left.is_empty()).then(|| taken.iter().map(|c| c.address.clone()).collect());
    let title = format!("Apply stage #{stage}?");
    // If the workspace has changed since staging, the answer replaces the popup below.
    effects.push(Effect::CheckStage(stage));
    state.open(Confirm {
        title,
        body,
        answers: Answers::action("Apply"),
        loses_nothing: lost == 0,
        // A single key is not enough to destroy many objects.
        typed: (lost >= state.options.typed_from)
            .then(|| (format!("destroy {lost}"), Entry::default())),
        effects: vec![Effect::Deploy(DeployRequest {
            stage,
            only,
            parallelism,
            variables: Vec::new(),
        })],
        after: After::Goto(Screen::Deploy),
        stage: Some(stage),
        ..Confirm::default()
    });
}
