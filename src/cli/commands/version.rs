//! `flightdeck version`: prints the language version, the platform and the locked providers.

use crate::cli::escape::safe;
use crate::cli::exit::{CommandResult, OK};
use crate::cli::output::Output;
use lang::config::LANGUAGE_VERSION;
use plugin::find::{LockFile, platform};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn run(json: bool, out: &mut Output) -> CommandResult {
    let locked = LockFile::read(Path::new(""));
    // An unreadable lock file must not prevent the version from being printed.
    let locked = locked.unwrap_or_else(|error| {
        out.stderr_line(&format!("warning: {}", safe(&error.to_string())));
        LockFile::default()
    });
    let locked: BTreeMap<String, String> = locked
        .entries
        .iter()
        .map(|(address, entry)| (address.to_string(), entry.version.to_string()))
        .collect();
    if json {
        let all = json!({
            "terraform_version": LANGUAGE_VERSION,
            "platform": platform(),
            "provider_selections": locked,
        });
        out.write(format!("{all:#}\n").as_bytes());
        return Ok(OK);
    }
    out.line(&format!("flightdeck {}", env!("CARGO_PKG_VERSION")));
    out.line(&format!(
        "with the language of OpenTofu {LANGUAGE_VERSION}, on {}",
        platform()
    ));
    for (address, version) in &locked {
        out.line(&format!("+ provider {} v{}", safe(address), safe(version)));
    }
    Ok(OK)
}
