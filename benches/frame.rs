//! Costs of a frame of 200×60 cells over thousands of rows. Each frame runs `settle` and `draw`; a
//! key press adds `update`; `terminal` includes the output bytes. Target: less than 5 ms each.

#[path = "fixture/rows.rs"]
mod rows;

use divan::{Bencher, black_box};
use flightdeck::app::key::{Input, Key, KeyCode};
use flightdeck::app::msg::{Answer, Msg};
use flightdeck::app::replay::Replay;
use flightdeck::app::{State, refresh_lists, update};
use model::*;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rows::{NOW, address, row};
use std::sync::Arc;
use tui_logger::TuiWidgetState;

const SIZE: (u16, u16) = (200, 60);
const ROWS: usize = 5_000;

fn main() {
    divan::main();
}

/// Screens of the console.
const SCREENS: [&str; 8] = [
    "plugins",
    "calls",
    "stage",
    "stage unfolded",
    "deploy",
    "state",
    "logs",
    "logs wrapped",
];

fn keys(screen: &str) -> &'static str {
    match screen {
        "plugins" => "1",
        "calls" => "2",
        "stage" => "3",
        "stage unfolded" => "3Z",
        "deploy" => "4",
        "state" => "6",
        "logs" => "7",
        _ => "7w",
    }
}

/// Four plugins with ten slots each.
fn plugin(i: usize) -> PluginId {
    rows::plugin(i % 4)
}

fn operation(i: usize) -> Operation {
    let state = match i % 100 {
        0 => OperationState::Running,
        1 => OperationState::Failed,
        2..50 => OperationState::Done,
        _ => OperationState::Waiting,
    };
    rows::operation(i, plugin(i), state)
}

fn events() -> Vec<EventKind> {
    let mut all = Vec::new();
    for i in 0..4 {
        all.push(EventKind::Plugin(PluginEvent::State {
            plugin: plugin(i),
            state: PluginState::Ready {
                since: NOW - 100_000,
            },
        }));
    }
    for i in 0..20_000 {
        let line = LogLine {
            plugin: plugin(i),
            at: NOW - 50_000 + i64::try_from(i).unwrap_or(0),
            level: LogLevel::Info,
            stream: LogStream::Stderr,
            module: None,
            text: format!(
                "created resource=aws_security_group_rule id=sgr-{i} with a text that goes on for a while"
            ),
            panic: false,
        };
        all.push(EventKind::Plugin(PluginEvent::Log { line }));
    }
    all.push(rows::staged(ROWS));
    all.push(rows::deploy_started((0..ROWS).map(operation).collect()));
    for call in 0..ROWS as u64 {
        let method = "ApplyResourceChange".into();
        let (plugin, resource) = (plugin(call as usize), Some(address(call as usize).into()));
        let waits_for = "slot of hashicorp/provider0".to_owned();
        // Four plugins with ten slots each; all other calls wait.
        if call < 40 {
            let (slot, slots) = (u32::try_from(call).unwrap_or(0) / 4 + 1, 10);
            let deadline_ms = Some(600_000);
            all.push(EventKind::CallStarted(CallStarted {
                call,
                plugin,
                slot,
                slots,
                method,
                resource,
                deadline_ms,
                usual: None,
                queued_ms: 0,
            }));
        } else {
            all.push(EventKind::CallQueued(CallQueued {
                call,
                plugin,
                method,
                resource,
                waits_for,
                blocker: Some(call % 40),
                deadline_ms: None,
            }));
        }
    }
    all
}

/// Returns the console on one screen, scrolled to the middle of its rows.
fn console(screen: &str) -> State {
    let mut state = State::new("shop-prod", "/home/ana/shop-prod");
    (state.now, state.frame.size) = (NOW, SIZE);
    for (i, kind) in events().into_iter().enumerate() {
        update(
            &mut state,
            Msg::Events(vec![Arc::new(Event {
                seq: i as u64 + 1,
                at: NOW,
                kind,
            })]),
        );
    }
    update(
        &mut state,
        Msg::Answer(Answer::State((0..ROWS).map(row).collect())),
    );
    update(&mut state, Msg::Tick(NOW + 1_000));
    for c in keys(screen).chars() {
        press(&mut state, c);
    }
    // To the end and back up, so that rows above and below the window exist.
    press(&mut state, 'G');
    for _ in 0..20 {
        update(&mut state, Msg::Input(Input::Key(Key::ctrl('u'))));
    }
    state
}

fn press(state: &mut State, c: char) {
    black_box(update(state, Msg::Input(Input::Key(Key::char(c)))));
}

#[divan::bench(args = SCREENS)]
fn settle_and_draw(bencher: Bencher<'_, '_>, screen: &str) {
    let mut state = console(screen);
    let tracing = TuiWidgetState::new();
    bencher.bench_local(|| {
        refresh_lists(&mut state);
        let mut buffer = Buffer::empty(Rect {
            x: 0,
            y: 0,
            width: SIZE.0,
            height: SIZE.1,
        });
        flightdeck::ui::draw(&state, &tracing, &mut buffer);
        buffer
    });
}

#[divan::bench(args = SCREENS)]
fn key_to_frame(bencher: Bencher<'_, '_>, screen: &str) {
    let mut state = console(screen);
    let tracing = TuiWidgetState::new();
    // Alternates, so that the cursor does not reach an end, where a key changes nothing.
    let mut down = false;
    bencher.bench_local(|| {
        down = !down;
        press(&mut state, if down { 'j' } else { 'k' });
        refresh_lists(&mut state);
        let mut buffer = Buffer::empty(Rect {
            x: 0,
            y: 0,
            width: SIZE.0,
            height: SIZE.1,
        });
        flightdeck::ui::draw(&state, &tracing, &mut buffer);
        buffer
    });
}

#[divan::bench(args = SCREENS)]
fn terminal(bencher: Bencher<'_, '_>, screen: &str) {
    let mut state = console(screen);
    let tracing = TuiWidgetState::new();
    let viewport = Viewport::Fixed(Rect {
        x: 0,
        y: 0,
        width: SIZE.0,
        height: SIZE.1,
    });
    let backend = CrosstermBackend::new(std::io::sink());
    let Ok(mut terminal) = Terminal::with_options(backend, TerminalOptions { viewport }) else {
        return;
    };
    let mut down = false;
    bencher.bench_local(|| {
        down = !down;
        // Half a page, so that most of the screen changes.
        update(
            &mut state,
            Msg::Input(Input::Key(Key::ctrl(if down { 'd' } else { 'u' }))),
        );
        refresh_lists(&mut state);
        terminal
            .draw(|frame| {
                flightdeck::ui::draw(&state, &tracing, frame.buffer_mut());
            })
            .is_ok()
    });
}

/// Returns a console on a change of two JSON documents of about 190 kB; `whole` shows all of it.
fn documents(whole: bool) -> State {
    let document = |tag: &str| {
        let statements: Vec<String> = (0..2_400)
            .map(|i| {
                let tag = if i % 100 == 0 { tag } else { "v1" };
                format!(
                    r#"{{"Sid":"S{i}","Action":["s3:GetObject"],"Resource":"*","Tag":"{tag}"}}"#
                )
            })
            .collect();
        let json = format!(r#"{{"Statement":[{}]}}"#, statements.join(","));
        Some(format!("{json:?}"))
    };
    let mut change = rows::change(0);
    change.attributes[0].before = document("v1");
    change.attributes[0].after = document("v2");
    let mut state = State::new("shop-prod", "/home/ana/shop-prod");
    (state.now, state.frame.size) = (NOW, SIZE);
    let stage = StageSummary {
        stage: 12,
        mode: StageMode::Normal,
        configuration_of: None,
        at: NOW,
        took_ms: 900,
        counts: Counts::default(),
        changes: vec![change],
        outputs: Vec::new(),
        drift: Vec::new(),
        left: Vec::new(),
        secrets: Vec::new(),
        state_edits: Vec::new(),
        groups: Vec::new(),
    };
    let event = Event {
        seq: 1,
        at: NOW,
        kind: EventKind::Staged(stage.into()),
    };
    update(&mut state, Msg::Events(vec![Arc::new(event)]));
    press(&mut state, '3');
    if whole {
        press(&mut state, 'z');
        update(
            &mut state,
            Msg::Input(Input::Key(Key::plain(KeyCode::Enter))),
        );
        press(&mut state, 'G');
    }
    state
}

#[divan::bench(args = [false, true])]
fn long_documents(bencher: Bencher<'_, '_>, whole: bool) {
    let mut state = documents(whole);
    let tracing = TuiWidgetState::new();
    bencher.bench_local(|| {
        refresh_lists(&mut state);
        let mut buffer = Buffer::empty(Rect {
            x: 0,
            y: 0,
            width: SIZE.0,
            height: SIZE.1,
        });
        flightdeck::ui::draw(&state, &tracing, &mut buffer);
        buffer
    });
}

/// Number of events of a long deploy.
const EVENTS: usize = 20_000;

/// Replay of a deploy of [`ROWS`] operations, each with a call.
fn replay() -> Replay {
    let mut kinds = vec![EventKind::DeployStarted(DeployStarted {
        deploy: 31,
        stage: 12,
        mode: StageMode::Normal,
        who: "ana".into(),
        host: "deck".into(),
        parallelism: 10,
        operations: (0..ROWS).map(operation).collect(),
    })];
    for n in 0.. {
        let mut operation = operation(n % ROWS);
        operation.state = OperationState::Running;
        kinds.push(EventKind::Operation(operation.clone()));
        let call = CallFinished {
            call: n as u64,
            plugin: plugin(n),
            method: "ApplyResourceChange".into(),
            resource: Some(address(n % ROWS).into()),
            resource_type: None,
            action: None,
            took_ms: 12,
            outcome: CallOutcome::Ok,
            error: None,
            again: None,
            covers: false,
            measured: None,
        };
        kinds.push(EventKind::CallFinished(call));
        operation.state = OperationState::Done;
        kinds.push(EventKind::Operation(operation));
        if kinds.len() >= EVENTS {
            break;
        }
    }
    let events = kinds.into_iter().zip(1..);
    let events = events.map(|(kind, seq)| Event { seq, at: NOW, kind });
    let record = DeployRecord {
        summary: DeploySummary {
            deploy: 31,
            stage: 12,
            mode: StageMode::Normal,
            began: NOW,
            ended: Some(NOW),
            who: "ana".into(),
            host: "deck".into(),
            outcome: DeployOutcome::Failed,
            operations: OperationCounts::default(),
            counts: Counts::default(),
            config_digest: String::new(),
        },
        operations: (0..ROWS).map(operation).collect(),
        events: events.collect(),
    };
    Replay::at(record, usize::MAX)
}

/// One step of a replay, from its end back or from its middle forward.
#[divan::bench(args = ["back", "forward"])]
fn replay_step(bencher: Bencher<'_, '_>, direction: &str) {
    let mut replay = replay();
    if direction == "forward" {
        replay.seek(EVENTS / 2);
    }
    bencher.bench_local(|| {
        let next = match direction {
            "forward" => replay.next(),
            _ => replay.previous(),
        };
        replay.seek(next);
        black_box(replay.view().operations.len())
    });
}
