//! Tests of the plan options: variables, targets, and the stages that they apply to.

use super::Console;
use crate::app::msg::{Answer, Effect};
use model::*;

fn variable(name: &str, default: Option<&str>, is_secret: bool) -> RootVariable {
    RootVariable {
        name: name.into(),
        type_text: "string".into(),
        description: format!("The {name} of the shop."),
        default: default.map(str::to_owned),
        given: None,
        is_secret,
    }
}

/// Console with the plan options open.
fn opened() -> Console {
    let mut c = Console::staged(120, 40);
    c.press("3 ctrl-o");
    assert_eq!(
        c.take_effects(),
        [Effect::LoadVariables(StageRequest::default())]
    );
    c.answer(Answer::Variables(Box::new(RootVariables {
        all: vec![
            variable("password", None, true),
            variable("region", Some("\"eu\""), false),
        ],
        problem: None,
    })));
    c
}

fn value(name: &str, text: &str) -> VariableFlag {
    VariableFlag::Value {
        name: name.into(),
        text: text.into(),
    }
}

#[test]
fn variables_are_set_in_the_form_and_apply_to_the_next_stage() {
    let mut c = opened();
    c.shows("password  needs a value  string");
    c.shows("region    \"eu\" (default)  string");
    c.press("enter");
    c.type_text("h unter2");
    // A secret is never shown.
    c.hides("unter2");
    c.shows("password = ••••••••");
    c.press("enter");
    c.press("down enter");
    c.type_text("us");
    c.shows("region = us");
    c.press("enter");
    c.take_effects();
    c.press("s");
    let expected =
        StageRequest::with_variables(vec![value("password", "h unter2"), value("region", "us")]);
    assert_eq!(c.take_effects(), [Effect::Stage(expected)]);
    c.hides("Plan options");
    c.shows("--var=password +1");
    c.hides("unter2");
}

#[test]
fn targets_are_checked_listed_and_removed() {
    let mut c = opened();
    c.press("t");
    c.type_text("not an address");
    c.press("enter");
    c.shows("is not an address");
    c.press("ctrl-u");
    c.type_text("module.app");
    c.press("enter");
    c.shows("--target=module.app");
    c.press("r");
    c.shows("--refresh=false");
    c.take_effects();
    // Destroying keeps the limits.
    c.press("esc");
    c.press("D");
    let limited = StageRequest {
        mode: StageMode::Destroy,
        target: vec!["module.app".into()],
        no_refresh: true,
        ..StageRequest::default()
    };
    assert_eq!(c.take_effects(), [Effect::Stage(limited)]);
    c.press("ctrl-o down down x x");
    assert_eq!(c.state.options.plan.target, Vec::<String>::new());
}

#[test]
fn problem_of_a_value_is_shown_in_the_form() {
    let mut c = opened();
    c.answer(Answer::Variables(Box::new(RootVariables {
        all: vec![variable("region", None, false)],
        problem: Some("Invalid value for input variable: a number is required".into()),
    })));
    c.shows("Invalid value for input variable: a number is required");
    c.shows("The region of the shop.");
}

#[test]
fn missing_value_opens_the_form() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::Diagnostic(Diagnostic {
        severity: Severity::Error,
        summary: "No value for required variable".into(),
        detail: String::new(),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }));
    c.event(EventKind::StageFailed {
        stage: Some(13),
        errors: 1,
        text: "No value for required variable".into(),
    });
    c.shows("╭─ Plan options ─");
}
