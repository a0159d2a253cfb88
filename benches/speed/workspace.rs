//! Workspace of the benchmark, and measured runs of a program in it.

use crate::shape::Kind;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Interval of memory measurements of a running process.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Maximum duration of a run.
const LONGEST: Duration = Duration::from_secs(3_600);

/// Plugin executable.
pub struct Plugin {
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Argument of the provider configuration, if one is required.
    pub setting: Option<(String, String)>,
}

/// Subject of a benchmark: a provider with two of its resource types.
pub struct Subject {
    /// Name on the command line.
    pub key: &'static str,
    /// Name of the provider.
    pub name: &'static str,
    pub source: &'static str,
    pub first: Kind,
    pub second: Kind,
}

/// Workspace in a temporary directory.
pub struct BenchWorkspace {
    root: tempfile::TempDir,
}

/// Figures of a run.
#[derive(Clone, Copy)]
pub struct Run {
    pub took: Duration,
    /// Peak memory of the process itself, in bytes.
    pub peak: u64,
    /// Processor time of the process itself.
    pub cpu: Duration,
}

impl Run {
    /// Returns the median of each figure.
    pub fn median(all: &[Self]) -> Self {
        Self {
            took: middle(all.iter().map(|r| r.took)),
            peak: middle(all.iter().map(|r| r.peak)),
            cpu: middle(all.iter().map(|r| r.cpu)),
        }
    }
}

/// Returns the median of a list that is not empty; of an even number of figures, the upper one.
pub fn middle<T: Ord>(all: impl Iterator<Item = T>) -> T {
    let mut all: Vec<T> = all.collect();
    all.sort();
    let half = all.len() / 2;
    all.swap_remove(half)
}

impl BenchWorkspace {
    /// Creates a workspace that declares `n` objects, and `n` others that depend on them.
    pub fn new(subject: &Subject, plugin: &Plugin, n: usize) -> std::io::Result<Self> {
        let place = Self {
            root: tempfile::tempdir()?,
        };
        let name = subject.name;
        let mut text = format!(
            "terraform {{\n  required_providers {{\n    {name} = {{ source = \"{}\" }}\n  }}\n}}\n",
            subject.source
        );
        if let Some((argument, value)) = &plugin.setting {
            text += &format!("provider \"{name}\" {{\n  {argument} = {value:?}\n}}\n");
        }
        text += &subject.first.text(n, "\"${count.index}\"");
        text += &subject.second.text(
            n,
            &format!("{}.first[count.index].id", subject.first.type_name),
        );
        std::fs::create_dir(place.work())?;
        std::fs::write(place.work().join("main.tf"), text)?;
        // A bundled provider needs no installation; others come from a mirror.
        if plugin.args.is_empty() {
            let folder = place
                .mirror()
                .join(format!("{}/0.1.0/linux_amd64", subject.source));
            std::fs::create_dir_all(&folder)?;
            std::os::unix::fs::symlink(
                &plugin.program,
                folder.join(format!("terraform-provider-{name}_v0.1.0")),
            )?;
            let rc = format!(
                "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\n",
                place.mirror()
            );
            std::fs::write(place.rc(), rc)?;
        }
        Ok(place)
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    fn mirror(&self) -> PathBuf {
        self.root.path().join("mirror")
    }

    fn rc(&self) -> PathBuf {
        self.root.path().join("rc")
    }

    /// Runs a program in the workspace; fails if it does not succeed.
    pub fn run(&self, program: &Path, args: &[&str], plugin: &Plugin) -> Result<Run, String> {
        let log = self.root.path().join("output");
        let file = std::fs::File::create(&log).map_err(|e| e.to_string())?;
        let mut command = Command::new(program);
        // Settings of the caller must not change the measured run.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TF_")
                || name.to_string_lossy().starts_with("FLIGHTDECK_")
            {
                command.env_remove(name);
            }
        }
        command
            .args(args)
            .current_dir(self.work())
            .envs(plugin.env.iter().map(|(k, v)| (k, v)));
        command
            // Neither must its configuration files.
            .env("HOME", self.root.path())
            .env("XDG_CONFIG_HOME", self.root.path())
            .env("XDG_DATA_HOME", self.root.path());
        if self.rc().exists() {
            command.env("TF_CLI_CONFIG_FILE", self.rc());
        }
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone().map_err(|e| e.to_string())?)
            .stderr(file);
        let began = Instant::now();
        let mut child = command
            .spawn()
            .map_err(|e| format!("{}: {e}", program.display()))?;
        let (run, late) = Run::watched(child.id(), began)?;
        let status = child.wait().map_err(|e| e.to_string())?;
        if late {
            return Err(format!(
                "{args:?} did not end within {} s",
                LONGEST.as_secs()
            ));
        }
        if status.success() {
            return Ok(run);
        }
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        // The end of the output names the reason in most cases.
        let last: Vec<&str> = said.lines().rev().take(20).collect();
        Err(format!(
            "{} {args:?} ended with {status}:\n{}",
            program.display(),
            last.into_iter().rev().collect::<Vec<_>>().join("\n")
        ))
    }
}

impl Run {
    /// Waits for the exit of a process without reaping it. Returns its figures, and true if it had
    /// to be killed. The wait itself uses no processor time, because the measured process has no
    /// core of its own.
    fn watched(id: u32, began: Instant) -> Result<(Self, bool), String> {
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or("the process id is out of range")?;
        let (over, end) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            // A thread measures the memory, because the figures vanish with the process.
            let looks = scope.spawn(move || {
                let (mut peak, mut late) = (0, false);
                while !late {
                    peak = peak.max(peak_of(id));
                    if end.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                    late = began.elapsed() > LONGEST;
                }
                if late {
                    rustix::process::kill_process(pid, Signal::KILL).ok();
                }
                (peak, late)
            });
            // `NOWAIT` keeps the process as a zombie, whose processor time can still be read.
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let waited = rustix::process::waitid(WaitId::Pid(pid), options);
            let took = began.elapsed();
            // Ends the thread: its channel is closed.
            drop(over);
            let (peak, late) = looks
                .join()
                .map_err(|_| "the thread that measures the memory panicked")?;
            waited.map_err(|e| e.to_string())?;
            let cpu = cpu_of(id);
            Ok((Self { took, peak, cpu }, late))
        })
    }
}

/// Returns the peak memory of a process in bytes; 0 if it has ended.
fn peak_of(id: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let kib = status.lines().find_map(|l| {
        l.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) * 1024
}

/// Returns the processor time of a process, even if it has ended but was not reaped.
fn cpu_of(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The fields follow the name in parentheses. User and system time are the 12th and 13th, in
    // hundredths of a second.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |i: usize| {
        fields
            .get(i)
            .and_then(|f| f.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}
