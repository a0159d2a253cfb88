//! Tests of the Plugins and Calls screens.

use super::{Console, fixture};
use crate::app::doc::Role;
use crate::app::layout;
use crate::app::msg::{Answer, Effect};
use crate::ui::Theme;
use model::*;

#[test]
fn builtin_provider_shows_no_process_and_cannot_be_controlled() {
    let mut c = Console::new(120, 40);
    let found = PluginFound {
        address: "terraform.io/builtin/terraform".into(),
        version: None,
        dialect: Some("builtin".into()),
        executable: None,
        source: "builtin".into(),
        why: "part of flightdeck".into(),
        ..PluginFound::default()
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
    c.shows("needs no process and is never launched");
    c.hides("not launched yet");
    for key in ["R", "S", "E"] {
        c.take_effects();
        c.press(key);
        c.shows("this plugin is part of flightdeck and has no process");
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
fn plugins_screen_shows_launch_results() {
    let mut c = Console::staged(120, 40);
    assert!(c.line("acme/legacy ").contains("✗ gave up"));
    assert!(c.line("hashicorp/aws ").contains("● ready"));
    let frame = c.frame();
    // Header and title count in the same way.
    let lines: Vec<&str> = frame.lines().collect();
    assert!(lines[0].contains("● 2 of 4 plugins ready ◌ 1 retrying"));
    assert!(lines[3].contains("plugins · 2 of 4 ready · 1 retrying · 1 gave up: its resources"));
}

/// One failure has the colour of a failure in its row, in its reason and in the badge only.
#[test]
fn failed_plugin_is_red_in_its_row_its_reason_and_the_badge_only() {
    let mut c = Console::staged(120, 40);
    // The cursor leaves the row, whose colours would be those of the cursor.
    c.press("G");
    let reds = |c: &mut Console| {
        let theme = c.state.shown_theme().clone();
        let red = Theme::of(&theme, c.state.frame.appearance)
            .style(Role::Bad)
            .fg;
        let buffer = c.buffer();
        let of = |y| (0..120).any(|x| buffer.cell((x, y)).map(|cell| cell.fg) == red);
        let lines = super::lines(&buffer);
        let below_tabs = layout::areas(&c.state).tabs.bottom();
        let reds = (below_tabs..40).filter(|y| of(*y));
        reds.map(|y| lines[usize::from(y)].clone())
            .collect::<Vec<_>>()
    };
    let all = reds(&mut c);
    assert!(
        matches!(&all[..], [row] if row.contains("✗ gave up")),
        "{all:?}"
    );
    c.press("g tab");
    let all = reds(&mut c);
    assert!(
        matches!(&all[..], [_, reason] if reason.contains("panic")),
        "{all:?}"
    );
    c.press("2");
    assert_eq!(reds(&mut c), Vec::<String>::new());
}

#[test]
fn plugin_panes_change_with_arrow_keys_and_open_with_enter() {
    let mut c = Console::staged(120, 40);
    // acme/legacy sorts first.
    c.shows("launch 5 of 5  14:00:17  ✗ exit code 2 after 44 ms");
    for row in [
        "process started    2 ms  ━━",
        "first output      29 ms    ━━━━",
        "exited            13 ms                                   ━━━━",
        "  1 to 4 of 5  from 14:00:01  ✗ exit code 2 after 44 ms  same reason",
    ] {
        c.shows(row);
    }
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
        covers: false,
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
        words,
        ["ReadResource", "3", "3"],
        "how long one takes that goes well is not known"
    );
    c.press("right");
    c.shows("no output yet");
    c.press("left left left enter");
    c.hides("hashicorp/random");
    c.press("esc");
    c.shows("hashicorp/random");
}

#[test]
fn schema_is_loaded_when_viewed_and_can_be_expanded() {
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
    c.shows("▸ aws_vpc");
    c.hides("cidr");
    c.press("j enter");
    c.shows("▾ aws_vpc");
    c.shows("cidr");
    c.press("&");
    c.type_text("eip");
    c.press("enter");
    c.hides("aws_vpc");
    c.press("esc esc");
    c.shows("hashicorp/random");
}

#[test]
fn plugin_without_a_process_cannot_be_stopped() {
    let mut c = Console::staged(120, 40);
    let states = [
        (
            PluginState::GaveUp {
                why: "no handshake".into(),
            },
            "this plugin has no process",
        ),
        (PluginState::Stopped, "this plugin has no process"),
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

/// Keys at the end of the frame, up to the general ones.
fn footer(c: &mut Console) -> String {
    let frame = c.frame();
    let line = frame.lines().last().unwrap_or_default();
    line.split(" right next tab")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn footer_and_detail_have_the_keys_that_act_on_the_plugin() {
    let mut c = Console::staged(120, 40);
    assert_eq!(footer(&mut c), " l logs  R start  enter open ");
    c.shows("  R       starts it again");
    c.shows("  l       shows its log");
    c.press("G");
    assert_eq!(footer(&mut c), " enter open  l logs  R restart  S stop ");
    c.hides("starts it again");
    // A rejected plugin has nothing to launch.
    let why = "no handshake".to_owned();
    c.event(EventKind::Plugin(PluginEvent::State {
        plugin: fixture::id("hashicorp/random"),
        state: PluginState::Rejected { why },
    }));
    c.hides("starts it again");
    c.shows("  l       shows its log");
}

#[test]
fn stopping_a_plugin_in_use_lists_its_calls_and_defaults_to_no() {
    let mut c = Console::deploying(120, 40);
    c.press("1 g j j S");
    c.shows("Stop hashicorp/aws?");
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
fn calls_screen_shows_the_blocking_call() {
    let mut c = Console::deploying(120, 40);
    c.press("2");
    c.shows("longest: aws_db_instance.main (ApplyResourceChange");
    c.shows("blocks 1 call");
    assert!(
        c.line("PlanResourceChange")
            .contains("slot of hashicorp/aws, held by")
    );
    let row = c.line("ApplyResourceChange  aws_db_instance.main");
    assert!(
        row.starts_with("     1  ") && row.contains("over p95"),
        "{row}"
    );
    // Finished calls are newest first, so no column has a mark of its order.
    c.shows("finished (last 2, newest first)");
    c.shows("PLUGIN  ");
    c.press("j b");
    c.frame();
    assert_eq!(c.state.selected().and_then(|r| r.key.number()), Some(7));
}

#[test]
fn few_calls_have_a_range_instead_of_percentiles() {
    let mut c = Console::staged(120, 40);
    let mut finish = |call, took_ms: u64, count, median| {
        let method = Latency {
            count,
            errors: 0,
            p50_ms: median,
            p95_ms: median,
            max_ms: took_ms,
        };
        c.event(EventKind::CallFinished(CallFinished {
            call,
            plugin: fixture::id("hashicorp/aws"),
            method: "ReadResource".into(),
            resource: None,
            resource_type: None,
            action: None,
            took_ms,
            outcome: CallOutcome::Ok,
            error: None,
            again: None,
            covers: false,
            measured: Some(Measured {
                method,
                plugin: method,
            }),
        }));
        c.press("2");
        c.line("statistics   ")
    };
    let mut has = |call, took_ms, count, text: &str| {
        let line = finish(call, took_ms, count, 905);
        assert!(line.contains(text), "{line}");
    };
    has(901, 905, 1, ": 1 call, 905 ms");
    has(902, 990, 2, "2 calls, 905 ms to 990 ms");
    has(903, 1_200, 3, "3 calls, 905 ms to 1.2 s");
    // Calls of earlier runs are not on the screen.
    has(904, 1_200, 9, "9 calls, median 905 ms, max 1.2 s");
    has(
        905,
        1_200,
        20,
        "20 calls, p50 905 ms, p95 905 ms, max 1.2 s",
    );
}

#[test]
fn charts_remain_visible_without_calls() {
    for (width, height) in [(120, 40), (80, 24), (40, 12)] {
        let mut c = Console::staged(width, height);
        c.press("2");
        // The smallest screen has no space for charts.
        let charts = c
            .frame()
            .lines()
            .any(|l| l.contains(" running ") && l.contains(" calls/s"));
        assert_eq!(charts, height > 12);
        // The chart of waiting calls is absent while none has waited.
        c.hides("0 waiting");
        c.shows("   No call is running or waiting.");
    }
}

#[test]
fn transformer_is_shown_as_unusable_and_blocks_nothing() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = Console::new(width, height);
        let plugin = fixture::id("bluelink/run");
        let found = PluginFound {
            kind: PluginKind::Transformer,
            address: "registry.bluelink.dev/bluelink/run".into(),
            version: Some("1.0.0".into()),
            dialect: Some("bluelink1.0".into()),
            transform: Some("fake-2024-11-20".into()),
            ..PluginFound::default()
        };
        c.event(EventKind::Plugin(PluginEvent::Found {
            plugin: plugin.clone(),
            found,
        }));
        c.press("1");
        c.shows("not launched yet: starts with the console, or press s");
        c.event(EventKind::Plugin(PluginEvent::State {
            plugin: plugin.clone(),
            state: PluginState::Ready {
                since: fixture::NOW,
            },
        }));
        assert!(c.line(" bluelink/run ").contains("● ready"));
        c.shows("transformer, \"fake-2024-11-20\" in blueprints; a configuration cannot use");
        c.take_effects();
        c.press("right");
        c.shows("no schema: a configuration cannot use transformers");
        c.press("enter");
        c.shows("This plugin has no schema: a configuration cannot use transformers.");
        c.press("esc");
        assert_eq!(c.take_effects(), [], "no schema is asked for");
        c.press("left left");
        c.shows("none: a configuration cannot use transformers");
        c.press("/");
        c.type_text("2024-11");
        c.press("enter");
        let state = PluginState::GaveUp {
            why: "no licence".into(),
        };
        c.event(EventKind::Plugin(PluginEvent::State { plugin, state }));
        assert!(c.line(" bluelink/run ").contains("✗ gave up"));
        c.shows("no licence");
        c.hides("cannot be staged");
    }
}

#[test]
fn removed_plugin_leaves_the_list_and_the_header_also_if_its_last_line_comes_late() {
    let mut c = Console::staged(120, 40);
    c.press("1 g");
    c.shows("2 of 4 plugins ready");
    c.event(EventKind::Plugin(PluginEvent::Removed {
        plugin: fixture::id("acme/legacy"),
    }));
    c.event(fixture::log("acme/legacy", LogLevel::Info, "stopping"));
    c.event(EventKind::Plugin(PluginEvent::State {
        plugin: fixture::id("acme/legacy"),
        state: PluginState::Stopped,
    }));
    c.shows("acme/legacy was stopped: nothing requires it any more");
    c.shows("2 of 3 plugins ready");
    let frame = c.frame();
    let list = frame.lines().skip(4).filter(|l| l.contains("acme/legacy "));
    assert_eq!(list.count(), 1, "the message only:\n{frame}");
}

/// The log shows the newest lines first, so the panic would be the last of its trace.
#[test]
fn failure_by_a_crash_opens_with_its_reason_and_the_panic() {
    let panic = "panic: runtime error: invalid memory address or nil pointer dereference";
    let signal = "[signal SIGSEGV: segmentation violation code=0x1]";
    let mut c = Console::deploying(120, 40);
    let mut op = fixture::operation(
        1,
        "aws_iam_role.app",
        Action::Update,
        OperationState::Failed,
    );
    let lines = ["updating role", panic, signal, "", "goroutine 1 [running]:"];
    let mut failure = Failure {
        class: FailureClass::PluginCrashed,
        summary: format!("hashicorp/aws crashed during use: exit code 2: {panic} {signal}"),
        detail: "The outcome is unknown.".into(),
        incident: Some("i-9".into()),
        last_lines: lines.map(str::to_owned).into(),
        last_lines_at: (0..5).map(|n| fixture::NOW + 900 + n).collect(),
        ..fixture::failure()
    };
    op.failure = Some(Box::new(failure.clone()));
    c.event(EventKind::Operation(op.clone()));
    c.press("4 / i a m enter");
    let frame = c.frame();
    let detail: Vec<&str> = frame
        .lines()
        .skip_while(|l| !l.starts_with(" plugin crashed: "))
        .collect();
    assert_eq!(
        detail[0].trim_end(),
        " plugin crashed: hashicorp/aws crashed during use: exit code 2",
        "{frame}"
    );
    assert!(detail[1].contains(&format!(".901 {panic}")), "{frame}");
    let first = |text: &str| detail.iter().position(|l| l.contains(text));
    assert!(
        first("The outcome is unknown.") < first("updating role"),
        "{frame}"
    );

    // A plugin that was killed has no panic, and an old record has no times.
    failure.last_lines_at.clear();
    op.failure = Some(Box::new(failure.clone()));
    c.event(EventKind::Operation(op.clone()));
    c.shows(&format!("   {panic}"));
    failure.last_lines = vec!["updating role".into()];
    op.failure = Some(Box::new(failure));
    c.event(EventKind::Operation(op));
    c.shows("crashed during use: exit code 2: panic: runtime error");
}
