//! Command-line arguments, read with clap. Help, completions and the manual page come from here.

mod scripts;
mod state;

pub(super) use scripts::{
    ConsoleArgs, GetArgs, GraphArgs, GraphKind, ProvidersArgs, ProvidersCommand,
};
pub(super) use state::{StateCommand, UseState};

use model::Endpoint;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::exit::CliError;
use super::options::{
    ConsolePlan, DeployArgs, DestroyArgs, FmtArgs, GroupArgs, GroupCommand, ImportArgs, InitArgs,
    PlanArgs, PluginSubcommand, ReconcileArgs, RefreshArgs, SelectionsArgs, StageArgs, TaintArgs,
    ValidateArgs, WorkspaceCommand,
};
use super::tofu::Form;
use super::values::{Format, Level, listened, since};

const AFTER: &str = "Exit codes:\n    0  done\n    1  error, or declined confirmation\n    2  changes present (--detailed-exitcode)\n    3  a required plugin did not register\n    \
    4  the workspace is locked\n    5  the deploy finished with failures\n  130  cancelled by a signal";

/// Heading of the flags that every command has.
const EVERYWHERE: &str = "Global options";

/// An operations console for plugin-driven deployments
#[derive(Debug, Parser)]
#[command(name = "flightdeck", version, after_help = AFTER, disable_help_subcommand = true, args_override_self = true)]
pub(super) struct Args {
    /// Open the console on this workspace (default: the current directory)
    #[arg(value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,

    /// Switch to this directory first
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = EVERYWHERE)]
    pub(super) chdir: Option<PathBuf>,

    /// Print without colours (also: NO_COLOR)
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) no_color: bool,

    /// Print each warning on one line, if there is no error
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) compact_warnings: bool,

    /// Print warnings with the same summary once, and how many there are
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true, global = true, help_heading = EVERYWHERE)]
    pub(super) consolidate_warnings: Option<bool>,

    /// Print errors with the same summary once, and how many there are
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true, global = true, help_heading = EVERYWHERE)]
    pub(super) consolidate_errors: Option<bool>,

    /// Hide progress
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) concise: bool,

    /// Prompt for missing variable values on a terminal (also: TF_INPUT)
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true, global = true, help_heading = EVERYWHERE)]
    pub(super) input: Option<bool>,

    /// Draw the interactive console with ASCII characters only
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) ascii: bool,

    /// Print log lines of flightdeck and its plugins from this level up
    #[arg(long, value_name = "L", value_enum, global = true, help_heading = EVERYWHERE)]
    pub(super) log_level: Option<Level>,

    /// Release the workspace lock, after a confirmation, if its owner cannot be checked from here
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(super) force_unlock: bool,

    /// Trust the plugins, hooks, secrets, `enforce` and `credential_process` of this directory
    #[arg(long, alias = "trust-workspace-plugins", global = true, help_heading = EVERYWHERE)]
    pub(super) trust_workspace: bool,

    /// Serve Prometheus metrics at http://ADDRESS/metrics; a bare port binds to localhost
    #[arg(long, value_name = "ADDRESS", value_parser = listened, global = true, help_heading = EVERYWHERE)]
    pub(super) metrics: Option<std::net::SocketAddr>,

    /// Send a trace of each deploy to this OTLP/HTTP endpoint, such as http://127.0.0.1:4318
    #[arg(long, value_name = "ENDPOINT", global = true, help_heading = EVERYWHERE)]
    pub(super) otlp: Option<Endpoint>,

    #[command(flatten)]
    pub(super) plan: ConsolePlan,

    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Open the console on a temporary workspace with bundled plugins
    Demo,
    /// Launch the plugins and list them, or show one with its attempts, schema and health
    Plugins {
        /// Plugin name, or a part of it
        name: Option<String>,
        /// List all installed providers; needs no configuration and launches none
        #[arg(long)]
        installed: bool,
        /// Launch the providers that `--installed` lists
        #[arg(long, requires = "installed")]
        launch: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Install missing modules and providers, and initialize the backend
    Init(InitArgs),
    /// Install missing modules
    Get(GetArgs),
    /// Validate the configuration
    Validate(ValidateArgs),
    /// Format configuration files
    Fmt(FmtArgs),
    /// Show the providers that the configuration and the state need
    Providers(ProvidersArgs),
    /// Evaluate expressions over the configuration and the state, one per line
    Console(ConsoleArgs),
    /// Show the settings of resource types: readiness, columns, timeouts, and where each is set
    Types {
        /// Only this type
        #[arg(value_name = "TYPE")]
        name: Option<String>,
        /// Also list types that neither the configuration nor the state uses
        #[arg(long, conflicts_with = "name")]
        all: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the dependency graph for Graphviz
    Graph(GraphArgs),
    /// Plan the changes and store them as a numbered stage
    Stage(StageArgs),
    /// Plan the changes; with --out, also write them to a file for `apply` and `show`
    Plan(PlanArgs),
    /// Apply a stage, or plan and apply after a confirmation
    #[command(visible_alias = "apply")]
    Deploy(DeployArgs),
    /// Destroy everything, after a confirmation
    Destroy(DestroyArgs),
    /// List saved selections of changes, save one, or delete one
    Selections(SelectionsArgs),
    /// List the groups of the configuration, or show the rollout of one
    Group(GroupArgs),
    /// Watch the members of groups for drift, and repair what the groups allow
    Reconcile(ReconcileArgs),
    /// List deploys, newest first, or show one deploy
    History {
        /// Number of a deploy
        #[arg(value_name = "N")]
        deploy: Option<i64>,
        /// Show the differences from another deploy
        #[arg(long, value_name = "N", requires = "deploy")]
        compare: Option<i64>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show failures of recorded deploys, grouped by reason
    Failures {
        /// Limit to the time since WHEN: a time, a date or an age (2h, 3d)
        #[arg(long, value_name = "WHEN", value_parser = since)]
        since: Option<i64>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Update the state from the real objects, as `deploy --refresh-only --auto-approve`
    Refresh(RefreshArgs),
    /// Show outputs of the root module from the state
    Output {
        /// Output to print, even if sensitive
        name: Option<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
        /// Print the bare value of the named output
        #[arg(long, conflicts_with = "json", requires = "name")]
        raw: bool,
    },
    /// Show the state, a state file, or a file that `plan --out` wrote
    Show {
        file: Option<PathBuf>,
        /// Show the state (the default without FILE)
        #[arg(long, conflicts_with_all = ["file", "plan"])]
        state: bool,
        /// File that `plan --out` wrote
        #[arg(long, value_name = "FILE", conflicts_with = "file")]
        plan: Option<PathBuf>,
        /// Print one JSON document: the plan or state representation
        #[arg(long)]
        json: bool,
    },
    /// Import an existing object into the state (same as `state import`)
    Import(ImportArgs),
    /// Mark an object for replacement (same as `state taint`)
    Taint(TaintArgs),
    /// Remove the replacement mark of an object (same as `state untaint`)
    Untaint(TaintArgs),
    /// List, show, export or change the state
    #[command(subcommand)]
    State(StateCommand),
    /// List, create, select or delete workspaces
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Release the state lock with this id; make sure that its owner is gone
    ForceUnlock {
        id: String,
        /// Skip the confirmation
        #[arg(long)]
        force: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show log lines of plugins
    Logs {
        /// Plugin name, or a part of it
        plugin: Option<String>,
        /// Print new lines as they arrive
        #[arg(long, short)]
        follow: bool,
        /// Lowest level to show
        #[arg(long, value_enum, value_name = "L")]
        level: Option<Level>,
        /// Limit to the time since WHEN: a time, a date or an age (2h, 3d)
        #[arg(long, value_name = "WHEN", value_parser = since)]
        since: Option<i64>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Diagnose the machine, workspace, state and plugins, with a remedy for each finding
    Doctor {
        /// Apply safe remedies: fix file permissions, remove stale lock files, end orphaned plugin
        /// processes
        #[arg(long)]
        fix: bool,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Serve a bundled plugin, or develop your own
    #[command(subcommand)]
    Plugin(PluginSubcommand),
    /// Show the version and the locked providers
    Version {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print completions for a shell
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    Man,
}

impl Command {
    /// Returns true if the output is JSON lines.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::Plugins { json, .. }
            | Self::Types { json, .. }
            | Self::History { json, .. }
            | Self::Failures { json, .. }
            | Self::Logs { json, .. }
            | Self::Doctor { json, .. }
            | Self::ForceUnlock { json, .. } => *json,
            Self::Workspace(command) => command.wants_json(),
            Self::Plugin(command) => command.wants_json(),
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
            Self::Selections(args) => args.json,
            Self::Group(args) => args.json,
            Self::Reconcile(args) => args.json,
            Self::Deploy(args) => args.programs.json,
            Self::Destroy(args) => args.programs.json,
            // The `--json` of `output`, `show` and `version` is one document instead of lines.
            _ => false,
        }
    }

    /// Returns the output form of another tool, from the flag or the environment; `None` is
    /// flightdeck's own. Only commands with `--format` have one. `into_file` is true with
    /// `--json-into`.
    ///
    /// # Errors
    /// The flag was given without JSON output, or the environment names an unknown form.
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
        // Without JSON output the form would silently have no effect.
        if !programs.json && !into_file {
            return match programs.format {
                None => Ok(None),
                Some(_) => Err(CliError::usage("--format needs JSON output")
                    .hint("add --json or --json-into=FILE")),
            };
        }
        let format = match programs.format {
            None => Format::of_environment()?,
            // The flag overrides the environment variable.
            said => said,
        };
        Ok(format.map(|Format::Tofu| form()))
    }

    /// Returns true if the command starts an engine that may call plugins.
    pub(super) fn calls_plugins(&self) -> bool {
        self.deploys()
            || matches!(
                self,
                Self::Plugins { .. }
                    | Self::Plugin(_)
                    | Self::Console(_)
                    | Self::Graph(_)
                    | Self::Types { .. }
                    | Self::Validate(_)
                    | Self::Stage(_)
                    | Self::Plan(_)
                    | Self::Import(_)
            )
    }

    /// Returns true if the command may deploy.
    pub(super) fn deploys(&self) -> bool {
        match self {
            Self::Demo
            | Self::Refresh(_)
            | Self::Reconcile(_)
            | Self::Deploy(_)
            | Self::Destroy(_) => true,
            Self::Group(args) => args.command.as_ref().is_some_and(GroupCommand::deploys),
            _ => false,
        }
    }

    /// Returns the command's name in results.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Demo => "demo",
            Self::Plugins { .. } => "plugins",
            Self::Init(_) => "init",
            Self::Get(_) => "get",
            Self::Console(_) => "console",
            Self::Graph(_) => "graph",
            Self::Types { .. } => "types",
            Self::Providers(args) => args.name(),
            Self::Validate(_) => "validate",
            Self::Fmt(_) => "fmt",
            Self::Stage(_) => "stage",
            Self::Selections(_) => "selections",
            Self::Group(_) => "group",
            Self::Reconcile(_) => "reconcile",
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
    // Aliases count, so that a slip in `apply` finds `apply`.
    let all = table
        .get_subcommands()
        .flat_map(|c| std::iter::once(c.get_name()).chain(c.get_all_aliases()));
    all.map(str::to_owned).collect()
}

/// Returns true if a word is the name of a command.
pub(super) fn is_command(word: &str) -> bool {
    names().iter().any(|name| name == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn argument_definitions_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn subcommands_have_distinct_help_lines() {
        let mut open = vec![crate::cli::flags::command()];
        while let Some(command) = open.pop() {
            let mut lines: Vec<String> = command
                .get_subcommands()
                .map(|inner| inner.get_about().map(ToString::to_string))
                .map(Option::unwrap_or_default)
                .collect();
            let count = lines.len();
            lines.sort();
            lines.dedup();
            lines.retain(|line| !line.is_empty());
            assert_eq!(lines.len(), count, "{}: {lines:?}", command.get_name());
            open.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn refresh_is_on_by_default() {
        let refresh = |words: &[&str]| match Args::try_parse_from(words).unwrap().command {
            Some(Command::Stage(args)) => args.choice.refresh,
            other => panic!("{other:?}"),
        };
        assert!(refresh(&["flightdeck", "stage"]));
        assert!(refresh(&["flightdeck", "stage", "--refresh"]));
        assert!(!refresh(&["flightdeck", "stage", "--refresh=false"]));
    }

    #[test]
    fn global_flags_are_accepted_before_and_after_the_command() {
        for words in [
            ["flightdeck", "-C", "x", "stage"],
            ["flightdeck", "stage", "-C", "x"],
        ] {
            let args = Args::try_parse_from(words).unwrap();
            assert_eq!(args.chdir, Some("x".into()));
            assert!(args.command.is_some());
        }
    }

    #[test]
    fn command_lines_of_console_commands_are_valid() {
        for (name, line) in crate::app::command::headless::LINES {
            // Some values are numbers.
            let numbers = ["DEPLOY", "STAGE", "SIZE"];
            let line = numbers
                .iter()
                .fold((*line).to_owned(), |l, n| l.replace(n, "1"));
            let parsed = crate::cli::flags::command().try_get_matches_from(line.split(' '));
            assert!(parsed.is_ok(), "{name}: {line}: {parsed:?}");
        }
    }
}
