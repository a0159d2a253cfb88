//! Checks of a plugin's process: start, output, memory, requests to stop, and its end.

use super::ConformRequest;
use calls::{CallContext, ProviderError};
use conform::{Check, Report, Status};
use model::bus::{Bus, Listener};
use model::view::PluginView;
use model::{Event, EventKind, LogStream, PLUGIN_PATH_DIALECT, PluginEvent, PluginId, duration};
use provider::Provider;
use provider::pool::Pool;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Largest number of log lines of a run that passes.
const MOST_LINES: u64 = 4_000;

/// Counts lines on standard output and log lines of a plugin, dropped ones included.
pub(super) struct LogNoise {
    plugin: PluginId,
    stdout: AtomicU64,
    log: AtomicU64,
    first: OnceLock<String>,
}

impl LogNoise {
    pub(super) fn listen(bus: &Bus, plugin: &PluginId) -> Arc<Self> {
        let noise = Arc::new(Self {
            plugin: plugin.clone(),
            stdout: AtomicU64::new(0),
            log: AtomicU64::new(0),
            first: OnceLock::new(),
        });
        bus.listen(noise.clone());
        noise
    }

    /// With `has_handshake`, standard output belongs to the handshake; otherwise it is a log.
    fn check(&self, has_handshake: bool) -> Check {
        // The counters do not depend on each other, so that no memory order is needed.
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let (stdout, log) = match (count(&self.stdout), count(&self.log)) {
            (stdout, log) if has_handshake => (stdout, log),
            (stdout, log) => (0, stdout + log),
        };
        let (status, evidence) = match (stdout, log) {
            (0, log) if log <= MOST_LINES => {
                let text = match has_handshake {
                    true => format!("no line besides the handshake, and {log} log lines"),
                    false => format!("{log} log lines, standard output included"),
                };
                (Status::Pass, text)
            }
            (0, log) => (Status::Fail, format!("{log} log lines, limit {MOST_LINES}")),
            (lines, _) => {
                let first = self.first.get().map_or("", String::as_str);
                (
                    Status::Fail,
                    format!(
                        "{lines} lines besides the handshake; write logs to standard error. First line: {first}"
                    ),
                )
            }
        };
        Check::new("stdout", status, evidence)
    }
}

impl Listener for LogNoise {
    fn on_event(&self, event: &Event) {
        match &event.kind {
            EventKind::Plugin(PluginEvent::Log { line })
                if line.plugin == self.plugin && line.stream == LogStream::Stdout =>
            {
                self.stdout.fetch_add(1, Ordering::Relaxed);
                self.first.get_or_init(|| line.text.clone());
            }
            EventKind::Plugin(PluginEvent::Log { line }) if line.plugin == self.plugin => {
                self.log.fetch_add(1, Ordering::Relaxed);
            }
            EventKind::Plugin(PluginEvent::LinesLeftOut { plugin, lines })
                if *plugin == self.plugin =>
            {
                // The event does not name a stream, so that dropped lines count as log lines.
                self.log.fetch_add(*lines, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// Process of the checked plugin.
pub(super) struct Process<'p> {
    pool: &'p Pool,
    bus: &'p Bus,
    request: &'p ConformRequest,
}

impl<'p> Process<'p> {
    pub(super) fn new(pool: &'p Pool, bus: &'p Bus, request: &'p ConformRequest) -> Self {
        Self { pool, bus, request }
    }

    fn view(&self) -> Option<PluginView> {
        self.bus
            .with_view(|view| view.plugins.get(&self.request.plugin).cloned())
    }

    /// Checks of a successful start.
    pub(super) fn started(&self) -> [Check; 3] {
        let view = self.view();
        let attempt = view.as_ref().and_then(PluginView::attempt);
        let took = attempt.and_then(|a| a.took_ms);
        let launches = attempt.map_or(1, |a| a.number);
        let start = match launches {
            0 | 1 => Check::new("start", Status::Pass, "ready at the first launch"),
            // A later launch succeeds only after another one has failed, which is a defect.
            launches => {
                let text = format!("ready only at launch {launches}");
                Check::new("start", Status::Fail, text)
            }
        };
        let time = match took {
            None => Check::new(
                "start-time",
                Status::Skipped,
                "the process was already running",
            ),
            Some(ms) => {
                let limit = self.request.start_limit;
                let is_slow = Duration::from_millis(ms) > limit;
                let status = if is_slow { Status::Fail } else { Status::Pass };
                let limit = duration(limit.as_millis() as u64);
                let text = format!("ready in {}, limit {limit}", duration(ms));
                Check::new("start-time", status, text)
            }
        };
        // A provider is returned only after its schemas were fetched and found valid.
        let schema = Check::new("schema", Status::Pass, "all schemas are valid");
        [start, schema, time]
    }

    /// Checks of a failed start: of the schema, if only its fetch failed.
    pub(super) fn not_started(&self, error: &str) -> Vec<Check> {
        let view = self.view();
        let attempt = view.as_ref().and_then(|view| view.attempts.back());
        let verdict = attempt.and_then(|attempt| attempt.verdict.as_ref());
        // A schema can also be found invalid after a launch that succeeded.
        let failed = verdict.filter(|verdict| verdict.kind.is_failed());
        let why = failed.map_or(error, |verdict| verdict.text.as_str());
        let skip = |id| Check::new(id, Status::Skipped, "the plugin did not start");
        // A plugin that was ready has completed its handshake, so that its schema failed.
        let schema_failed = verdict.is_some_and(|v| matches!(v.kind.word(), "schema" | "ready"));
        match schema_failed {
            true => vec![
                Check::new("start", Status::Pass, "the handshake is complete"),
                Check::new("schema", Status::Fail, why),
                skip("configure"),
            ],
            false => vec![
                Check::new("start", Status::Fail, why),
                skip("schema"),
                skip("configure"),
            ],
        }
    }

    /// Returns true if the plugin registers at a socket of its host, without a handshake.
    pub(super) fn registers(&self) -> bool {
        let found = self.view().and_then(|view| view.found);
        let dialect = found.and_then(|found| found.dialect);
        dialect.is_some_and(|dialect| dialect.starts_with(PLUGIN_PATH_DIALECT))
    }

    /// Asks the provider to stop its current work.
    pub(super) async fn cancel(&self, provider: &dyn Provider) -> Check {
        let skip = |why| Check::new("cancel", Status::Skipped, why);
        if self.registers() {
            return skip("the dialect has no such request");
        }
        if !self.view().is_some_and(|view| view.state.has_process()) {
            return skip("the process was not running");
        }
        let began = Instant::now();
        match provider.stop(&CallContext::default()).await {
            Ok(()) => {
                let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                let text = format!("answered in {}, while no call was running", duration(ms));
                Check::new("cancel", Status::Pass, text)
            }
            Err(ProviderError::Unsupported { .. }) => skip("the provider has no such request"),
            Err(error) => Check::new("cancel", Status::Fail, error.to_string()),
        }
    }

    /// Ends the process, and checks its end, memory and output.
    pub(super) async fn end(&self, noise: &LogNoise) -> Vec<Check> {
        let view = self.view();
        let is_running = view.as_ref().is_some_and(|view| view.state.has_process());
        let pid = view
            .as_ref()
            .and_then(|view| view.pid)
            .filter(|_| is_running);
        // Read before the stop, because the system forgets a process that has ended.
        let peak = pid.and_then(peak_memory);
        let mut checks = Vec::new();
        match (self.pool.plugins().get(&self.request.plugin), is_running) {
            (Some(plugin), true) => {
                let began = Instant::now();
                plugin.stop().await;
                checks.push(self.shutdown(began.elapsed()));
            }
            _ => {
                let why = "the process was not running at the end";
                checks.push(Check::new("shutdown", Status::Skipped, why));
            }
        }
        // Checked after the end, so that lines of the shutdown count, too.
        checks.push(noise.check(!self.registers()));
        let memory = match peak {
            None => Check::new("memory", Status::Skipped, "the system has no measurement"),
            Some(bytes) => {
                let (peak, limit) = (bytes >> 20, self.request.memory_limit_mib);
                let is_large = peak > limit;
                let status = if is_large { Status::Fail } else { Status::Pass };
                Check::new(
                    "memory",
                    status,
                    format!("peak {peak} MiB, limit {limit} MiB"),
                )
            }
        };
        checks.push(memory);
        checks
    }

    /// A process that ends by itself ends within the grace period.
    fn shutdown(&self, took: Duration) -> Check {
        let grace = self.pool.plugins().settings().launch.grace;
        let [took, limit] = [took, grace].map(|time| time.as_millis() as u64);
        match took < limit {
            true => {
                let text = format!("ended in {}", duration(took));
                Check::new("shutdown", Status::Pass, text)
            }
            false => {
                let text = format!("did not end within {}, and was killed", duration(limit));
                Check::new("shutdown", Status::Fail, text)
            }
        }
    }

    /// Adds version and dialect to a report.
    pub(super) fn describe(&self, report: &mut Report) {
        let found = self.view().and_then(|view| view.found);
        if let Some(found) = found {
            report.version = found.version;
            report.dialect = found.dialect;
        }
        // Checks of the start and of the end are made apart, in another order than the rules.
        report
            .checks
            .sort_by_key(|check| conform::RULES.iter().position(|rule| rule.id == check.id));
    }
}

/// Peak resident memory of a process in bytes; `None` if the system does not tell it.
fn peak_memory(pid: u32) -> Option<u64> {
    // Systems other than Linux have no such file, and the check is skipped there.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}
