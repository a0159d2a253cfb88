//! Flags shared by many commands: added to each command by the table, and parsed from the command
//! in use.

use super::table::{Flag, OWN_COMMANDS, ReferenceCommand, Support, VERBS};
use crate::cli::args::Args;
use crate::cli::values::duration;
use crate::cli::variables::Variables;
use clap::value_parser;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, CommandFactory, FromArgMatches as _};
use model::settings::{Settings, StateFiles};
use model::{StageRequest, VariableFlag};
use state::Locking;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

/// Values of the shared flags of one command line.
#[derive(Debug, Clone)]
pub(in crate::cli) struct SharedFlags {
    pub(in crate::cli) variables: Vec<VariableFlag>,
    pub(in crate::cli) lock: bool,
    pub(in crate::cli) lock_timeout: Duration,
    pub(in crate::cli) state: StateFiles,
    pub(in crate::cli) json_into: Option<PathBuf>,
    pub(in crate::cli) show_sensitive: bool,
}

impl Default for SharedFlags {
    fn default() -> Self {
        Self {
            variables: Vec::new(),
            lock: true,
            lock_timeout: Duration::ZERO,
            state: StateFiles::default(),
            json_into: None,
            show_sensitive: false,
        }
    }
}

impl SharedFlags {
    /// Applies the flags to the settings of an engine.
    pub(in crate::cli) fn apply(&self, settings: &mut Settings) {
        settings.variables.clone_from(&self.variables);
        settings.lock_state = self.lock;
        settings.lock_timeout = self.lock_timeout;
        settings.state_files.clone_from(&self.state);
    }

    /// Returns the use of state locks.
    pub(in crate::cli) fn locking(&self) -> Locking {
        Locking {
            is_enabled: self.lock,
            timeout: self.lock_timeout,
        }
    }

    /// Returns a stage request with the variables.
    pub(in crate::cli) fn request(&self) -> StageRequest {
        StageRequest::with_variables(self.variables.clone())
    }
}

/// clap's table of the command line, built: each subcommand includes the global arguments.
pub(in crate::cli) fn built() -> &'static Command {
    static BUILT: LazyLock<Command> = LazyLock::new(|| {
        let mut table = command();
        table.build();
        table
    });
    &BUILT
}

/// clap's table of the command line, with the shared flags of each command.
pub(in crate::cli) fn command() -> Command {
    VERBS
        .iter()
        .chain(OWN_COMMANDS)
        .fold(Args::command(), |table, verb| {
            verb.own_commands.iter().fold(table, |table, words| {
                let mut words: Vec<&str> = words.split(' ').collect();
                words.reverse();
                add_to_command(table, words, verb)
            })
        })
}

/// Adds the flags to the command with these words, in reverse order.
fn add_to_command(table: Command, mut words: Vec<&str>, verb: &ReferenceCommand) -> Command {
    match words.pop() {
        Some(word) => table.mut_subcommand(word, |inner| add_to_command(inner, words, verb)),
        None => with_flags(table, verb),
    }
}

fn with_flags(mut table: Command, verb: &ReferenceCommand) -> Command {
    let has = |name: &str| {
        let is_it = |flag: &Flag| flag.name == name && !matches!(flag.support, Support::Refused(_));
        verb.flags().any(is_it)
    };
    let is_declared =
        |table: &Command, name: &str| table.get_arguments().any(|a| a.get_long() == Some(name));
    // Commands with variables of their own declare these flags already.
    if has("var") && !is_declared(&table, "var") {
        table = Variables::augment_args(table);
    }
    for arg in declared(verb) {
        let name = arg.get_long().unwrap_or_default();
        if has(name) && !is_declared(&table, name) {
            table = table.arg(arg);
        }
    }
    table
}

fn declared(verb: &ReferenceCommand) -> [Arg; 9] {
    let file = |id: &'static str, name: &'static str, help: &'static str| {
        let arg = Arg::new(id).long(name).value_name("FILE").help(help);
        arg.value_parser(value_parser!(PathBuf))
    };
    let switch = |id: &'static str, name: &'static str, help: &'static str| {
        Arg::new(id)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    let state = match verb.name {
        "workspace new" => "Copy this state file into the new workspace",
        _ => "Use the state in this file",
    };
    [
        Arg::new("shared_lock")
            .long("lock")
            .value_name("BOOL")
            .value_parser(value_parser!(bool))
            .default_missing_value("true")
            .num_args(0..=1)
            // Otherwise `-lock` without a value would take the next operand as its value.
            .require_equals(true)
            .help("Lock the state (default: true); flightdeck's lock on the workspace is always taken"),
        Arg::new("shared_lock_timeout")
            .long("lock-timeout")
            .value_name("DURATION")
            .value_parser(duration)
            .help("If another program holds the state or workspace lock, wait for it up to this time, such as 30s or 5m"),
        file("shared_state", "state", state),
        file(
            "shared_state_out",
            "state-out",
            "Write the state to this file",
        ),
        file(
            "shared_backup",
            "backup",
            "Save the previous state to this file; `-` saves none",
        ),
        file(
            "shared_json_into",
            "json-into",
            "Write the lines of --json to this file, besides the text on the terminal",
        ),
        switch(
            "shared_show_sensitive",
            "show-sensitive",
            "Show sensitive values",
        ),
        switch(
            "shared_remote_version",
            "ignore-remote-version",
            "No effect",
        )
        .hide(true),
        switch(
            "shared_forget_errors",
            "suppress-forget-errors",
            "No effect",
        )
        .hide(true),
    ]
}

/// Parses a command line.
///
/// # Errors
/// Its arguments are wrong, or ask for help or the version.
pub(in crate::cli) fn parse(words: &[OsString]) -> Result<(Args, SharedFlags), clap::Error> {
    let mut table = built().clone();
    let matches = table.try_get_matches_from_mut(words)?;
    let args = Args::from_arg_matches(&matches).map_err(|e| e.format(&mut table))?;
    let (mut given, mut path) = (&matches, Vec::new());
    // Shared flags belong to the innermost command.
    while let Some((name, inner)) = given.subcommand() {
        path.push(name);
        given = inner;
    }
    let mut shared = read(given).map_err(|e| e.format(&mut table))?;
    // As in OpenTofu, these commands use the named state file, whatever the backend is.
    shared.state.any_backend = shared.state.state.is_some()
        && matches!(
            path[..],
            [
                "state",
                "list" | "show" | "mv" | "forget" | "replace-provider"
            ]
        );
    Ok((args, shared))
}

fn read(given: &ArgMatches) -> Result<SharedFlags, clap::Error> {
    // `get_one` would panic on an id that the command does not declare.
    fn one<T: Clone + Send + Sync + 'static>(given: &ArgMatches, id: &str) -> Option<T> {
        given.try_get_one::<T>(id).ok().flatten().cloned()
    }
    let has_variables = given.try_contains_id("vars").is_ok();
    let variables = match has_variables {
        true => Variables::from_arg_matches(given)?.flags,
        false => Vec::new(),
    };
    Ok(SharedFlags {
        variables,
        lock: one(given, "shared_lock").unwrap_or(true),
        lock_timeout: one(given, "shared_lock_timeout").unwrap_or_default(),
        state: StateFiles {
            state: one(given, "shared_state"),
            out: one(given, "shared_state_out"),
            backup: one(given, "shared_backup"),
            any_backend: false,
        },
        json_into: one(given, "shared_json_into"),
        show_sensitive: one(given, "shared_show_sensitive").unwrap_or_default(),
    })
}
