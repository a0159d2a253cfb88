//! Cycles of a configuration, in words.

use super::nodes::{Node, Nodes};
use lang::config::Module;
use lang::diag::Diagnostic;
use lang::source::Span;

/// The first cycle, in words.
pub fn cycle(nodes: &Nodes, root: &Module) -> Option<Diagnostic> {
    let cycles = nodes.graph.cycles();
    let first = cycles.first()?;
    let names: Vec<String> = first.iter().map(|s| nodes.nodes[*s].text()).collect();
    let mut d = Diagnostic::error(
        format!("Cycle: {}", names.join(", ")),
        "Each of these needs the next one before it can be worked out. Take one of the references out.",
    );
    d.subject = first.iter().find_map(|s| span_of(&nodes.nodes[*s], root));
    Some(d)
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
