//! Log lines: the newest ones up to a limit; dropped ones are counted.

use super::fault::Job;
use super::file::Sqlite;
use super::stages::{enum_text, from_word};
use super::state::{meta_number, set_meta};
use crate::Logs;
use crate::error::StoreError;
use crate::records::MAX_LOG_LINES;
use async_trait::async_trait;
use model::{LogLevel, LogLine, LogQuery, LogRow, PluginId};
use rusqlite::Connection;

/// Maximum number of lines in one job, so that a flood does not delay an intent for long.
const CHUNK: usize = 2_000;
/// Excess over the limit that is tolerated, because trimming after each batch costs more than the
/// space.
const TRIM_THRESHOLD: i64 = 2_000;
const DEFAULT_LIMIT: u32 = 1_000;

#[async_trait]
impl Logs for Sqlite {
    async fn append_logs(&self, lines: Vec<LogLine>) -> Result<(), StoreError> {
        let mut rest = lines.into_iter();
        loop {
            let chunk: Vec<LogLine> = rest.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                return Ok(());
            }
            self.write_later("log lines", move |conn| append(conn, &chunk))
                .await?;
        }
    }

    async fn logs(&self, query: LogQuery) -> Result<Vec<LogRow>, StoreError> {
        self.read(move |conn| {
            let mut rows = select(conn, &query, 0, "DESC")?;
            rows.reverse();
            Ok(rows)
        })
        .await
    }

    async fn logs_after(&self, after: i64, query: LogQuery) -> Result<Vec<LogRow>, StoreError> {
        self.read(move |conn| select(conn, &query, after, "ASC"))
            .await
    }

    async fn logs_trimmed(&self) -> Result<i64, StoreError> {
        self.read(|conn| meta_number(conn, "logs_trimmed")).await
    }
}

fn rank(level: LogLevel) -> i64 {
    match level {
        LogLevel::Trace => 0,
        LogLevel::Debug => 1,
        LogLevel::Info => 2,
        LogLevel::Warn => 3,
        LogLevel::Error => 4,
    }
}

fn from_rank(rank: i64) -> LogLevel {
    match rank {
        0 => LogLevel::Trace,
        1 => LogLevel::Debug,
        2 => LogLevel::Info,
        3 => LogLevel::Warn,
        _ => LogLevel::Error,
    }
}

fn append(conn: &Connection, lines: &[LogLine]) -> Job<()> {
    let mut insert =
        conn.prepare_cached("INSERT INTO log (plugin, at, level, stream, module, text, panic) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for line in lines {
        insert.execute((
            &line.plugin.0,
            line.at,
            rank(line.level),
            enum_text("stream", &line.stream)?,
            &line.module,
            &line.text,
            line.panic,
        ))?;
    }
    // Ids are consecutive, so the limit needs no count of all lines.
    let first: Option<i64> = conn
        .prepare_cached("SELECT min(id) FROM log")?
        .query_row([], |r| r.get(0))?;
    let bound = conn.last_insert_rowid() - MAX_LOG_LINES;
    if first.is_some_and(|first| bound - first >= TRIM_THRESHOLD) {
        let gone = conn
            .prepare_cached("DELETE FROM log WHERE id <= ?1")?
            .execute([bound])?;
        let gone = meta_number(conn, "logs_trimmed")? + i64::try_from(gone).unwrap_or(0);
        set_meta(conn, "logs_trimmed", &gone.to_string())?;
    }
    Ok(())
}

fn select(conn: &Connection, query: &LogQuery, after: i64, order: &str) -> Job<Vec<LogRow>> {
    let limit = if query.limit == 0 {
        DEFAULT_LIMIT
    } else {
        query.limit
    };
    let mut found = conn.prepare_cached(&format!(
        "SELECT id, plugin, at, level, stream, module, text, panic FROM log
         WHERE id > ?1 AND level >= ?2 AND at >= ?3 AND at <= ?4 AND (?5 IS NULL OR instr(plugin, ?5) > 0)
         ORDER BY id {order} LIMIT ?6"
    ))?;
    let rows = found.query_map(
        (
            after,
            query.level.map_or(0, rank),
            query.since.unwrap_or(i64::MIN),
            query.until.unwrap_or(i64::MAX),
            query.plugin.as_deref(),
            limit,
        ),
        |r| {
            let line = LogLine {
                plugin: PluginId(r.get(1)?),
                at: r.get(2)?,
                level: from_rank(r.get(3)?),
                // Replaced below, because this closure can only return errors of rusqlite.
                stream: model::LogStream::Engine,
                module: r.get(5)?,
                text: r.get(6)?,
                panic: r.get(7)?,
            };
            Ok((
                LogRow {
                    id: r.get(0)?,
                    line,
                },
                r.get::<_, String>(4)?,
            ))
        },
    )?;
    rows.map(|row| {
        let (mut row, stream) = row?;
        row.line.stream = from_word("stream", &stream)?;
        Ok(row)
    })
    .collect()
}
