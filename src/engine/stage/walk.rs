//! What validating, planning and applying share: the nodes that are worked out without a resource's
//! provider (variables, locals, outputs, calls), and the provider configurations. Owns the values
//! and cells of one walk; a node is worked out to a [`Cell`], and reads what it needs of others
//! from those that are there.

mod decode;
mod follow;
mod said;
mod variables;

use super::cell::{Cell, Cells};
use super::checked::At;
use super::conditions::{self, Kind, Status};
use super::ephemeral::Leases;
use super::expand::{self, Meta};
use super::nodes::{Node, Nodes};
use super::outlines::Outlines;
use super::scope::{ModuleScope, Phase, Surroundings, marked};
use super::values::Worked;
use crate::engine::bus::EventSink;
use crate::engine::calls::{CallContext, ProviderError};
use crate::engine::graph::Step;
use crate::engine::provider::Provider;
use crate::engine::provider::functions::Functions;
use crate::engine::secrets::Secrets;
use crate::engine::words::{ConfigKey, short_provider};
use crate::engine::workspace::provider_addr::{self};
use async_trait::async_trait;
use cty::Value;
use lang::addr::{AbsInstance, AbsResource, ModulePath};
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;
pub use said::{call_failed, placed, unkept};
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Where a walk gets its providers from.
#[async_trait]
pub trait Providers: Send + Sync {
    /// A process for calls that need no configuration: schema, validation, upgrades.
    async fn plain(
        &self,
        address: &str,
        ctx: &CallContext,
    ) -> Result<Arc<dyn Provider>, ProviderError>;

    /// The process of one provider configuration. Answers whether it has been given this very
    /// configuration already.
    async fn configured(
        &self,
        key: &ConfigKey,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<(Arc<dyn Provider>, bool), ProviderError>;

    /// The functions of the providers that are up.
    fn functions(&self) -> Functions;

    /// What must not be shown; whatever a walk evaluates that is sensitive is told to it.
    fn secrets(&self) -> &Secrets;

    /// Where it is said what is done with objects.
    fn sink(&self) -> &dyn EventSink;
}

/// One walk over the nodes.
pub struct Walk {
    pub around: Surroundings,
    pub nodes: Nodes,
    pub providers: Arc<dyn Providers>,
    pub cancel: CancellationToken,
    /// Values given for root variables, converted; those without a value are not in it.
    pub given: HashMap<Arc<str>, (Value, Option<Span>)>,
    pub cells: Cells,
    /// Bodies of its resources, as they were looked at.
    pub outlines: Outlines,
    /// What is open of ephemeral resources.
    pub leases: Leases,
    /// Whether root outputs and what only they need is evaluated at all.
    pub destroying: bool,
    /// Values of root outputs that are settled: they are not worked out anew.
    pub settled: HashMap<Arc<str>, Value>,
}

impl Walk {
    /// A walk that has not begun.
    pub fn new(
        mut around: Surroundings,
        nodes: Nodes,
        providers: Arc<dyn Providers>,
        cancel: CancellationToken,
        given: HashMap<Arc<str>, (Value, Option<Span>)>,
    ) -> Self {
        around.unregistered = nodes.unregistered_functions().keys().copied().collect();
        Self {
            leases: Leases::new(cancel.clone()),
            around,
            nodes,
            providers,
            cancel,
            given,
            cells: Cells::default(),
            outlines: Outlines::default(),
            destroying: false,
            settled: HashMap::new(),
        }
    }

    /// A module of the configuration.
    pub fn module(&self, path: &ModulePath) -> Option<&Module> {
        self.around.root.descendant(&path.0)
    }

    /// Lets others see what became of a step. Answers whether it was worked out well.
    pub fn absorb(&self, step: Step, cell: Cell) -> bool {
        self.cells.absorb(step, cell, &self.around)
    }

    /// What was said of the data source of a check is worth a warning and no more; where it is an
    /// error, the check has failed. Answers whether it was none.
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
            let why = Some(said.as_one());
            let check = format!("check.{check}");
            cell.statuses.note(&at.object(&check), Status::Fail);
            cell.checked.note(&at, &check, Status::Fail, why);
            cell.unread.push(address.abs());
        }
        said.0
            .iter_mut()
            .for_each(|d| d.severity = lang::diag::Severity::Warning);
        cell.report(said);
        !failed
    }

    /// What happens on a call for one resource instance.
    pub fn context(&self, resource: impl Into<Arc<str>>) -> CallContext {
        CallContext::of(resource, &self.cancel)
    }

    /// What happens on a call for one resource instance, with what its module tells the provider;
    /// `None` with errors.
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

    /// What the module of an instance tells the provider beside the resource, where it does; the
    /// outer `None` with errors.
    pub fn meta(
        &self,
        provider: &str,
        address: &AbsInstance,
        cell: &mut Cell,
    ) -> Option<Option<Value>> {
        let module = self.module(&address.module.path());
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
            .around
            .schemas
            .get(provider)
            .and_then(|s| s.provider_meta.as_ref())
        else {
            let detail = format!(
                "{address} is of a provider that takes nothing from its modules. Take the block out to go on."
            );
            let summary = format!(
                "Provider {} doesn't support provider_meta",
                short_provider(provider)
            );
            cell.report(Diagnostic::error(summary, detail).at(told.span));
            return None;
        };
        let scope = ModuleScope::new(&self.around, module, &address.module);
        let (value, diags) = self.decode(&told.body, &schema.block, &scope);
        cell.report(diags).then(|| Some(value.unmark_deep().0))
    }

    /// Works out a node that needs no resource's provider; `None` for the others.
    pub async fn common(&self, node: &Node) -> Option<Cell> {
        let mut cell = Cell::default();
        let good = match node {
            Node::Variable(path, name) => self.variable(path, name, &mut cell),
            Node::Local(path, name) => self.local(path, name, &mut cell),
            Node::Output(path, name) => self.output(path, name, &mut cell),
            Node::Call(path, name) => self.call(path, name, &mut cell),
            Node::Provider(key) => self.provider_block(key, &mut cell).await,
            Node::Check(path, name) => self.check(path, name, &mut cell),
            Node::Resource(_) | Node::Orphan(_) => return None,
        };
        Some(cell.ended(good))
    }

    fn local(&self, path: &ModulePath, name: &Arc<str>, cell: &mut Cell) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(local) = module.locals.get(name) else {
            return true;
        };
        let mut good = true;
        for instance in self.around.values.instances(path).iter() {
            let (value, diags) =
                ModuleScope::new(&self.around, module, instance).evaluate(&local.expr);
            good &= cell.report(diags);
            self.providers.secrets().learn(&value);
            cell.values
                .push(Worked::Local(instance.clone(), name.clone(), value));
        }
        good
    }

    fn call(&self, path: &ModulePath, name: &Arc<str>, cell: &mut Cell) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(call) = module.calls.get(name) else {
            return true;
        };
        let mut good = true;
        let mut all = Vec::new();
        for instance in self.around.values.instances(path).iter() {
            let scope = ModuleScope::new(&self.around, module, instance);
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
            .push(Worked::Calls(path.clone(), name.clone(), all));
        good
    }

    fn output(&self, path: &ModulePath, name: &Arc<str>, cell: &mut Cell) -> bool {
        let Some(module) = self.module(path) else {
            return true;
        };
        let Some(output) = module.outputs.get(name) else {
            return true;
        };
        let address = format!("output.{name}");
        let mut good = true;
        for instance in self.around.values.instances(path).iter() {
            let scope = ModuleScope::new(&self.around, module, instance);
            let mut fine = true;
            if output.ephemeral && path.is_root() {
                let detail = "Outputs of the root are kept, and what is ephemeral is not. Only a module's outputs may be ephemeral.";
                good &= cell.report(
                    Diagnostic::error("Invalid output configuration", detail).at(output.span),
                );
            }
            if !self.destroying {
                for condition in &output.preconditions {
                    let (status, diags) =
                        conditions::check(&scope, condition, Kind::OutputPrecondition);
                    if self.around.phase != Phase::Validate {
                        cell.note(&At::of(&scope), &address, status, &diags);
                    }
                    fine &= cell.report(diags);
                }
            }
            if !fine {
                good = false;
                continue;
            }
            if let Some(value) = self.settled.get(name).filter(|_| path.is_root()) {
                cell.values.push(Worked::Output(
                    instance.clone(),
                    name.clone(),
                    value.clone(),
                ));
                continue;
            }
            let (value, mut diags) = scope.evaluate(&output.value);
            if !diags.has_errors() {
                diags.extend(said::undeclared_marks(output, &value, path.is_root()));
            }
            if path.is_root() && self.around.phase == Phase::Plan {
                diags.extend(said::unkeepable(output, &value));
            }
            good &= cell.report(diags);
            let value = marked(value, output.sensitive, output.ephemeral);
            self.providers.secrets().learn(&value);
            cell.values
                .push(Worked::Output(instance.clone(), name.clone(), value));
        }
        good
    }

    fn check(&self, path: &ModulePath, name: &Arc<str>, cell: &mut Cell) -> bool {
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
        for instance in self.around.values.instances(path).iter() {
            // Where its data source cannot be read there is nothing to look at.
            if let Some(data) = &check.data
                && self.cells.is_unread(&AbsResource {
                    module: instance.clone(),
                    resource: data.clone(),
                })
            {
                continue;
            }
            let scope = ModuleScope {
                check: Some(name),
                ..ModuleScope::new(&self.around, module, instance)
            };
            for assertion in &check.asserts {
                // A check that is not met is a warning and never fails a run; one that cannot be
                // evaluated does.
                if self.around.phase == Phase::Validate {
                    good &= cell.report(conditions::sayable(&scope, assertion));
                    continue;
                }
                let (status, diags) = conditions::check(&scope, assertion, Kind::Assertion);
                cell.note(&At::of(&scope), &address, status, &diags);
                good &= cell.report(diags);
            }
        }
        good
    }

    /// The process of a provider configuration that this walk has made ready.
    pub fn ready(&self, key: &ConfigKey) -> Option<Arc<dyn Provider>> {
        self.cells.ready(key)
    }
}
