//! Tests of how a change is read on the screen: documents, long texts, unchanged parts, outputs.

use super::Console;
use super::fixture::{self, attr};
use crate::app::msg::{Answer, Effect};
use lang::addr::quote;
use model::*;

/// Creates a console whose stage has one change with these attributes.
fn with(attributes: Vec<AttributeChange>, action: Action, size: (u16, u16)) -> Console {
    let mut c = Console::new(size.0, size.1);
    let mut summary = fixture::summary();
    summary.changes.truncate(1);
    (summary.changes[0].attributes, summary.changes[0].action) = (attributes, action);
    c.event(EventKind::Staged(summary.into()));
    c.press("3");
    c
}

fn policy(tag: &str) -> String {
    let statement = |sid: &str| format!(r#"{{"Sid":"{sid}","Tag":"{tag}","Effect":"Allow"}}"#);
    quote(&format!(
        r#"{{"Statement":[{},{}]}}"#,
        statement("A"),
        statement("B")
    ))
}

#[test]
fn json_policy_shows_one_changed_limit_as_one_line_with_its_path() {
    for size in [(200, 50), (80, 24)] {
        let (old, new) = (policy("v1.4.2"), policy("v1.5.0"));
        let attributes = vec![
            attr("policy", Some(&old), Some(&new)),
            attr("name", Some("\"app\""), Some("\"app\"")),
        ];
        let mut c = with(attributes, Action::Update, size);
        c.shows("policy (JSON) 2 changed of 6 values");
        c.shows("~ Statement[*].Tag \"v1.4.2\" → \"v1.5.0\"  ×2");
        c.shows("… 4 unchanged values");
        c.shows("1 attribute unchanged");
        c.hides("Effect");
        c.press("z");
        c.shows("Statement[Sid=A].Effect \"Allow\"");
        c.shows("name   \"app\"");
        c.press("z enter");
        c.shows("changed only (z: all)");
        c.hides("Effect");
        c.press("z");
        c.shows("all (z: changed only)");
        c.shows("Effect");
    }
}

#[test]
fn title_of_the_detail_names_the_shown_part() {
    let (old, new) = (policy("a"), policy("b"));
    let mut c = with(
        vec![attr("policy", Some(&old), Some(&new))],
        Action::Update,
        (80, 24),
    );
    c.line("── changed only (z: all)");
    c.press("z");
    c.line("── all (z: changed only)");
}

#[test]
fn created_text_is_shown_by_line() {
    let script: String = (1..=20).map(|n| format!("echo {n}\n")).collect();
    let mut c = with(
        vec![attr("user_data", None, Some(&quote(&script)))],
        Action::Create,
        (120, 40),
    );
    c.shows("+ user_data (20 lines)");
    c.shows("echo 8");
    c.hides("echo 9");
    c.shows("… 12 more lines (enter)");
    c.press("enter");
    c.shows("echo 20");
    c.hides("\\n");
}

#[test]
fn deploy_of_a_destroyed_workspace_says_so_once_in_the_title() {
    let mut c = Console::new(120, 40);
    let mut rows = fixture::state_rows();
    rows.truncate(2);
    c.answer(Answer::State(rows));
    let mut summary = fixture::summary();
    summary.mode = StageMode::Destroy;
    summary.changes.truncate(2);
    for change in &mut summary.changes {
        change.action = Action::Destroy;
        change.why = DESTROY_MODE.to_owned();
    }
    c.event(EventKind::Staged(summary.clone().into()));
    c.press("3");
    c.shows("stage #12 · everything is to be destroyed · 2 of 2 selected");
    c.hides("destroy mode");
    // One object stays.
    c.event(EventKind::Selected {
        stage: 12,
        taken: Vec::new(),
        left: vec![summary.changes[0].address.clone()],
    });
    c.hides("everything");
    c.shows("stage #12 (destroy)");
}

fn outputs() -> Vec<OutputRow> {
    let row = |name: &str, value: &str, sensitive| OutputRow {
        name: name.to_owned(),
        value: value.to_owned(),
        sensitive,
    };
    vec![
        row("address", "\"10.0.0.2\"", false),
        row("password", "(sensitive value)", true),
        row("same", "1", false),
    ]
}

#[test]
fn outputs_are_rows_of_the_state_with_hidden_sensitive_values() {
    for size in [(120, 40), (80, 24)] {
        let mut c = Console::new(size.0, size.1);
        c.press("6");
        c.take_effects();
        c.answer(Answer::State(fixture::state_rows()));
        assert_eq!(c.effects, [Effect::LoadOutputs]);
        c.answer(Answer::Outputs(outputs()));
        c.shows("3 objects · 1 tainted · 3 outputs");
        c.press("G");
        assert!(
            c.line("output address").contains("\"10.0.0.2\""),
            "{}",
            c.frame()
        );
        assert!(
            c.line("output password").contains("(sensitive)"),
            "{}",
            c.frame()
        );
        c.shows("output same");
        // An output is no resource.
        c.press("F");
        c.shows("no resource under the cursor");
        // The search finds outputs.
        c.press("&");
        c.type_text("output pass");
        c.press("enter");
        c.hides("output address");
        c.shows("output password");
    }
}

#[test]
fn changed_outputs_are_rows_at_the_end_of_a_deploy() {
    let output = |name: &str, action| OutputView {
        name: name.into(),
        action,
        before: Some("\"10.0.0.1\"".into()),
        after: Some("(known after apply)".into()),
        sensitive: name == "password",
        needs: Vec::new(),
    };
    let mut c = Console::new(120, 40);
    let mut summary = fixture::summary();
    summary.outputs = vec![
        output("address", Action::Update),
        output("password", Action::Update),
        output("same", Action::NoOp),
        output("gone", Action::Destroy),
    ];
    c.event(EventKind::Staged(summary.into()));
    for e in fixture::deploying() {
        c.event(e);
    }
    c.press("4");
    c.hides("output address");
    let summary = fixture::finished(DeployOutcome::Succeeded);
    c.event(EventKind::DeployFinished(summary));
    c.shows("outputs");
    c.answer(Answer::State(fixture::state_rows()));
    c.answer(Answer::Outputs(outputs()));
    assert!(
        c.line("output address").contains("\"10.0.0.2\""),
        "{}",
        c.frame()
    );
    assert!(
        c.line("output password").contains("(sensitive)"),
        "{}",
        c.frame()
    );
    assert!(
        c.line("output gone").contains("not in the state"),
        "{}",
        c.frame()
    );
    c.hides("output same");
    // A later stage does not change the deploy.
    c.event(EventKind::Staged(fixture::summary().into()));
    c.shows("output address");
}
