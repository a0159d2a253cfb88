//! Line input: with history and completion on a terminal, plain from a pipe. The only user of the
//! line editing library. The history stays in memory, because it may contain secrets.

use crate::cli::exit::CliError;
use crate::cli::session::Session;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::completion::Completer;
use rustyline::config::Config;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use std::io::IsTerminal;

/// Next input.
pub(super) enum Line {
    /// A line with its line break.
    Text(String),
    /// Ctrl-C: discards an incomplete expression.
    Interrupted,
    End,
}

/// Source of lines.
pub(super) struct Lines {
    /// Editor of a terminal; `None` for a pipe, and while a line is being read.
    editor: Option<Editor<Names, MemHistory>>,
    is_interactive: bool,
    /// Terminal settings to restore if the command ends within a line.
    _before: Before,
}

impl Lines {
    /// Creates the source for stdin, with names to complete on a terminal.
    pub(super) fn new(names: Vec<String>) -> Result<Self, CliError> {
        let person = std::io::stdin().is_terminal();
        let editor = person.then(|| {
            let config = Config::builder().auto_add_history(true).build();
            let mut editor = Editor::with_history(config, MemHistory::new())?;
            editor.set_helper(Some(Names(names)));
            Ok(editor)
        });
        let editor = editor.transpose().map_err(|e: ReadlineError| {
            CliError::internal(format!("cannot start the line editor: {e}"))
        })?;
        Ok(Self {
            editor,
            is_interactive: person,
            _before: Before(person.then(|| tcgetattr(std::io::stdin()).ok()).flatten()),
        })
    }

    /// Returns true if stdin is a terminal.
    pub(super) fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// Reads the next line; a signal ends the wait.
    pub(super) async fn next(
        &mut self,
        session: &mut Session,
        prompt: &'static str,
    ) -> Result<Line, CliError> {
        // The editor moves to the blocking thread; a signal drops it there with the read.
        let Some(mut editor) = self.editor.take() else {
            let read = session
                .wait_outside_engine(tokio::task::spawn_blocking(line))
                .await?;
            return match read {
                Ok(read) => read.map_err(unreadable),
                Err(e) => Err(CliError::Unforeseen(e.into())),
            };
        };
        let asked = tokio::task::spawn_blocking(move || {
            let line = editor.readline(prompt);
            (editor, line)
        });
        let (editor, line) = match session.wait_outside_engine(asked).await? {
            Ok(asked) => asked,
            Err(e) => return Err(CliError::Unforeseen(e.into())),
        };
        self.editor = Some(editor);
        match line {
            Ok(line) => Ok(Line::Text(line + "\n")),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(e) => Err(unreadable(e)),
        }
    }
}

fn unreadable(error: impl std::fmt::Display) -> CliError {
    CliError::io(format!("cannot read the input: {error}"))
}

/// Reads the next line of a pipe.
fn line() -> std::io::Result<Line> {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line)?;
    Ok(if read > 0 {
        Line::Text(line)
    } else {
        Line::End
    })
}

/// Terminal settings, restored on drop.
struct Before(Option<Termios>);

impl Drop for Before {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // If the terminal is closed, there is nothing to restore.
            tcsetattr(std::io::stdin(), OptionalActions::Now, before).ok();
        }
    }
}

/// Names that may start an expression.
struct Names(Vec<String>);

impl Names {
    /// Returns the start of the name that ends at `end`, and its completions.
    fn completions(&self, line: &str, end: usize) -> (usize, Vec<String>) {
        let text = line.get(..end).unwrap_or(line);
        // Characters of names and paths: completion starts at the innermost expression.
        let within = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let begins = text
            .char_indices()
            .rev()
            .take_while(|(_, c)| within(*c))
            .last()
            .map_or(text.len(), |(at, _)| at);
        let begun = &text[begins..];
        let fits = self.0.iter().filter(|name| name.starts_with(begun));
        (begins, fits.cloned().collect())
    }
}

impl Completer for Names {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.completions(line, pos))
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Validator for Names {}

impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_completion_lists_every_match() {
        let names = ["var.name", "var.number", "local.a", "length("];
        let names = Names(names.map(str::to_owned).to_vec());
        let fits = |line: &str| names.completions(line, line.len());
        let two = vec!["var.name".to_owned(), "var.number".to_owned()];
        assert_eq!(fits("var.n"), (0, two.clone()));
        assert_eq!(fits("upper(var.n"), (6, two));
        assert_eq!(fits("1 + l").1, ["local.a", "length("]);
        assert_eq!(fits("ü + var.nu"), (5, vec!["var.number".to_owned()]));
        assert!(fits("nothing").1.is_empty());
    }
}
