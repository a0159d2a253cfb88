//! Services for tests of backends, if this machine has them.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::parts::{Part, Shared, find};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

static MOTO: Shared = Shared::new();

/// A moto server; a test without one prints a message.
pub(super) fn moto() -> Option<Arc<Part>> {
    let Some(program) = find("FLIGHTDECK_TEST_MOTO", "moto_server") else {
        cty::testing::skipped(
            "there is no moto_server on the path, and FLIGHTDECK_TEST_MOTO names none",
        );
        return None;
    };
    Some(MOTO.get(|| {
        Part::start(|_, port| {
            let mut command = Command::new(program);
            command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
            command
        })
    }))
}

static POSTGRES: Shared = Shared::new();

fn postgres_program() -> Option<PathBuf> {
    if let Some(found) = find("FLIGHTDECK_TEST_POSTGRES", "postgres") {
        return Some(found);
    }
    // Debian's directories, the newest version last.
    let mut all: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin/postgres"))
        .filter(|file| file.is_file())
        .collect();
    all.sort();
    all.pop()
}

/// Command to run a database program, which refuses to run as root.
fn as_somebody(program: &Path, dir: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let owned = std::process::Command::new("chown")
        .args(["-R", "nobody"])
        .arg(dir)
        .status();
    assert!(owned.unwrap().success());
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=nobody", "--clear-groups", "--"])
        .arg(program);
    command
}

/// A PostgreSQL with the database `postgres` and the role `me`; a test without one prints a
/// message.
pub(super) fn postgres() -> Option<Arc<Part>> {
    let Some(postgres) = postgres_program() else {
        cty::testing::skipped(
            "there is no postgres on the path, and FLIGHTDECK_TEST_POSTGRES names none",
        );
        return None;
    };
    Some(POSTGRES.get(|| {
        Part::start(|dir, port| {
            let data = dir.join("data");
            let initdb = postgres.canonicalize().unwrap().with_file_name("initdb");
            let made = as_somebody(&initdb, dir)
                .args(["-A", "trust", "-U", "me", "--no-sync", "-D"])
                .arg(&data)
                .output()
                .unwrap();
            assert!(made.status.success(), "{made:?}");
            let mut command = as_somebody(&postgres.canonicalize().unwrap(), dir);
            command
                .arg("-D")
                .arg(&data)
                .args(["-c", "listen_addresses=127.0.0.1", "-c"])
                .arg(format!("port={port}"))
                .arg("-c")
                .arg(format!("unix_socket_directories={}", dir.display()));
            command
        })
    }))
}
