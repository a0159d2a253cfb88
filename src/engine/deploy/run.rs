//! One deploy from beginning to end: the walk over its steps, with every call that changes the world on record before
//! and after. Owns the values of the deploy; state and history belong to the store.

use super::instance::{self, Applied, Failed, Order};
use super::record::Recorder;
use super::steps::{self, Steps, Task};
use crate::engine::event::*;
use crate::engine::graph::{Ended, Step};
use crate::engine::plugin::record::PluginId;
use crate::engine::provider::{CallContext, Provider, ProviderDiagnostic, ProviderError};
use crate::engine::stage::change::{Change, Stage};
use crate::engine::stage::conditions::{self, Kind};
use crate::engine::stage::expand::{self, Meta};
use crate::engine::stage::managed::{self, NoPlan, Prior, Question};
use crate::engine::stage::nodes::Node;
use crate::engine::stage::objects::{self, Around};
use crate::engine::stage::plan::{self, assemble, ignore};
use crate::engine::stage::prior::marked;
use crate::engine::stage::scope::ModuleScope;
use crate::engine::stage::values::{Expansion, Repetition};
use crate::engine::stage::walk::{Walk, lock};
use crate::engine::store::StoreError;
use crate::engine::store::model::{StateEdit, StateObject, StateOutput};
use crate::engine::workspace::provider_addr;
use cty::schema::Schema;
use cty::{Marks, Path, Value};
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey, ModuleInstance};
use lang::config::{Condition, Module, Resource};
use lang::diag::{Diagnostic, Diagnostics};
use proto::Bytes;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How many steps are looked at together; operations among them run `parallelism` at a time.
const STEPS_AT_A_TIME: usize = 256;

/// A deploy's walk.
pub struct Deploying<'p> {
    pub walk: Walk<'p>,
    pub stage: &'p Stage,
    /// Numbers of the changes that were taken.
    pub taken: BTreeSet<usize>,
    pub recorder: &'p Recorder,
    pub parallelism: usize,
    /// Once cancelled, nothing more starts.
    pub stop_starting: CancellationToken,
    /// Objects of the state as the deploy goes on, current ones only.
    pub state: Mutex<HashMap<AbsInstance, StateObject>>,
    operations: Semaphore,
    expansions: Mutex<HashMap<AbsResource, Arc<Expansion>>>,
    repetitions: Mutex<HashMap<AbsInstance, Repetition>>,
    /// Values of instances that were applied, read, or stay as they are.
    values: Mutex<HashMap<AbsInstance, Value>>,
    /// Keys of objects that were set aside to be destroyed later, by change.
    deposed: Mutex<HashMap<usize, String>>,
    store_failed: AtomicBool,
}

/// How it went.
pub struct Went {
    pub diagnostics: Diagnostics,
    pub cancelled: bool,
    pub store_failed: bool,
}

impl<'p> Deploying<'p> {
    /// A deploy of `taken`, starting from `state`.
    pub fn new(
        walk: Walk<'p>,
        stage: &'p Stage,
        taken: BTreeSet<usize>,
        recorder: &'p Recorder,
        parallelism: usize,
        stop_starting: CancellationToken,
        state: Vec<StateObject>,
    ) -> Self {
        let state = state.into_iter().filter(|o| o.deposed.is_empty()).filter_map(|o| Some((o.address.parse().ok()?, o))).collect();
        Self {
            walk,
            stage,
            taken,
            recorder,
            parallelism,
            stop_starting,
            state: Mutex::new(state),
            operations: Semaphore::new(parallelism.max(1)),
            expansions: Mutex::default(),
            repetitions: Mutex::default(),
            values: Mutex::default(),
            deposed: Mutex::default(),
            store_failed: AtomicBool::new(false),
        }
    }

    /// Runs all steps.
    pub async fn run(self) -> Went {
        let steps = steps::build(&self.walk.nodes, &self.stage.changes, &self.taken, self.stage.request.mode);
        if let Some(cycle) = steps.graph.cycles().first() {
            let names: Vec<String> = cycle.iter().map(|s| self.name(&steps, *s)).collect();
            let detail = "Each of these operations waits for the next one. Narrow the deploy to some of them (--target), or take create_before_destroy away.";
            self.walk.report(Diagnostic::error(format!("Cycle: {}", names.join(", ")), detail).into());
        } else {
            self.waiting(&steps);
            let this = &self;
            let go_on = || !this.stop_starting.is_cancelled() && !this.store_failed.load(Ordering::Relaxed);
            let ended = steps.graph.walk(STEPS_AT_A_TIME, go_on, |step| this.step(&steps.tasks[step])).await;
            self.outputs(&steps, &ended).await;
        }
        let cancelled = self.stop_starting.is_cancelled();
        self.recorder.rest_not_attempted().await;
        Went {
            diagnostics: std::mem::take(&mut *lock(&self.walk.diags)),
            cancelled,
            store_failed: self.store_failed.load(Ordering::Relaxed),
        }
    }

    fn name(&self, steps: &Steps, step: Step) -> String {
        match &steps.tasks[step] {
            Task::Node(n) | Task::Open(n) => self.walk.nodes.nodes[*n].text(),
            Task::Apply(i) => self.stage.changes[*i].address.to_string(),
            Task::Destroy(i) => format!("{} (destroy)", self.stage.changes[*i].id()),
        }
    }

    /// Tells each operation which other operations it waits for, as far as the next ones; at most eight are named.
    fn waiting(&self, steps: &Steps) {
        const NAMED: usize = 8;
        let operation = |s: Step| match &steps.tasks[s] {
            Task::Apply(i) | Task::Destroy(i) => Some(*i),
            _ => None,
        };
        // What stands before each step, worked out once: through steps that are no operations themselves.
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
                if all.len() >= NAMED {
                    break;
                }
            }
            if let Some(i) = operation(step) {
                self.recorder.waits_for(&self.stage.changes[i].id(), all.iter().take(NAMED).map(|j| self.stage.changes[*j].id()).collect());
            }
            before[step] = all;
        }
    }

    async fn step(&self, task: &Task) -> bool {
        match task {
            Task::Node(node) => self.node(*node).await,
            Task::Open(node) => self.open(*node),
            Task::Apply(i) => {
                let Ok(_turn) = self.operations.acquire().await else { return false };
                if self.stop_starting.is_cancelled() {
                    return false;
                }
                self.apply(*i).await
            }
            Task::Destroy(i) => {
                let Ok(_turn) = self.operations.acquire().await else { return false };
                if self.stop_starting.is_cancelled() {
                    return false;
                }
                self.destroy(*i).await
            }
        }
    }

    async fn node(&self, step: Step) -> bool {
        let node = &self.walk.nodes.nodes[step];
        if let Some(good) = self.walk.common(node).await {
            return good;
        }
        match node {
            Node::Resource(address) => self.close(address),
            _ => true,
        }
    }

    fn declared(&self, address: &ConfigResource) -> Option<(&Module, &Resource)> {
        let module = self.walk.module(&address.module)?;
        Some((module, module.resources.get(&address.resource)?))
    }

    fn expansion(&self, module: &Module, resource: &Resource, abs: &AbsResource) -> Option<Arc<Expansion>> {
        if let Some(known) = lock(&self.expansions).get(abs) {
            return Some(known.clone());
        }
        let scope = ModuleScope::new(&self.walk.around, module, &abs.module);
        let meta =
            Meta { count: resource.count.as_ref(), for_each: resource.for_each.as_ref(), enabled: resource.lifecycle.enabled.as_ref() };
        let (expansion, diags) = expand::expand(&scope, meta);
        if !self.walk.report(diags) {
            return None;
        }
        let expansion = Arc::new(expansion?);
        let mut repetitions = lock(&self.repetitions);
        for (key, repetition) in expansion.instances() {
            repetitions.insert(abs.instance(key), repetition);
        }
        lock(&self.expansions).insert(abs.clone(), expansion.clone());
        Some(expansion)
    }

    fn open(&self, step: Step) -> bool {
        let Node::Resource(address) = &self.walk.nodes.nodes[step] else { return true };
        let Some((module, resource)) = self.declared(address) else { return true };
        self.walk.around.values.instances(&address.module).iter().all(|instance| {
            let abs = AbsResource { module: instance.clone(), resource: address.resource.clone() };
            self.expansion(module, resource, &abs).is_some()
        })
    }

    /// Puts the value of a resource together from its instances.
    fn close(&self, address: &ConfigResource) -> bool {
        let Some((module, resource)) = self.declared(address) else { return true };
        let key = provider_addr::for_resource(&self.walk.around.root, module, resource);
        let Some(schema) = self.walk.around.schema(&key.address, &address.resource) else { return false };
        let mut good = true;
        for instance in self.walk.around.values.instances(&address.module).iter() {
            let abs = AbsResource { module: instance.clone(), resource: address.resource.clone() };
            let Some(expansion) = self.expansion(module, resource, &abs) else {
                good = false;
                continue;
            };
            let values: HashMap<InstanceKey, Value> = expansion
                .instances()
                .into_iter()
                .filter_map(|(key, _)| Some((key.clone(), self.value(&abs.instance(key), schema)?)))
                .collect();
            self.walk.around.values.put_resource(abs, assemble(&expansion, &values, schema));
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
        let value = cty::json::decode(object.attributes.as_bytes(), &schema.block.implied_type()).ok()?;
        let (plain, marks) = marked(value, &object.sensitive).unmark_deep_with_paths();
        Some(managed::mark(schema, plain, &marks))
    }

    fn scope<'s>(&'s self, module: &'s Module, resource: &'s Resource, address: &'s AbsInstance) -> ModuleScope<'s> {
        let repetition = lock(&self.repetitions).get(address).cloned().unwrap_or_default();
        ModuleScope { own: Some(&resource.name), ..ModuleScope::new(&self.walk.around, module, &address.module) }.repeated(repetition)
    }

    fn conditions(
        &self,
        module: &Module,
        resource: &Resource,
        scope: &ModuleScope<'_>,
        all: &[Condition],
        kind: Kind,
    ) -> Result<(), Diagnostics> {
        let object = self.walk.object(&module.path, &resource.name.to_string());
        let mut failed = Diagnostics::new();
        for condition in all {
            let (status, diags) = conditions::check(scope, condition, kind);
            lock(&self.walk.statuses).note(&object, status);
            failed.append(diags);
        }
        if failed.has_errors() { Err(failed) } else { Ok(()) }
    }

    /// Creates, updates or reads one instance; everything that goes wrong ends in the record of its operation.
    async fn apply(&self, i: usize) -> bool {
        let change = &self.stage.changes[i];
        let id = change.id();
        let step = match change.action {
            Action::Update => "updating",
            Action::Read => "reading",
            Action::NoOp => "importing",
            _ => "creating",
        };
        self.recorder.began(&id, step).await;
        // What is destroyed first was adopted by that half.
        let adopted = if change.action == Action::Replace { Ok(()) } else { self.adopt(change).await };
        let done = match (adopted, change.action) {
            (Err(trouble), _) => Err(trouble),
            (Ok(()), Action::NoOp) => Ok(()),
            (Ok(()), Action::Read) => self.read(change).await,
            (Ok(()), _) => self.apply_managed(i, change).await,
        };
        match done {
            Ok(()) => {
                let more = change.action == Action::ReplaceCreateFirst;
                self.recorder.ended(&id, if more { None } else { Some(OperationState::Done) }).await;
                true
            }
            Err(failure) => {
                self.fail(&id, *failure).await;
                false
            }
        }
    }

    async fn apply_managed(&self, i: usize, change: &Change) -> Result<(), Box<Trouble>> {
        let config_address = change.address.config();
        let Some((module, resource)) = self.declared(&config_address) else { return Err(Trouble::text("it is not in the configuration")) };
        let Some(provider) = self.walk.ready(&change.provider) else { return Err(Trouble::text("its provider is not configured")) };
        let Some(schema) = self.walk.around.schema(&change.provider.address, &change.address.resource) else {
            return Err(Trouble::text("its provider does not know the resource type any more"));
        };
        let address = &change.address;
        let scope = self.scope(module, resource, address);
        self.conditions(module, resource, &scope, &resource.lifecycle.preconditions, Kind::Precondition)?;
        let (config, diags) = self.walk.decode(&resource.body, &schema.block, &scope);
        if diags.has_errors() {
            return Err(diags.into());
        }
        self.walk.report(diags);
        let (plain, marks) = config.clone().unmark_deep_with_paths();
        if !plain.is_wholly_known() {
            return Err(Trouble::text("the configuration still has values that are not known; what it depends on was not applied"));
        }
        let ctx = self.context(&change.id());
        let same_as_staged = change.config.as_ref().is_some_and(|c| c.clone().unmark_deep().0.raw_equals(&plain));
        if !same_as_staged {
            let answer = provider.validate_resource(&address.resource.kind, plain.clone(), &ctx).await?;
            self.said(&answer.diagnostics, change, resource)?;
        }
        let object = lock(&self.state).get(address).cloned();
        let prior = match (&object, change.action) {
            (Some(object), Action::Update) => Some(Prior {
                value: self.value(address, schema).unwrap_or_else(|| Value::null(schema.block.implied_type())),
                private: Bytes::from(object.private.clone()),
                tainted: false,
                identity: None,
            }),
            _ => None,
        };
        let ignored = ignore(&resource.lifecycle.ignore_changes);
        let question = Question {
            type_name: &address.resource.kind,
            schema,
            config: config.clone(),
            prior: prior.as_ref(),
            ignore: &ignored,
            force: None,
            create_first: false,
        };
        let planned = match managed::plan(provider.as_ref(), question, &ctx).await {
            Ok(planned) => planned,
            Err(NoPlan::Call(error)) => return Err(error.into()),
            Err(NoPlan::Refused(said)) => {
                self.said(&said, change, resource)?;
                return Err(Trouble::text("the provider refused the plan"));
            }
        };
        self.as_approved(change, schema, &provider, &planned)?;
        // The end may have been asked for while this was planned; what was not sent by then is not sent at all.
        if self.stop_starting.is_cancelled() {
            return Err(Trouble::not_begun());
        }
        let after = planned.after.clone().unmark_deep().0;
        if planned.action == Action::NoOp || after.raw_equals(&planned.before.clone().unmark_deep().0) {
            // Nothing is left to do but to keep what is sensitive now.
            return self.keep(change, schema, &planned.after, &planned.private, false).await;
        }
        if change.action == Action::ReplaceCreateFirst && object.is_some() {
            self.depose(i, change).await?;
        }
        let order = Order {
            type_name: &address.resource.kind,
            schema,
            action: change.action,
            prior: prior.as_ref().map_or_else(|| Value::null(schema.block.implied_type()), |p| p.value.clone().unmark_deep().0),
            planned: after,
            config: plain,
            private: planned.private.clone(),
            identity: planned.identity.clone(),
        };
        let word = if change.action == Action::Update { "update" } else { "create" };
        self.recorder.intend(change, "", word).await.map_err(|e| self.store_trouble(e))?;
        let applied = instance::apply(provider.as_ref(), order, &ctx).await;
        self.applied(i, change, module, resource, schema, word, applied, &marks).await
    }

    /// Writes down what an apply led to, runs provisioners, checks postconditions.
    #[allow(clippy::too_many_arguments)]
    async fn applied(
        &self,
        i: usize,
        change: &Change,
        module: &Module,
        resource: &Resource,
        schema: &Schema,
        word: &str,
        applied: Applied,
        marks: &[(Path, Marks)],
    ) -> Result<(), Box<Trouble>> {
        let address = &change.address;
        let failed = applied.failure.clone();
        if failed.as_ref().is_some_and(|f| f.unknown) {
            // The intent stays open: that is what an unknown outcome is.
            return Err(Box::new(Trouble { failed, diags: Diagnostics::new(), method: Some("ApplyResourceChange"), unknown: true }));
        }
        self.walk.report_provider(&applied.warnings, &address.to_string(), Some(&resource.body), Some(resource.span));
        let value = applied.object.as_ref().map(|v| managed::mark(schema, v.clone(), marks));
        let provisioners: Vec<&lang::config::Provisioner> = if word == "create" && failed.is_none() {
            resource.provisioners.iter().filter(|p| !p.on_destroy).collect()
        } else {
            Vec::new()
        };
        let mut edits = Vec::new();
        match &value {
            Some(value) => {
                let around = Around {
                    address,
                    deposed: "",
                    provider: &change.provider,
                    tainted: applied.tainted || !provisioners.is_empty(),
                    create_before_destroy: change.create_before_destroy,
                    skip_destroy: change.skip_destroy,
                    dependencies: &change.dependencies,
                };
                let object = objects::record(&around, schema, value, &applied.private).map_err(|e| Trouble::text(&e))?;
                lock(&self.state).insert(address.clone(), object.clone());
                lock(&self.values).insert(address.clone(), value.clone());
                edits.push(StateEdit::Put(Box::new(object)));
            }
            None => {
                let restored = lock(&self.deposed).remove(&i);
                match restored {
                    Some(key) => edits.push(StateEdit::Restore { address: address.to_string(), key }),
                    None if word == "update" => edits.push(StateEdit::Remove { address: address.to_string(), deposed: String::new() }),
                    None => {}
                }
            }
        }
        self.recorder.settle(change, word, failed.is_none(), edits).await.map_err(|e| self.store_trouble(e))?;
        if let Some(failed) = failed {
            return Err(Box::new(Trouble {
                failed: Some(failed),
                diags: Diagnostics::new(),
                method: Some("ApplyResourceChange"),
                unknown: false,
            }));
        }
        let Some(value) = value else { return Ok(()) };
        if !provisioners.is_empty() {
            for provisioner in provisioners {
                let scope = ModuleScope { self_value: Some(value.clone()), own: None, ..self.scope(module, resource, address) };
                super::provision::run(&scope, provisioner, self.recorder, address, &self.walk.cancel).await?;
            }
            self.keep(change, schema, &value, &applied.private, false).await?;
        }
        let scope = ModuleScope { self_value: Some(value), own: None, ..self.scope(module, resource, address) };
        self.conditions(module, resource, &scope, &resource.lifecycle.postconditions, Kind::Postcondition)?;
        Ok(())
    }

    /// Takes an object that is imported into the state, before anything else is done with it.
    async fn adopt(&self, change: &Change) -> Result<(), Box<Trouble>> {
        if change.importing.is_none() || lock(&self.state).contains_key(&change.address) {
            return Ok(());
        }
        let Some(schema) = self.walk.around.schema(&change.provider.address, &change.address.resource) else {
            return Err(Trouble::text("its provider does not know the resource type any more"));
        };
        let value = if change.action == Action::NoOp { &change.after } else { &change.before };
        self.keep(change, schema, value, &change.prior_private, false).await
    }

    /// Keeps an object without having called the provider.
    async fn keep(&self, change: &Change, schema: &Schema, value: &Value, private: &[u8], tainted: bool) -> Result<(), Box<Trouble>> {
        let around = Around {
            address: &change.address,
            deposed: "",
            provider: &change.provider,
            tainted,
            create_before_destroy: change.create_before_destroy,
            skip_destroy: change.skip_destroy,
            dependencies: &change.dependencies,
        };
        let object = objects::record(&around, schema, value, private).map_err(|e| Trouble::text(&e))?;
        lock(&self.state).insert(change.address.clone(), object.clone());
        lock(&self.values).insert(change.address.clone(), value.clone());
        self.recorder.edit(vec![StateEdit::Put(Box::new(object))]).await.map_err(|e| self.store_trouble(e))
    }

    /// Sets the current object aside, so that its place is free for the new one.
    async fn depose(&self, i: usize, change: &Change) -> Result<(), Box<Trouble>> {
        let key: String = uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect();
        let edit = StateEdit::Depose { address: change.address.to_string(), key: key.clone() };
        self.recorder.edit(vec![edit]).await.map_err(|e| self.store_trouble(e))?;
        lock(&self.deposed).insert(i, key);
        Ok(())
    }

    /// What is planned now must be what was approved, with unknown values filled in.
    fn as_approved(
        &self,
        change: &Change,
        schema: &Schema,
        provider: &Arc<dyn Provider>,
        now: &managed::Planned,
    ) -> Result<(), Box<Trouble>> {
        let approved = change.after.clone().unmark_deep().0;
        let planned = now.after.clone().unmark_deep().0;
        let who = &provider.info().address;
        let mut faults: Vec<String> = Vec::new();
        let becomes = now.action;
        let fits = matches!(
            (change.action, becomes),
            (Action::Create | Action::Replace | Action::ReplaceCreateFirst, Action::Create)
                | (Action::Update, Action::Update | Action::NoOp)
        );
        if !fits {
            faults.push(format!("the action was {} and is {} now", change.action.word(), becomes.word()));
        } else {
            for (path, text) in cty::plan::assert_object_compatible(&schema.block, &approved, &planned) {
                let hidden = schema.block.sensitive_paths(&planned).iter().any(|p| path.starts_with(p));
                faults.push(format!("{path}: {}", if hidden { "a sensitive value differs" } else { &text }));
            }
        }
        if faults.is_empty() {
            return Ok(());
        }
        let detail = format!(
            "When expanding the plan for {} to include new values learned so far, {who} produced an invalid new value: {}. This is a bug in the provider; report it there.",
            change.address,
            faults.join("; ")
        );
        let failed = Failed {
            class: FailureClass::InconsistentResult,
            diagnostics: vec![ProviderDiagnostic::error("Provider produced inconsistent final plan", detail)],
            error: None,
            unknown: false,
        };
        Err(Box::new(Trouble { failed: Some(failed), diags: Diagnostics::new(), method: Some("PlanResourceChange"), unknown: false }))
    }

    async fn read(&self, change: &Change) -> Result<(), Box<Trouble>> {
        let Some((module, resource)) = self.declared(&change.address.config()) else {
            return Err(Trouble::text("it is not in the configuration"));
        };
        let Some(provider) = self.walk.ready(&change.provider) else { return Err(Trouble::text("its provider is not configured")) };
        let Some(schema) = self.walk.around.schema(&change.provider.address, &change.address.resource) else {
            return Err(Trouble::text("its provider does not know the data source any more"));
        };
        let scope = self.scope(module, resource, &change.address);
        self.conditions(module, resource, &scope, &resource.lifecycle.preconditions, Kind::Precondition)?;
        let (config, diags) = self.walk.decode(&resource.body, &schema.block, &scope);
        if diags.has_errors() {
            return Err(diags.into());
        }
        let (plain, marks) = config.unmark_deep_with_paths();
        if !plain.is_wholly_known() {
            return Err(Trouble::text("the configuration still has values that are not known"));
        }
        let ctx = self.context(&change.id());
        let answer = provider.read_data(&change.address.resource.kind, plain, &ctx).await?;
        self.said(&answer.diagnostics, change, resource)?;
        let value = managed::mark(schema, answer.state, &marks);
        let none = Change { dependencies: BTreeSet::new(), ..change.clone() };
        self.keep(&none, schema, &value, &[], false).await?;
        let scope = ModuleScope { self_value: Some(value), own: None, ..scope };
        self.conditions(module, resource, &scope, &resource.lifecycle.postconditions, Kind::Postcondition)?;
        Ok(())
    }

    /// Destroys or forgets one object.
    async fn destroy(&self, i: usize) -> bool {
        let change = &self.stage.changes[i];
        let id = change.id();
        let second = change.action == Action::ReplaceCreateFirst;
        self.recorder
            .began(
                &id,
                if change.action == Action::Forget {
                    "forgetting"
                } else if change.forgets() {
                    "forgetting the old object"
                } else if change.action == Action::Destroy {
                    "destroying"
                } else {
                    "destroying the old object"
                },
            )
            .await;
        match self.destroy_object(i, change).await {
            Ok(()) => {
                let done = second || matches!(change.action, Action::Destroy | Action::Forget);
                self.recorder.ended(&id, done.then_some(OperationState::Done)).await;
                true
            }
            Err(failure) => {
                self.fail(&id, *failure).await;
                false
            }
        }
    }

    async fn destroy_object(&self, i: usize, change: &Change) -> Result<(), Box<Trouble>> {
        let deposed = match change.action {
            // The object that creating first has set aside; none where there was nothing to set aside.
            Action::ReplaceCreateFirst => match lock(&self.deposed).get(&i).cloned() {
                Some(key) => key,
                None => return Ok(()),
            },
            _ => change.deposed.clone().unwrap_or_default(),
        };
        let remove = StateEdit::Remove { address: change.address.to_string(), deposed: deposed.clone() };
        if change.action == Action::Replace {
            self.adopt(change).await?;
        }
        if change.forgets() {
            if deposed.is_empty() {
                lock(&self.state).remove(&change.address);
            }
            self.recorder.edit(vec![remove]).await.map_err(|e| self.store_trouble(e))?;
            return Ok(());
        }
        let Some(provider) = self.walk.ready(&change.provider) else { return Err(Trouble::text("its provider is not configured")) };
        let schemas = self.walk.around.schemas.get(&change.provider.address);
        let Some(schema) = schemas.and_then(|s| s.resources.get(change.address.resource.kind.as_ref())) else {
            return Err(Trouble::text("its provider does not know the resource type any more"));
        };
        let ctx = self.context(&change.id());
        if !change.tainted && change.deposed.is_none() && change.action != Action::ReplaceCreateFirst {
            self.destroy_provisioners(change, &ctx).await?;
        }
        let null = Value::null(schema.block.implied_type());
        let order = Order {
            type_name: &change.address.resource.kind,
            schema,
            action: Action::Destroy,
            prior: change.before.clone().unmark_deep().0,
            planned: null.clone(),
            config: null,
            private: Bytes::from(if change.action == Action::Destroy { change.private.clone() } else { change.prior_private.clone() }),
            identity: None,
        };
        self.recorder.intend(change, &deposed, "destroy").await.map_err(|e| self.store_trouble(e))?;
        let applied = instance::apply(provider.as_ref(), order, &ctx).await;
        let failed = applied.failure.clone();
        if failed.as_ref().is_some_and(|f| f.unknown) {
            return Err(Box::new(Trouble { failed, diags: Diagnostics::new(), method: Some("ApplyResourceChange"), unknown: true }));
        }
        let edit = match &applied.object {
            None => remove,
            Some(value) => {
                let (_, marks) = change.before.clone().unmark_deep_with_paths();
                let around = Around {
                    address: &change.address,
                    deposed: &deposed,
                    provider: &change.provider,
                    tainted: change.tainted,
                    create_before_destroy: change.create_before_destroy,
                    skip_destroy: change.skip_destroy,
                    dependencies: &change.prior_dependencies,
                };
                let object = objects::record(&around, schema, &managed::mark(schema, value.clone(), &marks), &applied.private);
                StateEdit::Put(Box::new(object.map_err(|e| Trouble::text(&e))?))
            }
        };
        if matches!(edit, StateEdit::Remove { .. }) && deposed.is_empty() {
            lock(&self.state).remove(&change.address);
        }
        self.recorder.settle(change, "destroy", failed.is_none(), vec![edit]).await.map_err(|e| self.store_trouble(e))?;
        self.walk.report_provider(&applied.warnings, &change.address.to_string(), None, None);
        match failed {
            None => Ok(()),
            Some(failed) => Err(Box::new(Trouble {
                failed: Some(failed),
                diags: Diagnostics::new(),
                method: Some("ApplyResourceChange"),
                unknown: false,
            })),
        }
    }

    async fn destroy_provisioners(&self, change: &Change, _ctx: &CallContext) -> Result<(), Box<Trouble>> {
        let root = &self.walk.around.root;
        let (module, provisioners) = match self.declared(&change.address.config()) {
            Some((module, resource)) => (module, &resource.provisioners),
            None => match plan::removed(root, &change.address) {
                Some((module, removed)) => (module, &removed.provisioners),
                None => return Ok(()),
            },
        };
        let within = ModuleInstance(change.address.module.0[..module.path.0.len()].to_vec());
        for provisioner in provisioners.iter().filter(|p| p.on_destroy) {
            let repetition = match &change.address.key {
                InstanceKey::None => Repetition::default(),
                InstanceKey::Int(n) => Repetition { count_index: Some(Value::number(*n)), ..Repetition::default() },
                InstanceKey::Str(s) => {
                    Repetition { each_key: Some(Value::string(s)), each_value: Some(Value::dynamic()), ..Repetition::default() }
                }
            };
            let scope = ModuleScope { self_value: Some(change.before.clone()), ..ModuleScope::new(&self.walk.around, module, &within) }
                .repeated(repetition);
            super::provision::run(&scope, provisioner, self.recorder, &change.address, &self.walk.cancel).await?;
        }
        Ok(())
    }

    /// Errors among what a provider said end the operation; warnings are kept.
    fn said(&self, said: &[ProviderDiagnostic], change: &Change, resource: &Resource) -> Result<(), Box<Trouble>> {
        if !said.iter().any(|d| d.severity == Severity::Error) {
            self.walk.report_provider(said, &change.address.to_string(), Some(&resource.body), Some(resource.span));
            return Ok(());
        }
        let class = if said.iter().any(|d| d.path.is_some()) { FailureClass::BadInput } else { FailureClass::Unexpected };
        let failed = Failed { class, diagnostics: said.to_vec(), error: None, unknown: false };
        Err(Box::new(Trouble { failed: Some(failed), diags: Diagnostics::new(), method: None, unknown: false }))
    }

    fn context(&self, resource: &str) -> CallContext {
        CallContext::of(resource, &self.walk.cancel)
    }

    fn store_trouble(&self, error: StoreError) -> Box<Trouble> {
        // What cannot be written down must not be done: nothing more starts.
        self.store_failed.store(true, Ordering::Relaxed);
        Trouble::text(&error.to_string())
    }

    /// Records a failed operation and reports it at its place.
    async fn fail(&self, id: &str, trouble: Trouble) {
        if trouble.failed.is_none() && trouble.diags.is_empty() {
            self.recorder.not_begun(id).await;
            return;
        }
        let Some(change) = self.stage.changes.iter().find(|c| c.id() == id) else { return };
        let declared = self.declared(&change.address.config()).map(|(_, r)| (r.span, r.body.clone()));
        let plugin = self.walk.ready(&change.provider).map(|p| p.info().plugin.clone());
        let failure = trouble.failure(change, plugin.as_ref());
        let span = declared.as_ref().map(|d| d.0);
        match &trouble.failed {
            Some(failed) if failed.error.is_none() => {
                self.walk.report_provider(&failed.diagnostics, &change.id(), declared.as_ref().map(|d| &d.1), span);
            }
            Some(_) => {
                let mut d = Diagnostic::error(&failure.summary, &failure.detail).about(change.id());
                d.subject = span;
                self.walk.report(d.into());
            }
            None => {
                let mut diags = trouble.diags;
                for d in &mut diags.0 {
                    d.address.get_or_insert_with(|| change.id());
                    d.subject = d.subject.or(span);
                }
                self.walk.report(diags);
            }
        }
        self.recorder.failed(id, failure, trouble.unknown).await;
    }

    /// Writes the root outputs that could be worked out.
    async fn outputs(&self, steps: &Steps, ended: &[Ended]) {
        let root = ModuleInstance::root();
        let mut edits = Vec::new();
        for change in &self.stage.outputs {
            let declared = self.walk.around.root.outputs.get(&change.name);
            let remove = || StateEdit::RemoveOutput { name: change.name.to_string() };
            let Some(output) = declared.filter(|_| self.stage.request.mode != StageMode::Destroy) else {
                edits.push(remove());
                continue;
            };
            let node = self.walk.nodes.step(&Node::Output(lang::addr::ModulePath::root(), change.name.clone()));
            let done =
                steps.tasks.iter().zip(ended).any(|(task, end)| *end == Ended::Done && matches!(task, Task::Node(n) if Some(*n) == node));
            if !done {
                continue;
            }
            let Some(value) = self.walk.around.values.output(&root, &change.name) else { continue };
            let value = value.unmark_deep().0;
            if !value.is_wholly_known() {
                // One that rests on what is not there is kept as nothing, unless something better is there already.
                if change.before.is_none() {
                    edits.push(StateEdit::PutOutput(StateOutput {
                        name: change.name.to_string(),
                        value: "null".to_owned(),
                        ty: cty::Type::Dynamic.to_json(),
                        sensitive: output.sensitive,
                    }));
                }
                continue;
            }
            if value.is_null() {
                edits.push(remove());
                continue;
            }
            let ty = value.ty().clone();
            if let Ok(text) = cty::json::encode(&value, &ty) {
                edits.push(StateEdit::PutOutput(StateOutput {
                    name: change.name.to_string(),
                    value: text,
                    ty: ty.to_json(),
                    sensitive: output.sensitive,
                }));
            }
        }
        if !edits.is_empty()
            && let Err(error) = self.recorder.edit(edits).await
        {
            self.store_failed.store(true, Ordering::Relaxed);
            self.walk.report(Diagnostic::error("Outputs could not be kept", error.to_string()).into());
        }
    }
}

/// Why an operation did not succeed.
pub struct Trouble {
    pub failed: Option<Failed>,
    pub diags: Diagnostics,
    pub method: Option<&'static str>,
    pub unknown: bool,
}

impl Trouble {
    /// No trouble: the end was asked for before anything was done.
    fn not_begun() -> Box<Self> {
        Diagnostics::new().into()
    }

    /// A fault of ours, in words.
    pub fn text(text: &str) -> Box<Self> {
        Diagnostics::from(Diagnostic::error("The operation cannot be carried out", text)).into()
    }

    fn failure(&self, change: &Change, plugin: Option<&PluginId>) -> Failure {
        let (class, summary, detail, incident) = match &self.failed {
            Some(failed) => {
                let (summary, detail) = failed.text();
                (failed.class, summary, detail, failed.error.as_ref().and_then(ProviderError::incident).map(str::to_owned))
            }
            None => {
                let first = self.diags.errors().next();
                let text = |pick: fn(&Diagnostic) -> &String| first.map(pick).cloned().unwrap_or_default();
                (FailureClass::BadInput, text(|d| &d.summary), text(|d| &d.detail), None)
            }
        };
        Failure {
            class,
            fingerprint: super::record::fingerprint(class, &change.address.resource.kind, &summary, &detail),
            summary,
            detail,
            address: Some(change.id()),
            plugin: plugin.cloned(),
            method: self.method.map(str::to_owned),
            incident,
            last_lines: Vec::new(),
        }
    }
}

impl From<Diagnostics> for Box<Trouble> {
    fn from(diags: Diagnostics) -> Self {
        Box::new(Trouble { failed: None, diags, method: None, unknown: false })
    }
}

impl From<ProviderError> for Box<Trouble> {
    fn from(error: ProviderError) -> Self {
        let method = error.method().map(|m| m.name());
        let failed = Failed { class: error.class(), diagnostics: Vec::new(), error: Some(error), unknown: false };
        Box::new(Trouble { failed: Some(failed), diags: Diagnostics::new(), method, unknown: false })
    }
}
