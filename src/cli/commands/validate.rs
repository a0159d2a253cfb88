//! `flightdeck validate`: checks the configuration itself, without the state.

use crate::cli::exit::{CommandResult, OK, fields};
use crate::cli::options::ValidateArgs;
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use model::settings::Access;
use serde_json::json;

pub(super) async fn run(args: ValidateArgs, out: &mut Output) -> CommandResult {
    let mut session = Session::start(settings("validate", Access::NoStore, None)?, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let request = args.variables.request();
    let validated = session
        .wait(out, &mut progress, engine.validate(request))
        .await;
    session.finish(out).await;
    validated?;
    out.flush_diagnostics();
    out.result("validate", fields(json!({ "valid": true })));
    if !out.json {
        let line = out.paint(Ink::Green, "The configuration is valid.");
        out.line(&line);
    }
    Ok(OK)
}
