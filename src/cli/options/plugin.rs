//! Options of the commands for the development of plugins.

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum PluginSubcommand {
    /// Serve a bundled plugin; flightdeck launches this as a child process
    Serve {
        /// `lab` or `local`, as in `flightdeck.internal/bundled/NAME`
        name: String,
    },
    /// Serve `/ready` on a port: the web server of the demo's group
    #[command(hide = true)]
    Web {
        /// Port on the loopback address
        #[arg(long)]
        port: u16,
        /// Release to serve; one with `broken` in its name is never ready
        #[arg(long)]
        release: String,
        /// End when the lock on this file is released
        #[arg(long, value_name = "FILE")]
        until_unlocked: Option<PathBuf>,
    },
    /// Write the crate of a new provider in Rust, with tests and an example
    New(PluginNewArgs),
    /// Print a starter block of a type, from the live schema of its provider
    Scaffold(ScaffoldArgs),
    /// Print or write the documentation of a provider as Markdown, from its live schema
    Docs(PluginDocsArgs),
    /// Build a provider after each change of its source, replace its process, and stage again
    Dev(PluginDevArgs),
    /// Check a provider against the rules of its protocol; creates objects only with --yes
    Conform(ConformArgs),
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct PluginDocsArgs {
    /// Installed provider or a part of its name, or the path of an executable
    #[arg(value_name = "SOURCE|BINARY")]
    pub(in crate::cli) plugin: String,
    /// Write a page for each type and function into this directory
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct ConformArgs {
    /// Installed provider or a part of its name, or the path of an executable
    #[arg(value_name = "SOURCE|BINARY", required_unless_present_any = ["history", "clean"])]
    pub(in crate::cli) plugin: Option<String>,
    /// List the reports of earlier runs in this directory, newest first
    #[arg(long, conflicts_with_all = ["types", "config", "yes", "report"])]
    pub(in crate::cli) history: bool,
    /// List the objects that earlier runs may have left; destroy them with --yes
    #[arg(long, conflicts_with_all = ["plugin", "types", "history", "report"])]
    pub(in crate::cli) clean: bool,
    /// Discard the record of an object that does not exist (repeatable)
    #[arg(
        long,
        value_name = "RECORD",
        requires = "clean",
        conflicts_with = "yes"
    )]
    pub(in crate::cli) discard: Vec<String>,
    /// Resource type to check (repeatable; default: those of --config, else all)
    #[arg(long = "type", value_name = "TYPE")]
    pub(in crate::cli) types: Vec<String>,
    /// File with a provider block and resource blocks, instead of starters
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) config: Option<PathBuf>,
    /// Create, change and destroy real objects
    #[arg(long)]
    pub(in crate::cli) yes: bool,
    /// Prefix of texts in starters and new values
    #[arg(long, value_name = "TEXT", default_value = "conform-")]
    pub(in crate::cli) prefix: String,
    /// Deadline of each call
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = crate::cli::values::duration)]
    pub(in crate::cli) call_deadline: Duration,
    /// Deadline of the run; what was created is destroyed afterwards
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = crate::cli::values::duration)]
    pub(in crate::cli) deadline: Duration,
    /// Fail if the plugin takes longer to start
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = crate::cli::values::duration)]
    pub(in crate::cli) start_limit: Duration,
    /// Fail if the process uses more memory, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 2048)]
    pub(in crate::cli) memory_limit: u64,
    /// Form of the report
    #[arg(long, value_enum, value_name = "FORM", default_value = "table")]
    pub(in crate::cli) report: ReportForm,
    /// Print one JSON object per line
    #[arg(long, conflicts_with = "report")]
    pub(in crate::cli) json: bool,
}

/// Form of a conformance report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ReportForm {
    /// Table with a line for each check
    Table,
    /// JUnit XML
    Junit,
    /// Markdown
    Markdown,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct ScaffoldArgs {
    /// Resource type, or `data.TYPE` for a data source
    #[arg(value_name = "TYPE")]
    pub(in crate::cli) type_name: String,
    /// Installed provider or a part of its name, or the path of an executable (default: as the
    /// first word of TYPE)
    #[arg(long, value_name = "SOURCE|BINARY")]
    pub(in crate::cli) plugin: Option<String>,
    /// Add optional arguments and blocks
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct PluginNewArgs {
    /// Name of the provider: lower-case letters and digits
    pub(in crate::cli) name: String,
    /// Describe the use as a plugin of Bluelink
    #[arg(long)]
    pub(in crate::cli) bluelink: bool,
    /// Directory of the SDK (default: `crates/sdk` of the checkout that has this program)
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) sdk: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct PluginDevArgs {
    /// Directory with the provider's source
    #[arg(value_name = "DIR")]
    pub(in crate::cli) dir: PathBuf,
    /// Workspace to stage (default: `example` in DIR, else the current directory)
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) workspace: Option<PathBuf>,
    /// Command that builds the provider, run in DIR (default: `cargo build`)
    #[arg(long, value_name = "COMMAND", requires = "binary")]
    pub(in crate::cli) build: Option<String>,
    /// Executable that the command writes, relative to DIR
    #[arg(long, value_name = "PATH", requires = "build")]
    pub(in crate::cli) binary: Option<PathBuf>,
    /// Build and stage once, and end
    #[arg(long)]
    pub(in crate::cli) once: bool,
}

impl PluginSubcommand {
    /// Returns true if the command serves a protocol on its own standard output.
    pub(in crate::cli) fn serves(&self) -> bool {
        matches!(self, Self::Serve { .. } | Self::Web { .. })
    }

    /// Returns true if the output is JSON lines.
    pub(in crate::cli) fn wants_json(&self) -> bool {
        match self {
            Self::Scaffold(args) => args.json,
            Self::Docs(args) => args.json,
            Self::Conform(args) => args.json,
            Self::Dev(_) | Self::New(_) | Self::Serve { .. } | Self::Web { .. } => false,
        }
    }
}
