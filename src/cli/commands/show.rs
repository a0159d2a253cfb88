//! `flightdeck show`: prints the state, or the stage or state in a file, as text or as a JSON
//! document.

use crate::cli::escape::safe_path;
use crate::cli::exit::{CliError, CommandResult, OK};
use crate::cli::output::Output;
use crate::cli::sensitive_values::reveal;
use crate::cli::session::{run_request, settings};
use crate::cli::show;
use engine::Engine;
use engine::stage::encoding::{StageFile, plan_keys};
use model::settings::Access;
use std::path::Path;

pub(super) async fn run(file: Option<&Path>, json: bool, out: &mut Output) -> CommandResult {
    let Some(file) = file else {
        return state(json, out).await;
    };
    let text = read(file)?;
    // Files have no type in their name, so the content decides.
    if is_state(&text) {
        return state_in(file, text, json, out).await;
    }
    let refused = |e: engine::stage::encoding::StageCodecError| {
        CliError::io(format!("{}: {e}", safe_path(file)))
    };
    let stage = match statefile::encryption::is_encrypted(text.as_bytes()) {
        true => decrypt_stage(text, out).await?,
        false => {
            let keys = plan_keys(&settings("show", Access::NoStore, None)?.workspace);
            let read = keys.and_then(|keys| StageFile::read(&text, &keys));
            read.map_err(refused)?
        }
    };
    if json {
        let plan = statefile::compact(&stage.plan().to_string());
        out.write((plan + "\n").as_bytes());
        return Ok(OK);
    }
    if let Some(warning) = stage.unsigned_warning() {
        out.diagnostic(&warning);
        out.flush_diagnostics();
    }
    if out.flags.show_sensitive {
        show::stage(out, &reveal(stage.summary(), &stage.plan()));
    } else {
        show::stage(out, stage.summary());
    }
    Ok(OK)
}

/// Returns true if a text is a state and not a stage.
fn is_state(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct ShowRequest {
        version: Option<serde::de::IgnoredAny>,
        lineage: Option<String>,
    }
    serde_json::from_str::<ShowRequest>(text).is_ok_and(|look| {
        // A state has a version, and the envelope of an encrypted state its lineage. A stage file
        // has neither.
        look.version.is_some() || look.lineage.is_some_and(|lineage| !lineage.is_empty())
    })
}

/// Shows the state in a file.
async fn state_in(file: &Path, text: String, json: bool, out: &mut Output) -> CommandResult {
    let settings = settings("show", Access::NoStore, None)?;
    let name = file.display().to_string();
    let read = |engine: Engine| async move { engine.state_in_file(&name, text).await };
    let state = run_request(settings, out, read).await?;
    if json {
        out.write((statefile::compact(&state.json.to_string()) + "\n").as_bytes());
        return Ok(OK);
    }
    super::state::show_rows(&state.rows, out);
    super::output::all(&state.outputs, false, out)
}

/// Decrypts a stage file with the encryption of the configuration.
async fn decrypt_stage(text: String, out: &mut Output) -> Result<StageFile, CliError> {
    let settings = settings("show", Access::NoStore, None)?;
    let opened = |engine: Engine| async move { engine.stage_in_file(text).await };
    run_request(settings, out, opened).await
}

/// First bytes of an archive.
const ZIP: &[u8] = b"PK\x03\x04";

/// Reads a file written by `plan --out`.
pub(super) fn read(file: &Path) -> Result<String, CliError> {
    let bytes = fsroot::read_regular(file);
    if bytes.as_ref().is_ok_and(|bytes| bytes.starts_with(ZIP)) {
        let name = safe_path(file);
        let text = format!("{name} is an archive, as OpenTofu and Terraform write their plans");
        return Err(CliError::io(text).hint(
            "apply it with the program that wrote it, or plan again with `flightdeck plan --out`",
        ));
    }
    let text = bytes.and_then(|bytes| std::io::read_to_string(bytes.as_slice()));
    text.map_err(|e| {
        CliError::io(format!("cannot read {}: {e}", safe_path(file)))
            .hint("name a file that `flightdeck plan --out` wrote")
    })
}

async fn state(json: bool, out: &mut Output) -> CommandResult {
    if !json {
        return super::state::show_all(out).await;
    }
    let settings = settings("show", Access::ReadState, None)?;
    let state = run_request(
        settings,
        out,
        |engine| async move { engine.state_json().await },
    )
    .await?;
    out.flush_diagnostics();
    out.write((statefile::compact(&state.to_string()) + "\n").as_bytes());
    Ok(OK)
}
