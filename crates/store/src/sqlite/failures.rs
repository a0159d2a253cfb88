//! Failures and the next outcome of their resource, grouped by fingerprint.

use super::fault::Job;
use super::file::Sqlite;
use super::stages::{json, parse};
use crate::Failures;
use crate::error::StoreError;
use async_trait::async_trait;
use model::{
    DeployId, Failure, FailureGroup, GroupedFailure, Operation, OperationState, UnixMs, now_ms,
};
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashMap;

/// Maximum number of log lines stored with one failure.
const LINES: usize = 100;
/// Maximum number of failures that a group lists.
const LISTED: usize = 8;
/// Maximum number of stored failures.
const MAX_FAILURES: i64 = 10_000;

#[async_trait]
impl Failures for Sqlite {
    async fn put_failure(&self, deploy: DeployId, mut failure: Failure) -> Result<(), StoreError> {
        // Keeps the lines closest to the failure.
        let surplus = failure.last_lines.len().saturating_sub(LINES);
        failure.last_lines.drain(..surplus);
        failure
            .last_lines_at
            .drain(..surplus.min(failure.last_lines_at.len()));
        self.write("a failure", move |conn| {
            conn.prepare_cached(
                "INSERT INTO failure (deploy, at, fingerprint, data) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((
                deploy,
                now_ms(),
                &failure.fingerprint,
                json("failure", &failure)?,
            ))?;
            conn.prepare_cached("DELETE FROM failure WHERE id <= ?1")?
                .execute([conn.last_insert_rowid() - MAX_FAILURES])?;
            Ok(())
        })
        .await
    }

    async fn failures(&self, since: Option<UnixMs>) -> Result<Vec<FailureGroup>, StoreError> {
        self.read(move |conn| groups(conn, since.unwrap_or(0)))
            .await
    }
}

fn groups(conn: &Connection, since: UnixMs) -> Job<Vec<FailureGroup>> {
    let mut query = conn
        .prepare_cached("SELECT deploy, at, data FROM failure WHERE at >= ?1 ORDER BY id DESC")?;
    let rows = query.query_map([since], |r| {
        Ok((
            r.get::<_, DeployId>(0)?,
            r.get::<_, UnixMs>(1)?,
            r.get::<_, String>(2)?,
        ))
    })?;
    let mut groups: Vec<FailureGroup> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    // Newest failed deploy of each resource, by group.
    let mut newest: Vec<Vec<(String, DeployId)>> = Vec::new();
    for row in rows {
        let (deploy, at, data) = row?;
        let failure: Failure = parse("failure", &data)?;
        // Rows are newest first, so a group shows its latest failure.
        if let Some(&place) = places.get(&failure.fingerprint) {
            let group = &mut groups[place];
            group.count += 1;
            group.first = group.first.min(at);
            if group.newest.len() < LISTED {
                group.newest.push(one(conn, &failure, deploy, at)?.0);
            }
            if let Some(address) = failure.address
                && !group.addresses.contains(&address)
            {
                newest[place].push((address.clone(), deploy));
                group.addresses.push(address);
            }
            if !group.deploys.contains(&deploy) {
                group.deploys.push(deploy);
            }
            continue;
        }
        let (newest_failure, followed_by) = one(conn, &failure, deploy, at)?;
        places.insert(failure.fingerprint.clone(), groups.len());
        newest.push(
            failure
                .address
                .iter()
                .map(|a| (a.clone(), deploy))
                .collect(),
        );
        groups.push(FailureGroup {
            fingerprint: failure.fingerprint,
            class: failure.class,
            summary: failure.summary,
            detail: failure.detail,
            count: 1,
            first: at,
            last: at,
            plugin: failure.plugin,
            addresses: failure.address.into_iter().collect(),
            deploys: vec![deploy],
            followed_by,
            solved_in: None,
            newest: vec![newest_failure],
            last_lines: failure.last_lines,
            last_lines_at: failure.last_lines_at,
        });
    }
    for (group, newest) in groups.iter_mut().zip(&newest) {
        group.solved_in = solved_in(conn, newest)?;
    }
    Ok(groups)
}

/// Returns the deploy by which each resource has succeeded after its newest failure; `None` while
/// one has not, or if no failure has a resource.
fn solved_in(conn: &Connection, newest: &[(String, DeployId)]) -> Job<Option<DeployId>> {
    let mut last = None;
    for (address, deploy) in newest {
        let next: Option<DeployId> = conn
            .prepare_cached(
                "SELECT MIN(deploy) FROM operation WHERE address = ?1 AND deploy > ?2 AND state = 'done'",
            )?
            .query_row((address, deploy), |r| r.get(0))?;
        let Some(next) = next else { return Ok(None) };
        last = last.max(Some(next));
    }
    Ok(last)
}

/// Returns a failure with its operation and the next outcome of its resource; and that outcome as
/// text.
fn one(
    conn: &Connection,
    failure: &Failure,
    deploy: DeployId,
    at: UnixMs,
) -> Job<(GroupedFailure, Option<String>)> {
    let (operation, next) = match &failure.address {
        Some(address) => (
            operation(conn, address, deploy)?,
            next_operation(conn, address, deploy)?,
        ),
        None => (None, None),
    };
    let failure = GroupedFailure {
        at,
        deploy,
        address: failure.address.clone(),
        action: operation.as_ref().map(|o| o.action),
        took_ms: operation.and_then(|o| o.took_ms),
        next: next.as_ref().map(|o| (o.deploy, o.state)),
    };
    Ok((failure, next.map(outcome_text)))
}

/// Operation of a resource in a deploy.
fn operation(conn: &Connection, address: &str, deploy: DeployId) -> Job<Option<Operation>> {
    let data: Option<String> = conn
        .prepare_cached("SELECT data FROM operation WHERE address = ?1 AND deploy = ?2 LIMIT 1")?
        .query_row((address, deploy), |r| r.get(0))
        .optional()?;
    data.map(|data| parse("operation", &data)).transpose()
}

/// Operation of a resource in the next deploy that changed it.
fn next_operation(conn: &Connection, address: &str, deploy: DeployId) -> Job<Option<Operation>> {
    let data: Option<String> = conn
        .prepare_cached(
            "SELECT data FROM operation WHERE address = ?1 AND deploy > ?2 AND state IN ('done', 'failed', 'unknown', 'half_replaced')
             ORDER BY deploy LIMIT 1",
        )?
        .query_row((address, deploy), |r| r.get(0))
        .optional()?;
    data.map(|data| parse("operation", &data)).transpose()
}

fn outcome_text(operation: Operation) -> String {
    let became = match operation.state {
        OperationState::Done => "succeeded".to_owned(),
        OperationState::HalfReplaced => format!("was only half done: {}", operation.step),
        OperationState::Failed => match operation.failure {
            Some(failure) => format!("failed again: {}", failure.summary),
            None => "failed again".to_owned(),
        },
        _ => "ended with an unknown outcome".to_owned(),
    };
    format!(
        "{} of {} in deploy {} {became}",
        operation.action.operation_word(),
        operation.address,
        operation.deploy
    )
}
