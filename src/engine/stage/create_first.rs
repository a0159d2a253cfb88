//! Computes the resources whose replacement is created before the old object is destroyed.

use super::nodes::{Node, Nodes};
use super::prior::PriorState;
use graph::Step;
use lang::addr::{ConfigResource, Mode};
use lang::config::Module;
use std::collections::HashSet;

/// Returns the resources whose new instances are created beside the old ones.
fn surge_resources(root: &Module) -> HashSet<ConfigResource> {
    let (groups, _) = group::declared::declared_groups(root);
    let surging = groups.into_iter().filter(|group| group.policy.surge);
    surging.map(|group| group.instance).collect()
}

/// Returns the resources with `create_before_destroy`: declared so, the instance of a group with
/// `surge`, needed by such a resource, or recorded so in the state if no longer declared. Resources
/// outside of the targets count for nothing, as in OpenTofu.
pub(super) fn create_first(
    nodes: &Nodes,
    root: &Module,
    prior: &PriorState,
    evaluates: impl Fn(Step) -> bool,
) -> HashSet<ConfigResource> {
    let surge = surge_resources(root);
    let declared = nodes
        .nodes
        .iter()
        .enumerate()
        .filter(|(step, _)| evaluates(*step))
        .filter_map(|(step, node)| match node {
            Node::Resource(r) => {
                let resource = root.descendant(&r.module.0)?.resources.get(&r.resource)?;
                let declared = resource.lifecycle.create_before_destroy == Some(true);
                (declared || surge.contains(r)).then_some(step)
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
