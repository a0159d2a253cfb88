//! Tests of the event loop with a scripted terminal and engine.

use super::fixture;
use crate::app::State;
use crate::app::key::{Input, Key};
use crate::app::msg::{Effect, Msg};
use crate::app::run::{EventSource, Surface, event_loop};
use model::bus::Update;
use model::{Event, EventKind, PluginEvent, PluginFound, Usage};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tui_logger::TuiWidgetState;

struct Script {
    input: mpsc::Receiver<Input>,
    frames: u32,
    /// Terminal that counts the written bytes.
    terminal: Terminal<CrosstermBackend<Counted>>,
    written: Arc<Mutex<Vec<usize>>>,
    /// Effects of the terminal, with the number of frames drawn before.
    acts: Vec<(Effect, u32)>,
}

impl Surface for Script {
    fn size(&self) -> (u16, u16) {
        (120, 40)
    }

    fn draw(&mut self, state: &State) -> io::Result<()> {
        self.frames += 1;
        self.terminal.draw(|frame| {
            crate::ui::draw(state, &TuiWidgetState::new(), frame.buffer_mut());
        })?;
        Ok(())
    }

    async fn input(&mut self) -> Option<io::Result<Input>> {
        self.input.recv().await.map(Ok)
    }

    fn trigger(&mut self, effect: Effect) -> io::Result<()> {
        self.acts.push((effect, self.frames));
        Ok(())
    }
}

/// Numbers of written bytes, per frame.
#[derive(Default)]
struct Counted(Arc<Mutex<Vec<usize>>>);

impl io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0.lock().unwrap().last_mut().unwrap() += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // A frame ends with a flush.
        self.0.lock().unwrap().push(0);
        Ok(())
    }
}

/// Behaviour of the scripted engine.
#[derive(Clone, Copy, PartialEq)]
enum Engine {
    /// Sends nothing.
    Silent,
    /// Sends the usage of plugins 20 times per second.
    Idle,
    /// Sends events as fast as the loop reads them.
    Flooding,
}

struct Flood {
    seq: u64,
    engine: Engine,
}

impl EventSource for Flood {
    async fn next(&mut self) -> Option<Update> {
        let kind = match self.engine {
            Engine::Silent => std::future::pending().await,
            Engine::Idle => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                usage()
            }
            Engine::Flooding => {
                tokio::task::yield_now().await;
                EventKind::Notice { text: "x".into() }
            }
        };
        self.seq += 1;
        Some(Update::Events(vec![Arc::new(Event {
            seq: self.seq,
            at: fixture::NOW,
            kind,
        })]))
    }
}

fn usage() -> EventKind {
    let usage = Usage {
        pid: 7,
        cpu_percent: 0.3,
        rss_bytes: 18 << 20,
    };
    EventKind::Plugin(PluginEvent::Usage {
        plugin: fixture::id("hashicorp/aws"),
        usage,
    })
}

async fn play(
    engine: Engine,
    script: impl AsyncFnOnce(mpsc::Sender<Input>),
) -> (Script, State, Vec<Effect>) {
    let (keys, input) = mpsc::channel(64);
    let (_answers, mut inbox) = mpsc::channel::<Msg>(8);
    let viewport = Viewport::Fixed(Rect {
        x: 0,
        y: 0,
        width: 120,
        height: 40,
    });
    let written = Arc::new(Mutex::new(vec![0]));
    let terminal = Terminal::with_options(
        CrosstermBackend::new(Counted(written.clone())),
        TerminalOptions { viewport },
    )
    .unwrap();
    let mut surface = Script {
        input,
        frames: 0,
        terminal,
        written,
        acts: Vec::new(),
    };
    let mut state = State::new("w", "/w");
    state.frame.size = surface.size();
    let found = EventKind::Plugin(PluginEvent::Found {
        plugin: fixture::id("hashicorp/aws"),
        found: PluginFound::default(),
    });
    for kind in [found, usage()] {
        let (seq, at) = (0, fixture::NOW);
        state.view.apply(&Event { seq, at, kind });
    }
    let mut effects = Vec::new();
    let cancel = CancellationToken::new();
    {
        let mut feed = Flood { seq: 0, engine };
        let run = event_loop(
            &mut surface,
            &mut state,
            &mut feed,
            &mut inbox,
            &cancel,
            |e| effects.push(e),
        );
        let (ended, ()) = tokio::join!(run, script(keys));
        ended.unwrap();
    }
    (surface, state, effects)
}

/// This test and the last but one use the runtime's paused clock, which advances when all tasks are
/// idle.
#[tokio::test(start_paused = true)]
async fn idle_console_draws_once_per_clock_tick_and_writes_little() {
    for engine in [Engine::Silent, Engine::Idle] {
        let (surface, state, _) = play(engine, async |keys| {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            keys.send(Input::Key(Key::char('q'))).await.unwrap();
        })
        .await;
        // Each tick of the clock takes one sample, so this holds on slow machines, too.
        let ticks = u32::try_from(state.samples.running.len()).unwrap();
        assert!(ticks >= 2, "{ticks}");
        // The first frame, one per tick, and one for the key.
        assert!(
            surface.frames <= ticks + 2,
            "{} frames in {ticks} ticks",
            surface.frames
        );
        let written: Vec<usize> = surface
            .written
            .lock()
            .unwrap()
            .iter()
            .copied()
            .filter(|n| *n > 0)
            .collect();
        assert!(
            written[0] > 200,
            "the first frame is a whole one: {written:?}"
        );
        // The second frame has the first sample of the memory.
        assert!(
            written[2..].iter().all(|n| *n < 200),
            "the clock alone has changed: {written:?}"
        );
    }
}

#[tokio::test]
async fn event_flood_is_limited_to_thirty_frames_a_second_and_keys_still_work() {
    let began = std::time::Instant::now();
    let (surface, state, _) = play(Engine::Flooding, async |keys| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        keys.send(Input::Key(Key::char('y'))).await.unwrap();
        keys.send(Input::Key(Key::char('M'))).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        keys.send(Input::Key(Key::char('q'))).await.unwrap();
    })
    .await;
    assert!(state.ending.quit);
    let most = began.elapsed().as_secs_f64() * 30.0 + 12.0;
    assert!(
        surface.frames >= 3 && f64::from(surface.frames) <= most,
        "{} frames, and {most} at most",
        surface.frames
    );
    assert!(
        matches!(
            surface.acts.as_slice(),
            [(Effect::Copy(_), _), (Effect::Mouse(false), _)]
        ),
        "{:?}",
        surface.acts
    );
}

#[tokio::test(start_paused = true)]
async fn key_press_is_drawn_immediately() {
    let (surface, ..) = play(Engine::Silent, async |keys| {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            keys.send(Input::Key(Key::char('?'))).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(keys);
    })
    .await;
    assert!(surface.frames >= 20, "{}", surface.frames);
}

#[tokio::test]
async fn startup_requests_the_displayed_data() {
    let (.., effects) = play(Engine::Silent, async |keys| drop(keys)).await;
    for e in [
        Effect::WatchWorkspace,
        Effect::LoadPlugins,
        Effect::LoadHistory,
        Effect::LoadState,
        Effect::LoadLogs,
    ] {
        assert!(effects.contains(&e), "{e:?}");
    }
}
