//! Connections to the file: the one that writes, those that read, and what each is set to.

use super::schema::{bring_forward, check, is_current, make_private};
use crate::engine::store::error::{BUSY_SECONDS, StoreError};
use crate::engine::store::sqlite::fault::Job;
use crate::engine::store::sqlite::guard;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long to wait before a change of mode is tried again.
const AGAIN: Duration = Duration::from_millis(10);

pub(super) fn pragma(conn: &Connection, name: &str) -> Result<i64, rusqlite::Error> {
    conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    // Asked of the system first, which says why; SQLite would only say that it cannot.
    if let Some(dir) = guard::look(path.parent().unwrap_or(path))? {
        dir.permitted(false)?;
    }
    let uri = format!("file:{}", uri_path(path));
    guard::untouched(&uri, |conn| check(conn, path), path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let open = |uri: &str| -> Job<Connection> {
        let conn = Connection::open_with_flags(uri, flags)?;
        conn.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
        guard::defend(&conn)?;
        pragma(&conn, "schema_version")?;
        Ok(conn)
    };
    let conn = open(&uri).map_err(|f| f.at(path)).or_else(|e| match e {
        // Without write permission the shared memory file cannot be made; with no writer about the
        // file is safe to read as it is.
        StoreError::ReadOnlyDirectory { .. }
            if !path.with_file_name("flightdeck.db-wal").exists() =>
        {
            open(&format!("{uri}?immutable=1")).map_err(|f| f.at(path))
        }
        other => Err(other),
    })?;
    let version = check(&conn, path)?;
    if !is_current(version) {
        drop(conn);
        drop(open_writer(path)?);
        return open_reader(path);
    }
    Ok(conn)
}

/// A path as it stands in a `file:` address.
pub(super) fn uri_path(path: &Path) -> String {
    path.to_string_lossy()
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

pub(super) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    make_private(path)?;
    let conn = connect(path).map_err(|f| f.at(path))?;
    check(&conn, path)?;
    set(&conn).map_err(|f| f.at(path))?;
    bring_forward(&conn, path)?;
    Ok(conn)
}

pub(in crate::engine::store::sqlite) fn connect(path: &Path) -> Job<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
    guard::defend(&conn)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// What it takes to undo a savepoint, which each job of the writer has, stays in memory: in a
/// temporary file, SQLite's usual place for it, it was two of three writes of a large deploy.
fn set(conn: &Connection) -> Job<()> {
    into_log(conn)?;
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(())
}

/// Has the file written by way of a log, which is so from its first writer on. Of several that
/// begin at once SQLite refuses all but one here without waiting: the change is made under a lock
/// for reading, and a lock for writing is not waited for by whoever holds one.
fn into_log(conn: &Connection) -> Job<()> {
    let until = Instant::now() + Duration::from_secs(BUSY_SECONDS);
    loop {
        match conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(e)
                if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(AGAIN);
            }
            tried => return Ok(tried?),
        }
    }
}

/// Gives the file its name unless there is one of that name: [`std::fs::rename`] would take its
/// place.
pub(super) fn name(new: &Path, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::hard_link(new, path),
        renamed => renamed.map_err(Into::into),
    }
}
