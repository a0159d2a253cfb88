//! Tests of keys of several screens, one scenario each.

use super::{Console, fixture};
use crate::app::key::{Input, MouseAct};
use crate::app::msg::{Answer, Effect, Msg};
use crate::app::state::{Fault, Screen};
use model::*;

#[test]
fn recorded_deploy_is_replayed_event_by_event() {
    let mut c = Console::staged(120, 40);
    c.press("5");
    c.answer(Answer::History(fixture::history()));
    c.shows("✗ failed");
    c.shows("✓ succeeded");
    c.take_effects();
    c.press("enter");
    assert_eq!(c.take_effects(), [Effect::LoadRecord(31)]);
    c.answer(Answer::Record(Box::new(fixture::record())));
    c.shows("replay");
    assert!(c.line("aws_instance.web ").contains("not attempted"));
    c.press("{");
    // The title names the next failure.
    c.hides(" ~   aws_iam_role.app");
    c.shows(" · ✗ aws_iam_role.app at 14:02:13");
    c.shows("Before the start of the deploy");
    c.hides("No row matches");
    c.press("] ]");
    assert!(c.line("aws_s3_bucket.logs ").contains("created"));
    assert!(c.line("aws_iam_role.app ").contains("waiting"));
    c.press("]");
    assert!(c.line("aws_iam_role.app ").contains("update failed"));
    c.press("[");
    assert!(c.line("aws_iam_role.app ").contains("waiting"));
    c.press("}");
    assert!(c.line("aws_instance.web ").contains("not attempted"));
    c.press("esc");
    c.shows("✓ succeeded");
}

#[test]
fn failures_are_grouped_with_their_resolution() {
    let mut c = Console::staged(120, 40);
    c.press("5 v");
    c.answer(Answer::Failures(fixture::failures()));
    assert!(c.line("4×").contains("policy is not valid JSON"));
    assert!(c.line("4×").contains("✓ solved in #28"));
    c.shows("updated in deploy #28");
    c.shows("#31 #27 #24 #22");
    c.shows("all solved");
    c.press("v");
    c.hides("4×");
}

#[test]
fn state_tree_shows_dependencies_in_both_directions() {
    let mut c = Console::staged(120, 40);
    c.press("6");
    c.answer(Answer::State(fixture::state_rows()));
    c.shows("root module");
    c.shows("module.network");
    assert!(c.line("    aws_iam_role.app ").contains("✗ tainted"));
    c.press("G");
    c.shows("needed by");
    c.shows("aws_instance.web");
    c.take_effects();
    c.press("p");
    let a = "module.network.aws_vpc.main".to_owned();
    assert_eq!(
        c.take_effects(),
        [Effect::Stage(StageRequest {
            target: vec![a.clone()],
            replace: vec![a],
            ..StageRequest::default()
        })]
    );
}

#[test]
fn logs_can_be_followed_filtered_searched_and_saved() {
    let mut c = Console::staged(120, 40);
    c.press("7");
    c.shows("rate limit at 80 percent");
    c.press("v v v");
    c.shows("warn and up");
    c.hides("nothing to do");
    c.press("v v p");
    c.shows("configured for eu-central-1");
    c.hides("nothing to do");
    c.press("p p");
    c.shows("nothing to do");
    c.press("/");
    c.type_text("RATE");
    c.press("enter");
    c.shows("not following");
    assert_eq!(c.state.selected().map(|r| r.index), Some(1));
    c.press("esc f");
    c.type_text("configured");
    c.press("enter");
    c.hides("rate limit");
    c.press("esc y");
    c.event(fixture::log("hashicorp/aws", LogLevel::Error, "new line"));
    c.shows("new line");
    c.press("m o");
    assert!(matches!(c.effects.last(), Some(Effect::Save { .. })));
}

#[test]
fn search_keeps_all_rows_and_escape_restores_the_cursor() {
    let mut c = Console::staged(120, 40);
    c.press("3 /");
    c.type_text("eip");
    c.shows("aws_s3_bucket.logs");
    assert_eq!(c.state.list().index, 4);
    c.press("esc");
    c.frame();
    assert_eq!(c.state.list().index, 0);
    c.press("/");
    c.type_text("aws_i");
    c.press("enter n");
    assert_eq!(
        c.state.change().map(|c| c.address.as_str()),
        Some("aws_instance.web")
    );
    c.press("N");
    assert_eq!(
        c.state.change().map(|c| c.address.as_str()),
        Some("aws_iam_role.app")
    );
}

#[test]
fn help_and_palette_use_the_command_table() {
    let mut c = Console::staged(120, 40);
    c.press("3 ?");
    c.shows("select or deselect change, module or range");
    c.shows("space");
    c.press("esc :");
    c.type_text("refonly");
    c.shows("refresh-only");
    c.press("enter");
    assert!(matches!(
        c.take_effects().as_slice(),
        [Effect::Stage(StageRequest {
            mode: StageMode::RefreshOnly,
            ..
        })]
    ));
}

#[test]
fn palette_runs_quit_or_destructive_commands_only_when_chosen() {
    for (typed, name) in [
        ("var", "quit"),
        ("quit", "quit"),
        ("interr", "interrupt"),
        ("suspen", "suspend"),
        ("stage-destr", "stage-destroy"),
        ("aply", "apply"),
    ] {
        let mut c = Console::staged(120, 40);
        c.press("3 :");
        c.type_text(typed);
        let found = crate::app::command::matching(&c.state, typed);
        let first = found.first().map(|c| c.name);
        if typed == name || first != Some(name) {
            continue;
        }
        c.press("enter");
        c.shows(&format!("type \"{name}\" in full"));
        assert!(!c.state.ending.quit, "{typed}");
        assert_eq!(c.take_effects(), [], "{typed}");
    }
    // No match of `var` quits.
    let mut c = Console::staged(120, 40);
    c.press("3 :");
    c.type_text("var");
    c.press("enter");
    assert!(!c.state.ending.quit);
    // The complete name runs it, and so does a selected row.
    let mut c = Console::staged(120, 40);
    c.press("1 :");
    c.type_text("quit");
    c.press("enter");
    assert!(c.state.ending.quit);
    let mut c = Console::staged(120, 40);
    c.press("1 :");
    c.type_text("quit, then leave");
    c.press("enter");
    assert!(!c.state.ending.quit);
    let mut c = Console::staged(120, 40);
    c.press("1 :");
    c.type_text("qui");
    let at = crate::app::command::matching(&c.state, "qui")
        .iter()
        .position(|c| c.name == "quit")
        .unwrap();
    c.press(&"down ".repeat(at.max(1)));
    if at == 0 {
        c.press("up");
    }
    c.press("enter");
    assert!(c.state.ending.quit);
}

#[test]
fn typing_after_a_palette_choice_discards_the_choice() {
    let mut c = Console::staged(120, 40);
    c.press("1 : down up");
    c.type_text("qui");
    c.press("enter");
    assert!(!c.state.ending.quit);
}

#[test]
fn locked_workspace_names_the_lock_owner_and_changes_nothing() {
    let mut c = Console::staged(120, 40);
    let holder = LockHolder {
        who: "bob".into(),
        host: "ci".into(),
        pid: 99,
        start_time: 1,
        boot_id: "b".into(),
        pid_namespace: String::new(),
        leased: false,
        since: 61_000,
        reason: "deploy".into(),
    };
    c.event(EventKind::Lock {
        holder: Some(holder),
        ours: false,
    });
    c.shows("locked by bob (pid 99, deploy)");
    c.press("3 a");
    c.shows("locked by bob on ci (pid 99, deploy) since 00:01:01: wait until it has ended");
    c.press("space * I u ctrl-r s D F");
    c.press("1 R S E L");
    assert_eq!(c.take_effects(), []);
    c.event(EventKind::Lock {
        holder: None,
        ours: false,
    });
    c.hides("locked by bob (pid");
    c.press("3 s");
    assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
}

#[test]
fn change_by_another_process_is_shown_and_closes_an_outdated_confirmation() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.shows("Apply stage #");
    c.take_effects();
    let changed = |outdated: Option<&str>| EventKind::WorkspaceChanged {
        serial: 9,
        deploy: Some(50),
        outdated: outdated.map(str::to_owned),
    };
    c.event(changed(None));
    c.shows("Apply stage #");
    c.event(changed(Some("the state has changed")));
    c.hides("Apply stage #");
    c.shows("another process made deploy #50: stage again before you apply");
    let loaded = [Effect::LoadHistory, Effect::LoadState, Effect::LoadFailures];
    assert_eq!(c.take_effects(), [loaded.clone(), loaded].concat());
    c.press("a");
    c.shows("is out of date, s stages again: the state has changed");
    assert_eq!(c.take_effects(), []);
}

#[test]
fn drift_of_a_group_is_a_message_and_a_group_in_sync_is_none() {
    let mut c = Console::staged(120, 40);
    let run = |outcome, drift: &[&str]| {
        let drift = drift.iter().map(|kind| MemberDrift {
            kind: (*kind).to_owned(),
            member: "0".to_owned(),
            attributes: Vec::new(),
            response: "report".to_owned(),
        });
        EventKind::Reconcile(ReconcileRun {
            group: "web".to_owned(),
            began: 0,
            mode: "observe".to_owned(),
            outcome,
            drift: drift.collect(),
            stage: None,
            deploy: None,
            reason: None,
            next: 1,
        })
    };
    c.event(run(ReconcileOutcome::InSync, &[]));
    c.hides("group web");
    let drift = ["missing", "missing", "outdated_hash"];
    c.event(run(ReconcileOutcome::Drifted, &drift));
    c.shows("group web: drift found: 2 missing, 1 outdated");
}

#[test]
fn empty_workspace_shows_a_welcome_text() {
    let mut c = Console::new(120, 40);
    c.state.place.configured = false;
    c.shows("Welcome to flightdeck");
    c.shows("main.tf");
    let mut c = Console::new(120, 40);
    c.press("3");
    c.shows("No stage yet");
}

#[test]
fn failed_stage_shows_source_position_and_line() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::StageStarted(StageStarted {
        stage: 13,
        mode: StageMode::Normal,
        resources: 0,
    }));
    c.press("3");
    c.shows("staging #13");
    let at = |line, column| SourcePosition {
        line,
        column,
        byte: 0,
    };
    c.event(EventKind::Diagnostic(Diagnostic {
        severity: Severity::Error,
        summary: "unknown attribute".into(),
        detail: "there is no attribute \"bukket\"; did you mean \"bucket\"?".into(),
        address: None,
        range: Some(SourceRange {
            filename: "main.tf".into(),
            start: at(12, 3),
            end: at(12, 9),
        }),
        snippet: Some(Snippet {
            line: 12,
            text: "  bukket = \"logs\"".into(),
            mark: (2, 8),
            whole: None,
        }),
        further: None,
        intent: None,
    }));
    c.event(EventKind::StageFailed {
        stage: Some(13),
        errors: 1,
        text: "unknown attribute".into(),
    });
    c.shows("main.tf:12:3");
    assert_eq!(
        c.frame().matches("unknown attribute").count(),
        2,
        "with its place, and as the last thing that happened"
    );
    c.shows("bukket = \"logs\"");
    c.shows("^^^^^^");
    c.press("a");
    c.shows("stage again first");
}

#[test]
fn long_diagnostics_are_truncated_above_the_rule_with_a_count() {
    let mut c = Console::staged(80, 24);
    let detail = (0..30)
        .map(|n| format!("place {n}"))
        .collect::<Vec<_>>()
        .join("\n");
    c.event(EventKind::Diagnostic(Diagnostic {
        severity: Severity::Error,
        summary: "Provider not found".into(),
        detail: format!("was not found\n{detail}"),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }));
    c.event(EventKind::StageFailed {
        stage: Some(13),
        errors: 1,
        text: format!("was not found\n{detail}"),
    });
    c.press("3");
    assert_eq!(
        c.line("staging failed: ").matches("place").count(),
        0,
        "the first line alone"
    );
    assert!(c.line("d shows them").contains(" more, "));
    let frame = c.frame();
    let lines: Vec<&str> = frame.lines().collect();
    assert!(lines[22].starts_with("─ ✗ staging failed"), "{frame}");
    assert_eq!(
        lines.iter().filter(|l| l.trim() == "place 1").count(),
        1,
        "once: {frame}"
    );
    c.press("d");
    c.shows("place 9");
}

#[test]
fn demo_faults_are_listed_and_triggered_by_key() {
    let mut c = Console::new(120, 40);
    c.state.frame.notes = vec!["demo: B causes a fault".into()];
    c.state.options.faults = vec![Fault {
        key: '5',
        id: "crash".into(),
        doc: "the plugin dies".into(),
    }];
    c.shows("demo: B causes a fault");
    // The first steps are known once there is a stage.
    fixture::staged().into_iter().for_each(|e| c.event(e));
    c.hides("demo: B");
    c.press("B");
    c.shows("the plugin dies");
    c.press("5");
    assert_eq!(c.take_effects(), []);
    c.press("enter");
    assert_eq!(c.take_effects(), [Effect::Demo("crash".into())]);
}

#[test]
fn mouse_selects_rows_scrolls_and_switches_screens() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    let frame = c.frame();
    let y = frame
        .lines()
        .position(|l| l.contains("aws_eip.old"))
        .unwrap() as u16;
    let mouse = |act, x, y| Msg::Input(Input::Mouse { act, x, y });
    c.send(mouse(MouseAct::Down, 12, y));
    assert_eq!(
        c.state.change().map(|c| c.address.as_str()),
        Some("aws_eip.old")
    );
    c.send(mouse(MouseAct::WheelUp, 12, y));
    assert_eq!(c.state.list().index, 1);
    let x = frame.lines().nth(1).unwrap().find("7 Logs").unwrap() as u16;
    c.send(mouse(MouseAct::Down, x, 1));
    assert_eq!(c.state.screen, Screen::Logs);
}

#[test]
fn pasted_text_is_not_interpreted_as_keys() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.send(Msg::Input(Input::Paste("y\nq".into())));
    assert!(c.take_effects().is_empty() && !c.state.ending.quit);
    c.press("esc");
    c.send(Msg::Input(Input::Paste("qD".into())));
    assert!(c.take_effects().is_empty() && !c.state.ending.quit);
}

#[test]
fn cursor_stays_on_its_row_while_rows_are_reordered() {
    let mut c = Console::deploying(120, 40);
    c.press("4 j j");
    let before = c.state.operation().map(|o| o.address.clone());
    assert_eq!(before.as_deref(), Some("aws_s3_bucket.logs"));
    let mut op = fixture::operation(4, "aws_eip.old", Action::Destroy, OperationState::Done);
    (op.began, op.took_ms) = (Some(fixture::NOW), Some(900_000));
    c.event(EventKind::Operation(op));
    c.frame();
    assert_eq!(c.state.operation().map(|o| o.address.clone()), before);
}

#[test]
fn rows_are_built_once_for_a_key_and_its_frame() {
    let mut c = Console::deploying(120, 40);
    c.press("4");
    c.frame();
    let built = || crate::app::rows::BUILT.with(std::cell::Cell::get);
    let before = built();
    c.press("j");
    c.frame();
    assert_eq!(built() - before, 1);
    // Each key of a paste acts on the rows that the key before it has left.
    let before = built();
    c.press("j k V");
    c.frame();
    assert_eq!(built() - before, 3);
    // A key after an event acts on current rows.
    let before = built();
    c.tick(1);
    c.press("j");
    c.frame();
    assert_eq!(built() - before, 2);
}
