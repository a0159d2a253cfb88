//! One crash, one incident: what is known of a plugin's death while it was in use. The calls that
//! it took down point here instead of each telling that nobody answered.

use super::board::Board;
use super::failure::{Exit, ITS_ERROR};
use super::launch::Running;
use crate::engine::words::{LogLine, PluginEvent, PluginId, UnixMs, now_ms};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;

/// The newest ones of a plugin.
pub(super) type Incidents = watch::Sender<VecDeque<Arc<Incident>>>;

/// Incidents of one plugin that are kept.
const KEPT: usize = 16;
/// Lines kept with an incident.
const LINES: usize = 100;

/// How a plugin that was ready came to its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Exited(Exit),
    /// It closed its connection, or deregistered, and went on running; whether we ended it then.
    CutOff {
        ended: bool,
    },
}

/// A plugin's death while it was ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Incident {
    /// Unique: plugin, pid and the moment.
    pub id: String,
    pub plugin: PluginId,
    /// Which process of the plugin: see `Connection::generation`.
    pub generation: u64,
    pub at: UnixMs,
    pub exit: Exit,
    /// For people: how it ended, and its last words.
    pub text: String,
    /// The panic's trace, if there was one.
    pub trace: Vec<String>,
    /// The last log lines at that moment, oldest first; of a panic its beginning and what came
    /// before it.
    pub last_lines: Vec<LogLine>,
}

impl Incident {
    fn of(board: &Board, running: &Running, end: End) -> Self {
        let (logs, connection) = (&running.logs, &running.connection);
        let (generation, pid) = (connection.generation, connection.pid.unwrap_or_default());
        let at = now_ms();
        let (how, exit) = match end {
            End::Exited(exit) => (exit.to_string(), exit),
            End::CutOff { ended } => {
                let lost = format!("it {}", connection.way().lost_by());
                let how = match ended {
                    true => {
                        format!("{lost} and went on running, so that it was ended; {ITS_ERROR}")
                    }
                    false => lost,
                };
                (how, Exit::default())
            }
        };
        let text = match logs.last_words() {
            Some(words) => format!("the plugin died while it was in use: {how}: {words}"),
            None => format!("the plugin died while it was in use: {how}"),
        };
        Self {
            id: format!("{}@{pid}-{at}", board.id),
            plugin: board.id.clone(),
            generation,
            at,
            exit,
            text,
            trace: logs.trace(),
            last_lines: logs.ending(LINES),
        }
    }

    /// Keeps it among the newest of its plugin, and says it.
    pub(super) fn happens(
        board: &Board,
        incidents: &Incidents,
        running: &Running,
        end: End,
    ) -> Arc<Self> {
        let incident = Arc::new(Self::of(board, running, end));
        board.observer.event(incident.event());
        incidents.send_modify(|all| {
            if all.len() == KEPT {
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
