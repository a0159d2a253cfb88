//! Tests of selections: changes are selected and deselected one by one, as in the console, with
//! their dependencies by instance, through real stages and deploys with the built-in provider.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use engine::Engine;
use model::settings::{Access, Settings};
use model::{DeployOutcome, DeployRequest, Select, StageId, StageMode, StageRequest, VariableFlag};
use std::collections::BTreeSet;
use tempfile::TempDir;

const MAIN: &str = r#"
variable "v" { default = "one" }

locals {
  of_x = terraform_data.a["x"].output
  key  = "x"
}

resource "terraform_data" "a" {
  for_each         = toset(["x", "y", "z"])
  input            = "${var.v} ${each.key}"
  triggers_replace = var.v
}

# By key, by the key of what it is repeated over, through a local value, by a computed key, and all of them.
resource "terraform_data" "b" {
  for_each         = toset(["x", "y", "z"])
  input            = terraform_data.a[each.key].output
  triggers_replace = var.v
}
resource "terraform_data" "chained" {
  for_each = terraform_data.a
  input    = each.value.output
}
resource "terraform_data" "local" {
  input = local.of_x
}
resource "terraform_data" "computed" {
  input = terraform_data.a[local.key].output
}
resource "terraform_data" "counted" {
  count = 2
  input = terraform_data.a[["y", "z"][count.index]].output
}
resource "terraform_data" "all" {
  input = [for one in terraform_data.b : one.output]
}

module "app" {
  for_each = toset(["billing", "shop"])
  source   = "./app"
  given    = "${var.v} ${each.key}"
}
resource "terraform_data" "bill" {
  input = module.app["billing"].out
}
resource "terraform_data" "after" {
  input      = var.v
  depends_on = [module.app]
}

output "x" { value = terraform_data.b["x"].output }
output "z" { value = terraform_data.b["z"].output }
output "plain" { value = var.v }
"#;

const APP: &str = r#"
variable "given" {}
resource "terraform_data" "in" { input = var.given }
resource "terraform_data" "out" { input = terraform_data.in.output }
output "out" { value = terraform_data.out.output }
"#;

struct Bench {
    dir: TempDir,
    engine: Engine,
}

impl Bench {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("app")).unwrap();
        std::fs::write(dir.path().join("main.tf"), MAIN).unwrap();
        std::fs::write(dir.path().join("app/main.tf"), APP).unwrap();
        let settings = Settings {
            access: Access::ReadWrite,
            ..Settings::new(dir.path())
        };
        Self {
            engine: Engine::start(settings).await.unwrap(),
            dir,
        }
    }

    async fn stage(&self, mode: StageMode, v: &str) -> StageId {
        let request = StageRequest {
            mode,
            variables: vec![VariableFlag::Value {
                name: "v".into(),
                text: v.into(),
            }],
            ..StageRequest::default()
        };
        self.engine.stage(request).await.unwrap().stage
    }

    async fn deploy(&self, stage: StageId) {
        let done = self
            .engine
            .deploy(DeployRequest {
                stage,
                only: None,
                parallelism: 4,
                variables: Vec::new(),
            })
            .await
            .unwrap();
        assert_eq!(done.outcome, DeployOutcome::Succeeded);
    }

    async fn select(&self, stage: StageId, how: Select) -> (BTreeSet<String>, BTreeSet<String>) {
        let selection = self.engine.select(stage, how).await.unwrap();
        (short(&selection.taken), short(&selection.left))
    }

    async fn state(&self) -> BTreeSet<String> {
        short(
            &self
                .engine
                .state_rows()
                .await
                .unwrap()
                .into_iter()
                .map(|r| r.address)
                .collect::<Vec<_>>(),
        )
    }

    async fn outputs(&self) -> serde_json::Value {
        let exported = self.engine.export_state().await.unwrap().to_line();
        let exported: serde_json::Value = serde_json::from_str(&exported).unwrap();
        exported["outputs"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(n, o)| (n.clone(), o["value"].clone()))
            .collect()
    }
}

fn short(all: &[String]) -> BTreeSet<String> {
    all.iter()
        .map(|a| a.replace("terraform_data.", "").replace('"', ""))
        .collect()
}

fn set(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|s| (*s).to_owned()).collect()
}

const OF_Z: &[&str] = &["a[z]", "b[z]", "chained[z]", "counted[1]", "all"];

#[tokio::test(flavor = "multi_thread")]
async fn deselecting_an_instance_deselects_its_dependents() {
    let bench = Bench::new().await;
    let stage = bench.stage(StageMode::Normal, "one").await;
    assert_eq!(
        bench
            .select(stage, Select::Leave("terraform_data.a[\"z\"]".into()))
            .await
            .1,
        set(OF_Z)
    );
    // The remaining changes are deployed. Outputs that depend on deselected changes do not exist
    // yet.
    bench.deploy(stage).await;
    assert!(
        bench.state().await.is_disjoint(&set(OF_Z)),
        "{:?}",
        bench.state().await
    );
    assert_eq!(
        bench.outputs().await,
        serde_json::json!({"x": "one x", "plain": "one"})
    );
    drop(bench.dir);
}

#[tokio::test(flavor = "multi_thread")]
async fn deselecting_one_module_instance_keeps_the_others() {
    let bench = Bench::new().await;
    let stage = bench.stage(StageMode::Normal, "one").await;
    let (_, left) = bench
        .select(
            stage,
            Select::Leave("module.app[\"billing\"].terraform_data.in".into()),
        )
        .await;
    assert_eq!(
        left,
        set(&[
            "module.app[billing].in",
            "module.app[billing].out",
            "bill",
            "after"
        ])
    );
    bench.engine.select(stage, Select::None).await.unwrap();
    let (taken, _) = bench
        .select(stage, Select::Take("terraform_data.bill".into()))
        .await;
    assert_eq!(
        taken,
        set(&["module.app[billing].in", "module.app[billing].out", "bill"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn replacing_an_instance_selects_its_dependents_only() {
    let bench = Bench::new().await;
    bench
        .deploy(bench.stage(StageMode::Normal, "one").await)
        .await;
    let stage = bench.stage(StageMode::Normal, "two").await;
    bench.engine.select(stage, Select::None).await.unwrap();
    let (taken, _) = bench
        .select(stage, Select::Take("terraform_data.a[\"x\"]".into()))
        .await;
    assert_eq!(
        taken,
        set(&["a[x]", "b[x]"]),
        "those whose old objects must go first"
    );
    bench.engine.select(stage, Select::All).await.unwrap();
    assert_eq!(
        bench
            .select(stage, Select::Leave("terraform_data.a[\"z\"]".into()))
            .await
            .1,
        set(OF_Z)
    );
    bench.deploy(stage).await;
    assert_eq!(
        bench.outputs().await,
        serde_json::json!({"x": "two x", "z": "one z", "plain": "two"})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn narrowed_destroy_selects_dependents_only() {
    let bench = Bench::new().await;
    bench
        .deploy(bench.stage(StageMode::Normal, "one").await)
        .await;
    let before = bench.state().await;
    let stage = bench.stage(StageMode::Destroy, "one").await;
    bench.engine.select(stage, Select::None).await.unwrap();
    let (taken, _) = bench
        .select(stage, Select::Take("terraform_data.a[\"z\"]".into()))
        .await;
    assert_eq!(taken, set(OF_Z));
    bench.deploy(stage).await;
    assert_eq!(
        bench.state().await,
        before.difference(&taken).cloned().collect()
    );
    // As with a targeted destroy, outputs stay until everything is selected.
    assert_eq!(
        bench.outputs().await,
        serde_json::json!({"x": "one x", "z": "one z", "plain": "one"})
    );
}
