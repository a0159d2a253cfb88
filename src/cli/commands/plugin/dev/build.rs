//! Builds a provider from its source.

use crate::cli::escape::{safe, safe_path};
use crate::cli::exit::CliError;
use plugin::Group;
use shell::guard::guarded_command;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

/// First part of the name of a provider's executable.
const PREFIX: &str = "terraform-provider-";

/// Time to read on after a build has ended: its background processes may keep the output open.
const LEFT_OPEN_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of the messages of a build that are read.
const MAX_OUTPUT: u64 = 256 << 20;
/// Longest duration of a build.
const DEADLINE: Duration = Duration::from_secs(3_600);

/// Executable of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Built {
    /// Name of the provider: that of the executable without `terraform-provider-`.
    pub(super) name: String,
    pub(super) executable: PathBuf,
    pub(super) directory: PathBuf,
    /// Size and modification time; they differ after a build that wrote the file.
    pub(super) stamp: Option<(u64, std::time::SystemTime)>,
}

/// Command that builds a provider.
pub(super) struct Build {
    directory: PathBuf,
    words: Vec<OsString>,
    /// Executable that it writes; `None` for cargo, which reports it.
    binary: Option<PathBuf>,
}

impl Build {
    /// Takes the operator's command, or `cargo build` for a crate.
    pub(super) fn new(
        directory: &Path,
        command: Option<&str>,
        binary: Option<&Path>,
    ) -> Result<Self, CliError> {
        let words: Vec<&str> = match (command, binary) {
            (Some(command), Some(_)) => vec!["sh", "-c", command],
            (None, None) if directory.join("Cargo.toml").is_file() => {
                // In this format diagnostics stay readable on standard error, and paths are JSON.
                let format = "--message-format=json-render-diagnostics";
                vec!["cargo", "build", format]
            }
            (None, None) => {
                let shown = safe_path(directory);
                return Err(
                    CliError::missing(format!("{shown} has no Cargo.toml")).hint(
                        "name the command with --build, and the executable that it writes with \
                         --binary",
                    ),
                );
            }
            (Some(_), None) | (None, Some(_)) => {
                return Err(CliError::usage("--build and --binary need each other"));
            }
        };
        Ok(Self {
            directory: directory.to_owned(),
            words: words.into_iter().map(OsString::from).collect(),
            binary: binary.map(|path| directory.join(path)),
        })
    }

    /// Returns the executable that the operator's command writes.
    pub(super) fn binary(&self) -> Option<PathBuf> {
        self.binary.clone()
    }

    /// Builds; messages of the compiler go to standard error.
    ///
    /// # Errors
    /// Outer: the command cannot run, or writes no executable of a provider. Inner: the build
    /// failed, which the next change of the source may fix.
    pub(super) async fn run(&self) -> Result<Result<Built, String>, CliError> {
        let shown = || {
            let words: Vec<_> = self.words.iter().map(|w| w.to_string_lossy()).collect();
            safe(&words.join(" ")).into_owned()
        };
        if self.words.is_empty() {
            return Err(CliError::usage("--build is empty"));
        }
        let run = status_and_output(&self.words, &self.directory);
        let (status, messages) = match tokio::time::timeout(DEADLINE, run).await {
            Ok(ended) => ended.map_err(|e| CliError::io(format!("cannot run {}: {e}", shown())))?,
            Err(_) => {
                let hours = DEADLINE.as_secs() / 3_600;
                return Ok(Err(format!("{} took longer than {hours} h", shown())));
            }
        };
        if !status.success() {
            return Ok(Err(format!("{} failed: {status}", shown())));
        }
        let executables = match &self.binary {
            Some(path) => vec![path.clone()],
            None => reported(&String::from_utf8_lossy(&messages)),
        };
        built(&executables).map(Ok).map_err(|problem| {
            CliError::missing(format!("{} succeeded, but {problem}", shown())).hint(format!(
                "the executable of a provider is named {PREFIX}NAME"
            ))
        })
    }
}

/// Runs a command in a group of its own and returns its status and standard output. The command
/// and all its descendants end with this process, or when the future is dropped. A background
/// process that keeps the output open is not waited for.
async fn status_and_output(
    words: &[OsString],
    directory: &Path,
) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let guarded = guarded_command(words);
    let has_guard = guarded.len() > words.len();
    let mut command = Command::new(&guarded[0]);
    // A build that reads the terminal would wait for input without end.
    let input = if has_guard {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    command
        .args(&guarded[1..])
        .current_dir(directory)
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .process_group(0)
        .kill_on_drop(!has_guard);
    let mut child = command.spawn()?;
    let mut group = Group::of(child.id().filter(|_| !has_guard));
    // Once it is dropped, the guard kills the command.
    let lifeline = child.stdin.take();
    let (stdout, mut output) = (child.stdout.take(), Vec::new());
    let status = {
        let mut reading = pin!(async {
            if let Some(stdout) = stdout {
                stdout.take(MAX_OUTPUT).read_to_end(&mut output).await.ok();
            }
        });
        let mut is_read = false;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status,
                () = &mut reading, if !is_read => is_read = true,
            }
        };
        if !is_read {
            tokio::time::timeout(LEFT_OPEN_TIMEOUT, reading).await.ok();
        }
        status?
    };
    drop(lifeline);
    group.release();
    Ok((status, output))
}

/// Executables in the messages of cargo.
fn reported(messages: &str) -> Vec<PathBuf> {
    // Lines that are no JSON do not come from cargo.
    let parsed = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    parsed
        .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
        .collect()
}

/// Chooses the executable of a provider.
fn built(executables: &[PathBuf]) -> Result<Built, String> {
    let mut found = executables.iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
        Some((name, path))
    });
    match (found.next(), found.next()) {
        (Some((name, path)), None) => {
            let about = path
                .metadata()
                .map_err(|e| format!("{} cannot be used: {e}", safe_path(path)))?;
            Ok(Built {
                name: name.to_owned(),
                executable: path.clone(),
                directory: path.parent().unwrap_or(Path::new("/")).to_owned(),
                stamp: about.modified().ok().map(|time| (about.len(), time)),
            })
        }
        (None, _) => Err("it wrote no executable of a provider".to_owned()),
        (Some(_), Some(_)) => Err("it wrote executables of several providers".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_of_the_provider_is_chosen_from_the_messages_of_cargo() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("terraform-provider-notes");
        std::fs::write(&path, "x").expect("written");
        let message = |path: &Path| format!("{{\"reason\":\"x\",\"executable\":{path:?}}}\n");
        let other = message(&dir.path().join("helper"));
        let own = message(&path);
        let lines = format!("not JSON\n{{\"executable\":null}}\n{other}{own}");
        let found = built(&reported(&lines)).expect("found");
        assert_eq!((&*found.name, &found.executable), ("notes", &path));
        assert_eq!(found.directory, dir.path());
        let error = |lines: &str| built(&reported(lines)).expect_err("none");
        assert_eq!(error(&other), "it wrote no executable of a provider");
        assert!(error(&own.repeat(2)).contains("several"));
        assert!(
            error(&message(&dir.path().join("terraform-provider-gone"))).contains("cannot be used")
        );
    }

    #[test]
    fn directory_without_a_crate_needs_a_command_and_its_executable() {
        let dir = tempfile::tempdir().expect("a directory");
        let build = |command, binary: Option<&str>| {
            let built = Build::new(dir.path(), command, binary.map(Path::new));
            built.map(|build| build.words.len())
        };
        let text = |result: Result<usize, CliError>| result.expect_err("refused").to_string();
        assert!(text(build(None, None)).contains("has no Cargo.toml"));
        assert!(text(build(Some("make"), None)).contains("need each other"));
        assert!(text(build(None, Some("x"))).contains("need each other"));
        assert_eq!(build(Some("make"), Some("x")).expect("allowed"), 3);
        std::fs::write(dir.path().join("Cargo.toml"), "").expect("written");
        assert_eq!(build(None, None).expect("a crate"), 3);
    }
}
