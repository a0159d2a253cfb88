//! Plans data sources: reads them now if possible, otherwise defers them to the deploy.

use super::checks::InstanceChecks;
use super::instance::Declared;
use super::options::PlanOptions;
use super::read_object::same_record;
use super::removal::forget_data;
use crate::stage::cell::Cell;
use crate::stage::change::{Act, Change, Object, Recorded};
use crate::stage::ephemeral::OpenTime;
use crate::stage::managed::{self, Reason};
use crate::stage::needs::Needing;
use crate::stage::objects::{self, RecordContext};
use crate::stage::prior::PriorState;
use crate::stage::scope::ModuleScope;
use crate::stage::values::Repetition;
use crate::stage::walk::{Walk, call_failed, placed};
use calls::CallContext;
use cty::Value;
use graph::Step;
use lang::addr::{AbsInstance, Mode};
use lang::config::{Module, Resource};
use lang::diag::Diagnostics;
use model::{Action, ObjectPhase, ObjectWork, StageMode};
use std::collections::BTreeSet;
use store::records::StateEdit;

/// Data sources of a plan, and the time to open ephemeral resources.
#[derive(Clone, Copy)]
pub(super) struct DataSources<'a> {
    pub(super) walk: &'a Walk,
    pub(super) prior: &'a PriorState,
    pub(super) options: &'a PlanOptions,
    pub(super) needs: Needing<'a>,
    pub(super) checks: InstanceChecks<'a>,
}

impl DataSources<'_> {
    /// Plans a data source: reads it now if possible, otherwise defers it to the deploy.
    pub(super) async fn plan(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        repetition: Repetition,
        cell: &mut Cell,
    ) -> Result<Value, ()> {
        let block = &declared.schema.block;
        if !self.options.plans(address) {
            // Outside of the targets nothing is read, and dependents see an unknown value.
            return Ok(Value::unknown(block.implied_type()));
        }
        let ctx = self
            .walk
            .context_of(&declared.key.address, address, cell)
            .ok_or(())?;
        let scope = ModuleScope {
            own_resource: Some(&declared.resource.name),
            ..ModuleScope::new(&self.walk.context, declared.module, &address.module)
        }
        .with_repetition(repetition);
        let (config, ctx) = self
            .checks
            .configured(declared, address, &scope, &ctx, cell)
            .await?;
        let (plain, marks) = config.unmark_deep_with_paths();
        // Only normal stages have changes that a read could have to wait for.
        let pending = self.options.mode == StageMode::Normal
            && self.pending(declared.step, declared.module, declared.resource, address);
        let later = if !plain.is_wholly_known() {
            Some(Reason::ReadBecauseConfigUnknown)
        } else if pending {
            Some(Reason::ReadBecauseDependencyPending)
        } else {
            None
        };
        let read = match later {
            Some(_) => None,
            None => {
                self.read_now(declared, address, plain.clone(), &ctx, cell)
                    .await?
            }
        };
        let was_read = read.is_some();
        let unread = || cty::plan::proposed_new(block, &unknown_object(block), &plain);
        let value = read.unwrap_or_else(unread);
        // The data source of a check is read again by the deploy, after the changes.
        let nested = declared.resource.check.is_some() && self.options.mode == StageMode::Normal;
        let later = later.or_else(|| nested.then_some(Reason::ReadBecauseCheckNested));
        let value = managed::mark(declared.schema, value, &marks);
        if was_read {
            let work = ObjectWork::Apply(Action::Read);
            self.walk
                .report_step(address, work, ObjectPhase::Ended, Some(&value));
        }
        self.needs.cache_data(address);
        match later {
            // A destroy removes its state record, because nothing depends on it any more.
            _ if self.options.destroys(address) => {
                if let Some(there) = self.prior.objects(address) {
                    forget_data(there, cell);
                }
            }
            Some(_) if self.options.mode == StageMode::Destroy => {}
            Some(reason) => {
                let change = self.read_with_deploy(declared, address, &scope, reason, &value);
                cell.changes.push(change);
            }
            None => self.record_data(declared, address, &value, cell),
        }
        self.checks
            .postconditions(declared, scope, value.clone(), cell)?;
        Ok(value)
    }

    /// Reads a data source; `None` if that failed and its check reports it.
    async fn read_now(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        config: Value,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<Option<Value>, ()> {
        let work = ObjectWork::Apply(Action::Read);
        self.walk
            .report_step(address, work, ObjectPhase::Begun, None);
        let read = self.read_data(declared, address, config, ctx, cell).await;
        match (read, &declared.resource.check) {
            (Ok(value), _) => Ok(Some(value)),
            (Err(said), Some(check)) => {
                self.walk.report_of_check(check, address, said, cell);
                Ok(None)
            }
            (Err(said), None) => {
                cell.report(said);
                Err(())
            }
        }
    }

    fn read_with_deploy(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        scope: &ModuleScope<'_>,
        reason: Reason,
        value: &Value,
    ) -> Change {
        Change {
            address: address.clone(),
            deposed: None,
            previous: None,
            provider: declared.key.clone(),
            act: Act::Read,
            reason: Some(reason),
            before: Object::from_value(Value::null(declared.schema.block.implied_type())),
            after: Object::from_value(value.clone()),
            schema_version: declared.schema.version,
            dependencies: declared.dependencies.clone(),
            needs: self.needs.of_instance(
                declared.module,
                declared.resource,
                address,
                scope.repetition.clone(),
            ),
            recorded: Recorded::unrecorded(),
            drifted: false,
        }
    }

    async fn read_data(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        config: Value,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<Value, Diagnostics> {
        let span = Some(declared.resource.span);
        match declared
            .provider
            .read_data(&declared.resource.name.kind, config, ctx)
            .await
        {
            Err(error) => Err(call_failed(&error, address, span).into()),
            Ok(answer) => {
                let said = placed(
                    &answer.diagnostics,
                    address,
                    Some(&declared.resource.body),
                    span,
                );
                if said.has_errors() {
                    return Err(said);
                }
                cell.report(said);
                Ok(answer.state)
            }
        }
    }

    fn record_data(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        value: &Value,
        cell: &mut Cell,
    ) {
        let none = BTreeSet::new();
        let around = RecordContext {
            address,
            deposed: "",
            provider: &declared.key,
            tainted: false,
            create_before_destroy: false,
            skip_destroy: false,
            dependencies: &none,
            needs: &none,
            identity: None,
        };
        // Data sources are no changes: their values enter the state with the stage's edits.
        if let Ok(new) = objects::record(&around, declared.schema, value, &[]) {
            let old = self.prior.objects(address).and_then(|o| o.current.as_ref());
            if old.is_none_or(|old| !same_record(&new, old)) {
                cell.edits.push(StateEdit::Put(Box::new(new)));
            }
        }
    }

    /// Returns the time to open an instance of an ephemeral resource. It waits for the same changes
    /// as a data source.
    pub(super) fn open_time(&self, step: Step, address: &AbsInstance) -> OpenTime {
        self.needs.cache_data(address);
        let config = address.config();
        let declared = self
            .walk
            .module(&config.module)
            .and_then(|m| Some((m, m.resources.get(&config.resource)?)));
        match declared {
            _ if self.options.mode != StageMode::Destroy && !self.options.plans(address) => {
                OpenTime::Never
            }
            Some((module, resource))
                if self.options.mode == StageMode::Normal
                    && self.pending(step, module, resource, address) =>
            {
                OpenTime::Later
            }
            _ => OpenTime::Now,
        }
    }

    /// Returns true if a dependency of the data source has a pending change: a referenced managed
    /// resource, a resource in `depends_on`, or a resource in a module named there or by an
    /// enclosing call. With conditions of its own, every transitive dependency counts.
    fn pending(
        &self,
        step: Step,
        module: &Module,
        resource: &Resource,
        address: &AbsInstance,
    ) -> bool {
        let (graph, nodes) = (&self.walk.nodes.graph, &self.walk.nodes);
        let lifecycle = &resource.lifecycle;
        let mut reached: BTreeSet<Step> =
            if lifecycle.preconditions.is_empty() && lifecycle.postconditions.is_empty() {
                let managed = |s: &Step| {
                    nodes.nodes[*s]
                        .resource()
                        .is_some_and(|r| r.resource.mode == Mode::Managed)
                };
                graph.needs(step).filter(managed).collect()
            } else {
                graph.closure(graph.needs(step))
            };
        let named = resource
            .depends_on
            .iter()
            .flat_map(|t| nodes.depends_on_nodes(module, t));
        // An entry that is not a resource stands for all resources behind it.
        let (resources, others): (Vec<Step>, Vec<Step>) =
            named.partition(|s| nodes.nodes[*s].resource().is_some());
        reached.extend(resources);
        reached.extend(graph.closure(others));
        let mut at = module.path.clone();
        while let Some((parent, call)) = at.parent().map(|(p, c)| (p, c.clone())) {
            if let Some(module) = self.walk.module(&parent)
                && let Some(call) = module.calls.get(&call)
            {
                reached.extend(
                    graph.closure(
                        call.depends_on
                            .iter()
                            .flat_map(|t| nodes.depends_on_nodes(module, t))
                            .collect::<Vec<_>>(),
                    ),
                );
            }
            at = parent;
        }
        // Changes in other instances of the same module do not affect it.
        let elsewhere = |c: &Change| {
            c.address.module != address.module && c.address.module.path() == module.path
        };
        // The destroy of a deposed object changes nothing that others refer to.
        let pending = |c: &Change| {
            let is_current = c.address.resource.mode == Mode::Managed && c.deposed.is_none();
            is_current && c.action() != Action::NoOp && !elsewhere(c)
        };
        reached
            .into_iter()
            .filter_map(|step| self.walk.cells.of(step))
            .any(|cell| cell.changes.iter().any(pending))
    }
}

/// Returns an object with all attributes unknown, for a data source that was not read yet.
pub fn unknown_object(block: &cty::schema::Block) -> Value {
    let ty = block.implied_type();
    match ty.as_object() {
        Some(object) => Value::object(
            object
                .attributes
                .iter()
                .map(|(n, t)| (n.clone(), Value::unknown(t.clone()))),
        ),
        None => Value::unknown(ty),
    }
}
