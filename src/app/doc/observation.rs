//! Existence, readiness and drift of an object from its newest read: the cells of its row, and the
//! facts with their history in its detail.

use super::{Doc, Line, Role, line, push_heading, span};
use crate::app::format::since;
use crate::app::state::State;
use model::{DriftAspect, Observation, Readiness, StateRow, UnixMs};

/// Number of changes that the detail lists.
pub const HISTORY: u32 = 8;

/// Cell of the existence.
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

/// Returns the time of the oldest of the newest reads, and the number of objects never read.
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

/// Appends the changes of the facts about an object, newest first.
pub fn push_history(state: &State, r: &StateRow, doc: &mut Doc) {
    let changes = state.observation_history(r);
    if changes.is_empty() {
        return;
    }
    push_heading(doc, "history of existence, readiness and drift");
    for (n, change) in changes.iter().enumerate() {
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
