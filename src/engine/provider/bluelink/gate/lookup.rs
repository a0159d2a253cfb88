//! Looks up an object in the state for a plugin, by its id.

use crate::engine::calls::Held;
use crate::engine::provider::Bytes;
use crate::engine::provider::bluelink::convert::{Unknown, encode};
use crate::engine::provider::bluelink::neighbours::{Neighbour, Neighbours, refused};
use crate::engine::provider::bluelink::schema::{Definition, ty, type_name};
use crate::engine::provider::bluelink::state::{Kept, fit};
use cty::Value;
use proto::bluelink::pluginservicev1::LookupResourceInStateRequest;
use proto::bluelink::sharedtypesv1::{
    ErrorResponse, PreciseResourceStatus, ResourceState, ResourceStatus,
};

impl Neighbours {
    /// Returns the object of a type with this external id, from the state.
    pub(in super::super) fn look_up(
        &self,
        id: &str,
        said: &LookupResourceInStateRequest,
    ) -> Result<ResourceState, ErrorResponse> {
        let what = format!("look up {:?} for plugins", said.resource_type);
        // The token keeps the requesting call from ending before the lookup.
        let (asking, _until_done) = self.gate.asking(id, said.context.as_ref(), &what)?;
        let standing = asking.lane.standing("LookupResourceInState", asking.text());
        let found = self.found(id, said, |who, kind| {
            asking.ledger.objects(&who.address, kind)
        });
        standing.answered(found.as_ref().err().map(|e| e.message.as_str()));
        found
    }

    fn found(
        &self,
        id: &str,
        said: &LookupResourceInStateRequest,
        objects: impl Fn(&Neighbour, &str) -> Vec<Held>,
    ) -> Result<ResourceState, ErrorResponse> {
        // Each workspace is its own instance, and plugins must not read the state of another.
        let settings = &self.gate.settings;
        if said.instance_id != settings.instance_id {
            return Err(refused(format!(
                "unknown instance {:?}: this workspace is {:?}",
                said.instance_id, settings.instance_id
            )));
        }
        let kind = type_name(&said.resource_type);
        let of = |n: &Neighbour| {
            let of = n.definitions.get(&kind);
            of.is_some_and(|of| of.wire == said.resource_type)
        };
        // Names in configurations are not unique among plugins, so the name in the protocol
        // decides.
        let who = self.having(id, &format!("resource type {:?}", said.resource_type), of)?;
        let Some(of) = who.definitions.get(&kind) else {
            return Err(refused(format!("{} has no resource type {kind}", who.id)));
        };
        let all = objects(&who, &kind);
        let found = all.iter().find_map(|held| {
            let object = read(of, held)?;
            let is_it = world_id(of, &object).as_deref() == Some(&*said.external_id);
            is_it.then_some((held, object))
        });
        let Some((held, object)) = found else {
            return Err(refused(format!(
                "the state has no {} whose {} is {:?}",
                said.resource_type, of.id_field, said.external_id
            )));
        };
        Ok(state(of, held, &object, &settings.instance_id))
    }
}

/// Decodes an object of the state; `None` if it does not match the schema.
pub(in super::super) fn read(of: &Definition, held: &Held) -> Option<Value> {
    let wanted = ty(&of.node);
    let stored = serde_json::from_str(&held.attributes).ok()?;
    cty::json::decode_value(&fit(stored, &wanted), &wanted).ok()
}

/// Returns the external id of an object, as text.
pub(in super::super) fn world_id(of: &Definition, object: &Value) -> Option<String> {
    let id = object.get_attr(&of.id_field)?;
    let id = cty::convert(&id, &cty::Type::String).ok()?;
    id.as_str().map(str::to_owned)
}

fn state(of: &Definition, held: &Held, object: &Value, instance_id: &str) -> ResourceState {
    let (status, precise) = match held.tainted {
        false => (ResourceStatus::Created, PreciseResourceStatus::Created),
        true => (
            ResourceStatus::CreateFailed,
            PreciseResourceStatus::CreateFailed,
        ),
    };
    ResourceState {
        id: Kept::of(&Bytes::from(held.private.clone())).resource_id,
        name: held.address.clone(),
        r#type: of.wire.clone(),
        instance_id: instance_id.to_owned(),
        status: status.into(),
        precise_status: precise.into(),
        spec_data: encode(object, Some(&of.node), Unknown::Omitted),
        ..ResourceState::default()
    }
}
