//! One phase of the deploy of a link, which is one of three calls (`from`, `to`, intermediaries):
//! recorded before and after, made under the lock of its resource, shown as a separate call, and
//! repeated by the provider's retry policy. The lock ends with the phase.

use super::apply::{LinkOperation, phase_descriptions};
use super::ends::{link_name, link_type};
use super::record::PhaseResult;
use crate::bluelink::cross_plugin_calls::make_call;
use crate::bluelink::host_requests::Entry;
use crate::bluelink::replies::Reply;
use crate::bluelink::retry::Next;
use crate::bluelink::wire::{Fault, PluginError};
use calls::{CallContext, Method};
use model::{Action, LINK_PHASES, SideEffect, SideEffectOutcome};
use proto::bluelink::providerserverv1::*;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::ErrorResponse;
use std::collections::{BTreeMap, HashMap};

const METHODS: [Method; 3] = [
    Method::LinkResourceA,
    Method::LinkResourceB,
    Method::LinkIntermediaries,
];
const CALLS: [&str; 3] = [
    "/providerserverv1.Provider/UpdateLinkResourceA",
    "/providerserverv1.Provider/UpdateLinkResourceB",
    "/providerserverv1.Provider/UpdateLinkIntermediaryResources",
];

/// Result of a phase.
#[derive(Default)]
pub(super) struct Given {
    pub(super) data: MappingNode,
    pub(super) mappings: HashMap<String, String>,
    /// Only of the last phase.
    pub(super) intermediaries: Option<BTreeMap<String, PhaseResult>>,
}

/// Reason for a failed phase.
pub(super) enum PhaseError {
    /// Reported by the plugin or the host.
    Reported(PluginError),
    /// No answer; the outcome may be unknown.
    Fault(Fault),
}

fn refused(message: String) -> PhaseError {
    PhaseError::Reported(PluginError::of(ErrorResponse {
        message,
        ..ErrorResponse::default()
    }))
}

impl LinkOperation<'_> {
    /// Runs one of the three phases.
    pub(super) async fn phase(&self, phase: usize) -> Result<Given, PhaseError> {
        let provider = self.provider;
        let entry =
            provider
                .active_calls
                .enter(&provider.caller.plugin_id, &provider.lane, self.ctx);
        // Without a record the outcome of a crash would be lost.
        let (Some(entry), Some(ledger)) = (entry, self.ctx.side_effects.as_ref()) else {
            return Err(refused(
                "the operation has no record to write to".to_owned(),
            ));
        };
        // Locked before the intent, so that a wait for the lock leaves no unfinished record.
        if let Some(side) = self.sides.get(phase) {
            let held =
                provider
                    .active_calls
                    .hold_lock(&entry.call, &side.address, &self.private.link_id);
            held.await.map_err(|error| refused(error.message))?;
        }
        let asked_by = format!("the link {}", self.kind.wire);
        let intended = ledger.record_intent(self.side_effect(phase), &asked_by, None);
        // Committed before the call, so that a crash leaves an unknown outcome.
        let place = intended.await.map_err(|e| refused(e.to_string()))?;
        let given = self.called(phase, &entry).await;
        // The requests of the plugin on its behalf end before the phase is recorded as done.
        entry.end().await;
        let end = match &given {
            Ok(_) => SideEffectOutcome::Done,
            Err(Fault::Reported(said)) => {
                SideEffectOutcome::Failed(said.diagnostic("could not complete the call").summary)
            }
            Err(Fault::Call(error)) if error.may_have_changed_infrastructure() => {
                SideEffectOutcome::Unknown(error.to_string())
            }
            Err(Fault::Call(error)) => SideEffectOutcome::Failed(error.to_string()),
        };
        ledger.record_outcome(place, end).await;
        given.map_err(|fault| match fault {
            Fault::Reported(said) => PhaseError::Reported(said),
            fault => PhaseError::Fault(fault),
        })
    }

    /// Returns the record of a phase for its operation.
    fn side_effect(&self, phase: usize) -> SideEffect {
        let deed = match self.sides.get(phase) {
            // The resource exists before and after; the link changes part of it.
            Some(side) => SideEffect {
                action: Action::Update,
                kind: LINK_PHASES[phase].to_owned(),
                name: side.address.clone(),
            },
            None => SideEffect {
                action: match self.update {
                    LinkUpdateType::Create => Action::Create,
                    LinkUpdateType::Update => Action::Update,
                    LinkUpdateType::Destroy => Action::Destroy,
                },
                kind: LINK_PHASES[phase].to_owned(),
                name: self.ctx.resource.as_deref().unwrap_or_default().to_owned(),
            },
        };
        // The name is stored and shown, so it is shortened and redacted.
        let mut deed = deed.sanitized();
        self.provider.lane.secrets().redact_in_place(&mut deed.name);
        deed
    }

    async fn called(&self, phase: usize, entry: &Entry) -> Result<Given, Fault> {
        let ctx = CallContext {
            dialect_call: Some(entry.call.number),
            ..self.ctx.clone()
        };
        // Both resources use the same messages; the intermediaries have their own.
        if phase < 2 {
            let request = self.of_resource(phase, &ctx);
            let asked = |next| {
                self.call_phase::<UpdateLinkResourceResponse>(phase, (&ctx, next), request.clone())
            };
            let asked = self.provider.call_with_retries(METHODS[phase], &ctx, asked);
            let complete = asked.await?;
            return Ok(Given {
                data: complete.link_data.unwrap_or_default(),
                mappings: complete.resource_data_mappings,
                intermediaries: None,
            });
        }
        let request = self.of_intermediaries(&ctx);
        let asked = |next| {
            let call = (&ctx, next);
            self.call_phase::<UpdateLinkIntermediaryResourcesResponse>(phase, call, request.clone())
        };
        let asked = self.provider.call_with_retries(METHODS[phase], &ctx, asked);
        let complete = asked.await?;
        let made = complete.intermediary_resource_states.into_iter();
        let made = made.map(|state| {
            let made = PhaseResult {
                kind: state.resource_type,
                spec: state.resource_spec_data.unwrap_or_default(),
            };
            (state.resource_id, made)
        });
        Ok(Given {
            data: complete.link_data.unwrap_or_default(),
            mappings: complete.resource_data_mappings,
            intermediaries: Some(made.collect()),
        })
    }

    /// Makes a call on the slot that the operation holds.
    async fn call_phase<A>(
        &self,
        phase: usize,
        call: (&CallContext, Option<Next>),
        request: impl prost::Message + 'static,
    ) -> Result<A::Good, Fault>
    where
        A: Reply,
        A::Good: Send,
    {
        let could_not = format!("could not {}", phase_descriptions(self.update)[phase]);
        let what = (METHODS[phase], CALLS[phase], &*could_not);
        let (lane, wire) = (&self.provider.lane, &self.provider.wire);
        make_call::<A>((lane, wire), what, call, request, || ()).await
    }

    fn state(&self) -> LinkState {
        let instance = &self.provider.settings.instance_id;
        let state = self
            .record
            .state(&self.private, link_name(&self.sides), instance);
        match self.update {
            // A link that is being created has only its name.
            LinkUpdateType::Create => LinkState {
                status: LinkStatus::Unknown.into(),
                ..state
            },
            _ => state,
        }
    }

    fn of_resource(&self, phase: usize, ctx: &CallContext) -> UpdateLinkResourceRequest {
        let instance = &self.provider.settings.instance_id;
        let info = |side: usize| {
            let now = &self.sides[side].after;
            Some(self.sides[side].info(now, instance, &self.annotations[side]))
        };
        UpdateLinkResourceRequest {
            link_type: link_type(self.kind),
            host_id: self.provider.wire.host_id.clone(),
            changes: Some(self.changes.clone()),
            resource_info: info(phase),
            other_resource_info: info(1 - phase),
            instance_name: self.provider.settings.instance_name.clone(),
            update_type: self.update.into(),
            current_link_state: Some(self.state()),
            context: Some(self.provider.link_context(ctx)),
            link_id: self.private.link_id.clone(),
        }
    }

    fn of_intermediaries(&self, ctx: &CallContext) -> UpdateLinkIntermediaryResourcesRequest {
        let UpdateLinkResourceRequest {
            link_type,
            host_id,
            changes,
            resource_info,
            other_resource_info,
            instance_name,
            update_type,
            current_link_state,
            context,
            link_id,
        } = self.of_resource(0, ctx);
        UpdateLinkIntermediaryResourcesRequest {
            link_type,
            host_id,
            resource_a_info: resource_info,
            resource_b_info: other_resource_info,
            link_id,
            changes,
            instance_name,
            update_type,
            current_link_state,
            context,
        }
    }
}
