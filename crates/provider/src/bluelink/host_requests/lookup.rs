//! Looks up an object in the state for a plugin, by its id.

use crate::Bytes;
use crate::bluelink::convert::{Unknown, encode};
use crate::bluelink::cross_plugin_calls::{RunningPlugin, RunningPlugins, refused};
use crate::bluelink::schema::{Definition, ty, type_name};
use crate::bluelink::state::{PrivateState, fit_to_type};
use calls::StateEntry;
use cty::Value;
use proto::bluelink::pluginservicev1::LookupResourceInStateRequest;
use proto::bluelink::sharedtypesv1::{
    ErrorResponse, PreciseResourceStatus, ResourceState, ResourceStatus,
};

impl RunningPlugins {
    /// Returns the object of a type with this external id, from the state.
    pub(in super::super) fn look_up_resource(
        &self,
        id: &str,
        said: &LookupResourceInStateRequest,
    ) -> Result<ResourceState, ErrorResponse> {
        let what = format!("look up {:?} for plugins", said.resource_type);
        // The token keeps the requesting call from ending before the lookup.
        let (asking, _until_done) =
            self.active_calls
                .active_call(id, said.context.as_ref(), &what)?;
        let standing = asking
            .lane
            .begin_host_request("LookupResourceInState", asking.text());
        let found = self.find_resource(id, said, |who, kind| {
            asking.side_effects.objects(&who.address, kind)
        });
        standing.report_answer(found.as_ref().err().map(|e| e.message.as_str()));
        found
    }

    fn find_resource(
        &self,
        id: &str,
        said: &LookupResourceInStateRequest,
        objects: impl Fn(&RunningPlugin, &str) -> Vec<StateEntry>,
    ) -> Result<ResourceState, ErrorResponse> {
        // Each workspace is its own instance, and plugins must not read the state of another.
        let settings = &self.active_calls.settings;
        if said.instance_id != settings.instance_id {
            return Err(refused(format!(
                "unknown instance {:?}: this workspace is {:?}",
                said.instance_id, settings.instance_id
            )));
        }
        let kind = type_name(&said.resource_type);
        let of = |n: &RunningPlugin| {
            let of = n.definitions.get(&kind);
            of.is_some_and(|of| of.wire == said.resource_type)
        };
        // Names in configurations are not unique among plugins, so the name in the protocol
        // decides.
        let who = self.plugin_with(id, &format!("resource type {:?}", said.resource_type), of)?;
        let Some(of) = who.definitions.get(&kind) else {
            return Err(refused(format!("{} has no resource type {kind}", who.id)));
        };
        let all = objects(&who, &kind);
        let found = all.iter().find_map(|held| {
            let object = read(of, held)?;
            let is_it = external_id(of, &object).as_deref() == Some(&*said.external_id);
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
pub(in super::super) fn read(of: &Definition, held: &StateEntry) -> Option<Value> {
    let wanted = ty(&of.node);
    let stored = serde_json::from_str(&held.attributes).ok()?;
    cty::json::decode_value(&fit_to_type(stored, &wanted), &wanted).ok()
}

/// Returns the external id of an object, as text.
pub(in super::super) fn external_id(of: &Definition, object: &Value) -> Option<String> {
    let id = object.get_attr(&of.id_field)?;
    let id = cty::convert(&id, &cty::Type::String).ok()?;
    id.as_str().map(str::to_owned)
}

fn state(of: &Definition, held: &StateEntry, object: &Value, instance_id: &str) -> ResourceState {
    let (status, precise) = match held.tainted {
        false => (ResourceStatus::Created, PreciseResourceStatus::Created),
        true => (
            ResourceStatus::CreateFailed,
            PreciseResourceStatus::CreateFailed,
        ),
    };
    ResourceState {
        id: PrivateState::decode(&Bytes::from(held.private.clone())).resource_id,
        name: held.address.clone(),
        r#type: of.wire.clone(),
        instance_id: instance_id.to_owned(),
        status: status.into(),
        precise_status: precise.into(),
        spec_data: encode(object, Some(&of.node), Unknown::Omitted),
        ..ResourceState::default()
    }
}
