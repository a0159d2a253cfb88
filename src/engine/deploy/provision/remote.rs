//! `remote-exec` provisioner: copies each script to a remote machine, runs it and removes it.

use super::{Fault, HIDDEN, RunningProvisioner};
use crate::stage::provision::{Connection, RemoteExec, Scripts};
use model::FailureClass;
use shell::Output;
use shell::ssh::{Remote, RemoteExit, Source};
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Shebang of scripts without one.
const SHEBANG: &[u8] = b"#!/bin/sh\n";
/// Mode of scripts: they may contain secrets, so only their owner may read them.
const MODE: u32 = 0o700;
/// Time limit to remove a script after it was stopped.
const REMOVE: Duration = Duration::from_secs(3);

/// Reason that there is no script to run.
#[derive(Debug, thiserror::Error)]
enum ScriptError {
    /// In the argument with this name.
    #[error("The argument {0:?} contains a null or empty string.")]
    NoText(String),
    #[error("Cannot read the script {name:?}: {source}.")]
    Unreadable {
        name: String,
        source: std::io::Error,
    },
    /// Display name of the script.
    #[error("Nothing to run: {0} is empty.")]
    Empty(String),
}

pub(super) async fn run(
    what: &RemoteExec,
    connection: &Connection,
    doing: &RunningProvisioner<'_>,
) -> Result<(), Fault> {
    let scripts = contents(&what.scripts, doing.base, connection.target.windows)
        .await
        .map_err(|e| doing.fault(e.to_string()))?;
    if what.secret {
        doing.log_output(HIDDEN);
    }
    let mut remote = doing.connect(&connection.target).await?;
    let done = all(what, &scripts, connection, &mut remote, doing).await;
    remote.close().await;
    done
}

async fn all(
    what: &RemoteExec,
    scripts: &[(String, Vec<u8>)],
    connection: &Connection,
    remote: &mut Remote<'_>,
    doing: &RunningProvisioner<'_>,
) -> Result<(), Fault> {
    for (name, script) in scripts {
        let path = connection.script_path();
        remote
            .copy(&Source::Bytes(script), &path, MODE, doing.cancel)
            .await
            .map_err(|e| doing.ssh_fault(&e))?;
        let done = run_script(what, name, &path, connection, remote, doing).await;
        // With an unknown outcome the script may still run, so it must not be removed.
        if done.as_ref().err().is_none_or(|fault| !fault.unknown) {
            remove(&path, connection.target.windows, remote, doing).await;
        }
        done?;
    }
    Ok(())
}

async fn run_script(
    what: &RemoteExec,
    name: &str,
    path: &str,
    connection: &Connection,
    remote: &mut Remote<'_>,
    doing: &RunningProvisioner<'_>,
) -> Result<(), Fault> {
    let nothing = |_: &str| {};
    if !connection.target.windows {
        let output = Output::new(&nothing);
        let ended = remote
            .run(&format!("chmod {MODE:04o} {path}"), &output, doing.cancel)
            .await
            .map_err(|e| doing.ssh_fault(&e))?;
        if ended != RemoteExit::Status(0) {
            return Err(doing.fault(format!(
                "Cannot make the script {path} executable: {}",
                output.last().join("\n")
            )));
        }
    }
    doing.log_output(&format!("running {name} as {path}"));
    let say = |line: &str| {
        if !what.secret {
            doing.log_output(line);
        }
    };
    let output = Output::new(&say);
    let ended = remote.run(path, &output, doing.cancel).await;
    doing.report_left_open(&output);
    let how = match ended.map_err(|e| doing.ssh_fault(&e))? {
        RemoteExit::Status(0) => return Ok(()),
        RemoteExit::Killed => {
            let killed = doing.fault(format!(
                "Execution of {name} was stopped before its end, because the deploy was cancelled."
            ));
            return Err(Fault {
                class: Some(FailureClass::Cancelled),
                ..killed
            });
        }
        RemoteExit::Status(code) => format!("exit status: {code}"),
        RemoteExit::Signal(name) => format!("signal: {name}"),
    };
    let output = if what.secret {
        HIDDEN.to_owned()
    } else {
        output.last().join("\n")
    };
    Err(doing.fault(format!(
        "Error running {name} on {}: {how}. Output: {output}",
        connection.target.endpoint.address()
    )))
}

/// Removes a script, and logs its path if that fails.
async fn remove(
    path: &str,
    windows: bool,
    remote: &mut Remote<'_>,
    doing: &RunningProvisioner<'_>,
) {
    let nothing = |_: &str| {};
    // Not cancelled together with the deploy: the script should be removed even then.
    let (output, none) = (Output::new(&nothing), CancellationToken::new());
    let command = if windows {
        format!("cmd /c del {}", path.replace('/', "\\"))
    } else {
        format!("rm -f {path}")
    };
    let removed = tokio::time::timeout(REMOVE, remote.run(&command, &output, &none)).await;
    if !matches!(removed, Ok(Ok(RemoteExit::Status(0)))) {
        doing.log_output(&format!(
            "failed to remove the script {path} from the remote host; remove it manually"
        ));
    }
}

/// Reads the scripts, each with its display name.
async fn contents(
    scripts: &Scripts,
    base: &Path,
    windows: bool,
) -> Result<Vec<(String, Vec<u8>)>, ScriptError> {
    let empty = |name: &str| ScriptError::NoText(name.to_owned());
    let mut all = Vec::new();
    match scripts {
        Scripts::Inline(lines) => {
            let mut text = String::new();
            for line in lines {
                text += line
                    .as_deref()
                    .filter(|l| !l.is_empty())
                    .ok_or_else(|| empty("inline"))?;
                text.push('\n');
            }
            all.push(("the inline script".to_owned(), text.into_bytes()));
        }
        Scripts::Files(argument, names) => {
            for name in names {
                let name = name
                    .as_deref()
                    .filter(|n| !n.is_empty())
                    .ok_or_else(|| empty(argument))?;
                let unreadable = |source| ScriptError::Unreadable {
                    name: name.to_owned(),
                    source,
                };
                let script = base.join(name);
                // Reading a file blocks, which must not stop the runtime.
                let read = tokio::task::spawn_blocking(move || fsroot::read_regular(script));
                let read = read.await.map_err(std::io::Error::other).flatten();
                all.push((format!("{name:?}"), read.map_err(unreadable)?));
            }
        }
    }
    for (name, script) in &mut all {
        // OpenTofu reads two bytes to look for a shebang, and fails on shorter scripts too.
        if script.len() < 2 {
            return Err(ScriptError::Empty(name.clone()));
        }
        if !script.starts_with(b"#!") && !windows {
            script.splice(0..0, SHEBANG.iter().copied());
        }
    }
    Ok(all)
}
