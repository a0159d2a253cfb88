//! Options shared by commands, and options of single commands.

mod plugin;

pub(super) use plugin::{
    ConformArgs, PluginDevArgs, PluginDocsArgs, PluginNewArgs, PluginSubcommand, ReportForm,
    ScaffoldArgs,
};

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::values::{Format, stage_name};
use super::variables::Variables;
use model::StageRequest;

#[derive(Debug, ClapArgs)]
pub(super) struct TaintArgs {
    /// Address of the resource instance
    pub(super) address: String,
    /// Succeed if the address is not in the state
    #[arg(long)]
    pub(super) allow_missing: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ImportArgs {
    /// Address to import to; it must be in the configuration
    pub(super) address: String,
    /// Id of the object at its provider
    pub(super) id: String,
    #[command(flatten)]
    pub(super) variables: Variables,
    /// No effect
    #[arg(long, value_name = "N", hide = true)]
    pub(super) parallelism: Option<u16>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

/// Plan options of `stage` and `deploy`.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct Choice {
    /// Limit to this address and its dependencies (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) target: Vec<String>,
    /// Exclude this address and its dependents (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) exclude: Vec<String>,
    #[command(flatten)]
    pub(super) files: AddressFiles,
    /// Replace this resource instance (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) replace: Vec<String>,
    /// Resume unfinished changes of deploy N, with its mode, replacements and variables
    #[arg(long, value_name = "N", conflicts_with_all = ["target", "exclude", "target_file", "exclude_file", "replace", "destroy", "refresh_only"])]
    pub(super) rest_of: Option<i64>,
    /// Stage the configuration of deploy N, with its values of variables, instead of the files
    #[arg(long, value_name = "N", conflicts_with_all = ["rest_of", "destroy"])]
    pub(super) config_of: Option<i64>,
    /// Plan to destroy everything
    #[arg(long, conflicts_with = "refresh_only")]
    pub(super) destroy: bool,
    /// Update the state from the real objects, and change nothing else
    #[arg(long)]
    pub(super) refresh_only: bool,
    /// Read objects before planning (default: true)
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) refresh: bool,
    #[command(flatten)]
    pub(super) values: Values,
}

/// Plan options of the console, for each of its stages.
#[derive(Debug, Default, ClapArgs)]
#[command(next_help_heading = "Options of the console")]
pub(super) struct ConsolePlan {
    /// Limit stages to this address and its dependencies (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    target: Vec<String>,
    /// Exclude this address and its dependents (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    exclude: Vec<String>,
    /// Replace this resource instance (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    replace: Vec<String>,
    /// Read objects before planning (default: true)
    #[arg(long, value_name = "BOOL", default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    refresh: Option<bool>,
    #[command(flatten)]
    variables: Variables,
}

impl ConsolePlan {
    /// Returns the request of the stages; the default without any flag.
    pub(super) fn request(self) -> StageRequest {
        StageRequest {
            target: self.target,
            exclude: self.exclude,
            replace: self.replace,
            no_refresh: self.refresh == Some(false),
            ..self.variables.request()
        }
    }
}

/// Variables and limits of every plan, also of `destroy`.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct Values {
    #[command(flatten)]
    pub(super) variables: Variables,
    /// Limit of concurrent operations
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    pub(super) parallelism: Option<u16>,
    /// Continue with a state of this serial, although this workspace has seen a newer one
    #[arg(long, value_name = "SERIAL")]
    pub(super) accept_older_state: Option<i64>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ValidateArgs {
    #[command(flatten)]
    pub(super) variables: Variables,
    #[command(flatten)]
    pub(super) programs: Programs,
}

/// Output options for programs.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct Programs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
    /// Format of JSON output (default: flightdeck's own; also: FLIGHTDECK_FORMAT)
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) format: Option<Format>,
}

/// Use of the dependency lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LockfileMode {
    /// Never change it
    Readonly,
}

#[derive(Debug, ClapArgs)]
pub(super) struct InitArgs {
    #[command(flatten)]
    pub(super) variables: Variables,
    /// Upgrade modules and providers to the newest allowed versions
    #[arg(long, conflicts_with = "lockfile")]
    pub(super) upgrade: bool,
    /// Fail instead of updating the lock file
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) lockfile: Option<LockfileMode>,
    /// Install providers from this directory only (repeatable)
    #[arg(long, value_name = "DIR", value_parser = clap::builder::OsStringValueParser::new().map(PathBuf::from))]
    pub(super) plugin_dir: Vec<PathBuf>,
    /// Backend argument NAME=VALUE, or a file with arguments (repeatable)
    #[arg(long, value_name = "NAME=TEXT | FILE")]
    pub(super) backend_config: Vec<String>,
    /// Use the state in the configured backend, and ignore the previous backend
    #[arg(long, conflicts_with_all = ["migrate_state", "force_copy"])]
    pub(super) reconfigure: bool,
    /// Copy the states from the previous backend to the configured one
    #[arg(long)]
    pub(super) migrate_state: bool,
    /// Copy the states without a confirmation
    #[arg(long)]
    pub(super) force_copy: bool,
    /// Initialize the backend; with `false`, use the backend metadata
    #[arg(long, alias = "cloud", value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) backend: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct FmtArgs {
    /// Files and directories, or `-` for stdin (default: the current directory)
    #[arg(value_name = "PATH")]
    pub(super) paths: Vec<PathBuf>,
    /// Change nothing; exit with 3 if a file is not formatted
    #[arg(long)]
    pub(super) check: bool,
    /// Print the differences
    #[arg(long)]
    pub(super) diff: bool,
    /// Include subdirectories
    #[arg(long)]
    pub(super) recursive: bool,
    /// Print names of changed files (default: true)
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) list: bool,
    /// Write the files (default: true)
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) write: bool,
    /// Print one JSON object per line
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
    /// Select only the changes of this saved selection, with their dependencies
    #[arg(long, value_name = "NAME")]
    pub(super) selection: Option<String>,
    #[command(flatten)]
    pub(super) programs: Programs,
    /// Write the plan as JSON (plan representation) to this file, with mode 0600
    #[arg(long, value_name = "FILE")]
    pub(super) plan_json: Option<PathBuf>,
    /// Exit with 2 if there are changes
    #[arg(long)]
    pub(super) detailed_exitcode: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Write the plan to this file, with mode 0600
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) programs: Programs,
    /// Exit with 2 if there are changes
    #[arg(long)]
    pub(super) detailed_exitcode: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct RefreshArgs {
    /// Limit to this address and its dependencies (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) target: Vec<String>,
    /// Exclude this address and its dependents (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) exclude: Vec<String>,
    #[command(flatten)]
    pub(super) files: AddressFiles,
    #[command(flatten)]
    pub(super) values: Values,
    #[command(flatten)]
    pub(super) programs: Programs,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DeployArgs {
    /// Number or name of a stage, or a file that `plan --out` wrote (default: plan first)
    pub(super) stage: Option<String>,
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Apply only the changes of this saved selection, with their dependencies
    #[arg(long, value_name = "NAME")]
    pub(super) selection: Option<String>,
    /// Refuse a plan file with another digest than this; `plan --out` prints it
    #[arg(long, value_name = "DIGEST")]
    pub(super) digest: Option<String>,
    /// Skip the confirmation
    #[arg(long)]
    pub(super) auto_approve: bool,
    #[command(flatten)]
    pub(super) programs: Programs,
}

/// Addresses from files, for commands with `--target` and `--exclude`.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct AddressFiles {
    /// Like --target, for each address in this file, one per line (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) target_file: Vec<PathBuf>,
    /// Like --exclude, for each address in this file, one per line (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(super) exclude_file: Vec<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(super) struct DestroyArgs {
    /// Limit to this address and its dependents (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) target: Vec<String>,
    /// Exclude this address and its dependencies (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    pub(super) exclude: Vec<String>,
    #[command(flatten)]
    pub(super) files: AddressFiles,
    /// Read objects before planning (default: true)
    #[arg(long, value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) refresh: bool,
    #[command(flatten)]
    pub(super) values: Values,
    /// Skip the confirmation
    #[arg(long)]
    pub(super) auto_approve: bool,
    #[command(flatten)]
    pub(super) programs: Programs,
}

impl Choice {
    /// Returns the first of these flags that was given; a stored stage accepts none.
    pub(super) fn given_flag(&self) -> Option<&'static str> {
        let flags = [
            (!self.target.is_empty(), "--target"),
            (!self.exclude.is_empty(), "--exclude"),
            (!self.files.target_file.is_empty(), "--target-file"),
            (!self.files.exclude_file.is_empty(), "--exclude-file"),
            (!self.replace.is_empty(), "--replace"),
            (self.rest_of.is_some(), "--rest-of"),
            (self.config_of.is_some(), "--config-of"),
            (self.destroy, "--destroy"),
            (self.refresh_only, "--refresh-only"),
            (!self.refresh, "--refresh=false"),
        ];
        flags
            .into_iter()
            .find_map(|(given, name)| given.then_some(name))
    }
}

#[derive(Debug, ClapArgs)]
pub(super) struct SelectionsArgs {
    #[command(subcommand)]
    pub(super) command: Option<SelectionsCommand>,
    /// Print one JSON object per line
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct GroupArgs {
    #[command(subcommand)]
    pub(super) command: Option<GroupCommand>,
    /// Print one JSON object per line
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct ReconcileArgs {
    /// Names of the groups (default: all, and all objects outside of groups)
    #[arg(value_name = "GROUP")]
    pub(super) groups: Vec<String>,
    /// Time between two runs, such as 30s or 5m (default: as the group or type declares, else 10m)
    #[arg(long, value_name = "DURATION", value_parser = super::values::duration)]
    pub(super) every: Option<std::time::Duration>,
    /// Run each once, and end
    #[arg(long)]
    pub(super) once: bool,
    /// Maximum number of concurrent operations (default: 10)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) parallelism: Option<u16>,
    /// Print one JSON object per line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum GroupCommand {
    /// List the groups with their newest rollouts
    List,
    /// Show the newest rollouts of a group, member by member
    Show { name: String },
    /// Let a rollout begin nothing more
    Pause { name: String },
    /// Continue a paused rollout; without a running deploy, stage and deploy what still differs
    Resume {
        name: String,
        #[command(flatten)]
        values: Values,
        /// Skip the confirmation
        #[arg(long)]
        auto_approve: bool,
    },
    /// End a rollout, and leave the other members unchanged
    Abort { name: String },
    /// Exclude a member from a rollout
    Skip {
        name: String,
        /// Key of the member, such as 2 or web[2]
        key: String,
    },
    /// Repeat the change of a member that failed, is unhealthy or was skipped
    Retry {
        name: String,
        /// Key of the member, such as 2 or web[2]
        key: String,
    },
    /// Declare the members of a specification in InfraKit's form, for the next stage
    Commit {
        /// File with the specification
        file: PathBuf,
        /// Print the plan, and write nothing
        #[arg(long)]
        pretend: bool,
    },
    /// Import existing resources as a member of a group; all or none of them
    Import {
        /// File with the specification of the group
        file: PathBuf,
        /// Resource of the specification and its id at the provider, such as aws_instance=i-1 or
        /// aws_ebs_volume.data=vol-1
        #[arg(required = true, value_name = "TYPE[.NAME]=ID")]
        resources: Vec<String>,
        /// Key of the member (default: the first that the group lacks)
        #[arg(long, value_name = "KEY")]
        member: Option<String>,
        /// Leave this argument of the specification out of the declarations (repeatable)
        #[arg(long, value_name = "ARGUMENT")]
        exclude: Vec<String>,
        #[command(flatten)]
        variables: Variables,
    },
    /// Commit the earlier specification of a group again
    Rollback {
        name: String,
        /// Print the plan, and write nothing
        #[arg(long)]
        pretend: bool,
    },
    /// Change the number of members, or show the expression that decides it
    Scale {
        name: String,
        size: u32,
        /// Print the plan of a committed group, and write nothing
        #[arg(long, conflicts_with = "write")]
        pretend: bool,
        /// Assign the variable that decides the size of a group of the configuration
        #[arg(long)]
        write: bool,
    },
    /// Stop to manage a group, and leave its resources as they are
    Free {
        name: String,
        /// Skip the confirmation
        #[arg(long, alias = "yes")]
        auto_approve: bool,
    },
    /// Destroy a group: drain and destroy its members, then its dedicated and global resources
    Destroy {
        name: String,
        #[command(flatten)]
        values: Values,
        /// Skip the confirmation
        #[arg(long)]
        auto_approve: bool,
    },
}

impl GroupCommand {
    /// Returns true if the command may deploy.
    pub(super) fn deploys(&self) -> bool {
        matches!(self, Self::Resume { .. } | Self::Destroy { .. })
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum SelectionsCommand {
    /// Save the selection of a stage under a name
    Save {
        name: String,
        /// Number of the stage (default: the newest)
        #[arg(long, value_name = "N")]
        stage: Option<i64>,
    },
    /// Delete a saved selection
    Delete { name: String },
}

#[derive(Debug, Subcommand)]
pub(super) enum WorkspaceCommand {
    /// List workspaces; the selected one is marked
    List {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Show the selected workspace
    Show,
    /// Create a workspace and select it
    New {
        name: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Select a workspace
    Select {
        name: String,
        /// Create it if it does not exist
        #[arg(long)]
        or_create: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Delete a workspace with its state
    Delete {
        name: String,
        /// Delete it even if its state has objects; they keep running without a record
        #[arg(long)]
        force: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

impl WorkspaceCommand {
    /// Returns true if the output is JSON lines.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::New { json, .. } | Self::Select { json, .. } | Self::Delete { json, .. } => *json,
            Self::List { .. } | Self::Show => false,
        }
    }
}
