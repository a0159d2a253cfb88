//! The state during a command: located, opened under its lock, written to the backend during a
//! deploy and at the end.

use super::command::{Command, Operations, Switches};
use super::lock::UNLOCKING;
use crate::diagnostics::convert_all;
use crate::error::EngineError;
use model::*;
use state::backend::BackendMetadata;
use state::{ConflictChoice, LockWait, StateError, lock_info};
use std::time::Duration;
use store::records::State;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use workspace::state_location;

/// Time limits for a write after the first and second signal. After the first, running operations
/// finish, and their outcomes belong in the state.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of checks for the first write of a new state.
const FIRST_WRITE: Duration = Duration::from_millis(100);

/// Longest write interval with an early first write; operators with a longer one want no write
/// before the end.
const MAX_WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// A running command with the workspace lock, and with the state lock once the state is open. If
/// it is dropped before its end, a task releases the locks; the next command waits for that.
pub(super) struct StateCommand<'o> {
    command: Command<'o>,
}

impl<'o> std::ops::Deref for StateCommand<'o> {
    type Target = Command<'o>;

    fn deref(&self) -> &Command<'o> {
        &self.command
    }
}

impl Drop for StateCommand<'_> {
    fn drop(&mut self) {
        let Some(turn) = self.command.end() else {
            return;
        };
        let operations = self.command.operations;
        let locks = operations.locks.clone();
        let release = async move {
            locks.release_state().await;
            locks.release().await;
            drop(turn);
        };
        // Without a runtime the process ends, and its exit reports the locks.
        if let Ok(runtime) = Handle::try_current() {
            operations.cleanups.spawn_on(release, &runtime);
        }
    }
}

impl<'o> Command<'o> {
    /// Takes the workspace lock and opens the state under its lock; `operation` appears in the lock
    /// info.
    pub(super) async fn on_state(
        self,
        request: &StageRequest,
        operation: &'static str,
    ) -> Result<StateCommand<'o>, EngineError> {
        // Always the workspace lock first, then the state lock.
        let command = self.with_workspace_lock(operation).await?;
        let opened = command.operations.open_state(request, operation);
        match run_until_stopped(&command, opened).await {
            Ok(()) => Ok(command),
            // The failed request may have taken the lock, so it is released in any case.
            Err(error) => {
                command.release().await;
                Err(error)
            }
        }
    }

    /// Takes the workspace lock, and brings this process up to date.
    pub(super) async fn with_workspace_lock(
        self,
        operation: &str,
    ) -> Result<StateCommand<'o>, EngineError> {
        self.operations.take_lock(operation, &self).await?;
        let command = StateCommand { command: self };
        match command.operations.catch_up().await {
            Ok(()) => Ok(command),
            Err(error) => {
                command.release().await;
                Err(error)
            }
        }
    }
}

impl StateCommand<'_> {
    /// Writes the state to the backend, releases both locks and ends the command.
    pub(super) async fn finish(mut self) {
        let operations = self.command.operations;
        operations.close_state(&self.command).await;
        operations.locks.release().await;
        drop(self.command.end());
    }

    /// Releases both locks without a write, and ends the command.
    pub(super) async fn release(mut self) {
        let locks = &self.command.operations.locks;
        locks.release_state().await;
        locks.release().await;
        drop(self.command.end());
    }
}

impl Operations {
    /// Begins a command on the state; see [`Command::on_state`].
    pub(super) async fn begin_on_state(
        &self,
        request: &StageRequest,
        operation: &'static str,
    ) -> Result<StateCommand<'_>, EngineError> {
        self.begin().await.on_state(request, operation).await
    }

    /// State of record, unless the command is stopped before it is read.
    pub(super) async fn state(&self) -> Result<State, EngineError> {
        let read = async { Ok(self.memory.state().read().await?) };
        run_until_stopped(&self.current(), read).await
    }

    async fn open_state(
        &self,
        request: &StageRequest,
        operation: &'static str,
    ) -> Result<(), EngineError> {
        self.locate(request).await?;
        if !self.settings.lock_state {
            self.diagnose(not_locked_warning(&self.memory.state().place_name()));
        }
        let tell = |text: String| self.bus.emit(EventKind::Notice { text });
        let patience = LockWait::new(self.settings.lock_timeout, &tell);
        let opened = self.memory.state().open(lock_info(operation), &patience);
        for text in opened.await? {
            self.bus.emit(EventKind::Notice { text });
        }
        self.receive_outcomes(operation).await;
        Ok(())
    }

    /// Locates the state by the present configuration.
    async fn locate(&self, request: &StageRequest) -> Result<(), EngineError> {
        let (settings, mut asked) = (self.settings.clone(), request.clone());
        // Commands without variables use those of the engine.
        if asked.variables.is_empty() {
            asked.variables.clone_from(&settings.variables);
        }
        let found = tokio::task::spawn_blocking(move || {
            let mut found =
                state_location::locate(&settings.workspace, &settings.workspace_name, &asked)?;
            found.place =
                state_location::with_files(&settings.workspace, found.place, &settings.state_files);
            Ok(found)
        });
        match found
            .await
            .map_err(EngineError::task("failed to read the configuration"))?
        {
            Ok(found) => {
                // The backend is usable, so an earlier report is withdrawn.
                self.absent(|absent| absent.backend = None);
                // A new backend is recorded at its first use.
                if let Some((record, told)) = found.record {
                    let data = state_location::data(&self.settings.workspace);
                    let written = tokio::task::spawn_blocking(move || {
                        BackendMetadata::write(Some(&record), &data)
                    });
                    written
                        .await
                        .map_err(EngineError::task("failed to write the backend metadata"))??;
                    if let Some(text) = told {
                        self.bus.emit(EventKind::Notice { text });
                    }
                }
                self.memory.state().set_place(found.place, found.encryption);
                self.memory.encrypts_plans(found.plans);
                self.pool.decrypts(found.remote_states);
            }
            Err(state_location::Unlocated {
                sources,
                diags,
                refused,
            }) => {
                self.absent(|absent| absent.backend = refused.map(|why| why.to_string()));
                // Loading reports all errors of the configuration, including these.
                self.read(request).await?;
                self.emit_diagnostics(convert_all(diags.iter(), &sources, self.pool.secrets()))?;
            }
        }
        Ok(())
    }

    /// Writes the state to the backend and releases its lock.
    async fn close_state(&self, switches: &Switches) {
        // No failure of the command, because the next one writes the state.
        if let Err(error) = self.write_back(switches).await {
            self.bus.emit(EventKind::Notice {
                text: format!(
                    "{error}. The store has the state, and the next command that uses the state writes it to the backend"
                ),
            });
        }
        self.share_outcomes(switches).await;
        // No time limit before the operator asks to stop: a slow server is no error.
        let limit = async {
            switches.stop.cancelled().await;
            tokio::time::sleep(UNLOCKING).await;
        };
        tokio::select! { biased;
            unlocked = self.memory.state().unlock() => if let Err(error) = unlocked {
                self.bus.emit(EventKind::Notice { text: error.to_string() });
            },
            () = limit => self.locks.release_state().await,
        }
    }

    /// Writes the state to the backend. Waits only briefly for a silent server once the operator
    /// has asked to stop.
    pub(super) async fn write_back(&self, switches: &Switches) -> Result<(), StateError> {
        let state = self.memory.state();
        let limit = async {
            tokio::select! {
                () = switches.stop.cancelled() => {}
                () = switches.kill.cancelled() => {}
            }
            // The shorter limit applies as soon as plugins are killed.
            tokio::select! {
                () = tokio::time::sleep(STOP_TIMEOUT) => {}
                () = async {
                    switches.kill.cancelled().await;
                    tokio::time::sleep(KILL_TIMEOUT).await;
                } => {}
            }
        };
        tokio::select! { biased;
            brought = state.write_back() => brought,
            () = limit => Err(StateError::Stopped { place: state.place_name() }),
        }
    }

    /// Writes the state to the backend at an interval and at each rung of the cancel ladder, until
    /// the deploy is done. After a failure nothing more is started, because others could not see
    /// it; the error says whether the operator had stopped the deploy before.
    pub(super) async fn write_periodically(
        &self,
        switches: &Switches,
        done: &CancellationToken,
    ) -> Result<(), (StateError, bool)> {
        let rungs = [&switches.stop, &switches.stop_all, &switches.kill];
        loop {
            // A state that was never written is written with its first object; until then, other
            // programs find none.
            let pause = match self.memory.state().is_unwritten().await {
                Ok(true) if self.settings.backend_write_interval <= MAX_WRITE_INTERVAL => {
                    FIRST_WRITE
                }
                _ => self.settings.backend_write_interval,
            };
            let next_rung = rungs.iter().find(|rung| !rung.is_cancelled());
            tokio::select! {
                biased;
                () = done.cancelled() => return Ok(()),
                () = tokio::time::sleep(pause) => {}
                () = async {
                    match next_rung {
                        Some(rung) => rung.cancelled().await,
                        // Without a further rung, only the interval and the end matter.
                        None => std::future::pending().await,
                    }
                } => {}
            }
            if let Err(error) = self.write_back(switches).await {
                self.bus.emit(EventKind::Notice {
                    text: format!("{error}; no further operations start"),
                });
                let is_stopped = switches.stop.is_cancelled();
                switches.stop.cancel();
                return Err((error, is_stopped));
            }
        }
    }

    /// Continues with one of two conflicting states. Returns the file with the other, if there was
    /// anything to save.
    pub async fn use_state(
        &self,
        with: ConflictChoice,
    ) -> Result<Option<std::path::PathBuf>, EngineError> {
        let command = self.begin().await.with_workspace_lock("state-use").await?;
        let settle = async {
            self.locate(&StageRequest::default()).await?;
            let info = lock_info("state-use");
            Ok(self.memory.state().resolve_conflict(with, info).await?)
        };
        let settled = run_until_stopped(&command, settle).await;
        command.release().await;
        settled
    }
}

/// Runs read-only work that a stop may cancel.
async fn run_until_stopped<T>(
    switches: &Switches,
    work: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    tokio::select! { biased;
        () = switches.stop.cancelled() => Err(EngineError::Cancelled),
        done = work => done,
    }
}

/// Warning that the state lock is not taken.
fn not_locked_warning(place: &str) -> Diagnostic {
    Diagnostic {
        severity: Severity::Warning,
        summary: "State is not locked".to_owned(),
        detail: format!(
            "With -lock=false, flightdeck does not lock the state in {place}, so another program may change the state at the same time. flightdeck still acquires the workspace lock."
        ),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }
}

/// Diagnostic for a state that could not be written at a deploy's end.
pub(super) fn state_not_written(error: &StateError) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: "State not written to the backend".to_owned(),
        detail: format!(
            "{error}. The store has all results of this deploy, and the next command that uses the state writes them to the backend. Fix the cause, then run `flightdeck stage`."
        ),
        address: None,
        range: None,
        snippet: None,
        further: None,
        intent: None,
    }
}
