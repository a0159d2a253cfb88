//! Tests of drift: its rows in every stage, accepting and repairing it.

use super::*;
use crate::app::msg::{Answer, Effect};
use model::{DriftKind, DriftView, EventKind, StageMode, StageRequest, StageSummary};

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
        aspects: Vec::new(),
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
    c.shows("· drift not checked yet: L reads all objects");
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

/// State with three objects, two of which have drifted.
fn state_with_drift(size: (u16, u16)) -> Console {
    let mut c = Console::staged(size.0, size.1);
    let mut rows = fixture::state_rows();
    for row in &mut rows {
        row.drift = (row.name != "app").then_some(DriftKind::Changed);
    }
    c.press("6 g");
    c.answer(Answer::State(rows));
    c.take_effects();
    c
}

fn targets(mode: StageMode, all: &[&str]) -> Effect {
    Effect::Stage(StageRequest {
        mode,
        target: all.iter().map(|a| (*a).to_owned()).collect(),
        ..StageRequest::default()
    })
}

/// Takes the requested stages.
fn stages(c: &mut Console) -> Vec<Effect> {
    let effects = c.take_effects().into_iter();
    effects.filter(|e| matches!(e, Effect::Stage(_))).collect()
}

#[test]
fn drift_of_a_range_is_repaired_or_accepted_in_one_stage() {
    let (app, web, vpc) = (
        "aws_iam_role.app",
        "aws_instance.web",
        "module.network.aws_vpc.main",
    );
    for size in [(120, 40), (80, 24)] {
        let mut c = state_with_drift(size);
        c.press("shift-down shift-down");
        c.shows("range: 3 rows");
        c.press("u");
        // The first object has no drift.
        let repaired = targets(StageMode::Normal, &[web, vpc]);
        assert_eq!(stages(&mut c), [repaired]);
        c.press("6");
        c.hides("range:");

        c.press("g V down F");
        let accepted = targets(StageMode::RefreshOnly, &[app, web]);
        assert_eq!(stages(&mut c), [accepted]);

        c.press("6 g u");
        assert_eq!(stages(&mut c), []);
        c.shows("the last stage found no drift of this object");
    }
}

#[test]
fn drift_below_a_module_is_repaired_in_one_stage_also_in_a_range() {
    let mut c = Console::staged(120, 40);
    let mut rows = fixture::modules::rows();
    let is_in = |row: &model::StateRow, module| row.module.starts_with(module);
    for row in &mut rows {
        row.drift = is_in(row, "module.net").then_some(DriftKind::Changed);
    }
    c.answer(Answer::State(rows));
    let zones = ["a", "b"].map(|z| format!("module.net.module.dns.lab_zone.{z}"));
    let repaired = targets(StageMode::Normal, &[&zones[0], &zones[1]]);
    // The second row is the module.
    for keys in ["6 g down u", "6 g down left V G u", "6 Z g V G u"] {
        c.press(keys);
        assert_eq!(stages(&mut c), std::slice::from_ref(&repaired), "{keys}");
    }
}

#[test]
fn rows_that_a_filter_hides_are_not_in_the_range() {
    let mut c = state_with_drift((120, 40));
    c.press("f");
    c.type_text("state:drift !web");
    c.press("enter g V G u");
    let vpc = "module.network.aws_vpc.main";
    assert_eq!(stages(&mut c), [targets(StageMode::Normal, &[vpc])]);
}

#[test]
fn confirmation_names_the_objects_whose_drift_a_stage_repairs() {
    let mut c = Console::staged(120, 40);
    let drift = vec![
        found("aws_iam_role.app", DriftKind::Changed),
        found("aws_instance.web", DriftKind::Changed),
        found("aws_instance.unplanned", DriftKind::Changed),
    ];
    c.event(EventKind::Staged(
        StageSummary {
            drift,
            ..fixture::summary()
        }
        .into(),
    ));
    c.press("3 a");
    c.shows("1 object with drift, brought back to the configuration:");
    let frame = c.frame();
    let named = |text: &str| frame.matches(text).count();
    assert_eq!(named("  ~ aws_iam_role.app"), 1, "{frame}");
    // A replacement is named as such.
    assert_eq!(named("  -/+ aws_instance.web"), 1, "{frame}");
    c.hides("unplanned ");
}
