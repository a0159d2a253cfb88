//! Arguments of commands that only print or check: `output`, `show`, `validate` and others.

use crate::cli::values::ValueError;
use crate::cli::variables::Variables;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct GetArgs {
    #[command(flatten)]
    pub(in crate::cli) variables: Variables,
    /// Upgrade modules to the newest allowed versions
    #[arg(long)]
    pub(in crate::cli) update: bool,
    /// Print one JSON object per line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(in crate::cli) struct GraphArgs {
    /// Graph to print (default: plan, or apply with --plan)
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub(in crate::cli) kind: Option<GraphKind>,
    /// File that `plan --out` wrote
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) variables: Variables,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum GraphKind {
    /// Steps of a plan
    Plan,
    /// Steps of a refresh-only plan
    PlanRefreshOnly,
    /// Steps of a destroy plan
    PlanDestroy,
    /// Steps of a deploy: of the file that --plan names, otherwise of one without changes
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
    /// Print the schemas of the providers
    Schema {
        /// Print one JSON document; required
        #[arg(long, required = true)]
        json: bool,
    },
    /// Add package hashes to the lock file, also for other platforms
    Lock {
        /// Platform, such as linux_arm64 (default: this one; repeatable)
        #[arg(long, value_name = "OS_ARCH", value_parser = platform)]
        platform: Vec<String>,
        /// Read packages from this directory instead of the registries
        #[arg(long, value_name = "DIR", conflicts_with = "net_mirror")]
        fs_mirror: Option<PathBuf>,
        /// Read packages from the mirror at this URL instead of the registries
        #[arg(long, value_name = "URL")]
        net_mirror: Option<String>,
        #[command(flatten)]
        variables: Variables,
        /// Providers as NAMESPACE/NAME or HOST/NAMESPACE/NAME (default: all in the configuration)
        #[arg(value_name = "PROVIDER")]
        providers: Vec<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Download provider packages into a mirror directory
    Mirror {
        /// Platform, such as linux_arm64 (default: this one; repeatable)
        #[arg(long, value_name = "OS_ARCH", value_parser = platform)]
        platform: Vec<String>,
        #[command(flatten)]
        variables: Variables,
        /// Mirror directory
        dir: PathBuf,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
}

/// Platform of a provider package.
fn platform(text: &str) -> Result<String, ValueError> {
    let word = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric());
    match text.split_once('_') {
        Some((os, arch)) if word(os) && word(arch) => Ok(text.to_owned()),
        _ => Err(ValueError::Platform),
    }
}

impl ProvidersArgs {
    /// Returns true if the output is JSON lines.
    pub(super) fn wants_json(&self) -> bool {
        match &self.command {
            Some(ProvidersCommand::Lock { json, .. } | ProvidersCommand::Mirror { json, .. }) => {
                *json
            }
            Some(ProvidersCommand::Schema { .. }) | None => false,
        }
    }

    /// Returns the command's name in results.
    pub(super) fn name(&self) -> &'static str {
        match &self.command {
            None => "providers",
            Some(ProvidersCommand::Schema { .. }) => "providers schema",
            Some(ProvidersCommand::Lock { .. }) => "providers lock",
            Some(ProvidersCommand::Mirror { .. }) => "providers mirror",
        }
    }
}
