//! The console, on a workspace or on the demo's throw-away one.

use crate::cli::args::names;
use crate::cli::exit::{CliError, Ended};
use crate::cli::output::Output;
use crate::cli::suggest::nearest;
use std::io::IsTerminal;
use std::path::Path;

pub(super) async fn run(dir: Option<&Path>, _: &mut Output) -> Ended {
    if let Some(dir) = dir {
        enter(dir)?;
    }
    terminal()?;
    Err(super::not_yet("the console", "`flightdeck --help` shows the commands"))
}

pub(super) async fn demo(_: &mut Output) -> Ended {
    terminal()?;
    Err(super::not_yet("demo", "`flightdeck --help` shows the commands"))
}

/// A word that is no directory may be a command with a slip in it.
fn enter(dir: &Path) -> Result<(), CliError> {
    if dir.is_dir() {
        return super::go_to(dir);
    }
    let word = dir.to_string_lossy();
    let known = names();
    let hint = match nearest(&word, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `flightdeck {near}`?"),
        None => "`flightdeck --help` lists the commands".to_owned(),
    };
    Err(CliError::Refused(format!("{word:?} is neither a command nor a directory; {hint}")))
}

fn terminal() -> Result<(), CliError> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(CliError::Refused("the console needs a terminal; `flightdeck --help` lists the commands that work without one".into()))
}
