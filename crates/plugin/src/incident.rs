//! Incidents: one record for each crash of a plugin in use. Calls interrupted by the crash refer to
//! it instead of each reporting a lost connection.

use super::failure::{Exit, ITS_ERROR};
use super::launch::Running;
use super::status::PluginStatus;
use model::{LogLine, PluginEvent, PluginId, UnixMs, now_ms};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// Newest incidents of one plugin.
pub(super) type Incidents = watch::Sender<VecDeque<Arc<Incident>>>;

/// Number of incidents to keep per plugin.
const MAX_INCIDENTS: usize = 16;
/// Number of log lines to keep with an incident.
const LINES: usize = 100;

/// End of a plugin that was ready.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Exited(Exit),
    /// It closed its connection or deregistered but continued to run; `ended` is true if flightdeck
    /// then killed it.
    CutOff {
        ended: bool,
    },
}

/// Crash of a plugin that was ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// Unique id: plugin, pid and time.
    pub id: String,
    pub plugin: PluginId,
    /// Generation of the process: see `Connection::generation`.
    pub generation: u64,
    pub at: UnixMs,
    pub exit: Exit,
    /// Text for display: exit reason and last output.
    pub text: String,
    /// Stack trace of the panic, if there was one.
    pub trace: Vec<String>,
    /// Last log lines at that moment, oldest first. After a panic: its beginning and the lines
    /// before it.
    pub last_lines: Vec<LogLine>,
}

impl Incident {
    fn of(board: &PluginStatus, running: &Running, end: End) -> Self {
        let (logs, connection) = (&running.logs, &running.connection);
        let (generation, pid) = (connection.generation, connection.pid.unwrap_or_default());
        let at = now_ms();
        let (how, exit) = match end {
            End::Exited(exit) => (exit.to_string(), exit),
            End::CutOff { ended } => {
                let lost = format!("it {}", connection.raw_link().loss_cause());
                let how = match ended {
                    true => {
                        format!("{lost} without exiting and was killed; {ITS_ERROR}")
                    }
                    false => lost,
                };
                (how, Exit::default())
            }
        };
        let text = match logs.last_output() {
            Some(words) => format!("the plugin crashed during use: {how}: {words}"),
            None => format!("the plugin crashed during use: {how}"),
        };
        Self {
            id: format!("{}@{pid}-{at}", board.id),
            plugin: board.id.clone(),
            generation,
            at,
            exit,
            text,
            trace: logs.trace(),
            last_lines: logs.exit_lines(LINES),
        }
    }

    /// Records a new incident of the plugin and emits its event.
    pub(super) fn record(
        board: &PluginStatus,
        incidents: &Incidents,
        running: &Running,
        end: End,
    ) -> Arc<Self> {
        let incident = Arc::new(Self::of(board, running, end));
        // Emitted first: calls that find the incident in the list refer to its event.
        board.observer.event(incident.event());
        incidents.send_modify(|all| {
            if all.len() == MAX_INCIDENTS {
                all.pop_front();
            }
            all.push_back(Arc::clone(&incident));
        });
        incident
    }

    fn event(&self) -> PluginEvent {
        PluginEvent::Crash {
            plugin: self.plugin.clone(),
            incident: self.id.clone(),
            code: self.exit.code,
            signal: self.exit.signal,
            text: self.text.clone(),
            trace: self.trace.clone(),
        }
    }
}
