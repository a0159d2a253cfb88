//! Arguments of `flightdeck state`.

use crate::cli::options::{ImportArgs, TaintArgs};
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StateCommand {
    /// List addresses in the state
    #[command(alias = "ls")]
    List {
        /// Text that the addresses contain
        filter: Option<String>,
        /// Limit to objects with this id
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show one resource instance with its attributes
    Show {
        address: String,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Export the state as a state file of version 4
    Export {
        /// File to write, with mode 0600 (default: stdout)
        file: Option<PathBuf>,
    },
    /// Move an instance, a resource or a module to another address
    #[command(alias = "move")]
    Mv {
        from: String,
        to: String,
        /// Print the moves without making them
        #[arg(long)]
        dry_run: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Replace the provider of its objects in the state
    ReplaceProvider {
        /// Provider as NAMESPACE/NAME or HOST/NAMESPACE/NAME
        from: String,
        to: String,
        /// Skip the confirmation
        #[arg(long)]
        auto_approve: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Print the state file, decrypted
    Pull,
    /// Replace the state with a state file
    Push {
        /// File, or `-` for stdin
        file: PathBuf,
        /// Accept an older state or another lineage
        #[arg(long)]
        force: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Remove objects from the state without destroying them, and resolve their unknown outcomes
    #[command(visible_alias = "rm", alias = "remove")]
    Forget {
        /// Print the removals without making them
        #[arg(long)]
        dry_run: bool,
        /// Addresses of instances, resources, modules or deposed objects, as in `state list`
        #[arg(required = true, value_name = "ADDRESS")]
        addresses: Vec<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Import an existing object, and resolve unknown outcomes of its address
    Import(ImportArgs),
    /// Mark an object for replacement
    Taint(TaintArgs),
    /// Remove the replacement mark, and resolve unknown outcomes of provisioners
    Untaint(TaintArgs),
    /// Use a store that was set aside, because it came from elsewhere, after a confirmation
    AdoptStore {
        /// Number of the store; the newest without it
        number: Option<u32>,
        /// Skip the confirmation
        #[arg(long)]
        auto_approve: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Choose a state when the backend and the store's copy differ, or the backend lost it
    Use {
        which: UseState,
        /// Replace a state of another lineage with the record
        #[arg(long)]
        force: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(in crate::cli) enum UseState {
    /// State in the backend
    #[value(alias = "home")]
    Backend,
    /// Copy in the store (`.flightdeck/`); it is written to the backend
    Record,
}

impl StateCommand {
    /// Returns true if the output is JSON lines.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::List { json, .. }
            | Self::Show { json, .. }
            | Self::Forget { json, .. }
            | Self::Mv { json, .. }
            | Self::ReplaceProvider { json, .. }
            | Self::Push { json, .. }
            | Self::AdoptStore { json, .. }
            | Self::Use { json, .. } => *json,
            Self::Import(args) => args.json,
            Self::Taint(args) | Self::Untaint(args) => args.json,
            Self::Export { .. } | Self::Pull => false,
        }
    }

    /// Returns the command's name in results.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::List { .. } => "state list",
            Self::Show { .. } => "state show",
            Self::Forget { .. } => "state forget",
            Self::Import(_) => "state import",
            Self::Taint(_) => "state taint",
            Self::Untaint(_) => "state untaint",
            Self::Mv { .. } => "state mv",
            Self::ReplaceProvider { .. } => "state replace-provider",
            Self::Pull => "state pull",
            Self::Push { .. } => "state push",
            Self::AdoptStore { .. } => "state adopt-store",
            Self::Use { .. } => "state use",
            Self::Export { .. } => "state",
        }
    }
}
