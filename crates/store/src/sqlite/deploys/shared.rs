//! Unknown outcomes for other checkouts of the same state, and those of others.

use super::super::fault::Job;
use super::super::stages::{enum_text, json};
use crate::records::{Intent, IntentKey, SharedDeploy, SharedOutcome, UnknownOutcome};
use model::*;
use rusqlite::{Connection, OptionalExtension};
use std::collections::{BTreeMap, BTreeSet};

/// Adds the deploys of unknown outcomes.
pub(super) fn with_deploys(
    conn: &Connection,
    unknown: Vec<UnknownOutcome>,
) -> Job<Vec<SharedOutcome>> {
    let mut query = conn.prepare_cached("SELECT who, host, began FROM deploy WHERE id = ?1")?;
    let mut shared = Vec::with_capacity(unknown.len());
    for outcome in unknown {
        let deploy = query.query_row([outcome.deploy], |r| {
            Ok(SharedDeploy {
                who: r.get("who")?,
                host: r.get("host")?,
                began: r.get("began")?,
            })
        })?;
        shared.push(SharedOutcome {
            key: outcome.key(),
            detail: serde_json::from_str(&outcome.detail).unwrap_or_default(),
            deploy,
        });
    }
    Ok(shared)
}

/// Returns the keys of intents that this store has.
pub(super) fn recorded(conn: &Connection, keys: Vec<IntentKey>) -> Job<BTreeSet<IntentKey>> {
    let mut query = conn.prepare_cached(
        "SELECT 1 FROM intent WHERE address = ?1 AND deposed = ?2 AND step = ?3 AND at = ?4 LIMIT 1",
    )?;
    let mut known = BTreeSet::new();
    for key in keys {
        let place = (&key.address, &key.deposed, &key.step, key.at);
        if query.query_row(place, |_| Ok(())).optional()?.is_some() {
            known.insert(key);
        }
    }
    Ok(known)
}

/// Records outcomes of other checkouts. Each of their deploys becomes an interrupted one here.
pub(super) fn import(conn: &Connection, outcomes: Vec<SharedOutcome>) -> Job<()> {
    let mut deploys: BTreeMap<SharedDeploy, Vec<SharedOutcome>> = BTreeMap::new();
    for outcome in outcomes {
        let of_deploy = deploys.entry(outcome.deploy.clone()).or_default();
        of_deploy.push(outcome);
    }
    for (deploy, outcomes) in deploys {
        let id = insert(conn, &deploy, &outcomes)?;
        for (index, outcome) in (0..).zip(outcomes) {
            let Ok(step) = outcome.key.step.parse() else {
                continue;
            };
            let intent = Intent {
                deploy: id,
                index,
                address: outcome.key.address,
                deposed: outcome.key.deposed,
                step,
                at: outcome.key.at,
                detail: outcome.detail.to_string(),
            };
            super::put_intent(conn, &intent, None)?;
        }
    }
    Ok(())
}

fn insert(conn: &Connection, deploy: &SharedDeploy, outcomes: &[SharedOutcome]) -> Job<DeployId> {
    let unknown = OperationCounts {
        unknown: u32::try_from(outcomes.len()).unwrap_or(u32::MAX),
        ..OperationCounts::default()
    };
    let ended = outcomes.iter().map(|outcome| outcome.key.at).max();
    conn.execute(
        "INSERT INTO deploy (stage, mode, began, ended, who, host, outcome, operations, counts, config_digest, holder_pid, holder_start, holder_boot)
         VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, '', 0, 0, '')",
        (
            enum_text("mode", &StageMode::Normal)?,
            deploy.began,
            ended,
            &deploy.who,
            &deploy.host,
            enum_text("outcome", &DeployOutcome::Interrupted)?,
            json("counts", &unknown)?,
            json("counts", &Counts::default())?,
        ),
    )?;
    Ok(conn.last_insert_rowid())
}
