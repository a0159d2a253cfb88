//! Tests of drift: its rows in every stage, accepting and repairing it.

use super::*;
use crate::app::msg::{Answer, Effect};
use model::{DriftKind, DriftView, EventKind, StageMode, StageSummary};

fn found(address: &str, what: DriftKind) -> DriftView {
    let after = (what != DriftKind::Gone).then_some("\"large\"");
    DriftView {
        address: address.into(),
        previous_address: None,
        resource_type: "aws_instance".into(),
        provider: "registry.terraform.io/hashicorp/aws".into(),
        what,
        attributes: vec![
            fixture::attr("size", Some("\"small\""), after),
            fixture::attr("name", Some("\"a\""), after.and(Some("\"a\""))),
        ],
    }
}

fn stage(mode: StageMode, drift: Vec<DriftView>) -> StageSummary {
    StageSummary {
        stage: 13,
        mode,
        changes: vec![],
        counts: Default::default(),
        drift,
        ..fixture::summary()
    }
}

#[test]
fn state_tells_when_the_objects_were_compared_last() {
    let mut c = Console::new(120, 40);
    c.answer(Answer::State(fixture::state_rows()));
    c.press("6");
    c.shows("· drift not checked yet: F checks the selected object");
    c.event(EventKind::Staged(stage(StageMode::Normal, vec![]).into()));
    c.shows("· no drift in stage #13, ");
    let mut rows = fixture::state_rows();
    rows[2].drift = Some(DriftKind::Changed);
    c.answer(Answer::State(rows));
    c.shows("· 1 drifted in stage #13, ");
}

fn drifted() -> Vec<DriftView> {
    vec![
        found("aws_instance.a", DriftKind::Changed),
        found("aws_instance.b", DriftKind::Gone),
    ]
}

#[test]
fn refresh_only_stage_shows_deleted_and_changed_objects() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::Staged(
        stage(StageMode::RefreshOnly, drifted()).into(),
    ));
    c.press("3");
    c.shows("1 deleted, 1 changed");
    assert!(c.line("! aws_instance.a").contains("changed  size"));
    assert!(c.line("! aws_instance.b").contains("no longer exists"));
    c.hides("matches the configuration");
    c.press("g");
    c.shows("It was changed outside of flightdeck.");
    c.shows("state is updated");
    c.shows("A normal stage plans");
    c.shows("~ size \"small\" → \"large\"");
    c.press("G");
    c.shows("removed from the state");
    // Drift is accepted by address.
    c.press("a");
    c.shows("The state is updated to match the real objects");
    c.shows("1 object deleted, it is removed from the state:");
    c.shows("1 object changed, the state is updated:");
    c.press("y");
    assert!(
        c.take_effects()
            .iter()
            .any(|e| matches!(e, Effect::Deploy(r) if r.stage == 13 && r.only.is_none()))
    );
}

#[test]
fn normal_stage_shows_drift_beside_its_changes() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::Staged(
        StageSummary {
            drift: drifted(),
            ..fixture::summary()
        }
        .into(),
    ));
    c.press("3");
    c.shows("drift: 1 deleted, 1 changed");
    c.shows("deleted  no longer exists");
    c.press("G");
    c.shows("Applying this stage repairs the drift");
    c.shows("To accept the");
    // Drift without changes must not be reported as "no changes".
    c.event(EventKind::Staged(
        stage(StageMode::Normal, drifted()).into(),
    ));
    c.frame();
    c.hides("matches the configuration");
    c.event(EventKind::Staged(
        stage(StageMode::RefreshOnly, vec![]).into(),
    ));
    c.frame();
    c.shows("No drift: the real objects match the state.");
    c.hides("matches the configuration");
}

#[test]
fn state_screen_shows_the_drift_of_the_last_stage() {
    let mut c = Console::staged(120, 40);
    let mut rows = fixture::state_rows();
    (rows[0].drift, rows[1].drift) = (Some(DriftKind::Changed), Some(DriftKind::Gone));
    c.press("6");
    c.answer(Answer::State(rows));
    c.shows("~ drift");
    c.shows("✗ deleted");
}
