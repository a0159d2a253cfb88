//! The planning walk over resources: each instance read, validated and planned by its provider;
//! what is no longer declared is found. Instances are worked out on all cores, each to a part of
//! its resource's cell.

mod data;
mod force;
mod gone;
mod look;
mod provision;

pub use data::unknown_object;
pub use force::no_guard;
use gone::{forget_data, forgets, wrong_key};
pub use gone::{removed, repetition};
use look::same_record;

use super::cell::Cell;
use super::change::{Change, Drift, Importing};
use super::choose::Chosen;
use super::conditions::{self, Kind, Status};
use super::expand::{self, Meta};
use super::ignore::Ignore;
use super::import::{self, Wanted};
use super::managed::{self, NoPlan, Planned, Prior, Question, Reason};
use super::narrow::Narrow;
use super::needs::{self, Needs};
use super::nodes::Node;
use super::objects::{self, Around, Unusable};
use super::prior::{Objects, PriorState};
use super::scope::{ModuleScope, Phase};
use super::values::{Expansion, Repetition, Worked};
use super::walk::Walk;
use crate::engine::calls::CallContext;
use crate::engine::graph::{Step, side_by_side};
use crate::engine::provider::{Provider, ReadRequest};
use crate::engine::store::model::{StateEdit, StateObject};
use crate::engine::words::{Action, CommandView, ConfigKey, StageMode};
use crate::engine::workspace::provider_addr::{self, Route};
use crate::engine::workspace::refs::{self, Ref};
use cty::schema::Schema;
use cty::{Path, PathStep, Value};
use lang::addr::{
    AbsInstance, AbsResource, ConfigResource, InstanceKey, Mode, ModuleInstance, Target,
};
use lang::config::{IgnoreChanges, Module, Resource};
use lang::diag::Diagnostic;
use lang::syntax::ast::{Expr, StepKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What is asked of the planning walk besides the configuration.
pub struct Wishes {
    pub mode: StageMode,
    pub refresh: bool,
    pub replace: Vec<AbsInstance>,
    /// What targets and excludes leave; `None` where all of it is staged.
    pub narrow: Option<Narrow>,
    pub parallelism: usize,
}

impl Wishes {
    /// Whether a node is worked out; where it is not, what the state has stays.
    pub fn works_out(&self, step: Step) -> bool {
        self.narrow.as_ref().is_none_or(|n| n.works_out(step))
    }

    /// Whether an instance is to be planned.
    pub fn wants(&self, instance: &AbsInstance) -> bool {
        self.narrow.as_ref().is_none_or(|n| n.plans(instance))
    }

    /// Whether an object that is there no longer by the configuration goes: an instance's only one,
    /// or a left-over one.
    fn clears(&self, instance: &AbsInstance, deposed: bool) -> bool {
        self.narrow.as_ref().is_none_or(|n| match self.mode {
            StageMode::Destroy => n.destroys(instance),
            _ if deposed => n.clears(instance),
            _ => n.plans(instance),
        })
    }

    /// Whether all of the state is to be destroyed, or this instance of it.
    fn destroys(&self, instance: &AbsInstance) -> bool {
        self.mode == StageMode::Destroy && self.narrow.as_ref().is_none_or(|n| n.destroys(instance))
    }
}

/// The planning walk.
pub struct PlanWalk {
    pub walk: Walk,
    pub prior: PriorState,
    pub wishes: Wishes,
    /// Resources that are created before the old object is destroyed: declared, or needed by one
    /// that is.
    pub create_first: HashSet<ConfigResource>,
    /// What nodes and instances need, as far as they were looked at.
    pub needs: needs::Known,
    /// Called after each instance with its address.
    pub progress: Box<dyn Fn(&str) + Send + Sync>,
}

/// A resource as declared, with all that its instances share.
struct Shared<'a> {
    step: Step,
    resource: &'a Resource,
    module: &'a Module,
    route: Route<'a>,
    schema: &'a Schema,
    create_first: bool,
    /// Whether the provider wants to be asked about destroys.
    plan_destroy: bool,
    worked_out: Arc<WorkedOut>,
}

/// What of it is worked out once, however many instances there are: each is a task of its own, and
/// borrows the rest anew.
struct WorkedOut {
    dependencies: BTreeSet<String>,
    ignore: Ignore,
    /// What is to be imported into it.
    imports: BTreeMap<AbsInstance, Wanted>,
}

impl std::ops::Deref for Shared<'_> {
    type Target = WorkedOut;

    fn deref(&self) -> &WorkedOut {
        &self.worked_out
    }
}

/// One instance of it, with the provider configuration that is its own.
struct Declared<'a> {
    shared: &'a Shared<'a>,
    key: ConfigKey,
    provider: Arc<dyn Provider>,
}

impl<'a> std::ops::Deref for Declared<'a> {
    type Target = Shared<'a>;

    fn deref(&self) -> &Shared<'a> {
        self.shared
    }
}

impl PlanWalk {
    /// Finds what instances need.
    pub fn needing(&self) -> needs::Needing<'_> {
        needs::Needing {
            around: &self.walk.around,
            known: &self.needs,
        }
    }

    /// Works out one node.
    pub async fn run(self: &Arc<Self>, step: Step) -> Cell {
        let node = &self.walk.nodes.nodes[step];
        if let Some(cell) = self.walk.common(node).await {
            return cell;
        }
        match node {
            Node::Resource(resource) if resource.resource.mode == Mode::Ephemeral => {
                self.walk
                    .open(step, resource, &|instance| self.when(step, instance))
                    .await
            }
            Node::Resource(resource) => self.resource(step, resource).await,
            Node::Orphan(resource) => self.orphans(resource).await,
            _ => Cell::default(),
        }
    }

    async fn resource(self: &Arc<Self>, step: Step, address: &ConfigResource) -> Cell {
        let mut cell = Cell::default();
        let imports = match self.wishes.mode {
            StageMode::Normal => self.imports(address, &mut cell),
            _ => Some(BTreeMap::new()),
        };
        let Some(shared) = imports.and_then(|imports| self.shared(step, address, imports)) else {
            return cell.ended(false);
        };
        let mut good = true;
        let mut seen: HashSet<AbsResource> = HashSet::new();
        for module_instance in self.walk.around.values.instances(&address.module).iter() {
            let abs = AbsResource {
                module: module_instance.clone(),
                resource: address.resource.clone(),
            };
            seen.insert(abs.clone());
            good &= self.expanded(&shared, &abs, &mut cell).await;
        }
        good = good && self.imports_without_configuration(&shared.imports, &mut cell);
        // Objects in module instances that are there no longer.
        for (abs, instances) in self.prior.of_config(address) {
            if !seen.contains(abs) {
                for (instance_key, there) in instances {
                    let address = abs.instance(instance_key.clone());
                    good &= self
                        .undeclared(
                            &shared,
                            &address,
                            there,
                            Reason::DeleteBecauseNoModule,
                            &mut cell,
                        )
                        .await;
                }
            }
        }
        cell.ended(good)
    }

    /// What all instances of a declared resource share; `None` where its provider has no such type.
    fn shared(
        &self,
        step: Step,
        address: &ConfigResource,
        imports: BTreeMap<AbsInstance, Wanted>,
    ) -> Option<Shared<'_>> {
        let resource = self
            .walk
            .module(&address.module)?
            .resources
            .get(&address.resource)?;
        let worked_out = WorkedOut {
            dependencies: self
                .walk
                .nodes
                .dependencies(step)
                .iter()
                .map(ToString::to_string)
                .collect(),
            ignore: ignore(&resource.lifecycle.ignore_changes),
            imports,
        };
        self.sharing(step, address, Arc::new(worked_out))
    }

    fn sharing(
        &self,
        step: Step,
        address: &ConfigResource,
        worked_out: Arc<WorkedOut>,
    ) -> Option<Shared<'_>> {
        let module = self.walk.module(&address.module)?;
        let resource = module.resources.get(&address.resource)?;
        let route = provider_addr::route_of(&self.walk.around.root, module, resource);
        let key = &route.block;
        Some(Shared {
            step,
            resource,
            module,
            schema: self.walk.around.schema(&key.address, &address.resource)?,
            create_first: self.create_first.contains(address),
            plan_destroy: self
                .walk
                .around
                .schemas
                .get(&key.address)
                .is_some_and(|s| s.capabilities.plan_destroy),
            route,
            worked_out,
        })
    }

    /// All instances of a resource in one module instance.
    async fn expanded(
        self: &Arc<Self>,
        shared: &Shared<'_>,
        abs: &AbsResource,
        cell: &mut Cell,
    ) -> bool {
        let resource = shared.resource;
        let scope = ModuleScope::new(&self.walk.around, shared.module, &abs.module);
        let meta = Meta {
            count: resource.count.as_ref(),
            for_each: resource.for_each.as_ref(),
            enabled: resource.lifecycle.enabled.as_ref(),
        };
        let (expansion, diags) = expand::expand(&scope, meta);
        if !cell.report(diags) {
            return false;
        }
        let Some(expansion) = expansion else {
            return false;
        };
        let instances = expansion.instances();
        let keys: BTreeSet<InstanceKey> = instances.iter().map(|(k, _)| k.clone()).collect();
        cell.expansions.insert(abs.clone(), keys.clone());
        let work = instances.into_iter().map(|(key, repetition)| {
            let (this, step, worked_out, address) = (
                self.clone(),
                shared.step,
                shared.worked_out.clone(),
                abs.instance(key.clone()),
            );
            async move {
                let mut part = Cell::default();
                let value = match this.sharing(step, &address.config(), worked_out) {
                    Some(shared) => {
                        this.instance(&shared, &address, repetition, &mut part)
                            .await
                    }
                    None => Err(()),
                };
                (this.progress)(&address.to_string());
                (key, value, part)
            }
        });
        let mut good = true;
        let mut values: HashMap<InstanceKey, Value> = HashMap::new();
        for (key, value, part) in side_by_side(self.wishes.parallelism, work).await {
            cell.append(part);
            good &= value.is_ok();
            values.extend(value.ok().map(|value| (key, value)));
        }
        cell.values.push(Worked::Resource(
            abs.clone(),
            assemble(&expansion, &values, shared.schema),
        ));
        if let Some(there) = self.prior.resources.get(abs) {
            for (key, objects) in there {
                let address = abs.instance(key.clone());
                if !keys.contains(key) {
                    good &= self
                        .undeclared(shared, &address, objects, wrong_key(&expansion, key), cell)
                        .await;
                } else {
                    good &= self.deposed(&going(shared), &address, objects, cell).await;
                }
            }
        }
        good
    }

    /// One instance; answers what references to it see.
    async fn instance(
        &self,
        shared: &Shared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        if !self.wishes.wants(address) && !self.wishes.destroys(address) {
            return self.as_it_is(shared, address, cell).await;
        }
        let there = self.prior.objects(address).and_then(|o| o.current.as_ref());
        let chosen: Option<Chosen> = match there {
            // What is only to go is asked of whom it came from.
            Some(object)
                if self.wishes.mode == StageMode::Destroy
                    && !self.wishes.refresh
                    && shared.route.by.is_some() =>
            {
                self.walk
                    .choose_by_record(&shared.route.block, address, object, cell)
            }
            _ => self.walk.choose(&shared.route, address, &repetition, cell),
        };
        let (key, provider) = chosen.ok_or(())?;
        let declared = &Declared {
            shared,
            key,
            provider,
        };
        match shared.resource.name.mode {
            Mode::Data => self.data(declared, address, repetition, cell).await,
            _ => self.managed(declared, address, repetition, cell).await,
        }
    }

    /// An instance outside of what is staged: it stays what it is.
    async fn as_it_is(
        &self,
        shared: &Shared<'_>,
        address: &AbsInstance,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        let unknown = || Value::unknown(shared.schema.implied_type().clone());
        let there = self.prior.objects(address).and_then(|o| o.current.as_ref());
        let Some(object) = there.filter(|_| address.resource.mode == Mode::Managed) else {
            return Ok(unknown());
        };
        let key = &shared.route.block;
        let ctx = self
            .walk
            .context_of(&key.address, address, cell)
            .ok_or(())?;
        // Making a record fit for the schema of now takes no configuration.
        let provider = match self.walk.providers.plain(&key.address, &ctx).await {
            Ok(provider) => provider,
            Err(error) => {
                cell.report_call(&error, &address.to_string(), Some(shared.resource.span));
                return Err(());
            }
        };
        Ok(self
            .load(
                &going(shared).by((key.clone(), provider)),
                address,
                object,
                &ctx,
                cell,
            )
            .await?
            .value)
    }

    /// An object of a resource that is declared, without an instance for it.
    async fn undeclared(
        &self,
        shared: &Shared<'_>,
        address: &AbsInstance,
        there: &Objects,
        reason: Reason,
        cell: &mut Cell,
    ) -> bool {
        self.gone(&going(shared), address, there, reason, cell)
            .await
    }

    async fn managed(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        let there = self.prior.objects(address).cloned().unwrap_or_default();
        let ctx = self
            .walk
            .context_of(&declared.key.address, address, cell)
            .ok_or(())?;
        let ty = declared.schema.implied_type().clone();
        let mut looked = self
            .look(&declared_gone(declared), address, &there, &ctx, cell)
            .await?;
        if there.current.is_none() {
            self.import(declared, address, &mut looked, &ctx, cell)
                .await?;
        }
        if self.wishes.mode == StageMode::RefreshOnly
            || self.wishes.mode == StageMode::Destroy && !self.wishes.destroys(address)
        {
            self.keep_refreshed(declared, address, &looked, None, cell);
            // One that is not there is not known either, as nothing is planned for it.
            return Ok(looked.now.map_or_else(|| Value::unknown(ty), |p| p.value));
        }
        let scope = ModuleScope {
            own: Some(&declared.resource.name),
            ..ModuleScope::new(&self.walk.around, declared.module, &address.module)
        }
        .repeated(repetition);
        if self.wishes.mode == StageMode::Destroy {
            let value = looked.now.as_ref().map(|p| p.value.clone());
            if looked.now.is_some() {
                self.prevented(
                    declared.module,
                    declared.resource,
                    address,
                    !forgets(declared.resource),
                    cell,
                )?;
            }
            let forget = forgets(declared.resource);
            let reason = forget.then_some(Reason::ForgotBecauseLifecycleDestroyInConfig);
            self.destroy(
                &declared_gone(declared),
                address,
                None,
                &there,
                looked,
                reason,
                forget,
                cell,
            )
            .await?;
            return Ok(value.unwrap_or_else(|| Value::unknown(ty)));
        }
        self.conditions(
            declared,
            &scope,
            &declared.resource.lifecycle.preconditions,
            Kind::Precondition,
            cell,
        )?;
        let (config, diags) =
            self.walk
                .decode(&declared.resource.body, &declared.schema.block, &scope);
        let diags = about(diags, address);
        if !cell.report(diags) {
            return Err(());
        }
        let config = config.sharing_type(declared.schema.implied_type());
        self.nothing_ephemeral(declared, address, &config, cell)?;
        self.validate(declared, address, &config, &ctx, cell)
            .await?;
        let force = self.force(declared, &scope, address, cell)?;
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
                no_plan(declared, address, error, cell);
                return Err(());
            }
        };
        cell.report_provider(
            &planned.warnings,
            &address.to_string(),
            Some(&declared.resource.body),
            Some(declared.resource.span),
        );
        let destroys = planned.action.destroys() && !forgets(declared.resource);
        self.prevented(declared.module, declared.resource, address, destroys, cell)?;
        let mut commands = Vec::new();
        if planned.action == Action::Replace
            && !forgets(declared.resource)
            && planned.reason != Some(Reason::ReplaceBecauseTainted)
        {
            commands = self.destruction_runs(address, &planned.before, cell)?;
        }
        commands.extend(self.creation_runs(declared, &scope, &planned, cell)?);
        let after = planned.after.clone();
        let needs = self.needing().of_instance(
            declared.module,
            declared.resource,
            address,
            scope.repetition.clone(),
        );
        let now = (planned.action == Action::NoOp).then_some((&declared.dependencies, &needs));
        self.keep_refreshed(declared, address, &looked, now, cell);
        cell.changes.push(planned_change(
            declared, address, &there, looked, planned, config, needs, commands,
        ));
        let scope = ModuleScope {
            self_value: Some(after.clone()),
            own: None,
            ..scope
        };
        self.conditions(
            declared,
            &scope,
            &declared.resource.lifecycle.postconditions,
            Kind::Postcondition,
            cell,
        )?;
        Ok(after)
    }

    /// Looks at the object that an import block names for an instance which the state does not
    /// have.
    async fn import(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        looked: &mut Looked,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        // An empty id stands for nothing to import: the object is created.
        let Some(wanted) = declared.imports.get(address) else {
            return Ok(());
        };
        let Some(by) = wanted.by() else { return Ok(()) };
        match import::fetch(
            declared.provider.as_ref(),
            declared.schema,
            address,
            wanted,
            ctx,
        )
        .await
        {
            Err(diags) => {
                cell.report(diags);
                Err(())
            }
            Ok((prior, diags)) => {
                cell.report(diags);
                looked.now = Some(prior);
                looked.imported = Some(by);
                Ok(())
            }
        }
    }

    fn nothing_ephemeral(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        config: &Value,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let faults = super::validate::ephemeral_faults(&declared.schema.block, config);
        let (body, span) = (Some(&declared.resource.body), Some(declared.resource.span));
        if cell.report_provider(&faults, &address.to_string(), body, span) {
            Ok(())
        } else {
            Err(())
        }
    }

    async fn validate(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        config: &Value,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let plain = config.clone().unmark_deep().0;
        let kind = &declared.resource.name.kind;
        let answer = match declared.resource.name.mode {
            Mode::Data => declared.provider.validate_data(kind, plain, ctx).await,
            _ => declared.provider.validate_resource(kind, plain, ctx).await,
        };
        match answer {
            Err(error) => {
                cell.report_call(&error, &address.to_string(), Some(declared.resource.span));
                Err(())
            }
            Ok(answer) => {
                let good = cell.report_provider(
                    &answer.diagnostics,
                    &address.to_string(),
                    Some(&declared.resource.body),
                    Some(declared.resource.span),
                );
                if good { Ok(()) } else { Err(()) }
            }
        }
    }

    fn conditions(
        &self,
        declared: &Declared<'_>,
        scope: &ModuleScope<'_>,
        all: &[lang::config::Condition],
        kind: Kind,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let object = self
            .walk
            .object(&declared.module.path, &declared.resource.name.to_string());
        let mut good = true;
        // What is to go need not fulfil anything.
        for condition in all
            .iter()
            .filter(|_| self.wishes.mode != StageMode::Destroy)
        {
            let (status, diags) = conditions::check(scope, condition, kind);
            if self.walk.around.phase != Phase::Validate {
                cell.statuses.note(&object, status);
            }
            good &= cell.report(diags) && !matches!(status, Status::Fail | Status::Error);
        }
        if good { Ok(()) } else { Err(()) }
    }
}

fn no_plan(declared: &Declared<'_>, address: &AbsInstance, error: NoPlan, cell: &mut Cell) {
    let span = Some(declared.resource.span);
    match error {
        NoPlan::Call(error) => cell.report_call(&error, &address.to_string(), span),
        NoPlan::Refused(said) => cell.report_provider(
            &said,
            &address.to_string(),
            Some(&declared.resource.body),
            span,
        ),
    };
}

fn planned_change(
    declared: &Declared<'_>,
    address: &AbsInstance,
    there: &Objects,
    looked: Looked,
    planned: Planned,
    config: Value,
    needs: Needs,
    commands: Vec<CommandView>,
) -> Change {
    Change {
        address: address.clone(),
        deposed: None,
        previous: there.previous.clone(),
        provider: declared.key.clone(),
        action: planned.action,
        reason: planned.reason,
        before: planned.before,
        after: planned.after,
        config: keepable(declared.schema, config),
        private: planned.private.to_vec(),
        prior_private: looked
            .now
            .as_ref()
            .map(|p| p.private.to_vec())
            .unwrap_or_default(),
        replace_paths: planned.replace_paths,
        schema_version: declared.schema.version,
        dependencies: declared.dependencies.clone(),
        prior_dependencies: there
            .current
            .iter()
            .flat_map(|o| o.dependencies.iter().cloned())
            .collect(),
        needs,
        prior_needs: there
            .current
            .as_ref()
            .map_or_else(|| Some(Needs::new()), objects::recorded_needs),
        create_before_destroy: declared.create_first,
        skip_destroy: forgets(declared.resource),
        tainted: there.current.as_ref().is_some_and(|o| o.tainted),
        identity_before: looked.now.as_ref().and_then(|p| p.identity.clone()),
        identity_after: planned.identity,
        importing: looked.imported,
        drifted: looked.drifted,
        deferred_read: false,
        commands,
    }
}

/// What is needed to look at objects and to destroy them, whether they are declared or not; but for
/// whom to ask.
#[derive(Clone)]
struct Going<'a> {
    /// The provider block, and whether it is for the state to say which of its instances an object
    /// belongs to.
    block: ConfigKey,
    by_record: bool,
    schema: &'a Schema,
    plan_destroy: bool,
    /// Whether its `lifecycle` says that objects are forgotten and not destroyed; what the state
    /// says where it is not declared.
    forgets: Option<bool>,
    span: Option<lang::source::Span>,
}

/// The same for one object.
struct Gone<'a> {
    going: Going<'a>,
    key: ConfigKey,
    provider: Arc<dyn Provider>,
}

impl<'a> std::ops::Deref for Gone<'a> {
    type Target = Going<'a>;

    fn deref(&self) -> &Going<'a> {
        &self.going
    }
}

impl<'a> Going<'a> {
    fn by(self, (key, provider): Chosen) -> Gone<'a> {
        Gone {
            going: self,
            key,
            provider,
        }
    }

    /// Why an object is forgotten where it would be destroyed; `None` where it is destroyed.
    fn forgotten(&self, object: &StateObject) -> Option<Reason> {
        match self.forgets {
            Some(declared) => declared.then_some(Reason::ForgotBecauseLifecycleDestroyInConfig),
            None => object
                .skip_destroy
                .then_some(Reason::ForgotBecauseLifecycleDestroyInState),
        }
    }
}

fn declared_gone<'a>(declared: &Declared<'a>) -> Gone<'a> {
    going(declared.shared).by((declared.key.clone(), declared.provider.clone()))
}

fn going<'a>(shared: &Shared<'a>) -> Going<'a> {
    Going {
        block: shared.route.block.clone(),
        by_record: shared.route.by.is_some(),
        schema: shared.schema,
        plan_destroy: shared.plan_destroy,
        forgets: Some(forgets(shared.resource)),
        span: Some(shared.resource.span),
    }
}

/// An object's record and what it is now.
#[derive(Default)]
struct Looked {
    now: Option<Prior>,
    object: Option<StateObject>,
    drifted: bool,
    /// How it is imported.
    imported: Option<Importing>,
}

/// Names the instance that diagnostics are about.
pub fn about(mut diags: lang::diag::Diagnostics, address: &AbsInstance) -> lang::diag::Diagnostics {
    for d in &mut diags.0 {
        d.address.get_or_insert_with(|| address.to_string());
    }
    diags
}

/// The value of a resource from those of its instances; what is missing is unknown.
pub fn assemble(
    expansion: &Expansion,
    values: &HashMap<InstanceKey, Value>,
    schema: &Schema,
) -> Value {
    let unknown = || Value::unknown(schema.implied_type().clone());
    let get = |key: InstanceKey| values.get(&key).cloned().unwrap_or_else(unknown);
    match expansion {
        Expansion::Single => get(InstanceKey::None),
        Expansion::Disabled => Value::null(schema.implied_type().clone()),
        Expansion::Count(n) => Value::tuple((0..*n).map(|i| get(InstanceKey::Int(i))).collect()),
        Expansion::Each(items) => Value::object(
            items
                .iter()
                .map(|(k, _)| (k.clone(), get(InstanceKey::Str(k.clone())))),
        ),
        Expansion::Unknown { .. } => Value::dynamic(),
    }
}

/// The configured object as far as it may be kept with the stage: not at all where it has a
/// write-only value in it, which is nobody's to keep. A deploy then has it validated again.
fn keepable(schema: &Schema, config: Value) -> Option<Value> {
    let plain = config.clone().unmark_deep().0;
    let written = schema
        .block
        .write_only_paths(&plain)
        .iter()
        .any(|p| p.apply(&plain).is_ok_and(|v| !v.is_null()));
    (!written).then_some(config)
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

#[cfg(test)]
mod tests {
    use super::*;
    use cty::schema::{Attribute, Block};

    #[test]
    fn a_configuration_with_a_write_only_value_is_not_kept() {
        let attribute = |write_only| Attribute {
            write_only,
            ..Attribute::optional(cty::Type::String)
        };
        let block = Block {
            attributes: [
                ("name".into(), attribute(false)),
                ("note".into(), attribute(true)),
            ]
            .into(),
            ..Block::default()
        };
        let schema = Schema::new(0, block);
        let config = |note: Value| Value::object([("name", Value::string("a")), ("note", note)]);
        assert!(keepable(&schema, config(Value::string("hush"))).is_none());
        assert!(keepable(&schema, config(Value::null(cty::Type::String))).is_some());
    }
}
