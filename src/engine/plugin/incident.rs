//! One crash, one incident: what is known of a plugin's death while it was in use. The calls that
//! it took down point here instead of each telling that nobody answered.

use super::board::Board;
use super::failure::{Exit, ITS_ERROR};
use crate::engine::words::{LogLine, PluginEvent, PluginId, UnixMs, now_ms};

/// Lines kept with an incident.
const LINES: usize = 100;

/// How a plugin that was ready came to its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Exited(Exit),
    /// It closed its connection and went on running; whether we ended it then.
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
    pub(super) fn of(board: &Board, generation: u64, pid: u32, end: End) -> Self {
        let at = now_ms();
        let (how, exit) = match end {
            End::Exited(exit) => (exit.to_string(), exit),
            End::CutOff { ended: true } => (
                format!(
                    "it closed its connection and went on running, so that it was ended; {ITS_ERROR}"
                ),
                Exit::default(),
            ),
            End::CutOff { ended: false } => {
                ("it closed its connection".to_owned(), Exit::default())
            }
        };
        let text = match board.logs.last_words() {
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
            trace: board.logs.trace(),
            last_lines: board.logs.ending(LINES),
        }
    }

    pub(super) fn event(&self) -> PluginEvent {
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
