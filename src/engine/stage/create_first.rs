//! Computes the resources whose replacement is created before the old object is destroyed.

use super::nodes::{Node, Nodes};
use super::prior::PriorState;
use lang::addr::{ConfigResource, Mode};
use lang::config::Module;
use std::collections::HashSet;

/// Returns the resources with `create_before_destroy`: declared so, needed by such a resource, or
/// recorded so in the state if no longer declared.
pub(super) fn create_first(
    nodes: &Nodes,
    root: &Module,
    prior: &PriorState,
) -> HashSet<ConfigResource> {
    let declared = nodes
        .nodes
        .iter()
        .enumerate()
        .filter_map(|(step, node)| match node {
            Node::Resource(r) => {
                let resource = root.descendant(&r.module.0)?.resources.get(&r.resource)?;
                (resource.lifecycle.create_before_destroy == Some(true)).then_some(step)
            }
            Node::Orphan(r) => prior
                .of_config(r)
                .flat_map(|(_, i)| i.values())
                .filter_map(|o| o.current.as_ref())
                .any(|o| o.create_before_destroy)
                .then_some(step),
            _ => None,
        });
    // The property is inherited by dependencies: if one were destroyed first, its create-first
    // dependents would have to be destroyed before it.
    nodes
        .graph
        .closure(declared)
        .into_iter()
        .filter_map(|s| nodes.nodes[s].resource().cloned())
        .filter(|r| r.resource.mode == Mode::Managed)
        .collect()
}
