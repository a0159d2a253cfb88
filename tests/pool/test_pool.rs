//! Shared parts of the tests: a pool with bundled providers, and values from JSON by schema.

use calls::{CallContext, Calls, Deadlines, ProviderError};
use cty::schema::{Block, NestedBlock, Nesting};
use cty::{Path, Value};
use model::bus::Bus;
use model::settings::ServiceSettings;
use model::view::{CallView, PluginView, View};
use model::*;
use plugin::{PluginSettings, Plugins, SpawnSpec, Start};
use provider::pool::{Pool, PoolSettings};
use provider::*;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// Limit of every wait, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);
pub const LAB: &str = "flightdeck.internal/bundled/lab";

pub struct Bench {
    pub bus: Bus,
    pub pool: Pool,
    pub folder: TempDir,
    pub ctx: CallContext,
}

impl Bench {
    pub fn new(slots: u32) -> Self {
        Self::with_limits(slots, ServiceSettings::default())
    }

    /// Creates a pool with these limits, which it checks every 10 ms.
    pub fn with_limits(slots: u32, service: ServiceSettings) -> Self {
        Self::made(slots, service, Duration::from_millis(10))
    }

    /// Creates a pool that checks its limits at this interval.
    pub fn with_check_interval(slots: u32, every: Duration) -> Self {
        Self::made(slots, ServiceSettings::default(), every)
    }

    fn made(slots: u32, service: ServiceSettings, look_every: Duration) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let bus = Bus::default();
        let mut deadlines = Deadlines::default();
        deadlines.set_line(service.wait_timeout);
        let calls = Calls::new(Arc::new(bus.clone()), deadlines, Vec::new());
        let mut settings = PluginSettings::default();
        settings.launch.backoff = vec![Duration::from_millis(5)];
        settings.usage_every = Duration::from_millis(50);
        settings.drain = service.renew.drain;
        let plugins = Plugins::start(settings, Arc::new(bus.clone()));
        let settings = PoolSettings {
            slots,
            service,
            maintenance_interval: look_every,
            ..PoolSettings::new(folder.path())
        };
        let pool = Pool::new(settings, plugins, calls, Arc::new(bus.clone()));
        Self {
            bus,
            pool,
            folder,
            ctx: CallContext::default(),
        }
    }

    /// Declares a bundled provider, served by the program under test.
    pub async fn declare(&self, name: &str) -> PluginId {
        let executable = env!("CARGO_BIN_EXE_flightdeck");
        let spec = SpawnSpec {
            executable: executable.into(),
            args: ["plugin", "serve", name].map(Into::into).to_vec(),
            env: [("FLIGHTDECK_LAB_DIR".into(), self.folder.path().into())].into(),
            directory: None,
            approved: None,
        };
        self.pool
            .declare(
                found(&format!("flightdeck.internal/bundled/{name}"), executable),
                Start::Spawn(spec),
            )
            .await
    }

    /// Declares the lab as a script that can be changed while it is in use.
    pub async fn declare_script(&self) -> PluginId {
        self.script("");
        let executable = self.folder.path().join("provider");
        let spec = SpawnSpec {
            executable: executable.clone(),
            env: [("FLIGHTDECK_LAB_DIR".into(), self.folder.path().into())].into(),
            ..SpawnSpec::default()
        };
        let executable = executable.display().to_string();
        self.pool
            .declare(found(LAB, &executable), Start::Spawn(spec))
            .await
    }

    /// Replaces the script atomically: it runs `first`, and then the lab.
    pub fn script(&self, first: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let program = env!("CARGO_BIN_EXE_flightdeck");
        let text = format!("#!/bin/sh\n{first}\nexec '{program}' plugin serve lab\n");
        let (new, path) = (
            self.folder.path().join("new"),
            self.folder.path().join("provider"),
        );
        std::fs::write(&new, text).expect("written");
        std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).expect("allowed");
        std::fs::rename(new, path).expect("put there");
    }

    /// Waits until the view matches a condition.
    pub async fn wait_until(&self, what: &str, is_so: impl Fn(&View) -> bool) {
        let seen = async {
            while !self.bus.with_view(&is_so) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, seen).await.is_err() {
            panic!("waited for {what} in vain: {:#?}", self.bus.view().plugins);
        }
    }

    /// View of one plugin.
    pub fn plugin(&self, id: &PluginId) -> PluginView {
        self.bus.with_view(|v| v.plugins[id].clone())
    }

    /// flightdeck's own lines in the plugins' logs.
    pub fn engine_log_lines(&self, events: &[Arc<Event>]) -> Vec<String> {
        let note = |e: &Arc<Event>| match &e.kind {
            EventKind::Plugin(PluginEvent::Log { line }) if line.stream == LogStream::Engine => {
                Some(line.text.clone())
            }
            _ => None,
        };
        events.iter().filter_map(note).collect()
    }

    /// The lab with the configuration of `provider.lab`.
    pub async fn configured_lab(&self, config: Json) -> Arc<dyn Provider> {
        self.lab_with_configuration("provider.lab", config).await.0
    }

    /// The lab with one configuration; true if it had this configuration before.
    pub async fn lab_with_configuration(
        &self,
        key: &str,
        config: Json,
    ) -> (Arc<dyn Provider>, bool) {
        let plain = self
            .pool
            .unconfigured(LAB, &self.ctx)
            .await
            .expect("it comes up");
        let schema = plain.known_schema().expect("known once it is up");
        let config = complete_value(&schema.provider.block, &config);
        let (provider, done) = self
            .pool
            .configured(LAB, key, &config, &self.ctx)
            .await
            .expect("it comes up");
        if !done {
            assert_eq!(
                provider
                    .configure(config, &self.ctx)
                    .await
                    .expect("answered")
                    .diagnostics,
                []
            );
        }
        (provider, done)
    }

    /// Waits until the call that creates a resource has been sent.
    pub async fn until_runs(&self, address: &str) {
        let runs = |call: &CallView| {
            call.method == "ApplyResourceChange"
                && call.resource.as_deref() == Some(address)
                && call.started_at.is_some()
        };
        let sent = async {
            while !self.bus.with_view(|v| v.calls.values().any(runs)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, sent)
            .await
            .unwrap_or_else(|_| panic!("{address} is not being made"));
    }

    /// Pids of all launched processes that still run.
    pub fn all_pids(&self) -> Vec<u32> {
        let all = self.bus.with_view(|v| {
            let attempts = v.plugins.values().flat_map(|p| &p.attempts);
            attempts.filter_map(|a| a.pid).collect::<Vec<_>>()
        });
        all.into_iter().filter(|pid| is_alive(*pid)).collect()
    }

    pub fn pids(&self) -> Vec<u32> {
        let attempts = self.bus.with_view(|v| {
            v.plugins
                .values()
                .filter_map(|p| p.attempts.back()?.pid)
                .collect::<Vec<_>>()
        });
        attempts
            .into_iter()
            .filter(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists())
            .collect()
    }
}

/// True if a process runs and is not a zombie.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z')
}

pub fn found(address: &str, executable: &str) -> PluginFound {
    PluginFound {
        address: address.to_owned(),
        version: None,
        dialect: None,
        executable: Some(executable.to_owned()),
        source: "the test".to_owned(),
        why: "the test wants it".to_owned(),
        ..PluginFound::default()
    }
}

/// Complete value of a block from the given attributes.
pub fn complete_value(block: &Block, json: &Json) -> Value {
    let attribute = |name: &str, a: &cty::schema::Attribute| match json.get(name) {
        Some(given) => cty::json::decode_value(given, &a.implied_type()).expect("fits"),
        None => a.empty_value(),
    };
    let nested = |name: &str, b: &NestedBlock| match json.get(name).and_then(Json::as_array) {
        Some(given) if b.nesting == Nesting::Set => Value::set(
            b.block.implied_type(),
            given.iter().map(|j| complete_value(&b.block, j)).collect(),
        ),
        Some(given) => Value::list(
            b.block.implied_type(),
            given.iter().map(|j| complete_value(&b.block, j)).collect(),
        ),
        None => b.empty_value(),
    };
    let attributes = block
        .attributes
        .iter()
        .map(|(n, a)| (n.clone(), attribute(n, a)));
    let blocks = block.blocks.iter().map(|(n, b)| (n.clone(), nested(n, b)));
    Value::object(attributes.chain(blocks))
}

pub fn attr(value: &Value, name: &str) -> Value {
    value.get_attr(name).expect("an attribute")
}

/// Thing of the lab with a fault.
pub fn thing(provider: &dyn Provider, name: &str, fault: Json) -> Value {
    let mut json = json!({"name": name});
    if !fault.is_null() {
        json["fault"] = json!([fault]);
    }
    let schema = provider.known_schema().expect("known");
    complete_value(&schema.resources["lab_thing"].block, &json)
}

/// Plans and applies the creation of a thing. All attributes are configured, so the plan needs no
/// merge with a prior state.
pub async fn create(
    provider: &dyn Provider,
    config: Value,
    address: &str,
    ctx: &CallContext,
) -> Result<ApplyResponse, ProviderError> {
    let ctx = CallContext {
        resource: Some(address.into()),
        ..ctx.clone()
    };
    let nothing = Value::null(config.ty().clone());
    // Write-only values never become part of a plan.
    let request = PlanRequest {
        type_name: "lab_thing".to_owned(),
        prior: nothing.clone(),
        proposed: config.clone(),
        config: config.clone(),
        prior_private: Bytes::new(),
        prior_identity: None,
    };
    let plan = provider.plan(request, &ctx).await?;
    assert_eq!(plan.diagnostics, []);
    let request = ApplyRequest {
        type_name: "lab_thing".to_owned(),
        prior: nothing,
        planned: plan.planned,
        config,
        private: plan.private,
        planned_identity: None,
    };
    provider.apply(request, &ctx).await
}

pub fn at(name: &str) -> Option<Path> {
    Some(Path::root().attr(name))
}
