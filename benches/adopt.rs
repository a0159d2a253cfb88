//! Costs of adopting a state of 10,000 resources from another program: until it is read and
//! displayable, until it is in the store with a first change and written to the backend, and the
//! backend write alone. Targets: less than 300 ms for the read, and for the write.
//!
//! ```text
//! cargo bench --bench adopt
//! ```

#![allow(clippy::unwrap_used, reason = "a benchmark ends at its first surprise")]

use divan::{Bencher, black_box};
use engine::Engine;
use engine::Settings;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const RESOURCES: usize = 10_000;
/// Resource that is changed.
const ONE: &str = "terraform_data.r[0]";

fn main() {
    divan::main();
}

/// Returns an instance of typical size; about thirty attributes are not unusual.
fn instance(i: usize) -> Value {
    let tags: serde_json::Map<String, Value> = (0..24)
        .map(|n| (format!("tag{n}"), json!(format!("value {n} of {i}"))))
        .collect();
    // Dynamic attributes of a state carry their type.
    let input = json!({ "value": tags, "type": ["map", "string"] });
    json!({
        "index_key": i,
        "schema_version": 0,
        "attributes": {
            "id": format!("00000000-0000-4000-8000-{i:012}"),
            "input": input,
            "output": input,
            "triggers_replace": null,
        },
        "sensitive_attributes": [],
    })
}

/// Creates a directory as `tofu` leaves it.
fn directory(text: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let config = format!("resource \"terraform_data\" \"r\" {{\n  count = {RESOURCES}\n}}\n");
    std::fs::write(dir.path().join("main.tf"), config).unwrap();
    std::fs::write(dir.path().join("terraform.tfstate"), text).unwrap();
    dir
}

fn state() -> String {
    let instances: Vec<Value> = (0..RESOURCES).map(instance).collect();
    let all = json!({
        "version": 4,
        "terraform_version": "1.12.6",
        "serial": 7,
        "lineage": "7d5c9a1e-5d5e-4c0c-8a6a-6e1d1c1f0d3b",
        "outputs": {},
        "resources": [{
            "mode": "managed",
            "type": "terraform_data",
            "name": "r",
            "provider": "provider[\"terraform.io/builtin/terraform\"]",
            "instances": instances,
        }],
        "check_results": null,
    });
    serde_json::to_string_pretty(&all).unwrap() + "\n\n"
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
}

async fn engine(dir: &TempDir) -> Engine {
    Engine::start(Settings::new(dir.path())).await.unwrap()
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn read_and_ready(bencher: Bencher<'_, '_>) {
    let (text, runtime) = (state(), runtime());
    bencher.with_inputs(|| directory(&text)).bench_refs(|dir| {
        runtime.block_on(async {
            let rows = engine(dir).await.state_rows().await.unwrap();
            assert_eq!(black_box(rows).len(), RESOURCES);
        });
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn taken_over_changed_and_written_home(bencher: Bencher<'_, '_>) {
    let (text, runtime) = (state(), runtime());
    bencher
        // Starting the engine is measured by `read_and_ready`, so it belongs to the inputs here.
        .with_inputs(|| {
            let dir = directory(&text);
            let engine = runtime.block_on(engine(&dir));
            (dir, engine)
        })
        .bench_refs(|(_, engine)| {
            runtime
                .block_on(engine.taint(ONE.to_owned(), true))
                .unwrap();
        });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn changed_and_written_home(bencher: Bencher<'_, '_>) {
    let (text, runtime) = (state(), runtime());
    bencher
        .with_inputs(|| {
            let dir = directory(&text);
            // The first change adopts the state, so it belongs to the inputs here.
            let engine = runtime.block_on(async {
                let engine = engine(&dir).await;
                engine.taint(ONE.to_owned(), true).await.unwrap();
                engine
            });
            (dir, engine)
        })
        .bench_refs(|(_, engine)| {
            runtime
                .block_on(engine.taint(ONE.to_owned(), false))
                .unwrap();
        });
}
