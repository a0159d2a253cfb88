//! Output files of commands: created with mode 0600, never over flightdeck's own or configuration
//! files. A wait for a pipe or device ends with a signal.

use crate::cli::escape::safe_path;
use crate::cli::exit::CliError;
use crate::cli::signals;
use fsroot::{Refusal, RootedPath};
use model::StageRequest;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use state::StatePlace;
use std::fs::{File, Metadata};
use std::io::Write as _;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use workspace::state_location;

/// Directories of the workspace that output files are refused in.
const RESERVED_DIRECTORIES: [&str; 3] = [".flightdeck", ".terraform", "terraform.tfstate.d"];
/// Entries of the data directory that commands read and write.
const DATA_FILES: [&str; 6] = [
    "terraform.tfstate",
    "environment",
    "modules",
    "providers",
    "plugins",
    "plugin_path",
];
/// Suffixes of configuration files.
const CONFIGURATION: [&str; 13] = [
    ".tf",
    ".tf.json",
    ".tofu",
    ".tofu.json",
    ".tfvars",
    ".tfvars.json",
    ".tftest.hcl",
    ".tftest.json",
    ".tofutest.hcl",
    ".tofutest.json",
    ".terraform.lock.hcl",
    "bluelink.deploy.json",
    ".flightdeck.hcl",
];
const IS_CONFIGURATION: &str = "is a configuration file, by its name or as a link to one, and is not overwritten; choose a name with another suffix";
/// Time limit for a reader to open a pipe.
const READER: Duration = Duration::from_secs(60);
/// Time that a pipe may stay full after a signal before its reader counts as gone.
const STALLED_PIPE_TIMEOUT: Duration = Duration::from_secs(1);
/// Polling interval of waits.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

fn refused(path: &Path, why: &str) -> CliError {
    CliError::io(format!("{} {why}", safe_path(path)))
}

/// Refuses a path that must not be written. Called before any work that produces the output.
pub(in crate::cli) fn check(path: &Path) -> Result<(), CliError> {
    // Other tools write to stdout for `-`, so a file of this name would surprise.
    if path == Path::new("-") {
        return Err(refused(
            path,
            "does not mean stdout here; name a file (`./-` for a file of that name, `/dev/stdout` for stdout)",
        ));
    }
    // The target of a link counts as well as the link's own name.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if [path, &real].iter().any(|path| is_configuration(path)) {
        return Err(refused(path, IS_CONFIGURATION));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    // The file may not exist yet, so its directory is resolved.
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    for own in reserved_directories() {
        if let (Ok(own), Ok(parent)) = (own.canonicalize(), &parent)
            && parent.starts_with(&own)
            && !(*parent == own && is_free_in_data_directory(path))
        {
            return Err(refused(path, &reserved_path_text(&own)));
        }
    }
    let is_state = state_files().iter().any(|state| is_named(path, state));
    if is_state {
        return Err(refused(
            path,
            "has the state of this workspace, and is not overwritten; name another file",
        ));
    }
    refuse_links(path)
}

/// Refuses a path for a state or a state backup.
pub(super) fn check_state(path: &Path) -> Result<(), CliError> {
    if path == Path::new("-") {
        return Ok(());
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if [path, &real].iter().any(|path| is_configuration(path)) {
        return Err(refused(path, IS_CONFIGURATION));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    for own in [
        PathBuf::from(RESERVED_DIRECTORIES[0]),
        state_location::data_dir(Path::new(".")),
    ] {
        if let (Ok(own), Ok(parent)) = (own.canonicalize(), &parent)
            && parent.starts_with(&own)
        {
            return Err(refused(path, &reserved_path_text(&own)));
        }
    }
    refuse_links(path)
}

/// Returns true for a name in the data directory that no command uses: pipelines store their plans
/// there, since git ignores it.
fn is_free_in_data_directory(path: &Path) -> bool {
    let data = state_location::data_dir(Path::new("."));
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_used = |used: &str| name == used || name.starts_with(&format!("{used}."));
    parent.is_some_and(|parent| data.canonicalize().is_ok_and(|data| data == parent))
        && !name.starts_with('.')
        && !DATA_FILES.iter().any(|used| is_used(used))
}

fn is_configuration(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    CONFIGURATION.iter().any(|ending| name.ends_with(ending))
}

fn reserved_directories() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = RESERVED_DIRECTORIES.iter().map(PathBuf::from).collect();
    all.push(state_location::data_dir(Path::new(".")));
    all
}

/// Paths of the state files and their backups.
fn state_files() -> Vec<PathBuf> {
    let here = Path::new(".");
    let named = state_location::selected(here, |name| std::env::var_os(name)).unwrap_or_default();
    let mut states = vec![PathBuf::from("terraform.tfstate")];
    if let Ok(found) = state_location::locate(here, &named, &StageRequest::default())
        && let StatePlace::File(file) = found.place
    {
        states.push(file);
    }
    let backup = |state: &PathBuf| {
        let mut name = state.clone().into_os_string();
        name.push(".backup");
        PathBuf::from(name)
    };
    let backups: Vec<PathBuf> = states.iter().map(backup).collect();
    states.into_iter().chain(backups).collect()
}

/// Returns true if two paths name the same file, which need not exist.
fn is_named(path: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    whole(path).is_some_and(|path| Some(path) == whole(other)) || is_same_file(path, other)
}

fn is_same_file(path: &Path, other: &Path) -> bool {
    // Device and inode also identify hard links and bind mounts.
    let id = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    id(path).is_some_and(|found| Some(found) == id(other))
}

/// Refuses a path that leads through a symbolic link below the workspace: a clone may bring the
/// link.
pub(in crate::cli) fn refuse_links_below_workspace(path: &Path) -> Result<(), CliError> {
    let place = RootedPath::from_workspace(Path::new("."), path);
    match place.check_file() {
        Err(e) if matches!(Refusal::of(&e), Some(Refusal::Link { .. })) => Err(refused(
            path,
            "leads through a symbolic link of the workspace or its repository, which flightdeck does not follow; name the target of the link, or remove the link",
        )),
        _ => refuse_hard_link(path),
    }
}

/// Refuses a file with other names, which an unpacked archive may have outside of the workspace.
fn refuse_hard_link(path: &Path) -> Result<(), CliError> {
    let found = std::fs::symlink_metadata(path);
    match found.is_ok_and(|found| found.is_file() && found.nlink() > 1) {
        true => Err(refused(
            path,
            "has other names (hard links), and a write would change those files too; remove it, or name another file",
        )),
        false => Ok(()),
    }
}

/// Refuses another name, by symbolic or hard link, of a protected file.
fn refuse_links(path: &Path) -> Result<(), CliError> {
    let entries = |dir: &str| std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_one = |entry: std::fs::DirEntry| is_same_file(path, &entry.path());
    if entries(RESERVED_DIRECTORIES[0]).any(is_one) {
        return Err(refused(
            path,
            &reserved_path_text(Path::new(RESERVED_DIRECTORIES[0])),
        ));
    }
    let configuration = |e: &std::fs::DirEntry| is_configuration(&e.path());
    if entries(".").filter(configuration).any(is_one) {
        return Err(refused(path, IS_CONFIGURATION));
    }
    refuse_links_below_workspace(path)
}

fn reserved_path_text(dir: &Path) -> String {
    format!(
        "belongs to {}, which flightdeck manages, and is not overwritten; name a file elsewhere",
        dir.file_name().unwrap_or_default().to_string_lossy()
    )
}

/// Stops the work on a blocking thread as soon as its future is dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes `text` to `path` and overwrites the file. Waits for the reader of a pipe until the future
/// is dropped.
pub(super) async fn write_private(path: &Path, text: String) -> Result<(), CliError> {
    check(path)?;
    // A signal before this call counts, too.
    if signals::was_signalled() {
        return Err(CliError::Cancelled);
    }
    // Dropped with this future, which then ends the blocking thread.
    let stop = Stop(Arc::default());
    let (to, stopped) = (path.to_owned(), stop.0.clone());
    let written =
        tokio::task::spawn_blocking(move || write_file(&to, text.as_bytes(), &stopped)).await;
    let why = match written {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why.to_string(),
        Err(why) => why.to_string(),
    };
    Err(
        CliError::io(format!("cannot write {}: {why}", safe_path(path)))
            .hint("name a file in a directory that exists and is writable"),
    )
}

fn write_file(path: &Path, text: &[u8], stop: &AtomicBool) -> std::io::Result<()> {
    let mut file = PrivateFile::open(path, stop)?;
    match file.is_file {
        true => file.write(text)?,
        // Pipes and devices cannot be synced.
        false => return send(&file.file, text, stop),
    }
    file.sync()
}

/// Output file, pipe or device.
#[derive(Debug)]
pub(in crate::cli) struct PrivateFile {
    file: File,
    is_file: bool,
}

/// Creates a file with mode 0600 or truncates an existing one. Waits for the reader of a pipe.
///
/// # Errors
/// The path is refused, or cannot be written.
pub(in crate::cli) fn create_private(path: &Path) -> Result<PrivateFile, CliError> {
    check(path)?;
    PrivateFile::open(path, &AtomicBool::new(false)).map_err(|why| {
        CliError::io(format!("cannot write {}: {why}", safe_path(path)))
            .hint("name a file in a directory that exists and is writable")
    })
}

impl PrivateFile {
    fn open(path: &Path, stop: &AtomicBool) -> std::io::Result<Self> {
        let file = open(path, stop)?;
        let about = file.metadata()?;
        // An existing file may be readable by others.
        if about.is_file() && about.permissions().mode() & 0o077 != 0 {
            file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
        }
        Ok(Self {
            is_file: about.is_file(),
            file,
        })
    }

    /// Writes all bytes. After a signal, the wait for a full pipe ends.
    pub(in crate::cli) fn write(&mut self, text: &[u8]) -> std::io::Result<()> {
        match self.is_file {
            true => self.file.write_all(text),
            false => send_until_signal(&self.file, text),
        }
    }

    /// Syncs the file: a full disk may be reported only now.
    pub(in crate::cli) fn sync(&self) -> std::io::Result<()> {
        match self.is_file {
            true => self.file.sync_all(),
            false => Ok(()),
        }
    }
}

/// Opens a file, or a pipe as soon as it has a reader.
fn open(path: &Path, stop: &AtomicBool) -> std::io::Result<File> {
    // Nonblocking, because an open of a pipe without a reader would block and ignore `stop`.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let until = Instant::now() + READER;
    loop {
        let opened = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
            .open(path);
        // ENXIO of a pipe: it has no reader yet.
        let waits = |e: &std::io::Error| {
            let is_pipe = |about: Metadata| about.file_type().is_fifo();
            e.raw_os_error() == Some(Errno::NXIO.raw_os_error())
                && std::fs::metadata(path).is_ok_and(is_pipe)
        };
        match opened {
            Err(e) if waits(&e) => {
                check_cancelled(stop)?;
                if Instant::now() > until {
                    let why = format!(
                        "no process opened this pipe for reading within {} s",
                        READER.as_secs()
                    );
                    return Err(std::io::Error::other(why));
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            opened => return opened,
        }
    }
}

/// Writes to a pipe or device. `stop` ends the wait while it is full.
fn send(file: &File, text: &[u8], stop: &AtomicBool) -> std::io::Result<()> {
    send_while(file, text, |_| check_cancelled(stop))
}

/// Like [`send`], but after a signal a full pipe ends the write.
fn send_until_signal(file: &File, text: &[u8]) -> std::io::Result<()> {
    send_while(file, text, |full_for| match signals::was_signalled() {
        true if full_for >= STALLED_PIPE_TIMEOUT => Err(std::io::Error::other(
            "the pipe is full, and its reader does not read",
        )),
        _ => Ok(()),
    })
}

/// Writes to a pipe or device. Calls `goes_on` while it is full, with the time since then.
fn send_while(
    file: &File,
    mut text: &[u8],
    goes_on: impl Fn(Duration) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut full: Option<Instant> = None;
    while !text.is_empty() {
        match rustix::io::write(file, text) {
            Ok(n) => {
                text = &text[n..];
                // The reader has made progress: the time starts anew.
                full = None;
            }
            Err(Errno::AGAIN) => {
                goes_on(full.get_or_insert_with(Instant::now).elapsed())?;
                let mut waits = [PollFd::new(file, PollFlags::OUT)];
                poll(&mut waits, Some(&poll_timeout()))?;
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

fn poll_timeout() -> Timespec {
    Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(POLL_INTERVAL.subsec_nanos()),
    }
}

fn check_cancelled(stop: &AtomicBool) -> std::io::Result<()> {
    if stop.load(Ordering::Relaxed) {
        return Err(std::io::ErrorKind::Interrupted.into());
    }
    Ok(())
}
