//! Connections to the database file: the writer's, the readers', and their settings.

use super::schema::{check, is_current, make_private, migrate_to_current};
use crate::error::{BUSY_SECONDS, StoreError};
use crate::sqlite::fault::Job;
use crate::sqlite::guard;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::{Duration, Instant};

/// Pause between attempts to change the journal mode.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

pub(super) fn pragma(conn: &Connection, name: &str) -> Result<i64, rusqlite::Error> {
    conn.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))
}

pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    // The system explains a refusal; SQLite only reports that it cannot open the file.
    if let Some(dir) = guard::check_directory(path.parent().unwrap_or(path))? {
        dir.permitted(false)?;
    }
    let uri = format!("file:{}", uri_path(path));
    // Inspected before SQLite may create files next to it.
    guard::inspect_read_only(&uri, |conn| check(conn, path), path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let open = |uri: &str| -> Job<Connection> {
        let conn = Connection::open_with_flags(uri, flags)?;
        conn.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
        guard::harden(&conn)?;
        pragma(&conn, "schema_version")?;
        Ok(conn)
    };
    let conn = open(&uri).map_err(|f| f.at(path)).or_else(|e| match e {
        // Without write permission SQLite cannot create the shared-memory file. Without a writer's
        // log the file is consistent and can be read as it is.
        StoreError::ReadOnlyDirectory { .. }
            if !path.with_file_name("flightdeck.db-wal").exists() =>
        {
            open(&format!("{uri}?immutable=1")).map_err(|f| f.at(path))
        }
        other => Err(other),
    })?;
    let version = check(&conn, path)?;
    // Only a writer can migrate.
    if !is_current(version) {
        drop(conn);
        drop(open_writer(path)?);
        return open_reader(path);
    }
    Ok(conn)
}

/// Escapes a path for a `file:` URI.
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
    migrate_to_current(&conn, path)?;
    Ok(conn)
}

pub(in crate::sqlite) fn connect(path: &Path) -> Job<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::from_secs(BUSY_SECONDS))?;
    guard::harden(&conn)?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

/// Keeps statement journals in memory. Each job of the writer is a savepoint, and temporary files
/// for them made two of three writes of a large deploy.
fn set(conn: &Connection) -> Job<()> {
    enable_wal(conn)?;
    // FULL until the writer thread chooses for each batch.
    conn.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(())
}

/// Switches the file to write-ahead logging, which persists. If several processes do this at once,
/// SQLite refuses all but one without its busy timeout, because each already holds a read lock.
fn enable_wal(conn: &Connection) -> Job<()> {
    let until = Instant::now() + Duration::from_secs(BUSY_SECONDS);
    loop {
        match conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(e)
                if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < until =>
            {
                std::thread::sleep(RETRY_PAUSE);
            }
            tried => return Ok(tried?),
        }
    }
}

/// Renames the file unless the name is taken; [`std::fs::rename`] would replace the other file.
pub(super) fn name(new: &Path, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;
    match renameat_with(CWD, new, CWD, path, RenameFlags::NOREPLACE) {
        // Not every file system has the flag. A hard link also fails if the name exists.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => std::fs::hard_link(new, path),
        renamed => renamed.map_err(Into::into),
    }
}
