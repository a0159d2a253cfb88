//! Existence, readiness and drift of an object from its newest read: the cells of its row, and the
//! facts with their history in its detail.

use super::{Doc, Line, Role, line, push_heading, span};
use crate::app::format::since;
use crate::app::state::State;
use model::{DriftAspect, Observation, ObservationChange, Readiness, StateRow, UnixMs};

/// Number of changes that are loaded for the time axis.
pub const HISTORY: u32 = 64;

/// Number of changes that the detail lists.
const LISTED: usize = 8;

/// Cells of the time axis.
const AXIS_CELLS: usize = 40;

/// Returns the cell of the column EXISTS.
pub fn exists_cell(o: Option<&Observation>) -> Line {
    o.map_or_else(Line::new, |o| match o.exists {
        true => line(Role::Dim, "yes"),
        false => line(Role::Bad, "✗ no"),
    })
}

/// Cell of the readiness.
pub fn ready_cell(o: Option<&Observation>) -> Line {
    let readiness = o.and_then(|o| o.readiness);
    readiness.map_or_else(Line::new, |readiness| {
        let (sign, role) = readiness_sign(readiness);
        line(role, format!("{sign} {}", readiness.label()))
    })
}

/// Cell of the drift: the aspect that needs most attention, and the number of the others.
pub fn drift_cell(o: Option<&Observation>) -> Line {
    let aspects = o.map_or(&[][..], |o| &o.drift);
    let Some(worst) = aspects.last() else {
        return Line::new();
    };
    let mut l = line(aspect_role(*worst), worst.label());
    if aspects.len() > 1 {
        l.push(span(Role::Dim, format!(" +{}", aspects.len() - 1)));
    }
    l
}

fn readiness_sign(readiness: Readiness) -> (&'static str, Role) {
    match readiness {
        Readiness::Available => ("●", Role::Ok),
        Readiness::Creating | Readiness::Deleting => ("◐", Role::Busy),
        Readiness::Unavailable => ("✗", Role::Bad),
        Readiness::Unknown => ("?", Role::Warn),
    }
}

fn aspect_role(aspect: DriftAspect) -> Role {
    match aspect {
        DriftAspect::UpdateNeeded => Role::Warn,
        _ => Role::Dim,
    }
}

/// Returns the time of the newest read of the object that was read least recently, and the number
/// of objects that were never read.
pub fn oldest_read(rows: &[StateRow]) -> (Option<UnixMs>, usize) {
    let managed = || rows.iter().filter(|r| !r.data);
    let reads = managed().filter_map(|r| r.observation.as_ref());
    let unread = managed().filter(|r| r.observation.is_none()).count();
    (reads.map(|o| o.at).min(), unread)
}

/// Appends the facts about an object with their ages.
pub fn push_facts(state: &State, r: &StateRow, doc: &mut Doc) {
    let Some(o) = &r.observation else { return };
    let ago = |at| ago(state, at);
    push_heading(doc, "facts");
    if let Some(l) = doc.last_mut() {
        l.push(span(Role::Dim, format!("  read {}", ago(o.at))));
    }
    let mut fact = |name: &str, value: Line, note: String| {
        let name = span(Role::Dim, format!("  {name:<10} "));
        let note = span(Role::Dim, note);
        doc.push([vec![name], value, vec![note]].concat());
    };
    fact("exists", exists_cell(Some(o)), String::new());
    if o.readiness.is_some() {
        let status = o.status.as_ref().map(|s| format!("  status {s}"));
        let note = format!("  since {}{}", ago(o.since), status.unwrap_or_default());
        fact("ready", ready_cell(Some(o)), note);
    }
    if o.exists {
        let drift = match o.drift.last() {
            Some(worst) => line(aspect_role(*worst), aspects_text(&o.drift)),
            None => line(Role::Dim, "none"),
        };
        fact("drift", drift, String::new());
    }
}

/// Appends the facts about an object on a time axis, and their changes, newest first.
pub fn push_history(state: &State, r: &StateRow, doc: &mut Doc) {
    let changes = state.observation_history(r);
    if changes.is_empty() {
        return;
    }
    push_heading(doc, "history of existence, readiness and drift");
    push_axis(state, &changes, doc);
    for (n, change) in changes.iter().enumerate().take(LISTED) {
        let before = changes.get(n + 1).map(|c| &c.observation);
        let text = change_text(&change.observation, before);
        doc.push(vec![
            span(
                Role::Dim,
                format!("  {:>9}  ", ago(state, change.observation.at)),
            ),
            span(Role::Plain, text),
            span(Role::Dim, format!("  {}", change.cause)),
        ]);
    }
}

/// Appends a line for each fact that changed, from the oldest change until now.
fn push_axis(state: &State, changes: &[&ObservationChange], doc: &mut Doc) {
    let Some(oldest) = changes.last().map(|c| c.observation.at) else {
        return;
    };
    let facts: Vec<&Observation> = changes.iter().map(|c| &c.observation).collect();
    let lanes: Vec<(&str, Vec<Mark>)> = LANES
        .iter()
        .map(|(name, mark)| (*name, lane(&facts, state.now, *mark)))
        .filter(|(_, cells)| cells.iter().any(|cell| *cell != cells[0]))
        .collect();
    if lanes.is_empty() {
        return;
    }
    for (name, cells) in lanes {
        let mut l = line(Role::Dim, format!("  {name:<7} "));
        for same in cells.chunk_by(|a, b| a == b) {
            let (_, role, sign) = same[0];
            l.push(span(role, sign.repeat(same.len())));
        }
        doc.push(l);
    }
    let began = ago(state, oldest);
    let end = format!("{:>1$}", "now", AXIS_CELLS.saturating_sub(began.len()));
    doc.push(line(Role::Dim, format!("{:10}{began}{end}", "")));
}

/// Cell of the time axis: its need for attention, its colour and its sign, which also tells the
/// fact without colours.
type Mark = (u8, Role, &'static str);

/// Facts of the time axis, each with its cell for one observation.
const LANES: [(&str, fn(&Observation) -> Mark); 3] = [
    ("exists", |o| match o.exists {
        true => (0, Role::Dim, "━"),
        false => (1, Role::Bad, "×"),
    }),
    ("ready", |o| match o.readiness {
        None => (0, Role::Dim, " "),
        Some(Readiness::Available) => (1, Role::Ok, "━"),
        Some(Readiness::Creating | Readiness::Deleting) => (2, Role::Busy, "╍"),
        Some(Readiness::Unknown) => (3, Role::Warn, "?"),
        Some(Readiness::Unavailable) => (4, Role::Bad, "×"),
    }),
    ("drift", |o| match o.drift.last() {
        None => (0, Role::Dim, "·"),
        Some(DriftAspect::UpdateNeeded) => (2, Role::Warn, "━"),
        Some(_) => (1, Role::Plain, "╍"),
    }),
];

/// Cells of one fact. A cell shows the mark that needs most attention in its time, so that a short
/// problem in a long history stays visible. `facts` begins with the newest and is not empty.
fn lane(facts: &[&Observation], now: UnixMs, mark: fn(&Observation) -> Mark) -> Vec<Mark> {
    let begin = facts.last().map_or(now, |o| o.at);
    let whole = (now - begin).max(1);
    let edge = |cell: usize| begin + whole * cell as i64 / AXIS_CELLS as i64;
    let cell = |n: usize| {
        let (from, to) = (edge(n), edge(n + 1).max(edge(n) + 1));
        let ends = std::iter::once(UnixMs::MAX).chain(facts.iter().map(|o| o.at));
        let held = facts.iter().zip(ends);
        let held = held.filter(|(o, end)| o.at < to && *end > from);
        let marks = held.map(|(o, _)| mark(o));
        marks.max_by_key(|m| m.0).unwrap_or((0, Role::Dim, " "))
    };
    (0..AXIS_CELLS).map(cell).collect()
}

fn ago(state: &State, at: UnixMs) -> String {
    match since(state.now - at).as_str() {
        "now" => "now".to_owned(),
        age => format!("{age} ago"),
    }
}

fn aspects_text(aspects: &[DriftAspect]) -> String {
    let labels: Vec<&str> = aspects.iter().rev().map(|a| a.label()).collect();
    labels.join(", ")
}

/// Describes the facts that differ from those before; all of them for the first ones.
fn change_text(now: &Observation, before: Option<&Observation>) -> String {
    let mut parts = Vec::new();
    if before.is_none_or(|before| before.exists != now.exists) {
        parts.push(match now.exists {
            true => "exists".to_owned(),
            false => "does not exist".to_owned(),
        });
    }
    let readiness = before.and_then(|before| before.readiness);
    if let Some(now) = now.readiness.filter(|now| Some(*now) != readiness) {
        parts.push(now.label().to_owned());
    }
    let drift = before.map_or(&[][..], |before| &before.drift);
    match (now.drift.is_empty(), drift == now.drift) {
        (_, true) => {}
        (true, false) if now.exists => parts.push("no drift".to_owned()),
        (true, false) => {}
        (false, false) => parts.push(format!("drift: {}", aspects_text(&now.drift))),
    }
    if let Some(status) = now.status.as_ref().filter(|_| parts.is_empty()) {
        parts.push(format!("status {status}"));
    }
    match parts.is_empty() {
        true => "readiness not evaluated".to_owned(),
        false => parts.join(" · "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DriftAspect::{MetadataChanged, StatusChanged, UpdateNeeded};

    fn facts(exists: bool, readiness: Option<Readiness>, drift: &[DriftAspect]) -> Observation {
        Observation {
            address: "a.b".into(),
            deposed: None,
            resource_type: "a".into(),
            at: 1,
            exists,
            readiness,
            status: readiness.map(|r| r.label().to_owned()),
            since: 1,
            drift: drift.to_vec(),
        }
    }

    #[test]
    fn s1_11_change_of_each_fact_is_named_apart() {
        let plain = facts(true, None, &[]);
        let ready = facts(true, Some(Readiness::Available), &[]);
        let drifted = facts(
            true,
            Some(Readiness::Available),
            &[StatusChanged, UpdateNeeded],
        );
        for (before, now, text) in [
            (None, &plain, "exists"),
            (
                None,
                &drifted,
                "exists · available · drift: update needed, status changed",
            ),
            (Some(&plain), &ready, "available"),
            (
                Some(&ready),
                &drifted,
                "drift: update needed, status changed",
            ),
            (Some(&drifted), &ready, "no drift"),
            (Some(&drifted), &facts(false, None, &[]), "does not exist"),
            (Some(&facts(false, None, &[])), &plain, "exists"),
            (
                Some(&ready),
                &Observation {
                    status: Some("x".into()),
                    ..ready.clone()
                },
                "status x",
            ),
            (Some(&ready), &plain, "readiness not evaluated"),
        ] {
            assert_eq!(change_text(now, before), text, "{before:?} {now:?}");
        }
    }

    #[test]
    fn cell_of_the_time_axis_has_the_fact_that_needs_most_attention() {
        let at = |at, exists, readiness| Observation {
            at,
            ..facts(exists, readiness, &[])
        };
        let (new, ready) = (Some(Readiness::Creating), Some(Readiness::Available));
        let text = |facts: &[&Observation], now, (_, mark): (&str, fn(&Observation) -> Mark)| {
            let cells = lane(facts, now, mark);
            cells.iter().map(|(_, _, sign)| *sign).collect::<String>()
        };
        let all = [
            &at(39_000, true, ready),
            &at(38_999, false, None),
            &at(20_000, true, ready),
            &at(0, true, new),
        ];
        assert_eq!(
            text(&all, 40_000, LANES[0]),
            format!("{}×━", "━".repeat(38)),
            "a short absence keeps its cell"
        );
        let expected = format!("{}{}", "╍".repeat(20), "━".repeat(20));
        assert_eq!(text(&all, 40_000, LANES[1]), expected);
        // All changes in one moment, and a clock that was set back.
        let last = [all[0], all[1]];
        assert_eq!(text(&last, 38_999, LANES[0]), "×".repeat(AXIS_CELLS));
        assert_eq!(text(&last, 0, LANES[0]).chars().count(), AXIS_CELLS);
    }

    #[test]
    fn cell_of_the_drift_has_the_aspect_that_needs_most_attention() {
        let text = |aspects: &[DriftAspect]| {
            let cell = drift_cell(Some(&facts(true, None, aspects)));
            cell.iter().map(|s| s.text.as_str()).collect::<String>()
        };
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[MetadataChanged]), "metadata changed");
        assert_eq!(text(&[StatusChanged, UpdateNeeded]), "update needed +1");
    }
}
