//! Typed ephemeral resources.

use std::marker::PhantomData;
use std::time::SystemTime;

use async_trait::async_trait;
use cty::{Type, Value};

use super::model::{Mismatch, Named, known};
use super::provider::Slot;
use crate::codec;
use crate::diagnostics::{Diagnostics, Failure};
use crate::plan::with_defaults;
use crate::provider::{Context, EphemeralResource, Opened, Renewed};
use crate::schema::Schema;

/// Typed ephemeral resource: it exists only during a run of the host, and is not stored.
#[async_trait]
pub trait Ephemeral: Named {
    /// Result of the provider's configuration.
    type Client: Send + Sync + 'static;

    /// Opens the resource: returns the configuration with its computed attributes.
    async fn open(cx: &Context, client: &Self::Client, config: Self) -> Result<Self, Failure>;

    /// Returns the time of the next renewal; `None` if none is needed. Called after an open and
    /// after each renewal, with their result.
    fn renew_at(&self) -> Option<SystemTime> {
        None
    }

    /// Renews the resource. Users keep the values of the open; the later calls get the returned
    /// ones.
    async fn renew(_cx: &Context, _client: &Self::Client, _open: Self) -> Result<Self, Failure> {
        Err(Failure::new(
            format!("{} cannot be renewed", Self::NAME),
            "the resource type has no renewal; a time in `renew_at` is a bug in the provider",
        ))
    }

    /// Closes the resource, when the host has used it.
    async fn close(_cx: &Context, _client: &Self::Client, _open: Self) -> Result<(), Failure> {
        Ok(())
    }

    /// Validates a configuration beyond its schema. Values can be unknown.
    fn validate(_config: &Value) -> Diagnostics {
        Diagnostics::new()
    }
}

/// Untyped ephemeral resource of a typed one. Its private data is the object, which hosts hold from
/// the open to the close.
pub(super) struct Typed<T: Ephemeral> {
    slot: Slot<T::Client>,
    schema: Schema,
    ty: Type,
    kind: PhantomData<T>,
}

impl<T: Ephemeral> Typed<T> {
    pub(super) fn new(slot: Slot<T::Client>) -> Typed<T> {
        let schema = T::schema();
        Typed {
            slot,
            ty: schema.implied_type(),
            schema,
            kind: PhantomData,
        }
    }

    /// Reads the object of an earlier call.
    fn object(&self, private: &[u8]) -> Result<T, Failure> {
        let value = cty::msgpack::decode(private, &self.ty).map_err(|error| {
            let why = format!("{error}; the host must return the data of the last call");
            Failure::new(
                format!("the private data of this {} is not valid", T::NAME),
                why,
            )
        })?;
        T::from_object(&value).map_err(Mismatch::into_failure)
    }

    fn opened(&self, open: &T) -> Result<Opened, Failure> {
        let value = known(open.to_object())?;
        Ok(Opened {
            private: codec::encode(&value, &self.ty)?.msgpack.into(),
            renew_at: open.renew_at(),
            value,
        })
    }
}

#[async_trait]
impl<T: Ephemeral> EphemeralResource for Typed<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    async fn validate(&self, _: &Context, config: &Value) -> Diagnostics {
        T::validate(config)
    }

    async fn open(&self, cx: &Context, config: Value) -> Result<Opened, Failure> {
        let client = self.slot.client()?;
        // Hosts set no defaults of ephemeral resources, because they do not plan them.
        let config = with_defaults(&self.schema, config);
        let config = T::from_object(&config).map_err(Mismatch::into_failure)?;
        self.opened(&T::open(cx, &client, config).await?)
    }

    async fn renew(&self, cx: &Context, private: Vec<u8>) -> Result<Renewed, Failure> {
        let client = self.slot.client()?;
        let renewed = T::renew(cx, &client, self.object(&private)?).await?;
        let Opened {
            private, renew_at, ..
        } = self.opened(&renewed)?;
        Ok(Renewed { private, renew_at })
    }

    async fn close(&self, cx: &Context, private: Vec<u8>) -> Result<Diagnostics, Failure> {
        let client = self.slot.client()?;
        T::close(cx, &client, self.object(&private)?).await?;
        Ok(Diagnostics::new())
    }
}
