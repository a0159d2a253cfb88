//! The state for as long as a verb works on it: found, opened under its lock, kept current at its
//! home, and brought there.

use super::verb::{Switches, Work};
use crate::engine::error::EngineError;
use crate::engine::state::backend::Record;
use crate::engine::state::{HomeError, Patience, Settled, lock_info};
use crate::engine::store::model::State;
use crate::engine::told::tell_all;
use crate::engine::words::*;
use crate::engine::workspace::home;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a lock may take to be given back once the operator has asked to stop.
const UNLOCKING: Duration = Duration::from_secs(3);
/// Time for the state's server to answer a write after the first and after the second signal. The
/// first signal lets running operations end, and their outcomes belong in the state.
const AFTER_STOP: Duration = Duration::from_secs(60);
const AFTER_KILL: Duration = Duration::from_secs(2);
/// How often a deploy looks whether the first state can be written.
const FIRST_WRITE: Duration = Duration::from_millis(100);

/// Whoever sets a longer interval between writes wants none before the end.
const RARELY: Duration = Duration::from_secs(60);

impl Work {
    /// Takes the workspace's lock and that of the state's home, for a piece of work that
    /// `operation` names to others who meet the lock. The answer: whether the workspace's was not
    /// ours before. What runs can be stopped from here on, until [`Self::end_on_state`].
    pub(super) async fn begin_on_state(
        &self,
        request: &StageRequest,
        operation: &'static str,
    ) -> Result<bool, EngineError> {
        let first = self.take_lock().await?;
        let switches = self.begin();
        let opened = stoppable(&switches, self.open_state(request, operation)).await;
        if let Err(error) = opened {
            self.give_back_lock().await;
            self.end();
            self.unlock().await;
            return Err(error);
        }
        Ok(first)
    }

    /// The state of record, unless what runs is stopped before it is read.
    pub(super) async fn state(&self) -> Result<State, EngineError> {
        let read = async { Ok(self.memory.state().read().await?) };
        stoppable(&self.current(), read).await
    }

    /// Gives the lock of the state's home back after a request to it was dropped; names one that
    /// may stay behind.
    pub(super) async fn give_back_lock(&self) {
        if let Err(error) = self.memory.state().give_back(UNLOCKING).await {
            self.bus.emit(EventKind::Notice {
                text: error.to_string(),
            });
        }
    }

    async fn open_state(
        &self,
        request: &StageRequest,
        operation: &'static str,
    ) -> Result<(), EngineError> {
        self.locate(request).await?;
        if !self.settings.lock_state {
            self.diagnose(not_locked(&self.memory.state().place()));
        }
        let tell = |text: String| self.bus.emit(EventKind::Notice { text });
        let patience = Patience::new(self.settings.lock_timeout, &tell);
        let opened = self.memory.state().open(lock_info(operation), &patience);
        for text in opened.await? {
            self.bus.emit(EventKind::Notice { text });
        }
        Ok(())
    }

    /// Finds out where the state lives now.
    async fn locate(&self, request: &StageRequest) -> Result<(), EngineError> {
        let (settings, mut asked) = (self.settings.clone(), request.clone());
        if asked.variables.is_empty() {
            asked.variables.clone_from(&settings.variables);
        }
        let found = tokio::task::spawn_blocking(move || {
            let mut found = home::of(&settings.workspace, &settings.named, &asked)?;
            found.place = home::with_files(&settings.workspace, found.place, &settings.state_files);
            Ok(found)
        });
        match found
            .await
            .map_err(EngineError::task("the configuration could not be read"))?
        {
            Ok(found) => {
                self.absent(|absent| absent.backend = None);
                if let Some((record, told)) = found.record {
                    let data = home::data(&self.settings.workspace);
                    let written =
                        tokio::task::spawn_blocking(move || Record::write(Some(&record), &data));
                    written
                        .await
                        .map_err(EngineError::task("the backend could not be recorded"))??;
                    if let Some(text) = told {
                        self.bus.emit(EventKind::Notice { text });
                    }
                }
                self.memory.state().lives_at(found.place, found.encryption);
                self.memory.encrypts_plans(found.plans);
                self.pool.decrypts(found.others);
            }
            Err(home::Unlocated {
                sources,
                diags,
                refused,
            }) => {
                self.absent(|absent| absent.backend = refused.map(|why| why.to_string()));
                // All that is wrong with it is told at once, and this is part of it.
                self.read(request).await?;
                self.tell(tell_all(diags.iter(), &sources, self.pool.secrets()))?;
            }
        }
        Ok(())
    }

    /// Brings the state home and gives both locks back.
    pub(super) async fn end_on_state(&self) {
        let switches = self.current();
        if let Err(error) = self.bring_home(&switches).await {
            self.bus.emit(EventKind::Notice {
                text: format!(
                    "{error}. The state is on record, and is brought home by the next command that works on it"
                ),
            });
        }
        let limit = async {
            switches.stop.cancelled().await;
            tokio::time::sleep(UNLOCKING).await;
        };
        tokio::select! { biased;
            unlocked = self.memory.state().unlock() => if let Err(error) = unlocked {
                self.bus.emit(EventKind::Notice { text: error.to_string() });
            },
            () = limit => self.give_back_lock().await,
        }
        self.end();
        self.unlock().await;
    }

    /// Brings the state home. Once the operator has asked to stop, a server that does not answer is
    /// waited for only a little longer.
    pub(super) async fn bring_home(&self, switches: &Switches) -> Result<(), HomeError> {
        let state = self.memory.state();
        let limit = async {
            tokio::select! {
                () = switches.stop.cancelled() => {}
                () = switches.kill.cancelled() => {}
            }
            tokio::select! {
                () = tokio::time::sleep(AFTER_STOP) => {}
                () = async {
                    switches.kill.cancelled().await;
                    tokio::time::sleep(AFTER_KILL).await;
                } => {}
            }
        };
        tokio::select! { biased;
            brought = state.bring_home() => brought,
            () = limit => Err(HomeError::Stopped { place: state.place() }),
        }
    }

    /// Brings the state home now and then, and at each rung of the ladder, until the deploy is
    /// done. Where that fails, nothing more is begun: what nobody else can see must not become
    /// more.
    pub(super) async fn keep_home_current(
        &self,
        switches: &Switches,
        done: &CancellationToken,
    ) -> Result<(), HomeError> {
        let rungs = [&switches.stop, &switches.stop_all, &switches.kill];
        loop {
            // A state that was never written is written with its first object: until then, other
            // programs find none.
            let pause = match self.memory.state().is_unwritten().await {
                Ok(true) if self.settings.home_every <= RARELY => FIRST_WRITE,
                _ => self.settings.home_every,
            };
            let next_rung = rungs.iter().find(|rung| !rung.is_cancelled());
            tokio::select! {
                biased;
                () = done.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
                () = async {
                    match next_rung {
                        Some(rung) => rung.cancelled().await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
            if let Err(error) = self.bring_home(switches).await {
                self.bus.emit(EventKind::Notice {
                    text: format!("{error}; nothing more is begun"),
                });
                switches.stop.cancel();
                return Err(error);
            }
        }
    }

    /// Goes on with one of two states that were changed apart; the answer is the file that the
    /// other is kept in, where there was anything to keep.
    pub async fn use_state(
        &self,
        with: Settled,
    ) -> Result<Option<std::path::PathBuf>, EngineError> {
        let _turn = self.turn.lock().await;
        self.take_lock().await?;
        let switches = self.begin();
        let settle = async {
            self.locate(&StageRequest::default()).await?;
            let info = lock_info("state-use");
            Ok(self.memory.state().settle(with, info).await?)
        };
        let settled = stoppable(&switches, settle).await;
        self.give_back_lock().await;
        self.end();
        self.unlock().await;
        settled
    }
}

/// Runs something that changes nothing until what runs is stopped.
async fn stoppable<T>(
    switches: &Switches,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    tokio::select! { biased;
        () = switches.stop.cancelled() => Err(EngineError::Cancelled),
        done = work => done,
    }
}

/// The warning for a state whose own lock is not taken.
fn not_locked(place: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        summary: "The state is not locked".to_owned(),
        detail: format!(
            "With -lock=false the lock of the state in {place} is not taken: a program elsewhere may change the state meanwhile. flightdeck's lock on this workspace is held."
        ),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }
}

/// What an operator is told where the state could not be brought home at a deploy's end.
pub(super) fn not_home(error: &HomeError) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: "The state could not be written home".to_owned(),
        detail: format!(
            "{error}. All that this deploy came to is on record, and is brought home by the next command that works on the state; mend the cause, and run `flightdeck stage`."
        ),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }
}
