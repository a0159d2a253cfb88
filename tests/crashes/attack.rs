//! What is done to a deploy at a moment, and how its workspace is made whole again where that has
//! to be done by hand.

use crate::kill::Random;
use crate::world::World;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Nothing that was asked to end takes longer, however busy the machine.
const ENDS_WITHIN: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attack {
    /// `kill -9`.
    Kill,
    /// Ctrl-C once.
    Stop,
    /// One signal after the other, of all kinds.
    Ladder,
    /// The store is moved away, replaced, cut off, or robbed of its log.
    LoseStore,
    /// The server with the state answers slowly or not at all, and then Ctrl-C once or twice.
    Slow,
}

impl Attack {
    /// The one that FLIGHTDECK_TEST_ATTACK names.
    pub(crate) fn from_environment() -> Self {
        match std::env::var("FLIGHTDECK_TEST_ATTACK").as_deref() {
            Err(_) | Ok("" | "kill") => Self::Kill,
            Ok("stop") => Self::Stop,
            Ok("ladder") => Self::Ladder,
            Ok("lose-store") => Self::LoseStore,
            Ok("slow") => Self::Slow,
            Ok(other) => {
                panic!(
                    "FLIGHTDECK_TEST_ATTACK={other}: there are kill, stop, ladder, lose-store, slow"
                )
            }
        }
    }

    /// Carries it out, and waits for the end of the process.
    pub(crate) fn carry_out(
        self,
        world: &World,
        child: &mut Child,
        random: &mut Random,
    ) -> ExitStatus {
        match self {
            // It may have ended just now: then there is nobody to kill, which is no error.
            Self::Kill => child.kill().unwrap(),
            Self::Stop => send(child, Signal::INT),
            Self::Ladder => {
                for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
                    send(child, kind);
                    std::thread::sleep(Duration::from_millis(random.below(30)));
                }
            }
            Self::LoseStore => lose(&world.workspace.store(), random),
            Self::Slow => {
                world.home.slow_down(random.below(3));
                for n in 0..=random.below(2) {
                    // Two signals of a kind within moments of each other count as one.
                    std::thread::sleep(Duration::from_millis(1500 * n));
                    send(child, Signal::INT);
                }
            }
        }
        let until = Instant::now() + ENDS_WITHIN;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                world.home.at_ease();
                return status;
            }
            assert!(
                Instant::now() < until,
                "{self:?}: it has not ended after {ENDS_WITHIN:?}"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Puts a rescue file into the place of the store, as its words say. The answer: whether there
    /// is anything to look at; a store that was lost when all was written down is lost.
    pub(crate) fn make_whole(self, world: &World) -> Result<bool, String> {
        if self != Self::LoseStore {
            return Ok(true);
        }
        let store = world.workspace.store();
        let names = std::fs::read_dir(world.workspace.path())
            .unwrap()
            .flatten()
            .map(|e| e.path());
        let rescued: Vec<PathBuf> = names
            .filter(|p| {
                p.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with("flightdeck-rescue-")
            })
            .collect();
        let dir = store.parent().unwrap();
        match rescued.as_slice() {
            [] => Ok(false),
            [file] => {
                std::fs::create_dir_all(dir).unwrap();
                ["", "-wal", "-shm"]
                    .iter()
                    .for_each(|e| drop(std::fs::remove_file(beside(&store, e))));
                std::fs::rename(file, &store).unwrap();
                Ok(true)
            }
            more => Err(format!("there are several rescue files: {more:?}")),
        }
    }
}

fn send(child: &Child, signal: Signal) {
    // It may have ended just now.
    kill_process(
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(),
        signal,
    )
    .unwrap_or_default();
}

fn beside(store: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", store.display()))
}

fn lose(store: &Path, random: &mut Random) {
    match random.below(4) {
        0 => std::fs::remove_dir_all(store.parent().unwrap()).unwrap(),
        1 => {
            std::fs::copy(store, beside(store, ".new")).unwrap();
            std::fs::rename(beside(store, ".new"), store).unwrap();
        }
        2 => std::fs::OpenOptions::new()
            .write(true)
            .open(store)
            .unwrap()
            .set_len(0)
            .unwrap(),
        _ => std::fs::remove_file(beside(store, "-wal")).unwrap_or_default(),
    }
}
