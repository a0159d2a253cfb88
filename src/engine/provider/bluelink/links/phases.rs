//! One phase of the deploy of a link, which is one of three calls (`from`, `to`, intermediaries):
//! recorded before and after, made under the lock of its resource, shown as a separate call, and
//! repeated by the provider's retry policy. The lock ends with the phase.

use super::apply::{Doing, words};
use super::record::Made;
use super::sides::{link_name, link_type};
use crate::engine::calls::{CallContext, Method};
use crate::engine::provider::bluelink::gate::Entry;
use crate::engine::provider::bluelink::neighbours::heard;
use crate::engine::provider::bluelink::replies::Reply;
use crate::engine::provider::bluelink::retry::Next;
use crate::engine::provider::bluelink::wire::{Fault, Said};
use crate::engine::words::{Action, Deed, DeedEnd, LINK_PHASES};
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
    pub(super) made: Option<BTreeMap<String, Made>>,
}

/// Reason for a failed phase.
pub(super) enum Undone {
    /// Reported by the plugin or the host.
    Said(Said),
    /// No answer; the outcome may be unknown.
    Fault(Fault),
}

fn refused(message: String) -> Undone {
    Undone::Said(Said::of(ErrorResponse {
        message,
        ..ErrorResponse::default()
    }))
}

impl Doing<'_> {
    /// Runs one of the three phases.
    pub(super) async fn phase(&self, phase: usize) -> Result<Given, Undone> {
        let provider = self.provider;
        let entry = provider
            .gate
            .enter(&provider.caller.plugin_id, &provider.lane, self.ctx);
        // Without a record the outcome of a crash would be lost.
        let (Some(entry), Some(ledger)) = (entry, self.ctx.ledger.as_ref()) else {
            return Err(refused(
                "the operation has no record to write to".to_owned(),
            ));
        };
        // Locked before the intent, so that a wait for the lock leaves no unfinished record.
        if let Some(side) = self.sides.get(phase) {
            let held = provider
                .gate
                .hold(&entry.asking, &side.address, &self.kept.link_id);
            held.await.map_err(|error| refused(error.message))?;
        }
        let asked_by = format!("the link {}", self.kind.wire);
        let intended = ledger.intend(self.deed(phase), &asked_by, None);
        // Committed before the call, so that a crash leaves an unknown outcome.
        let place = intended.await.map_err(|e| refused(e.to_string()))?;
        let given = self.called(phase, &entry).await;
        // The requests of the plugin on its behalf end before the phase is recorded as done.
        entry.over().await;
        let end = match &given {
            Ok(_) => DeedEnd::Done,
            Err(Fault::Said(said)) => {
                DeedEnd::Failed(said.diagnostic("could not complete the call").summary)
            }
            Err(Fault::Call(error)) if error.may_have_acted() => {
                DeedEnd::Unknown(error.to_string())
            }
            Err(Fault::Call(error)) => DeedEnd::Failed(error.to_string()),
        };
        ledger.settle(place, end).await;
        given.map_err(|fault| match fault {
            Fault::Said(said) => Undone::Said(said),
            fault => Undone::Fault(fault),
        })
    }

    /// Returns the record of a phase for its operation.
    fn deed(&self, phase: usize) -> Deed {
        let deed = match self.sides.get(phase) {
            // The resource exists before and after; the link changes part of it.
            Some(side) => Deed {
                action: Action::Update,
                kind: LINK_PHASES[phase].to_owned(),
                name: side.address.clone(),
            },
            None => Deed {
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
        let mut deed = deed.fit();
        self.provider.lane.secrets().hide_in(&mut deed.name);
        deed
    }

    async fn called(&self, phase: usize, entry: &Entry) -> Result<Given, Fault> {
        let ctx = CallContext {
            asking: Some(entry.asking.number),
            ..self.ctx.clone()
        };
        // Both resources use the same messages; the intermediaries have their own.
        if phase < 2 {
            let request = self.of_resource(phase, &ctx);
            let asked = |next| {
                self.made::<UpdateLinkResourceResponse>(phase, (&ctx, next), request.clone())
            };
            let asked = self.provider.keep_asking(METHODS[phase], &ctx, asked);
            let complete = asked.await?;
            return Ok(Given {
                data: complete.link_data.unwrap_or_default(),
                mappings: complete.resource_data_mappings,
                made: None,
            });
        }
        let request = self.of_intermediaries(&ctx);
        let asked = |next| {
            let call = (&ctx, next);
            self.made::<UpdateLinkIntermediaryResourcesResponse>(phase, call, request.clone())
        };
        let asked = self.provider.keep_asking(METHODS[phase], &ctx, asked);
        let complete = asked.await?;
        let made = complete.intermediary_resource_states.into_iter();
        let made = made.map(|state| {
            let made = Made {
                kind: state.resource_type,
                spec: state.resource_spec_data.unwrap_or_default(),
            };
            (state.resource_id, made)
        });
        Ok(Given {
            data: complete.link_data.unwrap_or_default(),
            mappings: complete.resource_data_mappings,
            made: Some(made.collect()),
        })
    }

    /// Makes a call on the slot that the operation holds.
    async fn made<A>(
        &self,
        phase: usize,
        call: (&CallContext, Option<Next>),
        request: impl prost::Message + 'static,
    ) -> Result<A::Good, Fault>
    where
        A: Reply,
        A::Good: Send,
    {
        let could_not = format!("could not {}", words(self.update)[phase]);
        let what = (METHODS[phase], CALLS[phase], &*could_not);
        let (lane, wire) = (&self.provider.lane, &self.provider.wire);
        heard::<A>((lane, wire), what, call, request, || ()).await
    }

    fn state(&self) -> LinkState {
        let instance = &self.provider.settings.instance_id;
        let state = self
            .record
            .state(&self.kept, link_name(&self.sides), instance);
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
            link_id: self.kept.link_id.clone(),
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
