//! Root outputs at the end of a deploy.

use super::deploying::{Deploying, WHOLE_DEPLOY};
use crate::stage::change::OutputChange;
use crate::stage::nodes::{Node, Nodes};
use crate::stage::prior_values::extra_output_attributes;
use crate::stage::steps::{Steps, Task};
use crate::stage::values::Extent;
use crate::stage::walk::not_storable;
use cty::Value;
use graph::{Step, StepEnd};
use lang::addr::{ConfigResource, ModuleInstance, ModulePath};
use lang::diag::Diagnostic;
use model::*;
use std::collections::HashSet;
use std::sync::Arc;
use store::records::{StateEdit, StateOutput};

/// Output to store.
type KeptOutput<'c> = (&'c Arc<str>, &'c lang::config::Output, Value);

impl Deploying {
    /// Stores the root outputs that were evaluated.
    pub(super) async fn outputs(
        &self,
        changes: &[&OutputChange],
        steps: &Steps,
        ended: &[StepEnd],
    ) {
        let root = ModuleInstance::root();
        let narrowed_refresh = self.selection.stage.request.mode == StageMode::RefreshOnly
            && self.selection.is_narrowed();
        let mut edits = Vec::new();
        for change in changes.iter().filter(|c| c.action != Action::NoOp) {
            let declared = self.walk.context.root.outputs.get(&change.name);
            let Some(output) =
                declared.filter(|_| self.selection.stage.request.mode != StageMode::Destroy)
            else {
                edits.push(StateEdit::RemoveOutput {
                    name: change.name.to_string(),
                });
                continue;
            };
            let node = self
                .walk
                .nodes
                .step(&Node::Output(ModulePath::root(), change.name.clone()));
            let is_node = |task: &Task| matches!(task, Task::Node(n, _) if Some(*n) == node);
            let step = steps.tasks.iter().position(is_node);
            let done = step.is_some_and(|step| {
                // Passed over, it was not evaluated.
                ended.get(step) == Some(&StepEnd::Done) && !self.needs_skipped(steps, step)
            });
            // Values known in the stage stay valid after failures of other operations, as in
            // OpenTofu.
            let value = match done {
                true => self.walk.context.values.output(&root, &change.name),
                false => change
                    .after
                    .clone()
                    .filter(|v| v.is_wholly_known() && !output.ephemeral),
            };
            // The next stage evaluates outputs that a narrowed refresh leaves unknown.
            if let Some(value) = value.filter(|v| v.is_wholly_known() || !narrowed_refresh) {
                edits.extend(self.edit_of((&change.name, output, value)));
            }
        }
        for kept in self.untargeted_outputs().await {
            edits.extend(self.edit_of(kept));
        }
        if !edits.is_empty()
            && let Err(error) = self.recorder.edit(edits).await
        {
            self.scheduler.lose_store();
            self.walk.cells.add_diagnostics(
                WHOLE_DEPLOY,
                Diagnostic::error("Failed to store outputs", error.to_string()),
            );
        }
    }

    /// Returns the state edit of an output. A value that is still unknown depends on a missing
    /// object and is stored as null.
    fn edit_of(&self, (name, output, value): KeptOutput<'_>) -> Option<StateEdit> {
        let value = value.unmark_deep().0;
        if value.is_known() && value.is_null() {
            return Some(StateEdit::RemoveOutput {
                name: name.to_string(),
            });
        }
        let value = value.unknown_as_null();
        let ty = value.ty().clone();
        match cty::json::encode(&value, &ty) {
            Ok(text) => Some(StateEdit::PutOutput(StateOutput {
                rest: extra_output_attributes(output),
                name: name.to_string(),
                value: text,
                ty: ty.to_json(),
                sensitive: output.sensitive,
            })),
            Err(error) => {
                self.walk
                    .cells
                    .add_diagnostics(WHOLE_DEPLOY, not_storable(output, &error));
                None
            }
        }
    }

    /// Returns outputs outside of the targets that depend on changed objects, as in OpenTofu: only
    /// if all their other dependencies are outside of the stage too and are referenced by the
    /// output alone. Their errors do not fail the deploy.
    async fn untargeted_outputs(&self) -> Vec<KeptOutput<'_>> {
        let mut kept = Vec::new();
        if self.selection.stage.request.mode != StageMode::Normal || !self.selection.is_narrowed() {
            return kept;
        }
        let nodes = &self.walk.nodes;
        let follows = self.follows();
        for (name, output) in self
            .walk
            .context
            .root
            .outputs
            .iter()
            .filter(|(_, o)| !o.ephemeral)
        {
            let step = nodes.step(&Node::Output(ModulePath::root(), name.clone()));
            let unstaged = |_: &Step| !self.selection.stage.outputs.iter().any(|o| o.name == *name);
            let Some(step) = step.filter(unstaged).filter(|s| follows.has(nodes, *s)) else {
                continue;
            };
            let mut good = true;
            let all = nodes.graph.closure([step]);
            for node in nodes.graph.order().into_iter().filter(|s| all.contains(s)) {
                // Evaluating outputs calls no provider, so none is configured for it.
                if good && !matches!(nodes.nodes[node], Node::Provider(_)) {
                    let cell = self.node(node, &Extent::all(), None).await;
                    good = !cell.failed;
                    self.walk.context.values.publish(cell.values);
                }
            }
            let value = self
                .walk
                .context
                .values
                .output(&ModuleInstance::root(), name);
            kept.extend(value.filter(|_| good).map(|value| (name, output, value)));
        }
        kept
    }

    fn follows(&self) -> Follows {
        Follows {
            changed: self.objects.changed_resources(),
            deselected: self.selection.deselected_resources(),
            staged: self.selection.staged_resources(),
            dependents: self.walk.nodes.graph.dependents(),
        }
    }
}

/// Decides whether an output outside of the stage gets its new value.
struct Follows {
    changed: HashSet<ConfigResource>,
    deselected: HashSet<ConfigResource>,
    staged: HashSet<ConfigResource>,
    dependents: Vec<Vec<Step>>,
}

impl Follows {
    fn has(&self, nodes: &Nodes, output: Step) -> bool {
        // Unstaged resources keep their value, so their own dependencies do not matter.
        let unstaged = |s: Step| {
            nodes.nodes[s]
                .resource()
                .is_some_and(|r| !self.staged.contains(r))
        };
        let below = nodes.graph.closure_up_to([output], unstaged);
        let rests = |on: &HashSet<ConfigResource>| {
            below
                .iter()
                .filter_map(|s| nodes.nodes[*s].resource())
                .any(|r| on.contains(r))
        };
        let through_others = || {
            below.iter().filter(|s| unstaged(**s)).any(|s| {
                self.dependents[*s]
                    .iter()
                    .any(|d| *d != output && below.contains(d))
            })
        };
        rests(&self.changed) && !rests(&self.deselected) && !through_others()
    }
}
