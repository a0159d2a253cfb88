//! Start and end of the process of a `local_process`. Each wait has a deadline, and ends when the
//! host asks the provider to stop.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use model::process::ProcessIdentity;
use nix::libc;
use rustix::process::{Pid, PidfdFlags, Signal, getpgid, kill_process_group, pidfd_open, setsid};
use sdk::{Diagnostic, Failure};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::local::blocking;

/// Variables that the process inherits. All others are left out: credentials of the operator are
/// not for a process that outlives the command.
const INHERITED: [&str; 10] = [
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
];
/// Time in which a process without a port must not end.
const FIRST_MOMENTS: Duration = Duration::from_millis(300);
/// Pause between two connections to the port.
const CONNECT_PAUSE: Duration = Duration::from_millis(25);
/// Maximum time for a killed process to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes and lines of the log in an error.
const TAIL_BYTES: u64 = 4_096;
const TAIL_LINES: usize = 10;

/// Program to start.
pub(super) struct Program {
    pub(super) command: Vec<String>,
    pub(super) log_file: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    pub(super) working_directory: Option<PathBuf>,
    pub(super) port: Option<u16>,
    pub(super) start_timeout: Duration,
}

impl Program {
    fn name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }
}

/// Started process that is not yet known to work.
struct Started {
    child: Child,
    process: ProcessIdentity,
    /// Length of the log before the start.
    log_start: u64,
}

/// Starts a program, and waits until it listens on its port or has run for its first moments.
///
/// # Errors
/// The program cannot be started, has ended, or does not listen in time. It has ended then.
pub(super) async fn start(
    program: Program,
    stop: &CancellationToken,
) -> Result<ProcessIdentity, Failure> {
    let (program, mut started) = blocking(move || {
        let started = spawn(&program)?;
        Ok((program, started))
    })
    .await?;
    let name = program.name();
    let summary = tokio::select! {
        ended = started.child.wait() => ended_text(name, ended),
        ready = timeout(program.start_timeout, works(program.port)) => match (ready, program.port) {
            (Err(_), Some(port)) => {
                let seconds = program.start_timeout.as_secs();
                format!("{name} does not listen on port {port} after {seconds} s")
            }
            // The runtime reaps the process when it ends, although its handle is dropped.
            _ => return Ok(started.process),
        },
        () = stop.cancelled() => format!("the start of {name} was stopped"),
    };
    // Also the children of an ended process, before another group can have its number.
    if let Some(leader) = leader(&started.process) {
        kill_process_group(leader, Signal::KILL).ok();
    }
    timeout(KILL_TIMEOUT, started.child.wait()).await.ok();
    let log = blocking(move || Ok(tail(&program, started.log_start))).await?;
    Err(Failure::new(summary, log))
}

/// Returns the leader of the process group, which is the process itself.
fn leader(process: &ProcessIdentity) -> Option<Pid> {
    Pid::from_raw(i32::try_from(process.pid).ok()?)
}

fn ended_text(name: &str, ended: io::Result<ExitStatus>) -> String {
    match ended {
        Ok(status) if status.success() => {
            format!("{name} ended at once: it must continue in the foreground")
        }
        Ok(status) => format!("{name} ended at once: {status}"),
        Err(error) => format!("{name} cannot be waited for: {error}"),
    }
}

/// Waits until a process accepts connections, or until its first moments are over.
async fn works(port: Option<u16>) {
    let Some(port) = port else {
        return sleep(FIRST_MOMENTS).await;
    };
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port))
        .await
        .is_err()
    {
        sleep(CONNECT_PAUSE).await;
    }
}

fn spawn(program: &Program) -> Result<Started, Failure> {
    check(program)?;
    let at = |attribute: &str, error: &io::Error| {
        let path = program.log_file.display();
        let summary = format!("cannot open the log file {path}");
        Failure::from(Diagnostic::error(summary, error.to_string()).at_attr(attribute))
    };
    let log = open_log(program).map_err(|error| at("log_file", &error))?;
    let log_start = log.metadata().map_or(0, |log| log.len());
    let errors = log.try_clone().map_err(|error| at("log_file", &error))?;
    let mut command = command(program);
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    let mut child = command.spawn().map_err(|error| {
        let detail = match error.kind() {
            ErrorKind::NotFound => "there is no such program; check its path, or PATH".to_owned(),
            _ => error.to_string(),
        };
        let summary = format!("cannot start {}", program.name());
        Diagnostic::error(summary, detail).at_attr("command")
    })?;
    // An ended process is a zombie until it is awaited, so that its pid is still its own.
    let Some(process) = child.id().and_then(ProcessIdentity::of) else {
        child.start_kill().ok();
        let summary = format!("cannot identify the process of {}", program.name());
        return Err(Failure::new(
            summary,
            "mount /proc, which has its start time",
        ));
    };
    Ok(Started {
        child,
        process,
        log_start,
    })
}

/// Checks what `exec` would report without a reason that an operator can use.
fn check(program: &Program) -> Result<(), Failure> {
    if let Some(directory) = &program.working_directory
        && !directory.is_dir()
    {
        let summary = format!("there is no directory {}", directory.display());
        let detail = format!("{} cannot be started in it", program.name());
        return Err(Diagnostic::error(summary, detail)
            .at_attr("working_directory")
            .into());
    }
    let Some(port) = program.port else {
        return Ok(());
    };
    // All addresses, which conflict with a listener on any of them. Old connections do not count.
    TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).map_or_else(
        |error| {
            let summary = match error.kind() {
                ErrorKind::AddrInUse => format!("port {port} is in use"),
                _ => format!("cannot listen on port {port}: {error}"),
            };
            let detail = format!(
                "{} was not started; end the process that listens there, or choose another port",
                program.name()
            );
            Err(Diagnostic::error(summary, detail).at_attr("port").into())
        },
        |_| Ok(()),
    )
}

fn open_log(program: &Program) -> io::Result<File> {
    if let Some(directory) = program.log_file.parent() {
        std::fs::create_dir_all(directory)?;
    }
    // Private, because programs may log secrets.
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    options.open(&program.log_file)
}

fn command(program: &Program) -> Command {
    let mut command = std::process::Command::new(program.name());
    command.args(program.command.iter().skip(1));
    // Cleared also because of the mark that flightdeck gives to all processes of a plugin, by which
    // it kills those that a plugin leaves behind. This process is not left behind but a resource:
    // it continues without the plugin, and the state says how to find it.
    command.env_clear();
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(
        program
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    if let Some(directory) = &program.working_directory {
        command.current_dir(directory);
    }
    detach(&mut command);
    Command::from(command)
}

/// Gives the process its own session, and no file descriptors but the standard ones.
fn detach(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt as _;
    // SAFETY: runs in the child between fork and exec, where only calls that are safe in a signal
    // handler are allowed: two system calls without allocation.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| {
            // A pipe of the caller, such as a CI job's, would stay open as long as the process.
            // Marked and not closed, because the descriptor that reports errors is one of them.
            // Fails only on kernels before 5.11, where inherited descriptors stay open.
            libc::syscall(
                libc::SYS_close_range,
                3,
                u32::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
            setsid()?;
            Ok(())
        });
    }
}

/// Returns the last lines of the log since the start.
fn tail(program: &Program, start: u64) -> String {
    let path = program.log_file.display();
    let read = || -> io::Result<String> {
        let mut log = File::open(&program.log_file)?;
        let length = log.metadata()?.len();
        log.seek(SeekFrom::Start(
            start.max(length.saturating_sub(TAIL_BYTES)),
        ))?;
        let mut bytes = Vec::new();
        log.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    match read() {
        Ok(text) if text.trim().is_empty() => format!("it wrote nothing to {path}"),
        Ok(text) => {
            let lines: Vec<&str> = text.trim_end().lines().collect();
            let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
            format!("last lines of {path}:\n{}", last.join("\n"))
        }
        Err(error) => format!("its log {path} cannot be read: {error}"),
    }
}

/// Ends a process and its group: SIGTERM, and SIGKILL after `patience`. A process that has ended is
/// no error, and neither is a pid that another process has now: that one gets no signal.
///
/// # Errors
/// The process cannot be signalled, does not end, or the host asks to stop.
pub(super) async fn end(
    process: &ProcessIdentity,
    patience: Duration,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let pid = process.pid;
    let failed = |why: String| Failure::new(format!("cannot end process {pid}"), why);
    let Some(leader) = leader(process) else {
        return Ok(());
    };
    // Opened before the check: the handle stays that of the checked process.
    let handle = match pidfd_open(leader, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(failed(error.to_string())),
    };
    if !process.is_running() {
        return Ok(());
    }
    // SAFETY: the handle is an owned descriptor, which is open until it is dropped.
    #[allow(unsafe_code)]
    let handle = unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) };
    let handle = handle.map_err(|error| failed(error.to_string()))?;
    for (signal, time) in [(Signal::TERM, patience), (Signal::KILL, KILL_TIMEOUT)] {
        match kill_process_group(leader, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => return Err(failed(error.to_string())),
        }
        let ended = tokio::select! {
            // The handle becomes readable when the process ends.
            ended = timeout(time, handle.readable()) => ended.is_ok(),
            () = stop.cancelled() => {
                return Err(failed("the wait for its end was stopped; it may end later".to_owned()));
            }
        };
        if ended {
            // Children that ignore SIGTERM. The number of the group is not free while it has one.
            kill_process_group(leader, Signal::KILL).ok();
            return Ok(());
        }
    }
    Err(failed(format!("it runs {KILL_TIMEOUT:?} after SIGKILL")))
}

/// Running process that is to be imported.
pub(super) struct Found {
    pub(super) process: ProcessIdentity,
    pub(super) command: Vec<String>,
    pub(super) log_file: String,
}

/// Finds a process by its pid.
///
/// # Errors
/// No such process runs, it could not be ended as a whole, or its output is no file.
pub(super) fn find(pid: &str) -> Result<Found, Failure> {
    let failed = |why: &str| Failure::new(format!("process {pid} cannot be imported"), why);
    let process = pid.parse().ok().and_then(ProcessIdentity::of);
    let process = process.filter(ProcessIdentity::is_running);
    let process = process.ok_or_else(|| failed("no process with this pid runs"))?;
    // A destroy ends the group, which must have no processes of others.
    let is_leader = leader(&process)
        .is_some_and(|leader| getpgid(Some(leader)).is_ok_and(|group| group == leader));
    if !is_leader {
        return Err(failed("it is not the leader of a process group"));
    }
    let unreadable = |error: io::Error| failed(&error.to_string());
    let output = std::fs::read_link(format!("/proc/{pid}/fd/1")).map_err(unreadable)?;
    if !output.is_file() {
        return Err(failed("its standard output is no file"));
    }
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).map_err(unreadable)?;
    let command = String::from_utf8_lossy(&command).into_owned();
    Ok(Found {
        command: command.split_terminator('\0').map(str::to_owned).collect(),
        log_file: output.display().to_string(),
        process,
    })
}
