//! Workspace with a console on it, and checks of what the console leaves behind.

use crate::pty::Pty;
use portable_pty::CommandBuilder;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const SOON: Duration = Duration::from_secs(240);
/// Interval between looks at the screen.
pub const LOOK: Duration = Duration::from_millis(20);
pub const LONG: Duration = Duration::from_secs(480);

pub const FLIGHTDECK: &str = env!("CARGO_BIN_EXE_flightdeck");

/// Starts the demo with its own directory for temporary files.
pub fn start_demo(columns: u16, rows: u16, variables: &[(&str, &str)]) -> (Pty, TempDir) {
    let place = tempfile::tempdir().unwrap();
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg("demo");
    command.env("FLIGHTDECK_LAUNCH_BACKOFF_MS", "50");
    command.env("TMPDIR", place.path());
    (
        Pty::start_with(command, columns, rows, variables).unwrap(),
        place,
    )
}

/// Workspace with a bucket of the bundled lab.
pub struct Workspace {
    pub place: TempDir,
    /// Operator's own directory: plugins in the workspace itself would need trust.
    own: TempDir,
}

impl Workspace {
    /// Creates a workspace with this configuration.
    pub fn of(text: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("main.tf"), text).unwrap();
        let own = tempfile::tempdir().unwrap();
        Self { place, own }
    }

    pub fn new(source: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let text = format!(
            "terraform {{\n  required_providers {{\n    lab = {{ source = {source:?} }}\n  }}\n}}\n\
             provider \"lab\" {{\n  file = {:?}\n}}\nresource \"lab_bucket\" \"logs\" {{\n  name = \"logs\"\n}}\n",
            place.path().join("lab.json")
        );
        std::fs::write(place.path().join("main.tf"), text).unwrap();
        let own = tempfile::tempdir().unwrap();
        Self { place, own }
    }

    pub fn bundled() -> Self {
        Self::new("flightdeck.internal/bundled/lab")
    }

    pub fn path(&self) -> &Path {
        self.place.path()
    }

    pub fn console(&self) -> Pty {
        self.console_with(&[])
    }

    pub fn console_with(&self, args: &[&str]) -> Pty {
        let mut command = CommandBuilder::new(FLIGHTDECK);
        command.arg(self.path());
        command.args(args);
        // Messages about the machine's own configuration file are not part of these tests.
        command.env_remove("TF_CLI_CONFIG_FILE");
        Pty::start(command, 120, 40).unwrap()
    }

    /// Checks that the workspace is unlocked: the lock's row is removed, not only its owner.
    #[track_caller]
    pub fn assert_unlocked(&self) {
        is_free(&self.path().join(".flightdeck/flightdeck.db"));
    }

    /// Checks that the workspace of this name is unlocked.
    #[track_caller]
    pub fn assert_unlocked_workspace(&self, name: &str) {
        let folder = self.path().join(".flightdeck/workspaces").join(name);
        is_free(&folder.join(".flightdeck/flightdeck.db"));
    }
}

#[track_caller]
fn is_free(store: &Path) {
    let store = rusqlite::Connection::open(store).unwrap();
    let holders: i64 = store
        .query_row("SELECT count(*) FROM lock", [], |r| r.get(0))
        .unwrap();
    assert_eq!(holders, 0, "the lock is still held");
}

/// Pid and start time of a process, because the system reuses pids.
pub type Process = (i32, u64);

/// Parent, state and start time of a process, from `/proc`.
pub fn stat(pid: i32) -> Option<(i32, char, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain any characters.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some((
        fields[1].parse().ok()?,
        fields[0].chars().next()?,
        fields[19].parse().ok()?,
    ))
}

/// Plugins of a console: its child processes.
pub fn plugins(console: i32) -> Vec<Process> {
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse().ok());
    let children = pids.filter_map(|pid| stat(pid).filter(|s| s.0 == console).map(|s| (pid, s.2)));
    children.collect()
}

/// Processes with a path below this directory in their arguments.
pub fn processes_of(directory: &Path) -> Vec<Process> {
    let directory = directory.as_os_str().as_encoded_bytes();
    let has_path = |pid: &i32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.windows(directory.len()).any(|w| w == directory)
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|e| e.file_name().to_str()?.parse().ok());
    let all = all.filter(has_path);
    all.filter_map(|pid| Some((pid, stat(pid)?.2))).collect()
}

#[track_caller]
pub fn assert_all_ended(processes: &[Process]) {
    assert!(!processes.is_empty(), "there was no plugin to begin with");
    let end = Instant::now() + SOON;
    // A zombie that its new parent has not reaped yet counts as ended.
    while let Some(p) = processes
        .iter()
        .find(|p| stat(p.0).is_some_and(|s| s.2 == p.1 && s.1 != 'Z'))
    {
        assert!(Instant::now() < end, "plugin {} is still there", p.0);
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn pid(c: &Pty) -> i32 {
    i32::try_from(c.pid().unwrap()).unwrap()
}

pub fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[track_caller]
pub fn assert_terminal_restored(screen: &vt100::Screen) {
    assert!(
        !screen.alternate_screen(),
        "the alternate screen is left on"
    );
    assert!(!screen.hide_cursor(), "the cursor is left hidden");
    assert!(!screen.bracketed_paste(), "bracketed paste is left on");
    assert_eq!(
        screen.mouse_protocol_mode(),
        vt100::MouseProtocolMode::None,
        "the mouse is left captured"
    );
}

/// Leaves the console from a screen without anything open.
#[track_caller]
pub fn quit(mut c: Pty) {
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0, "{}", screen.contents());
    assert_terminal_restored(&screen);
}

/// Workspace whose plugin is this program, launched from a directory.
pub fn workspace_of(program: &str) -> (Workspace, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let w = Workspace::new("example.com/demo/lab");
    let folder = w.own.path().join("built");
    std::fs::create_dir(&folder).unwrap();
    let plugin = folder.join("terraform-provider-lab");
    std::fs::write(&plugin, program).unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings = w.own.path().join("settings.rc");
    let text = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"example.com/demo/lab\" = {folder:?}\n  }}\n  direct {{}}\n}}\n"
    );
    std::fs::write(&settings, text).unwrap();
    (w, settings)
}
