//! Untyped resource type of a typed one: converts the arguments and results of each call.

use std::pin::Pin;

use async_trait::async_trait;
use cty::Value;

use super::lifecycle::{Lifecycle, Plan, Updatable, Update};
use super::model::Mismatch;
use super::provider::Slot;
use crate::diagnostics::{Diagnostics, Failure};
use crate::partial::Partial;
use crate::plan::replacing;
use crate::provider::{Change, Context, MovedState, Planned, Planning, Resource, State, Upgrader};
use crate::schema::Schema;

type Updated<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send + 'a>>;

/// Update function of a type that can be updated in place.
type UpdateFn<T> =
    for<'a> fn(&'a Context, &'a <T as Lifecycle>::Client, &'a mut Update<T>) -> Updated<'a, T>;

/// Untyped resource type of a typed one.
pub(super) struct Typed<T: Lifecycle> {
    slot: Slot<T::Client>,
    schema: Schema,
    update: Option<UpdateFn<T>>,
}

impl<T: Lifecycle> Typed<T> {
    /// Creates a type whose objects are replaced instead of updated.
    pub(super) fn immutable(slot: Slot<T::Client>) -> Typed<T> {
        Typed {
            slot,
            schema: T::schema(),
            update: None,
        }
    }

    /// Converts a value, with the write-only values of the configuration.
    fn object(&self, value: &Value, config: Option<&Value>) -> Result<T, Failure> {
        // Most types have no write-only attributes, so their values are not copied.
        let filled = config
            .filter(|_| self.schema.block.has_write_only())
            .map(|config| self.schema.block.with_write_only_of(value, config));
        T::from_object(filled.as_ref().unwrap_or(value)).map_err(Mismatch::into_failure)
    }

    /// Converts an object to a state. `base` has the parts that the struct does not have.
    fn state(&self, cx: &Context, object: &T, base: &Value) -> State {
        let value = self.schema.with_timeouts_of(object.to_object(), base);
        State::new(value).with_private(cx.private())
    }

    /// Completes the partial object of a failure.
    fn failure(&self, cx: &Context, mut failure: Failure, base: &Value) -> Failure {
        if let Some(partial) = &mut failure.partial {
            // A partial object reaches the state, which cannot hold unknown values.
            let value = partial.value.unknown_as_null();
            partial.value = self.schema.with_timeouts_of(value, base);
            partial.private = cx.private();
        }
        failure
    }
}

impl<T: Updatable> Typed<T> {
    /// Creates a type whose objects can be updated in place.
    pub(super) fn updatable(slot: Slot<T::Client>) -> Typed<T> {
        Typed {
            // The implementation for all of `Lifecycle` cannot name `T::update`, so it is stored.
            update: Some(|cx, client, change| T::update(cx, client, change)),
            ..Typed::immutable(slot)
        }
    }
}

/// Returns an object with the attributes that differ between `before` and `after`. All others keep
/// their exact values, which the fields of a struct may not hold.
fn with_changes(object: Value, before: &Value, after: &Value) -> Value {
    let (Some(members), Some(after)) = (object.as_map(), after.as_map()) else {
        return object;
    };
    let mut members = members.to_map();
    let after = after.to_map().into_iter();
    members.extend(after.filter(|(name, value)| before.get_attr(name).as_ref() != Some(value)));
    Value::object_from_map(members)
}

#[async_trait]
impl<T: Lifecycle> Resource for Typed<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    fn supports_update(&self) -> bool {
        self.update.is_some()
    }

    async fn validate(&self, _: &Context, config: &Value) -> Diagnostics {
        T::validate(config)
    }

    async fn plan(&self, cx: &Context, request: Planning<'_>) -> Result<Planned, Failure> {
        let prior = request.prior.clone();
        let mut planned = request.by_default();
        let object = |value: &Value| T::from_object(value).ok();
        // The fields of arguments cannot hold unknown values. If the client or an object is missing
        // for another reason, the apply reports it.
        let (Ok(client), Some(proposed)) = (self.slot.client(), object(&planned.value)) else {
            return Ok(planned);
        };
        let mut plan = Plan {
            prior: object(&prior),
            planned: proposed,
            replace: Vec::new(),
        };
        if plan.prior.is_none() && !prior.is_null() {
            return Ok(planned);
        }
        let before = plan.planned.to_object();
        cx.set_private(&*planned.private);
        T::plan(cx, &client, &mut plan).await?;
        planned.private = cx.private();
        planned.value = with_changes(planned.value, &before, &plan.planned.to_object());
        planned.replace = replacing(&self.schema, &prior, &planned.value);
        planned.replace.append(&mut plan.replace);
        Ok(planned)
    }

    async fn plan_destroy(&self, cx: &Context, prior: &State) -> Result<Diagnostics, Failure> {
        // Without them the destroy itself fails.
        if let (Ok(client), Ok(object)) = (self.slot.client(), T::from_object(&prior.value)) {
            cx.set_private(&*prior.private);
            T::plan_destroy(cx, &client, &object).await?;
        }
        Ok(Diagnostics::new())
    }

    async fn create(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let client = self.slot.client()?;
        cx.set_private(change.private);
        // Write-only values are null in the plan, so the configuration provides them.
        let planned = self.object(&change.planned, Some(&change.config))?;
        match T::create(cx, &client, planned).await {
            Ok(made) => Ok(self.state(cx, &made, &change.planned)),
            Err(failure) => Err(self.failure(cx, failure, &change.planned)),
        }
    }

    async fn exists(&self, cx: &Context, state: &State) -> Result<bool, Failure> {
        let object = self.object(&state.value, None)?;
        cx.set_private(&*state.private);
        T::exists(cx, &*self.slot.client()?, &object).await
    }

    async fn read(&self, cx: &Context, state: State) -> Result<Option<State>, Failure> {
        let client = self.slot.client()?;
        let object = self.object(&state.value, None)?;
        cx.set_private(state.private);
        let found = T::read(cx, &client, object).await?;
        Ok(found.map(|found| self.state(cx, &found, &state.value)))
    }

    async fn update(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let Some(update) = self.update else {
            return Err(crate::provider::no_update(T::NAME));
        };
        let client = self.slot.client()?;
        let mut typed = Update {
            prior: self.object(&change.prior, None)?,
            planned: self.object(&change.planned, Some(&change.config))?,
            partial: Partial::of(&change),
        };
        cx.set_private(&*change.private);
        match update(cx, &client, &mut typed).await {
            Ok(made) => Ok(self.state(cx, &made, &change.planned)),
            Err(failure) => {
                let mut failure = typed.partial.attach_to(failure);
                let mut base = &change.planned;
                if failure.partial.is_none() && cx.private() != change.private {
                    // The host takes private data only from an object, here the unchanged one.
                    failure = failure.with_partial(State::new(change.prior.clone()));
                    base = &change.prior;
                }
                Err(self.failure(cx, failure, base))
            }
        }
    }

    async fn is_stable(&self, cx: &Context, state: &State) -> Result<bool, Failure> {
        let object = self.object(&state.value, None)?;
        cx.set_private(&*state.private);
        T::is_stable(cx, &*self.slot.client()?, &object).await
    }

    async fn delete(&self, cx: &Context, state: State) -> Result<Diagnostics, Failure> {
        let client = self.slot.client()?;
        let object = self.object(&state.value, None)?;
        cx.set_private(state.private);
        let deleted = T::delete(cx, &client, object).await;
        deleted.map_err(|failure| self.failure(cx, failure, &state.value))?;
        Ok(Diagnostics::new())
    }

    async fn import(&self, cx: &Context, id: &str) -> Result<State, Failure> {
        let client = self.slot.client()?;
        let found = T::import(cx, &client, id).await?;
        let found = found.ok_or_else(|| {
            let summary = format!("there is no {} {id}", T::NAME);
            Failure::new(
                summary,
                "look up the id in the system that the provider manages",
            )
        })?;
        // An import has no configuration from which time limits could be taken.
        Ok(self.state(cx, &found, &self.schema.empty_value()))
    }

    fn import_id(&self, identity: &Value) -> Option<String> {
        T::import_id(identity)
    }

    fn move_state(&self, from: &MovedState) -> Result<Option<serde_json::Value>, Failure> {
        T::move_state(from)
    }

    fn upgraders(&self) -> Vec<Upgrader> {
        T::upgraders()
    }
}
