//! Starting child processes, all of them from one thread that lives as long as we do: the kernel's
//! parent-death signal fires when the *thread* that forked ends, not the process. Each child leads
//! a process group of its own, and whoever holds the [`Process`] holds the guard that kills the
//! group.

use super::failure::Exit;
use super::group::Group;
use super::life::Environment;
use super::marked::{self, Mark};
use super::oom::OutOfMemory;
use super::settings::SpawnSpec;
use crate::engine::process::ProcessIdentity;
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tempfile::TempDir;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::oneshot;

/// How many launches may wait for the spawning thread.
const QUEUE: usize = 256;
/// Longest base directory under which a socket's path stays within what the kernel takes.
const BASE_LIMIT: usize = 60;
/// How long a killed process may take to be gone. The kernel needs no such time unless the machine
/// is in trouble.
const REAP: Duration = Duration::from_secs(5);

/// A child of ours that was not waited for yet.
pub(super) struct Process {
    // Spawning of fields is order of dropping: the group is killed before the child's handle is
    // given up to the reaper.
    group: Group,
    child: Child,
    pub(super) identity: Option<ProcessIdentity>,
    pub(super) pid: u32,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    exit: Option<Exit>,
    out_of_memory: Option<OutOfMemory>,
    /// Taken once all that the process has started is killed.
    mark: Option<Mark>,
    /// The folder of its socket; gone with it, whatever the child left there.
    _sockets: SocketFolder,
}

impl Process {
    /// Its standard streams; the first call gets them.
    pub(super) fn streams(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        Some((self.stdout.take()?, self.stderr.take()?))
    }

    /// Waits until the process has ended, and then ends what is left of its group. May be dropped
    /// and called again.
    pub(super) async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = match self.child.wait().await {
            Ok(status) => Exit::of(status, || self.out_of_memory.as_ref()?.since()),
            Err(_) => Exit::default(),
        };
        // The leader's pid is free from here on, but the group's number is not while a grandchild
        // is in it, and no new process can have become a group of that number in the moment since.
        self.group.kill();
        self.group.let_go();
        if let Some(mark) = self.mark.take() {
            // Bounded, and it needs no answer: whatever it finds is killed.
            tokio::task::spawn_blocking(move || mark.kill()).await.ok();
        }
        self.exit = Some(exit);
        exit
    }

    /// Asks the process to end, by SIGTERM.
    pub(super) fn terminate(&self) {
        // One that is gone is not signalled: until it was waited for its pid is its own, and
        // `child.id` has none after.
        if let Some(pid) = self
            .child
            .id()
            .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        {
            kill_process(pid, Signal::TERM).ok();
        }
    }

    /// Kills the group now and waits for the process.
    pub(super) async fn kill(&mut self) {
        self.group.kill();
        tokio::time::timeout(REAP, self.wait()).await.ok();
    }

    /// Waits for the process, for `grace` at most, and kills it then. Returns how it ended by
    /// itself, if it did.
    pub(super) async fn end(&mut self, grace: Duration) -> Option<Exit> {
        if let Ok(exit) = tokio::time::timeout(grace, self.wait()).await {
            return Some(exit);
        }
        self.kill().await;
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nobody has waited for it.
        if let Some(mark) = self.mark.take() {
            self.group.kill();
            mark.kill();
        }
    }
}

/// Where the folders of sockets are made.
fn base() -> PathBuf {
    let own = std::env::temp_dir();
    if own.as_os_str().len() <= BASE_LIMIT {
        own
    } else {
        PathBuf::from("/tmp")
    }
}

/// How often a folder is made anew that others remove at once.
const TRIES: u32 = 5;
/// What the names of our folders begin with; the pid of whoever made them follows.
const PREFIX: &str = "flightdeck-";

/// A private folder for one process's sockets, with a path short enough for a socket in it.
pub(super) struct SocketFolder {
    folder: TempDir,
    /// The system's lock on it, by which others see that somebody needs it still: our pid may mean
    /// nothing where they are.
    _lock: std::fs::File,
}

impl SocketFolder {
    pub(super) fn new() -> io::Result<Self> {
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let private = std::fs::Permissions::from_mode(0o700);
        for _ in 0..TRIES {
            let folder = tempfile::Builder::new()
                .prefix(&prefix)
                .permissions(private.clone())
                .tempdir_in(base())?;
            let Ok(lock) = std::fs::File::open(folder.path()) else {
                continue;
            };
            // Not every file system has locks; where there are none our pid has to do.
            if lock.lock_shared().is_err() || folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
            // Somebody who could not see us swept it in the moment before it was locked.
        }
        Err(io::Error::other(
            "the folder for its socket was removed again and again",
        ))
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of those who were killed and could not do it. Only what is ours can be
/// removed, and only the folders that nobody has locked and whose maker is gone.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name
            .to_str()
            .and_then(|n| n.strip_prefix(PREFIX))
            .and_then(|n| n.split_once('-'))
            .and_then(|(pid, _)| pid.parse().ok());
        let is_directory = entry.file_type().is_ok_and(|t| t.is_dir());
        if let Some(pid) = maker
            && is_directory
            && ProcessIdentity::own().is_some()
            && ProcessIdentity::of(pid).is_none()
            && let Ok(folder) = std::fs::File::open(entry.path())
            && folder.try_lock().is_ok()
        {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Starts `spec` in an environment that its dialect has made.
pub(super) async fn spawn(
    spec: &SpawnSpec,
    environment: Environment,
    sockets: SocketFolder,
) -> io::Result<Process> {
    let mark = Mark::new();
    let mut command = command(spec, environment);
    command.env(marked::VARIABLE, mark.value());
    let (reply, answer) = oneshot::channel();
    let order = Spawning {
        command,
        mark,
        sockets,
        runtime: tokio::runtime::Handle::current(),
        reply,
    };
    spawner().try_send(order).map_err(|e| match e {
        TrySendError::Full(_) => {
            io::Error::other(format!("{QUEUE} plugins are being started already"))
        }
        TrySendError::Disconnected(_) => {
            io::Error::other("the thread that starts plugins has ended")
        }
    })?;
    answer
        .await
        .unwrap_or_else(|_| Err(io::Error::other("the thread that starts plugins has ended")))
}

fn command(spec: &SpawnSpec, environment: Environment) -> std::process::Command {
    let mut command = std::process::Command::new(&spec.executable);
    command.args(&spec.args);
    // Cloud credentials travel by the inherited environment. Values of the configuration's
    // variables do not: a plugin gets those that its configuration gives it, and no others.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"TF_VAR_") {
            command.env_remove(name);
        }
    }
    for name in environment.without {
        command.env_remove(name);
    }
    command.envs(environment.with).envs(&spec.env);
    if let Some(directory) = &spec.directory {
        command.current_dir(directory);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

struct Spawning {
    command: std::process::Command,
    mark: Mark,
    sockets: SocketFolder,
    runtime: tokio::runtime::Handle,
    reply: oneshot::Sender<io::Result<Process>>,
}

fn spawner() -> &'static SyncSender<Spawning> {
    // One for the whole process and never ended: when this thread ends, every plugin gets SIGKILL.
    static SPAWNER: OnceLock<SyncSender<Spawning>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (sender, orders) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("plugin-spawner".to_owned());
        // Should it not start, the channel is disconnected and each launch says so.
        let work = move || {
            sweep(&base());
            serve(&orders);
        };
        thread.spawn(work).ok();
        sender
    })
}

fn serve(orders: &Receiver<Spawning>) {
    // As long as this thread, which is as long as the process.
    let mut watcher = None;
    while let Ok(Spawning {
        command,
        mark,
        sockets,
        runtime,
        reply,
    }) = orders.recv()
    {
        // The child is registered with the runtime of whoever asked. If nobody waits any more, the
        // answer is dropped here, and its guard kills what was started.
        let _runtime = runtime.enter();
        reply.send(start(command, mark, sockets)).ok();
        watcher.get_or_insert_with(marked::watch);
    }
}

/// Has the kernel kill the child when the thread that starts it ends.
pub(in crate::engine) fn die_with_parent(command: &mut std::process::Command) {
    let parent = Pid::from_raw(i32::try_from(std::process::id()).unwrap_or_default());
    // SAFETY: runs in the child between fork and exec, where only calls that are safe in a signal
    // handler are allowed: two system calls and an error value that is built without allocating.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // Had we died before that call, no signal would ever come.
            if getppid() == parent {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(
                    rustix::io::Errno::CHILD.raw_os_error(),
                ))
            }
        });
    }
}

fn start(
    mut command: std::process::Command,
    mark: Mark,
    sockets: SocketFolder,
) -> io::Result<Process> {
    die_with_parent(&mut command);
    let mut command = Command::from(command);
    command.process_group(0);
    let mut child = command.spawn()?;
    let pid = child.id().unwrap_or_default();
    let group = Group::of(child.id());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (identity, out_of_memory) = (ProcessIdentity::of(pid), OutOfMemory::watch(pid));
    Ok(Process {
        group,
        child,
        identity,
        pid,
        stdout,
        stderr,
        exit: None,
        out_of_memory,
        mark: Some(mark),
        _sockets: sockets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_swept_and_those_of_the_living_left() {
        let base = tempfile::tempdir().expect("folder");
        let make = |name: &str| {
            let path = base.path().join(name);
            std::fs::create_dir(&path).expect("made");
            std::fs::write(path.join("plugin1"), "").expect("written");
            path
        };
        // No pid is that large.
        let dead = make("flightdeck-4194999-abc");
        let own = make(&format!("flightdeck-{}-abc", std::process::id()));
        let others = [
            make("flightdeck-abc"),
            make("flightdeck"),
            make("plugin-4194999-abc"),
        ];
        // Its maker lives where pids are others.
        let elsewhere = make("flightdeck-4194998-abc");
        let lock = std::fs::File::open(&elsewhere).expect("opened");
        lock.lock_shared().expect("locked");
        sweep(base.path());
        assert!(
            !dead.exists()
                && own.exists()
                && elsewhere.exists()
                && others.iter().all(|o| o.exists())
        );
    }

    #[test]
    fn the_path_of_a_socket_is_short_enough() {
        let folder = SocketFolder::new().expect("folder");
        let socket = folder.path().join("plugin18446744073709551615");
        // What the kernel takes, with the closing zero.
        assert!(socket.as_os_str().len() < 108);
        let mode = std::fs::metadata(folder.path())
            .expect("folder")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
