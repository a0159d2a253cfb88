//! Traits of a typed resource type.

use async_trait::async_trait;
use cty::{Path, Value};

use super::model::Named;
use crate::diagnostics::{Diagnostics, Failure};
use crate::partial::Partial;
use crate::provider::{Context, MovedState, Upgrader};

/// Life cycle of the objects of a typed resource type. The client is the result of the provider's
/// configuration. Types that can be updated in place implement [`Updatable`] as well.
#[async_trait]
pub trait Lifecycle: Named {
    /// Result of the provider's configuration: a client, a connection, settings.
    type Client: Send + Sync + 'static;

    /// Creates an object. The result must have a value in every computed attribute. If the create
    /// fails half-way, return [`Failure::with_object`] with the object as it is.
    async fn create(cx: &Context, client: &Self::Client, planned: Self) -> Result<Self, Failure>;

    /// Returns true if the object exists. Called before each read; a missing object is not read.
    async fn exists(_cx: &Context, _client: &Self::Client, _state: &Self) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Reads an object, without changing it; `None` if it no longer exists.
    async fn read(
        cx: &Context,
        client: &Self::Client,
        state: Self,
    ) -> Result<Option<Self>, Failure>;

    /// Adjusts the default plan of a create or update; see [`crate::Resource::plan`]. It can set
    /// computed attributes that can be told before the apply, keep those that do not change,
    /// require a replacement, or refuse the plan. Also called if nothing changes.
    ///
    /// While arguments of the object or the configuration of the provider are unknown, the default
    /// plan applies, and this method is not called.
    async fn plan(
        _cx: &Context,
        _client: &Self::Client,
        _plan: &mut Plan<Self>,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Checks the plan of a destroy; a failure refuses it. Not called while the configuration of
    /// the provider is unknown.
    async fn plan_destroy(
        _cx: &Context,
        _client: &Self::Client,
        _state: &Self,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// Deletes an object. An object that no longer exists is not an error.
    async fn delete(cx: &Context, client: &Self::Client, state: Self) -> Result<(), Failure>;

    /// Finds an existing object by the operator's id; `None` if it does not exist.
    async fn import(
        _cx: &Context,
        _client: &Self::Client,
        _id: &str,
    ) -> Result<Option<Self>, Failure> {
        Err(Failure::new(
            format!("{} cannot be imported", Self::NAME),
            "this resource type does not support import",
        ))
    }

    /// Returns the id for [`Lifecycle::import`] of an identity; see [`crate::Resource::import_id`].
    fn import_id(identity: &Value) -> Option<String> {
        crate::identity::only_text(identity)
    }

    /// Converts the state of an object of another type; see [`crate::Resource::move_state`].
    fn move_state(_from: &MovedState) -> Result<Option<serde_json::Value>, Failure> {
        Ok(None)
    }

    /// Returns true if a created or updated object is stable; see [`crate::Resource::is_stable`].
    async fn is_stable(
        _cx: &Context,
        _client: &Self::Client,
        _state: &Self,
    ) -> Result<bool, Failure> {
        Ok(true)
    }

    /// Validates a configuration beyond its schema. Values can be unknown.
    fn validate(_config: &Value) -> Diagnostics {
        Diagnostics::new()
    }

    /// Returns the upgraders of older states; see [`crate::Resource::upgraders`].
    fn upgraders() -> Vec<Upgrader> {
        Vec::new()
    }
}

/// Update in place of a typed resource type.
#[diagnostic::on_unimplemented(
    message = "objects of `{Self}` cannot be updated in place",
    label = "does not implement Updatable",
    note = "implement Updatable, or add the type with `immutable_resource` and mark all attributes \
            that can be configured as `replaces`"
)]
#[async_trait]
pub trait Updatable: Lifecycle {
    /// Updates an object in place. If it fails half-way, the state keeps exactly the attributes
    /// that were committed with [`Update::commit`], so that the next apply completes the rest.
    async fn update(
        cx: &Context,
        client: &Self::Client,
        change: &mut Update<Self>,
    ) -> Result<Self, Failure>;
}

/// Update of an object.
#[derive(Debug)]
pub struct Update<T> {
    /// Object before the update.
    pub prior: T,
    /// Planned object; computed attributes that the update can change are unknown.
    pub planned: T,
    pub(super) partial: Partial,
}

impl<T: Named> Update<T> {
    /// Records that a part of the update is done: an attribute such as `tags`, with everything in
    /// it, or a part of one such as `network.port`, `rules.0` or `labels.env`. The value is that of
    /// `planned`.
    ///
    /// # Errors
    /// There is no such attribute.
    pub fn commit(&mut self, path: &str) -> Result<(), Failure> {
        // The author can set computed values in the struct, so the plan itself is not used.
        self.partial.commit_from(path, &self.planned.to_object())
    }

    /// Returns true if the attribute differs between `prior` and `planned`.
    pub fn changes(&self, name: &str) -> bool {
        differs(name, &self.prior, &self.planned)
    }
}

/// Returns true if two objects differ in an attribute.
fn differs<T: Named>(name: &str, one: &T, other: &T) -> bool {
    let value = |object: &T| object.to_object().get_attr(name);
    // A name without an attribute counts as equal, because both sides lack it.
    value(one) != value(other)
}

/// Plan of a create or update.
#[derive(Debug)]
pub struct Plan<T> {
    /// Object before the change; `None` for a create.
    pub prior: Option<T>,
    /// Planned object. Computed attributes that are still unknown are set by the apply. Attributes
    /// that are not computed must stay as they are.
    pub planned: T,
    pub(super) replace: Vec<Path>,
}

impl<T: Named> Plan<T> {
    /// Requires a replacement because of an attribute. It has no effect on a create, and if the
    /// attribute does not change.
    pub fn replace(&mut self, name: &str) {
        if self.changes(name) {
            self.replace.push(Path::root().attr(name));
        }
    }

    /// Returns true if the attribute differs between `prior` and `planned`; false for a create.
    pub fn changes(&self, name: &str) -> bool {
        let prior = self.prior.as_ref();
        prior.is_some_and(|prior| differs(name, prior, &self.planned))
    }
}
