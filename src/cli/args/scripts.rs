//! The arguments of commands that scripts bring along and that have few of their own.

use crate::cli::values::ValueError;
use crate::cli::variables::Variables;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct GetArgs {
    #[command(flatten)]
    pub(in crate::cli) variables: Variables,
    /// Fetch all anew, in the newest versions that are allowed
    #[arg(long)]
    pub(in crate::cli) update: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct GraphArgs {
    /// Which graph; that of a plan, or of the deploy of the file that --plan names
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(in crate::cli) kind: Option<GraphKind>,
    /// A file that `plan --out` wrote
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) variables: Variables,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum GraphKind {
    /// What a plan works out
    Plan,
    /// The same, where only the world is looked at
    PlanRefreshOnly,
    /// What a destruction takes
    PlanDestroy,
    /// What a deploy does: of the file that --plan names; without one, of one that changes nothing
    Apply,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct ConsoleArgs {
    #[command(flatten)]
    pub(in crate::cli) variables: Variables,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct ProvidersArgs {
    #[command(flatten)]
    pub(in crate::cli) variables: Variables,
    #[command(subcommand)]
    pub(in crate::cli) command: Option<ProvidersCommand>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ProvidersCommand {
    /// What each of them has: resource types, data sources, functions; as one JSON document
    Schema {
        /// As one JSON document; there is no other form
        #[arg(long, required = true)]
        json: bool,
    },
    /// Write the hashes of packages into the lock file, for other kinds of machines too
    Lock {
        /// For this kind of machine, as linux_arm64; may be repeated; this one where none is named
        #[arg(long, value_name = "OS_ARCH", value_parser = platform)]
        platform: Vec<String>,
        /// Take them from this directory, not from their registries
        #[arg(long, value_name = "DIR", conflicts_with = "net_mirror")]
        fs_mirror: Option<PathBuf>,
        /// Take them from the mirror at this address, not from their registries
        #[arg(long, value_name = "URL")]
        net_mirror: Option<String>,
        #[command(flatten)]
        variables: Variables,
        /// These alone, as NAMESPACE/NAME or HOST/NAMESPACE/NAME; all that the configuration needs
        /// where none is named
        #[arg(value_name = "PROVIDER")]
        providers: Vec<String>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Put packages from their registries into a directory, as a mirror
    Mirror {
        /// For this kind of machine, as linux_arm64; may be repeated; this one where none is named
        #[arg(long, value_name = "OS_ARCH", value_parser = platform)]
        platform: Vec<String>,
        #[command(flatten)]
        variables: Variables,
        /// The mirror
        dir: PathBuf,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// A kind of machine.
fn platform(text: &str) -> Result<String, ValueError> {
    let word = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric());
    match text.split_once('_') {
        Some((os, arch)) if word(os) && word(arch) => Ok(text.to_owned()),
        _ => Err(ValueError::Platform),
    }
}

impl ProvidersArgs {
    /// Whether a program reads the output, line by line.
    pub(super) fn wants_json(&self) -> bool {
        match &self.command {
            Some(ProvidersCommand::Lock { json, .. } | ProvidersCommand::Mirror { json, .. }) => {
                *json
            }
            Some(ProvidersCommand::Schema { .. }) | None => false,
        }
    }

    /// The name that a result carries.
    pub(super) fn name(&self) -> &'static str {
        match &self.command {
            None => "providers",
            Some(ProvidersCommand::Schema { .. }) => "providers schema",
            Some(ProvidersCommand::Lock { .. }) => "providers lock",
            Some(ProvidersCommand::Mirror { .. }) => "providers mirror",
        }
    }
}
