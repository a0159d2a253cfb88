//! Workspace in a temporary directory, and runs of the binary in it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Directory with a configuration, independent of the machine's settings.
pub(crate) struct Workspace {
    root: TempDir,
}

/// Exit code and output of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    /// Creates a workspace with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let it = Self {
            root: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(it.path()).unwrap();
        files.iter().for_each(|(name, text)| it.write(name, text));
        it
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Command of the binary with these arguments, not yet started.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flightdeck"));
        command
            .args(args)
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TF_")
                || name.to_string_lossy().starts_with("FLIGHTDECK_")
            {
                command.env_remove(name);
            }
        }
        let home = self.root.path();
        command
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_STATE_HOME", self.state_dir());
        // The tests have no terminal, but most of those with signals are about its steps.
        command.env("FLIGHTDECK_SHUTDOWN_TIMEOUT", "0");
        command
            .env_remove("NO_COLOR")
            .env_remove("RUST_LOG")
            .env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs the binary to its end; panics if the run panicked.
    pub(crate) fn run<A: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[A]) -> Run {
        Run::from_command(&mut self.command(args))
    }

    /// Runs the binary to its end with this text in a pipe as its stdin.
    pub(crate) fn run_with_input<A: AsRef<OsStr> + std::fmt::Debug>(
        &self,
        args: &[A],
        input: &str,
    ) -> Run {
        Run::with_input(self.command(args), input)
    }

    /// State directory of the user, with the key of the stores.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join(".flightdeck/flightdeck.db")
    }
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Run {
    /// Runs a command to its end; panics if the run panicked.
    pub(crate) fn from_command(command: &mut Command) -> Self {
        let run = Self::from(command.output().unwrap());
        assert!(!run.stderr.contains("panicked"), "{command:?}: {run:#?}");
        run
    }

    /// Runs a command to its end with this text in a pipe as its stdin.
    pub(crate) fn with_input(mut command: Command, input: &str) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command may end before it has read all input.
        if let Err(e) = stdin.write_all(input.as_bytes()) {
            assert_eq!(e.kind(), std::io::ErrorKind::BrokenPipe, "{e}");
        }
        drop(stdin);
        let run = Self::from(child.wait_with_output().unwrap());
        assert!(!run.stderr.contains("panicked"), "{command:?}: {run:#?}");
        run
    }

    /// Panics with the output if the exit code differs.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Lines of stdout, each of which must be a JSON object.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let parse =
            |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The last line, which must be the only result.
    pub(crate) fn result(&self) -> Value {
        let lines = self.lines();
        let results = lines.iter().filter(|l| l["type"] == "result").count();
        assert_eq!(results, 1, "{self:#?}");
        let last = lines.last().unwrap().clone();
        assert_eq!(last["type"], "result", "{self:#?}");
        assert_eq!(last["format_version"], "1.0");
        last
    }

    pub(crate) fn diagnostics(&self) -> Vec<Value> {
        self.lines()
            .into_iter()
            .filter(|l| l["type"] == "diagnostic")
            .collect()
    }
}

/// Permission bits of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
