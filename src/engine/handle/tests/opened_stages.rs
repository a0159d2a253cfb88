//! Tests of the newest stored stage that a console opens: what it can apply, and why not.

use super::{Engine, engine};
use model::{DeployOutcome, DeployRequest, Select, StageRequest};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

const MAIN: &str = r#"
variable "size" {
  default = "small"
}
resource "terraform_data" "a" {
  input = var.size
}
resource "terraform_data" "b" {
  input = 1
}
"#;

/// Workspace whose stage was planned by an earlier engine.
async fn staged_before(main: &str, request: StageRequest) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), "main.tf", main);
    let before = engine(dir.path()).await;
    before.stage(request).await.expect("a stage");
    before.shutdown().await;
    dir
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).expect("written");
}

/// Opens the newest stage with another engine. Returns its number and its difference from the
/// workspace.
async fn opened(dir: &Path) -> (Engine, Option<(i64, Option<String>)>) {
    let engine = engine(dir).await;
    engine.load_plugins().await.expect("plugins");
    let (before, _) = engine.subscribe();
    engine.open_newest_stage().await.expect("no failure");
    let (view, _) = engine.subscribe();
    assert_eq!(view.diagnostics, before.diagnostics, "it emits none");
    let found = view.stage.map(|s| (s.stage, view.stage_outdated));
    (engine, found)
}

fn deploy_of(stage: i64) -> DeployRequest {
    DeployRequest {
        stage,
        only: None,
        parallelism: 4,
        variables: Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn newest_stage_of_an_earlier_engine_is_opened_selected_and_deployed() {
    let dir = staged_before(MAIN, StageRequest::default()).await;
    let (engine, found) = opened(dir.path()).await;
    assert_eq!(found, Some((1, None)));
    let leave = Select::Leave("terraform_data.b".to_owned());
    let selection = engine.select(1, leave).await.expect("a selection");
    assert_eq!(selection.left, ["terraform_data.b"]);
    let summary = engine.deploy(deploy_of(1)).await.expect("a deploy");
    assert_eq!(summary.outcome, DeployOutcome::Succeeded);
    assert_eq!(summary.operations.done, 1);
    engine.shutdown().await;
    // It was deployed, and there is nothing left to open.
    let (engine, found) = opened(dir.path()).await;
    assert_eq!(found, None);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn selection_of_the_opened_stage_is_the_stored_one() {
    let dir = staged_before(MAIN, StageRequest::default()).await;
    let before = engine(dir.path()).await;
    let leave = Select::Leave("terraform_data.a".to_owned());
    before.select(1, leave).await.expect("a selection");
    before.shutdown().await;
    let (engine, _) = opened(dir.path()).await;
    let (view, _) = engine.subscribe();
    assert!(view.left.iter().eq(["terraform_data.a"]));
    engine.shutdown().await;
}

/// Changes the workspace after the stage.
type Change = fn(&Path);

#[tokio::test(flavor = "multi_thread")]
async fn opened_stage_names_its_difference_from_the_workspace() {
    let cases: [(&str, Change, &str); 3] = [
        (
            "configuration",
            |dir| write(dir, "main.tf", &MAIN.replace("= 1", "= 2")),
            "main.tf changed since the stage was planned",
        ),
        (
            "new file",
            |dir| write(dir, "more.tf", "locals {}\n"),
            "more.tf (new) changed since the stage was planned",
        ),
        (
            "variable",
            |dir| write(dir, "terraform.tfvars", "size = \"large\"\n"),
            "The plan has a different value of the variable \"size\" than this file",
        ),
    ];
    for (name, change, expected) in cases {
        let dir = staged_before(MAIN, StageRequest::default()).await;
        change(dir.path());
        let (engine, found) = opened(dir.path()).await;
        assert_eq!(found, Some((1, Some(expected.to_owned()))), "{name}");
        // A deploy refuses it, too.
        engine.deploy(deploy_of(1)).await.expect_err(name);
        engine.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opened_stage_is_out_of_date_after_a_deploy_of_another_one() {
    let dir = staged_before(MAIN, StageRequest::default()).await;
    let other = engine(dir.path()).await;
    other.stage(StageRequest::default()).await.expect("a stage");
    other.deploy(deploy_of(1)).await.expect("a deploy");
    other.shutdown().await;
    let (engine, found) = opened(dir.path()).await;
    let (stage, outdated) = found.expect("a stage");
    let outdated = outdated.expect("a difference");
    assert_eq!(stage, 2);
    assert!(outdated.starts_with("the state has changed"), "{outdated}");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stage_with_an_ephemeral_variable_says_that_its_value_is_not_stored() {
    let main = "variable \"token\" {\n  type      = string\n  ephemeral = true\n}\n\
                resource \"terraform_data\" \"a\" {}\n";
    let flag = model::VariableFlag::Value {
        name: "token".into(),
        text: "t".into(),
    };
    let dir = staged_before(main, StageRequest::with_variables(vec![flag])).await;
    // `load_plugins` needs no value: the variable is not used by the backend.
    let engine = engine(dir.path()).await;
    engine.open_newest_stage().await.expect("no failure");
    let (view, _) = engine.subscribe();
    let outdated = view.stage_outdated.expect("a reason");
    assert!(
        outdated.starts_with("The variable \"token\" is ephemeral"),
        "{outdated}"
    );
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_15_opened_stage_with_a_secret_is_resolved_by_its_deploy() {
    let main =
        "variable \"token\" {}\nresource \"terraform_data\" \"a\" {\n  input = var.token\n}\n";
    let secret = "secret \"token\" {\n  from = \"file:token\"\n}\n";
    for (name, changed) in [("same", false), ("changed", true)] {
        let dir = tempfile::tempdir().expect("a directory");
        write(dir.path(), "main.tf", main);
        write(dir.path(), "own.flightdeck.hcl", secret);
        write(dir.path(), "token", "first-token\n");
        let before = engine(dir.path()).await;
        let staged = before.stage(StageRequest::default()).await;
        let secrets = &staged.expect("a stage").secrets;
        assert_eq!(secrets[0].to_string(), "secret token from file:token");
        before.shutdown().await;
        if changed {
            write(dir.path(), "token", "second-token\n");
        }
        // The console resolves nothing by itself, so it cannot know.
        let (engine, found) = opened(dir.path()).await;
        assert_eq!(found, Some((1, None)), "{name}");
        match engine.deploy(deploy_of(1)).await {
            Ok(summary) => {
                assert!(!changed, "{name}");
                assert_eq!(summary.outcome, DeployOutcome::Succeeded);
            }
            Err(error) => {
                assert!(changed, "{name}: {error}");
                let text = "the secret token (from file:token) has changed";
                assert!(error.to_string().contains(text), "{error}");
            }
        }
        engine.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_stage_is_opened_if_the_engine_has_one_or_the_newest_changes_nothing() {
    let dir = staged_before("", StageRequest::default()).await;
    let (engine, found) = opened(dir.path()).await;
    assert_eq!(found, None, "no changes");
    engine.shutdown().await;
    let dir = staged_before(MAIN, StageRequest::default()).await;
    let engine = super::engine(dir.path()).await;
    let own = engine.stage(StageRequest::default()).await.expect("staged");
    engine.open_newest_stage().await.expect("no failure");
    let (view, _) = engine.subscribe();
    assert!(Arc::ptr_eq(&view.stage.expect("a stage"), &own));
    engine.shutdown().await;
}
