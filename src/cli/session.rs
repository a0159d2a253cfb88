//! One command's session with the engine: starts it, prints its events while a request runs, maps
//! signals to the cancel ladder, and shuts it down.

use super::confirmation::confirm;
use super::exit::CliError;
use super::output::Output;
use super::progress::Progress;
use super::signals::{SHUTDOWN_TIMEOUT, Signals, shutdown_timeout};
use super::user_files;
use engine::error::EngineError;
use engine::handle::Engine;
use engine::memory_limit;
use futures_util::FutureExt;
use model::CancelRung;
use model::bus::{Subscription, Update};
use model::settings::{Access, ServiceSettings, Settings};
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;
use workspace::state_location;

/// Time limit for recording unknown outcomes after the second signal killed the plugins.
const KILL_GRACE: Duration = Duration::from_secs(10);
/// Interval in which events are collected and printed together, so that a high rate of events does
/// not cause one wakeup each.
const BATCH_DELAY: Duration = Duration::from_millis(20);
/// Part of the shutdown time in which the outcomes of killed calls are recorded.
const RECORDING_TIME: Duration = Duration::from_secs(3);
/// Time limit for stopping all plugins.
const SHUTDOWN: Duration = Duration::from_secs(20);

/// The engine, its events and the signals of a command.
pub(super) struct Session {
    pub(super) engine: Engine,
    events: Subscription,
    signals: Signals,
    /// Number of received signals.
    signals_received: u32,
    /// Ask plugins to stop as soon as the replacements that have started are complete.
    ask_later: bool,
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<T>, CliError> {
    let Some(text) = std::env::var_os(name).filter(|v| !v.is_empty()) else {
        return Ok(None);
    };
    let parsed = text.to_str().and_then(|t| t.trim().parse().ok());
    parsed.map(Some).ok_or_else(|| {
        CliError::setting(format!(
            "the environment variable {name} needs a whole number, not {text:?}"
        ))
    })
}

/// Reads a number from flightdeck's variable, or from those of the Bluelink and Celerity deploy
/// engines, in this order.
fn engine_number<T: std::str::FromStr>(own: &str, engine: &str) -> Result<Option<T>, CliError> {
    let theirs = ["BLUELINK", "CELERITY"].map(|family| format!("{family}_DEPLOY_ENGINE_{engine}"));
    for name in [own, &theirs[0], &theirs[1]] {
        if let Some(found) = number(name)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// User's data directory by the conventions of the system.
fn data_dir() -> Option<std::path::PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.data_dir()).filter(|dir| dir.is_absolute())
}

/// User's cache directory by the conventions of the system.
fn cache_dir() -> Option<std::path::PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.cache_dir()).filter(|dir| dir.is_absolute())
}

/// Builds the settings for the current directory and the environment.
pub(super) fn settings(
    reason: &str,
    access: Access,
    parallelism: Option<u16>,
) -> Result<Settings, CliError> {
    // `-C` has changed the directory already.
    let here = std::env::current_dir().map_err(|e| {
        CliError::io(format!("cannot determine the current directory: {e}"))
            .hint("change to another directory, or use -C DIR")
    })?;
    let mut settings = Settings::new(here);
    settings.workspace_name =
        state_location::selected(&settings.workspace, |name| std::env::var_os(name))
            .map_err(|e| CliError::setting(e.to_string()))?;
    if let Some(seconds) = number("FLIGHTDECK_STATE_EVERY_S")? {
        // At least one second, because 0 would write the state without a pause.
        settings.backend_write_interval = Duration::from_secs(u64::max(seconds, 1));
    }
    // Read at the first signal, when an error would come too late.
    number::<u64>(SHUTDOWN_TIMEOUT)?;
    if let Some(seconds) = number("FLIGHTDECK_ROLLOUT_PAUSE_S")? {
        settings.rollout_pause = Duration::from_secs(seconds);
    }
    reason.clone_into(&mut settings.reason);
    settings.access = access;
    launching(&mut settings)?;
    if let Some(attempts) = number::<u32>("FLIGHTDECK_CALL_ATTEMPTS")? {
        // The first call is an attempt, too.
        settings.retry.attempts = attempts.max(1);
    }
    if let Some(ms) = number("FLIGHTDECK_CALL_BACKOFF_MS")? {
        settings.retry.backoff = vec![Duration::from_millis(ms)];
    }
    settings.digest_cache =
        cache_dir().map(|dir| dir.join("flightdeck").join("plugin-digests.json"));
    settings.types = user_files::configuration_file("types");
    settings.binds_store = true;
    settings.trusted_plugins = data_dir().map(|dir| dir.join("flightdeck").join("trusted-plugins"));
    if let Some(text) = std::env::var(memory_limit::VARIABLE)
        .ok()
        .filter(|v| !v.is_empty())
    {
        settings.memory =
            Some(memory_limit::parse(&text).map_err(|e| CliError::setting(e.to_string()))?);
    }
    if let Some(slots) = number::<u32>("FLIGHTDECK_SLOTS")? {
        settings.slots = slots.clamp(1, 1_000);
    }
    serving(&mut settings.service)?;
    if let Some(parallelism) = parallelism {
        settings.parallelism = usize::from(parallelism);
    }
    Ok(settings)
}

/// Reads the number of processes per plugin and the limits that end or replace them.
fn serving(service: &mut ServiceSettings) -> Result<(), CliError> {
    if let Some(processes) = number::<u32>("FLIGHTDECK_PROCESSES")? {
        service.processes = processes.clamp(1, 100);
    }
    // 0 means unset.
    let seconds = |name: &str| -> Result<Option<Duration>, CliError> {
        let seconds = number::<u64>(name)?.filter(|seconds| *seconds > 0);
        Ok(seconds.map(Duration::from_secs))
    };
    service.idle_timeout = seconds("FLIGHTDECK_IDLE_S")?;
    if let Some(wait) = seconds("FLIGHTDECK_WAIT_S")? {
        service.wait_timeout = wait;
    }
    service.renew.age = seconds("FLIGHTDECK_RENEW_AFTER_S")?;
    service.renew.calls = number::<u64>("FLIGHTDECK_RENEW_AFTER_CALLS")?.filter(|n| *n > 0);
    if let Some(drain) = number("FLIGHTDECK_DRAIN_S")? {
        service.renew.drain = Duration::from_secs(drain);
    }
    if let Some(text) = std::env::var("FLIGHTDECK_RENEW_ABOVE")
        .ok()
        .filter(|v| !v.is_empty())
    {
        let bytes = memory_limit::bytes(&text).ok_or_else(|| {
            CliError::setting(format!("FLIGHTDECK_RENEW_ABOVE needs a number of bytes, optionally with the suffix k, M or G, not {text:?}"))
        })?;
        service.renew.memory = Some(bytes);
    }
    Ok(())
}

/// Reads the settings of launches and relaunches. Variable names of the deploy engines are
/// accepted, too.
fn launching(settings: &mut Settings) -> Result<(), CliError> {
    let attempts = engine_number("FLIGHTDECK_LAUNCH_ATTEMPTS", "PLUGIN_LAUNCH_ATTEMPT_LIMIT")?;
    if let Some(attempts) = attempts {
        settings.launch.attempts = u32::max(attempts, 1);
    }
    let deadline = "PLUGINS_V1_LAUNCH_WAIT_TIMEOUT_MS";
    if let Some(ms) = engine_number("FLIGHTDECK_LAUNCH_DEADLINE_MS", deadline)? {
        settings.launch.deadline = Duration::from_millis(ms);
        settings.launch.registration_deadline = settings.launch.deadline;
    }
    let total = "PLUGINS_V1_TOTAL_LAUNCH_WAIT_TIMEOUT_MS";
    let total = engine_number("FLIGHTDECK_LAUNCH_TOTAL_MS", total)?;
    settings.launch.total = total.filter(|ms| *ms > 0).map(Duration::from_millis);
    if let Some(crashes) = number::<u32>("FLIGHTDECK_CRASH_LIMIT")? {
        settings.crashes.limit = crashes.max(1);
    }
    if let Some(seconds) = number("FLIGHTDECK_CRASH_WINDOW_S")? {
        settings.crashes.window = Duration::from_secs(seconds);
    }
    if let Some(ms) = number("FLIGHTDECK_CONNECT_DEADLINE_MS")? {
        settings.launch.connect_deadline = Duration::from_millis(ms);
    }
    if let Some(ms) = number("FLIGHTDECK_SCHEMA_DEADLINE_MS")? {
        settings.launch.schema_deadline = Duration::from_millis(ms);
    }
    if let Some(ms) = number("FLIGHTDECK_LAUNCH_BACKOFF_MS")? {
        settings.launch.backoff = vec![Duration::from_millis(ms)];
    }
    if let Some(ms) = number("FLIGHTDECK_STOP_GRACE_MS")? {
        settings.launch.grace = Duration::from_millis(ms);
    }
    Ok(())
}

/// Starts an engine for one request, and shuts it down after the answer.
pub(super) async fn run_request<T, F>(
    settings: Settings,
    out: &mut Output,
    question: impl FnOnce(Engine) -> F,
) -> Result<T, CliError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    // Boxed, because the futures of some questions are large.
    let question = Box::pin(question(session.engine.clone()));
    let answer = session.wait(out, &mut progress, question).await;
    session.finish(out).await;
    answer
}

impl Session {
    /// Starts the engine on the current directory, with the metrics and traces that `out` asks for.
    pub(super) async fn start(mut settings: Settings, out: &Output) -> Result<Self, CliError> {
        let mut signals = Signals::listen()?;
        settings.traces = out.traces.clone();
        out.flags.apply(&mut settings);
        settings.shows_sensitive = out.flags.show_sensitive && !out.json;
        let engine = Engine::start(settings).await?;
        // From here on, the signal thread cancels this engine if the command does not react.
        signals.register_engine(&engine);
        // Subscribed before the first reports below, so that none is lost.
        let (_, events) = engine.subscribe();
        if let Some(address) = out.metrics {
            engine.serve_metrics(address).await?;
        }
        engine.warn_unread_store();
        engine.report_orphans().await;
        Ok(Self {
            engine,
            events,
            signals,
            signals_received: 0,
            ask_later: false,
        })
    }

    /// Waits for an answer and prints events. The first signal asks the engine to stop. The second
    /// kills the plugins and waits up to [`KILL_GRACE`] for their records. The third returns at
    /// once.
    pub(super) async fn wait<T>(
        &mut self,
        out: &mut Output,
        progress: &mut Progress,
        question: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, CliError> {
        let mut question = std::pin::pin!(question);
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        let mut until: Option<Instant> = None;
        let mut kill_at: Option<Instant> = None;
        let mut over = false;
        let answer = loop {
            // select! evaluates the timer even if its branch is disabled, so it needs a time.
            let deadline = until.unwrap_or_else(Instant::now);
            let kill_time = kill_at.unwrap_or_else(Instant::now);
            // Signals come first, then the answer, so that a flood of events delays neither.
            tokio::select! { biased;
                () = self.signals.next() => {
                    self.signals_received += 1;
                    match self.signals_received {
                        // Nothing to cancel: the engine reads the state or derives a key.
                        1 if !self.engine.cancel(self.first_rung()) => {
                            break Err(CliError::Cancelled);
                        }
                        1 => kill_at = self.begin_stop(out, progress),
                        2 => {
                            kill_at = None;
                            until = Some(self.kill_plugins(out, progress));
                        }
                        _ => break Err(CliError::Cancelled),
                    }
                }
                () = tokio::time::sleep_until(kill_time), if kill_at.is_some() => {
                    kill_at = None;
                    until = Some(self.kill_plugins(out, progress));
                }
                () = tokio::time::sleep_until(deadline), if until.is_some() => break Err(CliError::Cancelled),
                answer = &mut question => break answer.map_err(CliError::Engine),
                update = self.events.recv_together(BATCH_DELAY), if !over => {
                    match update {
                        Some(update) => print_update(update, out, progress),
                        None => over = true,
                    }
                    // Checked after events, because an event reports the end of the last
                    // replacement.
                    if self.ask_later && self.engine.replacing() == 0 {
                        self.ask_later = false;
                        self.engine.cancel(CancelRung::AskPlugins);
                    }
                }
                _ = ticks.tick() => {
                    let now = std::time::Instant::now();
                    progress.tick();
                    progress.heartbeat(out, now);
                    out.in_lines(|lines| lines.tick(now));
                }
            }
        };
        // Unconstrained: tokio's budget must not make a full channel look empty.
        while let Some(Some(update)) = tokio::task::unconstrained(self.events.recv()).now_or_never()
        {
            print_update(update, out, progress);
        }
        progress.clear();
        answer
    }

    /// Returns the rung of the first signal. Objects that a command cleans up are destroyed first.
    fn first_rung(&self) -> CancelRung {
        match shutdown_timeout() {
            Some(_) if !self.engine.is_cleaning_up() => CancelRung::EndCommands,
            _ => CancelRung::StopStarting,
        }
    }

    /// Stops what runs after the first signal. Returns the time at which the plugins are killed;
    /// `None` at a terminal, where further signals decide.
    fn begin_stop(&mut self, out: &Output, progress: &Progress) -> Option<Instant> {
        if let Some(time) = shutdown_timeout() {
            let text = format!(
                "stopping within {} s: no operation starts, the plugins are asked to stop, and commands are ended",
                time.as_secs()
            );
            progress.print_line(out, &text);
            return Some(Instant::now() + time - RECORDING_TIME.min(time / 2));
        }
        // A replacement stopped halfway may have destroyed its object without a new one, so plugins
        // are asked only after it is complete.
        let begun = self.engine.replacing();
        self.ask_later = begun > 0;
        if self.engine.is_cleaning_up() {
            progress.print_line(out, "stopping: the remaining objects are destroyed first; interrupt again to kill the plugins");
        } else if self.ask_later {
            progress.print_line(out, &format!("stopping: no new operations start, and started replacements ({begun}) are completed; interrupt again to kill the plugins"));
        } else {
            progress.print_line(out, "stopping: no new operations start, and the plugins are asked to stop; interrupt again to kill them");
            self.engine.cancel(CancelRung::AskPlugins);
        }
        None
    }

    /// Kills the plugins. Returns the time until which their unknown outcomes may be recorded.
    fn kill_plugins(&mut self, out: &Output, progress: &Progress) -> Instant {
        self.ask_later = false;
        let text = "killing the plugins: the outcome of running operations will be unknown";
        progress.print_line(out, text);
        self.engine.cancel(CancelRung::KillPlugins);
        Instant::now() + KILL_GRACE
    }

    /// Returns true after the first signal.
    pub(super) fn was_interrupted(&self) -> bool {
        self.signals_received > 0
    }

    /// Waits for a future outside of the engine until a signal arrives.
    pub(super) async fn wait_outside_engine<T>(
        &mut self,
        question: impl Future<Output = T>,
    ) -> Result<T, CliError> {
        tokio::select! { biased;
            () = self.signals.next() => Err(CliError::Cancelled),
            answer = question => Ok(answer),
        }
    }

    /// Asks for a confirmation; see [`confirm`].
    pub(super) async fn confirm(
        &mut self,
        question: &str,
        instead: &str,
        out: &Output,
    ) -> Result<bool, CliError> {
        confirm(question, instead, &mut self.signals, out).await
    }

    /// Stops all plugins, releases the lock and prints the events until then.
    pub(super) async fn finish(mut self, out: &mut Output) {
        let mut progress = Progress::new(out);
        let engine = self.engine.clone();
        let stop = async {
            if tokio::time::timeout(SHUTDOWN, engine.shutdown())
                .await
                .is_err()
            {
                tracing::warn!("the plugins did not stop in {} s", SHUTDOWN.as_secs());
            }
            Ok(())
        };
        // Shutdown is best effort: a signal may end this wait early.
        if let Err(e) = self.wait(out, &mut progress, stop).await {
            tracing::debug!(error = %e, "the engine shutdown was interrupted");
        }
    }
}

/// Prints an update of the engine's events.
pub(super) fn print_update(update: Update, out: &mut Output, progress: &mut Progress) {
    match update {
        Update::Events(events) if out.json => {
            out.batch(|out| events.iter().for_each(|event| out.event(event)));
        }
        Update::Events(events) => {
            for event in events {
                out.event(&event);
                progress.event(out, &event);
            }
        }
        // This reader fell behind. A snapshot has all diagnostics, but not the lost progress
        // events.
        Update::Snapshot(view) => {
            let text =
                "events arrived faster than they were printed; some are missing in this output"
                    .to_owned();
            out.event(&model::Event {
                seq: view.seq,
                at: model::now_ms(),
                kind: model::EventKind::Notice { text },
            });
            let of_deploy = view.deploy.iter().flat_map(|d| &d.diagnostics);
            let all = view.diagnostics.iter().chain(of_deploy);
            all.for_each(|d| out.diagnostic(d));
        }
    }
}
