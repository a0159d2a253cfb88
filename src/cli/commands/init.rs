//! `flightdeck init`: the modules and providers of a configuration, fetched. Draws what has come of
//! each; what is done the engine says.

use crate::cli::exit::{Ended, OK, fields};
use crate::cli::installing::shown;
use crate::cli::options::{InitArgs, LockfileMode};
use crate::cli::output::{Ink, Output};
use crate::cli::session::settings;
use crate::engine::install::{self, Lockfile, Request};
use crate::engine::settings::Access;
use crate::engine::workspace::initialize::InitBackend;
use serde_json::json;

pub(super) async fn run(args: InitArgs, out: &mut Output) -> Ended {
    let here = settings("init", Access::ReadOnly, None)?;
    let backend = InitBackend {
        config: args.backend_config,
        reconfigure: args.reconfigure,
        migrate: args.migrate_state,
        force_copy: args.force_copy,
        without_backend: !args.backend,
        vars: args.variables.vars.clone(),
        var_files: args.variables.var_files.clone(),
    };
    let request = Request {
        backend,
        dir: here.workspace,
        named: here.named,
        values: args.variables.request(),
        upgrade: args.upgrade,
        lockfile: match args.lockfile {
            None => Lockfile::Written,
            Some(LockfileMode::Readonly) => Lockfile::ReadOnly,
        },
    };
    let installed = shown(out, |tell, stop| install::install(request, tell, stop)).await?;
    installed.diagnostics.iter().for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    installed.told.iter().for_each(|text| out.note(text));
    if out.json {
        out.result(
            "init",
            fields(json!({ "modules": installed.modules, "providers": installed.providers })),
        );
    } else {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let line = format!(
            "Installed: {}, {}.",
            count(installed.modules, "module"),
            count(installed.providers, "provider")
        );
        let line = out.paint(Ink::Green, &line);
        out.line(&line);
    }
    Ok(OK)
}
