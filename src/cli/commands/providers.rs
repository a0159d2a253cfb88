//! `flightdeck providers`: lists required providers, prints their schemas, and manages their
//! packages.

mod packages;
mod schema;

use crate::cli::args::{ProvidersArgs, ProvidersCommand};
use crate::cli::escape::safe;
use crate::cli::exit::{CliError, CommandResult, OK};
use crate::cli::output::Output;
use crate::cli::session::{run_request, settings};
use crate::cli::variables::Variables;
use model::ModuleProviders;
use model::settings::Access;

pub(super) async fn run(args: ProvidersArgs, out: &mut Output) -> CommandResult {
    match args.command {
        None => required_providers(args.variables, out).await,
        Some(ProvidersCommand::Schema { .. }) => schema::run(out).await,
        Some(ProvidersCommand::Lock {
            platform,
            fs_mirror,
            net_mirror,
            variables,
            providers,
            ..
        }) => {
            let from = (fs_mirror, net_mirror);
            packages::lock(platform, from, variables, &providers, out).await
        }
        Some(ProvidersCommand::Mirror {
            platform,
            variables,
            dir,
            ..
        }) => packages::mirror(platform, variables, dir, out).await,
    }
}

async fn required_providers(variables: Variables, out: &mut Output) -> CommandResult {
    let settings = settings("providers", Access::ReadState, None)?;
    if let Some(why) = workspace::load::missing_configuration(&settings.workspace) {
        return Err(CliError::usage(why));
    }
    let question = |engine: engine::handle::Engine| async move {
        engine.required_providers(variables.request()).await
    };
    let needed = run_request(settings, out, question).await?;
    out.flush_diagnostics();
    out.line("");
    out.line("Providers required by configuration:");
    out.line(".");
    branches(&needed.configuration, "", out);
    out.line("");
    if !needed.state.is_empty() {
        out.line("Providers required by state:");
        out.line("");
        for address in &needed.state {
            out.line(&format!("    provider[{}]", safe(address)));
            out.line("");
        }
    }
    Ok(OK)
}

/// Prints the providers and calls of a module as a tree. `lead` is the prefix of each line.
fn branches(module: &ModuleProviders, lead: &str, out: &mut Output) {
    let mut left = module.providers.len() + module.calls.len();
    let mut mark = || {
        // The last branch of a module ends its line.
        left -= 1;
        if left == 0 {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        }
    };
    // As in OpenTofu, a module's own providers precede its module calls.
    for (address, conditions) in &module.providers {
        let line = format!(
            "{lead}{}provider[{}] {}",
            mark().0,
            safe(address),
            safe(conditions)
        );
        out.line(line.trim_end());
    }
    for (name, called) in &module.calls {
        let (here, below) = mark();
        out.line(&format!("{lead}{here}module.{}", safe(name)));
        branches(called, &format!("{lead}{below}"), out);
    }
}
