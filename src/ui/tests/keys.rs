//! Keys are typed, frames and effects are looked at: one story a test.

use super::Console;
use super::fixture;
use crate::app::key::{Input, MouseAct};
use crate::app::msg::{Answer, Effect, Msg};
use crate::app::state::{Fault, Screen};
use crate::engine::words::*;

#[test]
fn the_builtin_provider_waits_for_no_launch() {
    let mut c = Console::new(120, 40);
    let found = PluginFound {
        address: "terraform.io/builtin/terraform".into(),
        version: None,
        dialect: Some("builtin".into()),
        executable: None,
        source: "builtin".into(),
        why: "part of flightdeck".into(),
    };
    let plugin = fixture::id("builtin/terraform");
    c.event(EventKind::Plugin(PluginEvent::Found {
        plugin: plugin.clone(),
        found,
    }));
    c.event(EventKind::Plugin(PluginEvent::State {
        plugin,
        state: PluginState::Ready {
            since: fixture::NOW,
        },
    }));
    c.press("1");
    c.shows("it needs no process, and is never launched");
    c.hides("not launched yet");
    for key in ["s", "R", "S", "E"] {
        c.take_effects();
        c.press(key);
        c.shows("it is part of flightdeck and has no process");
        assert!(
            !c.take_effects()
                .iter()
                .any(|e| matches!(e, Effect::Plugin(..))),
            "{key}"
        );
        c.press("esc");
    }
}

#[test]
fn plugins_tell_how_each_launch_went() {
    let mut c = Console::staged(120, 40);
    assert!(c.line("acme/legacy ").contains("✗ gave up"));
    assert!(c.line("hashicorp/aws ").contains("● ready"));
    c.shows("1 failed");
}

#[test]
fn plugin_panes_turn_with_arrows_and_open_with_enter() {
    let mut c = Console::staged(120, 40);
    // acme/legacy sorts first.
    c.shows("#5");
    c.shows("exec 2 ms ▸ output 29 ms ▸ ✗ exited (exit code 2, after 44 ms)");
    c.press("right right");
    c.shows("no calls yet");
    let latency = Latency {
        count: 3,
        errors: 3,
        ..Latency::default()
    };
    c.event(EventKind::CallFinished(CallFinished {
        call: 1,
        plugin: fixture::id("acme/legacy"),
        method: "ReadResource".into(),
        resource: None,
        resource_type: None,
        action: None,
        took_ms: 4,
        outcome: CallOutcome::Error,
        error: Some("no".into()),
        again: None,
        measured: Some(Measured {
            method: latency,
            plugin: latency,
        }),
    }));
    let words: Vec<String> = c
        .line("ReadResource")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        words[..6],
        ["ReadResource", "3", "3", "–", "–", "–"],
        "how long one takes that goes well is not known"
    );
    c.press("right");
    c.shows("it has said nothing yet");
    c.press("left left left enter");
    c.hides("hashicorp/random");
    c.press("esc");
    c.shows("hashicorp/random");
}

#[test]
fn a_schema_is_asked_for_when_it_is_looked_at_and_unfolds() {
    let mut c = Console::staged(120, 40);
    c.press("j j right");
    assert_eq!(
        c.take_effects(),
        [Effect::LoadSchema(fixture::id("hashicorp/aws"))]
    );
    let row = fixture::schema_row;
    let rows = vec![
        row("resources", 0, true),
        row("resources/aws_vpc", 1, true),
        row("resources/aws_vpc/cidr", 2, false),
        row("resources/aws_eip", 1, true),
    ];
    c.answer(Answer::Schema(fixture::id("hashicorp/aws"), rows));
    c.press("enter");
    c.shows("+ aws_vpc");
    c.hides("cidr");
    c.press("j enter");
    c.shows("- aws_vpc");
    c.shows("cidr");
    c.press("&");
    c.type_text("eip");
    c.press("enter");
    c.hides("aws_vpc");
    c.press("esc esc");
    c.shows("hashicorp/random");
}

#[test]
fn a_plugin_without_a_process_is_not_stopped() {
    let mut c = Console::staged(120, 40);
    let states = [
        (
            PluginState::GaveUp {
                why: "no handshake".into(),
            },
            "it has no process that could be stopped",
        ),
        (
            PluginState::Stopped,
            "it has no process that could be stopped",
        ),
    ];
    for (state, words) in states {
        c.event(EventKind::Plugin(PluginEvent::State {
            plugin: fixture::id("hashicorp/aws"),
            state,
        }));
        c.press("1 g j j");
        c.hides("S stop");
        c.press("S");
        c.shows(words);
        assert!(
            !c.take_effects()
                .iter()
                .any(|e| matches!(e, Effect::Plugin(..)))
        );
    }
}

#[test]
fn stopping_a_plugin_in_use_names_the_calls_and_defaults_to_no() {
    let mut c = Console::deploying(120, 40);
    c.press("1 g j j S");
    c.shows("stop hashicorp/aws?");
    c.shows("ApplyResourceChange aws_db_instance.main");
    c.press("enter");
    assert!(!c.effects.iter().any(|e| matches!(e, Effect::Plugin(..))));
    c.press("S y");
    assert!(c.effects.contains(&Effect::Plugin(
        fixture::id("hashicorp/aws"),
        PluginCommand::Stop
    )));
}

#[test]
fn calls_name_who_waits_for_whom() {
    let mut c = Console::deploying(120, 40);
    c.press("2");
    c.shows("longest: aws_db_instance.main (ApplyResourceChange");
    c.shows("1 behind it");
    assert!(
        c.line("PlanResourceChange")
            .contains("slot of hashicorp/aws, held by")
    );
    assert!(c.line("1/1").contains("past p95"));
    c.press("j b");
    assert_eq!(c.state.selected().and_then(|r| r.key.number()), Some(7));
}

#[test]
fn without_calls_the_charts_stay_and_words_stand_below_them() {
    for (width, height) in [(120, 40), (80, 24), (40, 12)] {
        let mut c = Console::staged(width, height);
        c.press("2");
        // The smallest screen has no room for charts.
        let charts = c
            .frame()
            .lines()
            .any(|l| l.trim_start().starts_with("waiting") && l.contains("finished a second"));
        assert_eq!(charts, height > 12);
        c.shows("   No call is running or waiting.");
    }
}

#[test]
fn a_change_is_left_with_what_needs_it_and_the_row_says_so() {
    let mut c = Console::staged(120, 40);
    c.press("3 x");
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
            .contains("▼ with aws_s3_bucket.logs")
    );
    assert!(c.line("aws_instance.web ").contains("[ ]"));
    c.shows("aws_db_instance.main and 1 more left along with aws_s3_bucket.logs");
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
fn hidden_rows_are_never_taken_or_left() {
    let mut c = Console::staged(120, 40);
    c.press("3 + 0");
    c.hides("aws_eip.old");
    let leave = |a: &str| Select::Leave(a.to_owned());
    assert_eq!(
        c.take_effects(),
        [Effect::Select(
            12,
            vec![leave("aws_s3_bucket.logs"), leave("aws_db_instance.main")]
        )]
    );
    c.press("+ 0");
    assert_eq!(c.take_effects(), [Effect::Select(12, vec![Select::None])]);
}

#[test]
fn the_diff_shows_json_by_its_structure_and_hides_what_is_sensitive() {
    let mut c = Console::staged(120, 40);
    c.press("3 j enter");
    c.shows("-       \"N\": 1");
    c.shows("+       \"N\": 2");
    c.shows("\"app\"");
    c.press("esc j enter");
    c.shows("(sensitive)");
    c.hides("hunter");
    c.press("esc j");
    c.shows("forces replacement");
    c.shows("(known after apply)");
    c.press("w");
    c.shows("it needs");
    c.shows("aws_iam_role.app");
}

#[test]
fn applying_names_what_is_destroyed_and_defaults_to_no() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.shows("apply stage #12?");
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
            parallelism: 10
        })]
    );
    assert_eq!(c.state.screen, Screen::Deploy);
}

#[test]
fn many_destroys_must_be_typed() {
    let mut c = Console::staged(120, 40);
    c.state.typed_from = 2;
    c.press("3 a y");
    c.press("enter");
    assert!(c.take_effects().is_empty());
    c.press("a");
    c.type_text("destroy 2");
    c.press("enter");
    assert!(matches!(c.take_effects().as_slice(), [Effect::Deploy(_)]));
}

#[test]
fn a_question_is_withdrawn_when_the_stage_changes_under_it() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.event(EventKind::Selected {
        stage: 12,
        taken: vec![],
        left: vec!["aws_eip.old".into()],
    });
    c.hides("apply stage #12?");
    c.shows("look again");
    c.press("y");
    assert!(!c.effects.iter().any(|e| matches!(e, Effect::Deploy(_))));
}

#[test]
fn only_what_was_read_is_applied_after_something_was_left() {
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
fn a_deploy_shows_what_runs_what_failed_and_what_waits() {
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
    c.shows("last lines of hashicorp/aws");
}

#[test]
fn what_runs_is_looked_at_until_the_operator_looks_elsewhere() {
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
fn a_deploy_that_ends_shows_what_failed_unless_the_operator_looks_elsewhere() {
    for (keys, selected) in [("4", "aws_iam_role.app"), ("4 G", "aws_s3_bucket.logs")] {
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
fn the_ladder_names_what_each_rung_hits_and_killing_is_asked_again() {
    let mut c = Console::deploying(120, 40);
    c.press("4 c");
    c.shows("stop starting");
    c.shows("ApplyResourceChange aws_db_instance.main");
    c.press("enter");
    assert_eq!(c.take_effects(), [Effect::Cancel(CancelRung::StopStarting)]);
    c.press("c 3 enter");
    assert!(c.take_effects().is_empty());
    c.shows("kill the plugins?");
    c.press("enter");
    assert!(c.take_effects().is_empty());
    c.press("c 3 enter y");
    assert_eq!(c.take_effects(), [Effect::Cancel(CancelRung::KillPlugins)]);
}

#[test]
fn leaving_during_a_deploy_asks_and_waits_for_it() {
    let mut c = Console::deploying(120, 40);
    c.press("q");
    c.shows("deploy #31 is running");
    c.press("enter");
    assert!(!c.state.quit);
    c.press("q y");
    assert_eq!(c.take_effects(), [Effect::Cancel(CancelRung::StopStarting)]);
    assert!(!c.state.quit);
    c.event(EventKind::DeployFinished(fixture::finished(
        DeployOutcome::Cancelled,
    )));
    assert!(c.state.quit);
}

#[test]
fn control_c_never_kills_a_deploy() {
    let mut c = Console::deploying(120, 40);
    c.press("ctrl-c");
    c.shows("cancel ladder");
    c.press("ctrl-c ctrl-c ctrl-c");
    assert!(!c.state.quit);
    assert!(c.take_effects().is_empty());
}

#[test]
fn what_failed_is_staged_again_alone() {
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
    // What that is, with the replacements and variables of then, the engine finds on record.
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
fn an_old_deploy_is_played_again_event_by_event() {
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
    c.hides("aws_iam_role.app");
    c.shows("Before the deploy began");
    c.hides("No such operations");
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
fn failures_are_grouped_with_what_followed() {
    let mut c = Console::staged(120, 40);
    c.press("5 f");
    c.answer(Answer::Failures(fixture::failures()));
    assert!(c.line("4×").contains("policy is not valid JSON"));
    c.shows("updated in deploy #28");
    c.shows("#31 #27 #24 #22");
    c.press("f");
    c.hides("4×");
}

#[test]
fn the_state_is_a_tree_with_dependencies_both_ways() {
    let mut c = Console::staged(120, 40);
    c.press("6");
    c.answer(Answer::State(fixture::state_rows()));
    c.shows("the root module");
    c.shows("module.network");
    assert!(c.line("    aws_iam_role.app ").contains("✗ tainted"));
    c.press("G");
    c.shows("needed by");
    c.shows("aws_instance.web");
    c.take_effects();
    c.press("P");
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
fn logs_follow_filter_and_search_and_are_harmless() {
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
fn a_search_keeps_the_rows_and_esc_goes_back_to_where_it_began() {
    let mut c = Console::staged(120, 40);
    c.press("3 /");
    c.type_text("eip");
    c.shows("aws_s3_bucket.logs");
    assert_eq!(c.state.list().index, 4);
    c.press("esc");
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
fn help_and_palette_come_from_the_same_table_as_the_keys() {
    let mut c = Console::staged(120, 40);
    c.press("3 ?");
    c.shows("take or leave this change");
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
fn a_workspace_held_by_another_is_read_only_and_says_who() {
    let mut c = Console::staged(120, 40);
    let holder = LockHolder {
        who: "bob".into(),
        host: "ci".into(),
        pid: 99,
        start_time: 1,
        boot_id: "b".into(),
        pid_namespace: String::new(),
        leased: false,
        since: 0,
        reason: "deploy".into(),
    };
    c.event(EventKind::Lock {
        holder: Some(holder.clone()),
        ours: false,
    });
    c.shows("read-only, locked by bob (pid 99)");
    c.press("3 a");
    c.shows("bob on ci holds the workspace");
    c.press("space x * 0 I s D F");
    c.press("1 R S E L");
    // Bob may have left: that is asked, once at a time, and nothing else is done.
    assert_eq!(c.take_effects(), [Effect::HoldLock]);
    c.answer(Answer::Failed {
        what: "lock".into(),
        text: "the workspace is held by bob".into(),
        diagnostics: Vec::new(),
    });
    c.press("3 s");
    assert_eq!(c.take_effects(), [Effect::HoldLock]);
    c.event(EventKind::Lock {
        holder: Some(LockHolder {
            who: "ana".into(),
            ..holder
        }),
        ours: true,
    });
    c.hides("read-only");
    c.shows("it is yours now");
    c.press("s");
    assert_eq!(c.take_effects(), [Effect::Stage(StageRequest::default())]);
}

#[test]
fn an_empty_workspace_is_greeted() {
    let mut c = Console::new(120, 40);
    c.state.configured = false;
    c.shows("Welcome to flightdeck");
    c.shows("main.tf");
    let mut c = Console::new(120, 40);
    c.press("3");
    c.shows("Nothing staged yet");
}

#[test]
fn a_stage_that_failed_shows_the_place_and_the_line() {
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
fn reasons_that_do_not_fit_end_above_the_rule_and_say_so() {
    let mut c = Console::staged(80, 24);
    c.state.frame.notes = vec!["demo".into()];
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
    assert_eq!(lines[21].trim(), "demo", "{frame}");
    assert!(lines[22].chars().all(|cell| cell == '─'), "{frame}");
    assert_eq!(
        lines.iter().filter(|l| l.trim() == "place 1").count(),
        1,
        "once: {frame}"
    );
    c.press("d");
    c.shows("place 9");
}

#[test]
fn an_incident_is_one_key_away() {
    let mut c = Console::staged(120, 40);
    c.event(EventKind::Plugin(PluginEvent::Crash {
        plugin: fixture::id("hashicorp/random"),
        incident: "i-7".into(),
        code: Some(2),
        signal: None,
        text: "panic: nil map".into(),
        trace: vec!["main.go:12".into()],
    }));
    c.press("6");
    c.shows("2 incidents (!)");
    c.press("!");
    assert_eq!(
        c.state.plugin().map(|p| p.id.0.as_str()),
        Some("hashicorp/random")
    );
    c.shows("crash i-7");
    c.shows("main.go:12");
}

#[test]
fn the_demo_says_what_breaks_and_breaks_it() {
    let mut c = Console::staged(120, 40);
    c.state.frame.notes = vec!["demo: B breaks something on purpose, then 5 crash".into()];
    c.state.faults = vec![Fault {
        key: '5',
        id: "crash".into(),
        doc: "the plugin dies".into(),
    }];
    c.shows("5 crash");
    c.press("B");
    c.shows("the plugin dies");
    c.press("5");
    assert_eq!(c.take_effects(), [Effect::Demo("crash".into())]);
}

#[test]
fn the_mouse_selects_scrolls_and_turns_tabs() {
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
fn a_paste_is_not_taken_for_commands() {
    let mut c = Console::staged(120, 40);
    c.press("3 a");
    c.send(Msg::Input(Input::Paste("y\nq".into())));
    assert!(c.take_effects().is_empty() && !c.state.quit);
    c.press("esc");
    c.send(Msg::Input(Input::Paste("qD".into())));
    assert!(c.take_effects().is_empty() && !c.state.quit);
}

#[test]
fn the_cursor_stays_with_its_row_while_rows_move() {
    let mut c = Console::deploying(120, 40);
    c.press("4 G");
    let before = c.state.operation().map(|o| o.address.clone());
    assert_eq!(before.as_deref(), Some("aws_s3_bucket.logs"));
    let mut op = fixture::operation(4, "aws_eip.old", Action::Destroy, OperationState::Done);
    (op.began, op.took_ms) = (Some(fixture::NOW), Some(900_000));
    c.event(EventKind::Operation(op));
    c.frame();
    assert_eq!(c.state.operation().map(|o| o.address.clone()), before);
}
