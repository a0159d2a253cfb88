//! Attacks on a running deploy, and the recovery of its workspace where an operator must act.

use crate::attacked_deploy::Random;
use crate::workspace::AttackedWorkspace;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// Limit for the end of an attacked process, even on a busy machine.
const ENDS_WITHIN: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attack {
    /// SIGKILL.
    Kill,
    /// One SIGINT.
    Stop,
    /// One signal after another, of all kinds.
    Ladder,
    /// The store is moved away, replaced or truncated, or its write-ahead log is removed.
    LoseStore,
    /// The backend's server answers slowly or not at all; then SIGINT once or twice.
    Slow,
}

impl Attack {
    /// Attack from `FLIGHTDECK_TEST_ATTACK`.
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

    /// Carries out the attack, and waits for the end of the process.
    pub(crate) fn carry_out(
        self,
        world: &AttackedWorkspace,
        child: &mut Child,
        random: &mut Random,
    ) -> ExitStatus {
        match self {
            // The process may have ended just now; the kill is then no error.
            Self::Kill => child.kill().unwrap(),
            Self::Stop => send(child, Signal::INT),
            Self::Ladder => {
                for kind in [Signal::INT, Signal::TERM, Signal::HUP] {
                    send(child, kind);
                    std::thread::sleep(Duration::from_millis(random.below(30)));
                }
            }
            Self::LoseStore => damage_store(&world.workspace.store(), random),
            Self::Slow => {
                world.home.slow_down(random.below(3));
                for n in 0..=random.below(2) {
                    // Two equal signals within moments count as one.
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

    /// Moves a rescue file into the place of the store, as its text says. Returns false without a
    /// rescue file: the store was lost after its last record, so there is nothing to check.
    pub(crate) fn restore_rescue_file(self, world: &AttackedWorkspace) -> Result<bool, String> {
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
                    .for_each(|e| drop(std::fs::remove_file(sibling_file(&store, e))));
                std::fs::rename(file, &store).unwrap();
                Ok(true)
            }
            more => Err(format!("there are several rescue files: {more:?}")),
        }
    }
}

fn send(child: &Child, signal: Signal) {
    // The process may have ended just now.
    kill_process(
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(),
        signal,
    )
    .unwrap_or_default();
}

fn sibling_file(store: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", store.display()))
}

fn damage_store(store: &Path, random: &mut Random) {
    match random.below(4) {
        0 => std::fs::remove_dir_all(store.parent().unwrap()).unwrap(),
        1 => {
            std::fs::copy(store, sibling_file(store, ".new")).unwrap();
            std::fs::rename(sibling_file(store, ".new"), store).unwrap();
        }
        2 => std::fs::OpenOptions::new()
            .write(true)
            .open(store)
            .unwrap()
            .set_len(0)
            .unwrap(),
        _ => std::fs::remove_file(sibling_file(store, "-wal")).unwrap_or_default(),
    }
}
