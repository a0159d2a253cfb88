//! Changing the world: a deploy with what it sets, waiting until it is stable, a destroy. Each call
//! is made again by the provider's policy. What became of a call without an answer is not known,
//! and nothing here pretends otherwise.

use super::adapter::BluelinkProvider;
use super::changes::changes;
use super::convert::{Unknown, encode};
use super::merge::Spec;
use super::retry::waited;
use super::schema::Definition;
use super::state::Kept;
use super::wire::Fault;
use crate::engine::calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use crate::engine::provider::*;
use crate::engine::words::{Retry, seconds};
use cty::Value;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::*;
use std::time::Duration;
use tokio::time::Instant;

pub(super) const DEPLOY: &str = "/providerserverv1.Provider/DeployResource";
pub(super) const STABLE: &str = "/providerserverv1.Provider/ResourceHasStabilised";
pub(super) const DESTROY: &str = "/providerserverv1.Provider/DestroyResource";

/// One object, as calls name it.
pub(super) struct Named {
    pub(super) kind: Option<ResourceType>,
    pub(super) resource_id: String,
    /// Its address in the configuration.
    pub(super) resource_name: String,
}

impl BluelinkProvider {
    pub(super) fn named(&self, of: &Definition, private: &Bytes, ctx: &CallContext) -> Named {
        Named {
            kind: Some(ResourceType {
                r#type: of.wire.clone(),
            }),
            resource_id: Kept::of(private).resource_id,
            resource_name: ctx.resource.as_deref().unwrap_or_default().to_owned(),
        }
    }

    /// The state of an object, for calls that are about one that is there; `None` where nothing is
    /// known of it, which plugins cannot take.
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

    /// Creates or changes an object.
    pub(super) async fn deploy(
        &self,
        of: &Definition,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let private = Kept::of(&request.private).bytes();
        let named = self.named(of, &private, ctx);
        let spec = encode(&request.planned, Some(&of.node), Unknown::Omitted);
        let mut spec = Spec::new(spec.unwrap_or_default());
        let wire = self.deployment(of, &named, &request, &spec, ctx);
        let asked = || {
            self.wire
                .ask::<DeployResourceResponse>(Method::Apply, DEPLOY, wire.clone())
        };
        let set = match self.keep_asking(Method::Apply, ctx, asked).await {
            Ok(complete) => complete.computed_field_values,
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Said(said)) => {
                // What there was is there still; of what was to be, nothing is known to be.
                let said = said.diagnostic("could not deploy it");
                return Ok(answer(Some(request.prior), private, vec![said]));
            }
        };
        spec.merge(of, set);
        let mut said = Vec::new();
        said.extend(self.until_stable(of, &named, &mut spec, ctx).await);
        said.append(&mut spec.warnings);
        let object = spec.object(of, &request.planned);
        let object = object.map_err(|what| self.wire.undecodable(Method::Apply, what))?;
        Ok(answer(Some(object), private, said))
    }

    fn deployment(
        &self,
        of: &Definition,
        named: &Named,
        request: &ApplyRequest,
        spec: &Spec,
        ctx: &CallContext,
    ) -> DeployResourceRequest {
        let before = match request.prior.is_null() {
            // By this alone do plugins tell a create from a change.
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
                spec: Some(spec.node.clone()),
                ..ResolvedResource::default()
            }),
        };
        let changes = Changes {
            applied_resource_info: Some(info),
            ..changes(of, &request.prior, &request.planned)
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

    /// Looks until what was deployed is stable; what is wrong where it is not. It is there in
    /// either case.
    async fn until_stable(
        &self,
        of: &Definition,
        named: &Named,
        spec: &mut Spec,
        ctx: &CallContext,
    ) -> Option<ProviderDiagnostic> {
        let (every, within) = (self.settings.look_every, self.settings.stable_within);
        let until = Instant::now() + within;
        let tell = |retry: Option<Retry>| {
            if let Some(told) = &ctx.retrying.told {
                told(retry);
            }
        };
        let most = u32::try_from(within.as_millis() / every.as_millis().max(1)).unwrap_or(u32::MAX);
        let mut looks = 0;
        // Bounded by the time that it may take.
        let why = loop {
            looks += 1;
            match self.look(of, named, spec, ctx).await {
                Ok(true) => break None,
                Ok(false) => {}
                Err(why) => break Some(why),
            }
            if Instant::now() + every > until {
                break Some(unstable(looks, within));
            }
            tell(Some(Retry::after(looks, most.saturating_add(1), every)));
            if !waited(ctx, every).await {
                let detail =
                    "The plugin deployed it, and the wait for it to be stable was cut short.";
                break Some(ProviderDiagnostic::error(
                    "cancelled before it was stable",
                    detail,
                ));
            }
        };
        if looks > 1 {
            tell(None);
        }
        why
    }

    /// Looks once whether it is stable, and takes what the provider has set meanwhile. What was
    /// deployed is known and kept: what goes wrong here is no error of a call.
    async fn look(
        &self,
        of: &Definition,
        named: &Named,
        spec: &mut Spec,
        ctx: &CallContext,
    ) -> Result<bool, ProviderDiagnostic> {
        let request = ResourceHasStabilisedRequest {
            resource_type: named.kind.clone(),
            host_id: self.wire.host_id.clone(),
            instance_id: self.settings.instance_id.clone(),
            instance_name: self.settings.instance_name.clone(),
            resource_id: named.resource_id.clone(),
            resource_spec: Some(spec.node.clone()),
            resource_metadata: None,
            context: Some(self.caller.context(ctx)),
        };
        let method = Method::Apply;
        let asked = || {
            self.wire
                .ask::<ResourceHasStabilisedResponse>(method, STABLE, request.clone())
        };
        match self.keep_asking(method, ctx, asked).await {
            Ok(info) => {
                spec.merge(of, info.computed_field_values);
                Ok(info.stabilised)
            }
            // One that is older than this call says nothing of it.
            Err(Fault::Call(ProviderError::Unsupported { .. })) => Ok(true),
            Err(Fault::Call(error)) => {
                let summary = "deployed, and whether it is stable is not known";
                Err(ProviderDiagnostic::error(summary, error.to_string()))
            }
            Err(Fault::Said(said)) => {
                Err(said.diagnostic("deployed it, and could not say whether it is stable"))
            }
        }
    }

    /// Takes an object away.
    pub(super) async fn destroy(
        &self,
        of: &Definition,
        request: ApplyRequest,
        ctx: &CallContext,
    ) -> Result<ApplyResponse, ProviderError> {
        let named = self.named(of, &request.private, ctx);
        let Some(state) = self.state(of, &named, &request.prior) else {
            let detail = "The state has no value of it, and plugins cannot tell what is meant then. If it is gone, take it out of the state with `flightdeck state rm`.";
            let wrong = ProviderDiagnostic::error(
                "nothing is known by which it could be destroyed",
                detail,
            );
            return Ok(answer(Some(request.prior), request.private, vec![wrong]));
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
        let asked = || {
            self.wire
                .ask::<DestroyResourceResponse>(Method::Apply, DESTROY, wire.clone())
        };
        let wrong = match self.keep_asking(Method::Apply, ctx, asked).await {
            Ok(result) if result.destroyed => {
                let gone = Value::null(request.prior.ty().clone());
                return Ok(answer(Some(gone), Bytes::new(), Vec::new()));
            }
            Ok(_) => {
                let detail = "The plugin answered that it has not destroyed it, and not why; its log may tell.";
                ProviderDiagnostic::error("it was not destroyed", detail)
            }
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Said(said)) => said.diagnostic("could not destroy it"),
        };
        Ok(answer(Some(request.prior), request.private, vec![wrong]))
    }
}

fn unstable(looks: u32, within: Duration) -> ProviderDiagnostic {
    let detail = format!(
        "The plugin deployed it, and it was not stable after {looks} looks within {}. It is kept in the state as tainted; raise BLUELINK_DEPLOY_ENGINE_PLUGINS_V1_RESOURCE_STABILISATION_POLLING_TIMEOUT_MS if it needs longer.",
        seconds(within)
    );
    ProviderDiagnostic::error("failed to stabilise", detail)
}

pub(super) fn answer(
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

/// The spec of an object as plugins have it.
pub(super) fn spec_of(of: &Definition, object: &Value) -> MappingNode {
    encode(object, Some(&of.node), Unknown::Omitted).unwrap_or_default()
}
