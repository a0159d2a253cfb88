//! Reads the observed state of a link's intermediary resources. Changes to the resources at its
//! ends are detected with those resources.

use super::super::decode_error::DecodeError;
use super::annotations::for_ends;
use super::ends::{link_name, link_type};
use super::private_data::LinkPrivate;
use super::record::{PhaseResult, Record, object};
use super::schema::IDS;
use crate::bluelink::adapter::BluelinkProvider;
use crate::bluelink::convert::{Unknown, decode, encode, member_of};
use crate::bluelink::drift::merge_observed;
use crate::bluelink::paths::ROOT;
use crate::bluelink::schema::{NodeKind, ty};
use crate::bluelink::wire::Fault;
use crate::{ReadRequest, ReadResponse};
use calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use cty::Value;
use proto::bluelink::providerserverv1::*;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::ResourceDefinitionsSchema as Node;
use std::collections::BTreeMap;

impl BluelinkProvider {
    /// Reads a link.
    pub(in super::super) async fn read_link(
        &self,
        request: ReadRequest,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        let answer = |state: Value, diagnostics: Vec<ProviderDiagnostic>| ReadResponse {
            state,
            private: request.private.clone(),
            identity: None,
            diagnostics,
        };
        let current = &request.current;
        let mut record = Record::from_object(current);
        // Without known ends the plugin cannot be asked; the plan reports them.
        let kept = LinkPrivate::decode(&request.private);
        let sides = self.sides(ctx, (current, &kept)).ok();
        let sides = sides.filter(|_| !record.intermediaries.is_empty());
        let Some((kind, sides)) = sides else {
            return Ok(answer(current.clone(), Vec::new()));
        };
        let instance = &self.settings.instance_id;
        let annotations = for_ends(kind, current);
        let info =
            |side: usize| Some(sides[side].info(&sides[side].before, instance, &annotations[side]));
        let name = link_name(&sides);
        let asked = GetLinkIntermediaryExternalStateRequest {
            link_type: link_type(kind),
            host_id: self.wire.host_id.clone(),
            instance_id: instance.clone(),
            instance_name: self.settings.instance_name.clone(),
            link_id: kept.link_id.clone(),
            link_name: name.clone(),
            resource_a_info: info(0),
            resource_b_info: info(1),
            intermediary_resource_ids: record.intermediaries.keys().cloned().collect(),
            current_link_state: Some(record.state(&kept, name, instance)),
            context: Some(self.link_context(ctx)),
        };
        let path = "/providerserverv1.Provider/GetLinkIntermediaryExternalState";
        // Not in the set of calls that are repeated.
        let call = (Method::GetLinkIntermediaryExternalState, path);
        let asked = self.item::<GetLinkIntermediaryExternalStateResponse>(call, (ctx, None), asked);
        let seen = match asked.await {
            Ok(complete) => complete.intermediary_states,
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(said)) => {
                // The link stays in the state; a failed read says nothing about its existence.
                let said = said.diagnostic("could not read the intermediary resources of the link");
                return Ok(answer(current.clone(), vec![said]));
            }
        };
        let before = record.intermediaries.clone();
        record.intermediaries = self.current_intermediaries(&before, seen)?;
        // Without a change the state keeps its exact form.
        if record.intermediaries == before {
            return Ok(answer(current.clone(), Vec::new()));
        }
        let ids = IDS.map(|name| member_of(current, name));
        let now = object(current, ids, record.attributes(&kept.sensitive));
        Ok(answer(now, Vec::new()))
    }

    /// Returns the observed intermediaries. One missing in the answer stays as recorded.
    fn current_intermediaries(
        &self,
        before: &BTreeMap<String, PhaseResult>,
        mut seen: std::collections::HashMap<String, IntermediaryExternalState>,
    ) -> Result<BTreeMap<String, PhaseResult>, ProviderError> {
        let mut all = BTreeMap::new();
        for (id, made) in before {
            let Some(state) = seen.remove(id) else {
                all.insert(id.clone(), made.clone());
                continue;
            };
            // Dropped, so that the next plan deploys the link again.
            if !state.exists {
                continue;
            }
            let spec = self.observed_spec(made, state.spec_data.unwrap_or_default());
            let spec = spec.map_err(|what| self.wire.undecodable(Method::Read, what))?;
            let kind = made.kind.clone();
            all.insert(id.clone(), PhaseResult { kind, spec });
        }
        Ok(all)
    }

    /// Returns the relevant part of an observed spec, by the schema of its type if a plugin in use
    /// has it.
    fn observed_spec(
        &self,
        made: &PhaseResult,
        seen: MappingNode,
    ) -> Result<MappingNode, DecodeError> {
        let Some(of) = self.running_plugins.definition_of(&made.kind) else {
            return Ok(retain_known(None, &made.spec, seen));
        };
        let seen = retain_known(Some(&of.node), &made.spec, seen);
        let null = Value::null(ty(&of.node));
        let stored = decode(Some(&made.spec), &of.node, &null, ROOT)?;
        let seen = decode(Some(&seen), &of.node, &stored, ROOT)?;
        // The same rules for drift as for resources.
        let now = merge_observed(&of.node, &stored, &seen);
        if now.raw_equals(&stored) {
            return Ok(made.spec.clone());
        }
        Ok(encode(&now, Some(&of.node), Unknown::Omitted).unwrap_or_default())
    }
}

/// Restricts an observed spec to the recorded fields: others may be set by the environment. Maps
/// keep all their keys.
fn retain_known(of: Option<&Node>, stored: &MappingNode, mut seen: MappingNode) -> MappingNode {
    if stored.fields.is_empty() || of.is_some_and(|of| NodeKind::of(of) == NodeKind::Map) {
        return seen;
    }
    let fields = stored.fields.iter().filter_map(|(name, stored)| {
        let seen = seen.fields.remove(name)?;
        let of = of.and_then(|of| of.attributes.get(name));
        Some((name.clone(), retain_known(of, stored, seen)))
    });
    MappingNode {
        fields: fields.collect(),
        ..MappingNode::default()
    }
}
