//! In-memory copy of the running deploy. If the store is lost during the deploy, it is written to a
//! rescue file.

use super::deploys::{insert_deploy, operations, put_intent, put_operation, record_step};
use super::fault::{Fault, Job};
use super::file::{Sqlite, connect, fill};
use crate::error::StoreError;
use crate::records::{BackendVersion, Intent, NewDeploy, Outcome, State, StateEdit};
use crate::{Rescues, StoreApi as _, rescue_files};
use async_trait::async_trait;
use model::mutex::lock;
use model::{DeployId, Operation, OperationState, OperationStep, UnixMs};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// State at the deploy's begin, later edits, and open and ended steps.
#[derive(Debug)]
pub(super) struct RunningDeploy {
    deploy: DeployId,
    new: NewDeploy,
    state: Arc<State>,
    backend_version: BackendVersion,
    edits: Vec<StateEdit>,
    open: BTreeMap<(u32, OperationStep), Intent>,
    /// Ended steps with success and time.
    ended: Vec<(Intent, bool, UnixMs)>,
}

impl RunningDeploy {
    pub(super) fn new(
        deploy: DeployId,
        new: NewDeploy,
        state: Arc<State>,
        home: BackendVersion,
    ) -> Self {
        Self {
            deploy,
            new,
            state,
            backend_version: home,
            edits: Vec::new(),
            open: BTreeMap::new(),
            ended: Vec::new(),
        }
    }

    /// Token of the leader of the reconcile loop, if the deploy is one of its repairs.
    pub(super) fn fencing_token(&self) -> Option<i64> {
        self.new.fencing_token
    }

    pub(super) fn edit(&mut self, edits: Vec<StateEdit>) {
        self.edits.extend(edits);
    }

    pub(super) fn set_backend_version(&mut self, home: BackendVersion) {
        self.backend_version = home;
    }

    pub(super) fn add_intent(&mut self, intent: Intent) {
        self.open
            .insert((intent.index, intent.step.clone()), intent);
    }

    /// Removes an intent that could not be recorded, so its call was not made.
    pub(super) fn remove_intent(&mut self, index: u32, step: OperationStep) {
        self.open.remove(&(index, step));
    }

    /// Adds a step without a call.
    pub(super) fn done(&mut self, step: Intent, edits: Vec<StateEdit>) {
        let at = step.at;
        self.ended.push((step, true, at));
        self.edit(edits);
    }

    pub(super) fn record_outcome(&mut self, outcome: Outcome) {
        if let Some(intent) = self.open.remove(&(outcome.index, outcome.step)) {
            self.ended.push((intent, outcome.ok, outcome.at));
        }
        self.edit(outcome.edits);
    }
}

#[async_trait]
impl Rescues for Sqlite {
    async fn rescue(&self, dir: &Path) -> Result<PathBuf, StoreError> {
        let shadow = self.running_deploy();
        let to = dir.join(rescue_files::new_name(dir, self.path()));
        let file = to.clone();
        let done = self.run_outside_transaction("a rescue", move |conn| {
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

fn write(from: &Connection, shadow: &RunningDeploy, to: &Path) -> Job<()> {
    let io = |e| Fault::Store(StoreError::io(to, "create", e));
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)
        .map_err(io)?;
    // A removed file is still readable through the open connection.
    let whole = from
        .execute("VACUUM INTO ?1", [to.to_string_lossy()])
        .is_ok();
    if !whole {
        std::fs::remove_file(to).map_err(io)?;
        fill(to, to)?;
    }
    let conn = connect(to)?;
    // The rescued store has no lock owner, and gets the state from memory.
    conn.execute_batch(
        "BEGIN IMMEDIATE; DELETE FROM lock; DELETE FROM state_resource; DELETE FROM state_output",
    )?;
    super::state::replace(&conn, &shadow.state)?;
    super::state::set_backend_version(&conn, &shadow.backend_version)?;
    // A new file also lacks the deploy and its steps.
    if !whole {
        insert_deploy(&conn, Some(shadow.deploy), &mut shadow.new.clone(), false)?;
        for (intent, ok, at) in &shadow.ended {
            put_intent(&conn, intent, Some((*ok, *at)))?;
        }
    }
    // The edit that removes an object also drops its progress, so progress is inserted first.
    for (intent, ok, _) in &shadow.ended {
        if *ok && intent.step.is_provisioner() {
            record_step(&conn, shadow.deploy, intent.index, &intent.step)?;
        }
    }
    super::state::apply(&conn, &shadow.edits)?;
    // An intent that only the lost file has was never acted upon.
    conn.execute(
        "DELETE FROM intent WHERE deploy = ?1 AND ok IS NULL",
        [shadow.deploy],
    )?;
    shadow
        .open
        .values()
        .try_for_each(|intent| put_intent(&conn, intent, None))?;
    // Operations marked unknown because the store failed are derived from their steps when this
    // file is opened.
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
