//! Rows of the tables, and their check: stages and deploys with the real planner, walk and store.

use super::configuration::written;
use super::fake_provider::FakeProvider;
use super::world::{Call, Effect, Operator, Script, World, rollout, short};
use crate::deploy::record::{DeployRecorder, Earlier};
use crate::deploy::run::{
    DeployResult, Deploying, Recorded, RequestSettings, Rollouts, Stops, parse_rollout,
};
use crate::stage::change::{Change, Digests, Stage, StageResult, StateOrigin};
use crate::stage::external_inputs::ExternalInputs;
use crate::stage::groups::changed_groups;
use crate::stage::nodes::{Nodes, Sources};
use crate::stage::prior::{PriorState, ResolvedProviders};
use crate::stage::scope::{Phase, WalkContext, timestamp};
use crate::stage::staging::{PlanInput, stage};
use crate::stage::steps::has_effect;
use crate::stage::testing::SingleProvider;
use crate::stage::values::Values;
use crate::stage::walk::Walk;
use calls::{Calls, Deadlines};
use group::ConfigHash;
use model::bus::Bus;
use model::settings::{Access, RetrySettings};
use model::*;
use plugin::{PluginSettings, Plugins};
use provider::functions::Functions;
use provider::pool::{Pool, PoolSettings};
use provider::{Provider, ProviderSchema};
use shell::Prober;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use store::Store;
use store::records::{NewDeploy, StartedDeploy, StateEdit, StateObject};
use tokio_util::sync::CancellationToken;
use workspace::{link_providers, load};

/// One rule of deploys, with an example. Names are those of resources; see `configuration` for the
/// notation.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) rule: &'static str,
    /// Configuration of an earlier deploy, which succeeds.
    pub(super) before: &'static str,
    /// Another earlier deploy, with its script.
    pub(super) interrupted: Option<(&'static str, Script)>,
    /// Marked as tainted before the deploy.
    pub(super) tainted: &'static str,
    /// Configuration of the deploy.
    pub(super) after: &'static str,
    /// True if the deploy destroys everything.
    pub(super) destroys: bool,
    /// Changes that are not selected.
    pub(super) deselected: &'static [&'static str],
    pub(super) parallelism: usize,
    pub(super) script: Script,
    /// Expected calls of the provider, in the order of their start.
    pub(super) calls: &'static str,
    /// True if they run at the same time, so that they may start in any order.
    pub(super) any_order: bool,
    /// Expected records on disk when a call starts.
    pub(super) at: &'static [(&'static str, &'static str)],
    /// Expected records after the deploy: `create a ok, create b open`.
    pub(super) records: Option<&'static str>,
    /// Expected ends of the operations.
    pub(super) ended: Option<&'static str>,
    /// Expected objects of the state, by the ids that the provider gave them.
    pub(super) state: Option<&'static str>,
    /// Expected root outputs of the state: `o = a1`.
    pub(super) outputs: Option<&'static str>,
    /// Expected diagnostics.
    pub(super) says: Option<&'static str>,
    /// Expected unknown outcomes of all deploys.
    pub(super) unknown: Option<&'static str>,
    /// Expected end of the newest rollout: its state, and the states of its members.
    pub(super) rollout: Option<&'static str>,
    /// Time for which the deploy waits while an operator pauses a rollout.
    pub(super) longest_pause: Duration,
    /// Expected answers to the requests of the operator.
    pub(super) answers: Option<&'static str>,
}

/// Row that expects nothing but its calls.
pub(super) const RULE: Rule = Rule {
    rule: "",
    before: "",
    interrupted: None,
    tainted: "",
    after: "",
    destroys: false,
    deselected: &[],
    parallelism: 1,
    script: &[],
    calls: "",
    any_order: false,
    at: &[],
    records: None,
    ended: None,
    state: None,
    outputs: None,
    says: None,
    unknown: None,
    rollout: None,
    longest_pause: Duration::from_secs(3_600),
    answers: None,
};

/// Checks all rows, and names each one that does not hold.
pub(super) async fn check(rules: &[Rule]) {
    let mut faults = Vec::new();
    for rule in rules {
        let time_limit = Duration::from_secs(60);
        let faulty = match tokio::time::timeout(time_limit, rule.faults()).await {
            Ok(faulty) => faulty,
            Err(_) => vec!["no end".to_owned()],
        };
        if !faulty.is_empty() {
            faults.push(format!("{}\n  {}", rule.rule, faulty.join("\n  ")));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

impl Rule {
    /// Deploys, and returns the differences to the expectations.
    async fn faults(&self) -> Vec<String> {
        let lab = Lab::new(self.longest_pause);
        if !self.before.is_empty() {
            let ready = lab.run(self.before, StageMode::Normal, &[], 1, &[]).await;
            assert_eq!(ready.says, "", "{}: {}", self.rule, ready.ended);
        }
        if let Some((configuration, script)) = self.interrupted {
            lab.run(configuration, StageMode::Normal, &[], 1, script)
                .await;
        }
        if !self.tainted.is_empty() {
            lab.taint(self.tainted).await;
        }
        let mode = match self.destroys {
            true => StageMode::Destroy,
            false => StageMode::Normal,
        };
        let (left, script) = (self.deselected, self.script);
        let got = lab
            .run(self.after, mode, left, self.parallelism, script)
            .await;
        let mut calls: Vec<&str> = got.calls.iter().map(|call| call.name.as_str()).collect();
        let mut faults = Vec::new();
        if self.any_order {
            calls.sort_unstable();
        }
        let mut compare = |what: &str, expected: Option<&str>, got: &str| {
            if let Some(expected) = expected.filter(|expected| *expected != got) {
                faults.push(format!("{what}: {got}\n    expected: {expected}"));
            }
        };
        compare("calls", Some(self.calls), &calls.join(", "));
        for (name, records) in self.at {
            let call = got.calls.iter().find(|call| call.name == *name);
            let found = call.map_or("no such call", |call| call.records.as_str());
            compare(&format!("records at {name}"), Some(records), found);
        }
        compare("records", self.records, &got.records);
        compare("ended", self.ended, &got.ended);
        compare("state", self.state, &got.state);
        compare("outputs", self.outputs, &got.outputs);
        compare("says", self.says, &got.says);
        compare("unknown", self.unknown, &got.unknown);
        compare("rollout", self.rollout, &got.rollout);
        compare("answers", self.answers, &got.answers);
        // No call without a record on disk, whatever the row is about. The second half of a
        // replacement has a deposed object, but the name of its operation.
        let all = got.calls.iter();
        let changes_object = |call: &&Call| {
            let step = call.name.split(' ').next().unwrap_or_default();
            step.parse::<OperationStep>().is_ok()
        };
        for call in all.filter(changes_object) {
            let intent = format!("{} open", call.name).replace(" (deposed)", "");
            let records = call.records.replace(" (deposed)", "");
            if !records.split(", ").any(|record| record == intent) {
                faults.push(format!("no intent at {}: {records}", call.name));
            }
        }
        faults
    }
}

/// Result of one deploy.
struct Report {
    calls: Vec<Call>,
    records: String,
    ended: String,
    state: String,
    outputs: String,
    says: String,
    unknown: String,
    rollout: String,
    answers: String,
}

/// Workspace with one provider in memory.
struct Lab {
    dir: tempfile::TempDir,
    store: Store,
    bus: Bus,
    pool: Pool,
    world: Arc<World>,
    provider: Arc<FakeProvider>,
    providers: Arc<SingleProvider>,
    operator: Operator,
    longest_pause: Duration,
}

impl Lab {
    fn new(longest_pause: Duration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::ReadWrite).unwrap();
        let bus = Bus::default();
        let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
        calls.set_retries(RetrySettings {
            attempts: 3,
            backoff: vec![Duration::from_millis(1)],
        });
        let operator = Operator::new(store.clone());
        let world = World::new(store.path().to_owned(), operator.clone());
        let provider = Arc::new(FakeProvider::new(world.clone(), &calls));
        let plugins = Plugins::start(PluginSettings::default(), Arc::new(bus.clone()));
        let (settings, sink) = (PoolSettings::new(dir.path()), Arc::new(bus.clone()));
        let pool = Pool::new(settings, plugins, calls, sink);
        Self {
            providers: Arc::new(SingleProvider::new(provider.clone(), bus.clone())),
            provider,
            dir,
            store,
            bus,
            pool,
            world,
            operator,
            longest_pause,
        }
    }

    fn schemas(&self) -> HashMap<Arc<str>, Arc<ProviderSchema>> {
        let address = self.provider.info().address.as_str();
        [(address.into(), self.provider.known_schema().unwrap())].into()
    }

    fn load(&self, configuration: &str, request: &StageRequest) -> load::Loaded {
        for (file, text) in written(configuration) {
            let file = self.dir.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let loaded = load::load(self.dir.path(), "default", request, false);
        let (mut loaded, diags) = loaded.map_err(|(_, diags)| diags).unwrap();
        assert!(!diags.has_errors(), "{diags:?}");
        loaded.root = link_providers::bind(&loaded.root, &self.schemas());
        loaded
    }

    async fn plan(&self, loaded: &load::Loaded, request: StageRequest) -> Stage {
        let input = PlanInput {
            overlays: Arc::default(),
            id: self.store.next_stage_id().await.unwrap(),
            request,
            root: loaded.root.clone(),
            dir: loaded.dir.clone(),
            sources: loaded.sources.clone(),
            schemas: self.schemas(),
            state: self.store.state().await.unwrap(),
            resolved_providers: ResolvedProviders::default(),
            given: HashMap::new(),
            given_texts: Default::default(),
            overridden: Default::default(),
            secrets: Default::default(),
            digests: Digests::default(),
            committed_groups: Vec::new(),
            state_origin: StateOrigin::default(),
            providers: self.providers.clone(),
            cancel: CancellationToken::new(),
            kill: CancellationToken::new(),
            parallelism: 1,
            shows_errored: false,
            progress: Arc::new(|_, _, _| {}),
        };
        match stage(input).await {
            (StageResult::Complete(stage), _) => *stage,
            (StageResult::Errored(_), diags) => panic!("{diags:?}"),
        }
    }

    /// Stages and deploys.
    async fn run(
        &self,
        configuration: &str,
        mode: StageMode,
        left: &[&str],
        parallelism: usize,
        script: Script,
    ) -> Report {
        let request = StageRequest {
            mode,
            ..StageRequest::default()
        };
        let loaded = self.load(configuration, &request);
        let stage = Arc::new(self.plan(&loaded, request).await);
        let taken: BTreeSet<usize> = (0..stage.changes.len())
            .filter(|&i| has_effect(&stage.changes[i]))
            .filter(|&i| !left.contains(&short(&stage.changes[i].id()).as_str()))
            .collect();
        let result = self
            .deploy(&loaded, stage, taken, parallelism, script)
            .await;
        self.report(result).await
    }

    async fn deploy(
        &self,
        loaded: &load::Loaded,
        stage: Arc<Stage>,
        taken: BTreeSet<usize>,
        parallelism: usize,
        script: Script,
    ) -> DeployResult {
        let operations: Vec<Operation> = (taken.iter().enumerate())
            .map(|(n, i)| not_started(n, &stage.changes[*i]))
            .collect();
        let all = script.iter().flat_map(|(_, effects)| effects.iter());
        let led = all.into_iter().any(|e| matches!(e, Effect::LoseLead));
        if led {
            self.operator.lead("us", 1).await;
        }
        let new = NewDeploy {
            fencing_token: led.then_some(1),
            stage: stage.id,
            mode: stage.request.mode,
            began: now_ms(),
            user: "user".to_owned(),
            counts: Counts::default(),
            config_digest: String::new(),
            operations: operations.clone(),
        };
        let StartedDeploy { deploy, .. } = self.store.begin_deploy(new).await.unwrap();
        self.store.edit_state(stage.edits.clone()).await.unwrap();
        let state = self.store.state().await.unwrap();
        let stops = Stops::default();
        let kill = CancellationToken::new();
        self.world.begin(script, &stops, &kill);
        let operations = operations.into_iter();
        let operations: Vec<_> = operations.map(|o| Operation { deploy, ..o }).collect();
        self.bus.emit(EventKind::DeployStarted(DeployStarted {
            deploy,
            stage: stage.id,
            mode: stage.request.mode,
            who: "user".to_owned(),
            host: "host".to_owned(),
            parallelism: u32::try_from(parallelism).unwrap_or(0),
            operations: operations.clone(),
        }));
        let recorder = Arc::new(DeployRecorder::new(
            self.store.clone(),
            self.bus.clone(),
            self.pool.clone(),
            deploy,
            operations,
            Earlier {
                unknown: self.store.unknown_outcomes().await.unwrap(),
                destroy_steps: self.store.destroy_steps().await.unwrap(),
            },
            stops.all.clone(),
        ));
        let rollouts = self.rollouts(loaded, &stage, &taken, deploy).await;
        let walk = self.walk(loaded, &stage, &PriorState::new(&state), &stops, &kill);
        let deploying = Deploying::new(
            walk,
            stage,
            taken,
            recorder.clone(),
            parallelism,
            stops,
            &state.objects,
        )
        .with_rollouts(rollouts);
        let done = CancellationToken::new();
        let (result, ()) = tokio::join!(
            async {
                let result = Arc::new(deploying).run().await;
                done.cancel();
                result
            },
            recorder.store_changes_until(&done),
        );
        self.finish(deploy, &recorder).await;
        result
    }

    async fn rollouts(
        &self,
        loaded: &load::Loaded,
        stage: &Stage,
        taken: &BTreeSet<usize>,
        deploy: DeployId,
    ) -> Rollouts {
        let to = ConfigHash::from_text("to");
        let addresses = stage.changes.iter().map(|c| c.address.to_string());
        let created = self
            .store
            .creation_times(addresses.collect())
            .await
            .unwrap();
        let (root, now) = ((&*loaded.root, &[][..]), now_ms());
        let mut groups = changed_groups(root, &stage.changes, taken, &created, &to, now).unwrap();
        let earlier = self.store.rollouts(None, 1).await.unwrap();
        for (group, earlier) in groups
            .iter_mut()
            .zip(earlier.first().and_then(parse_rollout))
        {
            group.add_unproven(&stage.changes, &earlier);
        }
        let recorded = groups.into_iter().map(|group| {
            let (name, rollout) = (group.declared.name.to_string(), group.rollout.clone());
            (
                group,
                Recorded::new(self.store.clone(), name, deploy, rollout),
            )
        });
        let prober = Prober::new(self.dir.path().to_owned()).unwrap();
        let requests = RequestSettings {
            longest_pause: self.longest_pause,
            stored: self.operator.stored.clone(),
        };
        Rollouts::new(recorded.collect(), Some(prober), requests)
    }

    /// Records the end of a deploy, so that its open intents are unknown outcomes.
    async fn finish(&self, deploy: DeployId, recorder: &DeployRecorder) {
        let summary = DeploySummary {
            deploy,
            stage: 0,
            mode: StageMode::Normal,
            began: now_ms(),
            ended: Some(now_ms()),
            who: "user".to_owned(),
            host: "host".to_owned(),
            outcome: DeployOutcome::Failed,
            operations: recorder.counts(),
            counts: Counts::default(),
            config_digest: String::new(),
        };
        // A lost store records no end either.
        self.store.finish_deploy(summary).await.ok();
    }

    fn walk(
        &self,
        loaded: &load::Loaded,
        stage: &Stage,
        prior: &PriorState,
        stops: &Stops,
        kill: &CancellationToken,
    ) -> Walk {
        let schemas = self.schemas();
        let nodes = Nodes::build(&Sources {
            root: &loaded.root,
            schemas: &schemas,
            in_state: &prior.config_resources(),
            orphan_providers: &prior.providers(),
        });
        let around = WalkContext {
            root: loaded.root.clone(),
            dir: loaded.dir.clone(),
            sources: loaded.sources.clone(),
            phase: Phase::Apply,
            schemas,
            functions: Functions::default(),
            unregistered: BTreeSet::new(),
            values: Values::default(),
            timestamp: timestamp(stage.at),
            cancel: stops.all.clone(),
            external_inputs: ExternalInputs::of_stage(&stage.external_inputs),
            overlays: Arc::default(),
        };
        Walk {
            destroying: stage.request.mode == StageMode::Destroy,
            ..Walk::new(
                around,
                nodes,
                self.providers.clone(),
                kill.clone(),
                HashMap::new(),
            )
        }
    }

    async fn report(&self, result: DeployResult) -> Report {
        let mut says: Vec<String> = result
            .diagnostics
            .iter()
            .map(|d| d.summary.to_string())
            .collect();
        if result.cancelled {
            says.push("(cancelled)".to_owned());
        }
        if result.store_failed {
            says.push("(store failed)".to_owned());
        }
        let shown = self.bus.subscribe().0.deploy.unwrap().operations;
        let ended: Vec<String> = shown.iter().map(ended).collect();
        let unknown = self.store.unknown_outcomes().await.unwrap_or_default();
        let unknown = unknown
            .iter()
            .map(|u| format!("{} {}", u.step, short(&u.address)));
        let state = self.store.state().await.unwrap_or_default();
        let outputs = state.outputs.iter();
        let outputs = outputs.map(|o| format!("{} = {}", o.name, o.value.replace('"', "")));
        let objects: Vec<String> = state.objects.iter().map(object).collect();
        let rollouts = self.store.rollouts(None, 1).await.unwrap_or_default();
        let rollout = rollouts.first().map(rollout).unwrap_or_default();
        Report {
            calls: self.world.end(),
            records: self.world.records(),
            ended: ended.join(", "),
            state: objects.join(", "),
            outputs: outputs.collect::<Vec<_>>().join(", "),
            says: says.join("; "),
            unknown: unknown.collect::<Vec<_>>().join(", "),
            rollout,
            answers: self.world.answers().await,
        }
    }

    /// Marks an object of the state as tainted.
    async fn taint(&self, name: &str) {
        let address = format!("fake_thing.{name}");
        let object = self.store.object(&address).await.unwrap().unwrap();
        let tainted = StateObject {
            tainted: true,
            ..object
        };
        let edit = StateEdit::Put(Box::new(tainted));
        self.store.edit_state(vec![edit]).await.unwrap();
    }
}

/// End of an operation: `a done`, `b failed (denied)`.
fn ended(operation: &Operation) -> String {
    let name = short(&operation.address);
    let state = operation.state.label();
    match &operation.failure {
        Some(failure) => format!("{name} {state} ({})", failure.class.label()),
        None => format!("{name} {state}"),
    }
}

/// Object of the state: its id, size and marks.
fn object(object: &StateObject) -> String {
    let attributes: serde_json::Value = serde_json::from_str(&object.attributes).unwrap();
    let mut text = attributes["id"].as_str().unwrap_or("no id").to_owned();
    if let Some(size) = attributes["size"].as_str() {
        text += &format!(" size {size}");
    }
    if object.tainted {
        text += " tainted";
    }
    if !object.deposed.is_empty() {
        text += " deposed";
    }
    text
}

fn not_started(n: usize, change: &Change) -> Operation {
    Operation {
        deploy: 0,
        index: u32::try_from(n).unwrap(),
        address: change.id(),
        plugin: None,
        action: change.action(),
        state: OperationState::Waiting,
        half_done: false,
        step: OperationProgress::Waiting,
        attempt: 0,
        retry: None,
        waits_until_ready: None,
        began: None,
        took_ms: None,
        waits_for: Vec::new(),
        waits_for_more: 0,
        waits_for_all_of: Vec::new(),
        usual_ms: None,
        failure: None,
        warnings: Vec::new(),
        beside: Vec::new(),
    }
}
