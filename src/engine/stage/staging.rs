//! One staging from beginning to end: moves, the validating walk, the planning walk, and what they
//! found put together.

use super::cell::{Cell, Gathered};
use super::change::{Change, Digests, OutputChange, Stage, StateOrigin, Worked};
use super::checked::Checked;
use super::conditions::Statuses;
use super::create_first::create_first;
use super::cycle::cycles;
use super::ephemeral::Leases;
use super::narrow::Narrow;
use super::nodes::{Nodes, Sources};
use super::output_changes::outputs;
use super::plan::{ByEnd, PlanWalk, Wishes};
use super::prior::{Meant, PriorState};
use super::scope::{Phase, Surroundings, timestamp};
use super::sights::Sights;
use super::stored::keep_as_stored;
use super::targets::{Targets, nowhere, read_targets, without_instance};
use super::values::Values;
use super::variables;
use super::walk::{Providers, Walk};
use super::{import, moves, needs, refactor_checks, relevant, steps, validate};
use crate::engine::graph::{Graph, Starts, Step, Urgency};
use crate::engine::provider::ProviderSchema;
use crate::engine::store::model::State;
use crate::engine::words::{StageId, StageMode, StageRequest, UnixMs, now_ms};
use cty::Value;
use lang::config::{Module, Overridden};
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::{SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

/// How many nodes are worked on at a time; what really limits is slots of plugins and `parallelism`
/// within a resource.
const NODES_AT_A_TIME: usize = 64;

/// All that a staging starts from.
pub struct Basis {
    pub id: StageId,
    pub request: StageRequest,
    pub root: Arc<Module>,
    pub dir: PathBuf,
    pub sources: SourceMap,
    pub schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    pub state: State,
    /// Where its providers were found.
    pub meant: Meant,
    pub given: HashMap<Arc<str>, (Value, Option<Span>)>,
    /// Values for root variables as they were given.
    pub written: BTreeMap<Arc<str>, Value>,
    pub overridden: Overridden,
    pub digests: Digests,
    /// Where `state` is from.
    pub origin: StateOrigin,
    pub providers: Arc<dyn Providers>,
    pub cancel: CancellationToken,
    /// Set when plugins are killed: what is open cannot be closed any more.
    pub kill: CancellationToken,
    pub parallelism: usize,
    /// Whether what was worked out before an error is wanted all the same.
    pub shows_errored: bool,
    /// Called after each resource instance: how many are done, of how many, and which.
    pub progress: Arc<dyn Fn(u32, u32, &dyn Display) + Send + Sync>,
}

impl Basis {
    pub(super) fn walk(&self, phase: Phase, prior: &PriorState, at: UnixMs) -> Walk {
        let around = Surroundings {
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
            sights: Sights::default(),
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

/// What is wrong with the configuration whatever values its variables have; with warnings.
async fn validate(basis: &Basis, prior: &PriorState, at: UnixMs) -> Diagnostics {
    let walk = Arc::new(basis.walk(Phase::Validate, prior, at));
    let cycles = cycles(&walk.nodes, &basis.root);
    if cycles.has_errors() {
        // References can still be wrong apart from the cycles; the reference engine reports the
        // cycles alone.
        return cycles;
    }
    let names = walk.nodes.said_of_names();
    if names.has_errors() {
        return names;
    }
    let run = |step| {
        let walk = walk.clone();
        async move { walk.absorb(step, validate::run(&walk, step).await) }
    };
    walk.nodes
        .graph
        .walk(NODES_AT_A_TIME, || !basis.cancel.is_cancelled(), run)
        .await;
    let mut cell = Cell::default();
    cell.report(names);
    cell.report(walk.cells.gather(walk.nodes.graph.order()).diags);
    cell.report(import::validate(&walk));
    cell.diags
}

/// What is wrong with a configuration by itself, whatever is in the state; with warnings.
pub async fn validated(basis: &Basis) -> Diagnostics {
    validate(basis, &PriorState::new(&State::default()), now_ms()).await
}

/// A stage, or the reasons why there is none; with warnings either way.
pub async fn stage(basis: Basis) -> (Worked, Diagnostics) {
    let (began, at) = (std::time::Instant::now(), now_ms());
    let mut prior = PriorState::new(&basis.state);
    prior.translate(&basis.meant);
    let targets = match read_targets(&basis.request) {
        Ok(targets) => targets,
        Err(d) => return (Worked::Errored(None), d.into()),
    };
    // Which moves are wrong shows once it is known what there is; that they go in a circle is said
    // where nothing else is.
    let (mut diags, circle) = match moves::apply(&basis.root, &mut prior) {
        Ok(said) => (said, Diagnostics::new()),
        Err(circle) => (Diagnostics::new(), circle),
    };
    diags.append(validate(&basis, &prior, at).await);
    refactor_faults(&basis, &prior, &targets, &mut diags);
    if diags.has_errors() || basis.cancel.is_cancelled() {
        return (Worked::Errored(None), diags);
    }
    let plan = Arc::new(planning(&basis, prior, targets, at, &mut diags));
    if diags.has_errors() {
        return (Worked::Errored(None), diags);
    }
    let graph = plan.walk.nodes.to_plan();
    // Where nothing is there is nothing to destroy, and nobody is asked anything.
    let nothing = basis.state.objects.is_empty() && basis.state.outputs.is_empty();
    if basis.request.mode != StageMode::Destroy || !nothing {
        worked_out(&plan, &graph, &basis.cancel).await;
    }
    let mut faults = plan.moves_faults();
    if !faults.has_errors() {
        faults.append(circle);
    }
    if faults.has_errors() && !basis.cancel.is_cancelled() {
        // Objects that were moved wrongly are likely the cause of all other errors, so those are
        // not shown.
        diags.append(faults);
        return (Worked::Errored(None), diags);
    }
    let mut gathered = plan.walk.cells.gather(graph.order());
    // What was said of the configuration as a whole is said again of its instances.
    let before = diags.len();
    for d in std::mem::take(&mut gathered.diags) {
        if !diags.0[..before].contains(&d) {
            diags.push(d);
        }
    }
    let errored = diags.has_errors();
    if basis.cancel.is_cancelled() || errored && !basis.shows_errored {
        return (Worked::Errored(None), diags);
    }
    let request = basis.request.clone();
    match put_together(basis, &plan, gathered, at, errored) {
        Ok(stage) if errored => (Worked::Errored(Some(Box::new(stage))), diags),
        Ok(mut stage) => {
            diags.extend(without_instance(&request, &plan.walk.nodes, &stage.changes));
            stage.took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            (Worked::Whole(Box::new(stage)), diags)
        }
        Err(faults) => {
            diags.append(faults);
            (Worked::Errored(None), diags)
        }
    }
}

/// Errors of blocks that refactor, and of targets beside moves; each kind only without the one
/// before it.
fn refactor_faults(basis: &Basis, prior: &PriorState, targets: &Targets, diags: &mut Diagnostics) {
    if !diags.has_errors() {
        diags.append(refactor_checks::removed(&basis.root));
        // Other modes import nothing, and may be the way out of such a configuration.
        if basis.request.mode == StageMode::Normal {
            diags.append(import::undeclared(&basis.root));
        }
    }
    if !diags.has_errors() {
        let (target, exclude) = (&targets.target, &targets.exclude);
        diags.extend(refactor_checks::targeted(prior, target, exclude));
    }
}

/// The planning walk over what is known once the configuration is valid.
fn planning(
    basis: &Basis,
    prior: PriorState,
    targets: Targets,
    at: UnixMs,
    diags: &mut Diagnostics,
) -> PlanWalk {
    let walk = Walk {
        destroying: basis.request.mode == StageMode::Destroy,
        ..basis.walk(Phase::Plan, &prior, at)
    };
    diags.extend(nowhere(&basis.request, &walk.nodes));
    let narrow = Narrow::new(
        &walk.nodes,
        &basis.root,
        &prior,
        targets.target,
        targets.exclude,
        basis.request.mode,
    );
    // How many there will be is known when all are expanded; until then the state has the best
    // guess.
    let in_state = prior.resources.values().map(|i| i.len()).sum::<usize>();
    let declared = basis.root.all().iter().map(|m| m.resources.len()).sum();
    let total = u32::try_from(in_state.max(declared)).unwrap_or(u32::MAX);
    let (done, told) = (AtomicU32::new(0), basis.progress.clone());
    PlanWalk {
        create_first: create_first(&walk.nodes, &basis.root, &prior),
        walk,
        prior,
        wishes: Wishes {
            mode: basis.request.mode,
            refresh: !basis.request.no_refresh,
            replace: targets.replace,
            narrow,
            parallelism: basis.parallelism,
        },
        by_end: ByEnd::default(),
        needs: needs::Known::default(),
        progress: Box::new(move |address| {
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            told(n, total.max(n), address);
        }),
    }
}

/// Works out every node, each once what it needs is.
async fn worked_out(plan: &Arc<PlanWalk>, graph: &Graph, cancel: &CancellationToken) {
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
            let cell = if plan.wishes.works_out(step) {
                plan.run(step).await
            } else {
                let mut cell = keep_as_stored(&plan.walk, &plan.prior, step);
                cell.append(plan.by_state(step).await);
                cell
            };
            let good = plan.walk.absorb(step, cell);
            plan.needing().pass(&plan.walk.nodes.nodes[step]);
            good
        }
    };
    let urgency = Urgency::default();
    let walking = graph.walk_urgent_first(NODES_AT_A_TIME, &urgency, may, run, |step| {
        leases.ended(graph, step)
    });
    leases.beside(&plan.walk, graph, walking).await;
}

/// The stage of what the walk has found.
fn put_together(
    basis: Basis,
    plan: &PlanWalk,
    found: Gathered,
    at: UnixMs,
    errored: bool,
) -> Result<Stage, Diagnostics> {
    let mut outputs = outputs(plan);
    if errored {
        // What was not got to is none that goes.
        let declared = &basis.root.outputs;
        outputs.retain(|o| o.after.is_some() || o.null || !declared.contains_key(&o.name));
    }
    let PlanWalk {
        walk,
        prior,
        wishes,
        ..
    } = plan;
    let mut changes = in_order(&walk.nodes, found.changes);
    if !prior.renames.is_empty() {
        changes.iter_mut().for_each(|c| c.follow(&prior.renames));
    }
    let narrow = wishes
        .narrow
        .as_ref()
        .filter(|_| basis.request.mode == StageMode::Normal);
    let left = narrow
        .map(|n| n.besides(&changes, prior, &found.expansions))
        .transpose()?;
    if !errored {
        can_be_deployed(&basis, walk, &changes, &outputs)?;
    }
    let (mut statuses, mut checked) = (found.statuses, found.checked);
    if basis.request.mode == StageMode::Destroy {
        // What is to go need not fulfil anything, so nothing was looked at to the end.
        statuses = Statuses::default();
        statuses.complete(&basis.root, |_| false);
        checked = Checked::default();
    } else {
        statuses.complete(&basis.root, |node| {
            walk.nodes
                .step(node)
                .is_some_and(|step| wishes.works_out(step))
        });
        checked.complete(plan, &found.expansions);
    }
    let relevant = relevant::of_plan(plan, &changes, &outputs);
    Ok(Stage {
        id: basis.id,
        variables: variables::of(&basis.root, &basis.written),
        overridden: basis.overridden,
        request: basis.request,
        at,
        took_ms: 0,
        digests: basis.digests,
        sights: walk.around.sights.seen(),
        origin: basis.origin,
        state_serial: prior.serial,
        changes,
        left: left.unwrap_or_default(),
        outputs,
        drift: found.drift,
        edits: prior.moves.iter().cloned().chain(found.edits).collect(),
        statuses,
        checked,
        relevant,
    })
}

/// A stage that cannot be deployed is of no use, so that shows now.
fn can_be_deployed(
    basis: &Basis,
    walk: &Walk,
    changes: &[Change],
    outputs: &[OutputChange],
) -> Result<(), Diagnostic> {
    let all: BTreeSet<usize> = (0..changes.len())
        .filter(|&i| steps::acts(&changes[i]))
        .collect();
    let outputs: Vec<&OutputChange> = outputs.iter().collect();
    let ends = steps::ends(&walk.nodes, &basis.request, &outputs);
    steps::build(&walk.nodes, changes, &all, &ends).map(|_| ())
}

/// Changes in the order of dependencies; among equals by address.
fn in_order(nodes: &Nodes, mut changes: Vec<(Step, Change)>) -> Vec<Change> {
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
