//! Calls about one object over protocol 6: decodes the request, calls the author's code, encodes
//! the response.

use std::sync::Arc;
use std::time::Duration;

use cty::Value;
use proto::tfplugin6 as pb;
use tokio::time::{Instant, sleep};

use crate::diagnostics::{Diagnostic, Diagnostics, Failure, path_to_wire};
use crate::limits::within_limit;
use crate::provider::{
    Change, Context, DataSource, EphemeralResource, MovedState, Planning, Resource, State,
};
use crate::schema::Operation;
use crate::service::{Entry, Outcome};
use crate::{codec, identity};

/// Returns the diagnostics of a failure; adds an error if they have no error.
pub(crate) fn failure_diagnostics(failure: Failure) -> Diagnostics {
    let mut diagnostics = failure.diagnostics;
    // A host takes a response without an error as a success.
    if !diagnostics.has_errors() {
        diagnostics.error("the provider failed", "it gave no reason");
    }
    diagnostics
}

pub(crate) fn diagnostics_of(outcome: Outcome<Diagnostics>) -> Vec<pb::Diagnostic> {
    outcome.unwrap_or_else(failure_diagnostics).into_wire()
}

/// Returns the private data for the host: the author's, or the former data if the author set none.
fn private_of(state: &State, former: &[u8]) -> proto::Bytes {
    if state.private.is_empty() {
        proto::Bytes::copy_from_slice(former)
    } else {
        state.private.clone().into()
    }
}

/// Reads a data source.
pub(crate) async fn read_data(
    entry: Arc<Entry<dyn DataSource>>,
    cx: Context,
    request: pb::read_data_source::Request,
) -> Outcome<pb::read_data_source::Response> {
    let config = codec::decode(request.config, &entry.ty)?;
    let mut answer = pb::read_data_source::Response::default();
    match entry.item.read(&cx, config).await {
        Ok(found) => answer.state = Some(codec::encode(&found, &entry.ty)?),
        Err(failure) => {
            let deferred = failure.deferral(request.client_capabilities.as_ref());
            answer.deferred = Some(deferred.ok_or(failure)?);
            // The host requires a value, which it does not use.
            answer.state = Some(codec::encode(&Value::unknown(entry.ty.clone()), &entry.ty)?);
        }
    }
    Ok(answer)
}

pub(crate) async fn open(
    entry: Arc<Entry<dyn EphemeralResource>>,
    cx: Context,
    request: pb::open_ephemeral_resource::Request,
) -> Outcome<pb::open_ephemeral_resource::Response> {
    let config = codec::decode(request.config, &entry.ty)?;
    let opened = match entry.item.open(&cx, config).await {
        Ok(opened) => opened,
        Err(failure) => {
            let deferred = failure.deferral(request.client_capabilities.as_ref());
            return Ok(pb::open_ephemeral_resource::Response {
                deferred: Some(deferred.ok_or(failure)?),
                ..Default::default()
            });
        }
    };
    Ok(pb::open_ephemeral_resource::Response {
        result: Some(codec::encode(&opened.value, &entry.ty)?),
        private: Some(opened.private.into()),
        renew_at: opened.renew_at.map(Into::into),
        ..Default::default()
    })
}

pub(crate) async fn renew(
    entry: Arc<Entry<dyn EphemeralResource>>,
    cx: Context,
    request: pb::renew_ephemeral_resource::Request,
) -> Outcome<pb::renew_ephemeral_resource::Response> {
    let renewed = entry
        .item
        .renew(&cx, request.private.unwrap_or_default().to_vec())
        .await?;
    Ok(pb::renew_ephemeral_resource::Response {
        private: Some(renewed.private.into()),
        renew_at: renewed.renew_at.map(Into::into),
        ..Default::default()
    })
}

pub(crate) async fn plan(
    entry: Arc<Entry<dyn Resource>>,
    cx: Context,
    request: pb::plan_resource_change::Request,
) -> Outcome<pb::plan_resource_change::Response> {
    let (prior, proposed) = (
        codec::decode(request.prior_state, &entry.ty)?,
        codec::decode(request.proposed_new_state, &entry.ty)?,
    );
    let config = codec::decode(request.config, &entry.ty)?;
    let private = request.prior_private.to_vec();
    let mut answer = pb::plan_resource_change::Response::default();
    // A null proposed state asks for the plan of a destroy.
    if proposed.is_null() {
        let diagnostics = entry
            .item
            .plan_destroy(&cx, &State::new(prior).with_private(private))
            .await?;
        // A host refuses the plan of a destroy unless its planned state is null.
        answer.planned_state = Some(codec::encode(&proposed, &entry.ty)?);
        // The destroy needs the private data of the object.
        answer.planned_private = request.prior_private;
        answer.diagnostics = diagnostics.into_wire();
        return Ok(answer);
    }
    let planning = Planning {
        schema: &entry.schema,
        prior,
        proposed,
        config,
        private,
    };
    // The plan of the prior object has its identity, which a plan cannot change.
    answer.planned_identity = identity::of(&entry, &planning.prior)?;
    let planned = match entry.item.plan(&cx, planning.clone()).await {
        Ok(planned) => planned,
        Err(failure) => {
            answer.deferred = failure.deferral(request.client_capabilities.as_ref());
            if answer.deferred.is_none() {
                return Err(failure);
            }
            // The host shows what is known of a deferred object.
            planning.by_default()
        }
    };
    answer.planned_state = Some(codec::encode(&planned.value, &entry.ty)?);
    answer.requires_replace = planned.replace.iter().map(path_to_wire).collect();
    answer.planned_private = planned.private.into();
    Ok(answer)
}

pub(crate) async fn apply(
    entry: Arc<Entry<dyn Resource>>,
    cx: Context,
    request: pb::apply_resource_change::Request,
) -> Outcome<pb::apply_resource_change::Response> {
    let mut answer = pb::apply_resource_change::Response::default();
    let prior = codec::decode(request.prior_state, &entry.ty)?;
    let planned = codec::decode(request.planned_state, &entry.ty)?;
    let config = codec::decode(request.config, &entry.ty)?;
    // The plan took over the private data of the prior state, or replaced it.
    let former = request.planned_private;
    let gone = Value::null(entry.ty.clone());
    // Kept, because the call below consumes the prior value.
    let keep = prior.clone();
    let done = match planned.is_null() {
        true => {
            let state = State::new(prior).with_private(former.to_vec());
            let deleted = deleted(&entry, &cx, state).await;
            deleted.map(|diagnostics| {
                answer.diagnostics = diagnostics.into_wire();
                State::new(gone)
            })
        }
        false => {
            let change = Change {
                prior,
                planned,
                config,
                private: former.to_vec(),
            };
            // A new object is returned only when dependent resources can use it.
            match changed(&entry, &cx, change).await {
                Ok(state) => wait_until_stable(&*entry.item, &cx, state).await,
                Err(failure) => Err(failure),
            }
        }
    };
    match done {
        Ok(state) => {
            // Private data of a deleted object is useless.
            answer.private = if state.value.is_null() {
                proto::Bytes::new()
            } else {
                private_of(&state, &former)
            };
            answer.new_state = Some(codec::encode(&state.value, &entry.ty)?);
            answer.new_identity = identity::of(&entry, &state.value)?;
        }
        Err(mut failure) => {
            // Without a partial state, the prior object still exists (or none, for a create).
            let state = failure
                .partial
                .take()
                .map_or_else(|| State::new(keep), |partial| *partial);
            answer.private = private_of(&state, &former);
            answer.new_identity = identity::of(&entry, &state.value)?;
            match codec::encode(&state.value, &entry.ty) {
                Ok(value) => answer.new_state = Some(value),
                // A value that cannot be encoded would hide the failure itself, so both are
                // reported.
                Err(wrong) => failure.diagnostics.extend(wrong.diagnostics),
            }
            answer.diagnostics = failure_diagnostics(failure).into_wire();
        }
    }
    Ok(answer)
}

/// Creates or updates an object, within its time limit. The result has no unknown values.
pub(crate) async fn changed(
    entry: &Entry<dyn Resource>,
    cx: &Context,
    change: Change,
) -> Outcome<State> {
    let operation = match change.prior.is_null() {
        true => Operation::Create,
        false => Operation::Update,
    };
    // The operator's time limits are a block of the planned object.
    let limit = entry.schema.time_limit(operation, &change.planned);
    let call = async |cx: Context| match operation {
        Operation::Create => entry.item.create(&cx, change).await,
        _ => entry.item.update(&cx, change).await,
    };
    let made = within_limit(cx, operation, limit, call).await;
    // Write-only values are removed before the check, so an unknown one is not an error.
    let made = made.map(|state| storable(entry, state)).and_then(finished);
    // A partial object reaches the state as well, so the same rules apply to it.
    made.map_err(|mut failure| {
        let partial = failure.partial.take();
        failure.partial = partial.map(|partial| Box::new(storable(entry, *partial)));
        failure
    })
}

/// Deletes an object, within its time limit.
pub(crate) async fn deleted(
    entry: &Entry<dyn Resource>,
    cx: &Context,
    state: State,
) -> Outcome<Diagnostics> {
    // A destroy has no planned object, so the stored one has the time limits.
    let limit = entry.schema.time_limit(Operation::Delete, &state.value);
    let delete = async |cx: Context| entry.item.delete(&cx, state).await;
    within_limit(cx, Operation::Delete, limit, delete).await
}

/// Maximum time until an object is stable.
const STABLE_TIMEOUT: Duration = Duration::from_secs(3600);
/// Pauses between two checks: doubled from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Waits until a created or updated object is stable. A failure carries the object as partial
/// state, because it exists.
pub(crate) async fn wait_until_stable(
    item: &dyn Resource,
    cx: &Context,
    state: State,
) -> Outcome<State> {
    let until = Instant::now() + STABLE_TIMEOUT;
    let mut pause = PAUSES.0;
    // The loop ends at the time limit.
    let failure = loop {
        match item.is_stable(cx, &state).await {
            Ok(true) => return Ok(state),
            // Checked before the pause, which would otherwise exceed the limit.
            Ok(false) if Instant::now() + pause > until => {
                let why = format!(
                    "the object exists, but was not stable within {} s",
                    STABLE_TIMEOUT.as_secs()
                );
                break Failure::new(format!("{} did not become stable", item.name()), why);
            }
            Ok(false) => {}
            Err(failure) => break failure,
        }
        tokio::select! {
            biased; // stop has priority
            () = cx.stop().cancelled() => {
                let why = "it exists, but may not work yet";
                break Failure::new("stopped before it was stable", why);
            }
            () = sleep(pause) => pause = (pause * 2).min(PAUSES.1),
        }
    };
    Err(failure.with_partial(state))
}

/// Checks the result of a create or update: it must be an object without unknown values.
pub(crate) fn finished(state: State) -> Outcome<State> {
    if state.value.is_null() {
        // A null result would leave an object that may exist out of the state.
        return Err(Failure::new(
            "the provider returned nothing",
            "a create or update must return the object; this is a bug in the provider",
        ));
    }
    let mut unknown = Vec::new();
    state.value.walk(&mut |path, value| {
        if !value.is_known() {
            unknown.push(path.clone());
        }
        // Known parts are skipped, which keeps the walk short for large objects.
        !value.is_wholly_known()
    });
    // The first unknown path is enough for the message.
    let Some(first) = unknown.first().cloned() else {
        return Ok(state);
    };
    let detail = format!(
        "{first} is still unknown after the change; this is a bug in the provider, and null is stored in its place"
    );
    // The object exists, so it must reach the state; a state cannot hold unknown values.
    let known = State {
        value: state.value.unknown_as_null(),
        ..state
    };
    Err(Failure::from(
        Diagnostic::error("the provider returned an unknown value", detail).at(first),
    )
    .with_partial(known))
}

/// Reads an object, if it exists; within the time limit of reads.
pub(crate) async fn found(
    entry: &Entry<dyn Resource>,
    cx: &Context,
    state: State,
) -> Outcome<Option<State>> {
    let limit = entry.schema.time_limit(Operation::Read, &state.value);
    let read = async |cx: Context| match entry.item.exists(&cx, &state).await? {
        true => entry.item.read(&cx, state).await,
        false => Ok(None),
    };
    // The limit covers both calls, because the operator knows only one read.
    let found = within_limit(cx, Operation::Read, limit, read).await?;
    Ok(found.map(|state| storable(entry, state)))
}

/// Removes what a state cannot have: write-only values, and nulls in place of repeated blocks.
fn storable(entry: &Entry<dyn Resource>, state: State) -> State {
    let block = &entry.schema.block;
    let mut value = block.with_empty_blocks(state.value);
    // This copies the whole object, so types without write-only attributes skip it.
    if entry.has_write_only && !value.is_null() {
        value = block.without_write_only(&value);
    }
    State { value, ..state }
}

pub(crate) async fn read(
    entry: Arc<Entry<dyn Resource>>,
    cx: Context,
    request: pb::read_resource::Request,
) -> Outcome<pb::read_resource::Response> {
    let value = codec::decode(request.current_state.clone(), &entry.ty)?;
    // An object that does not exist needs no read.
    if value.is_null() {
        return Ok(pb::read_resource::Response {
            new_state: request.current_state,
            private: request.private,
            ..Default::default()
        });
    }
    let state = State::new(value).with_private(request.private.to_vec());
    let found = match found(&entry, &cx, state).await {
        Ok(found) => found,
        Err(failure) => {
            let deferred = failure.deferral(request.client_capabilities.as_ref());
            let deferred = deferred.ok_or(failure)?;
            return Ok(pb::read_resource::Response {
                new_state: request.current_state,
                private: request.private,
                // A deferred read changes nothing, so the response repeats the stored object.
                new_identity: request.current_identity,
                deferred: Some(deferred),
                ..Default::default()
            });
        }
    };
    // With a null state, the host removes the object from its own state.
    let state = found.unwrap_or_else(|| State::new(Value::null(entry.ty.clone())));
    Ok(pb::read_resource::Response {
        new_state: Some(codec::encode(&state.value, &entry.ty)?),
        new_identity: identity::of(&entry, &state.value)?,
        private: private_of(&state, &request.private),
        ..Default::default()
    })
}

/// Imports an object by its id or its identity.
pub(crate) async fn import(
    entry: Arc<Entry<dyn Resource>>,
    cx: Context,
    request: pb::import_resource_state::Request,
) -> Outcome<pb::import_resource_state::Response> {
    let id = match request.identity {
        // The host sends an id or an identity, never both.
        None => request.id,
        Some(data) => {
            let identity = identity::decode(&entry, data)?;
            entry.item.import_id(&identity).ok_or_else(|| {
                let summary = format!("{} cannot be imported by its identity", entry.item.name());
                Failure::new(summary, "import the object by its id instead")
            })?
        }
    };
    let imported = entry.item.import(&cx, &id).await;
    let mut answer = pb::import_resource_state::Response::default();
    match imported {
        Ok(state) => {
            let state = storable(&entry, state);
            // The protocol allows several objects for one import, but the trait returns one.
            answer
                .imported_resources
                .push(pb::import_resource_state::ImportedResource {
                    type_name: request.type_name,
                    state: Some(codec::encode(&state.value, &entry.ty)?),
                    identity: identity::of(&entry, &state.value)?,
                    private: state.private.into(),
                });
        }
        Err(failure) => {
            let deferred = failure.deferral(request.client_capabilities.as_ref());
            answer.deferred = Some(deferred.ok_or(failure)?);
        }
    }
    Ok(answer)
}

/// Converts the state of an object of another type.
pub(crate) fn moved(
    entry: &Entry<dyn Resource>,
    request: pb::move_resource_state::Request,
) -> Outcome<pb::move_resource_state::Response> {
    let raw = request.source_state.unwrap_or_default();
    let from = MovedState {
        provider: request.source_provider_address,
        type_name: request.source_type_name,
        version: request.source_schema_version,
        // It stays JSON, because this provider may not have the schema of the other type.
        state: serde_json::from_slice(&raw.json)?,
    };
    let json = entry.item.move_state(&from)?.ok_or_else(|| {
        let (old, new) = (&from.type_name, entry.item.name());
        let detail = format!("{new} does not support objects of {old}; remove the moved block");
        Failure::new(format!("cannot move an object from {old} to {new}"), detail)
    })?;
    let value = codec::from_state_json(json, &entry.ty)?;
    let state = storable(entry, State::new(value));
    Ok(pb::move_resource_state::Response {
        target_state: Some(codec::encode(&state.value, &entry.ty)?),
        target_identity: identity::of(entry, &state.value)?,
        ..Default::default()
    })
}

/// Upgrades a state step by step. The host also calls for states of the current version, which need
/// no upgrade.
fn upgraded(
    item: &dyn Resource,
    from: i64,
    version: i64,
    mut json: serde_json::Value,
) -> Outcome<serde_json::Value> {
    let upgraders = item.upgraders();
    for step in from..version {
        let upgrader = upgraders.iter().find(|upgrader| upgrader.from == step);
        let upgrader = upgrader.ok_or_else(|| {
            let summary = format!("the state of this {} is too old", item.name());
            let detail = format!(
                "this provider cannot upgrade states of schema version {step}; apply with an older version of the provider first"
            );
            Failure::new(summary, detail)
        })?;
        json = (upgrader.upgrade)(json)?;
    }
    Ok(json)
}

pub(crate) async fn upgrade(
    entry: Arc<Entry<dyn Resource>>,
    request: pb::upgrade_resource_state::Request,
) -> Outcome<pb::DynamicValue> {
    let version = entry.schema.version;
    // An older provider would drop attributes that it does not know.
    if request.version > version {
        return Err(Failure::new(
            format!(
                "the state of this {} is newer than the provider",
                request.type_name
            ),
            format!(
                "the state was written with schema version {}, but this provider supports only version {version}; use the provider version that wrote it, or a newer one",
                request.version
            ),
        ));
    }
    let raw = request.raw_state.unwrap_or_default();
    // The flatmap form of states predates version 0.12.
    if raw.json.is_empty() {
        return Err(Failure::new(
            "the format of the state is not supported",
            "the state is not JSON, because a version before 0.12 wrote it",
        ));
    }
    let mut json: serde_json::Value = serde_json::from_slice(&raw.json).map_err(|error| {
        Failure::new(
            format!("the state of this {} is not JSON", request.type_name),
            error.to_string(),
        )
    })?;
    // Upgraders take JSON, because an older state does not fit the current type.
    json = upgraded(&*entry.item, request.version, version, json)?;
    let state = codec::from_state_json(json, &entry.ty)?;
    // States from other programs can have null in place of empty blocks.
    codec::encode(&entry.schema.block.with_empty_blocks(state), &entry.ty)
}
