//! Common part of validate, plan and apply walks: nodes without a resource's provider (variables,
//! locals, outputs, calls) and provider configurations. Owns the values of one walk and the results
//! of its nodes; a node reads published results and is evaluated to a [`Cell`].

mod decode;
mod object_steps;
mod provider_diagnostics;
mod variables;

use super::cell::{Cell, Cells};
use super::checked::At;
use super::conditions::{self, Kind, Status};
use super::ephemeral::Leases;
use super::expand::{self, Meta};
use super::nodes::{Node, Nodes};
use super::outlines::Outlines;
use super::scope::{ModuleScope, Phase, WalkContext, marked};
use super::values::{Extent, PublishedValue};
use async_trait::async_trait;
use calls::{CallContext, ProviderError};
use cty::Value;
use graph::Step;
use lang::addr::{AbsInstance, AbsResource, ModulePath};
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
use model::bus::EventSink;
use model::secrets::Secrets;
use model::{ConfigKey, short_provider};
use provider::Provider;
use provider::functions::Functions;
pub use provider_diagnostics::{call_failed, not_storable, placed};
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use workspace::provider_addr::{self};

/// Source of providers for a walk.
#[async_trait]
pub trait Providers: Send + Sync {
    /// Returns a process for calls without configuration: schema, validation, upgrades.
    async fn unconfigured(
        &self,
        address: &str,
        ctx: &CallContext,
    ) -> Result<Arc<dyn Provider>, ProviderError>;

    /// Returns the process of a provider configuration, and true if it already has exactly this
    /// configuration.
    async fn configured(
        &self,
        key: &ConfigKey,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<(Arc<dyn Provider>, bool), ProviderError>;

    /// Returns the functions of running providers.
    fn functions(&self) -> Functions;

    /// Returns the redaction; a walk adds all sensitive values that it evaluates.
    fn secrets(&self) -> &Secrets;

    /// Returns the receiver of events about objects.
    fn sink(&self) -> &dyn EventSink;
}

/// Walk over the nodes.
pub struct Walk {
    pub context: WalkContext,
    pub nodes: Nodes,
    pub providers: Arc<dyn Providers>,
    pub cancel: CancellationToken,
    /// Given values of root variables, converted.
    pub variables: HashMap<Arc<str>, (Value, Option<Span>)>,
    pub cells: Cells,
    /// Parsed bodies of resources.
    pub outlines: Outlines,
    /// Open ephemeral resources.
    pub leases: Leases,
    /// True in a destroy: checks and output conditions are not evaluated.
    pub destroying: bool,
    /// Final values of root outputs, which are not evaluated again.
    pub final_outputs: HashMap<Arc<str>, Value>,
}

impl Walk {
    /// Creates a walk.
    pub fn new(
        mut around: WalkContext,
        nodes: Nodes,
        providers: Arc<dyn Providers>,
        cancel: CancellationToken,
        given: HashMap<Arc<str>, (Value, Option<Span>)>,
    ) -> Self {
        around.unregistered = nodes.unregistered_functions().keys().copied().collect();
        Self {
            leases: Leases::new(cancel.clone()),
            context: around,
            nodes,
            providers,
            cancel,
            variables: given,
            cells: Cells::default(),
            outlines: Outlines::default(),
            destroying: false,
            final_outputs: HashMap::new(),
        }
    }

    /// Returns a module of the configuration.
    pub fn module(&self, path: &ModulePath) -> Option<&Module> {
        self.context.root.descendant(&path.0)
    }

    /// Publishes the result of a step. Returns true if the step succeeded.
    pub fn publish(&self, step: Step, cell: Cell) -> bool {
        self.publish_part(step, 0, cell)
    }

    /// Publishes the result of a step for some module instances.
    pub fn publish_part(&self, step: Step, part: usize, cell: Cell) -> bool {
        self.cells.publish((step, part), cell, &self.context)
    }

    /// Reports the diagnostics of a check's data source as warnings; an error fails the check.
    /// Returns true if there was no error.
    pub fn report_of_check(
        &self,
        check: &str,
        address: &AbsInstance,
        mut said: Diagnostics,
        cell: &mut Cell,
    ) -> bool {
        let failed = said.has_errors();
        if failed {
            let at = At::module(&address.module);
            let why = Some(said.joined());
            let check = format!("check.{check}");
            cell.statuses.record(&at.object(&check), Status::Fail);
            cell.checked
                .record_condition(&at, &check, Status::Fail, why);
            cell.failed_reads.push(address.abs());
        }
        said.0
            .iter_mut()
            .for_each(|d| d.severity = lang::diag::Severity::Warning);
        cell.report(said);
        !failed
    }

    /// Returns the call context of a resource instance.
    pub fn context(&self, resource: impl Into<Arc<str>>) -> CallContext {
        CallContext::for_resource(resource, &self.cancel)
    }

    /// Returns the call context of a resource instance, with `provider_meta` of its module; `None`
    /// after errors.
    pub fn context_of(
        &self,
        provider: &str,
        address: &AbsInstance,
        cell: &mut Cell,
    ) -> Option<CallContext> {
        let meta = self.meta(provider, address, cell)?;
        Some(CallContext {
            resource_type: Some(address.resource.kind.clone()),
            meta,
            ..self.context(address.to_string())
        })
    }

    /// Returns `provider_meta` of an instance's module, if any; the outer `None` means errors.
    pub fn meta(
        &self,
        provider: &str,
        address: &AbsInstance,
        cell: &mut Cell,
    ) -> Option<Option<Value>> {
        let module = self.module(&address.module.path());
        // `provider_meta` names the provider by its local name in the module.
        let told = module.and_then(|m| {
            Some((
                m,
                m.provider_metas
                    .iter()
                    .find(|p| *provider_addr::address_of(m, &p.name) == *provider)?,
            ))
        });
        let Some((module, told)) = told else {
            return Some(None);
        };
        let Some(schema) = self
            .context
            .schemas
            .get(provider)
            .and_then(|s| s.provider_meta.as_ref())
        else {
            let detail = format!(
                "{address} belongs to a provider that does not support provider_meta blocks. Remove the block."
            );
            let summary = format!(
                "Provider {} doesn't support provider_meta",
                short_provider(provider)
            );
            cell.report(Diagnostic::error(summary, detail).at(told.span));
            return None;
        };
        let scope = ModuleScope::new(&self.context, module, &address.module);
        let (value, diags) = self.decode(&told.body, &schema.block, &scope);
        cell.report(diags).then(|| Some(value.unmark_deep().0))
    }

    /// Evaluates a node that needs no resource's provider, in the module instances `within`; `None`
    /// for other nodes.
    pub async fn evaluate_common(&self, node: &Node, within: &Extent) -> Option<Cell> {
        let mut cell = Cell::default();
        let good = match node {
            Node::Variable(path, name) => self.variable((path, within), name, &mut cell),
            Node::Local(path, name) => self.local((path, within), name, &mut cell),
            Node::Output(path, name) => self.output((path, within), name, &mut cell),
            Node::Call(path, name) => self.call((path, within), name, &mut cell),
            Node::Provider(key) => self.provider_block(key, &mut cell).await,
            Node::Check(path, name) => self.check((path, within), name, &mut cell),
            Node::Resource(_) | Node::Orphan(_) => return None,
        };
        Some(cell.failed_unless(good))
    }

    fn local(
        &self,
        (path, within): (&ModulePath, &Extent),
        name: &Arc<str>,
        cell: &mut Cell,
    ) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(local) = module.locals.get(name) else {
            return true;
        };
        let mut good = true;
        for instance in self.context.values.instances_in(path, within).iter() {
            let (value, diags) =
                ModuleScope::new(&self.context, module, instance).evaluate(&local.expr);
            good &= cell.report(diags);
            self.providers.secrets().register(&value);
            cell.values
                .push(PublishedValue::Local(instance.clone(), name.clone(), value));
        }
        good
    }

    fn call(
        &self,
        (path, within): (&ModulePath, &Extent),
        name: &Arc<str>,
        cell: &mut Cell,
    ) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(call) = module.calls.get(name) else {
            return true;
        };
        let mut good = true;
        let mut all = Vec::new();
        for instance in self.context.values.instances_in(path, within).iter() {
            let scope = ModuleScope::new(&self.context, module, instance);
            let meta = Meta {
                count: call.count.as_ref(),
                for_each: call.for_each.as_ref(),
                enabled: call.enabled.as_ref(),
            };
            let (expansion, diags) = expand::expand(&scope, meta);
            good &= cell.report(diags);
            if let Some(expansion) = expansion {
                all.push((instance.clone(), expansion));
            }
        }
        cell.values
            .push(PublishedValue::Calls(path.clone(), name.clone(), all));
        good
    }

    fn output(
        &self,
        (path, within): (&ModulePath, &Extent),
        name: &Arc<str>,
        cell: &mut Cell,
    ) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(output) = module.outputs.get(name) else {
            return true;
        };
        let address = format!("output.{name}");
        let mut good = true;
        for instance in self.context.values.instances_in(path, within).iter() {
            let scope = ModuleScope::new(&self.context, module, instance);
            let mut fine = true;
            if output.ephemeral && path.is_root() {
                let detail = "Root outputs are stored, and ephemeral values must not be. Only outputs of child modules can be ephemeral.";
                good &= cell.report(
                    Diagnostic::error("Invalid output configuration", detail).at(output.span),
                );
            }
            if !self.destroying {
                for condition in &output.preconditions {
                    let (status, diags) =
                        conditions::check(&scope, condition, Kind::OutputPrecondition);
                    if self.context.phase != Phase::Validate {
                        cell.record_condition(&At::of(&scope), &address, status, &diags);
                    }
                    fine &= cell.report(diags);
                }
            }
            // A failed precondition leaves the output without a value, so that no dependent uses
            // it.
            if !fine {
                good = false;
                continue;
            }
            // The stage settled this value, so the deploy writes exactly the approved one.
            if let Some(value) = self.final_outputs.get(name).filter(|_| path.is_root()) {
                cell.values.push(PublishedValue::Output(
                    instance.clone(),
                    name.clone(),
                    value.clone(),
                ));
                continue;
            }
            let (value, mut diags) = scope.evaluate(&output.value);
            if !diags.has_errors() {
                diags.extend(provider_diagnostics::undeclared_marks(
                    output,
                    &value,
                    path.is_root(),
                ));
            }
            // Found while planning, so that no deploy fails at its end.
            if path.is_root() && self.context.phase == Phase::Plan {
                diags.extend(provider_diagnostics::check_storable(output, &value));
            }
            good &= cell.report(diags);
            let value = marked(value, output.sensitive, output.ephemeral);
            self.providers.secrets().register(&value);
            cell.values.push(PublishedValue::Output(
                instance.clone(),
                name.clone(),
                value,
            ));
        }
        good
    }

    fn check(
        &self,
        (path, within): (&ModulePath, &Extent),
        name: &Arc<str>,
        cell: &mut Cell,
    ) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(check) = module.checks.get(name) else {
            return true;
        };
        if self.destroying {
            return true;
        }
        let address = format!("check.{name}");
        let mut good = true;
        for instance in self.context.values.instances_in(path, within).iter() {
            // Without its data source the assertions cannot be evaluated.
            if let Some(data) = &check.data
                && self.cells.has_failed_read(&AbsResource {
                    module: instance.clone(),
                    resource: data.clone(),
                })
            {
                continue;
            }
            let scope = ModuleScope {
                check: Some(name),
                ..ModuleScope::new(&self.context, module, instance)
            };
            for assertion in &check.asserts {
                // A failed assertion is a warning and never fails a run; an assertion that cannot
                // be evaluated does.
                if self.context.phase == Phase::Validate {
                    good &= cell.report(conditions::check_assertion(&scope, assertion));
                    continue;
                }
                let (status, diags) = conditions::check(&scope, assertion, Kind::Assertion);
                cell.record_condition(&At::of(&scope), &address, status, &diags);
                good &= cell.report(diags);
            }
        }
        good
    }

    /// Returns the provider of a configuration that this walk has configured.
    pub fn ready(&self, key: &ConfigKey) -> Option<Arc<dyn Provider>> {
        self.cells.ready(key)
    }
}
