//! A rollout as a timeline: one bar for each member, and the states of the rollout.

use super::{Doc, Line, Role, beside, cells_of, line, omittable, push_text, span};
use crate::app::format::{clock, duration, elapsed};
use crate::app::groups::Progress;
use crate::app::layout;
use crate::app::screens::push_keys;
use crate::app::state::State;
use crate::app::text::{truncate_end, width};
use model::{RolloutMember, RolloutView, UnixMs};

/// Least and greatest number of cells of a bar.
const CELLS: (usize, usize) = (12, 120);
/// Maximum number of members with a bar.
const MEMBERS: usize = 200;
/// Maximum width of a key.
const KEY: usize = 16;

/// Sign and role of the state of a rollout.
pub fn rollout_role(state: &str) -> (&'static str, Role) {
    match state {
        "planned" => ("·", Role::Dim),
        "running" | "waiting for health" => ("◐", Role::Busy),
        "converged" => ("✓", Role::Ok),
        "aborted" => ("✗", Role::Bad),
        "rolled back" => ("✗", Role::Warn),
        "paused (by operator)" | "paused (interrupted)" => ("■", Role::Warn),
        _ => ("■", Role::Bad),
    }
}

/// Renders a rollout: its reason unless `told` is a part of it, bars of its members, and its states
/// beside other facts.
pub fn rollout(
    state: &State,
    rollout: &RolloutView,
    now: Progress,
    told: Option<&String>,
    facts: Doc,
) -> Doc {
    let mut doc = Doc::new();
    let live = now.rollout.filter(|live| live.deploy == rollout.deploy);
    let reason = live.as_ref().map_or(&rollout.reason, |live| &live.reason);
    let shown = live.as_ref().map_or(&rollout.state, |live| &live.state);
    // The detail of a member begins with its error.
    let is_told = |error: &String| {
        reason
            .as_ref()
            .is_some_and(|reason| reason.ends_with(error))
    };
    if let Some(reason) = reason.as_ref().filter(|_| !told.is_some_and(is_told)) {
        push_text(&mut doc, rollout_role(shown).1, "", reason);
        doc.push(Line::new());
    }
    if push_next(&mut doc, state, rollout, shown) {
        doc.push(Line::new());
    }
    let is_running = matches!(rollout.state.as_str(), "running" | "waiting for health");
    let end = if is_running {
        state.now
    } else {
        rollout.updated
    };
    push_bars(&mut doc, state, rollout, end);
    if rollout.members.len() > MEMBERS {
        let more = format!("+ {} more", rollout.members.len() - MEMBERS);
        doc.push(line(Role::Dim, more));
    }
    doc.push(Line::new());
    let cells = layout::detail_size(state).0;
    doc.extend(beside(states(state, rollout), facts, cells));
    doc
}

/// Appends the bars of the members. They fill the width of the detail.
fn push_bars(doc: &mut Doc, state: &State, rollout: &RolloutView, end: UnixMs) {
    let members: Vec<&RolloutMember> = rollout.members.iter().take(MEMBERS).collect();
    let keys = members.iter().map(|member| width(&member.key));
    let keys = keys.max().unwrap_or_default().min(KEY);
    let parts: Vec<(Line, Line)> = members
        .iter()
        .map(|member| {
            (
                member_head(rollout, member, keys),
                member_tail(rollout, member),
            )
        })
        .collect();
    let around = parts
        .iter()
        .map(|(head, tail)| cells_of(head) + cells_of(tail));
    let room = layout::detail_size(state).0;
    let room = room.saturating_sub(around.max().unwrap_or_default());
    let scale = Scale {
        began: rollout.began,
        end: end.max(rollout.began + 1),
        cells: room.clamp(CELLS.0, CELLS.1),
    };
    for (member, (mut l, tail)) in members.into_iter().zip(parts) {
        let cells = bar(rollout, member, &scale);
        let is_unhealthy = is_unhealthy(rollout, member);
        for part in cells.chunk_by(|a, b| a == b) {
            let (sign, role) = match part[0].drawn() {
                (sign, Role::Busy) if is_unhealthy => (sign, Role::Bad),
                drawn => drawn,
            };
            l.push(omittable(role, sign.to_string().repeat(part.len())));
        }
        l.extend(tail);
        doc.push(l);
    }
}

/// Appends the keys that act on a rollout in a paused state, with their effects. Returns false
/// without any.
fn push_next(doc: &mut Doc, state: &State, rollout: &RolloutView, paused: &str) -> bool {
    // A lock of another process keeps out requests.
    if !paused.starts_with("paused") || state.locked_by().is_some() {
        return false;
    }
    let is_continued = paused == "paused (by operator)";
    let deploy = state.view.deploy.as_ref().filter(|d| d.summary.is_none());
    let is_running = deploy.is_some_and(|d| d.deploy == rollout.deploy);
    let ends = is_running && !is_continued;
    let failed = |member: &&RolloutMember| member.state.ends_with("failed");
    let failed = rollout.members.iter().find(failed);
    let resumed = match (failed, paused) {
        _ if is_running && is_continued => "continues",
        (Some(_), _) => "stages the rest for a review; first retry or skip",
        (None, "paused (unhealthy)") => "stages the rest for a review, and waits for health again",
        _ => "stages the rest for a review",
    };
    let resume_key = state.options.keys.first("group-pause");
    let mut keys = vec![
        ("group-logs", "log of its plugin: read it first".to_owned()),
        ("group-pause", format!("resume: {resumed}")),
    ];
    match failed {
        Some(member) => {
            let key = &member.key;
            let retry = format!("retry: changes member {key} again, then {resume_key}");
            let skip = format!("skip: leaves member {key} as it is, then {resume_key}");
            keys.extend([("group-retry", retry), ("group-skip", skip)]);
        }
        None if paused == "paused (unhealthy)" => {
            let waits = |member: &&RolloutMember| member.state == "changed";
            let waiting = rollout.members.iter().filter(waits);
            // The notes have the failures of the last check.
            if let Some(member) = waiting.min_by_key(|member| member.note.is_none()) {
                let key = &member.key;
                let retry =
                    format!("retry: changes member {key} again, then {resume_key}; may replace it");
                let skip = format!("skip: leaves member {key} unhealthy, then {resume_key}");
                keys.extend([("group-retry", retry), ("group-skip", skip)]);
            }
        }
        None => {}
    }
    let abort = "abort: ends the rollout; the other members stay as they are";
    keys.push(("group-abort", abort.to_owned()));
    let mut heading = line(Role::Heading, "next");
    if ends {
        let text = format!(", once deploy #{} has ended", rollout.deploy);
        heading.push(span(Role::Dim, text));
    }
    doc.push(heading);
    for (command, effect) in &keys {
        push_keys(doc, &[(&state.options.keys.first(command), effect)]);
    }
    let back = format!(
        "  To roll back, set the configuration back, then stage ({}) and apply ({}).",
        state.options.keys.first("stage"),
        state.options.keys.first("apply")
    );
    doc.push(line(Role::Dim, back));
    true
}

/// States of a rollout with their times.
fn states(state: &State, rollout: &RolloutView) -> Doc {
    let mut doc = vec![line(Role::Heading, "states")];
    for (at, transition) in rollout.transitions.iter().enumerate() {
        // Each rollout begins with it, and leaves it at once.
        if transition.state == "planned" && rollout.transitions.len() > 1 {
            continue;
        }
        let next = rollout.transitions.get(at + 1).map(|next| next.at);
        let (sign, role) = rollout_role(&transition.state);
        let mut l = vec![
            span(
                Role::Dim,
                format!("{}  ", clock(transition.at, state.utc_offset)),
            ),
            span(role, format!("{sign} {}", transition.state)),
        ];
        if let Some(next) = next {
            let text = format!("  {}", elapsed(next - transition.at));
            l.push(span(Role::Dim, text));
        }
        doc.push(l);
    }
    doc
}

/// Times at the ends of a bar, and its width.
struct Scale {
    began: UnixMs,
    end: UnixMs,
    cells: usize,
}

impl Scale {
    /// Cell of a time.
    fn cell(&self, at: UnixMs) -> usize {
        let part = usize::try_from(at - self.began).unwrap_or_default();
        let whole = usize::try_from(self.end - self.began).unwrap_or(1);
        (part * self.cells / whole.max(1)).min(self.cells - 1)
    }
}

/// Part of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cell {
    Blank,
    Drain,
    Change,
    Failed,
    /// Wait for health.
    Waits,
}

impl Cell {
    fn drawn(self) -> (char, Role) {
        match self {
            Self::Blank => (' ', Role::Dim),
            Self::Drain => ('░', Role::Warn),
            Self::Change => ('━', Role::Update),
            Self::Failed => ('✗', Role::Bad),
            Self::Waits => ('─', Role::Busy),
        }
    }
}

/// Returns true if the rollout is paused and the last health check of the member failed: its note
/// has the failure.
pub fn is_unhealthy(rollout: &RolloutView, member: &RolloutMember) -> bool {
    let is_checked = member.state == "changed" && rollout.state == "paused (unhealthy)";
    is_checked && member.note.is_some()
}

/// Key and batch of a member.
fn member_head(rollout: &RolloutView, member: &RolloutMember, keys: usize) -> Line {
    let key = truncate_end(&member.key, keys).into_owned();
    let gap = " ".repeat(keys.saturating_sub(width(&key)));
    let batch = rollout.batches.to_string().len();
    vec![
        span(Role::Strong, format!("{key}{gap} ")),
        span(Role::Dim, format!(" batch {:>batch$}  ", member.batch)),
    ]
}

/// State and durations of a member.
fn member_tail(rollout: &RolloutView, member: &RolloutMember) -> Line {
    let word = match is_unhealthy(rollout, member) {
        true => "unhealthy",
        false => member.state.as_str(),
    };
    let role = match word {
        "unhealthy" => Role::Bad,
        "done" => Role::Ok,
        "waiting" | "skipped" => Role::Dim,
        _ if member.is_over || member.state.ends_with("failed") => Role::Bad,
        _ => Role::Busy,
    };
    let mut l = line(role, format!("  {word}"));
    for action in &member.actions {
        if let Some(ended) = action.ended {
            let took = duration(u64::try_from(ended - action.began).unwrap_or_default());
            l.push(span(Role::Dim, format!("  {} {took}", action.action)));
        }
    }
    l
}

/// Cells of a member's bar: its actions, and the wait for health after the last of them.
fn bar(rollout: &RolloutView, member: &RolloutMember, scale: &Scale) -> Vec<Cell> {
    let mut cells = vec![Cell::Blank; scale.cells];
    let mut fill = |from: UnixMs, to: UnixMs, with: Cell| {
        let (from, to) = (scale.cell(from), scale.cell(to));
        cells[from..=to.max(from)].fill(with);
    };
    let changed = member
        .actions
        .iter()
        .filter_map(|action| action.ended)
        .max();
    let states = rollout.transitions.iter().enumerate();
    let waits = states.filter(|(_, t)| t.state == "waiting for health");
    for (at, wait) in waits.filter(|(_, t)| changed.is_some_and(|changed| t.at >= changed)) {
        let next = rollout.transitions.get(at + 1);
        fill(wait.at, next.map_or(scale.end, |t| t.at), Cell::Waits);
        // The states are those of all members. A wait that ends without a pause was the last one of
        // this member.
        if next.is_none_or(|next| !next.state.starts_with("paused")) {
            break;
        }
    }
    for action in &member.actions {
        let end = action.ended.unwrap_or(scale.end);
        let with = match action.action.as_str() {
            "drain" => Cell::Drain,
            _ => Cell::Change,
        };
        fill(action.began, end, with);
        if action.failure.is_some() {
            fill(end, end, Cell::Failed);
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{RolloutAction, RolloutTransition};

    fn transition(at: UnixMs, state: &str) -> RolloutTransition {
        RolloutTransition {
            at,
            state: state.to_owned(),
            reason: None,
        }
    }

    fn action(action: &str, began: UnixMs, ended: Option<UnixMs>) -> RolloutAction {
        RolloutAction {
            action: action.to_owned(),
            began,
            ended,
            failure: None,
        }
    }

    fn member(key: &str, batch: u32, actions: Vec<RolloutAction>) -> RolloutMember {
        RolloutMember {
            key: key.to_owned(),
            phase: "update".into(),
            batch,
            state: "changed".into(),
            is_over: false,
            note: None,
            actions,
            old_hash: None,
            new_hash: None,
        }
    }

    #[test]
    fn bar_shows_drain_change_and_wait_of_a_member_at_their_times() {
        let rollout = RolloutView {
            rollout: 1,
            group: "web".into(),
            deploy: 1,
            state: "waiting for health".into(),
            reason: None,
            began: 0,
            updated: 3_200,
            batch: 2,
            batches: 2,
            transitions: vec![
                transition(0, "planned"),
                transition(0, "running"),
                transition(1_600, "waiting for health"),
                transition(1_700, "paused (by operator)"),
                transition(1_900, "waiting for health"),
                transition(2_000, "running"),
                transition(2_800, "waiting for health"),
            ],
            members: vec![
                member(
                    "a",
                    1,
                    vec![
                        action("drain", 0, Some(700)),
                        action("change", 800, Some(1_500)),
                    ],
                ),
                member("b", 2, vec![action("change", 2_100, Some(2_700))]),
                member("c", 2, vec![action("change", 2_100, None)]),
            ],
        };
        let scale = Scale {
            began: 0,
            end: 3_200,
            cells: 28,
        };
        let text = |at: usize| -> String {
            let cells = bar(&rollout, &rollout.members[at], &scale);
            cells.iter().map(|cell| cell.drawn().0).collect()
        };
        assert_eq!(text(0), "░░░░░░░━━━━━━━─ ──          ");
        assert_eq!(text(1), "                  ━━━━━━────");
        assert_eq!(text(2), "                  ━━━━━━━━━━");
    }
}
