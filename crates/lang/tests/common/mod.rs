//! Helpers of tests against recordings: the folder of recordings, and minimum counts.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::PathBuf;

/// Folder of recordings. `None` if it is absent, which is printed.
pub fn folder(variable: &str, default: &str) -> Option<PathBuf> {
    let standard = || format!("{}/../../../shared/{default}", env!("CARGO_MANIFEST_DIR"));
    let folder = PathBuf::from(std::env::var(variable).unwrap_or_else(|_| standard()));
    if folder.is_dir() {
        return Some(folder);
    }
    cty::testing::skipped(&format!("{} is not there", folder.display()));
    None
}

/// The rows of a file of JSON lines.
pub fn rows(folder: &std::path::Path, name: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    text.lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| serde_json::from_str(l).unwrap())
        .collect()
}

/// Checks that a count is not below its minimum in `floors.toml`, which may only rise.
pub fn at_least(name: &str, passed: usize, total: usize) {
    println!("{name}: {passed} of {total} pass");
    let floors = include_str!("../floors.toml");
    let line = floors
        .lines()
        .find_map(|l| l.strip_prefix(name)?.trim_start().strip_prefix('='))
        .map(str::trim);
    let floor: usize = line
        .unwrap_or_else(|| panic!("no floor for {name}"))
        .parse()
        .unwrap();
    assert!(
        passed >= floor,
        "{name}: {passed} of {total} pass, fewer than the {floor} of the floor"
    );
}
