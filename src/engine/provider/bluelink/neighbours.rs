//! What plugins that are up can ask of each other through their host: functions here, and what
//! changes something in [`super::gate`]. Each such call is one of ours to the other plugin, beside
//! its slots, as whoever asks may hold one of them; the board of calls says who has asked. Owns the
//! list of those that are up.

use super::function::CALL;
use super::gate::Gate;
use super::replies::Reply;
use super::retry::Next;
use super::schema::{Definition, type_name};
use super::settings::BluelinkSettings;
use super::wire::{Fault, Wire};
use crate::engine::calls::{CallContext, Checked, Lane, Method, ProviderError};
use crate::engine::mutex::lock;
use crate::engine::words::PluginId;
use proto::bluelink::sharedtypesv1::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

/// Calls from plugin to plugin at a time.
const AT_A_TIME: usize = 256;
/// How long a chain of such calls may get.
pub(super) const DEEP: usize = 64;

/// One that is up.
pub(super) struct Neighbour {
    /// `bluelink/aws`.
    pub(super) id: String,
    /// The whole provider address.
    pub(super) address: String,
    pub(super) lane: Arc<Lane>,
    /// Who uses its process.
    pub(super) users: TaskTracker,
    pub(super) wire: Arc<Wire>,
    /// By the names that configurations have for them.
    pub(super) definitions: Arc<BTreeMap<String, Definition>>,
    pub(super) functions: BTreeMap<String, FunctionDefinition>,
}

/// All that are up, and what they ask of each other.
pub(super) struct Neighbours {
    up: Mutex<BTreeMap<PluginId, Arc<Neighbour>>>,
    places: Arc<Semaphore>,
    pub(super) gate: Arc<Gate>,
}

impl std::fmt::Debug for Neighbours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(lock(&self.up).keys()).finish()
    }
}

impl Neighbours {
    /// Nobody yet.
    pub(super) fn new(settings: Arc<BluelinkSettings>) -> Self {
        Self {
            up: Mutex::default(),
            places: Arc::new(Semaphore::new(AT_A_TIME)),
            gate: Arc::new(Gate::new(settings)),
        }
    }

    /// A place for one more call.
    pub(super) fn place(&self) -> Result<OwnedSemaphorePermit, ErrorResponse> {
        let place = self.places.clone().try_acquire_owned();
        place.map_err(|_| {
            refused(format!(
                "{AT_A_TIME} calls between plugins are already running"
            ))
        })
    }

    /// One more; in the place of its last launch.
    pub(super) fn add(&self, neighbour: Neighbour) {
        let plugin = neighbour.lane.plugin().clone();
        lock(&self.up).insert(plugin, Arc::new(neighbour));
    }

    /// The one with this whole provider address.
    pub(super) fn at(&self, address: &str) -> Option<Arc<Neighbour>> {
        let up = lock(&self.up);
        registered(&up).find(|n| n.address == address).cloned()
    }

    /// The definition of a type, as plugins call it, of whichever of them has it.
    pub(super) fn definition_of(&self, kind: &str) -> Option<Definition> {
        let up = lock(&self.up);
        let name = type_name(kind);
        let mut all = up.values().filter_map(|n| n.definitions.get(&name));
        all.find(|of| of.wire == kind).cloned()
    }

    /// Names of all functions.
    pub(super) fn functions(&self) -> Vec<String> {
        let up = lock(&self.up);
        let names = registered(&up).flat_map(|n| n.functions.keys().cloned());
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Who has a function, asked by the plugin of this id.
    fn who(&self, asks: &str, function: &str) -> Result<Arc<Neighbour>, ErrorResponse> {
        let what = format!("function {function:?}");
        self.having(asks, &what, |n| n.functions.contains_key(function))
    }

    /// Who has what is asked for by the plugin of this id: itself before others.
    pub(super) fn having(
        &self,
        asks: &str,
        what: &str,
        has: impl Fn(&Neighbour) -> bool,
    ) -> Result<Arc<Neighbour>, ErrorResponse> {
        let up = lock(&self.up);
        let mut have: Vec<&Arc<Neighbour>> = registered(&up).filter(|n| has(n)).collect();
        have.sort_by(|a, b| a.id.cmp(&b.id));
        // Processes of one plugin are alike.
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
        let who = self.who(asks, function)?;
        let definition = who.functions.get(function).cloned();
        definition.ok_or_else(|| refused(format!("{} has no function {function:?}", who.id)))
    }

    /// Calls a function for the plugin of this id.
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
        if chain.len() >= DEEP {
            return Err(refused(format!(
                "too many nested function calls: {} up to {function:?}",
                chain.len()
            )));
        }
        let asked_by = match chain.is_empty() {
            true => format!("asked by {asks}"),
            false => format!("asked by {asks} in {}", chain.join(" > ")),
        };
        let who = self.who(asks, &function)?;
        let _place = self.place()?;
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
            deadline: Some(self.gate.settings.between_plugins),
            ..CallContext::default()
        };
        let call = (
            Method::CallFunction,
            CALL,
            "could not evaluate the function",
        );
        let answer = made::<FunctionCallResponse>(&who, call, &ctx, request, || ()).await;
        answer.map_err(Unmade::told)
    }
}

/// Plugins that have not deregistered.
fn registered(up: &BTreeMap<PluginId, Arc<Neighbour>>) -> impl Iterator<Item = &Arc<Neighbour>> {
    up.values().filter(|n| n.wire.is_registered())
}

/// Why there is no answer that was asked for.
pub(super) enum Unmade {
    /// The plugin says so.
    Said(ErrorResponse),
    /// Nobody answered.
    Call(ProviderError),
}

impl Unmade {
    /// As it is told to who asked.
    pub(super) fn told(self) -> ErrorResponse {
        match self {
            Self::Said(error) => error,
            Self::Call(error) => refused(error.to_string()),
        }
    }
}

/// Makes a call for a plugin; what the other one says is wrong is told as what it could not do.
pub(super) async fn made<A>(
    who: &Neighbour,
    call: (Method, &'static str, &str),
    ctx: &CallContext,
    request: impl prost::Message + 'static,
    begun: impl FnOnce() + Send,
) -> Result<A::Good, Unmade>
where
    A: Reply,
    A::Good: Send,
{
    let _used = who.users.token();
    let lane = (&who.lane, &*who.wire);
    let answer = heard::<A>(lane, call, (ctx, None), request, begun).await;
    answer.map_err(|fault| match fault {
        Fault::Call(error) => Unmade::Call(error),
        Fault::Said(wrong) => Unmade::Said(ErrorResponse {
            code: wrong.code.into(),
            message: wrong.diagnostic(call.2).summary,
            details: None,
        }),
    })
}

/// Makes a call as calls are made, so that it is seen, timed and bounded. `next` is the attempt
/// that follows if it fails for a moment. `begun` hears when it is on the board.
pub(super) async fn heard<A>(
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
        begun();
        let mut said = Checked::default();
        match wire.ask::<A>(method, path, request).await {
            Ok(result) => answered = Some(Ok(result)),
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Said(wrong)) => {
                let again = next.is_some() && wrong.is_transient();
                let refused = wire.refused(method, Fault::Said(wrong.clone()));
                said.diagnostics.push(wrong.diagnostic(could_not));
                answered = Some(Err(Fault::Said(wrong)));
                // The board tells of an attempt that follows an error alone.
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
    let (result, _) = Box::pin(lane.run_item(method, ctx, judge, call)).await;
    match (result, answered) {
        (_, Some(answered @ Err(_))) | (Ok(_), Some(answered)) => answered,
        (Err(error), _) => Err(Fault::Call(error)),
        (Ok(_), None) => {
            let what = "the plugin returned no answer".to_owned();
            Err(Fault::Call(wire.undecodable(method, what)))
        }
    }
}

/// In the way of the protocol, so that it is read where the plugin tells it.
pub(super) fn refused(message: String) -> ErrorResponse {
    ErrorResponse {
        code: ErrorCode::Unexpected.into(),
        message,
        details: None,
    }
}
