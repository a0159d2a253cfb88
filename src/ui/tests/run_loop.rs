//! The loop, fed by a script instead of a terminal and an engine.

use super::fixture;
use crate::app::State;
use crate::app::key::{Input, Key};
use crate::app::msg::{Effect, Msg};
use crate::app::run::{Feed, Surface, event_loop};
use crate::engine::bus::Update;
use crate::engine::event::{Event, EventKind};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

struct Script {
    input: mpsc::Receiver<Input>,
    frames: u32,
    /// Frames that had been drawn when each effect of the terminal came.
    acts: Vec<(Effect, u32)>,
}

impl Surface for Script {
    fn draw(&mut self, _: &State) -> io::Result<()> {
        self.frames += 1;
        Ok(())
    }

    async fn input(&mut self) -> Option<io::Result<Input>> {
        self.input.recv().await.map(Ok)
    }

    fn act(&mut self, effect: Effect) -> io::Result<()> {
        self.acts.push((effect, self.frames));
        Ok(())
    }
}

/// Events without end, as fast as they are taken; or none at all.
struct Flood {
    seq: u64,
    quiet: bool,
}

impl Feed for Flood {
    async fn next(&mut self) -> Option<Update> {
        if self.quiet {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        self.seq += 1;
        let event = Event { seq: self.seq, at: fixture::NOW, kind: EventKind::Notice { text: "x".into() } };
        Some(Update::Events(vec![Arc::new(event)]))
    }
}

async fn play(quiet: bool, script: impl AsyncFnOnce(mpsc::Sender<Input>)) -> (Script, State, Vec<Effect>) {
    let (keys, input) = mpsc::channel(64);
    let (_answers, mut inbox) = mpsc::channel::<Msg>(8);
    let mut surface = Script { input, frames: 0, acts: Vec::new() };
    let mut state = State::new("w", "/w");
    let mut effects = Vec::new();
    let cancel = CancellationToken::new();
    {
        let mut feed = Flood { seq: 0, quiet };
        let run = event_loop(&mut surface, &mut state, &mut feed, &mut inbox, &cancel, |e| effects.push(e));
        let (ended, ()) = tokio::join!(run, script(keys));
        ended.unwrap();
    }
    (surface, state, effects)
}

#[tokio::test]
async fn an_idle_console_draws_for_its_clock_alone() {
    let (surface, ..) = play(true, async |keys| {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        keys.send(Input::Key(Key::char('q'))).await.unwrap();
    })
    .await;
    assert!((1..=5).contains(&surface.frames), "{}", surface.frames);
}

#[tokio::test]
async fn a_flood_of_events_costs_thirty_frames_a_second_and_no_key() {
    let (surface, state, _) = play(false, async |keys| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        keys.send(Input::Key(Key::char('y'))).await.unwrap();
        keys.send(Input::Key(Key::char('M'))).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        keys.send(Input::Key(Key::char('q'))).await.unwrap();
    })
    .await;
    assert!(state.quit);
    assert!((3..=45).contains(&surface.frames), "{}", surface.frames);
    assert_eq!(surface.acts.len(), 1);
}

#[tokio::test]
async fn a_key_is_drawn_at_once() {
    let (surface, ..) = play(true, async |keys| {
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
async fn it_starts_by_asking_for_what_it_shows() {
    let (.., effects) = play(true, async |keys| drop(keys)).await;
    for e in [Effect::HoldLock, Effect::LoadPlugins, Effect::LoadHistory, Effect::LoadState, Effect::LoadLogs] {
        assert!(effects.contains(&e), "{e:?}");
    }
}
