//! The arguments, as clap reads them. The command table of the program: help, completions and the
//! manual page come from here.

use super::values::{Level, since, stage_name, variable};
use clap::{Args as ClapArgs, Parser, Subcommand};
use std::path::PathBuf;

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

#[derive(Debug, ClapArgs)]
pub(super) struct TaintArgs {
    /// The resource instance
    pub(super) address: String,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ImportArgs {
    /// The resource instance that it is to be; it must be in the configuration
    pub(super) address: String,
    /// Its id, as its provider has it
    pub(super) id: String,
    #[command(flatten)]
    pub(super) variables: Variables,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
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

/// What to stage, shared by `stage` and `deploy`.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct Choice {
    /// Only this address and what it needs; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) target: Vec<String>,
    /// All but this address and what needs it; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) exclude: Vec<String>,
    #[command(flatten)]
    pub(super) files: AddressFiles,
    /// Replace this resource instance whatever the plan says; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) replace: Vec<String>,
    /// What deploy N did not bring to an end, in its mode, with its replacements and variables
    #[arg(long, value_name = "N", conflicts_with_all = ["target", "exclude", "target_file", "exclude_file", "replace", "destroy", "refresh_only"])]
    pub(super) rest_of: Option<i64>,
    /// Destroy everything
    #[arg(long, conflicts_with = "refresh_only")]
    pub(super) destroy: bool,
    /// Only take over what changed in the world
    #[arg(long)]
    pub(super) refresh_only: bool,
    /// Whether objects are read before they are planned
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) refresh: bool,
    #[command(flatten)]
    pub(super) values: Values,
}

/// What the variables of the root module are. Validating, only those count that decide where
/// modules come from.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct Variables {
    /// Value of a variable; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    pub(super) vars: Vec<(String, String)>,
    /// File with values of variables; may be repeated
    #[arg(long = "var-file", value_name = "FILE")]
    pub(super) var_files: Vec<PathBuf>,
}

/// Variables and limits, which `destroy` takes too.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct Values {
    #[command(flatten)]
    pub(super) variables: Variables,
    /// How many operations at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(super) parallelism: Option<u16>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ValidateArgs {
    #[command(flatten)]
    pub(super) variables: Variables,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct FmtArgs {
    /// Files and directories, or `-` for standard input; the current directory where nothing is
    /// named
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Change nothing, and end with 3 where something would change
    #[arg(long)]
    pub(super) check: bool,
    /// Show what changes
    #[arg(long)]
    pub(super) diff: bool,
    /// The directories below as well
    #[arg(long)]
    pub(super) recursive: bool,
    /// Whether changed files are named
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) list: bool,
    /// Whether files are written
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) write: bool,
    /// One JSON object a line
    #[arg(long, conflicts_with = "diff")]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct StageArgs {
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Name of the stage
    #[arg(long, value_name = "NAME", value_parser = stage_name)]
    pub(super) out: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
    /// Write Terraform's plan representation, with mode 0600
    #[arg(long, value_name = "FILE")]
    pub(super) plan_json: Option<PathBuf>,
    /// End with 2 where there are changes
    #[arg(long)]
    pub(super) detailed_exitcode: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DeployArgs {
    /// Number or name of a stage; without one, stage anew
    pub(super) stage: Option<String>,
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Do not ask
    #[arg(long)]
    pub(super) auto_approve: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// Addresses from files, shared by whatever takes `--target` and `--exclude`.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct AddressFiles {
    /// The same for each address in a file, one a line; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) target_file: Vec<PathBuf>,
    /// The same for each address in a file, one a line; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(super) exclude_file: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DestroyArgs {
    /// Only this address and what needs it; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) target: Vec<String>,
    /// All but this address and what it needs; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) exclude: Vec<String>,
    #[command(flatten)]
    pub(super) files: AddressFiles,
    /// Whether objects are read before they are planned
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) refresh: bool,
    #[command(flatten)]
    pub(super) values: Values,
    /// Do not ask
    #[arg(long)]
    pub(super) auto_approve: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
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

impl Choice {
    /// The first of these flags that was given: a finished stage has been worked out already.
    pub(super) fn given(&self) -> Option<&'static str> {
        let flags = [
            (!self.target.is_empty(), "--target"),
            (!self.exclude.is_empty(), "--exclude"),
            (!self.files.target_file.is_empty(), "--target-file"),
            (!self.files.exclude_file.is_empty(), "--exclude-file"),
            (!self.replace.is_empty(), "--replace"),
            (self.rest_of.is_some(), "--rest-of"),
            (self.destroy, "--destroy"),
            (self.refresh_only, "--refresh-only"),
            (!self.refresh, "--refresh=false"),
            (!self.values.variables.vars.is_empty(), "--var"),
            (!self.values.variables.var_files.is_empty(), "--var-file"),
        ];
        flags
            .into_iter()
            .find_map(|(given, name)| given.then_some(name))
    }
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
