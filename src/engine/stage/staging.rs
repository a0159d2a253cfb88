//! Sequence of one stage: moves, validate walk, plan walk, and assembly of the result.

use super::aspects;
use super::cell::{Cell, MergedCells};
use super::change::{Change, Digests, OutputChange, Stage, StageResult, StateOrigin};
use super::checked::Checked;
use super::conditions::Statuses;
use super::create_first::create_first;
use super::cycle::cycles;
use super::ephemeral::Leases;
use super::external_inputs::ExternalInputs;
use super::groups::changed_groups;
use super::narrow::StageScope;
use super::nodes::{Nodes, Sources};
use super::output_changes::outputs;
use super::plan::{LinksByEnd, PlanOptions, PlanWalk};
use super::prior::{PriorState, ResolvedProviders};
use super::scope::{Phase, WalkContext, timestamp};
use super::sealing::StageSecrets;
use super::state_values::stored_cell;
use super::targets::{KnownInstances, Targets, read_targets, unmatched_warnings};
use super::values::Values;
use super::variables;
use super::walk::{Providers, Walk};
use super::{import, moves, needs, refactor_checks, relevant, steps, validate};
use cty::Value;
use graph::{Graph, Starts, Step, Urgency};
use group::ConfigHash;
use group::declared::DeclaredGroup;
use lang::config::{Module, Overridden};
use lang::diag::Diagnostics;
use lang::source::{SourceMap, Span};
use model::{GroupPlan, StageId, StageMode, StageRequest, UnixMs, now_ms};
use provider::ProviderSchema;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use store::records::State;
use tokio_util::sync::CancellationToken;
use types::Overlays;

/// Nodes evaluated at a time. The effective limits are the plugins' slots and `parallelism` within
/// a resource.
const NODES_AT_A_TIME: usize = 64;

/// Input of a stage.
pub struct PlanInput {
    pub id: StageId,
    pub request: StageRequest,
    pub root: Arc<Module>,
    pub dir: PathBuf,
    pub sources: SourceMap,
    pub schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    pub state: State,
    /// Resolved provider addresses.
    pub resolved_providers: ResolvedProviders,
    pub given: HashMap<Arc<str>, (Value, Option<Span>)>,
    /// Values of root variables as given.
    pub given_texts: BTreeMap<Arc<str>, Value>,
    pub overridden: Overridden,
    pub secrets: StageSecrets,
    pub digests: Digests,
    /// Committed groups, which the configuration does not declare.
    pub committed_groups: Vec<DeclaredGroup>,
    /// Location of `state`.
    pub state_origin: StateOrigin,
    pub providers: Arc<dyn Providers>,
    /// Overlays of resource types.
    pub overlays: Arc<Overlays>,
    pub cancel: CancellationToken,
    /// Cancelled when plugins are killed, so that open resources cannot be closed.
    pub kill: CancellationToken,
    pub parallelism: usize,
    /// True if the caller wants the part that was planned before an error.
    pub shows_errored: bool,
    /// Called after each resource instance with the number of done and all instances, and its
    /// address.
    pub progress: Arc<dyn Fn(u32, u32, &dyn Display) + Send + Sync>,
}

impl PlanInput {
    pub(super) fn new_walk(&self, phase: Phase, prior: &PriorState, at: UnixMs) -> Walk {
        let around = WalkContext {
            root: self.root.clone(),
            dir: self.dir.clone(),
            sources: self.sources.clone(),
            phase,
            schemas: self.schemas.clone(),
            functions: self.providers.functions(),
            unregistered: BTreeSet::new(),
            values: Values::default(),
            timestamp: timestamp(at),
            cancel: self.cancel.clone(),
            external_inputs: ExternalInputs::default(),
            overlays: self.overlays.clone(),
        };
        let nodes = Nodes::build(&Sources {
            root: &self.root,
            schemas: &self.schemas,
            in_state: &prior.config_resources(),
            orphan_providers: &prior.providers(),
        });
        Walk {
            leases: Leases::new(self.kill.clone()),
            ..Walk::new(
                around,
                nodes,
                self.providers.clone(),
                self.cancel.clone(),
                self.given.clone(),
            )
        }
    }
}

/// Validates the configuration independently of variable values; returns errors and warnings.
async fn validate(basis: &PlanInput, prior: &PriorState, at: UnixMs) -> Diagnostics {
    let walk = Arc::new(basis.new_walk(Phase::Validate, prior, at));
    let cycles = cycles(&walk.nodes, &basis.root);
    if cycles.has_errors() {
        // Other references may be wrong too, but OpenTofu reports the cycles alone.
        return cycles;
    }
    let names = walk.nodes.name_diagnostics();
    if names.has_errors() {
        return names;
    }
    let run = |step| {
        let walk = walk.clone();
        async move { walk.publish(step, validate::run(&walk, step).await) }
    };
    walk.nodes
        .graph
        .walk(NODES_AT_A_TIME, || !basis.cancel.is_cancelled(), run)
        .await;
    let mut cell = Cell::default();
    cell.report(names);
    cell.report(walk.cells.merge_in_order(walk.nodes.graph.order()).diags);
    cell.report(import::validate(&walk));
    cell.diags
}

/// Validates a configuration without its state; returns errors and warnings.
pub async fn validated(basis: &PlanInput) -> Diagnostics {
    validate(basis, &PriorState::new(&State::default()), now_ms()).await
}

/// Plans a stage; `Errored` after errors. Returns diagnostics in both cases.
pub async fn stage(basis: PlanInput) -> (StageResult, Diagnostics) {
    let (began, at) = (std::time::Instant::now(), now_ms());
    let mut prior = PriorState::new(&basis.state);
    // First of all, because the graph looks up providers of orphans by their resolved address.
    prior.translate(&basis.resolved_providers);
    let targets = match read_targets(&basis.request) {
        Ok(targets) => targets,
        Err(d) => return (StageResult::Errored(None), d.into()),
    };
    // A cycle of moves is reported last, because wrong moves, which may explain it, are only known
    // after planning.
    let (mut diags, circle) = match moves::apply(&basis.root, &mut prior) {
        Ok(said) => (said, Diagnostics::new()),
        Err(circle) => (Diagnostics::new(), circle),
    };
    diags.append(validate(&basis, &prior, at).await);
    refactor_faults(&basis, &prior, &targets, &mut diags);
    if diags.has_errors() || basis.cancel.is_cancelled() {
        return (StageResult::Errored(None), diags);
    }
    let plan = Arc::new(planning(&basis, prior, targets, at, &mut diags));
    if diags.has_errors() {
        return (StageResult::Errored(None), diags);
    }
    let graph = plan.walk.nodes.to_plan();
    // Without state a destroy has nothing to plan, so no provider is called.
    let nothing = basis.state.objects.is_empty() && basis.state.outputs.is_empty();
    if basis.request.mode != StageMode::Destroy || !nothing {
        run_walk(&plan, &graph, &basis.cancel).await;
    }
    let mut faults = refactor_checks::moves(&plan.walk);
    if !faults.has_errors() {
        faults.append(circle);
    }
    if faults.has_errors() && !basis.cancel.is_cancelled() {
        // Wrong moves are likely the cause of all other errors, so only they are shown.
        diags.append(faults);
        return (StageResult::Errored(None), diags);
    }
    let mut gathered = plan.walk.cells.merge_in_order(graph.order());
    // Both walks report the same diagnostics of the configuration.
    let before = diags.len();
    for d in std::mem::take(&mut gathered.diags) {
        if !diags.0[..before].contains(&d) {
            diags.push(d);
        }
    }
    let errored = diags.has_errors();
    if basis.cancel.is_cancelled() || errored && !basis.shows_errored {
        return (StageResult::Errored(None), diags);
    }
    let request = basis.request.clone();
    let known = KnownInstances {
        mode: request.mode,
        walk: &plan.walk,
        prior: &plan.prior,
        expansions: &gathered.expansions,
    };
    let missing = known.warnings(&request);
    match assemble(basis, &plan, gathered, at, errored) {
        Ok(stage) if errored => (StageResult::Errored(Some(Box::new(stage))), diags),
        Ok(mut stage) => {
            diags.extend(missing);
            stage.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            (StageResult::Complete(Box::new(stage)), diags)
        }
        Err(faults) => {
            diags.append(faults);
            (StageResult::Errored(None), diags)
        }
    }
}

/// Checks `removed` blocks, import targets and targets of moves; each check runs only if the
/// previous ones found no errors.
fn refactor_faults(
    basis: &PlanInput,
    prior: &PriorState,
    targets: &Targets,
    diags: &mut Diagnostics,
) {
    if !diags.has_errors() {
        diags.append(refactor_checks::removed(&basis.root));
        // Other modes do not import, and may be needed to repair such a configuration.
        if basis.request.mode == StageMode::Normal {
            diags.append(import::undeclared(&basis.root));
        }
    }
    if !diags.has_errors() {
        let (target, exclude) = (&targets.target, &targets.exclude);
        diags.extend(refactor_checks::targeted(prior, target, exclude));
    }
}

/// Prepares the plan walk of a valid configuration.
fn planning(
    basis: &PlanInput,
    prior: PriorState,
    targets: Targets,
    at: UnixMs,
    diags: &mut Diagnostics,
) -> PlanWalk {
    let walk = Walk {
        destroying: basis.request.mode == StageMode::Destroy,
        ..basis.new_walk(Phase::Plan, &prior, at)
    };
    diags.extend(unmatched_warnings(&basis.request, &walk.nodes, &prior));
    let narrow = StageScope::new(
        &walk.nodes,
        &basis.root,
        &prior,
        targets.target,
        targets.exclude,
        basis.request.mode,
    );
    // The number of instances is known only after expansion; until then the state or the number of
    // resources is the estimate.
    let in_state = prior.resources.values().map(|i| i.len()).sum::<usize>();
    let declared = basis.root.all().iter().map(|m| m.resources.len()).sum();
    let total = u32::try_from(in_state.max(declared)).unwrap_or(u32::MAX);
    let (done, told) = (AtomicU32::new(0), basis.progress.clone());
    let evaluates = |step| narrow.as_ref().is_none_or(|scope| scope.evaluates(step));
    PlanWalk {
        create_first: create_first(&walk.nodes, &basis.root, &prior, evaluates),
        walk,
        prior,
        options: PlanOptions {
            mode: basis.request.mode,
            refresh: !basis.request.no_refresh,
            replace: targets.replace,
            scope: narrow,
            parallelism: basis.parallelism,
        },
        by_end: LinksByEnd::default(),
        need_cache: needs::Known::default(),
        progress: Box::new(move |address| {
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            told(n, total.max(n), address);
        }),
    }
}

/// Evaluates all nodes in dependency order.
async fn run_walk(plan: &Arc<PlanWalk>, graph: &Graph, cancel: &CancellationToken) {
    let may = || {
        if cancel.is_cancelled() {
            Starts::None
        } else {
            Starts::All
        }
    };
    let leases = &plan.walk.leases;
    let run = |step| {
        let plan = plan.clone();
        async move {
            let cell = if plan.options.evaluates(step) {
                plan.run(step).await
            } else {
                let mut cell = stored_cell(&plan.walk, &plan.prior, step);
                // A narrowed destroy may still select objects of the node by the state.
                cell.append(plan.plan_state_removals(step).await);
                cell
            };
            let good = plan.walk.publish(step, cell);
            // Needs are cached in walk order, so that later look-ups descend only one step.
            plan.needs_computation()
                .cache_node(&plan.walk.nodes.nodes[step]);
            good
        }
    };
    // A plan has no urgent steps.
    let urgency = Urgency::default();
    let walking = graph.walk_urgent_first(NODES_AT_A_TIME, &urgency, may, run, |step| {
        leases.step_ended(graph, step)
    });
    leases.run_with_renewal(&plan.walk, graph, walking).await;
}

/// Assembles the stage from the results of the walk.
fn assemble(
    basis: PlanInput,
    plan: &PlanWalk,
    found: MergedCells,
    at: UnixMs,
    errored: bool,
) -> Result<Stage, Diagnostics> {
    let mut outputs = outputs(plan);
    if errored {
        // Outputs that were not evaluated must not appear as removed.
        let declared = &basis.root.outputs;
        outputs.retain(|o| o.after.is_some() || o.null || !declared.contains_key(&o.name));
    }
    let (walk, prior, wishes) = (&plan.walk, &plan.prior, &plan.options);
    let mut changes = sort_changes(&walk.nodes, found.changes);
    if !prior.renames.is_empty() {
        let renamed = |change: &mut Change| change.apply_renames(&prior.renames);
        changes.iter_mut().for_each(renamed);
    }
    // A destroy is limited by instance already, and a refresh has no changes.
    let narrow = wishes
        .scope
        .as_ref()
        .filter(|_| basis.request.mode == StageMode::Normal);
    let connected = walk.nodes.connected_modules();
    let expansions = &found.expansions;
    let left = narrow.map(|n| {
        let selected = n.selected(&changes, &walk.nodes, connected);
        n.initially_deselected(&changes, selected, prior, expansions)
    });
    let left = left.transpose()?;
    let groups = (!errored).then(|| can_be_deployed(&basis, walk, &changes, &outputs, at));
    let groups = groups.transpose()?.unwrap_or_default();
    let (mut statuses, mut checked) = (found.statuses, found.checked);
    if basis.request.mode == StageMode::Destroy {
        // A destroy ignores the conditions, so their statuses are incomplete.
        statuses = Statuses::default();
        statuses.complete(&basis.root, |_| false);
        checked = Checked::default();
    } else {
        statuses.complete(&basis.root, |node| {
            walk.nodes
                .step(node)
                .is_some_and(|step| wishes.evaluates(step))
        });
        checked.complete(plan, &found.expansions);
    }
    Ok(Stage {
        id: basis.id,
        variables: variables::values_with_defaults(&basis),
        secrets: basis.secrets,
        overridden: basis.overridden,
        request: basis.request,
        at,
        took_ms: 0,
        digests: basis.digests,
        external_inputs: walk.context.external_inputs.recorded(),
        origin: basis.state_origin,
        connected_modules: connected.clone(),
        state_serial: prior.serial,
        relevant: relevant::of_plan(plan, &changes, &outputs),
        drift: aspects::corrected(found.drift, &changes, wishes.mode),
        changes,
        deselected: left.unwrap_or_default(),
        outputs,
        reads: found.reads,
        groups,
        // Moves come first, because all later edits use the new addresses.
        edits: prior.moves.iter().cloned().chain(found.edits).collect(),
        statuses,
        checked,
    })
}

/// Builds the deploy steps once, so that a cycle is reported while planning. Returns the groups
/// whose instances change.
fn can_be_deployed(
    basis: &PlanInput,
    walk: &Walk,
    changes: &[Change],
    outputs: &[OutputChange],
    at: UnixMs,
) -> Result<Vec<GroupPlan>, Diagnostics> {
    let all: BTreeSet<usize> = (0..changes.len())
        .filter(|&i| steps::has_effect(&changes[i]))
        .collect();
    let outputs: Vec<&OutputChange> = outputs.iter().collect();
    let ends = steps::ends(&walk.nodes, &basis.request, &outputs);
    let to = ConfigHash::from_text(&basis.digests.config);
    // The ages of members order the batches, which the plan does not name.
    let declared = (&*basis.root, &*basis.committed_groups);
    let groups = changed_groups(declared, changes, &all, &BTreeMap::new(), &to, at)?;
    steps::build(
        &walk.nodes,
        changes,
        &all,
        &ends,
        &groups.iter().collect::<Vec<_>>(),
    )?;
    let planned = groups.iter().map(|group| GroupPlan {
        group: group.declared.name.to_string(),
        plan: group.summary(),
        hashes: group.new_hashes(),
    });
    Ok(planned.collect())
}

/// Sorts changes by dependency, then by address.
fn sort_changes(nodes: &Nodes, mut changes: Vec<(Step, Change)>) -> Vec<Change> {
    let mut place = vec![usize::MAX; nodes.nodes.len()];
    for (at, step) in nodes.graph.order().into_iter().enumerate() {
        place[step] = at;
    }
    changes.sort_by(|(a, ca), (b, cb)| {
        place[*a]
            .cmp(&place[*b])
            .then_with(|| ca.address.cmp(&cb.address))
            .then_with(|| ca.deposed.cmp(&cb.deposed))
    });
    changes.into_iter().map(|(_, c)| c).collect()
}
