//! Deploys and destroys resources that one plugin requests from another. Each is recorded before
//! and after, and finished even if the requesting call ends. The object is in no state; the
//! requesting plugin must track it.

use super::active_calls::{ActiveCall, ActiveCalls};
use crate::bluelink::cross_plugin_calls::{
    CallRefusal, DEEP, RunningPlugin, RunningPlugins, call_plugin, refused,
};
use crate::bluelink::deploy::{DEPLOY, DESTROY, HAS_STABILISED};
use crate::bluelink::merge::Spec;
use crate::bluelink::replies::Reply;
use crate::bluelink::schema::type_name;
use calls::{CallContext, Method, ProviderError};
use model::{Action, SideEffect, SideEffectOutcome, seconds};
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
struct RunningSideEffect {
    active_calls: Arc<ActiveCalls>,
    call: Arc<ActiveCall>,
    target_plugin: Arc<RunningPlugin>,
    side_effect: SideEffect,
    /// Id of the object, if it exists.
    id: Option<String>,
    timeout: Duration,
    _place: OwnedSemaphorePermit,
    _until_done: TaskTrackerToken,
}

impl RunningPlugins {
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
        let deed = SideEffect {
            action: before.map_or(Action::Create, |_| Action::Update),
            kind: kind(request.resource_type.as_ref()),
            name: name(&info.resource_name, &request.resource_id),
        };
        let within = match said.wait_until_stable {
            true => self.active_calls.settings.stable_within,
            false => self.active_calls.settings.cross_plugin_timeout,
        };
        let doing = self.begin_side_effect(id, request.context.as_ref(), deed, before, within)?;
        let (who, asking) = (doing.target_plugin.clone(), doing.call.clone());
        let until = Instant::now() + within;
        // The closure takes a copy, because the stability checks need the request too.
        let asked = request.clone();
        let call =
            doing.run::<DeployResourceResponse, _>(DEPLOY, never_partial, move |host, context| {
                DeployResourceRequest {
                    host_id: host,
                    context: Some(with_number(asked.context.clone(), context)),
                    ..asked
                }
            });
        let mut set = wait_for_side_effect(&asking, call).await?;
        if said.wait_until_stable {
            let spec = info.resource_with_resolved_subs.and_then(|r| r.spec);
            let waiting = Waiting {
                running_plugins: self,
                target_plugin: &who,
                call: &asking,
                request: &request,
                deadline: until,
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
        let deed = SideEffect {
            action: Action::Destroy,
            kind: kind(request.resource_type.as_ref()),
            name: name(called, &request.resource_id),
        };
        let within = self.active_calls.settings.cross_plugin_timeout;
        let doing = self.begin_side_effect(id, request.context.as_ref(), deed, state, within)?;
        let asking = doing.call.clone();
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
        wait_for_side_effect(&asking, call).await
    }

    /// Checks a request and gathers everything for it.
    fn begin_side_effect(
        &self,
        id: &str,
        context: Option<&ProviderContext>,
        deed: SideEffect,
        before: Option<&ResourceState>,
        within: Duration,
    ) -> Result<RunningSideEffect, ErrorResponse> {
        let SideEffect { action, kind, .. } = &deed;
        let verb = match action {
            Action::Destroy => "destroy",
            _ => "deploy",
        };
        let what = format!("{verb} {kind:?} for plugins");
        let (asking, until_done) = self.active_calls.active_call(id, context, &what)?;
        // Plugins could request each other without end.
        if asking.chain.len() >= DEEP {
            let n = asking.chain.len();
            let what = format!(
                "plugins request deploys of each other more than {n} levels deep; the last request is for {kind:?}"
            );
            return Err(refused(what));
        }
        let own = type_name(kind);
        let is_it = |n: &RunningPlugin| n.definitions.get(&own).is_some_and(|of| of.wire == *kind);
        let who = self.plugin_with(id, &format!("resource type {kind:?}"), is_it)?;
        let place = self.acquire_call_permit()?;
        // The name is stored and shown, so it is shortened and redacted.
        let mut deed = deed.sanitized();
        who.lane.secrets().redact_in_place(&mut deed.name);
        // An existing object is recorded with its id, to find it after an unknown outcome.
        let id = who.definitions.get(&own).and_then(|of| {
            let spec = before?.spec_data.as_ref()?;
            text(spec.fields.get(&of.id_field)?)
        });
        Ok(RunningSideEffect {
            active_calls: self.active_calls.clone(),
            call: asking,
            target_plugin: who,
            side_effect: deed,
            id,
            timeout: within,
            _place: place,
            _until_done: until_done,
        })
    }
}

impl RunningSideEffect {
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
        let Self {
            call: asking,
            target_plugin: who,
            ..
        } = &self;
        let (deed, who_asks) = (self.side_effect.clone(), requester(asking));
        // Committed before the call, so that a crash leaves an unknown outcome.
        let intended = asking
            .side_effects
            .record_intent(deed, &who_asks, self.id.clone());
        let place = intended.await.map_err(|e| refused(e.to_string()))?;
        let what = format!("{} {}", self.side_effect.kind, self.side_effect.name);
        // Registered, because the called plugin may send requests too.
        let entry = self
            .active_calls
            .enter_nested(asking, (&who.id, &who.lane), what);
        let ctx = CallContext {
            action: Some(self.side_effect.action),
            ..context(asking, self.timeout)
        };
        let request = request(who.wire.host_id.clone(), entry.call.number);
        let begun = || entry.call.set_current();
        let method = match self.side_effect.action {
            Action::Destroy => Method::DestroyResource,
            _ => Method::DeployResource,
        };
        let call = (method, path, "could not complete the call");
        let answer = call_plugin::<A>(who, call, &ctx, request, begun).await;
        // Work requested by this call ends before its outcome is recorded.
        entry.end().await;
        let end = match &answer {
            Ok(good) => not_done(good).map_or(SideEffectOutcome::Done, |why| {
                SideEffectOutcome::Failed(why.to_owned())
            }),
            Err(CallRefusal::Reported(error)) => SideEffectOutcome::Failed(error.message.clone()),
            // The plugin may have acted, so the outcome is unknown.
            Err(CallRefusal::Call(error)) if error.may_have_changed_infrastructure() => {
                SideEffectOutcome::Unknown(error.to_string())
            }
            Err(CallRefusal::Call(error)) => SideEffectOutcome::Failed(error.to_string()),
        };
        asking.side_effects.record_outcome(place, end).await;
        answer.map_err(CallRefusal::into_response)
    }
}

/// Runs it as a task of the requesting call, so that it finishes even if the request is dropped.
async fn wait_for_side_effect<T: Send + 'static>(
    asking: &ActiveCall,
    deed: impl Future<Output = Result<T, ErrorResponse>> + Send + 'static,
) -> Result<T, ErrorResponse> {
    let done = asking.tasks.spawn(deed).await;
    done.unwrap_or_else(|error| {
        Err(refused(format!(
            "an internal task of flightdeck failed, so the outcome of the operation is unknown: {error}"
        )))
    })
}

/// Wait until a deployed object is stable.
struct Waiting<'a> {
    running_plugins: &'a RunningPlugins,
    target_plugin: &'a RunningPlugin,
    call: &'a ActiveCall,
    request: &'a DeployResourceRequest,
    deadline: Instant,
}

impl Waiting<'_> {
    /// Checks until the object is stable, and merges the values set meanwhile.
    async fn stable(
        &self,
        spec: MappingNode,
        set: &mut DeployResourceCompleteResponse,
    ) -> Result<(), ErrorResponse> {
        let settings = &self.running_plugins.active_calls.settings;
        let kind = kind(self.request.resource_type.as_ref());
        let not = |why: String| {
            refused(format!(
                "{kind} was deployed, but its stability is unknown: {why}"
            ))
        };
        let Some(of) = self.target_plugin.definitions.get(&type_name(&kind)) else {
            return Err(not("its resource type is no longer available".to_owned()));
        };
        let before = self.request.changes.as_ref();
        let before = before.and_then(|c| c.applied_resource_info.as_ref());
        let before =
            before.and_then(|info| info.current_resource_state.as_ref()?.spec_data.clone());
        let mut spec = Spec::for_update(of, spec, &before.unwrap_or_default());
        spec.merge(of, set.computed_field_values.clone());
        // Bounded by the timeout.
        loop {
            match self.check_stability(&spec).await {
                Ok(info) => {
                    spec.merge(of, info.computed_field_values.clone());
                    set.computed_field_values.extend(info.computed_field_values);
                    if info.stabilised {
                        return Ok(());
                    }
                }
                // A plugin that is older than this call cannot report stability.
                Err(CallRefusal::Call(ProviderError::Unsupported { .. })) => return Ok(()),
                Err(unmade) => return Err(not(unmade.into_response().message)),
            }
            // The next check would start after the timeout.
            if Instant::now() + settings.stability_interval > self.deadline {
                let within = seconds(settings.stable_within);
                return Err(not(format!("it did not become stable within {within}")));
            }
            tokio::select! {
                () = self.call.ended.cancelled() => return Err(not("the requesting call has ended".to_owned())),
                () = self.call.cancel.cancelled() => return Err(not("the deploy was cancelled".to_owned())),
                () = sleep(settings.stability_interval) => {}
            }
        }
    }

    async fn check_stability(&self, spec: &Spec) -> Result<ResourceStabilisationInfo, CallRefusal> {
        let request = ResourceHasStabilisedRequest {
            resource_type: self.request.resource_type.clone(),
            host_id: self.target_plugin.wire.host_id.clone(),
            instance_id: self.request.instance_id.clone(),
            instance_name: self.request.instance_name.clone(),
            resource_id: self.request.resource_id.clone(),
            resource_spec: Some(spec.node.clone()),
            resource_metadata: None,
            context: self.request.context.clone(),
        };
        let ctx = context(
            self.call,
            self.running_plugins
                .active_calls
                .settings
                .cross_plugin_timeout,
        );
        let call = (
            Method::ResourceHasStabilised,
            HAS_STABILISED,
            "could not check the stability",
        );
        call_plugin::<ResourceHasStabilisedResponse>(self.target_plugin, call, &ctx, request, || ())
            .await
    }
}

/// Returns the context of a call on behalf of another one.
fn context(asking: &ActiveCall, within: Duration) -> CallContext {
    CallContext {
        resource: Some(format!("asked by {} for {}", asking.id, asking.text()).into()),
        deadline: Some(within),
        cancel: asking.cancel.clone(),
        ..CallContext::default()
    }
}

/// Returns the requesting plugin and chain, for the record.
fn requester(asking: &ActiveCall) -> String {
    match &asking.chain[..] {
        // The first element is the operation itself, which the record names already.
        [_, between @ ..] if !between.is_empty() => {
            format!("{} for {}", asking.id, between.join(" > "))
        }
        _ => asking.id.clone(),
    }
}

fn never_partial<T>(_: &T) -> Option<&'static str> {
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
        .insert(super::active_calls::CALL.to_owned(), number);
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
