//! The store against real files: content, permissions, crashes.

mod crash;
mod deploys;
mod destroy_steps;
mod edits;
mod file;
mod observations;
mod plugins;
mod readers;
mod reconciles;
mod records;
mod rollouts;
mod saved_selections;

use super::*;
use crate::records::*;
use crate::*;
use model::lock_owner::this_process;
use model::settings::Access;
use model::*;
use std::path::Path;

fn open(dir: &Path) -> Sqlite {
    Sqlite::open(dir, Access::ReadWrite).unwrap()
}

/// Gives a closed store the layout of an older version; `undo` removes what the versions up to the
/// sixteenth have added.
fn set_version(path: &Path, version: i64, undo: &str) {
    let conn = rusqlite::Connection::open(path).unwrap();
    let sql = format!(
        "DROP TABLE observation; DROP TABLE observation_change; {undo} PRAGMA user_version = {version}"
    );
    conn.execute_batch(&sql).unwrap();
}

fn object(address: &str, attributes: &str) -> StateObject {
    StateObject {
        address: address.into(),
        deposed: String::new(),
        provider: "provider[\"flightdeck.internal/bundled/lab\"]".into(),
        schema_version: 1,
        attributes: attributes.into(),
        sensitive: "[]".into(),
        private: vec![0, 159, 255],
        tainted: false,
        create_before_destroy: true,
        skip_destroy: true,
        dependencies: vec!["a.b".into(), "a.c".into()],
        needs: vec!["a.b[0]".into()],
        identity: None,
        identity_version: 0,
        rest: String::new(),
    }
}

fn operation(index: u32, address: &str, state: OperationState) -> Operation {
    Operation {
        deploy: 0,
        index,
        address: address.into(),
        plugin: Some(PluginId("bundled/lab".into())),
        action: Action::Create,
        state,
        step: "creating".into(),
        half_done: false,
        attempt: 1,
        retry: None,
        waits_until_ready: None,
        began: None,
        took_ms: None,
        waits_for: vec![],
        waits_for_more: 0,
        waits_for_all_of: Vec::new(),
        usual_ms: None,
        failure: None,
        warnings: vec![],
        beside: Vec::new(),
    }
}

fn new_deploy(operations: Vec<Operation>) -> NewDeploy {
    NewDeploy {
        fencing_token: None,
        stage: 1,
        mode: StageMode::Normal,
        began: 1_000,
        user: "kim".into(),
        counts: Counts::default(),
        config_digest: "c1".into(),
        operations,
    }
}

fn intent(deploy: DeployId, index: u32, address: &str) -> Intent {
    Intent {
        deploy,
        index,
        address: address.into(),
        deposed: String::new(),
        step: OperationStep::Create,
        at: 2_000 + i64::from(index),
        detail: "{}".into(),
    }
}

fn outcome(deploy: DeployId, index: u32, ok: bool, edits: Vec<StateEdit>) -> Outcome {
    Outcome {
        deploy,
        index,
        step: OperationStep::Create,
        at: 3_000,
        ok,
        starts_over: false,
        edits,
    }
}

fn finished(deploy: DeployId, outcome: DeployOutcome) -> DeploySummary {
    DeploySummary {
        deploy,
        stage: 1,
        mode: StageMode::Normal,
        began: 1_000,
        ended: Some(9_000),
        who: "kim".into(),
        host: "here".into(),
        outcome,
        operations: OperationCounts {
            done: 1,
            ..OperationCounts::default()
        },
        counts: Counts {
            create: 1,
            ..Counts::default()
        },
        config_digest: "c1".into(),
    }
}

/// A lock owner that has ended: a process that was waited for.
fn dead_holder() -> LockHolder {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    LockHolder {
        pid,
        start_time: 1,
        ..this_process("a deploy")
    }
}
