//! Deploys and destroys resources that one plugin requests from another. Each is recorded before
//! and after, and finished even if the requesting call ends. The object is in no state; the
//! requesting plugin must track it.

use super::book::{Asking, Gate};
use crate::engine::calls::{CallContext, Method, ProviderError};
use crate::engine::provider::bluelink::deploy::{DEPLOY, DESTROY, STABLE};
use crate::engine::provider::bluelink::merge::Spec;
use crate::engine::provider::bluelink::neighbours::{
    DEEP, Neighbour, Neighbours, Unmade, made, refused,
};
use crate::engine::provider::bluelink::replies::Reply;
use crate::engine::provider::bluelink::schema::type_name;
use crate::engine::words::{Action, Deed, DeedEnd, seconds};
use proto::bluelink::pluginservicev1::DeployResourceServiceRequest;
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::schema::{MappingNode, ScalarValue};
use proto::bluelink::sharedtypesv1::*;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Prepared request of a plugin to deploy or destroy an object.
struct Doing {
    gate: Arc<Gate>,
    asking: Arc<Asking>,
    who: Arc<Neighbour>,
    deed: Deed,
    /// Id of the object, if it exists.
    id: Option<String>,
    within: Duration,
    _place: OwnedSemaphorePermit,
    _until_done: TaskTrackerToken,
}

impl Neighbours {
    /// Deploys an object for the plugin with this id.
    pub(in super::super) async fn deploy(
        &self,
        id: &str,
        said: DeployResourceServiceRequest,
    ) -> Result<DeployResourceCompleteResponse, ErrorResponse> {
        let request = said.deploy_request.unwrap_or_default();
        let info = request.changes.as_ref();
        let info = info.and_then(|changes| changes.applied_resource_info.clone());
        let info = info.unwrap_or_default();
        // Plugins distinguish a create from an update by the current state.
        let before = info.current_resource_state.as_ref();
        let deed = Deed {
            action: before.map_or(Action::Create, |_| Action::Update),
            kind: kind(request.resource_type.as_ref()),
            name: name(&info.resource_name, &request.resource_id),
        };
        let within = match said.wait_until_stable {
            true => self.gate.settings.stable_within,
            false => self.gate.settings.between_plugins,
        };
        let doing = self.doing(id, request.context.as_ref(), deed, before, within)?;
        let (who, asking) = (doing.who.clone(), doing.asking.clone());
        let until = Instant::now() + within;
        // The closure takes a copy, because the stability checks need the request too.
        let asked = request.clone();
        let call = doing.run::<DeployResourceResponse, _>(DEPLOY, never, move |host, context| {
            DeployResourceRequest {
                host_id: host,
                context: Some(with_number(asked.context.clone(), context)),
                ..asked
            }
        });
        let mut set = ended(&asking, call).await?;
        if said.wait_until_stable {
            let spec = info.resource_with_resolved_subs.and_then(|r| r.spec);
            let waiting = Waiting {
                neighbours: self,
                who: &who,
                asking: &asking,
                request: &request,
                until,
            };
            waiting.stable(spec.unwrap_or_default(), &mut set).await?;
        }
        Ok(set)
    }

    /// Destroys an object for the plugin with this id.
    pub(in super::super) async fn destroy(
        &self,
        id: &str,
        request: DestroyResourceRequest,
    ) -> Result<DestroyResourceResult, ErrorResponse> {
        let state = request.resource_state.as_ref();
        let called = state.map_or("", |state| state.name.as_str());
        let deed = Deed {
            action: Action::Destroy,
            kind: kind(request.resource_type.as_ref()),
            name: name(called, &request.resource_id),
        };
        let within = self.gate.settings.between_plugins;
        let doing = self.doing(id, request.context.as_ref(), deed, state, within)?;
        let asking = doing.asking.clone();
        let call = doing.run::<DestroyResourceResponse, _>(
            DESTROY,
            |result| {
                (!result.destroyed)
                    .then_some("the plugin reported that it did not destroy the resource")
            },
            move |host, context| DestroyResourceRequest {
                host_id: host,
                context: Some(with_number(request.context.clone(), context)),
                ..request
            },
        );
        ended(&asking, call).await
    }

    /// Checks a request and gathers everything for it.
    fn doing(
        &self,
        id: &str,
        context: Option<&ProviderContext>,
        deed: Deed,
        before: Option<&ResourceState>,
        within: Duration,
    ) -> Result<Doing, ErrorResponse> {
        let Deed { action, kind, .. } = &deed;
        let verb = match action {
            Action::Destroy => "destroy",
            _ => "deploy",
        };
        let what = format!("{verb} {kind:?} for plugins");
        let (asking, until_done) = self.gate.asking(id, context, &what)?;
        // Plugins could request each other without end.
        if asking.chain.len() >= DEEP {
            let n = asking.chain.len();
            let what = format!(
                "plugins request deploys of each other more than {n} levels deep; the last request is for {kind:?}"
            );
            return Err(refused(what));
        }
        let own = type_name(kind);
        let is_it = |n: &Neighbour| n.definitions.get(&own).is_some_and(|of| of.wire == *kind);
        let who = self.having(id, &format!("resource type {kind:?}"), is_it)?;
        let place = self.place()?;
        // The name is stored and shown, so it is shortened and redacted.
        let mut deed = deed.fit();
        who.lane.secrets().hide_in(&mut deed.name);
        // An existing object is recorded with its id, to find it after an unknown outcome.
        let id = who.definitions.get(&own).and_then(|of| {
            let spec = before?.spec_data.as_ref()?;
            text(spec.fields.get(&of.id_field)?)
        });
        Ok(Doing {
            gate: self.gate.clone(),
            asking,
            who,
            deed,
            id,
            within,
            _place: place,
            _until_done: until_done,
        })
    }
}

impl Doing {
    /// Runs it with a record before and after. `not_done` returns the reason if an answer is not a
    /// success; `request` receives the host id and the number of the call.
    async fn run<A, R>(
        self,
        path: &'static str,
        not_done: fn(&A::Good) -> Option<&'static str>,
        request: impl FnOnce(String, u64) -> R + Send,
    ) -> Result<A::Good, ErrorResponse>
    where
        A: Reply,
        A::Good: Send,
        R: prost::Message + 'static,
    {
        let Self { asking, who, .. } = &self;
        let (deed, who_asks) = (self.deed.clone(), asked_by(asking));
        // Committed before the call, so that a crash leaves an unknown outcome.
        let intended = asking.ledger.intend(deed, &who_asks, self.id.clone());
        let place = intended.await.map_err(|e| refused(e.to_string()))?;
        let what = format!("{} {}", self.deed.kind, self.deed.name);
        // Registered, because the called plugin may send requests too.
        let entry = self.gate.enter_for(asking, (&who.id, &who.lane), what);
        let ctx = CallContext {
            action: Some(self.deed.action),
            ..context(asking, self.within)
        };
        let request = request(who.wire.host_id.clone(), entry.asking.number);
        let begun = || entry.asking.is_current();
        let method = match self.deed.action {
            Action::Destroy => Method::DestroyResource,
            _ => Method::DeployResource,
        };
        let call = (method, path, "could not complete the call");
        let answer = made::<A>(who, call, &ctx, request, begun).await;
        // Work requested by this call ends before its outcome is recorded.
        entry.over().await;
        let end = match &answer {
            Ok(good) => not_done(good).map_or(DeedEnd::Done, |why| DeedEnd::Failed(why.to_owned())),
            Err(Unmade::Said(error)) => DeedEnd::Failed(error.message.clone()),
            // The plugin may have acted, so the outcome is unknown.
            Err(Unmade::Call(error)) if error.may_have_acted() => {
                DeedEnd::Unknown(error.to_string())
            }
            Err(Unmade::Call(error)) => DeedEnd::Failed(error.to_string()),
        };
        asking.ledger.settle(place, end).await;
        answer.map_err(Unmade::told)
    }
}

/// Runs it as a task of the requesting call, so that it finishes even if the request is dropped.
async fn ended<T: Send + 'static>(
    asking: &Asking,
    deed: impl Future<Output = Result<T, ErrorResponse>> + Send + 'static,
) -> Result<T, ErrorResponse> {
    let done = asking.work.spawn(deed).await;
    done.unwrap_or_else(|error| {
        Err(refused(format!(
            "an internal task of flightdeck failed, so the outcome of the operation is unknown: {error}"
        )))
    })
}

/// Wait until a deployed object is stable.
struct Waiting<'a> {
    neighbours: &'a Neighbours,
    who: &'a Neighbour,
    asking: &'a Asking,
    request: &'a DeployResourceRequest,
    until: Instant,
}

impl Waiting<'_> {
    /// Checks until the object is stable, and merges the values set meanwhile.
    async fn stable(
        &self,
        spec: MappingNode,
        set: &mut DeployResourceCompleteResponse,
    ) -> Result<(), ErrorResponse> {
        let settings = &self.neighbours.gate.settings;
        let kind = kind(self.request.resource_type.as_ref());
        let not = |why: String| {
            refused(format!(
                "{kind} was deployed, but its stability is unknown: {why}"
            ))
        };
        let Some(of) = self.who.definitions.get(&type_name(&kind)) else {
            return Err(not("its resource type is no longer available".to_owned()));
        };
        let before = self.request.changes.as_ref();
        let before = before.and_then(|c| c.applied_resource_info.as_ref());
        let before =
            before.and_then(|info| info.current_resource_state.as_ref()?.spec_data.clone());
        let mut spec = Spec::after(of, spec, &before.unwrap_or_default());
        spec.merge(of, set.computed_field_values.clone());
        // Bounded by the timeout.
        loop {
            match self.look(&spec).await {
                Ok(info) => {
                    spec.merge(of, info.computed_field_values.clone());
                    set.computed_field_values.extend(info.computed_field_values);
                    if info.stabilised {
                        return Ok(());
                    }
                }
                // A plugin that is older than this call cannot report stability.
                Err(Unmade::Call(ProviderError::Unsupported { .. })) => return Ok(()),
                Err(unmade) => return Err(not(unmade.told().message)),
            }
            // The next check would start after the timeout.
            if Instant::now() + settings.look_every > self.until {
                let within = seconds(settings.stable_within);
                return Err(not(format!("it did not become stable within {within}")));
            }
            tokio::select! {
                () = self.asking.over.cancelled() => return Err(not("the requesting call has ended".to_owned())),
                () = self.asking.cancel.cancelled() => return Err(not("the deploy was cancelled".to_owned())),
                () = sleep(settings.look_every) => {}
            }
        }
    }

    async fn look(&self, spec: &Spec) -> Result<ResourceStabilisationInfo, Unmade> {
        let request = ResourceHasStabilisedRequest {
            resource_type: self.request.resource_type.clone(),
            host_id: self.who.wire.host_id.clone(),
            instance_id: self.request.instance_id.clone(),
            instance_name: self.request.instance_name.clone(),
            resource_id: self.request.resource_id.clone(),
            resource_spec: Some(spec.node.clone()),
            resource_metadata: None,
            context: self.request.context.clone(),
        };
        let ctx = context(self.asking, self.neighbours.gate.settings.between_plugins);
        let call = (
            Method::ResourceHasStabilised,
            STABLE,
            "could not check the stability",
        );
        made::<ResourceHasStabilisedResponse>(self.who, call, &ctx, request, || ()).await
    }
}

/// Returns the context of a call on behalf of another one.
fn context(asking: &Asking, within: Duration) -> CallContext {
    CallContext {
        resource: Some(format!("asked by {} for {}", asking.id, asking.text()).into()),
        deadline: Some(within),
        cancel: asking.cancel.clone(),
        ..CallContext::default()
    }
}

/// Returns the requesting plugin and chain, for the record.
fn asked_by(asking: &Asking) -> String {
    match &asking.chain[..] {
        // The first element is the operation itself, which the record names already.
        [_, between @ ..] if !between.is_empty() => {
            format!("{} for {}", asking.id, between.join(" > "))
        }
        _ => asking.id.clone(),
    }
}

fn never<T>(_: &T) -> Option<&'static str> {
    None
}

/// Returns the context of the requesting plugin with the number of the new call.
fn with_number(context: Option<ProviderContext>, number: u64) -> ProviderContext {
    let mut context = context.unwrap_or_default();
    let number = ScalarValue {
        value: Some(Scalar::StringValue(number.to_string())),
    };
    context
        .context_variables
        .insert(super::book::CALL.to_owned(), number);
    context
}

fn kind(kind: Option<&ResourceType>) -> String {
    kind.map(|kind| kind.r#type.clone()).unwrap_or_default()
}

fn name(name: &str, id: &str) -> String {
    match name.is_empty() {
        true => id.to_owned(),
        false => name.to_owned(),
    }
}

/// Returns the scalar as text.
fn text(node: &MappingNode) -> Option<String> {
    match node.scalar.as_ref()?.value.as_ref()? {
        Scalar::StringValue(text) => Some(text.clone()),
        Scalar::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}
