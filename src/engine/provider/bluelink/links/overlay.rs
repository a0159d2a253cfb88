//! What links have written into a resource is no drift of it: it is taken away from what was seen,
//! where it is as the link has it. Pure.

use super::keep::Kept;
use super::record::{Record, steps};
use super::schema::link_schema;
use super::sides::name_of;
use crate::engine::calls::{CallContext, Held};
use crate::engine::provider::bluelink::paths::{get, parse, put, take};
use crate::engine::provider::bluelink::state::fit;
use proto::bluelink::schema::MappingNode;

/// The spec of a resource as it was seen, without what links have written into it; where the state
/// has something else of its own there, with that.
pub(in super::super) fn without_links(
    mut seen: MappingNode,
    stored: &MappingNode,
    ctx: &CallContext,
) -> MappingNode {
    let (Some(linked), Some(address)) = (&ctx.linked, &ctx.resource) else {
        return seen;
    };
    let own = format!("{}::", name_of(address));
    for link in &linked.by {
        let kept = Kept::of(&link.private);
        let data = record(link).data();
        for (field, path) in &kept.mappings {
            let Some(field) = field.strip_prefix(&own).and_then(parse) else {
                continue;
            };
            let written = steps(path).and_then(|steps| get(&data, &steps).cloned());
            let Some(there) = get(&seen, &field) else {
                continue;
            };
            // Somebody else has changed it since.
            if written.is_none_or(|written| written != *there) {
                continue;
            }
            match get(stored, &field).cloned() {
                Some(stored) => put(&mut seen, &field, stored),
                None => drop(take(&mut seen, &field)),
            }
        }
    }
    seen
}

/// A link as the state has it.
fn record(held: &Held) -> Record {
    let schema = link_schema();
    let ty = schema.implied_type();
    let stored = serde_json::from_str(&held.attributes).ok();
    let object = stored.and_then(|json| cty::json::decode_value(&fit(json, ty), ty).ok());
    object.map(|object| Record::of(&object)).unwrap_or_default()
}
