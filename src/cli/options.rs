//! Options that commands share, and those of one command each.

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};

use super::values::{Format, stage_name};
use super::variables::Variables;

#[derive(Debug, ClapArgs)]
pub(super) struct TaintArgs {
    /// The resource instance
    pub(super) address: String,
    /// Succeed although the address is not in the state
    #[arg(long)]
    pub(super) allow_missing: bool,
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
    /// No effect
    #[arg(long, value_name = "N", hide = true)]
    pub(super) parallelism: Option<u16>,
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
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
    #[command(flatten)]
    pub(super) programs: Programs,
}

/// What programs read.
#[derive(Debug, Default, ClapArgs)]
pub(super) struct Programs {
    /// One JSON object a line
    #[arg(long)]
    pub(super) json: bool,
    /// In which form, if not in flightdeck's own; FLIGHTDECK_FORMAT does the same
    #[arg(long, value_enum, value_name = "FORM")]
    pub(super) format: Option<Format>,
}

/// What may become of the lock file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LockfileMode {
    /// It stays as it is
    Readonly,
}

#[derive(Debug, ClapArgs)]
pub(super) struct InitArgs {
    #[command(flatten)]
    pub(super) variables: Variables,
    /// Fetch all anew, in the newest versions that are allowed, whatever is locked
    #[arg(long, conflicts_with = "lockfile")]
    pub(super) upgrade: bool,
    /// Leave the lock file as it is, and end with an error where it does not do
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) lockfile: Option<LockfileMode>,
    /// A directory of provider packages; where some are named, providers come from them alone; may
    /// be repeated
    #[arg(long, value_name = "DIR", value_parser = clap::builder::OsStringValueParser::new().map(PathBuf::from))]
    pub(super) plugin_dir: Vec<PathBuf>,
    /// An argument of the backend that its block leaves open, or a file with some; may be repeated
    #[arg(long, value_name = "NAME=TEXT | FILE")]
    pub(super) backend_config: Vec<String>,
    /// Go on with what is at the backend as it is configured now, whatever was where it was before
    #[arg(long, conflicts_with_all = ["migrate_state", "force_copy"])]
    pub(super) reconfigure: bool,
    /// Bring the states from where they were to the backend as it is configured now
    #[arg(long)]
    pub(super) migrate_state: bool,
    /// Bring them without a question
    #[arg(long)]
    pub(super) force_copy: bool,
    /// Whether the backend is made ready; with `false` its record counts
    #[arg(long, alias = "cloud", value_name = "BOOL", default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true, action = clap::ArgAction::Set)]
    pub(super) backend: bool,
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
    #[command(flatten)]
    pub(super) programs: Programs,
    /// Write Terraform's plan representation, with mode 0600
    #[arg(long, value_name = "FILE")]
    pub(super) plan_json: Option<PathBuf>,
    /// End with 2 where there are changes
    #[arg(long)]
    pub(super) detailed_exitcode: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Write the stage into a file, with mode 0600
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) programs: Programs,
    /// End with 2 where there are changes
    #[arg(long)]
    pub(super) detailed_exitcode: bool,
}

#[derive(Debug, ClapArgs)]
pub(super) struct RefreshArgs {
    /// Only this address and what it needs; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub(super) target: Vec<String>,
    /// All but this address and what needs it; may be repeated
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
    /// Number or name of a stage, or a file that `plan --out` wrote; without one, stage anew
    pub(super) stage: Option<String>,
    #[command(flatten)]
    pub(super) choice: Choice,
    /// Do not ask
    #[arg(long)]
    pub(super) auto_approve: bool,
    #[command(flatten)]
    pub(super) programs: Programs,
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
    #[command(flatten)]
    pub(super) programs: Programs,
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
        ];
        flags
            .into_iter()
            .find_map(|(given, name)| given.then_some(name))
    }
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

#[derive(Debug, Subcommand)]
pub(super) enum WorkspaceCommand {
    /// Their names, the selected one marked
    List {
        /// As one JSON document
        #[arg(long)]
        json: bool,
    },
    /// The name of the selected one
    Show,
    /// Make one, and select it
    New {
        name: String,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Select one
    Select {
        name: String,
        /// Make it where it is not there
        #[arg(long)]
        or_create: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Take one away, with its state
    Delete {
        name: String,
        /// Also where it has objects: they stay in the world, and nobody knows of them any more
        #[arg(long)]
        force: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

impl WorkspaceCommand {
    /// Whether a program reads the output, line by line.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::New { json, .. } | Self::Select { json, .. } | Self::Delete { json, .. } => *json,
            Self::List { .. } | Self::Show => false,
        }
    }
}
