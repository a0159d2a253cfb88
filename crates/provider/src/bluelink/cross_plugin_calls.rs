//! Plugins in use, and the calls between them through the host: functions here, changes of
//! resources in [`super::gate`]. Such a call takes no slot of the called plugin, because the caller
//! may hold one; the reported call names its caller. Owns the list of these plugins.

use super::function::CALL;
use super::host_requests::ActiveCalls;
use super::replies::Reply;
use super::retry::Next;
use super::schema::{Definition, type_name};
use super::settings::BluelinkSettings;
use super::wire::{Fault, Wire};
use calls::{CallContext, Checked, Lane, Method, ProviderError};
use model::PluginId;
use model::mutex::lock;
use proto::bluelink::sharedtypesv1::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

/// Maximum number of concurrent calls between plugins.
const MAX_CONCURRENT_CALLS: usize = 256;
/// Maximum depth of nested calls.
pub(super) const DEEP: usize = 64;

/// Plugin that other plugins can call through the host.
pub(super) struct RunningPlugin {
    /// `bluelink/aws`.
    pub(super) id: String,
    /// Provider address with host.
    pub(super) address: String,
    pub(super) lane: Arc<Lane>,
    /// Users of its process, which must not end before they do.
    pub(super) users: TaskTracker,
    pub(super) wire: Arc<Wire>,
    /// Resource types by their names in configurations.
    pub(super) definitions: Arc<BTreeMap<String, Definition>>,
    pub(super) functions: BTreeMap<String, FunctionDefinition>,
}

/// All plugins in use, for the calls between them.
pub(super) struct RunningPlugins {
    running: Mutex<BTreeMap<PluginId, Arc<RunningPlugin>>>,
    call_permits: Arc<Semaphore>,
    pub(super) active_calls: Arc<ActiveCalls>,
}

impl std::fmt::Debug for RunningPlugins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(lock(&self.running).keys()).finish()
    }
}

impl RunningPlugins {
    /// Creates an empty list.
    pub(super) fn new(settings: Arc<BluelinkSettings>) -> Self {
        Self {
            running: Mutex::default(),
            call_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS)),
            active_calls: Arc::new(ActiveCalls::new(settings)),
        }
    }

    /// Reserves one of the concurrent calls between plugins.
    // Refused instead of queued: a queue could deadlock, because callers hold places too.
    pub(super) fn acquire_call_permit(&self) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let place = self.call_permits.clone().try_acquire_owned();
        place.map_err(|_| {
            refused(format!(
                "plugins are already making {MAX_CONCURRENT_CALLS} calls to other plugins, which is the limit"
            ))
        })
    }

    /// Adds a plugin; replaces the entry of its previous process.
    pub(super) fn add(&self, neighbour: RunningPlugin) {
        let plugin = neighbour.lane.plugin().clone();
        lock(&self.running).insert(plugin, Arc::new(neighbour));
    }

    /// Returns the registered plugin with this provider address.
    pub(super) fn by_address(&self, address: &str) -> Option<Arc<RunningPlugin>> {
        let up = lock(&self.running);
        registered(&up).find(|n| n.address == address).cloned()
    }

    /// Returns the definition of a resource type by its name in the protocol, from any plugin.
    pub(super) fn definition_of(&self, kind: &str) -> Option<Definition> {
        let up = lock(&self.running);
        let name = type_name(kind);
        let mut all = up.values().filter_map(|n| n.definitions.get(&name));
        all.find(|of| of.wire == kind).cloned()
    }

    /// Returns the names of all functions, sorted.
    pub(super) fn functions(&self) -> Vec<String> {
        let up = lock(&self.running);
        let names = registered(&up).flat_map(|n| n.functions.keys().cloned());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the plugin that has a function, for a request of the plugin `asks`.
    fn plugin_with_function(
        &self,
        asks: &str,
        function: &str,
    ) -> Result<Arc<RunningPlugin>, ErrorResponse> {
        let what = format!("function {function:?}");
        self.plugin_with(asks, &what, |n| n.functions.contains_key(function))
    }

    /// Selects a plugin for a request of the plugin `asks`. The requesting plugin has priority;
    /// among others the choice must be unambiguous.
    pub(super) fn plugin_with(
        &self,
        asks: &str,
        what: &str,
        has: impl Fn(&RunningPlugin) -> bool,
    ) -> Result<Arc<RunningPlugin>, ErrorResponse> {
        let up = lock(&self.running);
        let mut have: Vec<&Arc<RunningPlugin>> = registered(&up).filter(|n| has(n)).collect();
        // Sorted, so that an error names the plugins in a stable order.
        have.sort_by(|a, b| a.id.cmp(&b.id));
        // Several processes of one plugin are equivalent.
        have.dedup_by(|a, b| a.id == b.id);
        let own = have.iter().find(|n| n.id == asks).copied();
        match (own, &have[..]) {
            (Some(own), _) => Ok(own.clone()),
            (None, [one]) => Ok((*one).clone()),
            (None, []) => Err(refused(format!("no plugin in use has a {what}"))),
            (None, several) => {
                let ids: Vec<&str> = several.iter().map(|n| n.id.as_str()).collect();
                Err(refused(format!(
                    "several plugins have the {what}, so the request is ambiguous: {}",
                    ids.join(", ")
                )))
            }
        }
    }

    pub(super) fn definition(
        &self,
        asks: &str,
        function: &str,
    ) -> Result<FunctionDefinition, ErrorResponse> {
        let who = self.plugin_with_function(asks, function)?;
        let definition = who.functions.get(function).cloned();
        definition.ok_or_else(|| refused(format!("{} has no function {function:?}", who.id)))
    }

    /// Calls a function for the plugin `asks`.
    pub(super) async fn call(
        &self,
        asks: &str,
        request: FunctionCallRequest,
    ) -> Result<FunctionCallResult, ErrorResponse> {
        let function = request.function_name.clone();
        let mut context = request.call_context.unwrap_or_default();
        let chain: Vec<&str> = context
            .call_stack
            .iter()
            .map(|call| call.function_name.as_str())
            .collect();
        // The chain comes from the plugin, so a wrong one must not lead to endless recursion.
        if chain.len() >= DEEP {
            return Err(refused(format!(
                "plugins call functions of each other more than {} levels deep; the last call is of {function:?}",
                chain.len()
            )));
        }
        let asked_by = match chain.is_empty() {
            true => format!("asked by {asks}"),
            false => format!("asked by {asks} in {}", chain.join(" > ")),
        };
        let who = self.plugin_with_function(asks, &function)?;
        // Held until the call has ended.
        let _place = self.acquire_call_permit()?;
        let location = context.current_location;
        context.call_stack.push(FunctionCall {
            file_path: String::new(),
            function_name: function,
            location,
        });
        let request = FunctionCallRequest {
            host_id: who.wire.host_id.clone(),
            call_context: Some(context),
            ..request
        };
        let ctx = CallContext {
            resource: Some(asked_by.into()),
            deadline: Some(self.active_calls.settings.cross_plugin_timeout),
            ..CallContext::default()
        };
        let call = (
            Method::CallFunction,
            CALL,
            "could not evaluate the function",
        );
        let answer = call_plugin::<FunctionCallResponse>(&who, call, &ctx, request, || ()).await;
        answer.map_err(CallRefusal::into_response)
    }
}

/// Returns the plugins that have not deregistered.
fn registered(
    up: &BTreeMap<PluginId, Arc<RunningPlugin>>,
) -> impl Iterator<Item = &Arc<RunningPlugin>> {
    up.values().filter(|n| n.wire.is_registered())
}

/// Reason for a missing result of a call between plugins.
pub(super) enum CallRefusal {
    /// Error reported by the plugin.
    Reported(ErrorResponse),
    /// No answer.
    Call(ProviderError),
}

impl CallRefusal {
    /// Converts it to the error for the requesting plugin.
    pub(super) fn into_response(self) -> ErrorResponse {
        match self {
            Self::Reported(error) => error,
            Self::Call(error) => refused(error.to_string()),
        }
    }
}

/// Makes a call for another plugin and converts its errors for it.
pub(super) async fn call_plugin<A>(
    who: &RunningPlugin,
    call: (Method, &'static str, &str),
    ctx: &CallContext,
    request: impl prost::Message + 'static,
    begun: impl FnOnce() + Send,
) -> Result<A::Good, CallRefusal>
where
    A: Reply,
    A::Good: Send,
{
    // A replaced process keeps running until the call has ended.
    let _used = who.users.token();
    let lane = (&who.lane, &*who.wire);
    let answer = make_call::<A>(lane, call, (ctx, None), request, begun).await;
    answer.map_err(|fault| match fault {
        Fault::Call(error) => CallRefusal::Call(error),
        Fault::Reported(wrong) => CallRefusal::Reported(ErrorResponse {
            code: wrong.code.into(),
            message: wrong.diagnostic(call.2).summary,
            details: None,
        }),
    })
}

/// Makes a call that is shown, measured and limited like any other. `next` is the attempt after a
/// transient failure. `begun` runs once the call is reported.
pub(super) async fn make_call<A>(
    (lane, wire): (&Arc<Lane>, &Wire),
    (method, path, could_not): (Method, &'static str, &str),
    (ctx, next): (&CallContext, Option<Next>),
    request: impl prost::Message + 'static,
    begun: impl FnOnce() + Send,
) -> Result<A::Good, Fault>
where
    A: Reply,
    A::Good: Send,
{
    let mut answered = None;
    let call = async {
        // The lane has reported the call by now.
        begun();
        let mut said = Checked::default();
        match wire.ask::<A>(method, path, request).await {
            Ok(result) => answered = Some(Ok(result)),
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(wrong)) => {
                let again = next.is_some() && wrong.is_transient();
                let refused = wire.refused(method, Fault::Reported(wrong.clone()));
                said.diagnostics.push(wrong.diagnostic(could_not));
                answered = Some(Err(Fault::Reported(wrong)));
                // Only an error makes the lane announce a next attempt, so a transient answer
                // becomes one.
                if again {
                    return Err(refused);
                }
            }
        }
        Ok::<Checked, ProviderError>(said)
    };
    let judge = |error: &ProviderError| match error {
        ProviderError::Refused { message, .. } => next.map(|next| next.retry(message)),
        _ => None,
    };
    let (result, _) = Box::pin(lane.run_single_call(method, ctx, judge, call)).await;
    // An error reported by the plugin takes precedence over the error that announced the retry.
    match (result, answered) {
        (_, Some(answered @ Err(_))) | (Ok(_), Some(answered)) => answered,
        (Err(error), _) => Err(Fault::Call(error)),
        (Ok(_), None) => {
            let what = "the plugin returned no answer".to_owned();
            Err(Fault::Call(wire.undecodable(method, what)))
        }
    }
}

/// Creates an error response; the protocol has this place for texts that plugins show.
pub(super) fn refused(message: String) -> ErrorResponse {
    ErrorResponse {
        code: ErrorCode::Unexpected.into(),
        message,
        details: None,
    }
}
