//! Tests of existence, readiness, drift and connection details of objects on the State screen.

use super::*;
use crate::app::msg::{Answer, Effect};
use model::{DriftAspect, Observation, ObservationChange, Readiness, SensitivePlace, StateRow};

const ADDRESS: &str = "aws_instance.web";
const MINUTE: i64 = 60_000;

fn observed(c: &Console, address: &str, minutes_ago: i64) -> Observation {
    Observation {
        address: address.into(),
        deposed: None,
        resource_type: "aws_instance".into(),
        at: c.state.now - minutes_ago * MINUTE,
        exists: true,
        readiness: None,
        status: None,
        since: c.state.now - minutes_ago * MINUTE,
        drift: Vec::new(),
    }
}

/// Console on the State screen with these observations, and the cursor on [`ADDRESS`].
fn on_state(width: u16, facts: impl Fn(&Console, &StateRow) -> Option<Observation>) -> Console {
    let mut c = Console::staged(width, 40);
    let mut rows = fixture::state_rows();
    for row in &mut rows {
        row.observation = facts(&c, row);
    }
    c.press("6");
    c.answer(Answer::State(rows));
    c.press("g");
    for _ in 0..9 {
        if c.state.state_row().is_some_and(|r| r.address == ADDRESS) {
            break;
        }
        c.press("j");
    }
    assert_eq!(c.state.state_row().unwrap().address, ADDRESS);
    c
}

#[test]
fn s1_11_existence_and_readiness_are_separate_columns() {
    let mut c = on_state(120, |c, row| {
        let facts = observed(c, &row.address, 3);
        Some(match &*row.address {
            ADDRESS => Observation {
                readiness: Some(Readiness::Creating),
                drift: vec![DriftAspect::StatusChanged, DriftAspect::UpdateNeeded],
                ..facts
            },
            "aws_iam_role.app" => Observation {
                exists: false,
                ..facts
            },
            _ => facts,
        })
    });
    c.shows("EXISTS  READY       DRIFT");
    c.shows("yes     ◐ creating  update needed +1");
    c.shows("✗ no");
    c.shows("oldest read 3m00s ago");
    c.shows("ready      ◐ creating  since 3m00s ago");
    c.shows("drift      update needed, status changed");
}

#[test]
fn column_of_the_readiness_appears_only_with_a_readiness() {
    let mut c = on_state(120, |c, row| Some(observed(c, &row.address, 1)));
    c.shows("EXISTS");
    c.hides("READY");
    c.hides("DRIFT ");
    let mut c = on_state(120, |_, _| None);
    c.hides("EXISTS");
    c.hides("oldest read");
    c.hides("facts");
}

#[test]
fn object_that_a_later_read_did_not_find_is_deleted() {
    let mut c = on_state(80, |c, row| {
        let facts = observed(c, &row.address, 1);
        Some(Observation {
            exists: row.address != ADDRESS,
            ..facts
        })
    });
    c.shows("✗ deleted");
    // Objects that were never read have no age.
    let mut c = on_state(140, |c, row| {
        (row.address == ADDRESS).then(|| observed(c, &row.address, 1))
    });
    c.shows("oldest read 1m00s ago, 2 never read");
}

#[test]
fn title_counts_drift_that_a_look_has_found() {
    let mut c = on_state(140, |c, row| Some(observed(c, &row.address, 1)));
    c.shows("· no drift in stage #");
    c.shows("· oldest read 1m00s ago");
    let mut c = on_state(140, |c, row| {
        let facts = observed(c, &row.address, 1);
        let drift = match row.address == ADDRESS {
            true => vec![DriftAspect::UpdateNeeded],
            false => Vec::new(),
        };
        Some(Observation { drift, ..facts })
    });
    c.shows("· 1 drifted · oldest read");
}

#[test]
fn history_of_the_facts_is_loaded_for_the_object_under_the_cursor() {
    let mut c = on_state(120, |c, row| Some(observed(c, &row.address, 1)));
    let asked = Effect::LoadObservations(ADDRESS.into());
    assert!(c.take_effects().contains(&asked));
    let change = |minutes_ago, exists, cause: &str| ObservationChange {
        observation: Observation {
            exists,
            ..observed(&c, ADDRESS, minutes_ago)
        },
        cause: cause.into(),
    };
    let changes = vec![change(1, true, "deploy #2"), change(9, false, "reconcile")];
    // An answer for another object is not shown.
    c.answer(Answer::Observations("a.b".into(), changes.clone()));
    c.hides("history of existence");
    c.answer(Answer::Observations(ADDRESS.into(), changes));
    c.shows("history of existence, readiness and drift");
    let axis = format!("exists  {}{}", "×".repeat(36), "━".repeat(4));
    c.shows(&axis);
    c.shows("1m00s ago  exists  deploy #2");
    c.shows("9m00s ago  does not exist  reconcile");
    // Loaded again with the state.
    c.take_effects();
    c.answer(Answer::State(fixture::state_rows()));
    assert!(c.take_effects().contains(&asked));
}

#[test]
fn s1_17_connection_details_are_shown_and_the_sensitive_ones_revealed_on_request() {
    let mut c = Console::staged(120, 40);
    let mut rows = fixture::state_rows();
    for row in &mut rows {
        row.attributes = vec![
            ("endpoint".into(), "\"db.example:5432\"".into()),
            ("id".into(), "\"x-1\"".into()),
            ("password".into(), "(sensitive)".into()),
        ]
        .into();
    }
    c.press("6");
    c.answer(Answer::State(rows));
    c.press("g");
    c.shows("connection  x shows a sensitive value");
    c.shows("endpoint  \"db.example:5432\"");
    c.shows("password  (sensitive)");
    c.take_effects();
    c.press("x y");
    let place = SensitivePlace::State {
        id: "aws_iam_role.app".into(),
        path: "password".into(),
    };
    assert_eq!(c.take_effects(), [Effect::Reveal(place)]);
    // Without such attributes the section is missing.
    c.press("esc");
    let mut rows = fixture::state_rows();
    for row in &mut rows {
        row.attributes = vec![("id".into(), "\"x-1\"".into())].into();
    }
    c.answer(Answer::State(rows));
    c.hides("connection  ");
}
