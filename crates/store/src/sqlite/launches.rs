//! Records of plugins: their locations, launch attempts, and call latencies.

use super::fault::Job;
use super::file::Sqlite;
use super::stages::{json, parse};
use crate::Launches;
use crate::error::StoreError;
use crate::records::CallSample;
use async_trait::async_trait;
use model::{Action, CallStat, Latency, LaunchAttempt, PluginFound, PluginId, PluginRow, now_ms};
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeMap;

/// Maximum number of stored attempts of one plugin.
const ATTEMPTS: i64 = 100;
/// Number of stored durations of one method and resource type: the newest ones, which describe the
/// present best.
const SAMPLE: usize = 500;

#[async_trait]
impl Launches for Sqlite {
    async fn plugin_found(&self, plugin: PluginId, found: PluginFound) -> Result<(), StoreError> {
        self.write_later("a plugin", move |conn| {
            conn.prepare_cached("INSERT INTO plugin (id, found, seen) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET found = excluded.found, seen = excluded.seen")?
                .execute((&plugin.0, json("plugin", &found)?, now_ms()))?;
            Ok(())
        })
        .await
    }

    async fn launch_attempt(
        &self,
        plugin: PluginId,
        attempt: LaunchAttempt,
    ) -> Result<(), StoreError> {
        self.write_later("a launch attempt", move |conn| {
            conn.prepare_cached("INSERT INTO plugin (id, seen) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen")?
                .execute((&plugin.0, now_ms()))?;
            conn.prepare_cached(
                "INSERT INTO launch_attempt (plugin, began, number, data, seq)
                 VALUES (?1, ?2, ?3, ?4, (SELECT coalesce(max(seq), 0) + 1 FROM launch_attempt WHERE plugin = ?1))
                 ON CONFLICT (plugin, began, number) DO UPDATE SET data = excluded.data",
            )?
                .execute((&plugin.0, attempt.began, attempt.number, json("launch attempt", &attempt)?))?;
            conn.prepare_cached(
                "DELETE FROM launch_attempt WHERE plugin = ?1 AND (seq, began, number) <
                 (SELECT seq, began, number FROM launch_attempt WHERE plugin = ?1 ORDER BY seq DESC, began DESC, number DESC LIMIT 1 OFFSET ?2)",
            )?
            .execute((&plugin.0, ATTEMPTS - 1))?;
            Ok(())
        })
        .await
    }

    async fn plugins(&self) -> Result<Vec<PluginRow>, StoreError> {
        self.read(|conn| {
            let mut plugins = conn.prepare_cached("SELECT id, found FROM plugin ORDER BY id")?;
            let mut attempts = conn.prepare_cached(
                "SELECT data FROM launch_attempt WHERE plugin = ?1 ORDER BY seq, began, number",
            )?;
            let rows = plugins.query_map([], |r| {
                Ok((r.get::<_, String>(0)?, r.get::<_, Option<String>>(1)?))
            })?;
            rows.map(|row| {
                let (id, found) = row?;
                let found = found.map(|text| parse("plugin", &text)).transpose()?;
                let attempts = attempts
                    .query_map([&id], |r| r.get::<_, String>(0))?
                    .map(|text| parse("launch attempt", &text?))
                    .collect::<Job<Vec<LaunchAttempt>>>()?;
                Ok(PluginRow {
                    id: PluginId(id.into()),
                    found,
                    attempts,
                })
            })
            .collect()
        })
        .await
    }

    async fn add_calls(&self, calls: Vec<CallSample>) -> Result<(), StoreError> {
        self.write_later("latencies", move |conn| {
            // One update for each kind, whatever the number of calls.
            let mut by_kind: BTreeMap<_, Vec<(u64, bool)>> = BTreeMap::new();
            for call in calls {
                let kind = (call.plugin, call.method, call.resource_type, call.action);
                let durations = by_kind.entry(kind).or_default();
                durations.push((call.took_ms, call.ok));
            }
            for ((plugin, method, resource_type, action), new) in by_kind {
                let kind = [
                    plugin.base().to_string(),
                    method.to_string(),
                    resource_type.to_string(),
                    action.map(Action::label).unwrap_or_default().to_owned(),
                ];
                merge(conn, &kind, &new)?;
            }
            Ok(())
        })
        .await
    }

    async fn latencies(&self) -> Result<Vec<CallStat>, StoreError> {
        self.read(|conn| {
            let mut query = conn.prepare_cached(
                "SELECT plugin, method, resource_type, action, count, errors, max_ms, durations FROM call_stat ORDER BY 1, 2, 3, 4",
            )?;
            let rows = query.query_map([], |r| {
                let kind: [String; 4] = [r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?];
                Ok((kind, r.get::<_, i64>(4)?, r.get::<_, i64>(5)?, r.get::<_, i64>(6)?, r.get::<_, String>(7)?))
            })?;
            rows.map(|row| {
                let ([plugin, method, resource_type, word], count, errors, max, durations) = row?;
                let mut sample: Vec<u64> = parse("durations", &durations)?;
                sample.sort_unstable();
                let latency = Latency {
                    count: u64::try_from(count).unwrap_or(0),
                    errors: u64::try_from(errors).unwrap_or(0),
                    p50_ms: percentile(&sample, 50),
                    p95_ms: percentile(&sample, 95),
                    max_ms: u64::try_from(max).unwrap_or(0),
                };
                // An action of a newer version has no counterpart here.
                let action = Action::of_apply(&word);
                if action.is_none() && !word.is_empty() {
                    return Ok(None);
                }
                Ok(Some(CallStat { plugin: PluginId(plugin.into()), method: method.into(), resource_type, action, latency }))
            })
            .filter_map(Result::transpose)
            .collect()
        })
        .await
    }
}

/// Nearest-rank percentile of a sorted sample; 0 of an empty one.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

fn merge(conn: &Connection, kind: &[String; 4], new: &[(u64, bool)]) -> Job<()> {
    let had: Option<(i64, i64, i64, String)> = conn
        .prepare_cached(
            "SELECT count, errors, max_ms, durations FROM call_stat
             WHERE plugin = ?1 AND method = ?2 AND resource_type = ?3 AND action = ?4",
        )?
        .query_row(rusqlite::params_from_iter(kind), |r| {
            Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?))
        })
        .optional()?;
    let (count, errors, max, durations) = had.unwrap_or((0, 0, 0, "[]".to_owned()));
    let mut sample: Vec<u64> = parse("durations", &durations)?;
    // The duration of a failure says nothing about a successful call.
    let good = || new.iter().filter(|(_, ok)| *ok).map(|(took, _)| *took);
    sample.extend(good());
    // Drops the oldest durations.
    sample.drain(..sample.len().saturating_sub(SAMPLE));
    let slowest = good()
        .map(|took| i64::try_from(took).unwrap_or(i64::MAX))
        .max()
        .unwrap_or(0);
    conn.prepare_cached(
        "INSERT OR REPLACE INTO call_stat VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        &kind[0],
        &kind[1],
        &kind[2],
        &kind[3],
        count + i64::try_from(new.len()).unwrap_or(0),
        errors + i64::try_from(new.iter().filter(|(_, ok)| !ok).count()).unwrap_or(0),
        max.max(slowest),
        json("durations", &sample)?,
    ))?;
    Ok(())
}
