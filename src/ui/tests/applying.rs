//! Tests of the Stage and Deploy screens: selection, confirmation, running deploys.

use super::{Console, fixture};
use crate::app::msg::{Answer, Effect};
use crate::app::state::Screen;
use model::*;

#[test]
fn deselected_change_deselects_its_dependents_and_rows_show_it() {
    let mut c = Console::staged(120, 40);
    c.press("3 space");
    let left = "aws_s3_bucket.logs".to_owned();
    assert_eq!(
        c.take_effects(),
        [Effect::Select(12, vec![Select::Leave(left.clone())])]
    );
    let along = vec![
        ("aws_db_instance.main".to_owned(), left.clone()),
        (
            "aws_instance.web".to_owned(),
            "aws_db_instance.main".to_owned(),
        ),
    ];
    let taken = vec!["aws_iam_role.app".to_owned(), "aws_eip.old".to_owned()];
    let all_left = vec![
        left,
        "aws_db_instance.main".to_owned(),
        "aws_instance.web".to_owned(),
    ];
    c.event(EventKind::Selected {
        stage: 12,
        taken: taken.clone(),
        left: all_left.clone(),
    });
    c.answer(Answer::Selected {
        stage: 12,
        selection: Selection {
            taken,
            left: all_left,
            along,
        },
    });
    assert!(
        c.line("aws_db_instance.main ")
            .contains("deselected with aws_s3_bucket.logs")
    );
    assert!(c.line("aws_instance.web ").contains("[ ]"));
    c.shows("aws_db_instance.main and 1 more deselected along with aws_s3_bucket.logs");
    c.press("space");
    assert_eq!(
        c.take_effects(),
        [Effect::Select(
            12,
            vec![Select::Take("aws_s3_bucket.logs".to_owned())]
        )]
    );
}

#[test]
fn hidden_rows_are_never_selected_or_deselected() {
    let mut c = Console::staged(120, 40);
    let deselect_all = |c: &mut Console| {
        c.press(":");
        c.type_text("deselect-all");
        c.press("enter");
    };
    c.press("3 +");
    deselect_all(&mut c);
    c.hides("aws_eip.old");
    let addresses = vec!["aws_s3_bucket.logs".into(), "aws_db_instance.main".into()];
    let take = false;
    assert_eq!(
        c.take_effects(),
        [Effect::Select(12, vec![Select::Many { take, addresses }])]
    );
    c.press("+");
    deselect_all(&mut c);
    assert_eq!(c.take_effects(), [Effect::Select(12, vec![Select::None])]);
}

#[test]
fn diff_shows_json_structure_and_redacts_sensitive_values() {
    let mut c = Console::staged(120, 40);
    c.press("3 j enter");
    c.shows("~ Statement[Sid=a].N 1 → 2");
    c.hides("\"app\"");
    c.press("z");
    c.shows("\"app\"");
    c.press("z");
    c.press("esc j enter");
    c.shows("(sensitive)");
    c.hides("hunter");
    c.press("esc j");
    c.shows("forces replacement");
    c.shows("(known after apply)");
    c.press("w");
    c.shows("needs");
    c.shows("aws_iam_role.app");
}

#[test]
fn apply_confirmation_lists_destroyed_objects_and_defaults_to_no() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.shows("Apply stage #12?");
    c.shows("1 object destroyed:");
    c.shows("- aws_eip.old");
    c.shows("1 object replaced");
    c.press("enter");
    assert!(c.take_effects().is_empty());
    c.press("a tab enter");
    assert_eq!(
        c.take_effects(),
        [Effect::Deploy(DeployRequest {
            stage: 12,
            only: None,
            parallelism: 10,
            variables: Vec::new(),
        })]
    );
    assert_eq!(c.state.screen, Screen::Deploy);
}

#[test]
fn apply_confirmation_names_workspace_counts_and_unusable_plugins() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.shows("workspace    shop-prod");
    c.shows("changes      +2 to create · ~1 to update · -/+1 to replace · -1 to destroy");
    c.hides("plugin       ✗ acme/legacy gave up");
    c.shows("[y] Apply  [n/enter] Cancel");
    c.hides("deselected");
    // The popup takes all keys, so none of the screen's is shown.
    c.shows("esc cancel");
    c.hides("space select");
    c.press("esc");
    c.event(EventKind::Selected {
        stage: 12,
        taken: vec![],
        left: vec!["aws_eip.old".into(), "aws_instance.web".into()],
    });
    c.shows("4 of 6 selected · +2 ~1 <=1 of +2 ~1 -/+1 -1 <=1");
    c.press("a");
    c.shows("~1 to update · <=1 to read · 0 to replace, 0 to destroy");
    c.shows("deselected   2 changes, not applied");
    c.press("esc");
    let mut summary = fixture::summary();
    for change in &mut summary.changes[..2] {
        change.provider = "registry.terraform.io/acme/legacy".into();
    }
    c.event(EventKind::Staged(summary.into()));
    c.press("a");
    c.shows("✗ acme/legacy gave up: 2 of 6 selected changes need it");
}

#[test]
fn screen_below_a_popup_is_dim_without_a_message_of_an_earlier_action() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    c.shows("staged in");
    let colors = |c: &mut Console| {
        let first_rows = &c.buffer().content[..5 * 120];
        let colors = first_rows.iter().map(|cell| cell.fg);
        colors.collect::<std::collections::HashSet<_>>().len()
    };
    assert!(colors(&mut c) > 1);
    c.press("a");
    c.hides("staged in");
    assert_eq!(colors(&mut c), 1);
    // A preview of a theme needs the colours.
    c.press("esc :");
    c.type_text("themes");
    c.press("enter");
    assert!(colors(&mut c) > 1);
}

#[test]
fn many_destroys_require_a_typed_confirmation() {
    let mut c = Console::staged(120, 40);
    c.state.options.typed_from = 2;
    c.press("3 a y");
    c.press("enter");
    assert!(c.take_effects().is_empty());
    c.press("a");
    c.type_text("destroy 2");
    c.press("enter");
    assert!(matches!(c.take_effects().as_slice(), [Effect::Deploy(_)]));
}

#[test]
fn apply_confirmation_closes_when_the_selection_changes() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.event(EventKind::Selected {
        stage: 12,
        taken: vec![],
        left: vec!["aws_eip.old".into()],
    });
    c.hides("Apply stage #12?");
    c.shows("review it before");
    c.press("y");
    assert!(!c.effects.iter().any(|e| matches!(e, Effect::Deploy(_))));
}

#[test]
fn only_selected_changes_are_deployed_after_deselection() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::Selected {
        stage: 12,
        taken: vec![],
        left: vec!["aws_eip.old".into()],
    });
    c.press("3 a y");
    let effects = c.take_effects();
    let [Effect::Deploy(r)] = effects.as_slice() else {
        panic!("{effects:?}")
    };
    let only = r.only.as_ref().unwrap();
    assert!(
        only.contains(&"aws_instance.web".to_owned())
            && !only.contains(&"aws_eip.old".to_owned())
            && !only.contains(&"aws_vpc.main".to_owned())
    );
}

#[test]
fn deploy_screen_shows_running_failed_and_waiting_operations() {
    let mut c = Console::deploying(120, 40);
    c.press("4");
    assert!(c.line("aws_db_instance.main ").contains("creating"));
    assert!(c.line("aws_db_instance.main ").contains("1m01s"));
    assert!(c.line("aws_iam_role.app ").contains("bad input: policy"));
    assert!(c.line("aws_instance.web ").contains("waiting"));
    c.press("j");
    c.shows("unexpected end of input");
    c.shows("MalformedPolicyDocument");
    c.press("enter");
    c.shows("log of hashicorp/aws at the failure");
}

#[test]
fn cursor_follows_the_running_operation_until_moved() {
    let mut c = Console::deploying(120, 40);
    c.press("4");
    c.shows("+ aws_db_instance.main");
    let next = |c: &mut Console, index, address: &str, action, state| {
        let mut op = fixture::operation(index, address, action, state);
        (op.began, op.step) = (Some(fixture::NOW), "working".into());
        c.event(EventKind::Operation(op));
        c.frame();
    };
    next(
        &mut c,
        2,
        "aws_db_instance.main",
        Action::Create,
        OperationState::Done,
    );
    next(
        &mut c,
        4,
        "aws_eip.old",
        Action::Destroy,
        OperationState::Running,
    );
    assert_eq!(
        c.state.operation().map(|o| o.address.as_str()),
        Some("aws_eip.old")
    );
    c.press("j k");
    next(
        &mut c,
        4,
        "aws_eip.old",
        Action::Destroy,
        OperationState::Done,
    );
    next(
        &mut c,
        3,
        "aws_instance.web",
        Action::Replace,
        OperationState::Running,
    );
    assert_eq!(
        c.state.operation().map(|o| o.address.as_str()),
        Some("aws_eip.old")
    );
}

#[test]
fn finished_deploy_selects_the_first_failure_unless_the_cursor_moved() {
    for (keys, selected) in [("4", "aws_iam_role.app"), ("4 G", "aws_eip.old")] {
        let mut c = Console::deploying(80, 24);
        c.press(keys);
        c.frame();
        let all = c.state.view.deploy.iter().flat_map(|d| &d.operations);
        for mut op in all
            .filter(|o| o.state == OperationState::Running)
            .cloned()
            .collect::<Vec<_>>()
        {
            op.state = OperationState::Done;
            c.event(EventKind::Operation(op));
        }
        c.event(EventKind::DeployFinished(fixture::finished(
            DeployOutcome::Failed,
        )));
        c.frame();
        assert_eq!(
            c.state.operation().map(|o| o.address.as_str()),
            Some(selected),
            "{keys}"
        );
    }
}

#[test]
fn cancel_ladder_stops_the_call_under_the_cursor_alone() {
    let aws = fixture::id("hashicorp/aws");
    // On the operation, and on its call.
    for screen in ["4", "2"] {
        let mut c = Console::deploying(120, 40);
        c.press(screen);
        c.press("c");
        c.shows("the whole deploy");
        c.shows("only aws_db_instance.main");
        c.shows("4  ask hashicorp/aws to stop");
        c.shows("the call may end early, as a failure; the deploy goes on");
        c.shows("5  stop waiting for hashicorp/aws");
        c.press("4 enter");
        let interrupt = Effect::Plugin(aws.clone(), PluginCommand::Interrupt);
        assert_eq!(c.take_effects(), [interrupt]);
        c.press("c 5 enter");
        c.shows("Stop waiting for this call?");
        c.shows("ApplyResourceChange aws_db_instance.main of hashicorp/aws");
        assert!(c.take_effects().is_empty());
        let call = c.state.view.calls.values().find(|call| {
            call.resource.as_deref() == Some("aws_db_instance.main") && call.started_at.is_some()
        });
        let give_up = Effect::GiveUp(call.unwrap().call);
        c.press("y");
        assert_eq!(c.take_effects(), [give_up]);
        c.press("c 6 enter");
        c.shows("Restart hashicorp/aws?");
        c.shows("The outcome of an interrupted apply is unknown");
        assert!(c.take_effects().is_empty());
        c.press("y");
        let restart = Effect::Plugin(aws.clone(), PluginCommand::Restart);
        assert_eq!(c.take_effects(), [restart]);
    }
    // A waiting operation has no call.
    let mut c = Console::deploying(120, 40);
    c.press("4 G c");
    c.shows("Cancel deploy #31");
    c.hides("4  only");
    c.press("6 enter");
    c.shows("Kill the plugins?");
}

#[test]
fn cancel_ladder_names_affected_calls_and_confirms_killing() {
    let mut c = Console::deploying(120, 40);
    c.press("4 c");
    c.shows("Cancel deploy #31");
    c.shows("then end");
    c.shows("the other 2 are not attempted");
    c.shows("3  kill plugins: aws_db_instance.main");
    c.shows("esc keep running");
    c.shows("ApplyResourceChange aws_db_instance.main");
    c.press("enter");
    assert_eq!(c.take_effects(), [Effect::Cancel(CancelRung::StopStarting)]);
    c.press("c 3 enter");
    assert!(c.take_effects().is_empty());
    c.shows("Kill the plugins?");
    c.press("enter");
    assert!(c.take_effects().is_empty());
    c.press("c 3 enter y");
    assert_eq!(c.take_effects(), [Effect::Cancel(CancelRung::KillPlugins)]);
}

#[test]
fn quitting_during_a_deploy_asks_and_waits_for_its_end() {
    let mut c = Console::deploying(120, 40);
    c.press("q");
    c.shows("Deploy #31 is running");
    c.press("enter");
    assert!(!c.state.ending.quit);
    c.press("q c");
    c.shows("Cancel deploy #31");
    c.press("esc");
    assert_eq!(c.take_effects(), []);
    c.press("q y");
    assert_eq!(c.take_effects(), [Effect::Cancel(CancelRung::StopStarting)]);
    assert!(!c.state.ending.quit);
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Cancelled,
    )));
    assert!(c.state.ending.quit);
}

#[test]
fn control_c_never_kills_a_deploy() {
    let mut c = Console::deploying(120, 40);
    c.press("ctrl-c");
    c.shows("Cancel deploy #31");
    c.press("ctrl-c ctrl-c ctrl-c");
    assert!(!c.state.ending.quit);
    assert!(c.take_effects().is_empty());
}

#[test]
fn failed_operations_are_staged_again_as_the_rest_of_the_deploy() {
    let mut c = Console::deploying(120, 40);
    let mut rest = fixture::operation(
        3,
        "aws_instance.web",
        Action::Replace,
        OperationState::NotAttempted,
    );
    rest.waits_for = vec!["aws_iam_role.app".into()];
    c.event(EventKind::Operation(rest));
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Failed,
    )));
    c.take_effects();
    c.press("4 v");
    c.hides("aws_s3_bucket.logs");
    c.press("t");
    // The engine finds the remaining operations, replacements and variables in its records.
    assert_eq!(
        c.take_effects(),
        [Effect::Stage(StageRequest {
            rest_of: Some(31),
            ..StageRequest::default()
        })]
    );
    c.shows("staging 2 resources of deploy #31");
}

#[test]
fn outdated_stage_is_reported_instead_of_the_apply_confirmation() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.shows("Apply stage #12?");
    assert!(c.effects.contains(&Effect::CheckStage(12)));
    let outdated = |stage| Answer::Outdated {
        stage,
        text: "the plugin acme/web has version 2.0.0, and had 1.0.0".into(),
    };
    // An answer about another stage is ignored.
    c.answer(outdated(11));
    c.shows("Apply stage #12?");
    c.answer(outdated(12));
    c.hides("Apply stage #12?");
    c.shows("Stage #12 is out of date");
    c.shows("acme/web has version 2.0.0");
    c.press("y");
    assert_eq!(c.take_effects(), []);
    c.press("esc");
    c.answer(outdated(12));
    c.hides("is out of date");
}
