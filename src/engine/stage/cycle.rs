//! Formats the diagnostics for dependency cycles of a configuration.

use super::nodes::{Node, Nodes};
use graph::Step;
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::Span;

/// Returns one error per cycle.
pub fn cycles(nodes: &Nodes, root: &Module) -> Diagnostics {
    let words = |steps: Vec<Step>| {
        let names: Vec<String> = steps.iter().map(|s| nodes.nodes[*s].text()).collect();
        let mut d = Diagnostic::error(
            format!("Cycle: {}", names.join(", ")),
            "Each of these depends on the next one, so none can be evaluated first. Remove one of the references.",
        );
        // Providers, for example, have no single place, so the first node with one is shown.
        d.subject = steps.iter().find_map(|s| span_of(&nodes.nodes[*s], root));
        d
    };
    Diagnostics(nodes.graph.cycles().into_iter().map(words).collect())
}

fn span_of(node: &Node, root: &Module) -> Option<Span> {
    match node {
        Node::Resource(r) => Some(
            root.descendant(&r.module.0)?
                .resources
                .get(&r.resource)?
                .span,
        ),
        Node::Local(m, n) => Some(root.descendant(&m.0)?.locals.get(n)?.span),
        Node::Output(m, n) => Some(root.descendant(&m.0)?.outputs.get(n)?.span),
        Node::Variable(m, n) => Some(root.descendant(&m.0)?.variables.get(n)?.span),
        Node::Call(m, n) => Some(root.descendant(&m.0)?.calls.get(n)?.span),
        _ => None,
    }
}
