//! Checks of a store before it is opened: a directory and regular files of this user, and a
//! database with exactly the schema of its version, without triggers and views. The workspace may
//! be a clone of an untrusted repository.

use super::fault::{Fault, Job};
use crate::error::{Damage, ForeignFile, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The database, SQLite's companion files, and the lock file.
const FILES: [&str; 5] = [
    "flightdeck.db",
    "flightdeck.db-wal",
    "flightdeck.db-shm",
    "flightdeck.db-journal",
    "lock",
];
const IGNORE: &str = ".gitignore";
/// Pause between attempts to read a file that another process may be writing.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// Checked directory of a store, held open.
pub(super) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

fn foreign_file_error(path: &Path, source: ForeignFile) -> StoreError {
    StoreError::Foreign {
        path: path.to_owned(),
        source,
    }
}

fn io(path: &Path, what: &str, error: Errno) -> StoreError {
    StoreError::io(path, what, error.into())
}

/// Checks the directory of a store; `None` if it does not exist.
pub(super) fn check_directory(dir: &Path) -> Result<Option<Dir>, StoreError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let fd = match rustix::fs::openat(CWD, dir, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => {
            let link = std::fs::symlink_metadata(dir).is_ok_and(|m| m.is_symlink());
            let what = if link {
                "a symbolic link"
            } else {
                "not a directory"
            };
            return Err(foreign_file_error(dir, ForeignFile::Is(what)));
        }
        Err(error) => return Err(StoreError::unreadable(dir, error.into())),
    };
    let found = rustix::fs::fstat(&fd).map_err(|e| StoreError::unreadable(dir, e.into()))?;
    check_owner(dir, &found)?;
    let it = Dir {
        fd,
        path: dir.to_owned(),
    };
    // Companion files are checked too, because SQLite would use them.
    for name in FILES.iter().chain(&[IGNORE]) {
        it.is_plain_file(name)?;
    }
    Ok(Some(it))
}

/// Checks the directory and creates it if needed; makes it private.
pub(super) fn prepare_directory(dir: &Path) -> Result<Dir, StoreError> {
    let made = match rustix::fs::mkdirat(CWD, dir, Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(io(dir, "create", error)),
    };
    let it = check_directory(dir)?.ok_or_else(|| io(dir, "open", Errno::NOENT))?;
    restrict(&it.fd, dir, Mode::RWXU)?;
    if made {
        it.ignore()?;
    }
    Ok(it)
}

impl Dir {
    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>, StoreError> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(StoreError::unreadable(&self.file(name), error.into())),
        }
    }

    /// Does the file exist? Refuses anything but a plain file of this user.
    fn is_plain_file(&self, name: &str) -> Result<bool, StoreError> {
        let Some(found) = self.stat(name)? else {
            return Ok(false);
        };
        let path = self.file(name);
        let what = match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => None,
            FileType::Symlink => Some("a symbolic link"),
            FileType::Directory => Some("a directory"),
            FileType::Fifo => Some("a named pipe"),
            FileType::Socket => Some("a socket"),
            _ => Some("a device"),
        };
        if let Some(what) = what {
            return Err(foreign_file_error(&path, ForeignFile::Is(what)));
        }
        check_owner(&path, &found)?;
        // The database is inspected before any change, so a second name for it, such as a backup,
        // is harmless.
        if found.st_nlink <= 1 || name == FILES[0] {
            return Ok(true);
        }
        Err(foreign_file_error(&path, ForeignFile::HardLinks))
    }

    /// Is there a database file?
    pub(super) fn has_store(&self) -> Result<bool, StoreError> {
        self.is_plain_file(FILES[0])
    }

    /// Checks that the database file may be read, or with `write` changed; then makes it private.
    /// Avoids opening the file, because closing it would release all POSIX locks of this process on
    /// it, including those of open connections.
    pub(super) fn permitted(&self, write: bool) -> Result<(), StoreError> {
        let path = self.file(FILES[0]);
        let refuse = |e: Errno| {
            if write {
                io(&path, "open", e)
            } else {
                StoreError::unreadable(&path, e.into())
            }
        };
        let wanted = if write {
            Access::READ_OK | Access::WRITE_OK
        } else {
            Access::READ_OK
        };
        rustix::fs::accessat(&self.fd, FILES[0], wanted, AtFlags::EACCESS).map_err(refuse)?;
        let found = self.stat(FILES[0])?.ok_or_else(|| refuse(Errno::NOENT))?;
        if !write || found.st_mode & 0o077 == 0 {
            return Ok(());
        }
        // NONBLOCK and NOCTTY, in case the file was replaced by a pipe or terminal.
        let flags =
            OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, FILES[0], flags, Mode::empty()).map_err(refuse)?;
        let found = rustix::fs::fstat(&fd).map_err(refuse)?;
        if !FileType::from_raw_mode(found.st_mode).is_file() {
            return Err(foreign_file_error(
                &path,
                ForeignFile::Is("not a regular file"),
            ));
        }
        check_owner(&path, &found)?;
        restrict(&fd, &path, Mode::RUSR | Mode::WUSR)
    }

    fn ignore(&self) -> Result<(), StoreError> {
        // The store has sensitive values and must not be committed to a repository.
        let path = self.file(IGNORE);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.fd, IGNORE, flags, Mode::from_raw_mode(0o644)) {
            Ok(fd) => std::io::Write::write_all(&mut std::fs::File::from(fd), b"*\n")
                .map_err(|e| StoreError::io(&path, "write", e)),
            Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(io(&path, "write", error)),
        }
    }
}

/// Refuses files of other users, who could change them at any time. For root under sudo, the
/// invoking user's files are allowed.
fn check_owner(path: &Path, found: &Stat) -> Result<(), StoreError> {
    let me = rustix::process::geteuid().as_raw();
    let behind = || {
        std::env::var("SUDO_UID")
            .ok()
            .and_then(|uid| uid.parse().ok())
    };
    if found.st_uid == me || (me == 0 && behind() == Some(found.st_uid)) {
        return Ok(());
    }
    Err(StoreError::NotYours {
        path: path.to_owned(),
        owner: found.st_uid,
        me,
    })
}

/// Removes the permissions of group and others.
fn restrict(fd: &OwnedFd, path: &Path, mode: Mode) -> Result<(), StoreError> {
    let now = rustix::fs::fstat(fd)
        .map_err(|e| io(path, "inspect", e))?
        .st_mode;
    if now & 0o077 != 0 {
        rustix::fs::fchmod(fd, mode).map_err(|e| io(path, "restrict", e))?;
    }
    Ok(())
}

/// Hardens a connection against a hostile database. Our schema has neither triggers nor views.
pub(super) fn harden(conn: &Connection) -> Job<()> {
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        conn.set_db_config(config, on)?;
    }
    Ok(())
}

/// Inspects a database file without locks and companion files. If there is a log, the file alone
/// may be inconsistent; then damage is ignored here and found when both are opened.
pub(super) fn inspect_read_only<T>(
    uri: &str,
    look: impl Fn(&Connection) -> Result<T, StoreError>,
    path: &Path,
) -> Result<(), StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let once = || {
        let conn = Connection::open_with_flags(format!("{uri}?immutable=1"), flags)
            .map_err(|e| Fault::from(e).at(path))?;
        harden(&conn).map_err(|f| f.at(path))?;
        look(&conn).map(drop)
    };
    // Another process may be writing the page just read.
    let mut answer = once();
    for _ in 0..2 {
        if answer.is_ok() {
            break;
        }
        std::thread::sleep(RETRY_PAUSE);
        answer = once();
    }
    match answer {
        Err(StoreError::Damaged { .. }) if path.with_file_name(FILES[1]).exists() => Ok(()),
        answer => answer,
    }
}

/// Checks that a database has exactly the schema of its version.
pub(super) fn check_schema(
    conn: &Connection,
    layouts: &[&str],
    path: &Path,
) -> Result<(), StoreError> {
    // The expected schema is built in memory by the same migrations.
    let made = || -> Job<Vec<Object>> {
        let model = Connection::open_in_memory()?;
        layouts
            .iter()
            .try_for_each(|sql| model.execute_batch(sql))?;
        objects(&model)
    };
    let want = made().map_err(|f| f.at(path))?;
    let have = objects(conn).map_err(|f| f.at(path))?;
    let name = |o: &Object| format!("the {} {:?}", o.0, o.1);
    if let Some(extra) = have.iter().find(|o| !want.contains(o)) {
        return Err(foreign_file_error(path, ForeignFile::Object(name(extra))));
    }
    match want.iter().find(|o| !have.contains(o)) {
        Some(lost) => Err(StoreError::Damaged {
            path: path.to_owned(),
            source: Damage::MissingPart(name(lost)),
        }),
        None => Ok(()),
    }
}

/// Type, name, table and SQL.
type Object = (String, String, String, Option<String>);

fn objects(conn: &Connection) -> Job<Vec<Object>> {
    // Tables of SQLite's `ANALYZE` are harmless.
    let mut all = conn.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'")?;
    let all = all.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?;
    Ok(all.collect::<Result<_, _>>()?)
}
