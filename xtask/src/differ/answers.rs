//! Parses the output of both programs into errors by place.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::Command;

use color_eyre::eyre::{Result, bail};
use serde_json::Value;

use super::program::{Places, Ran};

/// Errors of a failed run, prefixed with its step.
pub(super) fn failed(doing: &str, ran: &Ran) -> Vec<String> {
    let diagnostics = lines(&ran.stdout).filter_map(|l| {
        // flightdeck writes the diagnostic itself on the line, tofu nests it.
        if l["type"] == "diagnostic" && !l["diagnostic"].is_object() {
            Some(l)
        } else {
            l.get("diagnostic").cloned()
        }
    });
    let said: Vec<String> = places(diagnostics)
        .into_values()
        .flatten()
        .map(|w| format!("{doing}: {w}"))
        .collect();
    let rest = || {
        ran.stderr
            .lines()
            .take(6)
            .map(|l| format!("{doing}: {l}"))
            .collect()
    };
    if said.is_empty() { rest() } else { said }
}

pub(super) fn read(from: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    // After a read error, the bytes read so far are used.
    let _ = from.take(256 << 20).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().filter_map(|l| serde_json::from_str(l).ok())
}

/// Returns true if a provider or module is not available, which says nothing about the
/// configuration.
pub(super) fn is_of_fetching(words: &str) -> bool {
    const SUMMARIES: [&str; 8] = [
        "Failed to query available provider packages",
        "Failed to resolve provider packages",
        "Failed to install provider",
        "Could not retrieve the list of available versions",
        "Failed to download module",
        "Could not download module",
        "Error accessing remote module registry",
        "Module not found",
    ];
    SUMMARIES.iter().any(|summary| words.starts_with(summary))
}

/// Errors by place. Both programs write the same diagnostics format.
pub(super) fn places(diagnostics: impl Iterator<Item = Value>) -> Places {
    let mut places = Places::new();
    for d in diagnostics.filter(|d| d["severity"] == "error") {
        let place = match (
            d["range"]["filename"].as_str(),
            d["range"]["start"]["line"].as_u64(),
        ) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => "-".to_owned(),
        };
        let words = |name: &str| d[name].as_str().unwrap_or("").replace('\n', " ");
        places
            .entry(place)
            .or_default()
            .push(format!("{}: {}", words("summary"), words("detail")));
    }
    places
}

pub(super) fn built() -> Result<PathBuf> {
    let status = Command::new("cargo")
        .args(["build", "--release", "--locked", "--bin", "flightdeck"])
        .status()?;
    if !status.success() {
        bail!("`cargo build` of flightdeck failed");
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(target.join("release/flightdeck").canonicalize()?)
}
