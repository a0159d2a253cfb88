//! Results of nodes that a stage with targets or excludes does not evaluate: resources have the
//! value of the state, other nodes none.

use super::cell::Cell;
use super::nodes::Node;
use super::prior::{PriorState, marked};
use super::values::{Extent, PublishedValue};
use super::walk::Walk;
use cty::Value;
use graph::Step;
use lang::addr::{InstanceKey, Mode};

/// Returns the result of a node that the stage does not evaluate: resources have the value of the
/// state, other nodes none.
pub(super) fn stored_cell(walk: &Walk, prior: &PriorState, step: Step) -> Cell {
    let mut cell = Cell::default();
    let Node::Resource(address) = &walk.nodes.nodes[step] else {
        return cell;
    };
    if address.resource.mode == Mode::Ephemeral {
        // Nothing is opened outside of the stage.
        return walk.unopened(address, &Extent::all());
    }
    let Some(module) = walk.module(&address.module) else {
        return cell;
    };
    let Some(resource) = module.resources.get(&address.resource) else {
        return cell;
    };
    let key = workspace::provider_addr::for_resource(&walk.context.root, module, resource);
    let Some(schema) = walk.context.schema(&key.address, &address.resource) else {
        return cell;
    };
    let ty = schema.implied_type().clone();
    for (abs, instances) in prior.of_config(address) {
        let values: Vec<(InstanceKey, Value)> = instances
            .iter()
            .filter_map(|(k, o)| {
                let object = o.current.as_ref()?;
                // An object that does not fit the current schema is skipped, because no provider is
                // called to upgrade it.
                let value = cty::json::decode(object.attributes.as_bytes(), &ty).ok()?;
                Some((k.clone(), marked(value, &object.sensitive)))
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
        cell.values
            .push(PublishedValue::Resource(abs.clone(), value));
    }
    cell
}
