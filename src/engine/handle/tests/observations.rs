//! Tests of the observations that stages and deploys record.

use super::{Engine, engine};
use model::{DeployRequest, Observation, StageRequest};
use std::path::Path;

async fn deploy(engine: &Engine, dir: &Path, main: &str) {
    std::fs::write(dir.join("main.tf"), main).expect("written");
    let staged = engine.stage(StageRequest::default()).await;
    let request = DeployRequest {
        stage: staged.expect("a stage").stage,
        only: None,
        parallelism: 4,
        variables: Vec::new(),
    };
    engine.deploy(request).await.expect("a deploy");
}

async fn observations(engine: &Engine) -> Vec<(String, Option<Observation>)> {
    let rows = engine.state_rows().await.expect("rows");
    rows.into_iter()
        .map(|r| (r.address, r.observation))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_11_stage_and_deploy_observe_existence_without_readiness() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = engine(dir.path()).await;
    let two = "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {}\n";
    deploy(&engine, dir.path(), two).await;
    let created = observations(&engine).await;
    assert_eq!(created.len(), 2);
    let a = created[0].1.clone().expect("observed by the deploy");
    // Existence is known, while the type has no expression for its readiness.
    assert_eq!((a.exists, a.readiness, a.drift.len()), (true, None, 0));
    engine
        .stage(StageRequest::default())
        .await
        .expect("a stage");
    let read = observations(&engine).await.remove(0).1.expect("read");
    assert!(read.at >= a.at && read.since == a.since, "{read:?} {a:?}");
    let one = "resource \"terraform_data\" \"a\" {}\n";
    deploy(&engine, dir.path(), one).await;
    assert_eq!(observations(&engine).await.len(), 1);
    let history = engine.observation_history("terraform_data.b", 9).await;
    let facts = history.expect("a history").into_iter();
    let facts: Vec<_> = facts.map(|c| (c.observation.exists, c.cause)).collect();
    assert_eq!(
        facts,
        [
            (false, "deploy #2".to_owned()),
            (true, "deploy #1".to_owned())
        ]
    );
    engine.shutdown().await;
}
