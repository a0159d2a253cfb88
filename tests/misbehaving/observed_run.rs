//! Workspace with one fake plugin and the bundled lab, flightdeck as a process in it, and
//! observations of that process: output, memory, and processes left behind.

use crate::support::Workspace;
use serde_json::Value;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longest run of flightdeck in any test.
const PATIENCE: Duration = Duration::from_secs(400);
/// Number of parallel runs.
const SIDE_BY_SIDE: usize = 3;
/// Correct plugin beside every fake.
pub const GOOD: &str = "bundled/lab";

/// Workspace that needs one fake and the lab.
pub struct FaultWorkspace {
    pub fake: String,
    workspace: Workspace,
}

/// Observations of a run.
#[derive(Debug)]
pub struct Observations {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Peak memory of flightdeck itself in MB, without the pages of its executable.
    pub peak_mb: u64,
}

impl FaultWorkspace {
    /// Creates a workspace with the fake of this name.
    pub fn new(fake: &str) -> Self {
        Self::with(fake, |path| {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fake-plugin"), path).unwrap()
        })
    }

    /// Creates a workspace with a file of this content in the fake's place.
    pub fn of_file(fake: &str, content: &[u8], mode: u32) -> Self {
        Self::with(fake, |path| {
            std::fs::write(path, content).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        })
    }

    fn with(fake: &str, install: impl FnOnce(&Path)) -> Self {
        let workspace = Workspace::new(&[]);
        let it = Self {
            fake: fake.to_owned(),
            workspace,
        };
        std::fs::create_dir(it.folder()).unwrap();
        install(&it.executable());
        let text = format!(
            "terraform {{\n  required_providers {{\n    fake = {{ source = \"{}\" }}\n    lab = {{ source = \"flightdeck.internal/bundled/lab\" }}\n  }}\n}}\n\
             provider \"lab\" {{\n  file = \"lab.json\"\n}}\n\
             resource \"fake_thing\" \"x\" {{\n  name = \"x\"\n}}\n\
             resource \"lab_bucket\" \"good\" {{\n  name = \"good\"\n}}\n",
            it.address()
        );
        it.workspace.write("main.tf", &text);
        let folder = it.folder();
        let rc = format!(
            "provider_installation {{\n  dev_overrides {{\n    \"{}\" = {folder:?}\n  }}\n  direct {{}}\n}}\n",
            it.address()
        );
        std::fs::write(folder.join("rc"), rc).unwrap();
        it
    }

    /// Writes a file of the workspace.
    pub fn write(&self, name: &str, text: &str) {
        self.workspace.write(name, text);
    }

    /// Reads a file of the workspace.
    pub fn read(&self, name: &str) -> String {
        self.workspace.read(name)
    }

    /// Adds to the configuration.
    pub fn add(&self, text: &str) {
        self.workspace.write("more.tf", text);
    }

    /// Creates a module in `./m`.
    pub fn module(&self, text: &str) {
        self.workspace.write("m/main.tf", text);
    }

    /// Address of the fake, which is its plugin id too.
    pub fn address(&self) -> String {
        format!("test.local/fakes/{}", self.fake)
    }

    /// Directory of the fake and its data.
    pub fn folder(&self) -> PathBuf {
        self.workspace.path().with_file_name("fakes")
    }

    pub fn executable(&self) -> PathBuf {
        self.folder()
            .join(format!("terraform-provider-{}", self.fake))
    }

    /// Number of lines in a file of the fake: each launch adds one to `launches`.
    pub fn count(&self, file: &str) -> usize {
        std::fs::read_to_string(self.folder().join(file))
            .unwrap_or_default()
            .lines()
            .count()
    }

    /// Starts flightdeck.
    pub fn start(&self, args: &[&str], env: &[(&str, &str)]) -> Running {
        let mut command = self.workspace.command(args);
        command
            .env("TF_CLI_CONFIG_FILE", self.folder().join("rc"))
            .env("FAKE_PLUGIN_DIR", self.folder());
        command
            .env("FLIGHTDECK_LAUNCH_ATTEMPTS", "2")
            .env("FLIGHTDECK_LAUNCH_BACKOFF_MS", "1");
        command.envs(env.iter().copied());
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (stdout, stderr) = (
            std::thread::spawn(move || text(stdout)),
            std::thread::spawn(move || text(stderr)),
        );
        Running {
            child,
            stdout,
            stderr,
            peak_mb: 0,
        }
    }

    /// Runs flightdeck to its end; panics if a process is left.
    pub fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Observations {
        let seen = self.start(args, env).end();
        assert_eq!(
            self.remaining_processes(),
            Vec::<String>::new(),
            "processes are left: {seen:#?}"
        );
        seen
    }

    /// Processes that the fake has started, including itself; waits a moment for those that are
    /// being ended.
    pub fn remaining_processes(&self) -> Vec<String> {
        let ends = Instant::now() + Duration::from_secs(200);
        loop {
            let left = self.running_processes();
            if left.is_empty() || Instant::now() > ends {
                return left;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Processes that have this bench's environment variable.
    pub fn running_processes(&self) -> Vec<String> {
        let mark = format!("FAKE_PLUGIN_DIR={}", self.folder().display());
        let mut alive = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry
                .file_name()
                .to_str()
                .filter(|n| n.parse::<u32>().is_ok())
                .map(str::to_owned)
            else {
                continue;
            };
            // A process that has ended, or belongs to another user, has no readable environment.
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if environ.split(|b| *b == 0).any(|v| v == mark.as_bytes()) {
                let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                alive.push(format!(
                    "{pid}: {}",
                    String::from_utf8_lossy(&command).replace('\0', " ")
                ));
            }
        }
        alive
    }
}

fn text(mut from: impl Read) -> String {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes).unwrap();
    String::from_utf8(bytes).expect("flightdeck writes UTF-8 alone")
}

/// Returns the peak of a process's memory in KB, without the pages of its executable.
///
/// The kernel keeps the peak of all pages, so that no short peak is missed. The pages of a debug
/// build's code are most of them, and their number grows with the program.
fn peak_of_own_pages(status: &str) -> u64 {
    let kilobytes = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let peak = kilobytes("VmHWM:").unwrap_or_default();
    peak.saturating_sub(kilobytes("RssFile:").unwrap_or_default())
}

/// Running flightdeck.
pub struct Running {
    child: Child,
    stdout: std::thread::JoinHandle<String>,
    stderr: std::thread::JoinHandle<String>,
    peak_mb: u64,
}

impl Running {
    fn status(&self) -> String {
        std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end, and samples its memory.
    pub fn end(mut self) -> Observations {
        let ends = Instant::now() + PATIENCE;
        let code = loop {
            self.peak_mb = self.peak_mb.max(peak_of_own_pages(&self.status()) / 1_024);
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if Instant::now() > ends {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                panic!(
                    "it did not end: {}\n{}",
                    self.stdout.join().unwrap(),
                    self.stderr.join().unwrap()
                );
            }
            std::thread::sleep(Duration::from_millis(3));
        };
        let (stdout, stderr) = (self.stdout.join().unwrap(), self.stderr.join().unwrap());
        assert!(!stderr.contains("panicked"), "{stderr}");
        Observations {
            code,
            stdout,
            stderr,
            peak_mb: self.peak_mb,
        }
    }
}

impl Observations {
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Lines of one type in the `--json` output.
    pub fn of_type(&self, kind: &str) -> Vec<Value> {
        let all = self
            .stdout
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap_or_else(|e| panic!("{e}: {l}")));
        all.filter(|l| l["type"] == kind).collect()
    }

    pub fn result(&self) -> Value {
        let results = self.of_type("result");
        assert_eq!(results.len(), 1, "{self:#?}");
        results[0].clone()
    }

    /// Summaries and details of all diagnostics.
    pub fn diagnostics(&self) -> Vec<String> {
        let words = |d: &Value| {
            format!(
                "{}\n{}",
                d["summary"].as_str().unwrap(),
                d["detail"].as_str().unwrap()
            )
        };
        self.of_type("diagnostic").iter().map(words).collect()
    }

    /// Last event about one operation.
    pub fn operation(&self, address: &str) -> Value {
        let all = self.of_type("operation");
        all.into_iter()
            .rfind(|o| o["address"] == address)
            .unwrap_or_else(|| panic!("no operation on {address}: {self:#?}"))
    }

    /// Events about crashes.
    pub fn crashes(&self) -> Vec<Value> {
        self.of_type("plugin")
            .into_iter()
            .filter(|e| e["what"] == "crash")
            .collect()
    }
}

/// Checks that a text contains all of these parts.
pub fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{text:?} does not say {word:?}");
    }
}

/// Runs `check` for every row, some in parallel, and reports all that failed.
pub fn for_each_row<T: Sync>(
    rows: &[T],
    name: impl Fn(&T) -> &str + Sync,
    check: impl Fn(&T) + Sync,
) {
    let next = AtomicUsize::new(0);
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let checked =
                        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(row)));
                    if checked.is_err() {
                        eprintln!("^ this was {}", name(row));
                        failed.lock().unwrap().push(name(row).to_owned());
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} of {} failed: {}",
        failed.len(),
        rows.len(),
        failed.join(", ")
    );
}
