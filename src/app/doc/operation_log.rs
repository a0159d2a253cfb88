//! Log lines of an operation, and the progress that they report.

use super::{Line, Role, log_text, plugin, span};
use crate::app::format::{clock_ms, elapsed};
use crate::app::log::LogEntry;
use crate::app::state::{Context, State};
use lang::addr::unquote;
use model::{Operation, OperationState, PluginId, UnixMs};
use std::collections::BTreeSet;

/// Names that log lines of other resources have.
pub(super) struct OtherNames {
    own: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl OtherNames {
    /// Collects the values of the attribute `name` in the stage and in the state.
    pub(super) fn of(state: &State, address: &str) -> Self {
        let stage = state.view.stage.iter().flat_map(|s| &s.changes);
        let planned = stage.flat_map(|c| {
            let names = c.attributes.iter().filter(|a| a.path == "name");
            let values = names.flat_map(|a| [&a.before, &a.after]).flatten();
            values.map(|value| (c.address.as_str(), value))
        });
        let rows = state.loaded.state_rows.iter().flatten();
        let stored = rows.flat_map(|r| {
            let names = r.attributes.iter().filter(|(path, _)| path == "name");
            names.map(|(_, value)| (r.address.as_str(), value))
        });
        let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
        for (of, value) in planned.chain(stored) {
            let names = if of == address { &mut own } else { &mut others };
            names.extend(unquote(value));
        }
        Self { own, others }
    }

    /// Returns true for a log line with the name of another resource.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let words = text.split_whitespace();
        let mut names = words.filter_map(|w| w.strip_prefix("name="));
        names.any(|name| {
            let name = name.trim_matches('"');
            self.others.contains(name) && !self.own.contains(name)
        })
    }
}

/// Maximum number of log lines of an operation.
const LOG_LINES: usize = 100;

/// Returns the last log lines of the plugin during the operation, oldest first.
pub(super) fn log_lines<'a>(state: &'a State, op: &Operation, now: UnixMs) -> Vec<&'a LogEntry> {
    let (Some(plugin), Some(from)) = (&op.plugin, op.began) else {
        return Vec::new();
    };
    let took = op.took_ms.map(|t| i64::try_from(t).unwrap_or(0));
    let to = took.map_or(now, |took| from + took);
    let lines = state.log.lines().rev();
    let its = |e: &&LogEntry| e.line.plugin == *plugin && (from..=to).contains(&e.line.at);
    // The newest lines are the ones that explain a failure.
    let mut lines: Vec<&LogEntry> = lines.filter(its).take(LOG_LINES).collect();
    lines.reverse();
    lines
}

/// Maximum number of running operations with their newest log line: each one is searched for in
/// every frame.
pub const LOGGED_OPERATIONS: usize = 10;

/// Words of a log line that name what the row of its operation shows.
const KNOWN_WORDS: [&str; 3] = ["call=", "name=", "resource="];

/// Part of a call that its plugin reports as done in its log.
pub struct Reported {
    percent: u8,
    /// Time left by that part, in milliseconds; 0 or less if it has passed.
    pub left_ms: i64,
}

impl Reported {
    /// Reads the newest log line of a resource, whose operation or call runs since a time.
    pub fn of(state: &State, plugin: &PluginId, address: &str, since: UnixMs) -> Option<Self> {
        Self::read(
            newest_line(state, plugin, address, since)?,
            since,
            state.now,
        )
    }

    fn read(e: &LogEntry, since: UnixMs, now: UnixMs) -> Option<Self> {
        let percent = e.line.text.split_whitespace().find_map(percent)?;
        let worked = e.line.at - since;
        let left = worked * (100 - i64::from(percent)) / i64::from(percent);
        let left_ms = left - (now - e.line.at);
        Some(Self { percent, left_ms })
    }

    /// Text such as `34% · 12 s left`, for a narrow column.
    pub fn short_text(&self) -> String {
        self.text().replace("about ", "")
    }

    /// Text such as `34% · about 12 s left`.
    pub fn text(&self) -> String {
        let left = match self.left_ms {
            ms @ 1.. => format!(" · about {} left", elapsed(ms + 999)),
            _ => String::new(),
        };
        format!("{}%{left}", self.percent)
    }
}

/// Newest log line of a plugin since a time with the planned name of a resource.
fn newest_line<'s>(
    state: &'s State,
    plugin: &PluginId,
    address: &str,
    since: UnixMs,
) -> Option<&'s LogEntry> {
    let changes = &state.view.stage.as_ref()?.changes;
    let change = changes.iter().find(|c| *c.address == *address)?;
    let name = change.attributes.iter().find(|a| a.path == "name")?;
    let name = format!("name={}", unquote(name.after.as_ref()?)?);
    let lines = state.log.lines().rev().take(LOG_LINES);
    let mut its = lines.filter(|e| e.line.plugin == *plugin && e.line.at >= since);
    its.find(|e| e.line.text.split_whitespace().any(|word| word == name))
}

/// Text of the newest log line of a running operation, without what its row shows; if the line
/// reports a percentage, that and the time left by it.
pub fn newest_log_text(state: &State, op: &Operation) -> Option<String> {
    let (plugin, began) = (op.plugin.as_ref()?, op.began?);
    let running = state.frame.progress.count(OperationState::Running);
    if running > LOGGED_OPERATIONS || state.context() != Context::Deploy {
        return None;
    }
    let newest = newest_line(state, plugin, &op.address, began)?;
    if let Some(reported) = Reported::read(newest, began, state.now) {
        return Some(reported.text());
    }
    let is_known = |word: &&str| KNOWN_WORDS.iter().any(|known| word.starts_with(known));
    let words = newest.line.text.split_whitespace();
    let words: Vec<&str> = words.filter(|word| !is_known(word)).collect();
    Some(words.join(" "))
}

/// Reads the part of an operation that its plugin reports as done: `percent=34`, `progress=34%`.
fn percent(word: &str) -> Option<u8> {
    let (name, value) = word.split_once('=')?;
    let value = match name {
        "percent" => value,
        _ => value.strip_suffix('%')?,
    };
    let percent = value.parse().ok()?;
    (1..100).contains(&percent).then_some(percent)
}

pub(super) fn log_line(state: &State, e: &LogEntry) -> Line {
    let time = clock_ms(e.line.at, state.utc_offset);
    let mut l = vec![span(Role::Dim, format!("  {time} "))];
    l.extend(log_text(plugin::level_role(e.line.level), &e.line.text));
    l
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn percentage_is_read_from_named_values_only() {
        for (word, expected) in [
            ("percent=34", Some(34)),
            ("progress=34%", Some(34)),
            ("percent=100", None),
            ("percent=0", None),
            ("size=34", None),
            ("34%", None),
        ] {
            assert_eq!(percent(word), expected, "{word}");
        }
    }
}
