//! Checks before use: application id, version and schema of the file, and its migration.

use super::connections::{connect, name, pragma, uri_path};
use super::{APPLICATION_ID, MIGRATIONS};
use crate::error::{Damage, NotAStore, StoreError};
use crate::sqlite::fault::{Fault, Job};
use crate::sqlite::guard;
use crate::unused_rescue_file;
use rusqlite::Connection;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Does the store exist? An inaccessible store is an error, not an absence.
pub(super) fn store_exists(path: &Path) -> Result<bool, StoreError> {
    guard::check_directory(path.parent().unwrap_or(path))?.map_or(Ok(false), |dir| dir.has_store())
}

/// Returns the schema version of a file that is a store.
pub(super) fn check(conn: &Connection, path: &Path) -> Result<i64, StoreError> {
    let read = || -> Job<(i64, i64, i64)> {
        Ok((
            pragma(conn, "application_id")?,
            pragma(conn, "user_version")?,
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?,
        ))
    };
    let (id, version, tables) = read().map_err(|f| f.at(path))?;
    // All zeros mean an empty database, which is reported as damaged below.
    if id != APPLICATION_ID && (id != 0 || version != 0 || tables != 0) {
        return Err(StoreError::NotOurs {
            path: path.to_owned(),
            source: NotAStore::OfAnother,
        });
    }
    let ours = supported();
    // A store is created with its tables, so a file without them has lost them.
    if version == 0 {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            source: Damage::Empty,
        });
    }
    if version > ours {
        return Err(newer(version, path));
    }
    let layouts = usize::try_from(version)
        .ok()
        .and_then(|version| MIGRATIONS.get(..version))
        .unwrap_or(&MIGRATIONS);
    guard::check_schema(conn, layouts, path)?;
    Ok(version)
}

fn supported() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

fn newer(theirs: i64, path: &Path) -> StoreError {
    StoreError::Newer {
        path: path.to_owned(),
        theirs,
        ours: supported(),
    }
}

/// Refuses a store that a newer flightdeck has migrated since this process opened it.
pub(in crate::sqlite) fn refuse_newer(conn: &Connection, path: &Path) -> Job<()> {
    match pragma(conn, "user_version")? {
        version if version > supported() => Err(newer(version, path).into()),
        _ => Ok(()),
    }
}

pub(super) fn is_current(version: i64) -> bool {
    usize::try_from(version) == Ok(MIGRATIONS.len())
}

/// Creates the file under another name and renames it when it is complete. So an empty or partial
/// file is always a damaged one, never a new one. If another process was first, its file stays.
fn create(path: &Path) -> Result<(), StoreError> {
    let new = path.with_file_name(format!("flightdeck.{}.new", uuid::Uuid::new_v4().simple()));
    let made = fill(&new, path).and_then(|()| match name(&new, path) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        // Not every file system has links; there the rename cannot detect another process.
        Err(_) if !path.exists() => {
            std::fs::rename(&new, path).map_err(|e| StoreError::io(path, "create", e))
        }
        linked => linked.map_err(|e| StoreError::io(path, "create", e)),
    });
    // Left over after a failure, or if another process was first.
    remove(&new);
    made?;
    // The new name is durable only after a sync of the directory.
    let dir = path.parent().unwrap_or(path);
    std::fs::File::open(dir)
        .and_then(|d| d.sync_all())
        .map_err(|e| StoreError::io(dir, "write", e))
}

/// Removes an unused store with its log and shared-memory files.
pub(in crate::sqlite) fn remove(path: &Path) {
    for beside in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.to_owned().into_os_string();
        name.push(beside);
        match std::fs::remove_file(&name) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(error = %e, file = ?name, "cannot remove an unused store file")
            }
            _ => {}
        }
    }
}

pub(in crate::sqlite) fn fill(new: &Path, path: &Path) -> Result<(), StoreError> {
    std::fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(new)
        .map_err(|e| StoreError::io(path, "create", e))?;
    let job = || -> Job<()> {
        // Without write-ahead logging, because content that closing cannot move from the log to the
        // file would be lost silently.
        let conn = connect(new)?;
        conn.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
        migrate(&conn, 0)?;
        conn.execute_batch("COMMIT")?;
        conn.close().map_err(|(_, e)| e.into())
    };
    job().map_err(|f| f.at(path))
}

pub(super) fn migrate_to_current(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    if is_current(check(conn, path)?) {
        return Ok(());
    }
    // IMMEDIATE waits for another writer here instead of failing at the first write.
    conn.execute_batch("BEGIN IMMEDIATE")
        .map_err(|e| Fault::from(e).at(path))?;
    // Checked again under the lock, because another process may have migrated meanwhile.
    let migrated = check(conn, path).and_then(|version| {
        let had = usize::try_from(version).unwrap_or(0);
        migrate(conn, had).map_err(|f| f.at(path))
    });
    let end = if migrated.is_ok() {
        "COMMIT"
    } else {
        "ROLLBACK"
    };
    let ended = conn.execute_batch(end).map_err(|e| Fault::from(e).at(path));
    migrated.and(ended)
}

fn migrate(conn: &Connection, had: usize) -> Job<()> {
    for sql in MIGRATIONS.iter().skip(had) {
        conn.execute_batch(sql)?;
    }
    conn.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {};",
        MIGRATIONS.len()
    ))?;
    // A migrated file keeps its lineage and serial.
    conn.execute(
        "INSERT OR IGNORE INTO meta VALUES ('lineage', ?1)",
        [uuid::Uuid::new_v4().to_string()],
    )?;
    conn.execute("INSERT OR IGNORE INTO meta VALUES ('serial', '0')", [])?;
    Ok(())
}

/// Makes the directory and file private before SQLite opens them, because SQLite copies the file's
/// mode to its log. Inspects an existing file before any change.
pub(super) fn make_private(path: &Path) -> Result<(), StoreError> {
    let parent = path.parent().unwrap_or(path);
    if store_exists(path)? {
        guard::inspect_read_only(
            &format!("file:{}", uri_path(path)),
            |conn| check(conn, path),
            path,
        )?;
    // A new empty store would hide the state in the rescue file.
    } else if let Some(rescue) = unused_rescue_file(path) {
        return Err(StoreError::Rescued {
            path: path.to_owned(),
            rescue,
        });
    }
    let dir = guard::prepare_directory(parent)?;
    if !dir.has_store()? {
        create(path)?;
    }
    dir.permitted(true)
}
