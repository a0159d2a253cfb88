//! Tests of stages of the configuration of an earlier deploy.

use super::{Engine, engine};
use model::{Action, DeployOutcome, DeployRequest, Severity, StageRequest, StageSummary};
use model::{DifferenceKind, StageMode, VariableFlag};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Files of a configuration: name and text.
type Files = &'static [(&'static str, &'static str)];

const FIRST: Files = &[
    (
        "main.tf",
        r#"
variable "size" {}
variable "secret" {
  sensitive = true
}
resource "terraform_data" "both" {
  input = [var.size, file("in.txt"), fileexists("flag"), fileset(path.module, "*.txt")]
}
resource "terraform_data" "old" {
  input = sensitive(var.secret)
}
module "child" {
  source = "./child"
}
"#,
    ),
    ("terraform.tfvars", "size = \"small\"\nsecret = \"s1\"\n"),
    ("in.txt", "first"),
    (
        "child/main.tf",
        "resource \"terraform_data\" \"c\" {\n  input = file(\"${path.module}/c.txt\")\n}\n",
    ),
    ("child/c.txt", "first child"),
];

const SECOND: Files = &[
    (
        "main.tf",
        r#"
variable "size" {}
resource "terraform_data" "both" {
  input = [var.size, file("in.txt"), fileexists("flag"), fileset(path.module, "*.txt")]
}
"#,
    ),
    ("more.tf", "resource \"terraform_data\" \"new\" {}\n"),
    ("terraform.tfvars", "size = \"large\"\n"),
    ("in.txt", "second"),
    ("other.txt", "second"),
    ("flag", ""),
];

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, text).expect("written");
    }
}

/// Removes the files of one configuration and writes those of another.
fn replace(dir: &Path, before: Files, after: Files) {
    for (name, _) in before {
        std::fs::remove_file(dir.join(name)).expect("removed");
    }
    write(dir, after);
}

fn request(stage: i64) -> DeployRequest {
    DeployRequest {
        stage,
        only: None,
        parallelism: 4,
        variables: Vec::new(),
    }
}

async fn deploy(engine: &Engine, stage: i64) {
    let summary = engine.deploy(request(stage)).await.expect("a deploy");
    assert_eq!(summary.outcome, DeployOutcome::Succeeded);
}

async fn stage(engine: &Engine, request: StageRequest) -> Result<Arc<StageSummary>, String> {
    let staged = engine.stage(request).await;
    staged.map_err(|error| {
        let (view, _) = engine.subscribe();
        let details = view
            .diagnostics
            .iter()
            .map(|d| format!("{}: {}", d.summary, d.detail));
        details.collect::<Vec<_>>().join("\n") + &error.to_string()
    })
}

fn of(deploy: i64) -> StageRequest {
    StageRequest {
        configuration_of: Some(deploy),
        ..StageRequest::default()
    }
}

fn actions(stage: &StageSummary) -> BTreeMap<&str, Action> {
    let changes = stage.changes.iter().filter(|c| c.has_effect());
    changes.map(|c| (c.address.as_str(), c.action)).collect()
}

/// Warnings about the configuration. The CLI configuration of the machine is not under test: its
/// variable may name a missing file.
fn warnings(engine: &Engine) -> Vec<String> {
    let (view, _) = engine.subscribe();
    let all = view
        .diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Warning && d.summary != "CLI configuration");
    all.map(|d| d.detail.clone()).collect()
}

/// Inputs in the state, by address.
async fn inputs(engine: &Engine) -> BTreeMap<String, serde_json::Value> {
    let json = engine.state_json().await.expect("a state");
    let root = &json["values"]["root_module"];
    let children = root["child_modules"].as_array().into_iter().flatten();
    let modules = std::iter::once(root).chain(children);
    let all = modules.flat_map(|m| m["resources"].as_array().into_iter().flatten());
    let input = |r: &serde_json::Value| {
        let address = r["address"].as_str().expect("an address").to_owned();
        (address, r["values"]["input"].clone())
    };
    all.map(input).collect()
}

/// Workspace after deploys of both configurations, with the files of the second one, and the inputs
/// after the first one.
async fn both() -> (TempDir, Engine, BTreeMap<String, serde_json::Value>) {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), FIRST);
    let engine = engine(dir.path()).await;
    let first = stage(&engine, StageRequest::default())
        .await
        .expect("a stage");
    deploy(&engine, first.stage).await;
    let after_first = inputs(&engine).await;
    replace(dir.path(), FIRST, SECOND);
    let second = stage(&engine, StageRequest::default())
        .await
        .expect("a stage");
    deploy(&engine, second.stage).await;
    (dir, engine, after_first)
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_of_an_earlier_deploy_is_staged_and_deployed() {
    let (dir, engine, after_first) = both().await;
    let differing = engine.configuration_difference(1).await.expect("compared");
    let differing = differing.expect("no errors").into_iter();
    let expected = [
        ("child/main.tf".to_owned(), DifferenceKind::New),
        ("main.tf".to_owned(), DifferenceKind::Changed),
        ("more.tf".to_owned(), DifferenceKind::Removed),
    ];
    assert!(differing.map(|f| (f.name, f.kind)).eq(expected));
    let back = stage(&engine, of(1)).await.expect("a stage");
    assert_eq!(back.configuration_of, Some(1));
    let expected = [
        ("module.child.terraform_data.c", Action::Create),
        ("terraform_data.both", Action::Update),
        ("terraform_data.new", Action::Destroy),
        ("terraform_data.old", Action::Create),
    ];
    assert_eq!(actions(&back), expected.into());
    assert_eq!(warnings(&engine), [""; 0]);
    // Files on disk do not belong to this configuration.
    write(
        dir.path(),
        &[("more.tf", "locals {}\n"), ("in.txt", "third")],
    );
    engine.check_stage(back.stage).await.expect("not stale");
    engine.shutdown().await;
    let engine = super::engine(dir.path()).await;
    deploy(&engine, back.stage).await;
    assert_eq!(inputs(&engine).await, after_first);
    assert!(!dir.path().join("child/main.tf").exists());
    // The files on disk are used again.
    let forward = stage(&engine, StageRequest::default())
        .await
        .expect("a stage");
    assert_eq!(forward.configuration_of, None);
    assert_eq!(actions(&forward)["terraform_data.old"], Action::Destroy);
    // Such a deploy has a configuration to go back to, too.
    let same = stage(&engine, of(3)).await.expect("a stage");
    assert_eq!(actions(&same), [].into());
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stage_of_an_earlier_configuration_is_stale_after_a_change_of_the_state() {
    let (_dir, engine, _) = both().await;
    let back = stage(&engine, of(1)).await.expect("a stage");
    let other = stage(&engine, of(1)).await.expect("a stage");
    deploy(&engine, other.stage).await;
    let error = engine.deploy(request(back.stage)).await.expect_err("stale");
    assert!(error.to_string().contains("state has changed"), "{error}");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_file_of_an_earlier_configuration_contains_it() {
    let (dir, engine, after_first) = both().await;
    let back = stage(&engine, of(1)).await.expect("a stage");
    let file = engine.stage_file(back.stage).await.expect("a file");
    engine.shutdown().await;
    // A copy of the workspace without the history.
    let copy = tempfile::tempdir().expect("a directory");
    write(copy.path(), SECOND);
    let state = "terraform.tfstate";
    std::fs::copy(dir.path().join(state), copy.path().join(state)).expect("copied");
    let engine = super::engine(copy.path()).await;
    let imported = engine.import_stage(file, false).await.expect("a stage");
    deploy(&engine, imported).await;
    assert_eq!(inputs(&engine).await, after_first);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_file_whose_content_is_not_stored_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let elsewhere = tempfile::tempdir().expect("a directory");
    let outside = elsewhere.path().join("outside.txt");
    let large = "x".repeat(300_000);
    std::fs::write(dir.path().join("large.txt"), &large).expect("written");
    std::fs::write(&outside, "1").expect("written");
    let main = format!(
        "resource \"terraform_data\" \"a\" {{\n  input = [filesha1(\"large.txt\"), file({outside:?})]\n}}\n"
    );
    write(dir.path(), &[("main.tf", main.as_str())]);
    let engine = engine(dir.path()).await;
    let first = stage(&engine, StageRequest::default())
        .await
        .expect("a stage");
    deploy(&engine, first.stage).await;
    let same = stage(&engine, of(1))
        .await
        .expect("the files are unchanged");
    assert_eq!(actions(&same), [].into());
    engine.check_stage(same.stage).await.expect("not stale");
    std::fs::write(&outside, "2").expect("written");
    let error = engine.check_stage(same.stage).await.expect_err("stale");
    assert!(error.to_string().contains("outside.txt"), "{error}");
    let error = stage(&engine, of(1)).await.expect_err("another content");
    assert!(
        error.contains("outside.txt\" has changed since the deploy"),
        "{error}"
    );
    std::fs::write(&outside, "1").expect("written");
    std::fs::write(dir.path().join("large.txt"), large + "y").expect("written");
    let error = stage(&engine, of(1)).await.expect_err("another content");
    assert!(
        error.contains("large.txt\" has changed since the deploy"),
        "{error}"
    );
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn file_that_the_deploy_did_not_read_is_named_in_a_warning() {
    let dir = tempfile::tempdir().expect("a directory");
    let main = "variable \"name\" {\n  default = \"a.txt\"\n}\n\
                resource \"terraform_data\" \"a\" {\n  input = file(var.name)\n}\n";
    write(
        dir.path(),
        &[("main.tf", main), ("a.txt", "a"), ("b.txt", "b")],
    );
    let engine = engine(dir.path()).await;
    let first = stage(&engine, StageRequest::default())
        .await
        .expect("a stage");
    deploy(&engine, first.stage).await;
    let request = StageRequest {
        variables: vec![VariableFlag::Value {
            name: "name".into(),
            text: "b.txt".into(),
        }],
        ..of(1)
    };
    let back = stage(&engine, request).await.expect("a stage");
    assert_eq!(actions(&back)["terraform_data.a"], Action::Update);
    let [warning] = &warnings(&engine)[..] else {
        panic!("{:?}", warnings(&engine));
    };
    assert!(
        warning.contains("the present content of b.txt,"),
        "{warning}"
    );
    deploy(&engine, back.stage).await;
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sensitive_value_of_an_old_deploy_must_be_given_again() {
    let (dir, engine, after_first) = both().await;
    // Only the newest 50 stages have sensitive values.
    for _ in 0..51 {
        stage(&engine, StageRequest::default())
            .await
            .expect("a stage");
    }
    let error = stage(&engine, of(1)).await.expect_err("a missing value");
    assert!(
        error.contains("\"secret\" had in deploy #1 is not stored"),
        "{error}"
    );
    let asked = engine
        .unset_variables(of(1), None)
        .await
        .expect("variables");
    assert!(asked.iter().map(|v| &*v.name).eq(["secret"]));
    let request = StageRequest {
        variables: vec![VariableFlag::Value {
            name: "secret".into(),
            text: "s1".into(),
        }],
        ..of(1)
    };
    let back = stage(&engine, request).await.expect("a stage");
    engine.shutdown().await;
    let engine = super::engine(dir.path()).await;
    deploy(&engine, back.stage).await;
    assert_eq!(inputs(&engine).await, after_first);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deploy_without_a_configuration_cannot_be_gone_back_to() {
    let dir = tempfile::tempdir().expect("a directory");
    write(
        dir.path(),
        &[("main.tf", "resource \"terraform_data\" \"a\" {}\n")],
    );
    let engine = engine(dir.path()).await;
    let first = stage(&engine, StageRequest::default())
        .await
        .expect("a stage");
    deploy(&engine, first.stage).await;
    std::fs::remove_file(dir.path().join("main.tf")).expect("removed");
    let request = StageRequest {
        mode: StageMode::Destroy,
        ..StageRequest::default()
    };
    let second = stage(&engine, request).await.expect("a stage");
    deploy(&engine, second.stage).await;
    for (deploy, expected) in [
        (2, "deploy #2 has no configuration files"),
        (7, "there is no deploy 7; run `flightdeck history`"),
    ] {
        let error = stage(&engine, of(deploy)).await.expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
    // The directory needs no files of its own.
    let back = stage(&engine, of(1)).await.expect("a stage");
    deploy(&engine, back.stage).await;
    assert_eq!(inputs(&engine).await.len(), 1);
    engine.shutdown().await;
}
