//! The planning walk over resources: each instance read, validated and planned by its provider; what is no longer
//! declared is found. Owns what it finds until the stage is put together.

use super::change::{Change, Drift};
use super::conditions::{self, Kind, Status};
use super::expand::{self, Meta};
use super::ignore::Ignore;
use super::import::{self, Wanted};
use super::managed::{self, NoPlan, Planned, Prior, Question, Reason};
use super::nodes::Node;
use super::objects::{self, Around, Unusable};
use super::prior::{Objects, PriorState};
use super::scope::{ModuleScope, Phase};
use super::values::{Expansion, Repetition};
use super::walk::{Walk, lock};
use crate::engine::event::{Action, StageMode};
use crate::engine::graph::Step;
use crate::engine::provider::{CallContext, Provider, ReadRequest};
use crate::engine::store::model::{StateEdit, StateObject};
use crate::engine::workspace::provider_addr::{self, ConfigKey};
use crate::engine::workspace::refs::{self, Ref};
use cty::schema::Schema;
use cty::{Path, PathStep, Value};
use futures_util::stream::{self, StreamExt};
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey, Mode, ModuleInstance, Target};
use lang::config::{IgnoreChanges, Module, Resource};
use lang::diag::Diagnostic;
use lang::syntax::ast::{Expr, StepKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

/// What is asked of the planning walk besides the configuration.
pub struct Wishes {
    pub mode: StageMode,
    pub refresh: bool,
    pub replace: Vec<AbsInstance>,
    pub targets: Vec<Target>,
    pub excludes: Vec<Target>,
    /// Resources whose instances are planned only as far as `targets` reach; all instances of the others are.
    pub aimed: HashSet<ConfigResource>,
    pub parallelism: usize,
}

impl Wishes {
    /// Whether an instance is to be planned.
    pub fn wants(&self, instance: &AbsInstance) -> bool {
        if self.excludes.iter().any(|t| t.contains(instance)) {
            return false;
        }
        self.targets.is_empty() || !self.aimed.contains(&instance.config()) || self.targets.iter().any(|t| t.contains(instance))
    }
}

/// What the walk finds.
#[derive(Default)]
pub struct Found {
    pub changes: Vec<(Step, Change)>,
    pub by_address: HashMap<AbsInstance, usize>,
    pub drift: Vec<Drift>,
    pub edits: Vec<StateEdit>,
}

/// The planning walk.
pub struct PlanWalk<'p> {
    pub walk: Walk<'p>,
    pub prior: PriorState,
    pub wishes: Wishes,
    /// Resources that are created before the old object is destroyed: declared, or needed by one that is.
    pub create_first: HashSet<ConfigResource>,
    pub found: Mutex<Found>,
    /// Keys of the instances that are declared.
    pub expansions: Mutex<HashMap<AbsResource, BTreeSet<InstanceKey>>>,
    /// Called after each instance with its address.
    pub progress: Box<dyn Fn(&str) + Send + Sync + 'p>,
}

/// A resource as declared, with all that its instances share.
struct Declared<'a> {
    step: Step,
    resource: &'a Resource,
    module: &'a Module,
    key: ConfigKey,
    provider: Arc<dyn Provider>,
    schema: &'a Schema,
    dependencies: BTreeSet<String>,
    create_first: bool,
    /// Whether the provider wants to be asked about destroys.
    plan_destroy: bool,
    ignore: Ignore,
    /// What is to be imported into it.
    imports: BTreeMap<AbsInstance, Wanted>,
}

impl PlanWalk<'_> {
    /// Works out one node.
    pub async fn run(&self, step: Step) -> bool {
        let node = &self.walk.nodes.nodes[step];
        if let Some(good) = self.walk.common(node).await {
            return good;
        }
        match node {
            Node::Resource(resource) => self.resource(step, resource).await,
            Node::Orphan(resource) => self.orphans(step, resource).await,
            _ => true,
        }
    }

    async fn resource(&self, step: Step, address: &ConfigResource) -> bool {
        let Some(module) = self.walk.module(&address.module) else { return true };
        let Some(resource) = module.resources.get(&address.resource) else { return true };
        let key = provider_addr::for_resource(&self.walk.around.root, module, resource);
        let Some(provider) = self.walk.ready(&key) else { return false };
        let Some(schema) = self.walk.around.schema(&key.address, &address.resource) else { return false };
        let imports = match self.wishes.mode {
            StageMode::Normal => self.imports(address),
            _ => Some(BTreeMap::new()),
        };
        let Some(imports) = imports else { return false };
        let declared = Declared {
            step,
            resource,
            module,
            provider,
            schema,
            dependencies: self.walk.nodes.dependencies(step).iter().map(ToString::to_string).collect(),
            create_first: self.create_first.contains(address),
            plan_destroy: self.walk.around.schemas.get(&key.address).is_some_and(|s| s.capabilities.plan_destroy),
            ignore: ignore(&resource.lifecycle.ignore_changes),
            key,
            imports,
        };
        let mut good = true;
        let mut seen: HashSet<AbsResource> = HashSet::new();
        for module_instance in self.walk.around.values.instances(&address.module).iter() {
            let abs = AbsResource { module: module_instance.clone(), resource: address.resource.clone() };
            seen.insert(abs.clone());
            good &= self.expanded(&declared, &abs).await;
        }
        good = good && self.imports_without_configuration(&declared.imports);
        // Objects in module instances that are there no longer.
        for (abs, instances) in self.prior.of_config(address) {
            if !seen.contains(abs) {
                for (instance_key, there) in instances {
                    good &= self
                        .gone(&declared_gone(&declared), &abs.instance(instance_key.clone()), there, Reason::DeleteBecauseNoModule)
                        .await;
                }
            }
        }
        good
    }

    /// All instances of a resource in one module instance.
    async fn expanded(&self, declared: &Declared<'_>, abs: &AbsResource) -> bool {
        let resource = declared.resource;
        let scope = ModuleScope::new(&self.walk.around, declared.module, &abs.module);
        let meta =
            Meta { count: resource.count.as_ref(), for_each: resource.for_each.as_ref(), enabled: resource.lifecycle.enabled.as_ref() };
        let (expansion, diags) = expand::expand(&scope, meta);
        if !self.walk.report(diags) {
            return false;
        }
        let Some(expansion) = expansion else { return false };
        let instances = expansion.instances();
        let keys: BTreeSet<InstanceKey> = instances.iter().map(|(k, _)| k.clone()).collect();
        lock(&self.expansions).insert(abs.clone(), keys.clone());
        let work = instances.into_iter().map(|(key, repetition)| async move {
            let address = abs.instance(key.clone());
            let value = self.instance(declared, &address, repetition).await;
            (self.progress)(&address.to_string());
            (key, value)
        });
        // The order of the answers does not matter, the order in the stage is made at the end.
        let results: Vec<(InstanceKey, Result<Value, ()>)> =
            stream::iter(work).buffer_unordered(self.wishes.parallelism.max(1)).collect().await;
        let mut good = results.iter().all(|(_, r)| r.is_ok());
        let values: HashMap<InstanceKey, Value> = results.into_iter().filter_map(|(k, r)| Some((k, r.ok()?))).collect();
        self.walk.around.values.put_resource(abs.clone(), assemble(&expansion, &values, declared.schema));
        if let Some(there) = self.prior.resources.get(abs) {
            for (key, objects) in there {
                let address = abs.instance(key.clone());
                if !keys.contains(key) {
                    good &= self.gone(&declared_gone(declared), &address, objects, wrong_key(&expansion, key)).await;
                } else {
                    good &= self.deposed(&declared_gone(declared), &address, objects).await;
                }
            }
        }
        good
    }

    /// One instance; answers what references to it see.
    async fn instance(&self, declared: &Declared<'_>, address: &AbsInstance, repetition: Repetition) -> Result<Value, ()> {
        match declared.resource.name.mode {
            Mode::Data => self.data(declared, address, repetition).await,
            _ => self.managed(declared, address, repetition).await,
        }
    }

    async fn managed(&self, declared: &Declared<'_>, address: &AbsInstance, repetition: Repetition) -> Result<Value, ()> {
        let there = self.prior.objects(address).cloned().unwrap_or_default();
        let ctx = self.walk.context(address.to_string());
        let ty = declared.schema.block.implied_type();
        if !self.wishes.wants(address) {
            // Outside of what is staged: it stays what it is.
            return match &there.current {
                Some(object) => Ok(self.load(&declared_gone(declared), address, object, &ctx).await?.value),
                None => Ok(Value::unknown(ty)),
            };
        }
        let mut looked = self.look(&declared_gone(declared), address, &there, &ctx).await?;
        if there.current.is_none() {
            self.import(declared, address, &mut looked, &ctx).await?;
        }
        if self.wishes.mode == StageMode::RefreshOnly {
            self.keep_refreshed(declared, address, &looked, None);
            // One that is not there is not known either, as nothing is planned for it.
            return Ok(looked.now.map_or_else(|| Value::unknown(ty), |p| p.value));
        }
        let scope =
            ModuleScope { own: Some(&declared.resource.name), ..ModuleScope::new(&self.walk.around, declared.module, &address.module) }
                .repeated(repetition);
        if self.wishes.mode == StageMode::Destroy {
            let value = looked.now.as_ref().map(|p| p.value.clone());
            self.prevented(declared, &scope, address, looked.now.is_some() && !forgets(declared.resource))?;
            let forget = forgets(declared.resource);
            let reason = forget.then_some(Reason::ForgotBecauseLifecycleDestroyInConfig);
            self.destroy(&declared_gone(declared), address, None, &there, looked, reason, forget).await?;
            return Ok(value.unwrap_or_else(|| Value::unknown(ty)));
        }
        self.conditions(declared, &scope, &declared.resource.lifecycle.preconditions, Kind::Precondition)?;
        let (config, diags) = self.walk.decode(&declared.resource.body, &declared.schema.block, &scope);
        let diags = about(diags, address);
        if !self.walk.report(diags) {
            return Err(());
        }
        self.nothing_ephemeral(declared, address, &config)?;
        self.validate(declared, address, &config, &ctx).await?;
        let force = self.force(declared, &scope, address)?;
        let question = Question {
            type_name: &declared.resource.name.kind,
            schema: declared.schema,
            config: config.clone(),
            prior: looked.now.as_ref(),
            ignore: &declared.ignore,
            force,
            create_first: declared.create_first,
        };
        let planned = match managed::plan(declared.provider.as_ref(), question, &ctx).await {
            Ok(planned) => planned,
            Err(error) => {
                self.no_plan(declared, address, error);
                return Err(());
            }
        };
        self.walk.report_provider(&planned.warnings, &address.to_string(), Some(&declared.resource.body), Some(declared.resource.span));
        if planned.action.destroys() && !forgets(declared.resource) {
            self.prevented(declared, &scope, address, true)?;
        }
        let after = planned.after.clone();
        self.keep_refreshed(declared, address, &looked, (planned.action == Action::NoOp).then_some(&declared.dependencies));
        self.keep_change(declared, address, &there, looked, planned, config);
        let scope = ModuleScope { self_value: Some(after.clone()), own: None, ..scope };
        self.conditions(declared, &scope, &declared.resource.lifecycle.postconditions, Kind::Postcondition)?;
        Ok(after)
    }

    /// Looks at the object that an import block names for an instance which the state does not have.
    async fn import(&self, declared: &Declared<'_>, address: &AbsInstance, looked: &mut Looked, ctx: &CallContext) -> Result<(), ()> {
        // An empty id stands for nothing to import: the object is created.
        let Some(wanted) = declared.imports.get(address).filter(|w| !w.id.is_empty()) else { return Ok(()) };
        match import::fetch(declared.provider.as_ref(), declared.schema, address, wanted, ctx).await {
            Err(diags) => {
                self.walk.report(diags);
                Err(())
            }
            Ok((prior, diags)) => {
                self.walk.report(diags);
                looked.now = Some(prior);
                looked.imported = Some(wanted.id.clone());
                Ok(())
            }
        }
    }

    fn no_plan(&self, declared: &Declared<'_>, address: &AbsInstance, error: NoPlan) {
        match error {
            NoPlan::Call(error) => self.walk.report_call(&error, &address.to_string(), Some(declared.resource.span)),
            NoPlan::Refused(said) => {
                self.walk.report_provider(&said, &address.to_string(), Some(&declared.resource.body), Some(declared.resource.span))
            }
        };
    }

    fn nothing_ephemeral(&self, declared: &Declared<'_>, address: &AbsInstance, config: &Value) -> Result<(), ()> {
        let faults = super::validate::ephemeral_faults(&declared.schema.block, config);
        let (body, span) = (Some(&declared.resource.body), Some(declared.resource.span));
        if self.walk.report_provider(&faults, &address.to_string(), body, span) { Ok(()) } else { Err(()) }
    }

    async fn validate(&self, declared: &Declared<'_>, address: &AbsInstance, config: &Value, ctx: &CallContext) -> Result<(), ()> {
        let plain = config.clone().unmark_deep().0;
        let kind = &declared.resource.name.kind;
        let answer = match declared.resource.name.mode {
            Mode::Data => declared.provider.validate_data(kind, plain, ctx).await,
            _ => declared.provider.validate_resource(kind, plain, ctx).await,
        };
        match answer {
            Err(error) => {
                self.walk.report_call(&error, &address.to_string(), Some(declared.resource.span));
                Err(())
            }
            Ok(answer) => {
                let good = self.walk.report_provider(
                    &answer.diagnostics,
                    &address.to_string(),
                    Some(&declared.resource.body),
                    Some(declared.resource.span),
                );
                if good { Ok(()) } else { Err(()) }
            }
        }
    }

    fn conditions(&self, declared: &Declared<'_>, scope: &ModuleScope<'_>, all: &[lang::config::Condition], kind: Kind) -> Result<(), ()> {
        let object = self.walk.object(&declared.module.path, &declared.resource.name.to_string());
        let mut good = true;
        // What is to go need not fulfil anything.
        for condition in all.iter().filter(|_| self.wishes.mode != StageMode::Destroy) {
            let (status, diags) = conditions::check(scope, condition, kind);
            if self.walk.around.phase != Phase::Validate {
                lock(&self.walk.statuses).note(&object, status);
            }
            good &= self.walk.report(diags) && !matches!(status, Status::Fail | Status::Error);
        }
        if good { Ok(()) } else { Err(()) }
    }

    fn prevented(&self, declared: &Declared<'_>, scope: &ModuleScope<'_>, address: &AbsInstance, there: bool) -> Result<(), ()> {
        let Some(expr) = declared.resource.lifecycle.prevent_destroy.as_ref().filter(|_| there) else { return Ok(()) };
        let (value, diags) = scope.evaluate(expr);
        if !self.walk.report(diags) {
            return Err(());
        }
        let value = value.unmark_deep().0;
        if cty::convert::convert(&value, &cty::Type::Bool).ok().and_then(|v| v.as_bool()) != Some(true) {
            return Ok(());
        }
        let detail = format!(
            "Resource {address} has lifecycle.prevent_destroy set, but the stage calls for this resource to be destroyed. To go on, disable prevent_destroy for it, or narrow the stage with --target or --exclude."
        );
        self.walk
            .report(Diagnostic::error("Instance cannot be destroyed", detail).at(declared.resource.span).about(address.to_string()).into());
        Err(())
    }

    /// Whether the instance is to be replaced whatever its provider says.
    fn force(&self, declared: &Declared<'_>, scope: &ModuleScope<'_>, address: &AbsInstance) -> Result<Option<Reason>, ()> {
        if self.wishes.replace.contains(address) {
            return Ok(Some(Reason::ReplaceByRequest));
        }
        for expr in &declared.resource.lifecycle.replace_triggered_by {
            if self.triggered(scope, expr)? {
                return Ok(Some(Reason::ReplaceByTriggers));
            }
        }
        Ok(None)
    }

    fn triggered(&self, scope: &ModuleScope<'_>, expr: &Expr) -> Result<bool, ()> {
        let Some((abs, key, path)) = trigger(scope, expr) else {
            self.walk.report(
                Diagnostic::error(
                    "Invalid replace_triggered_by expression",
                    "Only references to resources, their instances and their attributes are allowed here.",
                )
                .at(expr.span)
                .into(),
            );
            return Err(());
        };
        let found = lock(&self.found);
        let mut hit = false;
        for (_, change) in found.changes.iter().filter(|(_, c)| c.deposed.is_none() && c.address.abs() == abs) {
            // What goes triggers nothing, only what comes or changes.
            let idle = matches!(change.action, Action::NoOp | Action::Read | Action::Destroy | Action::Forget);
            if idle || key.as_ref().is_some_and(|k| *k != change.address.key) {
                continue;
            }
            if path.is_empty() {
                hit = true;
                continue;
            }
            let (before, after) = (path.apply(&change.before), path.apply(&change.after));
            hit |= match (before, after) {
                (Ok(a), Ok(b)) => !b.is_known() || !a.unmark_deep().0.raw_equals(&b.unmark_deep().0),
                _ => true,
            };
        }
        Ok(hit)
    }

    /// Reads the object in the world; notes drift.
    async fn look(&self, gone: &Gone<'_>, address: &AbsInstance, there: &Objects, ctx: &CallContext) -> Result<Looked, ()> {
        let Some(object) = &there.current else { return Ok(Looked::default()) };
        self.look_at(gone, address, object, there.previous.as_ref(), ctx).await
    }

    async fn look_at(
        &self,
        gone: &Gone<'_>,
        address: &AbsInstance,
        object: &StateObject,
        previous: Option<&AbsInstance>,
        ctx: &CallContext,
    ) -> Result<Looked, ()> {
        let stored = self.load(gone, address, object, ctx).await?;
        if !self.wishes.refresh {
            return Ok(Looked { stored: Some(stored.clone()), now: Some(stored), object: Some(object.clone()), ..Looked::default() });
        }
        let request = ReadRequest {
            type_name: address.resource.kind.to_string(),
            current: stored.value.clone().unmark_deep().0,
            private: stored.private.clone(),
            identity: None,
            provider_meta: None,
        };
        let answer = match gone.provider.read(request, ctx).await {
            Ok(answer) => answer,
            Err(error) => {
                self.walk.report_call(&error, &address.to_string(), gone.span);
                return Err(());
            }
        };
        if !self.walk.report_provider(&answer.diagnostics, &address.to_string(), None, gone.span) {
            return Err(());
        }
        let now = if answer.state.is_null() {
            None
        } else {
            let (_, marks) = stored.value.clone().unmark_deep_with_paths();
            let value = managed::mark(gone.schema, answer.state, &marks);
            Some(Prior { value, private: answer.private, tainted: object.tainted, identity: answer.identity })
        };
        let drifted = match &now {
            None => true,
            Some(now) => !now.value.clone().unmark_deep().0.raw_equals(&stored.value.clone().unmark_deep().0),
        };
        if drifted {
            let (action, after) = match &now {
                Some(now) => (Action::Update, now.value.clone()),
                None => (Action::Destroy, Value::null(gone.schema.block.implied_type())),
            };
            lock(&self.found).drift.push(Drift {
                address: address.clone(),
                previous: previous.cloned(),
                provider: gone.key.clone(),
                action,
                before: stored.value.clone(),
                after,
            });
        }
        Ok(Looked { stored: Some(stored), now, object: Some(object.clone()), drifted, imported: None })
    }

    async fn load(&self, gone: &Gone<'_>, address: &AbsInstance, object: &StateObject, ctx: &CallContext) -> Result<Prior, ()> {
        match objects::load(gone.provider.as_ref(), gone.schema, object, &address.resource.kind, ctx).await {
            Ok(mut prior) => {
                let (plain, marks) = prior.value.unmark_deep_with_paths();
                prior.value = managed::mark(gone.schema, plain, &marks);
                Ok(prior)
            }
            Err(Unusable::Call(error)) => {
                self.walk.report_call(&error, &address.to_string(), gone.span);
                Err(())
            }
            Err(Unusable::Refused(said)) => {
                self.walk.report_provider(&said, &address.to_string(), None, gone.span);
                Err(())
            }
        }
    }

    /// Notes what looking at an object changed in the state; with `dependencies`, those of now replace the old ones.
    fn keep_refreshed(&self, declared: &Declared<'_>, address: &AbsInstance, looked: &Looked, dependencies: Option<&BTreeSet<String>>) {
        let Some(object) = &looked.object else { return };
        let edit = match &looked.now {
            None => StateEdit::Remove { address: object.address.clone(), deposed: object.deposed.clone() },
            Some(now) => {
                let old: BTreeSet<String> = object.dependencies.iter().cloned().collect();
                let dependencies = dependencies.unwrap_or(&old);
                let around = Around {
                    address,
                    deposed: "",
                    provider: &declared.key,
                    tainted: object.tainted,
                    create_before_destroy: declared.create_first,
                    skip_destroy: forgets(declared.resource),
                    dependencies,
                };
                match objects::record(&around, declared.schema, &now.value, &now.private) {
                    Ok(new) if same_record(&new, object) => return,
                    Ok(new) => StateEdit::Put(Box::new(new)),
                    Err(_) => return,
                }
            }
        };
        lock(&self.found).edits.push(edit);
    }

    fn keep_change(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        there: &Objects,
        looked: Looked,
        planned: Planned,
        config: Value,
    ) {
        let change = Change {
            address: address.clone(),
            deposed: None,
            previous: there.previous.clone(),
            provider: declared.key.clone(),
            action: planned.action,
            reason: planned.reason,
            before: planned.before,
            after: planned.after,
            config: Some(config),
            private: planned.private.to_vec(),
            prior_private: looked.now.as_ref().map(|p| p.private.to_vec()).unwrap_or_default(),
            replace_paths: planned.replace_paths,
            schema_version: declared.schema.version,
            dependencies: declared.dependencies.clone(),
            prior_dependencies: there.current.iter().flat_map(|o| o.dependencies.iter().cloned()).collect(),
            create_before_destroy: declared.create_first,
            skip_destroy: forgets(declared.resource),
            tainted: there.current.as_ref().is_some_and(|o| o.tainted),
            importing: looked.imported,
            drifted: looked.drifted,
            deferred_read: false,
        };
        self.push(declared.step, change);
    }

    fn push(&self, step: Step, change: Change) {
        let mut found = lock(&self.found);
        if change.deposed.is_none() {
            let at = found.changes.len();
            found.by_address.insert(change.address.clone(), at);
        }
        found.changes.push((step, change));
    }

    /// Plans the destruction of an object that was looked at.
    #[allow(clippy::too_many_arguments)]
    async fn destroy(
        &self,
        gone: &Gone<'_>,
        address: &AbsInstance,
        deposed: Option<&str>,
        there: &Objects,
        looked: Looked,
        reason: Option<Reason>,
        forget: bool,
    ) -> Result<(), ()> {
        let Some(object) = &looked.object else { return Ok(()) };
        let Some(now) = &looked.now else {
            lock(&self.found).edits.push(StateEdit::Remove { address: object.address.clone(), deposed: object.deposed.clone() });
            return Ok(());
        };
        let ctx = self.walk.context(address.to_string());
        let planned = if forget {
            Ok(Planned {
                action: Action::Forget,
                reason: None,
                before: now.value.clone(),
                after: Value::null(gone.schema.block.implied_type()),
                private: now.private.clone(),
                identity: None,
                replace_paths: Vec::new(),
                warnings: Vec::new(),
            })
        } else {
            managed::plan_destroy(gone.provider.as_ref(), &address.resource.kind, gone.schema, now, gone.plan_destroy, &ctx).await
        };
        let planned = match planned {
            Ok(planned) => planned,
            Err(NoPlan::Call(error)) => {
                self.walk.report_call(&error, &address.to_string(), gone.span);
                return Err(());
            }
            Err(NoPlan::Refused(said)) => {
                self.walk.report_provider(&said, &address.to_string(), None, gone.span);
                return Err(());
            }
        };
        let change = Change {
            address: address.clone(),
            deposed: deposed.map(str::to_owned),
            previous: there.previous.clone().filter(|_| self.wishes.mode != StageMode::Destroy),
            provider: gone.key.clone(),
            action: planned.action,
            reason,
            before: planned.before,
            after: planned.after,
            config: None,
            private: planned.private.to_vec(),
            prior_private: now.private.to_vec(),
            replace_paths: Vec::new(),
            schema_version: gone.schema.version,
            dependencies: object.dependencies.iter().cloned().collect(),
            prior_dependencies: object.dependencies.iter().cloned().collect(),
            create_before_destroy: object.create_before_destroy,
            skip_destroy: forget,
            tainted: object.tainted,
            importing: None,
            drifted: looked.drifted,
            deferred_read: false,
        };
        self.push(gone.step, change);
        Ok(())
    }

    /// An instance that is not declared: its object is destroyed (or forgotten), its deposed objects too.
    async fn gone(&self, gone: &Gone<'_>, address: &AbsInstance, there: &Objects, reason: Reason) -> bool {
        if address.resource.mode == Mode::Data {
            if let Some(object) = &there.current {
                lock(&self.found).edits.push(StateEdit::Remove { address: object.address.clone(), deposed: String::new() });
            }
            return true;
        }
        if !self.wishes.wants(address) {
            return true;
        }
        let ctx = self.walk.context(address.to_string());
        let Ok(looked) = self.look(gone, address, there, &ctx).await else { return false };
        if self.wishes.mode == StageMode::RefreshOnly {
            return true;
        }
        let reason = if there.previous.is_some() && reason == Reason::DeleteBecauseNoResourceConfig {
            Reason::DeleteBecauseNoMoveTarget
        } else {
            reason
        };
        let (forget, reason) = match removed(&self.walk.around.root, address) {
            Some((_, removed)) => (!removed.destroy, reason),
            None => match there.current.as_ref().and_then(|o| gone.forgotten(o)) {
                Some(why) => (true, why),
                None => (false, reason),
            },
        };
        let reason = Some(reason).filter(|_| self.wishes.mode != StageMode::Destroy || forget);
        let good = self.destroy(gone, address, None, there, looked, reason, forget).await.is_ok();
        (self.progress)(&address.to_string());
        good & self.deposed(gone, address, there).await
    }

    async fn deposed(&self, gone: &Gone<'_>, address: &AbsInstance, there: &Objects) -> bool {
        let mut good = true;
        for object in &there.deposed {
            let ctx = self.walk.context(address.to_string());
            let Ok(looked) = self.look_at(gone, address, object, None, &ctx).await else {
                good = false;
                continue;
            };
            if self.wishes.mode != StageMode::RefreshOnly {
                let reason = gone.forgotten(object);
                good &= self.destroy(gone, address, Some(&object.deposed), there, looked, reason, reason.is_some()).await.is_ok();
            }
        }
        good
    }

    /// Objects of a resource that is declared no longer.
    async fn orphans(&self, step: Step, address: &ConfigResource) -> bool {
        let all: Vec<(AbsInstance, Objects)> = self
            .prior
            .of_config(address)
            .flat_map(|(abs, instances)| instances.iter().map(|(k, o)| (abs.instance(k.clone()), o.clone())))
            .collect();
        if address.resource.mode == Mode::Data {
            for (_, there) in &all {
                if let Some(object) = &there.current {
                    lock(&self.found).edits.push(StateEdit::Remove { address: object.address.clone(), deposed: String::new() });
                }
            }
            return true;
        }
        let mut good = true;
        for (instance, there) in all {
            let Some(object) = there.current.as_ref().or(there.deposed.first()) else { continue };
            let Some(key) = ConfigKey::parse(&object.provider) else { continue };
            let Some(schemas) = self.walk.around.schemas.get(&key.address) else { return false };
            let Some(schema) = schemas.resources.get(instance.resource.kind.as_ref()) else {
                let detail = format!(
                    "{} has no resource type {:?} (any more), so {instance} in the state cannot be destroyed with it. Use a version that has it, or forget the object.",
                    provider_addr::short(&key.address),
                    &*instance.resource.kind
                );
                self.walk.report(Diagnostic::error("Unsupported resource type", detail).about(instance.to_string()).into());
                good = false;
                continue;
            };
            let Some(provider) = self.walk.ready(&key) else { return false };
            let gone = Gone {
                step,
                key: key.clone(),
                provider,
                schema,
                plan_destroy: schemas.capabilities.plan_destroy,
                forgets: None,
                span: None,
            };
            let exists = self.walk.around.values.instances(&instance.module.path()).contains(&instance.module);
            let call_there =
                instance.module.path().parent().is_some_and(|(p, call)| self.walk.module(&p).is_some_and(|m| m.calls.contains_key(call)));
            let reason = if !exists && call_there { Reason::DeleteBecauseNoModule } else { Reason::DeleteBecauseNoResourceConfig };
            good &= self.gone(&gone, &instance, &there, reason).await;
        }
        good
    }

    /// A data source: read now where that can be done, else with the deploy.
    async fn data(&self, declared: &Declared<'_>, address: &AbsInstance, repetition: Repetition) -> Result<Value, ()> {
        let block = &declared.schema.block;
        if !self.wishes.wants(address) {
            return Ok(Value::unknown(block.implied_type()));
        }
        let ctx = self.walk.context(address.to_string());
        let scope =
            ModuleScope { own: Some(&declared.resource.name), ..ModuleScope::new(&self.walk.around, declared.module, &address.module) }
                .repeated(repetition);
        self.conditions(declared, &scope, &declared.resource.lifecycle.preconditions, Kind::Precondition)?;
        let (config, diags) = self.walk.decode(&declared.resource.body, block, &scope);
        if !self.walk.report(about(diags, address)) {
            return Err(());
        }
        self.nothing_ephemeral(declared, address, &config)?;
        let (plain, marks) = config.clone().unmark_deep_with_paths();
        self.validate(declared, address, &config, &ctx).await?;
        let pending = self.wishes.mode == StageMode::Normal && self.pending(declared);
        let later = if !plain.is_wholly_known() {
            Some(Reason::ReadBecauseConfigUnknown)
        } else if pending {
            Some(Reason::ReadBecauseDependencyPending)
        } else {
            None
        };
        let value = match later {
            None => self.read_data(declared, address, plain, &ctx).await?,
            Some(_) => cty::plan::proposed_new(block, &unknown_object(block), &plain),
        };
        let value = managed::mark(declared.schema, value, &marks);
        match later {
            // Nothing is read for its own sake any more, and nothing of it stays.
            _ if self.wishes.mode == StageMode::Destroy => {
                if let Some(object) = self.prior.objects(address).and_then(|o| o.current.as_ref()) {
                    lock(&self.found).edits.push(StateEdit::Remove { address: object.address.clone(), deposed: String::new() });
                }
            }
            Some(reason) => {
                let change = Change {
                    address: address.clone(),
                    deposed: None,
                    previous: None,
                    provider: declared.key.clone(),
                    action: Action::Read,
                    reason: Some(reason),
                    before: Value::null(block.implied_type()),
                    after: value.clone(),
                    config: None,
                    private: Vec::new(),
                    prior_private: Vec::new(),
                    replace_paths: Vec::new(),
                    schema_version: declared.schema.version,
                    dependencies: declared.dependencies.clone(),
                    prior_dependencies: BTreeSet::new(),
                    create_before_destroy: false,
                    skip_destroy: false,
                    tainted: false,
                    importing: None,
                    drifted: false,
                    deferred_read: true,
                };
                self.push(declared.step, change);
            }
            None => self.keep_data(declared, address, &value),
        }
        let scope = ModuleScope { self_value: Some(value.clone()), own: None, ..scope };
        self.conditions(declared, &scope, &declared.resource.lifecycle.postconditions, Kind::Postcondition)?;
        Ok(value)
    }

    async fn read_data(&self, declared: &Declared<'_>, address: &AbsInstance, config: Value, ctx: &CallContext) -> Result<Value, ()> {
        match declared.provider.read_data(&declared.resource.name.kind, config, ctx).await {
            Err(error) => {
                self.walk.report_call(&error, &address.to_string(), Some(declared.resource.span));
                Err(())
            }
            Ok(answer) => {
                let body = Some(&declared.resource.body);
                if !self.walk.report_provider(&answer.diagnostics, &address.to_string(), body, Some(declared.resource.span)) {
                    return Err(());
                }
                Ok(answer.state)
            }
        }
    }

    fn keep_data(&self, declared: &Declared<'_>, address: &AbsInstance, value: &Value) {
        let none = BTreeSet::new();
        let around = Around {
            address,
            deposed: "",
            provider: &declared.key,
            tainted: false,
            create_before_destroy: false,
            skip_destroy: false,
            dependencies: &none,
        };
        if let Ok(new) = objects::record(&around, declared.schema, value, &[]) {
            let old = self.prior.objects(address).and_then(|o| o.current.as_ref());
            if old.is_none_or(|old| !same_record(&new, old)) {
                lock(&self.found).edits.push(StateEdit::Put(Box::new(new)));
            }
        }
    }

    /// Whether something that the data source depends on explicitly is going to change.
    fn pending(&self, declared: &Declared<'_>) -> bool {
        let lifecycle = &declared.resource.lifecycle;
        let conditions = !lifecycle.preconditions.is_empty() || !lifecycle.postconditions.is_empty();
        let mut roots: BTreeSet<Step> = BTreeSet::new();
        let mut add = |module: &Module, t: &lang::syntax::ast::Traversal| match refs::parse(t) {
            Ok(Ref::Resource { resource, .. }) => {
                roots.extend(self.walk.nodes.step(&Node::Resource(ConfigResource { module: module.path.clone(), resource })));
            }
            Ok(Ref::Module { call, .. } | Ref::ModuleOutput { call, .. }) => {
                if let Some(child) = module.calls.get(&call).and_then(|c| c.module.as_ref()) {
                    for inner in child.all() {
                        for resource in inner.resources.keys() {
                            let node = Node::Resource(ConfigResource { module: inner.path.clone(), resource: resource.clone() });
                            roots.extend(self.walk.nodes.step(&node));
                        }
                    }
                }
            }
            _ => {}
        };
        for t in &declared.resource.depends_on {
            add(declared.module, t);
        }
        let mut at = declared.module.path.clone();
        while let Some((parent, call)) = at.parent().map(|(p, c)| (p, c.clone())) {
            if let Some(module) = self.walk.module(&parent)
                && let Some(call) = module.calls.get(&call)
            {
                for t in &call.depends_on {
                    add(module, t);
                }
            }
            at = parent;
        }
        if conditions {
            roots.extend(self.walk.nodes.graph.needs(declared.step));
        }
        let reached = self.walk.nodes.graph.closure(roots);
        let found = lock(&self.found);
        found.changes.iter().any(|(step, c)| reached.contains(step) && c.address.resource.mode == Mode::Managed && c.action != Action::NoOp)
    }
}

/// What is needed to look at an object and to destroy it, whether it is declared or not.
struct Gone<'a> {
    step: Step,
    key: ConfigKey,
    provider: Arc<dyn Provider>,
    schema: &'a Schema,
    plan_destroy: bool,
    /// Whether its `lifecycle` says that objects are forgotten and not destroyed; what the state says where it is not declared.
    forgets: Option<bool>,
    span: Option<lang::source::Span>,
}

impl Gone<'_> {
    /// Why an object is forgotten where it would be destroyed; `None` where it is destroyed.
    fn forgotten(&self, object: &StateObject) -> Option<Reason> {
        match self.forgets {
            Some(declared) => declared.then_some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            None => object.skip_destroy.then_some(Reason::ForgotBecauseLifecycleDestroyInState),
        }
    }
}

fn declared_gone<'a>(declared: &Declared<'a>) -> Gone<'a> {
    Gone {
        step: declared.step,
        key: declared.key.clone(),
        provider: declared.provider.clone(),
        schema: declared.schema,
        plan_destroy: declared.plan_destroy,
        forgets: Some(forgets(declared.resource)),
        span: Some(declared.resource.span),
    }
}

/// An object as stored and as it is now.
#[derive(Default)]
struct Looked {
    #[allow(dead_code)]
    stored: Option<Prior>,
    now: Option<Prior>,
    object: Option<StateObject>,
    drifted: bool,
    /// The id under which it is imported.
    imported: Option<String>,
}

/// The `removed` block that speaks of an instance, with the module that has it; the last one counts.
pub fn removed<'m>(root: &'m Module, address: &AbsInstance) -> Option<(&'m Module, &'m lang::config::Removed)> {
    let mut answer = None;
    for module in root.all() {
        for removed in &module.removed {
            let n = module.path.0.len();
            if address.module.0.len() < n || address.module.path().0[..n] != module.path.0[..] {
                continue;
            }
            let inner = AbsInstance { module: ModuleInstance(address.module.0[n..].to_vec()), ..address.clone() };
            if removed.from.contains(&inner) || matches!(&removed.from, Target::Resource(r) if *r == inner.abs()) {
                answer = Some((module, removed));
            }
        }
    }
    answer
}

fn forgets(resource: &Resource) -> bool {
    resource.lifecycle.destroy == Some(false)
}

/// Names the instance that diagnostics are about.
pub fn about(mut diags: lang::diag::Diagnostics, address: &AbsInstance) -> lang::diag::Diagnostics {
    for d in &mut diags.0 {
        d.address.get_or_insert_with(|| address.to_string());
    }
    diags
}

/// Whether two records hold the same, the order of dependencies and the provider's spelling aside.
fn same_record(new: &StateObject, old: &StateObject) -> bool {
    let attributes = |o: &StateObject| serde_json::from_str::<serde_json::Value>(&o.attributes).ok();
    new.schema_version == old.schema_version
        && new.private == old.private
        && new.tainted == old.tainted
        && new.create_before_destroy == old.create_before_destroy
        && new.dependencies == old.dependencies
        && new.sensitive == old.sensitive
        && new.provider == old.provider
        && (new.attributes == old.attributes || attributes(new) == attributes(old))
}

fn wrong_key(expansion: &Expansion, key: &InstanceKey) -> Reason {
    match (expansion, key) {
        (Expansion::Disabled, _) => Reason::DeleteBecauseEnabledFalse,
        (Expansion::Count(_), InstanceKey::Int(_)) => Reason::DeleteBecauseCountIndex,
        (Expansion::Each(_), InstanceKey::Str(_)) => Reason::DeleteBecauseEachKey,
        _ => Reason::DeleteBecauseWrongRepetition,
    }
}

/// The value of a resource from those of its instances; what is missing is unknown.
pub fn assemble(expansion: &Expansion, values: &HashMap<InstanceKey, Value>, schema: &Schema) -> Value {
    let unknown = || Value::unknown(schema.block.implied_type());
    let get = |key: InstanceKey| values.get(&key).cloned().unwrap_or_else(unknown);
    match expansion {
        Expansion::Single => get(InstanceKey::None),
        Expansion::Disabled => Value::null(schema.block.implied_type()),
        Expansion::Count(n) => Value::tuple((0..*n).map(|i| get(InstanceKey::Int(i))).collect()),
        Expansion::Each(items) => Value::object(items.iter().map(|(k, _)| (k.clone(), get(InstanceKey::Str(k.clone()))))),
        Expansion::Unknown { .. } => Value::dynamic(),
    }
}

/// `ignore_changes` as paths of values.
pub fn ignore(changes: &IgnoreChanges) -> Ignore {
    match changes {
        IgnoreChanges::None => Ignore::Nothing,
        IgnoreChanges::All => Ignore::All,
        IgnoreChanges::Paths(all) => Ignore::Paths(
            all.iter()
                .map(|t| {
                    let mut path = Path::root().attr(t.root.clone());
                    for step in &t.steps {
                        path.push(match &step.kind {
                            StepKind::Attr(name) => PathStep::Attr(name.clone()),
                            StepKind::Index(key) => PathStep::Index(key.clone()),
                        });
                    }
                    path
                })
                .collect(),
        ),
    }
}

/// An object of which every attribute is unknown: what a data source was before it was ever read.
fn unknown_object(block: &cty::schema::Block) -> Value {
    let ty = block.implied_type();
    match ty.as_object() {
        Some(object) => Value::object(object.attributes.iter().map(|(n, t)| (n.clone(), Value::unknown(t.clone())))),
        None => Value::unknown(ty),
    }
}

/// What a `replace_triggered_by` expression names: a resource, perhaps one instance, perhaps a path in it. Index keys may
/// use `each` and `count`.
fn trigger(scope: &ModuleScope<'_>, expr: &Expr) -> Option<(AbsResource, Option<InstanceKey>, Path)> {
    use lang::syntax::ast::ExprKind;
    let (traversal, keyed, rest) = match &expr.kind {
        ExprKind::Traversal(t) => (t.clone(), None, Vec::new()),
        ExprKind::Index { source, key, .. } => match &source.kind {
            ExprKind::Traversal(t) => (t.clone(), Some(key.as_ref()), Vec::new()),
            _ => return None,
        },
        ExprKind::RelativeTraversal { source, steps } => match &source.kind {
            ExprKind::Index { source, key, .. } => match &source.kind {
                ExprKind::Traversal(t) => (t.clone(), Some(key.as_ref()), steps.clone()),
                _ => return None,
            },
            _ => return None,
        },
        _ => return None,
    };
    let Ok(Ref::Resource { resource, used, key }) = refs::parse(&traversal) else { return None };
    let mut key = key;
    if let Some(expr) = keyed {
        let value = scope.evaluate(expr).0.unmark_deep().0;
        key = match (value.as_str(), value.as_number()) {
            (Some(text), _) => Some(InstanceKey::Str(text.into())),
            (None, Some(n)) => Some(InstanceKey::Int(n.to_u64()?)),
            _ => return None,
        };
    }
    let mut path = Path::root();
    for step in traversal.steps[used..].iter().chain(&rest) {
        path.push(match &step.kind {
            StepKind::Attr(name) => PathStep::Attr(name.clone()),
            StepKind::Index(value) => PathStep::Index(value.clone()),
        });
    }
    Some((AbsResource { module: scope.instance.clone(), resource }, key, path))
}
