//! Plans a resource: expands it, plans each instance in its own task, and assembles the value.

use super::removal::wrong_key;
use super::removal_input::removal;
use super::walk::PlanWalk;
use crate::stage::cell::Cell;
use crate::stage::expand::{self, Meta};
use crate::stage::ignore::Ignore;
use crate::stage::import::{self, ImportTarget};
use crate::stage::managed::Reason;
use crate::stage::prior::Objects;
use crate::stage::scope::ModuleScope;
use crate::stage::values::{Expansion, PublishedValue};
use cty::schema::Schema;
use cty::{Path, PathStep, Value};
use graph::{Step, side_by_side};
use lang::addr::{AbsInstance, AbsResource, ConfigResource, InstanceKey};
use lang::config::{IgnoreChanges, Module, Resource};
use lang::syntax::ast::StepKind;
use model::StageMode;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use workspace::provider_addr::{self, Route};

/// Declared resource with the data shared by its instances.
pub(super) struct Shared<'a> {
    pub(super) step: Step,
    pub(super) resource: &'a Resource,
    pub(super) module: &'a Module,
    pub(super) route: Route<'a>,
    pub(super) schema: &'a Schema,
    pub(super) create_first: bool,
    /// True if the provider plans destroys.
    pub(super) plan_destroy: bool,
    data: Arc<ResourceData>,
}

/// Data computed once for all instances. Tasks share it and borrow the rest of [`Shared`] again.
pub(super) struct ResourceData {
    pub(super) dependencies: Arc<BTreeSet<String>>,
    pub(super) ignore: Ignore,
    /// Imports into the resource.
    pub(super) imports: BTreeMap<AbsInstance, ImportTarget>,
}

impl std::ops::Deref for Shared<'_> {
    type Target = ResourceData;

    fn deref(&self) -> &ResourceData {
        &self.data
    }
}

impl PlanWalk {
    pub(super) async fn resource(self: &Arc<Self>, step: Step, address: &ConfigResource) -> Cell {
        let mut cell = Cell::default();
        let imports = match self.options.mode {
            // Only a normal stage may add objects to the state.
            StageMode::Normal => import::imports(&self.walk.context, address, &mut cell),
            _ => Some(BTreeMap::new()),
        };
        let Some(shared) = imports.and_then(|imports| self.shared(step, address, imports)) else {
            return cell.failed_unless(false);
        };
        let mut good = true;
        let mut seen: HashSet<AbsResource> = HashSet::new();
        for module_instance in self.walk.context.values.instances(&address.module).iter() {
            let abs = AbsResource {
                module: module_instance.clone(),
                resource: address.resource.clone(),
            };
            seen.insert(abs.clone());
            good &= self.expanded(&shared, &abs, &mut cell).await;
        }
        // Only without other errors, because a failed expansion declares no instances.
        good = good && import::report_undeclared(&self.options, &shared.imports, &mut cell);
        // Objects in module instances that do not exist any more.
        for (abs, instances) in self.prior.of_config(address) {
            if !seen.contains(abs) {
                for (instance_key, there) in instances {
                    let address = abs.instance(instance_key.clone());
                    good &= self
                        .removals()
                        .plan(
                            &removal(&shared),
                            &address,
                            there,
                            Reason::DeleteBecauseNoModule,
                            &mut cell,
                        )
                        .await;
                }
            }
        }
        cell.failed_unless(good)
    }

    /// Plans the removal of the objects of a declared resource that a narrowed destroy selects by
    /// the state, although the resource itself is not evaluated.
    pub(super) async fn selected_by_state(&self, step: Step, address: &ConfigResource) -> Cell {
        let mut cell = Cell::default();
        let all = self.prior.of_config(address).flat_map(|(abs, i)| {
            i.iter()
                .map(|(key, there)| (abs.instance(key.clone()), there))
        });
        let all: Vec<(AbsInstance, &Objects)> = all
            .filter(|(instance, _)| self.options.destroys(instance))
            .collect();
        if all.is_empty() {
            return cell;
        }
        // A destroy imports nothing.
        let Some(shared) = self.shared(step, address, BTreeMap::new()) else {
            return cell.failed_unless(false);
        };
        let mut good = true;
        for (instance, there) in all {
            good &= self
                .removals()
                .plan(
                    &removal(&shared),
                    &instance,
                    there,
                    // Dropped by the removal: in destroy mode the mode itself is the reason.
                    Reason::DeleteBecauseNoResourceConfig,
                    &mut cell,
                )
                .await;
        }
        cell.failed_unless(good)
    }

    /// Builds the shared data of a declared resource; `None` if its provider has no such type.
    pub(super) fn shared(
        &self,
        step: Step,
        address: &ConfigResource,
        imports: BTreeMap<AbsInstance, ImportTarget>,
    ) -> Option<Shared<'_>> {
        let resource = self
            .walk
            .module(&address.module)?
            .resources
            .get(&address.resource)?;
        let worked_out = ResourceData {
            dependencies: self.walk.nodes.dependencies(step),
            ignore: ignore(&resource.lifecycle.ignore_changes),
            imports,
        };
        self.sharing(step, address, Arc::new(worked_out))
    }

    fn sharing(
        &self,
        step: Step,
        address: &ConfigResource,
        worked_out: Arc<ResourceData>,
    ) -> Option<Shared<'_>> {
        let module = self.walk.module(&address.module)?;
        let resource = module.resources.get(&address.resource)?;
        let route = provider_addr::route_of(&self.walk.context.root, module, resource);
        let key = &route.block;
        Some(Shared {
            step,
            resource,
            module,
            schema: self.walk.context.schema(&key.address, &address.resource)?,
            create_first: self.create_first.contains(address),
            plan_destroy: self
                .walk
                .context
                .schemas
                .get(&key.address)
                .is_some_and(|s| s.capabilities.plan_destroy),
            route,
            data: worked_out,
        })
    }

    /// Plans all instances of a resource in one module instance.
    async fn expanded(
        self: &Arc<Self>,
        shared: &Shared<'_>,
        abs: &AbsResource,
        cell: &mut Cell,
    ) -> bool {
        let resource = shared.resource;
        let scope = ModuleScope::new(&self.walk.context, shared.module, &abs.module);
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
        // The checks of moves, imports and targets read the declared keys from the cell.
        cell.expansions.insert(abs.clone(), keys.clone());
        let work = instances.into_iter().map(|(key, repetition)| {
            let (this, step, worked_out, address) = (
                self.clone(),
                shared.step,
                shared.data.clone(),
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
                (this.progress)(&address);
                (key, value, part)
            }
        });
        let mut good = true;
        let mut values: HashMap<InstanceKey, Value> = HashMap::new();
        // Results come back in instance order, so that diagnostics do not depend on timing.
        for (key, value, part) in side_by_side(self.options.parallelism, work).await {
            cell.append(part);
            good &= value.is_ok();
            values.extend(value.ok().map(|value| (key, value)));
        }
        cell.values.push(PublishedValue::Resource(
            abs.clone(),
            assemble(&expansion, &values, shared.schema),
        ));
        good & self.left_over(shared, abs, &expansion, &keys, cell).await
    }

    /// Plans the removal of the objects of a resource that no declared instance keeps.
    async fn left_over(
        &self,
        shared: &Shared<'_>,
        abs: &AbsResource,
        expansion: &Expansion,
        keys: &BTreeSet<InstanceKey>,
        cell: &mut Cell,
    ) -> bool {
        let (mut good, removals) = (true, self.removals());
        for (key, objects) in self.prior.resources.get(abs).into_iter().flatten() {
            let address = abs.instance(key.clone());
            let going = removal(shared);
            good &= match keys.contains(key) {
                // Declared instances are planned by their current object alone, so deposed ones
                // follow here.
                true => removals.deposed(&going, &address, objects, cell).await,
                false => {
                    let reason = wrong_key(expansion, key);
                    removals.plan(&going, &address, objects, reason, cell).await
                }
            };
        }
        good
    }
}

/// Assembles the value of a resource from its instances; missing ones are unknown.
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

/// Converts `ignore_changes` to value paths.
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
