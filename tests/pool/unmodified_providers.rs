//! Tests of unmodified providers, from the filesystem mirror that `FLIGHTDECK_TEST_MIRROR` names
//! (`HOST/NAMESPACE/TYPE/VERSION/OS_ARCH/terraform-provider-TYPE…`).

use crate::test_pool::*;
use model::ConfigKey;
use plugin::{SpawnSpec, Start};
use provider::*;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .map(|d| d.filter_map(|e| Some(e.ok()?.path())).collect())
        .unwrap_or_default();
    all.sort();
    all
}

/// Address and executable of every unpacked provider for this platform.
fn providers(mirror: &Path) -> Vec<(String, PathBuf)> {
    let name = |p: &Path| {
        p.file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let mut found = Vec::new();
    for host in children(mirror) {
        for namespace in children(&host) {
            for kind in children(&namespace) {
                for version in children(&kind) {
                    let program = format!("terraform-provider-{}", name(&kind));
                    let files = children(&version.join("linux_amd64"));
                    if let Some(executable) =
                        files.into_iter().find(|f| name(f).starts_with(&program))
                    {
                        found.push((
                            format!("{}/{}/{}", name(&host), name(&namespace), name(&kind)),
                            executable,
                        ));
                    }
                }
            }
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_of_the_mirror_has_a_schema_and_validates() {
    let Some(mirror) = std::env::var_os("FLIGHTDECK_TEST_MIRROR") else {
        cty::testing::skipped("FLIGHTDECK_TEST_MIRROR names no filesystem mirror");
        return;
    };
    let all = providers(Path::new(&mirror));
    assert!(
        !all.is_empty(),
        "the mirror holds no provider of this platform"
    );
    for (address, executable) in all {
        let bench = Bench::new(10);
        let began = Instant::now();
        let spec = SpawnSpec {
            executable: executable.clone(),
            ..Default::default()
        };
        bench
            .pool
            .declare(
                found(&address, &executable.to_string_lossy()),
                Start::Spawn(spec),
            )
            .await;
        let provider = bench
            .pool
            .unconfigured(&address, &bench.ctx)
            .await
            .expect("it comes up");
        let up = began.elapsed();
        let schema = provider.known_schema().expect("known");
        println!(
            "{address}: {}, up in {up:?}; {} resources, {} data sources, {} ephemeral, {} functions, {} identities, {:?}",
            provider.info().dialect,
            schema.resources.len(),
            schema.data_sources.len(),
            schema.ephemeral.len(),
            schema.functions.len(),
            schema.identities.len(),
            schema.capabilities,
        );
        assert!(schema.resources.len() + schema.data_sources.len() + schema.functions.len() > 0);
        // A value can be encoded for every type, and the provider decodes it.
        let nothing = complete_value(&schema.provider.block, &serde_json::json!({}));
        let checked = provider
            .validate_provider(nothing, &bench.ctx)
            .await
            .expect("answered");
        println!(
            "  empty provider configuration: {} diagnostics",
            checked.diagnostics.len()
        );
        for (name, resource) in schema.resources.iter().take(20) {
            let config = complete_value(&resource.block, &serde_json::json!({}));
            let checked = provider.validate_resource(name, config, &bench.ctx).await;
            let checked = checked.unwrap_or_else(|e| panic!("{name}: {e}"));
            // A missing required attribute is a diagnostic with a summary.
            assert!(
                checked.diagnostics.iter().all(|d| !d.summary.is_empty()),
                "{name}"
            );
        }
        let usual = bench
            .bus
            .view()
            .latencies
            .into_values()
            .find_map(|l| l.methods.get("ValidateResourceConfig").copied());
        println!("  {usual:?}");
        bench.pool.shutdown().await;
        assert_eq!(bench.pids(), Vec::<u32>::new());
    }
}

/// Creates and reads an object of a protocol 5 provider that needs no account.
#[tokio::test(flavor = "multi_thread")]
async fn provider_of_protocol_5_creates_an_object() {
    let path = std::env::var_os("FLIGHTDECK_TEST_MIRROR").map(PathBuf::from);
    let found_time = path
        .iter()
        .flat_map(|m| providers(m))
        .find(|(address, _)| address.ends_with("/time"));
    let Some((address, executable)) = found_time else {
        cty::testing::skipped("no mirror with terraform-provider-time");
        return;
    };
    let bench = Bench::new(10);
    let spec = SpawnSpec {
        executable: executable.clone(),
        ..Default::default()
    };
    bench
        .pool
        .declare(
            found(&address, &executable.to_string_lossy()),
            Start::Spawn(spec),
        )
        .await;
    let config = cty::Value::empty_object();
    let (time, _) = bench
        .pool
        .configured(&address, "provider.time", &config, &bench.ctx)
        .await
        .expect("up");
    assert_eq!(time.info().dialect, "tfplugin5");
    assert_eq!(
        time.configure(config, &bench.ctx)
            .await
            .expect("answered")
            .diagnostics,
        []
    );
    let schema = time.known_schema().expect("known");
    let config = complete_value(
        &schema.resources["time_static"].block,
        &serde_json::json!({"rfc3339": "2026-11-21T10:00:00Z"}),
    );
    let nothing = cty::Value::null(config.ty().clone());
    let request = PlanRequest {
        type_name: "time_static".into(),
        prior: nothing.clone(),
        proposed: config.clone(),
        config: config.clone(),
        prior_private: Bytes::new(),
        prior_identity: None,
    };
    let plan = time.plan(request, &bench.ctx).await.expect("planned");
    assert_eq!(plan.diagnostics, []);
    let request = ApplyRequest {
        type_name: "time_static".into(),
        prior: nothing,
        planned: plan.planned,
        config,
        private: plan.private,
        planned_identity: None,
    };
    let made = time.apply(request, &bench.ctx).await.expect("applied");
    assert_eq!(made.diagnostics, []);
    let state = made.new_state.expect("a state");
    assert_eq!(attr(&state, "hour"), cty::Value::int(10));
    let request = ReadRequest {
        type_name: "time_static".into(),
        current: state.clone(),
        private: made.private,
        identity: None,
    };
    assert_eq!(
        time.read(request, &bench.ctx).await.expect("read").state,
        state
    );
    if schema.functions.contains_key("rfc3339_parse") {
        let called = time
            .call_function(
                "rfc3339_parse",
                vec![cty::Value::string("2026-11-21T10:00:00Z")],
                &bench.ctx,
            )
            .await;
        let parsed = called.expect("answered").result.expect("parsed");
        assert_eq!(attr(&parsed, "month"), cty::Value::int(11));
        // Calls a function as an expression does.
        let function = bench
            .pool
            .functions()
            .find(&ConfigKey::of_root(address.as_str()), "rfc3339_parse")
            .expect("there is one");
        let scope = lang::eval::Bindings::new(Default::default());
        let steps = lang::eval::Steps::new(lang::eval::MAX_STEPS);
        let host = lang::functions::Host {
            scope: &scope,
            depth: 0,
            secret: false,
            steps: &steps,
        };
        assert_eq!(
            function.call(&[cty::Value::string("2026-11-21T10:00:00Z")], host),
            Ok(parsed)
        );
        let called = time
            .call_function(
                "rfc3339_parse",
                vec![cty::Value::string("yesterday")],
                &bench.ctx,
            )
            .await;
        assert_eq!(
            called
                .expect("answered")
                .result
                .expect_err("refused")
                .argument,
            Some(0)
        );
    }
    bench.pool.shutdown().await;
}
