//! Typed data sources.

use std::marker::PhantomData;

use async_trait::async_trait;
use cty::Value;

use super::model::{Mismatch, Named, known};
use super::provider::Slot;
use crate::diagnostics::{Diagnostics, Failure};
use crate::plan::with_defaults;
use crate::provider::{Context, DataSource};
use crate::schema::Schema;

/// Typed data source.
#[async_trait]
pub trait Lookup: Named {
    /// Result of the provider's configuration.
    type Client: Send + Sync + 'static;

    /// Reads the data source: returns the configuration with its computed attributes.
    async fn read(cx: &Context, client: &Self::Client, config: Self) -> Result<Self, Failure>;

    /// Validates a configuration beyond its schema. Values can be unknown.
    fn validate(_config: &Value) -> Diagnostics {
        Diagnostics::new()
    }
}

/// Untyped data source of a typed one.
pub(super) struct Typed<T: Lookup> {
    pub(super) slot: Slot<T::Client>,
    pub(super) kind: PhantomData<T>,
}

#[async_trait]
impl<T: Lookup> DataSource for Typed<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn schema(&self) -> Schema {
        T::schema()
    }

    async fn validate(&self, _: &Context, config: &Value) -> Diagnostics {
        T::validate(config)
    }

    async fn read(&self, cx: &Context, config: Value) -> Result<Value, Failure> {
        // Hosts set no defaults of data sources, because they do not plan them.
        let config = with_defaults(&T::schema(), config);
        let config = T::from_object(&config).map_err(Mismatch::into_failure)?;
        let client = self.slot.client()?;
        known(T::read(cx, &client, config).await?.to_object())
    }
}
