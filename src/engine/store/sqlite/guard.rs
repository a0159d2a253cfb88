//! What a store may be before anything of it is touched or opened for writing: our own directory,
//! our own plain files in it, and a database as our layouts make it, without triggers and views. A
//! workspace may be a clone of anybody's repository.

use super::fault::{Fault, Job};
use crate::engine::store::error::{Alien, Damage, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The database, what SQLite puts beside it, and the file that the lock is on.
const FILES: [&str; 5] = [
    "flightdeck.db",
    "flightdeck.db-wal",
    "flightdeck.db-shm",
    "flightdeck.db-journal",
    "lock",
];
const IGNORE: &str = ".gitignore";
/// How long apart a file is looked at again that another flightdeck may be writing.
const APART: Duration = Duration::from_millis(5);

/// The directory of a store that has been looked at, held open.
pub(super) struct Dir {
    fd: OwnedFd,
    path: PathBuf,
}

fn foreign(path: &Path, source: Alien) -> StoreError {
    StoreError::Foreign {
        path: path.to_owned(),
        source,
    }
}

fn io(path: &Path, what: &str, error: Errno) -> StoreError {
    StoreError::io(path, what, error.into())
}

/// Looks at the directory of a store; `None` where there is none.
pub(super) fn look(dir: &Path) -> Result<Option<Dir>, StoreError> {
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
            return Err(foreign(dir, Alien::Is(what)));
        }
        Err(error) => return Err(StoreError::unreadable(dir, error.into())),
    };
    let found = rustix::fs::fstat(&fd).map_err(|e| StoreError::unreadable(dir, e.into()))?;
    owned(dir, &found)?;
    let it = Dir {
        fd,
        path: dir.to_owned(),
    };
    for name in FILES.iter().chain(&[IGNORE]) {
        it.plain(name)?;
    }
    Ok(Some(it))
}

/// The same, making the directory where there is none. Both are for us alone afterwards.
pub(super) fn prepare(dir: &Path) -> Result<Dir, StoreError> {
    let made = match rustix::fs::mkdirat(CWD, dir, Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(io(dir, "create", error)),
    };
    let it = look(dir)?.ok_or_else(|| io(dir, "open", Errno::NOENT))?;
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

    /// Whether there is such a file; refused where it is anything but a plain one of ours.
    fn plain(&self, name: &str) -> Result<bool, StoreError> {
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
            return Err(foreign(&path, Alien::Is(what)));
        }
        owned(&path, &found)?;
        // The database itself is looked into before it is changed, and may be kept elsewhere under
        // another name.
        if found.st_nlink <= 1 || name == FILES[0] {
            return Ok(true);
        }
        Err(foreign(&path, Alien::HardLinks))
    }

    /// Whether there is a database file.
    pub(super) fn has_store(&self) -> Result<bool, StoreError> {
        self.plain(FILES[0])
    }

    /// Whether the database file may be read, or with `write` changed; then it is made private.
    /// Asked without opening it where that can be: closing a file gives back all locks that this
    /// process has on it, those of open connections too.
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
        let flags =
            OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, FILES[0], flags, Mode::empty()).map_err(refuse)?;
        let found = rustix::fs::fstat(&fd).map_err(refuse)?;
        if !FileType::from_raw_mode(found.st_mode).is_file() {
            return Err(foreign(&path, Alien::Is("not a plain file")));
        }
        owned(&path, &found)?;
        restrict(&fd, &path, Mode::RUSR | Mode::WUSR)
    }

    fn ignore(&self) -> Result<(), StoreError> {
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

/// Refuses what somebody else owns: whoever owns it can change it under us. Root who works for
/// somebody is that somebody.
fn owned(path: &Path, found: &Stat) -> Result<(), StoreError> {
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

/// Takes away what others may do with it.
fn restrict(fd: &OwnedFd, path: &Path, mode: Mode) -> Result<(), StoreError> {
    let now = rustix::fs::fstat(fd)
        .map_err(|e| io(path, "look at", e))?
        .st_mode;
    if now & 0o077 != 0 {
        rustix::fs::fchmod(fd, mode).map_err(|e| io(path, "restrict", e))?;
    }
    Ok(())
}

/// What a database may do to whoever opens it: nothing. Our layouts have neither triggers nor
/// views.
pub(super) fn defend(conn: &Connection) -> Job<()> {
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

/// Looks into a database file without locks, companions or traces before it is opened like a store.
/// Where there is a log beside it, the file alone may be between two moments: then damage is not
/// seen here but by whoever opens both.
pub(super) fn untouched<T>(
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
        defend(&conn).map_err(|f| f.at(path))?;
        look(&conn).map(drop)
    };
    // Another flightdeck may be writing the very page that is read.
    let mut answer = once();
    for _ in 0..2 {
        if answer.is_ok() {
            break;
        }
        std::thread::sleep(APART);
        answer = once();
    }
    match answer {
        Err(StoreError::Damaged { .. }) if path.with_file_name(FILES[1]).exists() => Ok(()),
        answer => answer,
    }
}

/// A database has what the layouts up to its version make, and nothing else.
pub(super) fn as_made(conn: &Connection, layouts: &[&str], path: &Path) -> Result<(), StoreError> {
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
        return Err(foreign(path, Alien::Object(name(extra))));
    }
    match want.iter().find(|o| !have.contains(o)) {
        Some(lost) => Err(StoreError::Damaged {
            path: path.to_owned(),
            source: Damage::Lost(name(lost)),
        }),
        None => Ok(()),
    }
}

/// Kind, name, table and text.
type Object = (String, String, String, Option<String>);

fn objects(conn: &Connection) -> Job<Vec<Object>> {
    // What SQLite's own `ANALYZE` leaves is nobody's.
    let mut all = conn.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\'")?;
    let all = all.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?)))?;
    Ok(all.collect::<Result<_, _>>()?)
}
