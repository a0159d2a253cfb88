//! Tests of `flightdeck init` against a registry of the tests, git and archives; and compared with
//! `tofu`, if available.

mod archives;
mod get_command;
mod hostile_sources;
mod https_server;
mod interrupted_init;
mod lock_mirror_schemas;
mod modules;
mod netrc;
mod pgp_signer;
mod plugin_dirs;
mod providers;
mod registry;

pub(crate) use registry::platform;

use crate::support::{Run, Workspace};
use https_server::Server;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Runs the binary with the certificate of the tests' server as a trusted one.
fn run(w: &Workspace, server: &Server, args: &[&str]) -> Run {
    run_with(w, server, args, &[])
}

fn run_with(w: &Workspace, server: &Server, args: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = w.command(args);
    command
        .env("SSL_CERT_FILE", server.certificate())
        .envs(variables.iter().copied());
    Run::from_command(&mut command)
}

/// Path of `tofu` from the environment; without one, prints that the test is skipped.
pub(crate) fn tofu(test: &str) -> Option<OsString> {
    let tofu = std::env::var_os("FLIGHTDECK_TOFU");
    if tofu.is_none() {
        println!("skipped: {test}: FLIGHTDECK_TOFU names no tofu");
    }
    tofu
}

/// Runs `tofu` with the same environment as the binary under test.
pub(crate) fn run_tofu(
    tofu: &OsString,
    w: &Workspace,
    server: Option<&Server>,
    args: &[&str],
) -> Run {
    let ours = w.command(&[] as &[&str]);
    let mut command = Command::new(tofu);
    command
        .args(args)
        .current_dir(w.path())
        .env("TF_CLI_CONFIG_FILE", "/dev/null");
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None if name == "TF_CLI_CONFIG_FILE" => &mut command,
            None => command.env_remove(name),
        };
    }
    if let Some(server) = server {
        command.env("SSL_CERT_FILE", server.certificate());
    }
    let output = command.output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs `git` in a directory, without any user configuration.
pub(crate) fn git(dir: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=test", "-c", "user.email=test@example.com"])
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(done.status.success(), "git {args:?}: {done:?}");
}
