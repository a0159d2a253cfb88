//! Publishes the state of one plugin: the current state through a watch channel, each change as an
//! event. Owned by the supervisor task; plugin handles read it.

use super::PluginObserver;
use super::executable::FileIdentity;
use super::failure::{Exit, StartFailure};
use super::lifecycle::{Arrival, Lifecycle, PhaseKind};
use super::logs::Logs;
use super::settings::deadline_of;
use model::mutex::lock;
use model::process::ProcessIdentity;
use model::settings::LaunchSettings;
use model::{
    LaunchAttempt, LogLevel, LogLine, LogStream, Phase, PhaseName, PluginAbout, PluginEvent,
    PluginFound, PluginId, PluginState, now_ms,
};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::watch;

/// Published state of one plugin.
pub(super) struct PluginStatus {
    pub(super) id: PluginId,
    pub(super) observer: Arc<dyn PluginObserver>,
    pub(super) description: watch::Sender<PluginFound>,
    pub(super) state: watch::Sender<PluginState>,
    /// Lines of the serving process, or of the last one.
    logs: Mutex<Arc<Logs>>,
    /// Identity of the executable of the current process (serving or starting), or of the last one.
    file: Mutex<Option<FileIdentity>>,
}

impl PluginStatus {
    pub(super) fn new(
        id: PluginId,
        found: PluginFound,
        observer: Arc<dyn PluginObserver>,
    ) -> Arc<Self> {
        let board = Self {
            logs: Mutex::new(Logs::new(id.clone(), Arc::clone(&observer))),
            file: Mutex::default(),
            id,
            observer,
            description: watch::Sender::new(found),
            state: watch::Sender::new(PluginState::Discovered),
        };
        board.observer.event(PluginEvent::Found {
            plugin: board.id.clone(),
            found: board.description.borrow().clone(),
        });
        board.emit_state(PluginState::Discovered);
        Arc::new(board)
    }

    fn emit_state(&self, state: PluginState) {
        self.observer.event(PluginEvent::State {
            plugin: self.id.clone(),
            state,
        });
    }

    /// Adds a line of the engine to the plugin's log.
    pub(super) fn log_engine_line(&self, level: LogLevel, text: String) {
        let line = LogLine {
            plugin: self.id.clone(),
            at: now_ms(),
            level,
            stream: LogStream::Engine,
            module: None,
            text,
            panic: false,
        };
        self.observer.event(PluginEvent::Log { line });
    }

    /// Returns the lines of the serving process, or of the last one.
    pub(super) fn logs(&self) -> Arc<Logs> {
        Arc::clone(&lock(&self.logs))
    }

    /// Replaces the log when another process starts to serve.
    pub(super) fn replace_logs(&self, logs: &Arc<Logs>) {
        *lock(&self.logs) = Arc::clone(logs);
    }

    /// Returns the identity of the executable of the current process, or of the last one.
    pub(super) fn file(&self) -> Option<FileIdentity> {
        lock(&self.file).clone()
    }

    pub(super) fn executed(&self, file: Option<FileIdentity>) {
        *lock(&self.file) = file;
    }

    pub(super) fn set(&self, state: PluginState) {
        // The event goes first, so that a task woken by the channel finds the state already
        // published.
        self.emit_state(state.clone());
        self.state.send_replace(state);
    }

    pub(super) fn current(&self) -> PluginState {
        self.state.borrow().clone()
    }

    /// Records the dialect, which is known once the process has announced it.
    pub(super) fn set_dialect(&self, dialect: &str) {
        self.update_description(|found| found.dialect = Some(dialect.to_owned()));
    }

    /// Records a transformer's name, which is known once the process has announced it.
    pub(super) fn transforms(&self, name: &str) {
        self.update_description(|found| found.transform = Some(name.to_owned()));
    }

    /// Records the plugin's self-description, which is known once the process has registered.
    pub(super) fn set_description(&self, about: PluginAbout) {
        self.update_description(|found| found.about = Some(about));
    }

    /// Updates the description of the plugin, and emits an event if that changed it.
    fn update_description(&self, learn: impl FnOnce(&mut PluginFound)) {
        let changed = self.description.send_if_modified(|found| {
            let before = found.clone();
            learn(found);
            *found != before
        });
        if changed {
            self.observer.event(PluginEvent::Found {
                plugin: self.id.clone(),
                found: self.description.borrow().clone(),
            });
        }
    }
}

/// Record of a running launch attempt. Each change is emitted as an event.
pub(super) struct AttemptRecord {
    board: Arc<PluginStatus>,
    kinds: &'static [PhaseKind],
    logs: Arc<Logs>,
    began: Instant,
    record: LaunchAttempt,
}

impl AttemptRecord {
    pub(super) fn begin(
        board: &Arc<PluginStatus>,
        logs: &Arc<Logs>,
        lifecycle: &dyn Lifecycle,
        (number, beside): (u32, bool),
        settings: &LaunchSettings,
    ) -> Self {
        logs.begin_launch();
        let record = LaunchAttempt {
            number,
            limit: settings.attempts,
            began: now_ms(),
            phases: Vec::new(),
            pid: None,
            start_time: None,
            deadline_ms: u64::try_from(deadline_of(settings, lifecycle.arrival()).as_millis())
                .unwrap_or(u64::MAX),
            exit_code: None,
            signal: None,
            last_lines: Vec::new(),
            verdict: None,
            took_ms: None,
            doing: None,
            beside,
        };
        let recorder = Self {
            board: Arc::clone(board),
            kinds: lifecycle.phases(),
            logs: Arc::clone(logs),
            began: Instant::now(),
            record,
        };
        recorder.emit_attempt();
        recorder
    }

    fn emit_attempt(&self) {
        self.board.observer.event(PluginEvent::Attempt {
            plugin: self.board.id.clone(),
            attempt: self.record.clone(),
        });
    }

    fn since_begin(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.began).as_millis()).unwrap_or(u64::MAX)
    }

    /// Records that a phase is reached now.
    pub(super) fn phase_reached(&mut self, name: PhaseName) {
        self.phase_reached_at(name, Instant::now());
    }

    /// Records a phase that was reached at `at`, which may be earlier than now. Each phase counts
    /// once, the first time.
    pub(super) fn phase_reached_at(&mut self, name: PhaseName, at: Instant) {
        if self.record.phases.iter().any(|p| p.name == name) {
            return;
        }
        let at_ms = self.since_begin(at);
        self.record.phases.push(Phase { name, at_ms });
        // Phases may be reported late and out of order, such as one found in the output of the
        // process.
        self.record.phases.sort_by_key(|p| p.at_ms);
        self.record.doing = self.next().map(|kind| kind.activity.to_owned());
        self.emit_attempt();
    }

    /// Returns the phase after the furthest one that was reached. Phases may be skipped: a plugin
    /// that prints nothing can still become ready.
    fn next(&self) -> Option<&'static PhaseKind> {
        let reached = |kind: &PhaseKind| self.record.phases.iter().any(|p| p.name == kind.name);
        self.kinds
            .get(self.kinds.iter().rposition(reached).map_or(0, |at| at + 1))
    }

    pub(super) fn spawned(
        &mut self,
        pid: u32,
        identity: Option<&ProcessIdentity>,
        arrival: Arrival,
    ) {
        self.record.pid = Some(pid);
        self.record.start_time = identity.map(|i| i.start_time);
        self.phase_reached(PhaseName::EXEC);
        if self.record.beside {
            // The plugin keeps its serving state while a replacement starts beside the old process.
            return;
        }
        let (attempt, limit) = (self.record.number, self.record.limit);
        self.board.set(match arrival {
            Arrival::Handshake => PluginState::Handshaking { attempt, limit },
            Arrival::Registration => PluginState::Registering { attempt, limit },
        });
    }

    /// Completes the record. `exit` is the exit status if the process has ended.
    pub(super) fn end(
        mut self,
        result: Result<(), &StartFailure>,
        exit: Option<Exit>,
    ) -> LaunchAttempt {
        let (code, signal) = exit.map(|e| (e.code, e.signal)).unwrap_or_default();
        self.record.exit_code = code;
        self.record.signal = signal;
        self.record.last_lines = self.logs.tail();
        self.record.doing = None;
        self.record.took_ms = Some(self.since_begin(Instant::now()));
        self.record.verdict = Some(match result {
            Ok(()) => model::Verdict {
                kind: model::VerdictKind::Ready,
                text: "ready".to_owned(),
                retryable: false,
            },
            Err(failure) => failure.failure_record(),
        });
        self.emit_attempt();
        self.record
    }
}
