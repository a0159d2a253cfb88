//! What the deploy that runs has come to, in memory beside the store: where the store is taken away
//! under it, this is written to a file of its own, and nothing is lost.

use super::deploys::{begin, keep, operations, put_intent, put_operation};
use super::fault::{Fault, Job};
use super::file::{Sqlite, connect, fill};
use crate::engine::mutex::lock;
use crate::engine::store::error::StoreError;
use crate::engine::store::model::{HomeRecord, Intent, NewDeploy, Outcome, State, StateEdit};
use crate::engine::store::{Keeping as _, Rescues, rescue_files};
use crate::engine::words::{DeployId, Operation, OperationState, OperationStep, UnixMs};
use async_trait::async_trait;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The state as the deploy found it and all that has changed since, with what was begun and has not
/// ended.
#[derive(Debug)]
pub(super) struct Shadow {
    deploy: DeployId,
    new: NewDeploy,
    state: Arc<State>,
    home: HomeRecord,
    edits: Vec<StateEdit>,
    open: BTreeMap<(u32, OperationStep), Intent>,
    /// Steps that have ended: whether well, and when.
    ended: Vec<(Intent, bool, UnixMs)>,
}

impl Shadow {
    pub(super) fn new(
        deploy: DeployId,
        new: NewDeploy,
        state: Arc<State>,
        home: HomeRecord,
    ) -> Self {
        Self {
            deploy,
            new,
            state,
            home,
            edits: Vec::new(),
            open: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    pub(super) fn edit(&mut self, edits: Vec<StateEdit>) {
        self.edits.extend(edits);
    }

    pub(super) fn at_home(&mut self, home: HomeRecord) {
        self.home = home;
    }

    pub(super) fn begun(&mut self, intent: Intent) {
        self.open
            .insert((intent.index, intent.step.clone()), intent);
    }

    /// What was to be begun was not, since it could not be written down.
    pub(super) fn not_begun(&mut self, index: u32, step: OperationStep) {
        self.open.remove(&(index, step));
    }

    /// A step that needed no call.
    pub(super) fn done(&mut self, step: Intent, edits: Vec<StateEdit>) {
        let at = step.at;
        self.ended.push((step, true, at));
        self.edit(edits);
    }

    pub(super) fn ended(&mut self, outcome: Outcome) {
        if let Some(intent) = self.open.remove(&(outcome.index, outcome.step)) {
            self.ended.push((intent, outcome.ok, outcome.at));
        }
        self.edit(outcome.edits);
    }
}

#[async_trait]
impl Rescues for Sqlite {
    async fn rescue(&self, dir: &Path) -> Result<PathBuf, StoreError> {
        let shadow = self.shadow();
        let to = dir.join(rescue_files::new_name(dir, self.path()));
        let file = to.clone();
        let done = self.apart("a rescue", move |conn| {
            let guard = lock(&shadow);
            let shadow = guard.as_ref().ok_or(StoreError::Missing {
                what: "running deploy",
                id: "in memory".to_owned(),
            })?;
            write(conn, shadow, &file).map_err(|fault| {
                super::file::remove(&file);
                Fault::Store(fault.at(&file))
            })
        });
        done.await?;
        Ok(to)
    }
}

fn write(from: &Connection, shadow: &Shadow, to: &Path) -> Job<()> {
    let io = |e| Fault::Store(StoreError::io(to, "create", e));
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(io)?;
    // Of a file that was only removed, all is there still.
    let whole = from
        .execute("VACUUM INTO ?1", [to.to_string_lossy()])
        .is_ok();
    if !whole {
        std::fs::remove_file(to).map_err(io)?;
        fill(to, to)?;
    }
    let conn = connect(to)?;
    conn.execute_batch(
        "BEGIN IMMEDIATE; DELETE FROM lock; DELETE FROM state_resource; DELETE FROM state_output",
    )?;
    super::state::replace(&conn, &shadow.state)?;
    super::state::put_home(&conn, &shadow.home)?;
    if !whole {
        begin(&conn, Some(shadow.deploy), &mut shadow.new.clone(), false)?;
        for (intent, ok, at) in &shadow.ended {
            put_intent(&conn, intent, Some((*ok, *at)))?;
        }
    }
    // Progress of a destroy is dropped by the edit that removes its object, and so comes first.
    for (intent, ok, _) in &shadow.ended {
        if *ok && intent.step.is_provisioner() {
            keep(&conn, shadow.deploy, intent.index, &intent.step)?;
        }
    }
    super::state::apply(&conn, &shadow.edits)?;
    // An intent that went into the lost file alone was never acted upon.
    conn.execute(
        "DELETE FROM intent WHERE deploy = ?1 AND ok IS NULL",
        [shadow.deploy],
    )?;
    shadow
        .open
        .values()
        .try_for_each(|intent| put_intent(&conn, intent, None))?;
    // What was unknown for want of a store is told by its steps, once this one is opened.
    for operation in operations(&conn, shadow.deploy)? {
        let open = shadow
            .open
            .keys()
            .any(|(index, _)| *index == operation.index);
        if operation.state == OperationState::Unknown && !open {
            put_operation(
                &conn,
                &Operation {
                    state: OperationState::Running,
                    failure: None,
                    ..operation
                },
            )?;
        }
    }
    conn.execute_batch("COMMIT")?;
    conn.close().map_err(|(_, e)| Fault::from(e))
}
