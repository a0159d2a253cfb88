//! Import of one object by command: resolves its address in the configuration, configures its
//! provider from the state, then looks the object up by id and reads it. The only side effects are
//! provider calls; the caller stores the record.

use super::cell::Cell;
use super::create_first::create_first;
use super::encoding::StageCodecError;
use super::ephemeral::OpenTime;
use super::expand::{self, Meta};
use super::import::{self, ImportTarget};
use super::managed::Prior;
use super::nodes::Node;
use super::objects::{self, RecordContext};
use super::plan::with_address;
use super::prior::PriorState;
use super::scope::ModuleScope;
use super::state_values::stored_cell;
use super::values::{Extent, Repetition};
use super::walk::Walk;
use cty::schema::Schema;
use graph::Step;
use lang::addr::{AbsInstance, AbsResource, Mode};
use lang::config::{Module, Resource};
use lang::diag::{Diagnostic, Diagnostics};
use model::{ConfigKey, short_provider};
use std::fmt::Display;
use std::sync::Arc;
use store::records::StateObject;
use workspace::provider_addr;

/// Nodes evaluated at a time.
const NODES_AT_A_TIME: usize = 64;
/// Limit of names listed in an error.
const MAX_LISTED: usize = 10;

/// Returns the state record of the object for `address`, found under `id`; `None` if the
/// diagnostics contain the reasons. `prior` is the state with its moves applied.
pub async fn import_object(
    walk: &Arc<Walk>,
    prior: &Arc<PriorState>,
    address: &AbsInstance,
    id: &str,
) -> (Option<StateObject>, Diagnostics) {
    let mut cell = Cell::default();
    let object = fetch_imported(walk, prior, address, id, &mut cell).await;
    let mut said = walk.cells.merge_in_order(walk.nodes.graph.order()).diags;
    said.append(cell.diags);
    (object, said)
}

async fn fetch_imported(
    walk: &Arc<Walk>,
    prior: &Arc<PriorState>,
    address: &AbsInstance,
    id: &str,
    cell: &mut Cell,
) -> Option<StateObject> {
    let refuse = |d: Diagnostic, cell: &mut Cell| {
        cell.report(d.with_address(address.to_string()));
        None
    };
    let (module, resource) = match declared(walk, address) {
        Ok(found) => found,
        Err(d) => return refuse(d, cell),
    };
    let config = address.config();
    let step = walk.nodes.step(&Node::Resource(config.clone()))?;
    evaluate_needs(walk, prior, step).await;
    // The closure ran without this step, so an error in there is final: the provider or the keys of
    // the instance may depend on it.
    if walk.cells.has_errors() || walk.cancel.is_cancelled() {
        return None;
    }
    let repetition = match instance(walk, module, resource, address, cell)? {
        Ok(repetition) => repetition,
        Err(d) => return refuse(d.at(resource.span), cell),
    };
    let route = provider_addr::route_of(&walk.context.root, module, resource);
    let (key, provider) = walk.choose(&route, address, &repetition, cell)?;
    let Some(schema) = walk.context.schema(&key.address, &address.resource) else {
        let detail = format!(
            "{} has no resource type {:?}.",
            short_provider(&key.address),
            &*address.resource.kind
        );
        return refuse(
            Diagnostic::error("Unsupported resource type", detail).at(resource.span),
            cell,
        );
    };
    let wanted = ImportTarget {
        id: id.to_owned(),
        identity: None,
        span: resource.span,
    };
    let ctx = walk.context_of(&key.address, address, cell)?;
    let found = match import::fetch(walk, provider.as_ref(), schema, address, &wanted, &ctx).await {
        Err(diags) => {
            cell.report(diags);
            return None;
        }
        Ok((found, diags)) => {
            cell.report(diags);
            found
        }
    };
    match record(
        walk,
        prior,
        (step, resource),
        address,
        (&key, schema),
        found,
    ) {
        Ok(object) => Some(object),
        Err(e) => refuse(
            Diagnostic::error("Failed to record the imported object", e.to_string()),
            cell,
        ),
    }
}

fn record(
    walk: &Walk,
    prior: &PriorState,
    (step, resource): (Step, &Resource),
    address: &AbsInstance,
    (key, schema): (&ConfigKey, &Schema),
    found: Prior,
) -> Result<StateObject, StageCodecError> {
    let dependencies = walk.nodes.dependencies(step);
    let around = RecordContext {
        address,
        deposed: "",
        provider: key,
        tainted: false,
        // Recorded as a deploy would record it.
        create_before_destroy: create_first(&walk.nodes, &walk.context.root, prior, |_| true)
            .contains(&address.config()),
        skip_destroy: resource.lifecycle.forgets(),
        dependencies: &dependencies,
        needs: &Default::default(),
        identity: objects::encode_identity(
            &walk.context,
            key,
            &address.resource.kind,
            found.identity.as_ref(),
        ),
    };
    objects::record(&around, schema, &found.value, &found.private)
}

/// Evaluates the dependencies of a node, but not the node itself. Other resources keep the values
/// of the state.
async fn evaluate_needs(walk: &Arc<Walk>, prior: &Arc<PriorState>, step: Step) {
    let needed = walk.nodes.graph.closure([step]);
    let run = |s| {
        let (wanted, walk, prior) = (
            s != step && needed.contains(&s),
            walk.clone(),
            prior.clone(),
        );
        async move {
            // Steps outside of the closure succeed without work, so that the walk passes them.
            if !wanted {
                return true;
            }
            let cell = match &walk.nodes.nodes[s] {
                Node::Resource(r) if r.resource.mode == Mode::Ephemeral => {
                    walk.open(s, (r, &Extent::all()), &|_| OpenTime::Now).await
                }
                node => match walk.evaluate_common(node, &Extent::all()).await {
                    Some(cell) => cell,
                    // An import changes one object, so other resources are not planned.
                    None => stored_cell(&walk, &prior, s),
                },
            };
            walk.publish(s, cell)
        }
    };
    walk.nodes
        .graph
        .walk(NODES_AT_A_TIME, || !walk.cancel.is_cancelled(), run)
        .await;
}

/// Returns the resource's block with its module, or an error with the closest name.
fn declared<'w>(
    walk: &'w Walk,
    address: &AbsInstance,
) -> Result<(&'w Module, &'w Resource), Diagnostic> {
    let path = address.module.path();
    let found = walk
        .module(&path)
        .and_then(|module| Some((module, module.resources.get(&address.resource)?)));
    found.ok_or_else(|| {
        let all: Vec<String> = walk.nodes.nodes.iter().filter_map(Node::resource).map(ToString::to_string).collect();
        let wrong = address.config().to_string();
        let near = lang::eval::closest(&wrong, all.iter().map(String::as_str));
        let hint = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        let detail = format!("{wrong} is not in the configuration. Declare the resource before you import its object.{hint}");
        Diagnostic::error("Configuration for import target does not exist", detail)
    })
}

/// Returns `count` and `each` of a declared instance, or an error if the configuration does not
/// declare it; `None` if its expressions failed.
fn instance(
    walk: &Walk,
    module: &Module,
    resource: &Resource,
    address: &AbsInstance,
    cell: &mut Cell,
) -> Option<Result<Repetition, Diagnostic>> {
    let refuse = |missing: String, there: String| {
        let detail = format!("{missing} in the configuration. {there}");
        Some(Err(Diagnostic::error(
            "The configuration has no such instance",
            detail,
        )))
    };
    // The module instance comes first, because a resource exists only within it.
    let modules = walk.context.values.instances(&address.module.path());
    if !modules.contains(&address.module) {
        return refuse(
            format!("There is no {}", address.module),
            names(modules.iter()),
        );
    }
    let abs: AbsResource = address.abs();
    let meta = Meta {
        count: resource.count.as_ref(),
        for_each: resource.for_each.as_ref(),
        enabled: resource.lifecycle.enabled.as_ref(),
    };
    let (expansion, diags) =
        expand::expand(&ModuleScope::new(&walk.context, module, &abs.module), meta);
    if !cell.report(with_address(diags, address)) {
        return None;
    }
    let mut all = expansion?.instances();
    if let Some(at) = all.iter().position(|(key, _)| *key == address.key) {
        return Some(Ok(all.swap_remove(at).1));
    }
    refuse(
        format!("There is no {address}"),
        names(all.into_iter().map(|(key, _)| abs.instance(key))),
    )
}

/// Lists the declared names for the error.
fn names(all: impl ExactSizeIterator<Item = impl Display>) -> String {
    let count = all.len();
    let some: Vec<String> = all.take(MAX_LISTED).map(|name| name.to_string()).collect();
    match (some.is_empty(), count > MAX_LISTED) {
        (true, _) => "It declares no instances.".to_owned(),
        (false, true) => format!(
            "Declared instances: {}, and {} more.",
            some.join(", "),
            count - MAX_LISTED
        ),
        (false, false) => format!("Declared instances: {}.", some.join(", ")),
    }
}
