//! `flightdeck providers lock` and `mirror`: package hashes for other platforms, and a mirror
//! directory.

use crate::cli::escape::safe_path;
use crate::cli::exit::{CommandResult, OK, fields};
use crate::cli::installing::run_with_progress;
use crate::cli::output::{Ink, Output};
use crate::cli::session::settings;
use crate::cli::variables::Variables;
use engine::install::{self, From, LockAndMirrorRequest, Written};
use model::settings::Access;
use serde_json::json;
use std::path::PathBuf;

pub(super) async fn lock(
    platforms: Vec<String>,
    (directory, mirror): (Option<PathBuf>, Option<String>),
    variables: Variables,
    providers: &[String],
    out: &mut Output,
) -> CommandResult {
    let here = settings("providers lock", Access::NoStore, None)?;
    let wanted = LockAndMirrorRequest {
        dir: here.workspace,
        workspace: here.workspace_name,
        values: variables.request(),
        platforms,
        from: match (directory, mirror) {
            (Some(path), _) => From::Directory(path),
            (None, Some(url)) => From::Mirror(url),
            (None, None) => From::Registries,
        },
        providers: providers.to_vec(),
    };
    let written = run_with_progress(out, |tell, stop| install::lock(wanted, tell, stop)).await?;
    let text = match written.changed {
        true => "Added hashes to the lock file.",
        false => "The lock file already has all hashes.",
    };
    report_written("providers lock", written, text, out)
}

pub(super) async fn mirror(
    platforms: Vec<String>,
    variables: Variables,
    dir: PathBuf,
    out: &mut Output,
) -> CommandResult {
    let here = settings("providers mirror", Access::NoStore, None)?;
    let wanted = LockAndMirrorRequest {
        dir: here.workspace,
        workspace: here.workspace_name,
        values: variables.request(),
        platforms,
        ..LockAndMirrorRequest::default()
    };
    let text = format!("Wrote the mirror to {}.", safe_path(&dir));
    let written =
        run_with_progress(out, |tell, stop| install::mirror(wanted, dir, tell, stop)).await?;
    report_written("providers mirror", written, &text, out)
}

fn report_written(command: &str, written: Written, text: &str, out: &mut Output) -> CommandResult {
    written.diagnostics.iter().for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    let result = json!({ "providers": written.providers, "changed": written.changed });
    out.result(command, fields(result));
    if !out.json {
        let line = out.paint(Ink::Green, text);
        out.line(&line);
    }
    Ok(OK)
}
