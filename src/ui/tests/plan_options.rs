//! Tests of the plan options: variables, targets, and the stages that they apply to.

use super::Console;
use crate::app::choices::Choices;
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

/// Console that begins with the stored choices of another one.
fn next_console(before: &Console, workspace: &str, flags: StageRequest) -> Console {
    let mut c = Console::new(120, 40);
    c.state.place.workspace = workspace.to_owned();
    c.state.options.plan = flags;
    // Through the format of the file.
    let text = toml::to_string(&Choices::of(&before.state)).unwrap();
    let stored: Choices = toml::from_str(&text).unwrap();
    stored.apply(&mut c.state);
    c.state.options.keeps_choices = true;
    c.state.recall_options();
    c
}

#[test]
fn remembered_options_start_the_next_console_of_the_workspace_without_secrets() {
    let mut c = opened();
    c.state.options.keeps_choices = true;
    c.shows("These options end with this console.");
    c.shows("Values of sensitive variables are never stored.");
    c.press("m");
    c.shows("no plan option that can be remembered");
    c.press("enter");
    c.type_text("hunter2");
    c.press("enter down enter");
    c.type_text("us");
    c.press("enter t");
    c.type_text("module.app");
    c.press("enter r m");
    c.shows("--var=region; not --var=password: …");
    c.shows("Remembered for this workspace. F forgets them.");
    // The password is among the options of this console, and not remembered.
    c.hides("(remembered)");
    let text = toml::to_string(&Choices::of(&c.state)).unwrap();
    assert!(!text.contains("hunter2"), "{text}");

    let here = c.state.place.workspace.clone();
    let kept = StageRequest {
        target: vec!["module.app".into()],
        no_refresh: true,
        ..StageRequest::with_variables(vec![value("region", "us")])
    };
    let mut next = next_console(&c, &here, StageRequest::default());
    assert_eq!(next.state.options.plan, kept);
    next.shows("--target=module.app +2 (remembered)");
    let other = next_console(&c, "prod", StageRequest::default());
    assert_eq!(other.state.options.plan, StageRequest::default());
    // A flag on the command line replaces all of them.
    let flags = StageRequest {
        exclude: vec!["module.db".into()],
        ..StageRequest::default()
    };
    let mut flagged = next_console(&c, &here, flags.clone());
    assert_eq!(flagged.state.options.plan, flags);
    flagged.hides("(remembered)");
    flagged.press("3 ctrl-o");
    flagged.shows("This workspace remembers --target=module.app, --refresh=false, --var=region.");

    next.press("3 ctrl-o F");
    next.shows("the next console of this workspace starts without plan options");
    assert_eq!(
        next.state.options.plan, kept,
        "this console goes on with them"
    );
    let after = next_console(&next, &here, StageRequest::default());
    assert_eq!(after.state.options.plan, StageRequest::default());
}

#[test]
fn stored_value_of_a_variable_that_became_sensitive_is_removed() {
    let mut c = opened();
    c.state.options.keeps_choices = true;
    c.press("down enter");
    c.type_text("us");
    c.press("enter m");
    assert!(c.state.are_options_remembered());
    c.answer(Answer::Variables(Box::new(RootVariables {
        all: vec![variable("region", None, true)],
        problem: None,
    })));
    assert_eq!(c.state.remembered_options(), None);
}

#[test]
fn console_that_stores_nothing_remembers_no_options() {
    let mut c = opened();
    c.press("r m");
    c.shows("cannot remember plan options: this console stores nothing");
    c.shows("These options end with this console.");
}
