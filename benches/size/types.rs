//! Validation of a root module of 300 module calls with 5,000 resources of 60 types of one
//! provider: time and memory. The provider must be installed. The types are selected from its
//! schema: those that accept a few strings.

use super::FLIGHTDECK;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const TYPES: usize = 60;
const CALLS: usize = 300;
const RESOURCES: usize = 5_000;
/// Number of types to try; some of them reject the given strings.
const CANDIDATES: usize = 400;
/// Interval of memory measurements of a running process.
const LOOK: Duration = Duration::from_millis(5);

/// Validates such a root module with the provider at this source address, which the command line's
/// configuration must find.
pub fn run(source: &str) -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let name = source.rsplit('/').next().unwrap_or(source);
    let required = format!(
        "terraform {{\n  required_providers {{\n    {name} = {{\n      source = \"{source}\"\n    }}\n  }}\n}}\n"
    );
    std::fs::write(dir.path().join("main.tf"), &required)?;
    said(dir.path(), &["init"])?;
    let schema: Value =
        serde_json::from_str(&said(dir.path(), &["providers", "schema", "-json"])?)?;
    let mut candidates = candidates(&schema);
    let declared = |candidates: &BTreeMap<String, String>| -> String {
        let blocks = candidates
            .iter()
            .map(|(kind, body)| format!("resource \"{kind}\" \"r\" {{\n{body}}}\n"));
        blocks.collect()
    };
    std::fs::write(
        dir.path().join("main.tf"),
        required.clone() + &declared(&candidates),
    )?;
    // Many types check the form of their strings, which no schema shows.
    let refused = refused(dir.path())?;
    candidates.retain(|kind, _| !refused.contains(kind));
    let chosen: Vec<_> = candidates.into_iter().take(TYPES).collect();
    if chosen.len() < TYPES {
        return Err(format!(
            "only {} types accept a string for each required argument",
            chosen.len()
        )
        .into());
    }
    write(dir.path(), &required, name, &chosen)?;
    let (took, peak) = watched(dir.path())?;
    println!(
        "{RESOURCES} resources of {TYPES} types of {source} in {CALLS} calls: validated in {:.2} s, peak memory {} kB",
        took.as_secs_f64(),
        peak
    );
    Ok(())
}

/// Returns types that require only strings, with their required arguments.
fn candidates(schema: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let providers = schema["provider_schemas"].as_object();
    let types = providers
        .into_iter()
        .flat_map(|all| all.values())
        .filter_map(|p| p["resource_schemas"].as_object())
        .flatten();
    for (kind, schema) in types {
        let needed = |b: &Value| b["min_items"].as_u64().unwrap_or(0) > 0;
        let block = &schema["block"];
        // Required blocks would need values of their own.
        if block["block_types"]
            .as_object()
            .is_some_and(|all| all.values().any(needed))
        {
            continue;
        }
        let attributes = block["attributes"].as_object();
        let required: Vec<_> = attributes
            .into_iter()
            .flatten()
            .filter(|(_, a)| a["required"] == true)
            .collect();
        if required.iter().any(|(_, a)| a["type"] != "string") {
            continue;
        }
        let mut body = String::new();
        for (name, _) in required {
            body += &format!("  {name} = \"x\"\n");
        }
        found.insert(kind.clone(), body);
        if found.len() == CANDIDATES {
            break;
        }
    }
    found
}

/// Returns the types that validation rejects.
fn refused(dir: &Path) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let output = command(dir, &["validate", "--json"]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let lines = text
        .lines()
        .filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let kind = |d: Value| Some(d["address"].as_str()?.split('.').next()?.to_owned());
    Ok(lines
        .filter(|l| l["type"] == "diagnostic")
        .filter_map(kind)
        .collect())
}

fn write(
    dir: &Path,
    required: &str,
    name: &str,
    types: &[(String, String)],
) -> Result<(), Box<dyn Error>> {
    let mut root = format!("{required}provider \"{name}\" {{}}\n");
    // The last calls get fewer resources, so that the total is exact.
    let each = RESOURCES.div_ceil(CALLS);
    let mut left = RESOURCES;
    for call in 0..CALLS {
        let mut module = required.to_owned() + "variable \"name\" {\n  type = string\n}\n";
        for i in 0..each.min(left) {
            let (kind, body) = &types[(call * each + i) % types.len()];
            writeln!(module, "resource \"{kind}\" \"r{i}\" {{\n{body}}}")?;
        }
        left -= each.min(left);
        let folder = dir.join(format!("m{call}"));
        std::fs::create_dir(&folder)?;
        std::fs::write(folder.join("main.tf"), module)?;
        writeln!(
            root,
            "module \"m{call}\" {{\n  source = \"./m{call}\"\n  name   = \"{call}\"\n}}"
        )?;
    }
    std::fs::write(dir.join("main.tf"), root)?;
    Ok(())
}

/// Returns the duration of a validation, and the peak memory of the flightdeck process.
fn watched(dir: &Path) -> Result<(Duration, u64), Box<dyn Error>> {
    let began = Instant::now();
    let mut child = command(dir, &["validate"]).stdout(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        // The kernel's own peak; only its last reading before the exit could be missed.
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        let now = line.and_then(|l| l.trim().split(' ').next()?.parse().ok());
        peak = peak.max(now.unwrap_or(0));
        std::thread::sleep(LOOK);
    };
    if !ended.success() {
        return Err(format!("validate ended with {ended}").into());
    }
    Ok((began.elapsed(), peak))
}

fn said(dir: &Path, words: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = command(dir, words).output()?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("{} ended with {}: {why}", words.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn command(dir: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(FLIGHTDECK);
    command.args(words).current_dir(dir).stdin(Stdio::null());
    command
}
