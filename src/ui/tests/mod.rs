//! Tests of the console without a terminal: they press keys and check frames.

mod applied_stage;
mod applying;
mod calls;
mod deploying;
mod drift;
mod every_key;
mod filters;
mod fixture;
mod frames;
mod groups;
mod keys;
mod logs;
mod messages;
mod mouse;
mod natural_order;
mod observations;
mod opened_stage;
mod plan_options;
mod plugins;
mod popup_keys;
mod processes;
mod reading;
mod replay;
mod revealing;
mod run_loop;
mod schema;
mod selecting;
mod sizes;
mod staged;
mod staging;
mod start;
mod themes;
mod trail;
mod trees;
mod unknown_outcomes;
mod widths;
mod workspaces;

use crate::app::key::{Input, Key};
use crate::app::msg::{Answer, Effect, Msg};
use crate::app::{State, refresh_lists, update};
use model::{Event, EventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use tui_logger::TuiWidgetState;

/// Console under test.
pub struct Console {
    pub state: State,
    pub effects: Vec<Effect>,
    seq: u64,
}

impl Console {
    pub fn new(width: u16, height: u16) -> Self {
        let mut state = State::new("shop-prod", "/home/ana/shop-prod");
        (state.now, state.frame.size) = (fixture::NOW, (width, height));
        Self {
            state,
            effects: Vec::new(),
            seq: 0,
        }
    }

    /// Creates a console with ready plugins and a stage.
    pub fn staged(width: u16, height: u16) -> Self {
        let mut c = Self::new(width, height);
        for e in fixture::plugins().into_iter().chain(fixture::staged()) {
            c.event(e);
        }
        c.tick(0);
        c
    }

    /// Creates a console with a running deploy.
    pub fn deploying(width: u16, height: u16) -> Self {
        let mut c = Self::staged(width, height);
        for e in fixture::deploying() {
            c.event(e);
        }
        c.tick(62_000);
        c
    }

    pub fn send(&mut self, msg: Msg) {
        let effects = update(&mut self.state, msg);
        self.effects.extend(effects);
    }

    pub fn event(&mut self, kind: EventKind) {
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            at: self.state.now,
            kind,
        };
        self.send(Msg::Events(vec![Arc::new(event)]));
    }

    pub fn answer(&mut self, answer: Answer) {
        self.send(Msg::Answer(answer));
    }

    /// Advances the time by a number of milliseconds.
    pub fn tick(&mut self, ms: i64) {
        let now = self.state.now + ms;
        self.send(Msg::Tick(now));
    }

    /// Presses keys, separated by blanks.
    pub fn press(&mut self, keys: &str) {
        for k in keys.split_whitespace() {
            let key: Key = k.parse().unwrap();
            self.send(Msg::Input(Input::Key(key)));
        }
    }

    /// Types text, character by character.
    pub fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.send(Msg::Input(Input::Key(Key::char(c))));
        }
    }

    pub fn buffer(&mut self) -> Buffer {
        refresh_lists(&mut self.state);
        let (width, height) = self.state.frame.size;
        let mut buffer = Buffer::empty(Rect {
            x: 0,
            y: 0,
            width,
            height,
        });
        super::draw(&self.state, &TuiWidgetState::new(), &mut buffer);
        buffer
    }

    /// Returns the frame as text.
    pub fn frame(&mut self) -> String {
        lines(&self.buffer()).join("\n")
    }

    /// Returns the line of the frame, below header, tabs and title, that contains a text.
    #[track_caller]
    pub fn line(&mut self, part: &str) -> String {
        let frame = self.frame();
        frame
            .lines()
            .skip(4)
            .find(|l| l.contains(part))
            .unwrap_or_else(|| panic!("no {part:?} in\n{frame}"))
            .to_owned()
    }

    /// Fails with the frame if it does not contain a text.
    #[track_caller]
    pub fn shows(&mut self, part: &str) {
        let frame = self.frame();
        assert!(frame.contains(part), "no {part:?} in\n{frame}");
    }

    #[track_caller]
    pub fn hides(&mut self, part: &str) {
        let frame = self.frame();
        assert!(!frame.contains(part), "{part:?} is in\n{frame}");
    }

    /// Takes the effects since the last call, except for checks of the stage, the outputs of a
    /// loaded state and the operations of an earlier deploy, which change nothing.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        let mut effects = std::mem::take(&mut self.effects);
        effects.retain(|e| {
            !matches!(
                e,
                Effect::CheckStage(_) | Effect::LoadOutputs | Effect::LoadOperations(_)
            )
        });
        effects
    }

    /// Writes the frame with its colours to the directory in `FLIGHTDECK_FRAMES`, if set.
    pub fn dump(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("FLIGHTDECK_FRAMES") else {
            return;
        };
        let buffer = self.buffer();
        let mut bytes = Vec::new();
        let viewport = ratatui::Viewport::Fixed(buffer.area);
        let mut terminal = ratatui::Terminal::with_options(
            ratatui::backend::CrosstermBackend::new(&mut bytes),
            ratatui::TerminalOptions { viewport },
        )
        .unwrap();
        terminal.draw(|f| *f.buffer_mut() = buffer.clone()).unwrap();
        drop(terminal);
        let head = format!("{} {}\n", buffer.area.width, buffer.area.height);
        let path = std::path::Path::new(&directory).join(format!("{name}.frame"));
        std::fs::write(path, [head.as_bytes(), &bytes].concat()).unwrap();
    }
}

/// Lines of a buffer, without the second cell of wide characters.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    (buffer.area.top()..buffer.area.bottom())
        .map(|y| {
            let mut line = String::new();
            let mut x = 0;
            while x < buffer.area.right() {
                let symbol = buffer.cell((x, y)).unwrap().symbol();
                line.push_str(symbol);
                x += u16::try_from(crate::app::text::width(symbol).max(1)).unwrap();
            }
            line.trim_end().to_owned()
        })
        .collect()
}
