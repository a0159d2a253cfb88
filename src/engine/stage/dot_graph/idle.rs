//! Graph of a deploy without changes.

use super::{Drawing, Drawn};
use crate::stage::nodes::{Node, Nodes};
use graph::Step;
use std::collections::BTreeSet;

impl Drawing {
    /// Draws the nodes that a deploy without changes evaluates: root variables, root outputs,
    /// checks and their dependencies. Resources are drawn only if something other than a root
    /// output refers to them, as in OpenTofu's graph.
    pub fn without_changes(nodes: &Nodes) -> Self {
        let is_root_output =
            |step: Step| matches!(&nodes.nodes[step], Node::Output(module, _) if module.is_root());
        let ends = |step: &Step| match &nodes.nodes[*step] {
            Node::Check(..) => true,
            Node::Variable(module, _) => module.is_root(),
            _ => is_root_output(*step),
        };
        let mut left: Vec<Step> = (0..nodes.nodes.len()).filter(ends).collect();
        let mut reached: BTreeSet<Step> = left.iter().copied().collect();
        while let Some(step) = left.pop() {
            let stays = |needed: &Step| match &nodes.nodes[*needed] {
                Node::Resource(_) => !is_root_output(step),
                Node::Orphan(_) => false,
                _ => true,
            };
            let needs = nodes.graph.needs(step).filter(stays);
            left.extend(needs.filter(|s| reached.insert(*s)));
        }
        Self::of_nodes(nodes, &reached, false)
    }

    /// Draws a node of a deploy without changes.
    pub(super) fn draw_unchanged(
        &mut self,
        nodes: &Nodes,
        some: &BTreeSet<Step>,
        step: Step,
    ) -> Drawn {
        let node = &nodes.nodes[step];
        let is_used = || {
            let mut all = some.iter();
            all.any(|s| nodes.graph.needs(*s).any(|needed| needed == step))
        };
        match node {
            // A root variable without dependents is one node without its reference node.
            Node::Variable(module, _) if module.is_root() && !is_used() => {
                let look = Some((node.text(), "note"));
                self.add_node(Some(node.text()), look, module.clone())
            }
            _ => self.node(node, !matches!(node, Node::Check(..))),
        }
    }

    /// Adds all modules, so that each is closed even if none of its nodes is drawn.
    pub(super) fn modules_of(&mut self, nodes: &Nodes) {
        for node in &nodes.nodes {
            if let Node::Call(parent, name) = node {
                self.add_node(None, None, parent.child(name));
            }
        }
    }
}
