//! Output of commands: text lines, or JSON lines for programs; each diagnostic once. Owns stdout.

use super::diagnostics;
use super::exit::plain_diagnostic;
use super::flags::SharedFlags;
use super::grouping::Grouping;
use super::json_into::JsonInto;
use super::signals;
use super::tofu::{Form, Lines};
use super::values::Level;
use model::{Diagnostic, Endpoint, Event, EventKind, PluginEvent, Severity};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Version of the JSON lines' schema.
const FORMAT_VERSION: &str = "1.0";
/// Maximum number of different diagnostics of a command that are shown.
const SHOWN: usize = 10_000;
/// Maximum number of diagnostics that are recognised when they are repeated.
const KNOWN: usize = 1_000_000;
/// Buffer size, in bytes, for lines that are written together.
const LINE_BUFFER: usize = 64 * 1024;

/// Output of a command, with the settings that decide about its form.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    /// Colours on stdout.
    pub(super) color: bool,
    /// Colours on stderr.
    pub(super) err_color: bool,
    /// Progress may redraw lines.
    pub(super) live: bool,
    /// Value of `--log-level`; log lines of plugins are shown as text only if it is set.
    pub(super) log_level: Option<Level>,
    /// Address on which the engine of this command serves metrics.
    pub(super) metrics: Option<std::net::SocketAddr>,
    /// Endpoint to which deploys are exported as traces.
    pub(super) traces: Option<Endpoint>,
    /// Output form of another tool, if one was requested.
    pub(super) form: Option<Form>,
    /// Shared flags of the command line.
    pub(super) flags: SharedFlags,
    /// Prompts are allowed.
    pub(super) has_input: bool,
    /// No progress is shown.
    pub(super) concise: bool,
    pub(super) grouping: Grouping,
    /// File for additional JSON lines while stdout has text.
    pub(super) json_file: Option<JsonInto>,
    reported: Vec<Diagnostic>,
    /// Diagnostics held back until the events end.
    held_diagnostics: Vec<Diagnostic>,
    /// Hashes of the reported diagnostics, also of those beyond [`SHOWN`].
    known: HashSet<u64>,
    /// Number of diagnostics beyond [`SHOWN`] that no notice has reported yet.
    not_shown: usize,
    /// Buffer of lines that are written together.
    line_buffer: Option<String>,
    /// The reader has closed stdout. The command continues: a deploy must not fail because of a
    /// closed pipe.
    closed: bool,
    /// Write error of stdout other than a closed pipe.
    write_error: Option<std::io::Error>,
}

/// Colours for people, by meaning.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ink {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

/// Returns `text` in a colour if `on`.
pub(super) fn paint(on: bool, ink: Ink, text: &str) -> String {
    let code = match ink {
        Ink::Bold => "1",
        Ink::Dim => "2",
        Ink::Red => "31",
        Ink::Green => "32",
        Ink::Yellow => "33",
        Ink::Blue => "34",
        Ink::Magenta => "35",
        Ink::Cyan => "36",
    };
    if on {
        format!("\x1b[{code}m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

/// Time that a pipe may stay full after a signal before its reader counts as gone.
const STALLED_PIPE_TIMEOUT: Duration = Duration::from_secs(1);
/// Number of bytes that a writable pipe accepts without blocking.
const PIPE_BUF: usize = 4096;

/// Writes to stdout. If a pipe's reader does not read, a signal ends the wait.
fn to_stdout(bytes: &[u8]) -> std::io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut stdout = std::io::stdout().lock();
    let looks = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    let mut unread: Option<Instant> = None;
    // A writable pipe guarantees space for PIPE_BUF bytes; a larger write could block after the
    // poll.
    for part in bytes.chunks(PIPE_BUF) {
        loop {
            let fd = std::io::stdout();
            let mut waits = [PollFd::new(&fd, PollFlags::OUT)];
            match poll(&mut waits, Some(&looks)) {
                Ok(0) if signals::was_signalled() => {
                    let since = *unread.get_or_insert_with(Instant::now);
                    if since.elapsed() >= STALLED_PIPE_TIMEOUT {
                        return Err(std::io::Error::other(
                            "the pipe is full, and its reader does not read",
                        ));
                    }
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                // Files that cannot be polled are written without a wait.
                _ => break,
            }
        }
        stdout.write_all(part)?;
        stdout.flush()?;
    }
    Ok(())
}

impl Output {
    pub(super) fn new(no_color: bool, json: bool) -> Self {
        let wanted = !no_color
            && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self {
            json,
            color: wanted && !json && std::io::stdout().is_terminal(),
            err_color: wanted && std::io::stderr().is_terminal(),
            live: !json
                && std::io::stderr().is_terminal()
                && std::io::stdout().is_terminal()
                && std::env::var_os("TERM").is_none_or(|t| t != "dumb"),
            log_level: None,
            metrics: None,
            traces: None,
            form: None,
            flags: SharedFlags::default(),
            has_input: true,
            concise: false,
            grouping: Grouping::default(),
            json_file: None,
            reported: Vec::new(),
            held_diagnostics: Vec::new(),
            known: HashSet::new(),
            not_shown: 0,
            line_buffer: None,
            closed: false,
            write_error: None,
        }
    }

    /// Writes one line to stdout.
    pub(super) fn line(&mut self, text: &str) {
        let shown = if self.json {
            model::visible::json(text)
        } else {
            text.into()
        };
        let text = &*shown;
        if let Some(held) = &mut self.line_buffer {
            held.push_str(text);
            held.push('\n');
            if held.len() >= LINE_BUFFER {
                let full = std::mem::take(held);
                self.write(full.as_bytes());
            }
        } else {
            self.write(format!("{text}\n").as_bytes());
        }
    }

    /// Writes all lines of the closure with as few system calls as possible.
    pub(super) fn batch(&mut self, lines: impl FnOnce(&mut Self)) {
        self.line_buffer = Some(String::new());
        lines(self);
        if let Some(held) = self.line_buffer.take() {
            self.write(held.as_bytes());
        }
    }

    /// Writes bytes to stdout without changes.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.closed {
            return;
        }
        if let Err(error) = to_stdout(bytes) {
            // Later writes are skipped, whatever the error: the output would have a gap.
            self.closed = true;
            // A closed pipe is no error: the reader, such as `head`, needs no more.
            self.write_error = Some(error).filter(|e| e.kind() != std::io::ErrorKind::BrokenPipe);
        }
    }

    /// Writes the lines of the other tool's form, if it was requested.
    fn formed(&mut self, say: impl FnOnce(&mut Form) -> Vec<String>) {
        let Some(form) = &mut self.form else { return };
        for text in say(form) {
            match &self.form {
                // The document of `validate` contains line breaks, so it is no JSON line.
                Some(Form::Document(_)) if self.json => {
                    self.write(format!("{text}\n").as_bytes());
                }
                _ => self.program_line(&text),
            }
        }
    }

    /// Writes one JSON line to stdout or to the file of `--json-into`.
    pub(super) fn program_line(&mut self, text: &str) {
        if self.json {
            self.line(text);
        } else if let Some(into) = &mut self.json_file {
            into.line(text);
        }
    }

    /// Returns true if JSON lines are written to stdout or to a file.
    pub(super) fn has_program(&self) -> bool {
        self.json || self.json_file.is_some()
    }

    /// Returns true if OpenTofu's JSON lines were requested.
    pub(super) fn has_lines(&self) -> bool {
        matches!(self.form, Some(Form::Lines(_)))
    }

    /// Writes OpenTofu's JSON lines, if they were requested.
    pub(super) fn in_lines(&mut self, say: impl FnOnce(&mut Lines) -> Vec<String>) {
        self.formed(|form| match form {
            Form::Lines(lines) => say(lines),
            Form::Document(_) => Vec::new(),
        });
    }

    /// Takes the write error of stdout, as a message.
    pub(super) fn take_write_error(&mut self) -> Option<String> {
        let error = self.write_error.take()?;
        Some(format!(
            "failed to write output: {error}; the changes of the command are done and recorded, see `flightdeck history`"
        ))
    }

    /// Returns true if stdout still has a reader.
    pub(super) fn is_open(&self) -> bool {
        !self.closed
    }

    /// Writes one line to stderr.
    pub(super) fn stderr_line(&self, text: &str) {
        // An error of stderr has no place to be reported.
        drop(writeln!(std::io::stderr().lock(), "{text}"));
    }

    /// Writes an error without a position to stderr.
    pub(super) fn error_line(&self, text: &str) {
        self.stderr_line(&diagnostics::problem(text, self.err_color));
    }

    pub(super) fn paint(&self, ink: Ink, text: &str) -> String {
        paint(self.color, ink, text)
    }

    /// Writes an event as a JSON line. Diagnostics are held back until the end, where each is
    /// written once.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Diagnostic(d) => self.diagnostic(d),
            _ if self.form.is_some() => self.formed(|form| form.event(event)),
            EventKind::Plugin(PluginEvent::Log { line })
                if !self.log_level.unwrap_or(Level::Warn).includes(line.level) => {}
            // A summary of a sequence of calls: each of them has its own event.
            EventKind::CallFinished(call) if call.covers => {}
            _ if self.has_program() => match serde_json::to_string(event) {
                Ok(text) => self.program_line(&text),
                Err(e) => tracing::warn!(error = %e, "failed to write an event as JSON"),
            },
            _ => {}
        }
    }

    /// Holds a diagnostic back for [`Self::flush_diagnostics`], unless it is a duplicate.
    pub(super) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        // Past the limit repeated diagnostics count again: memory must stay bounded, and a count
        // that is too high is better than none.
        if self.known.len() < KNOWN && !self.known.insert(fingerprint(diagnostic)) {
            return;
        }
        if self.reported.len() < SHOWN {
            self.reported.push(diagnostic.clone());
            self.held_diagnostics.push(diagnostic.clone());
        } else {
            self.not_shown += 1;
        }
    }

    /// Takes the notice about diagnostics that are not shown; `None` if all are.
    fn take_not_shown(&mut self) -> Option<Diagnostic> {
        let count = match std::mem::take(&mut self.not_shown) {
            0 => return None,
            1 => "1 more diagnostic is not shown".to_owned(),
            n => format!("{n} more diagnostics are not shown"),
        };
        Some(Diagnostic {
            severity: Severity::Warning,
            detail: format!(
                "A command shows at most {SHOWN} diagnostics. Fix those that are shown, and run the command again."
            ),
            ..plain_diagnostic(&count)
        })
    }

    /// Forgets what was reported, for a command that repeats its work.
    pub(super) fn forget_diagnostics(&mut self) {
        self.known.clear();
        self.reported.clear();
    }

    /// Holds a diagnostic back even if it is a duplicate.
    pub(super) fn diagnostic_again(&mut self, diagnostic: &Diagnostic) {
        self.held_diagnostics.push(diagnostic.clone());
    }

    /// Returns true if an error of this resource is reported or held back.
    pub(super) fn has_error_of(&self, address: &str, summary: &str) -> bool {
        let about = |d: &Diagnostic| {
            d.address.as_deref() == Some(address)
                || d.further
                    .as_ref()
                    .is_some_and(|f| f.addresses.iter().any(|a| a == address))
        };
        self.reported
            .iter()
            .any(|d| about(d) && (d.summary == summary || summary.contains(&d.summary)))
    }

    /// Returns true if an error with this detail is reported or held back.
    pub(super) fn has_error_with(&self, detail: &str) -> bool {
        self.reported.iter().any(|d| d.detail.contains(detail))
    }

    /// Writes the diagnostics that are held back.
    pub(super) fn flush_diagnostics(&mut self) {
        let mut all = std::mem::take(&mut self.held_diagnostics);
        // Last, where an operator looks first after a long output.
        all.extend(self.take_not_shown());
        for diagnostic in &all {
            self.program_diagnostic(diagnostic);
        }
        if !self.json {
            for text in self.grouping.texts(all, self.err_color) {
                self.stderr_line(&text);
            }
        }
    }

    /// Writes a diagnostic for programs only.
    pub(super) fn program_diagnostic(&mut self, diagnostic: &Diagnostic) {
        if self.form.is_some() {
            self.formed(|form| form.diagnostic(diagnostic));
        } else if self.has_program() {
            self.program_line(&diagnostics::json(diagnostic).to_string());
        }
    }

    /// Writes the result line, the last JSON line of a command.
    pub(super) fn result(&mut self, command: &str, fields: Map<String, Value>) {
        if self.form.is_some() {
            return self.formed(Form::result);
        }
        let mut line =
            json!({ "type": "result", "format_version": FORMAT_VERSION, "command": command });
        if let Value::Object(all) = &mut line {
            all.extend(fields);
        }
        self.program_line(&line.to_string());
    }
}

/// Returns the hash of the parts that make a diagnostic different from others.
fn fingerprint(d: &Diagnostic) -> u64 {
    let mut hasher = DefaultHasher::new();
    (d.severity == Severity::Error).hash(&mut hasher);
    (&d.summary, &d.detail, &d.address).hash(&mut hasher);
    let range = d.range.as_ref();
    let range = range.map(|r| (&r.filename, r.start.byte, r.end.byte));
    range.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_beyond_the_limit_are_counted_once() {
        let mut out = Output::new(true, false);
        let all: Vec<Diagnostic> = (0..SHOWN + 3)
            .map(|n| plain_diagnostic(&n.to_string()))
            .collect();
        // Twice, as a failed command reports events and then its error.
        for diagnostic in all.iter().chain(&all) {
            out.diagnostic(diagnostic);
        }
        assert_eq!(out.held_diagnostics, all[..SHOWN]);
        let notice = out.take_not_shown().unwrap();
        assert_eq!(notice.summary, "3 more diagnostics are not shown");
        assert_eq!(notice.severity, Severity::Warning);
        assert_eq!(out.take_not_shown(), None);
    }
}
