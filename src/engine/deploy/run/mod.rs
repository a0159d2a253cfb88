//! One deploy from beginning to end: the walk over its steps, with every call that changes the
//! world on record before and after. Owns the values of the deploy; state and history belong to the
//! store.

mod apply;
mod approved;
mod destroy;
mod outputs;
mod trouble;
mod turns;

pub use trouble::Trouble;

use super::class::says_stopped;
use super::instance::{self, Applied, Failed, Order};
use super::record::{Recorder, fingerprint};
use super::waits::REMEMBERED;
use crate::engine::calls::{CallContext, Method, ProviderDiagnostic, ProviderError, Retrying};
use crate::engine::graph::{Ended, Starts, Step, Urgency};
use crate::engine::mutex::lock;
use crate::engine::provider::Provider;
use crate::engine::stage::cell::Cell;
use crate::engine::stage::change::{Change, OutputChange, Stage};
use crate::engine::stage::conditions::{self, Kind};
use crate::engine::stage::ephemeral::When;
use crate::engine::stage::expand::{self, Meta};
use crate::engine::stage::managed::{self, NoPlan, Prior, Question};
use crate::engine::stage::needs::Needs;
use crate::engine::stage::nodes::Node;
use crate::engine::stage::objects::{self, Around};
use crate::engine::stage::plan::{self, assemble, ignore};
use crate::engine::stage::prior::marked;
use crate::engine::stage::scope::ModuleScope;
use crate::engine::stage::steps::{self, Steps, Task};
use crate::engine::stage::values::{Expansion, Repetition, Worked};
use crate::engine::stage::walk::{Walk, placed};
use crate::engine::store::StoreError;
use crate::engine::store::model::{StateEdit, StateObject, StateOutput};
use crate::engine::words::*;
use crate::engine::workspace::provider_addr;
use cty::schema::Schema;
use cty::{Marks, Path, Value};
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey, Mode, ModuleInstance};
use lang::config::{Condition, Module, Resource};
use lang::diag::{Diagnostic, Diagnostics};
use proto::Bytes;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use turns::{Turn, Turns};

/// How many steps are looked at together; operations among them run `parallelism` at a time.
const STEPS_AT_A_TIME: usize = 256;

/// The place of what is said of the deploy as a whole.
const AT_THE_END: Step = Step::MAX;

/// A deploy's walk.
pub struct Deploying {
    pub walk: Walk,
    pub stage: Arc<Stage>,
    /// Numbers of the changes, by id.
    places: HashMap<String, usize>,
    /// Numbers of the changes that were taken.
    pub taken: BTreeSet<usize>,
    pub recorder: Arc<Recorder>,
    pub parallelism: usize,
    pub stops: Stops,
    /// Objects of the state as the deploy goes on, current ones only.
    pub state: Mutex<HashMap<AbsInstance, StateObject>>,
    /// An operation's turn is given back when the plugin has answered: while the outcome is being
    /// written down, the next one can begin.
    turns: Arc<Turns>,
    /// Second halves of replacements whose first one is done, and what they need.
    urgency: Arc<Urgency>,
    /// Turns that second halves have from their first ones.
    handed: Mutex<HashMap<Step, Turn>>,
    /// Steps that have succeeded.
    done: Mutex<HashSet<Step>>,
    expansions: Mutex<HashMap<AbsResource, Arc<Expansion>>>,
    repetitions: Mutex<HashMap<AbsInstance, Repetition>>,
    /// Values of instances that were applied, read, or stay as they are.
    values: Mutex<HashMap<AbsInstance, Value>>,
    /// Keys of objects that were set aside to be destroyed later, by change.
    deposed: Mutex<HashMap<usize, String>>,
    store_failed: AtomicBool,
}

/// What ends a deploy early, each a step further.
#[derive(Clone)]
pub struct Stops {
    /// Once cancelled, nothing more starts but what ends a replacement that has begun.
    pub starting: CancellationToken,
    /// Once cancelled, nothing at all starts any more.
    pub all: CancellationToken,
}

/// How it went.
pub struct Went {
    pub diagnostics: Diagnostics,
    pub cancelled: bool,
    pub store_failed: bool,
}

impl Deploying {
    /// A deploy of `taken`, starting from `state`.
    pub fn new(
        walk: Walk,
        stage: Arc<Stage>,
        taken: BTreeSet<usize>,
        recorder: Arc<Recorder>,
        parallelism: usize,
        stops: Stops,
        state: Vec<StateObject>,
    ) -> Self {
        let state = state
            .into_iter()
            .filter(|o| o.deposed.is_empty())
            .filter_map(|o| Some((o.address.parse().ok()?, o)))
            .collect();
        let urgency = Arc::<Urgency>::default();
        Self {
            walk,
            places: stage
                .changes
                .iter()
                .enumerate()
                .map(|(i, change)| (change.id(), i))
                .collect(),
            stage,
            taken,
            recorder,
            parallelism,
            stops,
            state: Mutex::new(state),
            turns: Turns::new(parallelism, urgency.clone()),
            urgency,
            handed: Mutex::default(),
            done: Mutex::default(),
            expansions: Mutex::default(),
            repetitions: Mutex::default(),
            values: Mutex::default(),
            deposed: Mutex::default(),
            store_failed: AtomicBool::new(false),
        }
    }

    /// Runs all steps.
    pub async fn run(self: Arc<Self>) -> Went {
        let outputs = self.outputs_to_keep();
        let ends = steps::ends(&self.walk.nodes, &self.stage.request, &outputs);
        match steps::build(&self.walk.nodes, &self.stage.changes, &self.taken, &ends) {
            Err(cycle) => {
                self.walk.cells.beside(AT_THE_END, cycle);
            }
            Ok(steps) => {
                self.waiting(&steps);
                let (this, all) = (&self, Arc::new(steps));
                let told = |step| this.walk.leases.ended(&all.graph, step);
                let run = |step| {
                    let (this, all) = (this.clone(), all.clone());
                    async move { this.step(&all, step).await }
                };
                let walking = all.graph.walk_urgent_first(
                    STEPS_AT_A_TIME,
                    &self.urgency,
                    || this.starts(),
                    run,
                    told,
                );
                let ended = self
                    .walk
                    .leases
                    .beside(&self.walk, &all.graph, walking)
                    .await;
                self.outputs(&outputs, &all, &ended).await;
            }
        }
        let cancelled = self.stops.starting.is_cancelled();
        self.recorder.rest_not_attempted().await;
        self.left_behind(cancelled);
        Went {
            diagnostics: self.walk.cells.gather(self.walk.nodes.graph.order()).diags,
            cancelled,
            store_failed: self.store_failed.load(Ordering::Relaxed),
        }
    }

    /// Whoever destroys everything must know of what is there still.
    fn left_behind(&self, cancelled: bool) {
        let changes = self.taken.iter().map(|&i| &self.stage.changes[i]);
        let forgotten: Vec<String> = changes
            .filter(|c| c.action == Action::Forget)
            .map(Change::id)
            .collect();
        let failed = self.walk.cells.has_errors();
        if self.stage.request.mode != StageMode::Destroy
            || forgotten.is_empty()
            || failed
            || cancelled
        {
            return;
        }
        let detail = format!(
            "Everything was destroyed but what the configuration says to keep (destroy = false). These objects are there still, and the state has forgotten them: {}.",
            forgotten.join(", ")
        );
        let said = Diagnostic::error(
            "Destroy was successful but left behind forgotten instances",
            detail,
        );
        self.walk.cells.beside(AT_THE_END, said);
    }

    /// Tells each operation which other operations it waits for, as far as the next ones.
    fn waiting(&self, steps: &Steps) {
        let operation = |s: Step| match &steps.tasks[s] {
            Task::Apply(i) | Task::Destroy(i) => Some(*i),
            _ => None,
        };
        // What stands before each step, worked out once: through steps that are no operations
        // themselves.
        let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); steps.tasks.len()];
        for step in steps.graph.order() {
            let mut all = BTreeSet::new();
            for need in steps.graph.needs(step) {
                match operation(need) {
                    Some(i) if Some(i) != operation(step) => {
                        all.insert(i);
                    }
                    _ => all.extend(before[need].iter().copied()),
                }
                if all.len() >= REMEMBERED {
                    break;
                }
            }
            if let Some(i) = operation(step) {
                self.recorder.waits_for(
                    &self.stage.changes[i].id(),
                    all.iter()
                        .take(REMEMBERED)
                        .map(|j| self.stage.changes[*j].id()),
                );
            }
            before[step] = all;
        }
    }

    /// What may start now.
    fn starts(&self) -> Starts {
        match () {
            () if self.stops.all.is_cancelled() || self.store_failed.load(Ordering::Relaxed) => {
                Starts::None
            }
            () if self.stops.starting.is_cancelled() => Starts::Urgent,
            () => Starts::All,
        }
    }

    fn may_start(&self, step: Step) -> bool {
        match self.starts() {
            Starts::All => true,
            Starts::Urgent => self.urgency.is_urgent(step),
            Starts::None => false,
        }
    }

    async fn step(&self, steps: &Steps, step: Step) -> bool {
        let ok = match &steps.tasks[step] {
            Task::Node(node) => {
                let cell = self.node(*node, Some(step)).await;
                self.walk.absorb(*node, cell)
            }
            Task::Part(node) => self.walk.nodes.nodes[*node]
                .resource()
                .is_none_or(|address| self.close(address)),
            Task::Open(node) => self.open(*node),
            Task::Gate => true,
            task @ (Task::Apply(i) | Task::Destroy(i)) => {
                let handed = lock(&self.handed).remove(&step);
                let Some(turn) = (if handed.is_some() {
                    handed
                } else {
                    self.turns.take(step).await
                }) else {
                    return false;
                };
                if !self.may_start(step) {
                    return false;
                }
                let mut turn = Some(turn);
                let ok = match task {
                    Task::Apply(_) => self.apply(*i, step, &mut turn).await,
                    _ => self.destroy(*i, &mut turn).await,
                };
                if ok && let Some(second) = steps.second_halves.get(&step) {
                    self.half_done(steps, step, *second, turn);
                }
                ok
            }
        };
        if ok {
            lock(&self.done).insert(step);
        }
        ok
    }

    /// A replacement has to be ended before others begin: what it has destroyed is missing. Its
    /// second half keeps the turn where it can start at once; else what it waits for goes before
    /// all others.
    fn half_done(&self, steps: &Steps, first: Step, second: Step, turn: Option<Turn>) {
        self.urgency.hurry(&steps.graph, second);
        let done = lock(&self.done);
        if steps
            .graph
            .needs(second)
            .all(|need| need == first || done.contains(&need))
            && let Some(turn) = turn
        {
            lock(&self.handed).insert(second, turn);
        }
    }

    /// `within`: the step of the deploy, for as long as which something may be open; outside of one
    /// nothing is opened.
    async fn node(&self, node: Step, within: Option<Step>) -> Cell {
        let node = &self.walk.nodes.nodes[node];
        if let Some(cell) = self.walk.common(node).await {
            return cell;
        }
        match node {
            Node::Resource(address) if address.resource.mode == Mode::Ephemeral => match within {
                Some(step) => self.walk.open(step, address, &|_| When::Now).await,
                None => self.walk.leave_shut(address),
            },
            Node::Resource(address) => Cell::default().ended(self.close(address)),
            _ => Cell::default(),
        }
    }

    fn declared(&self, address: &ConfigResource) -> Option<(&Module, &Resource)> {
        let module = self.walk.module(&address.module)?;
        Some((module, module.resources.get(&address.resource)?))
    }

    fn expansion(
        &self,
        module: &Module,
        resource: &Resource,
        abs: &AbsResource,
    ) -> Option<Arc<Expansion>> {
        if let Some(known) = lock(&self.expansions).get(abs) {
            return Some(known.clone());
        }
        let scope = ModuleScope::new(&self.walk.around, module, &abs.module);
        let meta = Meta {
            count: resource.count.as_ref(),
            for_each: resource.for_each.as_ref(),
            enabled: resource.lifecycle.enabled.as_ref(),
        };
        let (expansion, diags) = expand::expand(&scope, meta);
        let good = !diags.has_errors();
        self.walk.cells.beside(
            self.walk
                .nodes
                .step(&Node::Resource(abs.config()))
                .unwrap_or(AT_THE_END),
            diags,
        );
        let expansion = Arc::new(expansion.filter(|_| good)?);
        let mut repetitions = lock(&self.repetitions);
        for (key, repetition) in expansion.instances() {
            repetitions.insert(abs.instance(key), repetition);
        }
        lock(&self.expansions).insert(abs.clone(), expansion.clone());
        Some(expansion)
    }

    fn open(&self, step: Step) -> bool {
        let Node::Resource(address) = &self.walk.nodes.nodes[step] else {
            return true;
        };
        let Some((module, resource)) = self.declared(address) else {
            return true;
        };
        self.walk
            .around
            .values
            .instances(&address.module)
            .iter()
            .all(|instance| {
                let abs = AbsResource {
                    module: instance.clone(),
                    resource: address.resource.clone(),
                };
                self.expansion(module, resource, &abs).is_some()
            })
    }

    /// Puts the value of a resource together from its instances.
    pub(super) fn close(&self, address: &ConfigResource) -> bool {
        let Some((module, resource)) = self.declared(address) else {
            return true;
        };
        let key = provider_addr::for_resource(&self.walk.around.root, module, resource);
        let Some(schema) = self.walk.around.schema(&key.address, &address.resource) else {
            return false;
        };
        let mut good = true;
        for instance in self.walk.around.values.instances(&address.module).iter() {
            let abs = AbsResource {
                module: instance.clone(),
                resource: address.resource.clone(),
            };
            let Some(expansion) = self.expansion(module, resource, &abs) else {
                good = false;
                continue;
            };
            let values: HashMap<InstanceKey, Value> = expansion
                .instances()
                .into_iter()
                .filter_map(|(key, _)| Some((key.clone(), self.value(&abs.instance(key), schema)?)))
                .collect();
            // Of what is not there at all nothing is known, not even what type it has: as the
            // reference engine has it.
            let nothing = *expansion == Expansion::Single && values.is_empty();
            let value = if nothing {
                Value::dynamic()
            } else {
                assemble(&expansion, &values, schema)
            };
            self.walk
                .around
                .values
                .absorb([Worked::Resource(abs, value)]);
        }
        good
    }

    /// What an instance is now: applied, or as the state has it.
    fn value(&self, address: &AbsInstance, schema: &Schema) -> Option<Value> {
        if let Some(value) = lock(&self.values).get(address) {
            return Some(value.clone());
        }
        let state = lock(&self.state);
        let object = state.get(address)?;
        let value = cty::json::decode(object.attributes.as_bytes(), schema.implied_type()).ok()?;
        let (plain, marks) = marked(value, &object.sensitive).unmark_deep_with_paths();
        Some(managed::mark(schema, plain, &marks))
    }

    fn scope<'s>(
        &'s self,
        module: &'s Module,
        resource: &'s Resource,
        address: &'s AbsInstance,
    ) -> ModuleScope<'s> {
        let repetition = lock(&self.repetitions)
            .get(address)
            .cloned()
            .unwrap_or_default();
        ModuleScope {
            own: Some(&resource.name),
            ..ModuleScope::new(&self.walk.around, module, &address.module)
        }
        .repeated(repetition)
    }

    fn conditions(
        &self,
        scope: &ModuleScope<'_>,
        all: &[Condition],
        kind: Kind,
    ) -> Result<(), Diagnostics> {
        let mut failed = Diagnostics::new();
        for condition in all {
            let (_, diags) = conditions::check(scope, condition, kind);
            failed.append(diags);
        }
        if failed.has_errors() {
            Err(failed)
        } else {
            Ok(())
        }
    }

    fn context(&self, change: &Change) -> CallContext {
        // Staging has said what is wrong with it.
        let meta = self
            .walk
            .context_of(
                &change.provider.address,
                &change.address,
                &mut Cell::default(),
            )
            .and_then(|ctx| ctx.meta);
        let id = change.id();
        // What ends a replacement that has begun goes on when nothing more is to start.
        let until = if self.recorder.is_half_done(&id) {
            &self.stops.all
        } else {
            &self.stops.starting
        };
        let retrying = Retrying {
            told: Some(self.recorder.attempts(&id)),
            until: until.clone(),
        };
        CallContext {
            meta,
            retrying,
            ..CallContext::of(id, &self.walk.cancel)
        }
    }
}
