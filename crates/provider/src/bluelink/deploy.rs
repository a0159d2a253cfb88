//! Creates, updates and destroys objects. Calls are repeated by the provider's retry policy. A call
//! without an answer has an unknown outcome and is never repeated.

use super::adapter::BluelinkProvider;
use super::changes::changes;
use super::convert::{Unknown, encode};
use super::merge::Spec;
use super::schema::Definition;
use super::state::{PrivateState, Unstable};
use super::wire::Fault;
use crate::*;
use calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use cty::Value;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::*;
use std::collections::HashMap;

pub(super) const DEPLOY: &str = "/providerserverv1.Provider/DeployResource";
pub(super) const HAS_STABILISED: &str = "/providerserverv1.Provider/ResourceHasStabilised";
pub(super) const DESTROY: &str = "/providerserverv1.Provider/DestroyResource";

/// Identification of an object in calls.
pub(super) struct Named {
    pub(super) kind: Option<ResourceType>,
    pub(super) resource_id: String,
    /// Address in the configuration.
    pub(super) resource_name: String,
}

impl BluelinkProvider {
    pub(super) fn resource_names(
        &self,
        of: &Definition,
        private: &Bytes,
        ctx: &CallContext,
    ) -> Named {
        Named {
            kind: Some(ResourceType {
                r#type: of.wire.clone(),
            }),
            resource_id: PrivateState::decode(private).resource_id,
            resource_name: ctx.resource.as_deref().unwrap_or_default().to_owned(),
        }
    }

    /// Returns the state of an existing object; `None` without any value, because plugins reject an
    /// empty spec.
    fn state(&self, of: &Definition, named: &Named, object: &Value) -> Option<ResourceState> {
        let spec = encode(object, Some(&of.node), Unknown::Omitted)?;
        (!spec.fields.is_empty()).then(|| ResourceState {
            id: named.resource_id.clone(),
            name: named.resource_name.clone(),
            r#type: of.wire.clone(),
            instance_id: self.settings.instance_id.clone(),
            status: ResourceStatus::Created.into(),
            precise_status: PreciseResourceStatus::Created.into(),
            spec_data: Some(spec),
            ..ResourceState::default()
        })
    }

    /// Creates or updates an object.
    pub(super) async fn deploy(
        &self,
        of: &Definition,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let mut kept = PrivateState::decode(&request.private);
        let named = self.resource_names(of, &kept.bytes(), ctx);
        let changes = changes(of, &request.prior, &request.planned);
        let asked_for = spec_of(of, &request.planned);
        // A copy of the request's spec: it grows with the values that the plugin sets.
        let mut spec = Spec::for_update(of, asked_for.clone(), &spec_of(of, &request.prior));
        // Decoded before the call, so that an invalid spec fails without a change.
        let like = spec.object(of, &request.planned);
        let like = like.map_err(|what| self.wire.undecodable(Method::DeployResource, what))?;
        // An earlier deploy applied this configuration, so only the wait for stability is left.
        let waits = kept.unstable.is_some() && !request.prior.is_null() && is_none(&changes);
        if !waits {
            let wire = self.deployment(&named, &request, (of, changes, asked_for), ctx);
            match self.call_deploy(wire, ctx).await {
                Ok(set) => spec.merge(of, set),
                Err(Fault::Call(error)) => return Err(error),
                Err(Fault::Reported(said)) => {
                    // The plugin refused: the prior object remains, and nothing new is known to
                    // exist.
                    let said = said.diagnostic("could not deploy the resource");
                    return Ok(apply_response(
                        Some(request.prior),
                        kept.bytes(),
                        vec![said],
                    ));
                }
            }
        }
        let after = match request.prior.is_null() {
            true => Unstable::Created,
            false => Unstable::Updated,
        };
        let wrong = self
            .wait_until_stable((of, after), &named, &mut spec, ctx)
            .await;
        kept.unstable = wrong.is_some().then_some(after);
        // Null for a computed field means "not set yet" until the object is stable.
        if wrong.is_some() {
            spec.restore_cleared();
        }
        let mut said: Vec<_> = wrong.into_iter().collect();
        said.append(&mut spec.warnings);
        let object = spec.object(of, &like);
        let object = object.map_err(|what| self.wire.undecodable(Method::DeployResource, what))?;
        Ok(apply_response(Some(object), kept.bytes(), said))
    }

    async fn call_deploy(
        &self,
        wire: DeployResourceRequest,
        ctx: &CallContext,
    ) -> Result<HashMap<String, MappingNode>, Fault> {
        let method = Method::DeployResource;
        let asked =
            |next| self.item::<DeployResourceResponse>((method, DEPLOY), (ctx, next), wire.clone());
        let complete = self.call_with_retries(method, ctx, asked).await?;
        Ok(complete.computed_field_values)
    }

    fn deployment(
        &self,
        named: &Named,
        request: &ApplyRequest,
        (of, changes, spec): (&Definition, Changes, MappingNode),
        ctx: &CallContext,
    ) -> DeployResourceRequest {
        let before = match request.prior.is_null() {
            // Plugins distinguish a create from an update only by this field.
            true => None,
            false => self.state(of, named, &request.prior),
        };
        let info = ResourceInfo {
            resource_id: named.resource_id.clone(),
            resource_name: named.resource_name.clone(),
            instance_id: self.settings.instance_id.clone(),
            current_resource_state: before,
            resource_with_resolved_subs: Some(ResolvedResource {
                r#type: named.kind.clone(),
                spec: Some(spec),
                ..ResolvedResource::default()
            }),
        };
        let changes = Changes {
            applied_resource_info: Some(info),
            ..changes
        };
        DeployResourceRequest {
            resource_type: named.kind.clone(),
            host_id: self.wire.host_id.clone(),
            instance_id: self.settings.instance_id.clone(),
            instance_name: self.settings.instance_name.clone(),
            resource_id: named.resource_id.clone(),
            changes: Some(changes),
            context: Some(self.caller.context(ctx)),
        }
    }

    /// Destroys an object.
    pub(super) async fn destroy(
        &self,
        of: &Definition,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let named = self.resource_names(of, &request.private, ctx);
        let Some(state) = self.state(of, &named, &request.prior) else {
            let detail = "The state has no values of the object, so the plugin cannot identify it. If the object no longer exists, run `flightdeck state rm` to remove it from the state.";
            let wrong =
                ProviderDiagnostic::error("cannot destroy an object without stored values", detail);
            return Ok(apply_response(
                Some(request.prior),
                request.private,
                vec![wrong],
            ));
        };
        let wire = DestroyResourceRequest {
            resource_type: named.kind.clone(),
            host_id: self.wire.host_id.clone(),
            instance_id: self.settings.instance_id.clone(),
            instance_name: self.settings.instance_name.clone(),
            resource_id: named.resource_id,
            resource_state: Some(state),
            context: Some(self.caller.context(ctx)),
        };
        let method = Method::DestroyResource;
        let asked = |next| {
            self.item::<DestroyResourceResponse>((method, DESTROY), (ctx, next), wire.clone())
        };
        let wrong = match self.call_with_retries(method, ctx, asked).await {
            Ok(result) if result.destroyed => {
                let gone = Value::null(request.prior.ty().clone());
                return Ok(apply_response(Some(gone), Bytes::new(), Vec::new()));
            }
            Ok(_) => {
                // A refusal without an error is possible in the protocol; the object is kept in the
                // state.
                let detail = "The plugin reported that it did not destroy the resource, without a reason; check its log.";
                ProviderDiagnostic::error("the resource was not destroyed", detail)
                    .from_call(Some(method))
            }
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(said)) => said.diagnostic("could not destroy the resource"),
        };
        Ok(apply_response(
            Some(request.prior),
            request.private,
            vec![wrong],
        ))
    }
}

pub(super) fn apply_response(
    new_state: Option<Value>,
    private: Bytes,
    diagnostics: Vec<ProviderDiagnostic>,
) -> ApplyResponse {
    ApplyResponse {
        new_state,
        private,
        identity: None,
        legacy: false,
        diagnostics,
    }
}

/// Returns true if no configured field changes.
fn is_none(changes: &Changes) -> bool {
    changes.modified_fields.is_empty()
        && changes.new_fields.is_empty()
        && changes.removed_fields.is_empty()
}

/// Returns the spec of an object in the form of the protocol.
pub(super) fn spec_of(of: &Definition, object: &Value) -> MappingNode {
    encode(object, Some(&of.node), Unknown::Omitted).unwrap_or_default()
}
