//! `flightdeck get`: fetches the modules of a configuration.

use crate::cli::args::GetArgs;
use crate::cli::exit::{CommandResult, OK, fields};
use crate::cli::installing::run_with_progress;
use crate::cli::output::{Ink, Output};
use crate::cli::session::settings;
use engine::install::{self, Request};
use model::settings::Access;
use serde_json::json;

pub(super) async fn run(args: GetArgs, out: &mut Output) -> CommandResult {
    let here = settings("get", Access::ReadOnly, None)?;
    let request = Request {
        dir: here.workspace,
        workspace: here.workspace_name,
        values: args.variables.request(),
        upgrade: args.update,
        ..Request::default()
    };
    let installed = run_with_progress(out, |tell, stop| {
        install::install_modules(request, tell, stop)
    })
    .await?;
    installed.diagnostics.iter().for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    out.result("get", fields(json!({ "modules": installed.modules })));
    if !out.json {
        let line = match installed.modules {
            1 => "Installed: 1 module.".to_owned(),
            n => format!("Installed: {n} modules."),
        };
        let line = out.paint(Ink::Green, &line);
        out.line(&line);
    }
    Ok(OK)
}
