//! `init` of a backend, on files only; servers have their own tests.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::*;
use std::fs;
use tempfile::TempDir;

const STATE: &str = r#"{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"l","outputs":{"o":{"value":"x","type":"string"}},"resources":[],"check_results":null}"#;

struct Bench(TempDir);

impl Bench {
    fn new(block: &str) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        bench.block(block);
        bench
    }

    fn block(&self, block: &str) {
        let text = format!("terraform {{\n{block}\n}}\n");
        fs::write(self.0.path().join("main.tf"), text).unwrap();
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    fn record(&self) -> serde_json::Value {
        let text = self.read(".terraform/terraform.tfstate");
        serde_json::from_str(&text).unwrap_or_default()
    }

    async fn init(&self, options: InitBackend) -> Result<Initialized, String> {
        let done = init_backend(self.0.path(), "", &options).await;
        done.map_err(|e| e.to_string())
    }

    fn place(&self) -> Result<String, String> {
        state_location::locate(self.0.path(), "", &StageRequest::default())
            .map(|found| match found.place {
                StatePlace::File(file) => file.display().to_string(),
                other => format!("{other:?}"),
            })
            .map_err(|e| e.refused.map(|why| why.to_string()).unwrap_or_default())
    }
}

fn with(config: &[&str]) -> InitBackend {
    InitBackend {
        config: config.iter().map(|text| (*text).to_owned()).collect(),
        ..InitBackend::default()
    }
}

fn migrate() -> InitBackend {
    InitBackend {
        migrate: true,
        force_copy: true,
        ..InitBackend::default()
    }
}

#[tokio::test]
async fn backend_configuration_arguments_are_recorded_by_init() {
    let w = Bench::new("backend \"local\" {}");
    w.write(
        "b.tfbackend",
        "path = \"from/file.tfstate\"\nworkspace_dir = \"ws\"\n",
    );
    let done = w
        .init(with(&["b.tfbackend", "path=later.tfstate"]))
        .await
        .unwrap();
    assert_eq!(done.backend.as_deref(), Some("local"));
    let record = w.record();
    assert_eq!(record["version"], 3);
    assert_eq!(record["backend"]["config"]["path"], "later.tfstate");
    assert_eq!(record["backend"]["config"]["workspace_dir"], "ws");
    // Hash of the block as written: `<"local";<~;~;>;>`.
    let empty = Settings::new(BackendKind::Local).hash();
    assert_eq!(record["backend"]["hash"], empty);
    assert_eq!(w.place().unwrap(), "later.tfstate");
    // Repeating it changes nothing; an unknown argument is refused.
    let again = w
        .init(with(&["path=later.tfstate", "workspace_dir=ws"]))
        .await;
    assert!(again.unwrap().messages.is_empty());
    let said = w.init(with(&["bucket=x"])).await.unwrap_err();
    assert!(said.contains("no argument \"bucket\""), "{said}");
    w.block("");
    let said = w.init(with(&["path=x"])).await.unwrap_err();
    assert!(said.contains("requires a backend block"), "{said}");
}

#[tokio::test]
async fn changed_backend_is_refused_until_migrated_or_reconfigured() {
    let w = Bench::new("backend \"local\" { path = \"a.tfstate\" }");
    w.init(with(&[])).await.unwrap();
    w.write("a.tfstate", STATE);
    w.block("backend \"local\" { path = \"b.tfstate\" }");
    let said = w.place().unwrap_err();
    assert!(said.contains("changed since"), "{said}");
    assert!(said.contains("-migrate-state"), "{said}");
    let said = w.init(with(&[])).await.unwrap_err();
    assert!(said.contains("the backend configuration changed"), "{said}");
    let ask = InitBackend {
        migrate: true,
        ..InitBackend::default()
    };
    let said = w.init(ask).await.unwrap_err();
    assert!(said.contains("a.tfstate has a state"), "{said}");
    let done = w.init(migrate()).await.unwrap();
    assert!(
        done.messages[0].contains("migrated the state from a.tfstate to b.tfstate"),
        "{done:?}"
    );
    assert!(w.read("b.tfstate").contains("\"serial\": 3"));
    assert_eq!(w.read("a.tfstate"), STATE, "where it was it stays");
    assert_eq!(w.place().unwrap(), "b.tfstate");
    // The other direction without a copy.
    w.block("backend \"local\" { path = \"c.tfstate\" }");
    let reconfigure = InitBackend {
        reconfigure: true,
        ..InitBackend::default()
    };
    w.init(reconfigure).await.unwrap();
    assert_eq!(w.read("c.tfstate"), "");
    assert_eq!(w.place().unwrap(), "c.tfstate");
}

#[tokio::test]
async fn removed_backend_is_refused_until_its_state_is_migrated() {
    let w = Bench::new("backend \"local\" { path = \"a.tfstate\" }");
    w.init(with(&[])).await.unwrap();
    w.write("a.tfstate", STATE);
    w.block("");
    let said = w.place().unwrap_err();
    assert!(said.contains("no longer has the backend"), "{said}");
    w.init(migrate()).await.unwrap();
    assert!(w.read("terraform.tfstate").contains("\"serial\": 3"));
    assert_eq!(w.record(), serde_json::json!({"version": 3}));
    assert_eq!(w.place().unwrap(), "terraform.tfstate");
}

#[tokio::test]
async fn migration_does_not_overwrite_another_state() {
    let w = Bench::new("backend \"local\" { path = \"a.tfstate\" }");
    w.init(with(&[])).await.unwrap();
    w.write("a.tfstate", STATE);
    w.write("b.tfstate", &STATE.replace("\"x\"", "\"y\""));
    w.block("backend \"local\" { path = \"b.tfstate\" }");
    let said = w.init(migrate()).await.unwrap_err();
    assert!(
        said.contains("b.tfstate already has another state"),
        "{said}"
    );
    assert!(w.read("b.tfstate").contains("\"y\""));
    assert!(w.place().is_err(), "nothing was recorded");
}

#[tokio::test]
async fn init_without_backend_uses_backend_metadata_and_changes_nothing() {
    let w = Bench::new("backend \"local\" { path = \"a.tfstate\" }");
    let without = || InitBackend {
        without_backend: true,
        ..InitBackend::default()
    };
    assert_eq!(w.init(without()).await.unwrap().backend, None);
    assert!(!w.0.path().join(".terraform").exists());
    w.init(with(&[])).await.unwrap();
    assert_eq!(
        w.init(without()).await.unwrap().backend.as_deref(),
        Some("local")
    );
}

#[tokio::test]
async fn state_record_follows_a_backend_migration() {
    let w = Bench::new("backend \"local\" { path = \"a.tfstate\" }");
    w.init(with(&[])).await.unwrap();
    w.write("a.tfstate", STATE);
    let store = Store::open(w.0.path(), Access::ReadWrite).unwrap();
    let at = |file: &str| StatePlace::File(file.into());
    let state = StateOfRecord::new(w.0.path(), &store, at("a.tfstate"), Default::default());
    let patience = state::LockWait::no_wait();
    state.open(info("x"), &patience).await.unwrap();
    state.close().await.unwrap();
    w.block("backend \"local\" { path = \"b.tfstate\" }");
    w.init(migrate()).await.unwrap();
    let state = StateOfRecord::new(w.0.path(), &store, at("b.tfstate"), Default::default());
    let told = state.open(info("x"), &patience).await.unwrap();
    assert!(told.is_empty(), "it is known there: {told:?}");
}
