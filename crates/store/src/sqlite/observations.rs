//! Observations of objects: the newest of each, and the changes of their facts.

use super::fault::Job;
use super::file::Sqlite;
use super::stages::{enum_text, from_word, json, parse};
use crate::Observations;
use crate::error::StoreError;
use async_trait::async_trait;
use model::{Observation, ObservationChange};
use rusqlite::{Connection, OptionalExtension, Row};

/// Maximum number of recorded changes of one address.
const MAX_PER_ADDRESS: i64 = 100;
/// Maximum number of recorded changes.
const MAX_CHANGES: i64 = 100_000;
const WHAT: &str = "an observation";

macro_rules! columns {
    () => {
        "address, deposed, type, at, existing, readiness, status, since, drift"
    };
}

#[async_trait]
impl Observations for Sqlite {
    async fn put_observations(
        &self,
        observations: Vec<Observation>,
        cause: String,
    ) -> Result<(), StoreError> {
        self.write_later(WHAT, move |conn| {
            let mut changed = false;
            for observation in observations {
                changed |= put(conn, observation, &cause)?;
            }
            conn.execute(
                "DELETE FROM observation WHERE NOT EXISTS (SELECT 1 FROM state_resource s
                 WHERE s.address = observation.address AND s.deposed = observation.deposed)",
                [],
            )?;
            if changed {
                conn.execute(
                    "DELETE FROM observation_change
                     WHERE id <= (SELECT max(id) FROM observation_change) - ?1",
                    [MAX_CHANGES],
                )?;
            }
            Ok(())
        })
        .await
    }

    async fn observations(&self) -> Result<Vec<Observation>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached(concat!(
                "SELECT ",
                columns!(),
                " FROM observation ORDER BY address, deposed"
            ))?;
            let rows = query.query_map([], raw)?;
            rows.map(|row| row?.parse()).collect()
        })
        .await
    }

    async fn observation_history(
        &self,
        address: &str,
        limit: u32,
    ) -> Result<Vec<ObservationChange>, StoreError> {
        let address = address.to_owned();
        self.read(move |conn| {
            let mut query = conn.prepare_cached(concat!(
                "SELECT ",
                columns!(),
                ", cause FROM observation_change WHERE address = ?1 ORDER BY id DESC LIMIT ?2"
            ))?;
            let rows = query.query_map((&address, limit), |r| Ok((raw(r)?, r.get(9)?)))?;
            rows.map(|row| {
                let (raw, cause) = row?;
                let observation = raw.parse()?;
                Ok(ObservationChange { observation, cause })
            })
            .collect()
        })
        .await
    }
}

/// Stores an observation. Returns true if a fact has changed. If not, only the time is written.
fn put(conn: &Connection, mut now: Observation, cause: &str) -> Job<bool> {
    let before = newest(conn, &now)?;
    now.since = match &before {
        Some(before) if (before.exists, before.readiness) == (now.exists, now.readiness) => {
            before.since
        }
        _ => now.at,
    };
    let same = before.is_some_and(|before| {
        now == Observation {
            at: now.at,
            ..before
        }
    });
    if same {
        conn.prepare_cached("UPDATE observation SET at = ?3 WHERE address = ?1 AND deposed = ?2")?
            .execute((&now.address, deposed_key(&now), now.at))?;
        return Ok(false);
    }
    let readiness = now.readiness.map(|r| enum_text("readiness", &r));
    let readiness = readiness.transpose()?;
    let drift = json("drift", &now.drift)?;
    conn.prepare_cached(concat!(
        "INSERT OR REPLACE INTO observation (",
        columns!(),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
    ))?
    .execute(rusqlite::params![
        now.address,
        deposed_key(&now),
        now.resource_type,
        now.at,
        now.exists,
        readiness,
        now.status,
        now.since,
        drift
    ])?;
    conn.prepare_cached(concat!(
        "INSERT INTO observation_change (",
        columns!(),
        ", cause) SELECT ",
        columns!(),
        ", ?3 FROM observation WHERE address = ?1 AND deposed = ?2"
    ))?
    .execute((&now.address, deposed_key(&now), cause))?;
    conn.prepare_cached(
        "DELETE FROM observation_change WHERE address = ?1 AND id <= (SELECT id FROM
         observation_change WHERE address = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute((&now.address, MAX_PER_ADDRESS))?;
    Ok(true)
}

fn newest(conn: &Connection, of: &Observation) -> Job<Option<Observation>> {
    conn.prepare_cached(concat!(
        "SELECT ",
        columns!(),
        " FROM observation WHERE address = ?1 AND deposed = ?2"
    ))?
    .query_row((&of.address, deposed_key(of)), raw)
    .optional()?
    .map(Raw::parse)
    .transpose()
}

/// Deletes the observation of a current object that was removed or replaced, because its times do
/// not apply to a new object.
pub(super) fn delete_current(conn: &Connection, address: &str) -> Job<()> {
    conn.prepare_cached("DELETE FROM observation WHERE address = ?1 AND deposed = ''")?
        .execute([address])?;
    Ok(())
}

/// Follows an object to its new address.
pub(super) fn shift(conn: &Connection, from: &str, to: &str) -> Job<()> {
    for sql in [
        "UPDATE OR REPLACE observation SET address = ?2 WHERE address = ?1",
        "UPDATE observation_change SET address = ?2 WHERE address = ?1",
    ] {
        conn.prepare_cached(sql)?.execute([from, to])?;
    }
    Ok(())
}

fn deposed_key(observation: &Observation) -> &str {
    observation.deposed.as_deref().unwrap_or_default()
}

/// Row whose JSON is not parsed yet, because a closure for rusqlite can only return its errors.
struct Raw {
    observation: Observation,
    readiness: Option<String>,
    drift: String,
}

fn raw(r: &Row<'_>) -> rusqlite::Result<Raw> {
    let deposed: String = r.get(1)?;
    Ok(Raw {
        observation: Observation {
            address: r.get(0)?,
            deposed: Some(deposed).filter(|key| !key.is_empty()),
            resource_type: r.get(2)?,
            at: r.get(3)?,
            exists: r.get(4)?,
            readiness: None,
            status: r.get(6)?,
            since: r.get(7)?,
            drift: Vec::new(),
        },
        readiness: r.get(5)?,
        drift: r.get(8)?,
    })
}

impl Raw {
    fn parse(mut self) -> Job<Observation> {
        let readiness = self.readiness.map(|word| from_word("readiness", &word));
        self.observation.readiness = readiness.transpose()?;
        self.observation.drift = parse("drift", &self.drift)?;
        Ok(self.observation)
    }
}
