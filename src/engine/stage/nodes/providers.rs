//! Provider configurations in the graph: those of resources and those whose functions are called.

use super::{Node, Nodes, Sources};
use crate::stage::names::provider_function;
use graph::Step;
use lang::addr::ModulePath;
use lang::config::Module;
use lang::source::Span;
use lang::syntax::ast::Expr;
use model::ConfigKey;
use std::sync::Arc;
use workspace::provider_addr;

impl Nodes {
    /// Connects the used provider blocks. Unused ones are not configured, because their arguments
    /// may need services that do not exist. Calling a function counts as use, also within another
    /// block.
    pub(super) fn connect_providers(&mut self, from: &Sources<'_>) {
        // Connecting a block may add further provider nodes at the end, so the loop has no fixed
        // limit.
        for step in 0.. {
            for (caller, path, name, span) in std::mem::take(&mut self.calls) {
                self.need_function(from, caller, &path, (&name, span));
            }
            match self.nodes.get(step).cloned() {
                Some(Node::Provider(key)) => self.connect_provider(from, &key, step),
                Some(_) => {}
                None => break,
            }
        }
    }

    fn connect_provider(&mut self, from: &Sources<'_>, key: &ConfigKey, step: Step) {
        let (Some(module), Some(block)) = (
            from.root.descendant(&key.module.0),
            provider_addr::block_of(from.root, key),
        ) else {
            return;
        };
        let own_call = key.module.parent();
        let own_call = own_call.map(|(p, call)| Node::Call(p, call.clone()));
        self.need_node(step, own_call.as_ref());
        if let Some(schema) = from.schemas.get(&key.address) {
            self.need_body(step, module, &block.body, &schema.provider.block);
        }
    }

    /// Connects a called function to its provider's configuration, if there is one.
    fn need_function(
        &mut self,
        from: &Sources<'_>,
        step: Step,
        path: &ModulePath,
        (name, span): (&str, Span),
    ) {
        let (Some(module), Some(called)) = (from.root.descendant(&path.0), provider_function(name))
        else {
            return;
        };
        let route = provider_addr::for_function(from.root, module, called.provider, called.alias);
        let declared = provider_addr::block_of(from.root, &route.block);
        if route.by.is_none() && declared.is_some_and(|block| block.instances.is_some()) {
            self.names
                .without_instance(route.block.address.clone(), span);
        }
        let provider = Node::Provider(route.block);
        if declared.is_some() || self.step(&provider).is_some() {
            let provider = self.add(provider);
            self.graph.add_need(step, provider);
        }
    }

    pub(super) fn name_calls(&mut self, step: Step, module: &Module, expr: &Expr) {
        expr.calls()
            .into_iter()
            .for_each(|call| self.name_call(step, module, &call.name, call.name_span));
    }

    pub(super) fn name_call(&mut self, step: Step, module: &Module, name: &Arc<str>, span: Span) {
        self.names.called(module, name, span);
        if provider_function(name).is_some() {
            self.calls
                .push((step, module.path.clone(), name.clone(), span));
        }
    }
}
