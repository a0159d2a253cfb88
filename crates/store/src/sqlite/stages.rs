//! Stages and their configurations; each configuration is stored once for each digest.

use super::fault::{Fault, Job};
use super::file::Sqlite;
use super::state::{meta_number, set_meta};
use crate::Stages;
use crate::error::StoreError;
use crate::records::{CompressedJson, StageRecord};
use async_trait::async_trait;
use model::{OperationStep, StageId};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// Number of complete stages. Older ones are deleted, except named ones and the summaries of
/// deployed ones.
const MAX_STAGES: i64 = 50;

/// Condition for a complete stage: compressed, or plain as in older versions.
macro_rules! whole {
    () => {
        "(packed_detail IS NOT NULL OR detail <> '')"
    };
}

#[async_trait]
impl Stages for Sqlite {
    async fn next_stage_id(&self) -> Result<StageId, StoreError> {
        self.write_later("a stage", |conn| {
            let id = meta_number(conn, "last_stage")? + 1;
            set_meta(conn, "last_stage", &id.to_string())?;
            Ok(id)
        })
        .await
    }

    async fn put_stage(&self, stage: StageRecord) -> Result<(), StoreError> {
        self.write_later("a stage", move |conn| {
            insert(conn, &stage)?;
            trim(conn, stage.id)
        })
        .await
    }

    async fn stage(&self, id: StageId) -> Result<Option<StageRecord>, StoreError> {
        self.read(move |conn| {
            query_one(
                conn,
                concat!("SELECT * FROM stage WHERE id = ?1 AND ", whole!()),
                [id],
            )
        })
        .await
    }

    async fn deselected(&self, id: StageId) -> Result<Vec<String>, StoreError> {
        self.read(move |conn| {
            let left: Option<String> = conn
                .prepare_cached(concat!(
                    "SELECT left_out FROM stage WHERE id = ?1 AND ",
                    whole!()
                ))?
                .query_row([id], |r| r.get(0))
                .optional()?;
            left.map_or(Ok(Vec::new()), |left| parse("selection", &left))
        })
        .await
    }

    async fn stage_named(&self, name: &str) -> Result<Option<StageRecord>, StoreError> {
        let name = name.to_owned();
        self.read(move |conn| {
            query_one(
                conn,
                concat!(
                    "SELECT * FROM stage WHERE name = ?1 AND ",
                    whole!(),
                    " ORDER BY id DESC LIMIT 1"
                ),
                [name],
            )
        })
        .await
    }

    async fn latest_stage(&self) -> Result<Option<StageRecord>, StoreError> {
        self.read(|conn| {
            query_one(
                conn,
                concat!(
                    "SELECT * FROM stage WHERE ",
                    whole!(),
                    " ORDER BY id DESC LIMIT 1"
                ),
                [],
            )
        })
        .await
    }

    async fn set_deselected(&self, id: StageId, left: Vec<String>) -> Result<(), StoreError> {
        self.write_later("a selection", move |conn| {
            let changed = conn.execute(
                "UPDATE stage SET left_out = ?2 WHERE id = ?1",
                (id, json("selection", &left)?),
            )?;
            if changed == 0 {
                Err(StoreError::Missing {
                    what: "stage",
                    id: id.to_string(),
                }
                .into())
            } else {
                Ok(())
            }
        })
        .await
    }

    async fn snapshot(&self, digest: &str) -> Result<Option<Vec<(String, String)>>, StoreError> {
        let digest = digest.to_owned();
        self.read(move |conn| files(conn, &digest)).await
    }

    async fn stage_inputs(&self, id: StageId) -> Result<Option<CompressedJson>, StoreError> {
        self.read(move |conn| inputs(conn, id)).await
    }
}

pub(super) fn json<T: Serialize + ?Sized>(what: &'static str, value: &T) -> Job<String> {
    serde_json::to_string(value).map_err(|e| Fault::Json(what, e))
}

pub(super) fn parse<T: DeserializeOwned>(what: &'static str, text: &str) -> Job<T> {
    serde_json::from_str(text).map_err(|e| Fault::Json(what, e))
}

/// Serializes an enum without data for a column.
pub(super) fn enum_text<T: Serialize>(what: &'static str, value: &T) -> Job<String> {
    Ok(json(what, value)?.trim_matches('"').to_owned())
}

/// Parses an enum from a column.
pub(super) fn from_word<T: DeserializeOwned>(what: &'static str, word: &str) -> Job<T> {
    parse(what, &format!("\"{word}\""))
}

fn insert(conn: &Connection, stage: &StageRecord) -> Job<()> {
    conn.prepare_cached("INSERT OR IGNORE INTO config_snapshot (digest, files) VALUES (?1, ?2)")?
        .execute((&stage.config_digest, json("snapshot", &stage.snapshot)?))?;
    let inputs_digest = stage.inputs.as_ref().map(|inputs| {
        let digest = Sha256::digest(inputs.bytes());
        hex::encode(digest)
    });
    if let (Some(digest), Some(inputs)) = (&inputs_digest, &stage.inputs) {
        conn.prepare_cached("INSERT OR IGNORE INTO stage_inputs (digest, packed) VALUES (?1, ?2)")?
            .execute((digest, inputs.bytes()))?;
    }
    // The empty columns belong to older versions.
    conn.prepare_cached(
        "INSERT OR REPLACE INTO stage (id, name, at, mode, config_digest, variables_digest, plugins_digest, state_serial, counts, summary, detail, left_out, packed_summary, packed_detail, inputs_digest)
         VALUES (?1, ?2, ?3, ?4, ?5, '', ?6, ?7, ?8, '', '', ?9, ?10, ?11, ?12)",
    )?
    .execute(rusqlite::params![
        stage.id,
        stage.name,
        stage.at,
        enum_text("mode", &stage.mode)?,
        stage.config_digest,
        stage.plugins_digest,
        stage.state_serial,
        json("counts", &stage.counts)?,
        json("selection", &stage.left)?,
        stage.summary.bytes(),
        stage.detail.bytes(),
        inputs_digest,
    ])?;
    if stage.id > meta_number(conn, "last_stage")? {
        set_meta(conn, "last_stage", &stage.id.to_string())?;
    }
    Ok(())
}

fn trim(conn: &Connection, newest: StageId) -> Job<()> {
    let old = newest - MAX_STAGES;
    let gone = conn
        .prepare_cached("DELETE FROM stage WHERE id <= ?1 AND name IS NULL AND id NOT IN (SELECT stage FROM deploy)")?
        .execute([old])?;
    // The detail has sensitive values, so it is deleted as soon as it is not needed.
    conn.prepare_cached(concat!(
        "UPDATE stage SET detail = '', packed_detail = NULL WHERE id <= ?1 AND name IS NULL AND ",
        whole!()
    ))?
    .execute([old])?;
    // A snapshot may be shared, so it goes only with its last user.
    if gone > 0 {
        conn.prepare_cached(
            "DELETE FROM config_snapshot WHERE digest NOT IN (SELECT config_digest FROM stage) AND digest NOT IN (SELECT config_digest FROM deploy)",
        )?
        .execute([])?;
        conn.prepare_cached(
            "DELETE FROM stage_inputs WHERE digest NOT IN (SELECT inputs_digest FROM stage WHERE inputs_digest IS NOT NULL)",
        )?
        .execute([])?;
    }
    Ok(())
}

fn inputs(conn: &Connection, id: StageId) -> Job<Option<CompressedJson>> {
    let packed = conn
        .prepare_cached(
            "SELECT packed FROM stage_inputs JOIN stage ON digest = inputs_digest WHERE id = ?1",
        )?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(packed.map(CompressedJson::from_bytes))
}

fn files(conn: &Connection, digest: &str) -> Job<Option<Vec<(String, String)>>> {
    let text: Option<String> = conn
        .prepare_cached("SELECT files FROM config_snapshot WHERE digest = ?1")?
        .query_row([digest], |r| r.get(0))
        .optional()?;
    text.map(|text| parse("snapshot", &text)).transpose()
}

struct Raw {
    stage: StageRecord,
    mode: String,
    counts: String,
    deselected: String,
}

fn raw(r: &Row<'_>) -> Result<Raw, rusqlite::Error> {
    Ok(Raw {
        stage: StageRecord {
            id: r.get("id")?,
            name: r.get("name")?,
            at: r.get("at")?,
            // Parsed by the caller, because this function can only return errors of rusqlite.
            mode: model::StageMode::Normal,
            config_digest: r.get("config_digest")?,
            plugins_digest: r.get("plugins_digest")?,
            state_serial: r.get("state_serial")?,
            counts: model::Counts::default(),
            summary: packed(r, "packed_summary", "summary")?,
            detail: packed(r, "packed_detail", "detail")?,
            left: Vec::new(),
            snapshot: Vec::new(),
            inputs: None,
        },
        mode: r.get("mode")?,
        counts: r.get("counts")?,
        deselected: r.get("left_out")?,
    })
}

/// Reads a text of a stage, which older versions stored uncompressed.
fn packed(r: &Row<'_>, packed: &str, plain: &str) -> Result<CompressedJson, rusqlite::Error> {
    if let Some(packed) = r.get::<_, Option<Vec<u8>>>(packed)? {
        return Ok(CompressedJson::from_bytes(packed));
    }
    let text: String = r.get(plain)?;
    CompressedJson::try_from(text.as_str()).map_err(|e| {
        let place = r.as_ref().column_index(plain).unwrap_or_default();
        rusqlite::Error::FromSqlConversionFailure(place, rusqlite::types::Type::Text, Box::new(e))
    })
}

fn query_one(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Job<Option<StageRecord>> {
    let Some(raw) = conn
        .prepare_cached(sql)?
        .query_row(params, raw)
        .optional()?
    else {
        return Ok(None);
    };
    let mut stage = raw.stage;
    stage.mode = from_word("mode", &raw.mode)?;
    stage.counts = parse("counts", &raw.counts)?;
    stage.left = parse("selection", &raw.deselected)?;
    stage.snapshot = files(conn, &stage.config_digest)?.unwrap_or_default();
    stage.inputs = inputs(conn, stage.id)?;
    Ok(Some(stage))
}

/// Reads a step, which is stored as text.
pub(super) fn read_step(
    row: &Row<'_>,
    column: impl rusqlite::RowIndex,
) -> rusqlite::Result<OperationStep> {
    let column = column.idx(row.as_ref())?;
    let text: String = row.get(column)?;
    text.parse().map_err(|e| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(e))
    })
}
