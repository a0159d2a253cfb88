//! The arguments, as clap reads them. The command table of the program: help, completions and the
//! manual page come from here.

mod scripts;
mod state;

pub(super) use scripts::{
    ConsoleArgs, GetArgs, GraphArgs, GraphKind, ProvidersArgs, ProvidersCommand,
};
pub(super) use state::{StateCommand, UseState};

use crate::engine::words::Endpoint;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::exit::CliError;
use super::options::{
    DeployArgs, DestroyArgs, FmtArgs, ImportArgs, InitArgs, PlanArgs, PluginSubcommand,
    RefreshArgs, StageArgs, TaintArgs, ValidateArgs, WorkspaceCommand,
};
use super::tofu::Form;
use super::values::{Format, Level, listened, since};

const AFTER: &str = "Exit codes:\n    0  done\n    1  error\n    2  changes present (--detailed-exitcode)\n    3  a required plugin did not register\n    \
    4  the workspace is locked\n    5  the deploy finished with failures\n  130  cancelled";

/// Flags of every command stand apart in its help.
const EVERYWHERE: &str = "Everywhere";

/// An operations console for plugin-driven deployments
#[derive(Debug, Parser)]
#[command(name = "flightdeck", version, after_help = AFTER, disable_help_subcommand = true, args_override_self = true)]
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

    /// Show warnings as one line each where there is no error
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) compact_warnings: bool,

    /// Show warnings with the same summary once, with their number
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true, global = true, help_heading = EVERYWHERE)]
    pub(super) consolidate_warnings: Option<bool>,

    /// Show errors with the same summary once, with their number
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true, global = true, help_heading = EVERYWHERE)]
    pub(super) consolidate_errors: Option<bool>,

    /// Show no progress
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) concise: bool,

    /// Ask for values of variables that have none, on a terminal; TF_INPUT=0 does the same as
    /// `false`
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true, global = true, help_heading = EVERYWHERE)]
    pub(super) input: Option<bool>,

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

    /// While it works, serve what is measured to Prometheus at http://ADDRESS/metrics; a port by
    /// itself is one of this machine alone
    #[arg(long, value_name = "ADDRESS", value_parser = listened, global = true, help_heading = EVERYWHERE)]
    pub(super) metrics: Option<std::net::SocketAddr>,

    /// Send each deploy as a trace to a collector that takes OTLP over HTTP, as
    /// http://127.0.0.1:4318
    #[arg(long, value_name = "ENDPOINT", global = true, help_heading = EVERYWHERE)]
    pub(super) otlp: Option<Endpoint>,

    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// The console on a throw-away workspace with the bundled plugins; nothing else needed
    Demo,
    /// Launch the plugins, transformers among them, and list them; or show one: attempts, schema,
    /// health
    Plugins {
        /// Part of a plugin's name
        name: Option<String>,
        /// List installed providers instead; needs no configuration and launches none
        #[arg(long)]
        installed: bool,
        /// Launch the providers that `--installed` lists
        #[arg(long, requires = "installed")]
        launch: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Fetch the modules and providers that the configuration needs and that are not there
    Init(InitArgs),
    /// Fetch the modules that the configuration needs and that are not there
    Get(GetArgs),
    /// Say what is wrong with the configuration, whatever its variables are and whatever is there
    Validate(ValidateArgs),
    /// Lay configuration files out in the usual way
    Fmt(FmtArgs),
    /// The providers that the configuration and the state need
    Providers(ProvidersArgs),
    /// What expressions are worth, over the configuration and the state: a line each
    Console(ConsoleArgs),
    /// A graph as a text for Graphviz: what depends on what
    Graph(GraphArgs),
    /// Work out the changes
    Stage(StageArgs),
    /// Work out the changes, as `stage`; with --out into a file that `apply` and `show` take
    Plan(PlanArgs),
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
    /// Take over what changed in the world, as `deploy --refresh-only --auto-approve`
    Refresh(RefreshArgs),
    /// Outputs of the root module, as the state has them
    Output {
        /// One of them, in the clear
        name: Option<String>,
        /// As one JSON document
        #[arg(long)]
        json: bool,
        /// The value of the one that is named, by itself
        #[arg(long, conflicts_with = "json", requires = "name")]
        raw: bool,
    },
    /// The state, or what is in a state file or one that `plan --out` wrote
    Show {
        file: Option<PathBuf>,
        /// The state, as without a file
        #[arg(long, conflicts_with_all = ["file", "plan"])]
        state: bool,
        /// A file that `plan --out` wrote
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        plan: Option<PathBuf>,
        /// As one JSON document: the plan representation, or that of the state
        #[arg(long)]
        json: bool,
    },
    /// Take an object that is there into the state; as `state import`
    Import(ImportArgs),
    /// Mark an object to be replaced; as `state taint`
    Taint(TaintArgs),
    /// Take that mark away; as `state untaint`
    Untaint(TaintArgs),
    /// Look at the state, export it, change it
    #[command(subcommand)]
    State(StateCommand),
    /// The workspaces of this directory, in whichever backend
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Take the lock of this id from the state; only where its holder is certainly gone
    ForceUnlock {
        id: String,
        /// Do not ask
        #[arg(long)]
        force: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
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
    /// What is wrong with this machine, workspace, state, plugins; each finding with its remedy
    Doctor {
        /// Does what is safe: takes files from others, removes words of locks that nobody has, ends
        /// plugin processes that nobody owns
        #[arg(long)]
        fix: bool,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Serve a bundled plugin, or work on one of your own
    #[command(subcommand)]
    Plugin(PluginSubcommand),
    /// Which version this is, and the providers that are locked here
    Version {
        /// As one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Completions for a shell, on stdout
    Completions { shell: clap_complete::Shell },
    /// The manual page, on stdout
    Man,
}

impl Command {
    /// Whether a program reads the output.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Plugins { json, .. }
            | Self::History { json, .. }
            | Self::Failures { json, .. }
            | Self::Logs { json, .. }
            | Self::Doctor { json, .. }
            | Self::ForceUnlock { json, .. } => *json,
            Self::Workspace(command) => command.wants_json(),
            Self::State(command) => command.wants_json(),
            Self::Plan(args) => args.programs.json,
            Self::Refresh(args) => args.programs.json,
            Self::Import(args) => args.json,
            Self::Taint(args) | Self::Untaint(args) => args.json,
            Self::Init(args) => args.json,
            Self::Get(args) => args.json,
            Self::Providers(args) => args.wants_json(),
            Self::Validate(args) => args.programs.json,
            Self::Fmt(args) => args.json,
            Self::Stage(args) => args.programs.json,
            Self::Deploy(args) => args.programs.json,
            Self::Destroy(args) => args.programs.json,
            _ => false,
        }
    }

    /// In which form a program reads it, where that is not ours; what the environment says of it is
    /// heeded by commands that take `--format`.
    /// `into_file` says that the lines go into a file as well.
    pub(super) fn form(&self, into_file: bool) -> Result<Option<Form>, CliError> {
        let (programs, form): (_, fn() -> Form) = match self {
            Self::Validate(args) => (&args.programs, Form::document),
            Self::Stage(args) => (&args.programs, Form::lines),
            Self::Plan(args) => (&args.programs, Form::lines),
            Self::Deploy(args) => (&args.programs, Form::lines),
            Self::Destroy(args) => (&args.programs, Form::lines),
            Self::Refresh(args) => (&args.programs, Form::lines),
            _ => return Ok(None),
        };
        if !programs.json && !into_file {
            return match programs.format {
                None => Ok(None),
                Some(_) => Err(CliError::Refused(
                    "--format is the form of lines for programs; add --json or --json-into=FILE"
                        .to_owned(),
                )),
            };
        }
        let format = match programs.format {
            None => Format::of_environment()?,
            said => said,
        };
        Ok(format.map(|Format::Tofu| form()))
    }

    /// Whether an engine is started for it that may call plugins.
    pub(super) fn calls_plugins(&self) -> bool {
        matches!(
            self,
            Self::Demo
                | Self::Plugins { .. }
                | Self::Console(_)
                | Self::Graph(_)
                | Self::Validate(_)
                | Self::Stage(_)
                | Self::Plan(_)
                | Self::Refresh(_)
                | Self::Import(_)
                | Self::Deploy(_)
                | Self::Destroy(_)
        )
    }

    /// Whether it may deploy.
    pub(super) fn deploys(&self) -> bool {
        matches!(
            self,
            Self::Demo | Self::Refresh(_) | Self::Deploy(_) | Self::Destroy(_)
        )
    }

    /// The name that a result carries.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Plugins { .. } => "plugins",
            Self::Init(_) => "init",
            Self::Get(_) => "get",
            Self::Console(_) => "console",
            Self::Graph(_) => "graph",
            Self::Providers(args) => args.name(),
            Self::Validate(_) => "validate",
            Self::Fmt(_) => "fmt",
            Self::Stage(_) => "stage",
            Self::Plan(_) => "plan",
            Self::Refresh(_) => "refresh",
            Self::Output { .. } => "output",
            Self::Show { .. } => "show",
            Self::Import(_) => "import",
            Self::Taint(_) => "taint",
            Self::Untaint(_) => "untaint",
            Self::Deploy(_) => "deploy",
            Self::Destroy(_) => "destroy",
            Self::History { .. } => "history",
            Self::Failures { .. } => "failures",
            Self::State(command) => command.name(),
            Self::Logs { .. } => "logs",
            Self::Workspace(_) => "workspace",
            Self::ForceUnlock { .. } => "force-unlock",
            Self::Doctor { .. } => "doctor",
            Self::Plugin(_) => "plugin",
            Self::Completions { .. } => "completions",
            Self::Version { .. } => "version",
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
