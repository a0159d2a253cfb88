//! The copy of the state: objects and outputs, edited in batches of one transaction and one serial.

use super::deploys::{delete_all, delete_for_address, shift as move_steps};
use super::fault::{Fault, Job};
use super::file::Sqlite;
use super::observations;
use crate::States;
use crate::error::StoreError;
use crate::records::{BackendVersion, Revision, State, StateEdit, StateObject, StateOutput};
use async_trait::async_trait;
use model::mutex::lock;
use rusqlite::{Connection, OptionalExtension, Row};

#[async_trait]
impl States for Sqlite {
    async fn state(&self) -> Result<State, StoreError> {
        self.read(load_state).await
    }

    async fn object(&self, address: &str) -> Result<Option<StateObject>, StoreError> {
        let address = address.to_owned();
        self.read(move |conn| current(conn, &address)).await
    }

    async fn state_serial(&self) -> Result<i64, StoreError> {
        self.read(serial).await
    }

    async fn state_version(&self) -> Result<(String, i64), StoreError> {
        self.read(|conn| Ok((meta(conn, "lineage")?.unwrap_or_default(), serial(conn)?)))
            .await
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.read(|conn| {
            let (deploy, ended) = conn
                .prepare_cached("SELECT max(id), max(ended) FROM deploy")?
                .query_row([], |r| Ok((r.get(0)?, r.get(1)?)))?;
            Ok(Revision {
                lineage: meta(conn, "lineage")?.unwrap_or_default(),
                serial: serial(conn)?,
                deploy,
                ended,
            })
        })
        .await
    }

    async fn edit_state(&self, edits: Vec<StateEdit>) -> Result<i64, StoreError> {
        let shadow = self.running_deploy();
        self.write("the state", move |conn| {
            let serial = edit(conn, &edits);
            if let Some(shadow) = &mut *lock(&shadow) {
                shadow.edit(edits);
            }
            serial
        })
        .await
    }

    async fn backend_version(&self) -> Result<BackendVersion, StoreError> {
        self.read(backend_version).await
    }

    async fn bound_place(&self) -> Result<String, StoreError> {
        let found = self.read(|conn| meta(conn, BOUND_PLACE)).await?;
        Ok(found.unwrap_or_default())
    }

    async fn bind_place(&self, place: &str) -> Result<String, StoreError> {
        let place = place.to_owned();
        self.write("the place of the state", move |conn| {
            let bound = meta(conn, BOUND_PLACE)?.unwrap_or_default();
            if !bound.is_empty() {
                return Ok(bound);
            }
            set_meta(conn, BOUND_PLACE, &place)?;
            Ok(place)
        })
        .await
    }

    async fn rebind_place(&self, place: &str, home: BackendVersion) -> Result<(), StoreError> {
        let place = place.to_owned();
        self.write("the place of the state", move |conn| {
            set_meta(conn, BOUND_PLACE, &place)?;
            set_backend_version(conn, &home)
        })
        .await
    }

    async fn state_lock(&self) -> Result<String, StoreError> {
        let found = self.read(|conn| meta(conn, STATE_LOCK)).await?;
        Ok(found.unwrap_or_default())
    }

    async fn set_state_lock(&self, id: &str) -> Result<(), StoreError> {
        let id = id.to_owned();
        self.write("the state lock", move |conn| {
            set_meta(conn, STATE_LOCK, &id)
        })
        .await
    }

    async fn written_serial(&self, lineage: &str) -> Result<i64, StoreError> {
        let key = written_key(lineage);
        self.read(move |conn| meta_number(conn, &key)).await
    }

    async fn set_written_serial(&self, lineage: &str, serial: i64) -> Result<(), StoreError> {
        let key = written_key(lineage);
        self.write("the backend record", move |conn| {
            set_meta(conn, &key, &serial.to_string())
        })
        .await
    }

    async fn set_backend_version(&self, home: BackendVersion) -> Result<(), StoreError> {
        let shadow = self.running_deploy();
        self.write("the backend record", move |conn| {
            set_backend_version(conn, &home)?;
            if let Some(shadow) = &mut *lock(&shadow) {
                shadow.set_backend_version(home);
            }
            Ok(())
        })
        .await
    }

    async fn replace_with_backend(
        &self,
        state: State,
        home: BackendVersion,
    ) -> Result<(), StoreError> {
        self.write("the state", move |conn| {
            conn.execute_batch("DELETE FROM state_resource; DELETE FROM state_output")?;
            // Recorded steps belong to objects of the replaced state.
            delete_all(conn)?;
            replace(conn, &state)?;
            set_backend_version(conn, &home)
        })
        .await
    }
}

pub(super) fn backend_version(conn: &Connection) -> Job<BackendVersion> {
    let found = conn
        .prepare_cached("SELECT place, digest, serial, writing FROM home")?
        .query_row([], |r| {
            Ok(BackendVersion {
                place: r.get(0)?,
                digest: r.get(1)?,
                serial: r.get(2)?,
                writing: r.get(3)?,
            })
        });
    Ok(found.optional()?.unwrap_or_default())
}

/// Key of `meta` for the place of the state that the store has a copy of.
const BOUND_PLACE: &str = "bound_place";

/// Key of `meta` for the id of the last state lock of a command that writes.
const STATE_LOCK: &str = "state_lock";

/// Key of `meta` for the serial of the newest state of a lineage that was written to the backend.
fn written_key(lineage: &str) -> String {
    format!("written_serial {lineage}")
}

pub(super) fn set_backend_version(conn: &Connection, home: &BackendVersion) -> Job<()> {
    // The end of a write of this store; its serial is then in the backend.
    if !home.writing && backend_version(conn)?.writing {
        let lineage: String = meta(conn, "lineage")?.unwrap_or_default();
        set_meta(conn, &written_key(&lineage), &home.serial.to_string())?;
    }
    conn.prepare_cached("INSERT OR REPLACE INTO home (one, place, digest, serial, writing) VALUES (1, ?1, ?2, ?3, ?4)")?
        .execute((&home.place, &home.digest, home.serial, home.writing))?;
    Ok(())
}

/// Keys of `meta` for check results and unknown fields.
const CHECK_RESULTS: &str = "check_results";
const STATE_REST: &str = "state_rest";

/// Read by index: lookups by name took a third of the time to read a state.
const OBJECTS: &str = "SELECT address, deposed, provider, schema_version, attributes, sensitive,
    private, tainted, create_before_destroy, skip_destroy, identity, identity_version, rest,
    dependencies, needs FROM state_resource";

pub(super) fn load_state(conn: &Connection) -> Job<State> {
    let mut objects = conn.prepare_cached(&format!("{OBJECTS} ORDER BY address, deposed"))?;
    let objects = objects
        .query_map([], object)?
        .collect::<Result<Vec<_>, _>>()?;
    let mut outputs = conn.prepare_cached(
        "SELECT name, value, type, sensitive, rest FROM state_output ORDER BY name",
    )?;
    let outputs = outputs
        .query_map([], |r| {
            Ok(StateOutput {
                name: r.get(0)?,
                value: r.get(1)?,
                ty: r.get(2)?,
                sensitive: r.get(3)?,
                rest: r.get(4)?,
            })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let objects = objects
        .into_iter()
        .map(with_dependencies)
        .collect::<Job<Vec<_>>>()?;
    Ok(State {
        serial: serial(conn)?,
        lineage: meta(conn, "lineage")?.unwrap_or_default(),
        objects,
        outputs,
        check_results: meta(conn, CHECK_RESULTS)?.filter(|text| !text.is_empty()),
        rest: meta(conn, STATE_REST)?.unwrap_or_default(),
    })
}

fn current(conn: &Connection, address: &str) -> Job<Option<StateObject>> {
    let found = conn
        .prepare_cached(&format!("{OBJECTS} WHERE address = ?1 AND deposed = ''"))?
        .query_row([address], object)
        .optional()?;
    found.map(with_dependencies).transpose()
}

/// Inserts a state into empty tables.
pub(super) fn replace(conn: &Connection, state: &State) -> Job<()> {
    state
        .objects
        .iter()
        .try_for_each(|o| upsert_object(conn, o))?;
    state.outputs.iter().try_for_each(|o| put_output(conn, o))?;
    set_meta(conn, "serial", &state.serial.to_string())?;
    set_meta(
        conn,
        CHECK_RESULTS,
        state.check_results.as_deref().unwrap_or_default(),
    )?;
    set_meta(conn, STATE_REST, &state.rest)?;
    set_meta(conn, "lineage", &state.lineage)
}

fn put_output(conn: &Connection, output: &StateOutput) -> Job<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO state_output (name, value, type, sensitive, rest) VALUES (?1, ?2, ?3, ?4, ?5)")?.execute((
        &output.name,
        &output.value,
        &output.ty,
        output.sensitive,
        &output.rest,
    ))?;
    Ok(())
}

pub(super) fn meta(conn: &Connection, key: &str) -> Job<Option<String>> {
    Ok(conn
        .prepare_cached("SELECT value FROM meta WHERE key = ?1")?
        .query_row([key], |r| r.get(0))
        .optional()?)
}

pub(super) fn set_meta(conn: &Connection, key: &str, value: &str) -> Job<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)")?
        .execute([key, value])?;
    Ok(())
}

/// Number in `meta`; 0 if missing.
pub(super) fn meta_number(conn: &Connection, key: &str) -> Job<i64> {
    Ok(meta(conn, key)?
        .and_then(|text| text.parse().ok())
        .unwrap_or(0))
}

fn serial(conn: &Connection) -> Job<i64> {
    meta_number(conn, "serial")
}

/// Reads a row. Dependencies are JSON text and parsed later, because this closure can only return
/// errors of rusqlite.
fn object(r: &Row<'_>) -> Result<(StateObject, [String; 2]), rusqlite::Error> {
    let object = StateObject {
        address: r.get(0)?,
        deposed: r.get(1)?,
        provider: r.get(2)?,
        schema_version: r.get(3)?,
        attributes: r.get(4)?,
        sensitive: r.get(5)?,
        private: r.get(6)?,
        tainted: r.get(7)?,
        create_before_destroy: r.get(8)?,
        skip_destroy: r.get(9)?,
        dependencies: Vec::new(),
        needs: Vec::new(),
        identity: r.get(10)?,
        identity_version: r.get(11)?,
        rest: r.get(12)?,
    };
    Ok((object, [r.get(13)?, r.get(14)?]))
}

fn with_dependencies(
    (mut object, [dependencies, needs]): (StateObject, [String; 2]),
) -> Job<StateObject> {
    object.dependencies =
        serde_json::from_str(&dependencies).map_err(|e| Fault::Json("dependencies", e))?;
    object.needs = serde_json::from_str(&needs).map_err(|e| Fault::Json("needs", e))?;
    Ok(object)
}

/// Applies the edits of a deploy's step in the caller's transaction. Clears the check results,
/// which describe the state before the deploy, until the deploy has evaluated all checks.
pub(super) fn apply(conn: &Connection, edits: &[StateEdit]) -> Job<i64> {
    if !edits.is_empty() {
        set_meta(conn, CHECK_RESULTS, "")?;
    }
    edit(conn, edits)
}

/// Applies a batch in the caller's transaction and returns the serial. Check results stay unless
/// the batch has new ones.
pub(super) fn edit(conn: &Connection, edits: &[StateEdit]) -> Job<i64> {
    let before = serial(conn)?;
    if edits.is_empty() {
        return Ok(before);
    }
    // Compared without order, because check results have none.
    if let [StateEdit::Checks(text)] = edits
        && same_checks(&meta(conn, CHECK_RESULTS)?.unwrap_or_default(), text)
    {
        return Ok(before);
    }
    for edit in edits {
        apply_one(conn, edit)?;
    }
    set_meta(conn, "serial", &(before + 1).to_string())?;
    Ok(before + 1)
}

/// Are two texts of check results equal, apart from their order?
fn same_checks(old: &str, new: &Option<String>) -> bool {
    type Results = Vec<serde_json::Value>;
    let sorted = |text: &str| {
        let mut all: Results = serde_json::from_str(text).unwrap_or_default();
        for one in &mut all {
            if let Some(objects) = one["objects"].as_array_mut() {
                objects.sort_by_cached_key(|o| o["object_addr"].to_string());
            }
        }
        all.sort_by_cached_key(|one| format!("{} {}", one["object_kind"], one["config_addr"]));
        all
    };
    sorted(old) == sorted(new.as_deref().unwrap_or_default())
}

fn apply_one(conn: &Connection, edit: &StateEdit) -> Job<()> {
    match edit {
        StateEdit::Put(object) => upsert_object(conn, object)?,
        StateEdit::Remove { address, deposed } => {
            conn.prepare_cached("DELETE FROM state_resource WHERE address = ?1 AND deposed = ?2")?
                .execute([address, deposed])?;
            // Recorded destroy steps belong to the current object only.
            if deposed.is_empty() {
                delete_for_address(conn, address)?;
                observations::delete_current(conn, address)?;
            }
        }
        StateEdit::Move { from, to } => shift(conn, from, to)?,
        StateEdit::PutOutput(output) => put_output(conn, output)?,
        StateEdit::RemoveOutput { name } => {
            conn.prepare_cached("DELETE FROM state_output WHERE name = ?1")?
                .execute([name])?;
        }
        StateEdit::Depose { address, key } => {
            conn.prepare_cached(
                "UPDATE state_resource SET deposed = ?2 WHERE address = ?1 AND deposed = ''",
            )?
            .execute([address, key])?;
            delete_for_address(conn, address)?;
            observations::delete_current(conn, address)?;
        }
        // If a new object has the place, the old one stays deposed, so neither is lost.
        StateEdit::Restore { address, key } => {
            conn.prepare_cached(
                "UPDATE state_resource SET deposed = '' WHERE address = ?1 AND deposed = ?2
                 AND NOT EXISTS (SELECT 1 FROM state_resource WHERE address = ?1 AND deposed = '')",
            )?
            .execute([address, key])?;
        }
        StateEdit::Checks(text) => {
            set_meta(conn, CHECK_RESULTS, text.as_deref().unwrap_or_default())?
        }
    }
    Ok(())
}

fn upsert_object(conn: &Connection, o: &StateObject) -> Job<()> {
    let dependencies =
        serde_json::to_string(&o.dependencies).map_err(|e| Fault::Json("dependencies", e))?;
    let needs = serde_json::to_string(&o.needs).map_err(|e| Fault::Json("needs", e))?;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO state_resource (address, deposed, provider, schema_version, attributes, sensitive, private, tainted,
         create_before_destroy, dependencies, identity, identity_version, skip_destroy, needs, rest)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?
    .execute(rusqlite::params![
        o.address,
        o.deposed,
        o.provider,
        o.schema_version,
        o.attributes,
        o.sensitive,
        o.private,
        o.tainted,
        o.create_before_destroy,
        dependencies,
        o.identity,
        o.identity_version,
        o.skip_destroy,
        needs,
        o.rest
    ])?;
    Ok(())
}

/// Moves the current object and its deposed ones.
fn shift(conn: &Connection, from: &str, to: &str) -> Job<()> {
    if from == to {
        return Ok(());
    }
    // Deposed objects count too: the moved ones could not be told from them.
    let taken: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM state_resource WHERE address = ?1)")?
        .query_row([to], |r| r.get(0))?;
    let there: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM state_resource WHERE address = ?1)")?
        .query_row([from], |r| r.get(0))?;
    if !there {
        return Ok(());
    }
    if taken {
        return Err(StoreError::Occupied {
            from: from.to_owned(),
            to: to.to_owned(),
        }
        .into());
    }
    conn.prepare_cached("UPDATE state_resource SET address = ?2 WHERE address = ?1")?
        .execute([from, to])?;
    observations::shift(conn, from, to)?;
    move_steps(conn, from, to)
}
