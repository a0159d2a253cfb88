//! Test of the rule that only `fsroot` writes files below a workspace. Every other place that
//! creates, renames or removes files is listed here, with the reason why a clone cannot redirect
//! it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

const NEW: &str = "creates a file that must not be there yet, in the workspace's own directory";
const CHECKED: &str = "in the directory of the store, after its check";
const OPERATOR: &str = "in a directory of the operator, outside of workspaces";
const OWN: &str = "in a temporary directory of its own";
const NAMED: &str = "a path that the operator named on the command line";

/// Files with such calls, each with its reason.
const LISTED: &[(&str, &str)] = &[
    ("src/app/effects.rs", NEW),
    ("src/cli/commands/console.rs", OWN),
    (
        "src/cli/environment.rs",
        "writes to the memory of this process itself",
    ),
    ("src/cli/commands/files.rs", NAMED),
    (
        "src/engine/doctor/fix.rs",
        "a path that the finding checked, or one of the operator's",
    ),
    ("crates/model/src/lock_owner/lease.rs", CHECKED),
    (
        "src/engine/install/files.rs",
        "copies into a directory that it creates itself",
    ),
    (
        "src/engine/install/provider.rs",
        "unpacks below directories that the lock on the package has checked",
    ),
    ("crates/plugin/src/find/hash/cache_file.rs", OPERATOR),
    ("crates/plugin/src/spawn.rs", OWN),
    ("crates/store/src/sqlite/file/connections.rs", CHECKED),
    ("crates/store/src/sqlite/file/schema.rs", CHECKED),
    ("crates/store/src/sqlite/guard.rs", CHECKED),
    ("crates/store/src/sqlite/running_deploy.rs", NEW),
    ("crates/trust/src/file.rs", OPERATOR),
    ("crates/trust/src/ownership.rs", CHECKED),
    ("crates/trust/src/user_key.rs", OPERATOR),
];

/// Crates of the engine, which know workspaces. The others get their paths from these.
const OF_ENGINE: [&str; 10] = [
    "calls",
    "model",
    "plugin",
    "provider",
    "shell",
    "state",
    "store",
    "telemetry",
    "trust",
    "workspace",
];

const CALLS: [&str; 15] = [
    "fs::write(",
    "fs::create_dir",
    "fs::rename(",
    "fs::remove_",
    "fs::copy(",
    "fs::hard_link(",
    "fs::set_permissions(",
    "fs::symlink(",
    "File::create",
    "OpenOptions::new(",
    "DirBuilder::new(",
    "NamedTempFile::new_in(",
    ".tempdir_in(",
    "mkdirat(",
    "renameat",
];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "testing" {
            sources(&path, all);
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            all.push(path);
        }
    }
}

#[test]
fn files_are_written_by_fsroot_or_listed_with_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    sources(&root.join("src"), &mut all);
    for of_engine in OF_ENGINE {
        sources(&root.join("crates").join(of_engine).join("src"), &mut all);
    }
    let (mut found, mut unlisted) = (Vec::new(), Vec::new());
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        // Tests within a file come last.
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let lines = code.lines().map(str::trim_start);
        let mut calls = lines
            .filter(|line| !line.starts_with("//") && CALLS.iter().any(|call| line.contains(call)));
        if let Some(line) = calls.next() {
            match LISTED.iter().any(|(listed, _)| *listed == name) {
                true => found.push(name),
                false => unlisted.push(format!("{name}: {line}")),
            }
        }
    }
    assert!(
        unlisted.is_empty(),
        "write with `fsroot::RootedPath`, or list the file with its reason:\n{}",
        unlisted.join("\n")
    );
    let gone: Vec<_> = LISTED
        .iter()
        .filter(|(listed, _)| !found.iter().any(|name| name == listed))
        .collect();
    assert!(gone.is_empty(), "listed, and without such calls: {gone:?}");
}
