//! The console's event loop with a key at fixed times, and a terminal that discards its output.

use crate::{ms, resident};
use flightdeck::app::key::{Input, Key};
use flightdeck::app::msg::{Answer, Effect, Msg};
use flightdeck::app::run::{Surface, event_loop};
use flightdeck::app::{State, update};
use model::bus::Subscription;
use model::now_ms;
use model::view::View;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use std::io::{Sink, sink};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tui_logger::TuiWidgetState;

/// Key presses of one measurement, and their interval: three seconds in total.
const KEYS: usize = 150;
const BETWEEN: Duration = Duration::from_millis(20);
const SIZE: (u16, u16) = (200, 60);

/// Times from key presses to the screen.
pub struct Seen {
    took: Vec<Duration>,
    before: u64,
    after: u64,
}

impl Seen {
    pub fn print(mut self, load: &str, target: Duration) {
        self.took.sort_unstable();
        // Percentiles of the sorted times.
        let at = |part: usize| self.took[(self.took.len() - 1) * part / 100];
        println!(
            "{load:<40} key to screen: median {:.1} ms, 99th percentile {:.1} ms, maximum {:.1} ms (target {:.0} ms); memory: {} MB before, {} MB after",
            ms(at(50)),
            ms(at(99)),
            ms(at(100)),
            ms(target),
            self.before,
            self.after
        );
    }
}

/// Runs the console's loop on this screen for a number of keys, after these answers.
pub async fn console(
    (view, mut feed): (View, Subscription),
    screen: char,
    answers: Vec<Answer>,
) -> Seen {
    let mut state = State::new("bench", "/bench");
    // The event loop normally sets these from the engine and the terminal.
    (state.view, state.frame.size) = (view, SIZE);
    (state.now, state.place.configured) = (now_ms(), true);
    for answer in answers {
        update(&mut state, Msg::Answer(answer));
    }
    update(&mut state, Msg::Input(Input::Key(Key::char(screen))));
    let viewport = Viewport::Fixed(Rect::new(0, 0, SIZE.0, SIZE.1));
    let options = TerminalOptions { viewport };
    let mut surface = Nowhere {
        terminal: Terminal::with_options(CrosstermBackend::new(sink()), options).unwrap(),
        tracing: TuiWidgetState::new(),
        next: Instant::now() + BETWEEN,
        pressed: None,
        took: Vec::new(),
    };
    let before = resident();
    // Held open, so that the loop sees an engine that does not respond.
    let (_answers, mut inbox) = mpsc::channel(1);
    let cancel = CancellationToken::new();
    event_loop(
        &mut surface,
        &mut state,
        &mut feed,
        &mut inbox,
        &cancel,
        drop,
    )
    .await
    .unwrap();
    Seen {
        took: surface.took,
        before,
        after: resident(),
    }
}

/// Terminal that discards its output and presses a key at intervals.
struct Nowhere {
    terminal: Terminal<CrosstermBackend<Sink>>,
    tracing: TuiWidgetState,
    /// Time of the next key press.
    next: Instant,
    /// Key press that no frame has shown yet.
    pressed: Option<Instant>,
    took: Vec<Duration>,
}

impl Surface for Nowhere {
    fn size(&self) -> (u16, u16) {
        SIZE
    }

    fn draw(&mut self, state: &State) -> std::io::Result<()> {
        let tracing = &self.tracing;
        self.terminal.draw(|frame| {
            flightdeck::ui::draw(state, tracing, frame.buffer_mut());
        })?;
        if let Some(pressed) = self.pressed.take() {
            self.took.push(pressed.elapsed());
        }
        Ok(())
    }

    async fn input(&mut self) -> Option<std::io::Result<Input>> {
        // The end of the input ends the event loop.
        if self.took.len() >= KEYS {
            return None;
        }
        tokio::time::sleep_until(self.next.into()).await;
        // Counted from the scheduled time, even if the loop was late.
        self.pressed.get_or_insert(self.next);
        // Fixed times, so that a slow frame does not delay the following keys.
        self.next += BETWEEN;
        let key = if self.took.len().is_multiple_of(2) {
            'j'
        } else {
            'k'
        };
        Some(Ok(Input::Key(Key::char(key))))
    }

    fn trigger(&mut self, _: Effect) -> std::io::Result<()> {
        Ok(())
    }
}
