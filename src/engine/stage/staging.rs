//! One staging from beginning to end: moves, the validating walk, the planning walk, and what they
//! found put together.

use super::cell::{Cell, Gathered};
use super::change::{Change, Digests, OutputChange, Stage};
use super::conditions::Statuses;
use super::ephemeral::Leases;
use super::import;
use super::moves;
use super::narrow::Narrow;
use super::needs;
use super::nodes::{Node, Nodes, Sources};
use super::objects;
use super::plan::{PlanWalk, Wishes};
use super::prior::PriorState;
use super::refactor_checks;
use super::scope::{Phase, Surroundings, timestamp};
use super::sights::Sights;
use super::steps;
use super::validate;
use super::values::{Values, Worked};
use super::walk::{Providers, Walk};
use crate::engine::graph::{Starts, Step, Urgency};
use crate::engine::provider::ProviderSchema;
use crate::engine::store::model::State;
use crate::engine::words::{Action, StageId, StageMode, StageRequest, UnixMs, now_ms};
use cty::{Mark, Value};
use lang::addr::{AbsInstance, ConfigResource, InstanceKey, Mode, Target};
use lang::config::Module;
use lang::diag::{Diagnostic, Diagnostics};
use lang::source::{SourceMap, Span};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

/// How many nodes are worked on at a time; what really limits is slots of plugins and `parallelism`
/// within a resource.
const NODES_AT_A_TIME: usize = 64;

/// All that a staging starts from.
pub struct Order {
    pub id: StageId,
    pub request: StageRequest,
    pub root: Arc<Module>,
    pub dir: PathBuf,
    pub sources: SourceMap,
    pub schemas: HashMap<Arc<str>, Arc<ProviderSchema>>,
    pub state: State,
    pub given: HashMap<Arc<str>, (Value, Option<Span>)>,
    pub digests: Digests,
    pub providers: Arc<dyn Providers>,
    pub cancel: CancellationToken,
    /// Set when plugins are killed: what is open cannot be closed any more.
    pub kill: CancellationToken,
    pub parallelism: usize,
    /// Called after each resource instance: how many are done, of how many, and which.
    pub progress: Arc<dyn Fn(u32, u32, &str) + Send + Sync>,
}

impl Order {
    fn walk(&self, phase: Phase, prior: &PriorState, at: UnixMs) -> Walk {
        let around = Surroundings {
            root: self.root.clone(),
            dir: self.dir.clone(),
            sources: self.sources.clone(),
            phase,
            schemas: self.schemas.clone(),
            functions: self.providers.functions(),
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
async fn validate(order: &Order, prior: &PriorState, at: UnixMs) -> Diagnostics {
    let walk = Arc::new(order.walk(Phase::Validate, prior, at));
    if let Some(d) = cycle(&walk.nodes, &order.root) {
        // References can still be wrong apart from the cycle; the reference engine reports the
        // cycle alone.
        return d.into();
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
        .walk(NODES_AT_A_TIME, || !order.cancel.is_cancelled(), run)
        .await;
    let mut cell = Cell::default();
    cell.report(names);
    cell.report(walk.cells.gather(walk.nodes.graph.order()).diags);
    cell.report(import::validate(&walk));
    cell.report(refactor_checks::removed(&order.root));
    cell.diags
}

/// What is wrong with a configuration by itself, whatever is in the state; with warnings.
pub async fn validated(order: &Order) -> Diagnostics {
    validate(order, &PriorState::new(&State::default()), now_ms()).await
}

/// A stage, or the reasons why there is none; with warnings either way.
pub async fn stage(order: Order) -> (Option<Stage>, Diagnostics) {
    let (began, at) = (std::time::Instant::now(), now_ms());
    let mut prior = PriorState::new(&order.state);
    let targets = match read_targets(&order.request) {
        Ok(targets) => targets,
        Err(d) => return (None, d.into()),
    };
    // Which moves are wrong shows once it is known what there is; that they go in a circle is said
    // where nothing else is.
    let (mut diags, circle) = match moves::apply(&order.root, &mut prior) {
        Ok(said) => (said, Diagnostics::new()),
        Err(circle) => (Diagnostics::new(), circle),
    };
    diags.append(validate(&order, &prior, at).await);
    if !diags.has_errors() {
        diags.append(import::undeclared(&order.root));
    }
    if !diags.has_errors() {
        diags.extend(refactor_checks::targeted(
            &prior,
            &targets.target,
            &targets.exclude,
        ));
    }
    if diags.has_errors() || order.cancel.is_cancelled() {
        return (None, diags);
    }

    let may = || {
        if order.cancel.is_cancelled() {
            Starts::None
        } else {
            Starts::All
        }
    };
    let planning = Walk {
        destroying: order.request.mode == StageMode::Destroy,
        ..order.walk(Phase::Plan, &prior, at)
    };
    diags.extend(nowhere(&order.request, &planning.nodes));
    let narrow = Narrow::new(
        &planning.nodes,
        &order.root,
        &prior,
        targets.target,
        targets.exclude,
        order.request.mode,
    );
    let create_first = create_first(&planning.nodes, &order.root, &prior);
    let total = u32::try_from(
        prior
            .resources
            .values()
            .map(|i| i.len())
            .sum::<usize>()
            .max(order.root.all().iter().map(|m| m.resources.len()).sum()),
    )
    .unwrap_or(u32::MAX);
    let (done, told) = (AtomicU32::new(0), order.progress.clone());
    let plan = Arc::new(PlanWalk {
        walk: planning,
        prior,
        wishes: Wishes {
            mode: order.request.mode,
            refresh: !order.request.no_refresh,
            replace: targets.replace,
            narrow,
            parallelism: order.parallelism,
        },
        create_first,
        needs: needs::Known::default(),
        progress: Box::new(move |address| {
            let n = done.fetch_add(1, Ordering::Relaxed) + 1;
            told(n, total.max(n), address);
        }),
    });
    let (graph, leases) = (&plan.walk.nodes.to_plan(), &plan.walk.leases);
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
    let mut faults = plan.moves_faults();
    if !faults.has_errors() {
        faults.append(circle);
    }
    if faults.has_errors() && !order.cancel.is_cancelled() {
        // Objects that were moved wrongly are likely the cause of all other errors, so those are
        // not shown.
        diags.append(faults);
        return (None, diags);
    }
    // What was said of the configuration as a whole is said again of its instances.
    let before = diags.len();
    let Gathered {
        changes,
        drift,
        edits,
        statuses,
        diags: said,
    } = plan.walk.cells.gather(graph.order());
    for d in said {
        if !diags.0[..before].contains(&d) {
            diags.push(d);
        }
    }
    if diags.has_errors() || order.cancel.is_cancelled() {
        return (None, diags);
    }
    let outputs = outputs(&plan);
    let PlanWalk {
        walk,
        prior,
        wishes,
        ..
    } = &*plan;
    let changes = in_order(&walk.nodes, changes);
    let narrow = wishes
        .narrow
        .as_ref()
        .filter(|_| order.request.mode == StageMode::Normal);
    let left = match narrow.map(|n| n.besides(&changes, prior)) {
        Some(Err(faults)) => {
            diags.append(faults);
            return (None, diags);
        }
        left => left.and_then(Result::ok).unwrap_or_default(),
    };
    // A stage that cannot be deployed is of no use, so that shows now.
    let all: BTreeSet<usize> = (0..changes.len())
        .filter(|&i| steps::acts(&changes[i]))
        .collect();
    let ends = steps::ends(
        &walk.nodes,
        &order.request,
        &outputs.iter().collect::<Vec<_>>(),
    );
    if let Err(cycle) = steps::build(&walk.nodes, &changes, &all, &ends) {
        diags.push(cycle);
        return (None, diags);
    }
    let mut statuses = statuses;
    if order.request.mode == StageMode::Destroy {
        // What is to go need not fulfil anything, so nothing was looked at to the end.
        statuses = Statuses::default();
        statuses.complete(&order.root, |_| false);
    } else {
        statuses.complete(&order.root, |node| {
            walk.nodes
                .step(node)
                .is_some_and(|step| wishes.works_out(step))
        });
    }
    let stage = Stage {
        id: order.id,
        request: order.request,
        at,
        took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        digests: order.digests,
        sights: walk.around.sights.seen(),
        state_serial: prior.serial,
        changes,
        left,
        outputs,
        drift,
        edits: prior.moves.iter().cloned().chain(edits).collect(),
        statuses,
        variables: order
            .root
            .variables
            .iter()
            .filter_map(|(name, v)| {
                let value = order
                    .given
                    .get(name)
                    .map(|(value, _)| value.clone())
                    .or_else(|| v.default.clone())?;
                Some((
                    name.clone(),
                    if v.ephemeral {
                        value.mark(Mark::Ephemeral)
                    } else {
                        value
                    },
                ))
            })
            .collect(),
    };
    (Some(stage), diags)
}

struct Targets {
    target: Vec<Target>,
    exclude: Vec<Target>,
    replace: Vec<AbsInstance>,
}

fn read_targets(request: &StageRequest) -> Result<Targets, Diagnostic> {
    if !request.target.is_empty() && !request.exclude.is_empty() {
        let detail = "A stage is limited to addresses with --target, or leaves addresses out with --exclude. Give one of the two.";
        return Err(Diagnostic::error(
            "--target and --exclude cannot be combined",
            detail,
        ));
    }
    let all = |texts: &[String], flag: &str| -> Result<Vec<Target>, Diagnostic> {
        texts
            .iter()
            .map(|t| {
                t.parse().map_err(|e: lang::addr::AddrError| {
                    Diagnostic::error(format!("Invalid address for --{flag}"), e.to_string())
                })
            })
            .collect()
    };
    let replace = request
        .replace
        .iter()
        .map(|t| {
            t.parse().map_err(|e: lang::addr::AddrError| {
                Diagnostic::error("Invalid address for --replace", e.to_string())
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Targets {
        target: all(&request.target, "target")?,
        exclude: all(&request.exclude, "exclude")?,
        replace,
    })
}

/// Addresses that were given and that neither the configuration nor the state has. Staging goes on:
/// one that is gone already is no error, but a slip of the pen must be seen, above all where it was
/// to be left out.
fn nowhere(request: &StageRequest, nodes: &Nodes) -> Vec<Diagnostic> {
    let flags = [
        ("target", &request.target, "Nothing is staged for it."),
        ("exclude", &request.exclude, "Nothing is left out for it."),
        ("replace", &request.replace, "Nothing is replaced for it."),
    ];
    let known = |t: &Target| {
        nodes
            .nodes
            .iter()
            .any(|n| n.resource().is_some_and(|r| t.may_contain(r)))
    };
    let missing = |text: &&String| text.parse::<Target>().is_ok_and(|t| !known(&t));
    let warning = |flag: &str, text: &String, then: &str| {
        let detail = format!("Neither the configuration nor the state has {text}. {then}");
        Diagnostic::warning(format!("--{flag} names nothing"), detail)
    };
    flags
        .iter()
        .flat_map(|(flag, texts, then)| {
            texts
                .iter()
                .filter(missing)
                .map(move |text| warning(flag, text, then))
        })
        .collect()
}

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

/// Resources that are replaced by creating first: declared so, or needed by such a one, or known as
/// such by the state where they are declared no longer.
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
    nodes
        .graph
        .closure(declared)
        .into_iter()
        .filter_map(|s| nodes.nodes[s].resource().cloned())
        .filter(|r| r.resource.mode == Mode::Managed)
        .collect()
}

/// A node that is not staged: resources keep the value that the state has, everything else stays
/// without one.
pub(super) fn keep_as_stored(walk: &Walk, prior: &PriorState, step: Step) -> Cell {
    let mut cell = Cell::default();
    let Node::Resource(address) = &walk.nodes.nodes[step] else {
        return cell;
    };
    if address.resource.mode == Mode::Ephemeral {
        return walk.leave_shut(address);
    }
    let Some(module) = walk.module(&address.module) else {
        return cell;
    };
    let Some(resource) = module.resources.get(&address.resource) else {
        return cell;
    };
    let key =
        crate::engine::workspace::provider_addr::for_resource(&walk.around.root, module, resource);
    let Some(schema) = walk.around.schema(&key.address, &address.resource) else {
        return cell;
    };
    let ty = schema.implied_type().clone();
    for (abs, instances) in prior.of_config(address) {
        let values: Vec<(InstanceKey, Value)> = instances
            .iter()
            .filter_map(|(k, o)| {
                let object = o.current.as_ref()?;
                let value = cty::json::decode(object.attributes.as_bytes(), &ty).ok()?;
                Some((k.clone(), super::prior::marked(value, &object.sensitive)))
            })
            .collect();
        let value = if resource.count.is_some() {
            Value::tuple(values.into_iter().map(|(_, v)| v).collect())
        } else if resource.for_each.is_some() {
            Value::object(values.into_iter().map(|(k, v)| {
                (
                    if let InstanceKey::Str(s) = k {
                        s
                    } else {
                        "".into()
                    },
                    v,
                )
            }))
        } else {
            values
                .into_iter()
                .next()
                .map_or_else(|| Value::unknown(ty.clone()), |(_, v)| v)
        };
        cell.values.push(Worked::Resource(abs.clone(), value));
    }
    cell
}

/// The changes of root outputs.
fn outputs(plan: &PlanWalk) -> Vec<OutputChange> {
    // A narrowed destroy leaves them as they are.
    if plan.wishes.mode == StageMode::Destroy && plan.wishes.narrow.is_some() {
        return Vec::new();
    }
    let root = lang::addr::ModuleInstance::root();
    let declared = &plan.walk.around.root.outputs;
    let mut names: BTreeSet<Arc<str>> = declared.keys().cloned().collect();
    names.extend(plan.prior.outputs.keys().map(|n| Arc::from(n.as_str())));
    let mut out = Vec::new();
    for name in names {
        let stored = plan.prior.outputs.get(name.as_ref());
        let before = stored.and_then(objects::output_value);
        let output = declared.get(&name);
        // Outside of what is staged, or declared no longer while not all is: it stays.
        let step = plan
            .walk
            .nodes
            .step(&Node::Output(lang::addr::ModulePath::root(), name.clone()));
        if !step.map_or_else(
            || plan.wishes.narrow.is_none(),
            |step| plan.wishes.works_out(step),
        ) {
            continue;
        }
        let destroying = plan.wishes.mode == StageMode::Destroy;
        let refreshed = destroying
            && plan.wishes.refresh
            && !(plan.prior.resources.is_empty() && plan.prior.outputs.is_empty());
        let worked_out = output
            .filter(|o| !o.ephemeral)
            .and_then(|_| plan.walk.around.values.output(&root, &name));
        let given = |v: &Value| !(v.is_known() && v.is_null());
        // A destroy ends what refreshing a state that is there would have put into it, even if it
        // was never deployed.
        let before = before.or_else(|| {
            worked_out
                .clone()
                .filter(|v| refreshed && v.is_wholly_known() && given(v))
        });
        let after = worked_out.filter(|v| !destroying && given(v));
        let sensitive = output.is_some_and(|o| o.sensitive) || stored.is_some_and(|o| o.sensitive);
        let action = match (&before, &after) {
            (None, None) if destroying || output.is_none_or(|o| o.ephemeral) => continue,
            (None, None) => Action::NoOp,
            (None, Some(_)) => Action::Create,
            // One that is declared and null is kept nowhere, and yet it is no deletion.
            (Some(_), None) if !destroying && output.is_some_and(|o| !o.ephemeral) => {
                Action::Update
            }
            (Some(_), None) => Action::Destroy,
            (Some(b), Some(a)) => {
                let same = b
                    .clone()
                    .unmark_deep()
                    .0
                    .raw_equals(&a.clone().unmark_deep().0);
                let marked =
                    stored.is_some_and(|o| o.sensitive) == output.is_some_and(|o| o.sensitive);
                if same && marked {
                    Action::NoOp
                } else {
                    Action::Update
                }
            }
        };
        let needs = plan.needing().of_output(&name);
        out.push(OutputChange {
            name,
            action,
            before,
            after,
            sensitive,
            needs,
        });
    }
    out
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
