//! A workspace in a temporary directory and the binary run on it.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A directory with configuration, apart from whatever the machine has.
pub(crate) struct Workspace {
    root: TempDir,
}

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    /// With these files.
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

    /// The binary with these arguments, ready to be run.
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
            .env("XDG_DATA_HOME", home.join("data"));
        command
            .env_remove("NO_COLOR")
            .env_remove("RUST_LOG")
            .env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs it to its end. A run that panics is no run.
    pub(crate) fn run<A: AsRef<OsStr> + std::fmt::Debug>(&self, args: &[A]) -> Run {
        Run::of(&mut self.command(args))
    }

    /// The same with this text in a pipe as its stdin.
    pub(crate) fn run_with_input<A: AsRef<OsStr> + std::fmt::Debug>(
        &self,
        args: &[A],
        input: &str,
    ) -> Run {
        Run::with_input(self.command(args), input)
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
    /// Runs a command to its end. A run that panics is no run.
    pub(crate) fn of(command: &mut Command) -> Self {
        let run = Self::from(command.output().unwrap());
        assert!(!run.stderr.contains("panicked"), "{command:?}: {run:#?}");
        run
    }

    /// Runs a command to its end with this text in a pipe as its stdin.
    pub(crate) fn with_input(mut command: Command, input: &str) -> Self {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // A command that has read enough may end before it reads all.
        if let Err(e) = stdin.write_all(input.as_bytes()) {
            assert_eq!(e.kind(), std::io::ErrorKind::BrokenPipe, "{e}");
        }
        drop(stdin);
        let run = Self::from(child.wait_with_output().unwrap());
        assert!(!run.stderr.contains("panicked"), "{command:?}: {run:#?}");
        run
    }

    /// Says what happened where the exit code is another one.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Each line of stdout, which must be a JSON object.
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
