//! What is printed: lines for people, or one JSON object a line for programs; diagnostics once
//! each. Owns stdout.

use super::diagnostics;
use super::flags::SharedFlags;
use super::grouping::Grouping;
use super::json_into::JsonInto;
use super::signals;
use super::tofu::{Form, Lines};
use super::values::Level;
use crate::engine::words::{Diagnostic, Endpoint, Event, EventKind, PluginEvent};
use serde_json::{Map, Value, json};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Version of the lines' schema.
const FORMAT_VERSION: &str = "1.0";
/// Diagnostics remembered so that none is said twice.
const REMEMBERED: usize = 10_000;
/// Bytes of lines that are held back to be written together.
const HELD: usize = 64 * 1024;

/// Where a command's words go.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) json: bool,
    /// Colours on stdout.
    pub(super) color: bool,
    /// Colours on stderr.
    pub(super) err_color: bool,
    /// Whether progress may redraw lines.
    pub(super) live: bool,
    /// What was asked for; plugins' lines are shown to people only then.
    pub(super) log_level: Option<Level>,
    /// Where the engine that is started for the command serves what is measured.
    pub(super) metrics: Option<std::net::SocketAddr>,
    /// Where deploys are sent to as traces.
    pub(super) traces: Option<Endpoint>,
    /// Another form than ours, for programs.
    pub(super) form: Option<Form>,
    /// Shared flags of the command line.
    pub(super) flags: SharedFlags,
    /// Prompts are allowed.
    pub(super) has_input: bool,
    /// No progress is shown.
    pub(super) concise: bool,
    pub(super) grouping: Grouping,
    /// Lines for programs go here as well, where people read stdout.
    pub(super) into: Option<JsonInto>,
    said: Vec<Diagnostic>,
    /// Kept back until events are over.
    waiting: Vec<Diagnostic>,
    /// Lines that are written together.
    held: Option<String>,
    /// Nobody reads stdout any more. The command goes on: a deploy is not to die of a closed pipe.
    closed: bool,
    /// Why stdout does not take all that was said, where that is no closed pipe.
    broken: Option<std::io::Error>,
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

/// `text` in a colour, where colours are wanted.
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

/// How long a pipe may be full after a signal before it counts as read by nobody.
const UNREAD: Duration = Duration::from_secs(1);
/// Bytes that a pipe takes without a wait once it takes any.
const PIPE_BUF: usize = 4096;

/// Writes to stdout. Where it is a pipe that nobody empties, a signal ends the wait for it.
fn to_stdout(bytes: &[u8]) -> std::io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut stdout = std::io::stdout().lock();
    let looks = Timespec {
        tv_sec: 0,
        tv_nsec: 50_000_000,
    };
    let mut unread: Option<Instant> = None;
    for part in bytes.chunks(PIPE_BUF) {
        loop {
            let fd = std::io::stdout();
            let mut waits = [PollFd::new(&fd, PollFlags::OUT)];
            match poll(&mut waits, Some(&looks)) {
                Ok(0) if signals::asked() => {
                    let since = *unread.get_or_insert_with(Instant::now);
                    if since.elapsed() >= UNREAD {
                        return Err(std::io::Error::other("nobody reads it"));
                    }
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                // What cannot be waited for is written to at once.
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
            into: None,
            said: Vec::new(),
            waiting: Vec::new(),
            held: None,
            closed: false,
            broken: None,
        }
    }

    /// One line on stdout.
    pub(super) fn line(&mut self, text: &str) {
        let shown = if self.json {
            crate::engine::visible::json(text)
        } else {
            text.into()
        };
        let text = &*shown;
        if let Some(held) = &mut self.held {
            held.push_str(text);
            held.push('\n');
            if held.len() >= HELD {
                let full = std::mem::take(held);
                self.write(full.as_bytes());
            }
        } else {
            self.write(format!("{text}\n").as_bytes());
        }
    }

    /// Lines that come at once are written together, not each by itself.
    pub(super) fn together(&mut self, lines: impl FnOnce(&mut Self)) {
        self.held = Some(String::new());
        lines(self);
        if let Some(held) = self.held.take() {
            self.write(held.as_bytes());
        }
    }

    /// These bytes on stdout, as they are.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.closed {
            return;
        }
        if let Err(error) = to_stdout(bytes) {
            self.closed = true;
            // Whoever closes a pipe has read enough.
            self.broken = Some(error).filter(|e| e.kind() != std::io::ErrorKind::BrokenPipe);
        }
    }

    /// What another tool's form has to say, where one was asked for.
    fn formed(&mut self, say: impl FnOnce(&mut Form) -> Vec<String>) {
        let Some(form) = &mut self.form else { return };
        for text in say(form) {
            match &self.form {
                // One document, on lines of its own.
                Some(Form::Document(_)) if self.json => {
                    self.write(format!("{text}\n").as_bytes());
                }
                _ => self.program_line(&text),
            }
        }
    }

    /// One line for programs, on stdout or in the file of `--json-into`.
    pub(super) fn program_line(&mut self, text: &str) {
        if self.json {
            self.line(text);
        } else if let Some(into) = &mut self.into {
            into.line(text);
        }
    }

    /// Returns true if lines for programs are written anywhere.
    pub(super) fn has_program(&self) -> bool {
        self.json || self.into.is_some()
    }

    /// Whether another tool's lines were asked for.
    pub(super) fn has_lines(&self) -> bool {
        matches!(self.form, Some(Form::Lines(_)))
    }

    /// What another tool's lines say, where they were asked for.
    pub(super) fn in_lines(&mut self, say: impl FnOnce(&mut Lines) -> Vec<String>) {
        self.formed(|form| match form {
            Form::Lines(lines) => say(lines),
            Form::Document(_) => Vec::new(),
        });
    }

    /// What stdout did not take, in words; asked for once.
    pub(super) fn broken(&mut self) -> Option<String> {
        let error = self.broken.take()?;
        Some(format!(
            "the output is not whole: {error}; what the command did is done, and its record is in the store"
        ))
    }

    /// Whether somebody still reads.
    pub(super) fn is_open(&self) -> bool {
        !self.closed
    }

    /// One line on stderr.
    pub(super) fn note(&self, text: &str) {
        // Nothing is left to say it to where stderr is gone.
        drop(writeln!(std::io::stderr().lock(), "{text}"));
    }

    /// An error without a place.
    pub(super) fn problem(&self, text: &str) {
        self.note(&diagnostics::problem(text, self.err_color));
    }

    pub(super) fn paint(&self, ink: Ink, text: &str) -> String {
        paint(self.color, ink, text)
    }

    /// An engine's event, for programs. Diagnostics are kept for the end, where each comes once.
    pub(super) fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Diagnostic(d) => self.diagnostic(d),
            _ if self.form.is_some() => self.formed(|form| form.event(event)),
            EventKind::Plugin(PluginEvent::Log { line })
                if !self.log_level.unwrap_or(Level::Warn).shows(line.level) => {}
            // Its calls are reported one by one.
            EventKind::CallFinished(call) if call.covers => {}
            _ if self.has_program() => match serde_json::to_string(event) {
                Ok(text) => self.program_line(&text),
                Err(e) => tracing::warn!(error = %e, "an event could not be written"),
            },
            _ => {}
        }
    }

    /// A diagnostic, to be said when events are over.
    pub(super) fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        let same = |d: &Diagnostic| {
            d.severity == diagnostic.severity
                && d.summary == diagnostic.summary
                && d.detail == diagnostic.detail
                && d.range == diagnostic.range
                && d.address == diagnostic.address
        };
        if self.said.len() < REMEMBERED && !self.said.iter().any(same) {
            self.said.push(diagnostic.clone());
            self.waiting.push(diagnostic.clone());
        }
    }

    /// A diagnostic, to be said although it may have been before.
    pub(super) fn diagnostic_again(&mut self, diagnostic: &Diagnostic) {
        self.waiting.push(diagnostic.clone());
    }

    /// Whether this resource's error has been said, or will be.
    pub(super) fn has_error_of(&self, address: &str, summary: &str) -> bool {
        let about = |d: &Diagnostic| {
            d.address.as_deref() == Some(address)
                || d.further
                    .as_ref()
                    .is_some_and(|f| f.addresses.iter().any(|a| a == address))
        };
        self.said
            .iter()
            .any(|d| about(d) && (d.summary == summary || summary.contains(&d.summary)))
    }

    /// Whether an error whose detail is this text has been said, or will be.
    pub(super) fn has_error_with(&self, detail: &str) -> bool {
        self.said.iter().any(|d| d.detail.contains(detail))
    }

    /// Says what was kept back.
    pub(super) fn flush_diagnostics(&mut self) {
        let all = std::mem::take(&mut self.waiting);
        for diagnostic in &all {
            self.program_diagnostic(diagnostic);
        }
        if !self.json {
            for text in self.grouping.texts(all, self.err_color) {
                self.note(&text);
            }
        }
    }

    /// A diagnostic for programs alone.
    pub(super) fn program_diagnostic(&mut self, diagnostic: &Diagnostic) {
        if self.form.is_some() {
            self.formed(|form| form.diagnostic(diagnostic));
        } else if self.has_program() {
            self.program_line(&diagnostics::json(diagnostic).to_string());
        }
    }

    /// The last line for programs: the result.
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
