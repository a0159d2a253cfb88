//! Removes values written by links from the observed spec of a resource, because they are no drift
//! of it. Pure.

use super::private_data::LinkPrivate;
use super::record::{Record, steps};
use super::schema::link_schema;
use crate::bluelink::paths::{get, parse, remove_at, set_at};
use crate::bluelink::state::fit_to_type;
use calls::{CallContext, StateEntry};
use cty::Value;
use proto::bluelink::schema::MappingNode;

/// Returns the observed spec without values written by links; fields that the state has itself get
/// the stored value.
pub(in super::super) fn without_links(
    mut seen: MappingNode,
    stored: &MappingNode,
    ctx: &CallContext,
) -> MappingNode {
    let (Some(linked), Some(address)) = (&ctx.linked, &ctx.resource) else {
        return seen;
    };
    for link in &linked.ending_links {
        let (kept, object) = (LinkPrivate::decode(&link.private), object(link));
        let data = Record::from_object(&object).data();
        let own = [0, 1].map(|end| format!("{}::", kept.name(&object, end, address)));
        for (field, path) in &kept.mappings {
            let field = own.iter().find_map(|own| field.strip_prefix(own));
            let Some(field) = field.and_then(parse) else {
                continue;
            };
            let written = steps(path).and_then(|steps| get(&data, &steps).cloned());
            let Some(there) = get(&seen, &field) else {
                continue;
            };
            // Another program has changed it since, which is drift.
            if written.is_none_or(|written| written != *there) {
                continue;
            }
            // The link may have overwritten a value of the resource itself.
            match get(stored, &field).cloned() {
                Some(stored) => set_at(&mut seen, &field, stored),
                None => drop(remove_at(&mut seen, &field)),
            }
        }
    }
    seen
}

/// Decodes a link of the state.
fn object(held: &StateEntry) -> Value {
    let schema = link_schema();
    let ty = schema.implied_type();
    let stored = serde_json::from_str(&held.attributes).ok();
    let object = stored.and_then(|json| cty::json::decode_value(&fit_to_type(json, ty), ty).ok());
    object.unwrap_or_else(|| Value::null(ty.clone()))
}
