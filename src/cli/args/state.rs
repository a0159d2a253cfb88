//! The arguments of `flightdeck state`.

use crate::cli::options::{ImportArgs, TaintArgs};
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StateCommand {
    /// Addresses in the state
    #[command(alias = "ls")]
    List {
        /// Only those that contain this
        filter: Option<String>,
        /// Only objects with this id
        #[arg(long, value_name = "ID")]
        id: Option<String>,
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
    /// Give an instance, a resource or a module another address
    #[command(alias = "move")]
    Mv {
        from: String,
        to: String,
        /// Say what would be moved, and change nothing
        #[arg(long)]
        dry_run: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Say of all objects of one provider that they belong to another
    ReplaceProvider {
        /// NAMESPACE/NAME or HOST/NAMESPACE/NAME
        from: String,
        to: String,
        /// Do not ask
        #[arg(long)]
        auto_approve: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// The state on stdout, as it is where it lives, decrypted
    Pull,
    /// Put a state file into the place of the state
    Push {
        /// `-` for standard input
        file: PathBuf,
        /// Also where it is older, or of another lineage
        #[arg(long)]
        force: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Take objects out of the state without destroying them; settles what is unknown of them
    #[command(visible_alias = "rm", alias = "remove")]
    Forget {
        /// Show what would be forgotten, and change nothing
        #[arg(long)]
        dry_run: bool,
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
    /// Say which of two states is gone on with: where the state lives and what is on record here
    /// were changed apart, or the state is gone from there
    Use {
        which: UseState,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(in crate::cli) enum UseState {
    /// The one where the configuration says that the state lives
    Home,
    /// The one on record in `.flightdeck/`, which is written there
    Record,
}

impl StateCommand {
    /// Whether a program reads the output.
    pub(super) fn wants_json(&self) -> bool {
        match self {
            Self::List { json, .. }
            | Self::Show { json, .. }
            | Self::Forget { json, .. }
            | Self::Mv { json, .. }
            | Self::ReplaceProvider { json, .. }
            | Self::Push { json, .. }
            | Self::Use { json, .. } => *json,
            Self::Import(args) => args.json,
            Self::Taint(args) | Self::Untaint(args) => args.json,
            Self::Export { .. } | Self::Pull => false,
        }
    }

    /// The name that a result carries.
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
            Self::Use { .. } => "state use",
            Self::Export { .. } => "state",
        }
    }
}
