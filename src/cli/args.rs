//! The arguments, as clap reads them. The command table of the program: help, completions and the
//! manual page come from here.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::options::{
    DeployArgs, DestroyArgs, FmtArgs, ImportArgs, StageArgs, TaintArgs, ValidateArgs,
};
use super::values::{Level, since};

const AFTER: &str = "Exit codes:\n    0  done\n    1  error\n    2  changes present (--detailed-exitcode)\n    3  a required plugin did not register\n    \
    4  the workspace is locked\n    5  the deploy finished with failures\n  130  cancelled";

/// Flags of every command stand apart in its help.
const EVERYWHERE: &str = "Everywhere";

/// An operations console for plugin-driven deployments
#[derive(Debug, Parser)]
#[command(name = "flightdeck", version, after_help = AFTER, disable_help_subcommand = true)]
pub(super) struct Args {
    /// Open the console on this workspace (default: here)
    #[arg(value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,

    /// Work in this directory
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = EVERYWHERE)]
    pub(super) chdir: Option<PathBuf>,

    /// No colours; NO_COLOR does the same
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) no_color: bool,

    /// The console draws with ASCII alone
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) ascii: bool,

    /// Show what flightdeck and its plugins log from this level up
    #[arg(long, value_name = "L", value_enum, global = true, help_heading = EVERYWHERE)]
    pub(super) log_level: Option<Level>,

    /// Take the workspace's lock from a holder that is gone and cannot be judged from here; asks
    /// first
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) force_unlock: bool,

    /// Launch the plugins that the workspace itself brings, from now on as long as they stay as
    /// they are
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) trust_workspace_plugins: bool,

    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// The console on a throw-away workspace with the bundled plugins; nothing else needed
    Demo,
    /// Launch the plugins and list them; or show one: attempts, schema, health
    Plugins {
        /// Part of a plugin's name
        name: Option<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Say what is wrong with the configuration, whatever its variables are and whatever is there
    Validate(ValidateArgs),
    /// Lay configuration files out in the usual way
    Fmt(FmtArgs),
    /// Work out the changes
    Stage(StageArgs),
    /// Apply a stage, or stage anew and apply after a yes
    #[command(visible_alias = "apply")]
    Deploy(DeployArgs),
    /// Stage and apply the destruction of everything
    Destroy(DestroyArgs),
    /// Deploys, newest first; or one deploy
    History {
        /// Number of a deploy
        #[arg(value_name = "N")]
        deploy: Option<i64>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Failure reasons, grouped
    Failures {
        /// Only since then: a time, a date, or how long ago (2h, 3d)
        #[arg(long, value_name = "WHEN", value_parser = since)]
        since: Option<i64>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Look at the state, export it, change it
    #[command(subcommand)]
    State(StateCommand),
    /// What plugins said, from the store
    Logs {
        /// Part of a plugin's name
        plugin: Option<String>,
        /// Go on with lines as they come
        #[arg(long, short)]
        follow: bool,
        /// From this level up
        #[arg(long, value_enum, value_name = "L")]
        level: Option<Level>,
        /// Only since then: a time, a date, or how long ago (2h, 3d)
        #[arg(long, value_name = "WHEN", value_parser = since)]
        since: Option<i64>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// What is wrong with this machine, workspace, plugins (not yet there)
    Doctor {
        #[arg(long)]
        json: bool,
    },
    /// Serve a bundled plugin, or work on one of your own
    #[command(subcommand)]
    Plugin(PluginSubcommand),
    /// Completions for a shell, on stdout
    Completions { shell: clap_complete::Shell },
    /// The manual page, on stdout
    Man,
}

#[derive(Debug, Subcommand)]
pub(super) enum StateCommand {
    /// Addresses in the state
    List {
        /// Only those that contain this
        filter: Option<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// One resource instance with its attributes
    Show {
        address: String,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Write the state as state version 4
    Export {
        /// Written with mode 0600; stdout where none is given
        file: Option<PathBuf>,
    },
    /// Give an object another address (not yet there)
    Mv { from: String, to: String },
    /// Take objects out of the state without destroying them; settles what is unknown of them
    Forget {
        /// Instances, resources, modules, or deposed objects as `state list` names them
        #[arg(required = true, value_name = "ADDRESS")]
        addresses: Vec<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Take an object that is there into the state; settles what is unknown of its address
    Import(ImportArgs),
    /// Mark an object to be replaced
    Taint(TaintArgs),
    /// Take that mark away; settles what is unknown of its provisioners
    Untaint(TaintArgs),
    /// Take over the state of another tool (not yet there)
    Adopt { file: Option<PathBuf> },
}

#[derive(Debug, Subcommand)]
pub(super) enum PluginSubcommand {
    /// Be a bundled plugin: what flightdeck launches as a child process
    Serve {
        /// `lab` or `local`, as in `flightdeck.internal/bundled/NAME`
        name: String,
    },
    /// Start the source of a new plugin (not yet there)
    New { name: String },
    /// Check a plugin's schema and handshake (not yet there)
    Check { path: PathBuf },
    /// Run the conformance checks against a plugin (not yet there)
    Conform { path: PathBuf },
}

impl Command {
    /// Whether a program reads the output.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Plugins { json, .. }
            | Self::History { json, .. }
            | Self::Failures { json, .. }
            | Self::Logs { json, .. }
            | Self::Doctor { json }
            | Self::State(
                StateCommand::List { json, .. }
                | StateCommand::Show { json, .. }
                | StateCommand::Forget { json, .. },
            ) => *json,
            Self::State(StateCommand::Import(args)) => args.json,
            Self::State(StateCommand::Taint(args) | StateCommand::Untaint(args)) => args.json,
            Self::Validate(args) => args.json,
            Self::Fmt(args) => args.json,
            Self::Stage(args) => args.json,
            Self::Deploy(args) => args.json,
            Self::Destroy(args) => args.json,
            _ => false,
        }
    }

    /// The name that a result carries.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Plugins { .. } => "plugins",
            Self::Validate(_) => "validate",
            Self::Fmt(_) => "fmt",
            Self::Stage(_) => "stage",
            Self::Deploy(_) => "deploy",
            Self::Destroy(_) => "destroy",
            Self::History { .. } => "history",
            Self::Failures { .. } => "failures",
            Self::State(StateCommand::List { .. }) => "state list",
            Self::State(StateCommand::Show { .. }) => "state show",
            Self::State(StateCommand::Forget { .. }) => "state forget",
            Self::State(StateCommand::Import(_)) => "state import",
            Self::State(StateCommand::Taint(_)) => "state taint",
            Self::State(StateCommand::Untaint(_)) => "state untaint",
            Self::State(_) => "state",
            Self::Logs { .. } => "logs",
            Self::Doctor { .. } => "doctor",
            Self::Plugin(_) => "plugin",
            Self::Completions { .. } => "completions",
            Self::Man => "man",
        }
    }
}

/// Names of the commands, aliases included.
pub(super) fn names() -> Vec<String> {
    use clap::CommandFactory;
    let table = Args::command();
    let all = table
        .get_subcommands()
        .flat_map(|c| std::iter::once(c.get_name()).chain(c.get_all_aliases()));
    all.map(str::to_owned).collect()
}

/// Whether a word names a command.
pub(super) fn is_command(word: &str) -> bool {
    names().iter().any(|name| name == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn refresh_is_on_unless_it_is_said_to_be_off() {
        let refresh = |words: &[&str]| match Args::try_parse_from(words).unwrap().command {
            Some(Command::Stage(args)) => args.choice.refresh,
            other => panic!("{other:?}"),
        };
        assert!(refresh(&["flightdeck", "stage"]));
        assert!(refresh(&["flightdeck", "stage", "--refresh"]));
        assert!(!refresh(&["flightdeck", "stage", "--refresh=false"]));
    }

    #[test]
    fn global_flags_stand_before_and_after_the_command() {
        for words in [
            ["flightdeck", "-C", "x", "stage"],
            ["flightdeck", "stage", "-C", "x"],
        ] {
            let args = Args::try_parse_from(words).unwrap();
            assert_eq!(args.chdir, Some("x".into()));
            assert!(args.command.is_some());
        }
    }
}
