//! Starts child processes, all from one thread that lives as long as flightdeck: the kernel sends
//! the parent-death signal when the *thread* that forked ends, not the process. Each child leads
//! its own process group, and its [`Process`] owns the guard that kills the group.

use super::descendants::{self, Mark};
use super::failure::Exit;
use super::group::Group;
use super::lifecycle::Environment;
use super::oom::OutOfMemory;
use super::settings::SpawnSpec;
use model::process::ProcessIdentity;
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

/// Maximum number of launches that wait for the spawning thread.
const QUEUE: usize = 256;
/// Maximum length of a base directory that keeps socket paths within the kernel's limit.
const BASE_LIMIT: usize = 60;
/// Maximum time for a killed process to disappear; longer only if the machine is in trouble.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Child process that has not been reaped yet.
pub(super) struct SpawnedProcess {
    // Fields drop in declaration order: the group is killed before tokio's reaper gets the child's
    // handle.
    group: Group,
    child: Child,
    pub(super) identity: Option<ProcessIdentity>,
    pub(super) pid: u32,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    exit: Option<Exit>,
    out_of_memory: Option<OutOfMemory>,
    /// Taken after all marked descendants were killed.
    mark: Option<Mark>,
    /// Directory of its sockets, removed with it including all contents.
    _sockets: SocketFolder,
}

impl SpawnedProcess {
    /// Takes the standard streams; `None` from the second call on.
    pub(super) fn streams(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        Some((self.stdout.take()?, self.stderr.take()?))
    }

    /// Waits until the process has ended, then kills the rest of its group. Cancel-safe.
    pub(super) async fn wait(&mut self) -> Exit {
        if let Some(exit) = self.exit {
            return exit;
        }
        let exit = match self.child.wait().await {
            Ok(status) => {
                Exit::from_status(status, || self.out_of_memory.as_ref()?.compare_with_start())
            }
            Err(_) => Exit::default(),
        };
        // The leader's pid is free from here on. The group's number is not while a grandchild is in
        // it, and no new process can have become a group of that number in this short time.
        self.group.kill();
        self.group.release();
        if let Some(mark) = self.mark.take() {
            // Bounded, and its result is not needed.
            tokio::task::spawn_blocking(move || mark.kill()).await.ok();
        }
        self.exit = Some(exit);
        exit
    }

    /// Asks the process to end with SIGTERM.
    pub(super) fn terminate(&self) {
        // An ended process is not signalled: its pid is reserved until it is reaped, and `child.id`
        // is `None` afterwards.
        if let Some(pid) = self
            .child
            .id()
            .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?))
        {
            kill_process(pid, Signal::TERM).ok();
        }
    }

    /// Kills the group and waits for the process.
    pub(super) async fn kill(&mut self) {
        self.group.kill();
        tokio::time::timeout(KILL_TIMEOUT, self.wait()).await.ok();
    }

    /// Waits for the process for at most `grace`, then kills it. Returns its exit status if it
    /// ended on its own.
    pub(super) async fn end(&mut self, grace: Duration) -> Option<Exit> {
        if let Ok(exit) = tokio::time::timeout(grace, self.wait()).await {
            return Some(exit);
        }
        self.kill().await;
        None
    }
}

impl Drop for SpawnedProcess {
    fn drop(&mut self) {
        // The process was not waited for, so its descendants may still run.
        if let Some(mark) = self.mark.take() {
            self.group.kill();
            mark.kill();
        }
    }
}

/// Returns the directories for socket directories, the preferred one first.
fn bases() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let further = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    let mut all: Vec<PathBuf> = Vec::new();
    for dir in std::iter::once(std::env::temp_dir())
        .chain(runtime)
        .chain(further)
    {
        let is_short = dir.as_os_str().len() <= BASE_LIMIT;
        if dir.is_absolute() && is_short && !all.contains(&dir) {
            all.push(dir);
        }
    }
    all
}

/// Maximum attempts to create a directory if another process removes it at once.
const MAX_ATTEMPTS: u32 = 5;
/// Prefix of socket directories; the pid of their creator follows.
const PREFIX: &str = "flightdeck-";

/// Private directory for one process's sockets, with a path short enough for them.
pub(super) struct SocketFolder {
    folder: TempDir,
    /// File lock that tells other flightdeck processes that the directory is in use: in another pid
    /// namespace, the pid in its name means nothing.
    _lock: std::fs::File,
}

impl SocketFolder {
    /// Creates a directory in the first place that this user can write.
    ///
    /// # Errors
    /// There is none; the text names each place and its error.
    pub(super) fn new() -> Result<Self, String> {
        let mut refused = Vec::new();
        for base in bases() {
            match Self::in_directory(&base) {
                Ok(folder) => return Ok(folder),
                Err(error) => refused.push(format!("{}: {error}", base.display())),
            }
        }
        Err(refused.join("; "))
    }

    fn in_directory(base: &Path) -> io::Result<Self> {
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let private = std::fs::Permissions::from_mode(0o700);
        for _ in 0..MAX_ATTEMPTS {
            let folder = tempfile::Builder::new()
                .prefix(&prefix)
                .permissions(private.clone())
                .tempdir_in(base)?;
            let Ok(lock) = std::fs::File::open(folder.path()) else {
                continue;
            };
            // Not every file system supports locks; without them only the pid protects the
            // directory.
            if lock.lock_shared().is_err() || folder.path().exists() {
                return Ok(Self {
                    folder,
                    _lock: lock,
                });
            }
            // Another process that cannot see this pid removed the directory before it was locked.
        }
        Err(io::Error::other(
            "another process repeatedly removed the directory for its socket",
        ))
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the directories of flightdeck processes that were killed. Permissions limit this to the
/// user's own directories; those that are locked or whose creator runs are kept.
fn remove_stale_directories(base: &Path) {
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
            // Without a readable /proc, every creator would look ended.
            && ProcessIdentity::current().is_some()
            && ProcessIdentity::of(pid).is_none()
            && let Ok(folder) = std::fs::File::open(entry.path())
            && folder.try_lock().is_ok()
        {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// Starts `spec` in the environment that its dialect prepared.
pub(super) async fn spawn(
    spec: &SpawnSpec,
    environment: Environment,
    sockets: SocketFolder,
) -> io::Result<SpawnedProcess> {
    let mark = Mark::new();
    let mut command = command(spec, environment);
    // Set last, so that no configured variable can override the mark.
    command.env(descendants::VARIABLE, mark.value());
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
            io::Error::other(format!("{QUEUE} plugins are already being started"))
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
    // The environment is inherited for cloud credentials, but without `TF_VAR_…`: a plugin receives
    // the values that its configuration gives it, and no others.
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"TF_VAR_") {
            command.env_remove(name);
        }
    }
    for name in crate::withheld::names() {
        command.env_remove(name);
    }
    for name in environment.removed_variables {
        command.env_remove(name);
    }
    command.envs(environment.set_variables).envs(&spec.env);
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
    reply: oneshot::Sender<io::Result<SpawnedProcess>>,
}

fn spawner() -> &'static SyncSender<Spawning> {
    // One per process and never ended: when this thread ends, every plugin gets SIGKILL.
    static SPAWNER: OnceLock<SyncSender<Spawning>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (sender, orders) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("plugin-spawner".to_owned());
        // If the thread does not start, the channel is disconnected and each launch fails with
        // that.
        let work = move || {
            bases()
                .iter()
                .for_each(|base| remove_stale_directories(base));
            serve(&orders);
        };
        thread.spawn(work).ok();
        sender
    })
}

fn serve(orders: &Receiver<Spawning>) {
    // Lives as long as this thread, which is as long as the process.
    let mut watcher = None;
    while let Ok(Spawning {
        command,
        mark,
        sockets,
        runtime,
        reply,
    }) = orders.recv()
    {
        // The child is registered with the runtime of the caller. If the caller has gone, the reply
        // is dropped here, and the guard kills the process.
        let _runtime = runtime.enter();
        reply.send(start(command, mark, sockets)).ok();
        watcher.get_or_insert_with(descendants::start_watcher);
    }
}

/// Makes the kernel kill the child when the thread that starts it ends.
pub fn set_parent_death_signal(command: &mut std::process::Command) {
    let parent = Pid::from_raw(i32::try_from(std::process::id()).unwrap_or_default());
    // SAFETY: runs in the child between fork and exec, where only calls that are safe in a signal
    // handler are allowed: two system calls and an error value that is built without allocating.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // If the parent had died before that call, the signal would never arrive.
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

/// Starts the child in a session of its own, so that it cannot read from the terminal.
pub fn detach_from_terminal(command: &mut std::process::Command) {
    // SAFETY: runs in the child between fork and exec, where only calls that are safe in a signal
    // handler are allowed: one system call.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
}

fn start(
    mut command: std::process::Command,
    mark: Mark,
    sockets: SocketFolder,
) -> io::Result<SpawnedProcess> {
    set_parent_death_signal(&mut command);
    let mut command = Command::from(command);
    command.process_group(0);
    let mut child = command.spawn()?;
    let pid = child.id().unwrap_or_default();
    // Right after the start, so that every later return kills the group on drop.
    let group = Group::of(child.id());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (identity, out_of_memory) = (ProcessIdentity::of(pid), OutOfMemory::watch(pid));
    Ok(SpawnedProcess {
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
    fn socket_directories_of_dead_processes_are_removed() {
        let base = tempfile::tempdir().expect("folder");
        let make = |name: &str| {
            let path = base.path().join(name);
            std::fs::create_dir(&path).expect("made");
            std::fs::write(path.join("plugin1"), "").expect("written");
            path
        };
        // Larger than any pid.
        let dead = make("flightdeck-4194999-abc");
        let own = make(&format!("flightdeck-{}-abc", std::process::id()));
        let others = [
            make("flightdeck-abc"),
            make("flightdeck"),
            make("plugin-4194999-abc"),
        ];
        // Its creator runs in another pid namespace.
        let elsewhere = make("flightdeck-4194998-abc");
        let lock = std::fs::File::open(&elsewhere).expect("opened");
        lock.lock_shared().expect("locked");
        remove_stale_directories(base.path());
        assert!(
            !dead.exists()
                && own.exists()
                && elsewhere.exists()
                && others.iter().all(|o| o.exists())
        );
    }

    #[test]
    fn socket_path_is_short_and_its_directory_private() {
        let folder = SocketFolder::new().expect("folder");
        let socket = folder.path().join("plugin18446744073709551615");
        // Limit of the kernel, including the terminating zero.
        assert!(socket.as_os_str().len() < 108);
        let mode = std::fs::metadata(folder.path())
            .expect("folder")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
