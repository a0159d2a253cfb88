//! Provider of typed resource types and data sources, assembled from values.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use cty::Value;

use super::data::{self, Lookup};
use super::ephemeral::{self, Ephemeral};
use super::function::{self, TypedFunction};
use super::lifecycle::{Lifecycle, Updatable};
use super::model::{Model, first_unknown};
use super::resource;
use crate::diagnostics::{Deferral, Diagnostics, Failure};
use crate::function::Function;
use crate::plan::with_defaults;
use crate::provider::{Context, DataSource, EphemeralResource, Provider, Resource};
use crate::schema::Schema;

type Connected<C> = Pin<Box<dyn Future<Output = Result<C, Failure>> + Send>>;

/// Client of a provider, once it is configured.
enum Client<C> {
    /// The host has not configured the provider.
    Missing,
    /// The configuration has an unknown value at this place.
    Unknown(String),
    /// Result of the configuration.
    Ready(Arc<C>),
}

/// Place of the client, shared by all types of a provider.
pub(super) struct Slot<C>(Arc<RwLock<Client<C>>>);

impl<C> Clone for Slot<C> {
    fn clone(&self) -> Slot<C> {
        Slot(self.0.clone())
    }
}

impl<C> Slot<C> {
    /// Returns the client.
    ///
    /// # Errors
    /// The provider is not configured, or its configuration has unknown values.
    pub(super) fn client(&self) -> Result<Arc<C>, Failure> {
        let summary = "the provider is not configured";
        // A panic cannot leave a half-written client, so a poisoned lock is still usable.
        match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Client::Ready(client) => Ok(client.clone()),
            Client::Missing => Err(Failure::new(
                summary,
                "the host made a call before it configured the provider; this is a bug in the host",
            )),
            Client::Unknown(place) => Err(Failure::new(
                summary,
                format!(
                    "{place} is unknown until an apply; apply the resources it depends on first"
                ),
            )
            .deferred(Deferral::ProviderConfigUnknown)),
        }
    }

    fn set(&self, client: Client<C>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = client;
    }
}

/// Provider of typed resource types and data sources. `C` is the client: the result of the
/// configuration, which every call receives.
pub struct TypedProvider<C> {
    name: String,
    publisher: String,
    version: String,
    schema: Schema,
    configure: Box<dyn Fn(Context, Value) -> Connected<C> + Send + Sync>,
    slot: Slot<C>,
    resources: Vec<Arc<dyn Resource>>,
    data_sources: Vec<Arc<dyn DataSource>>,
    ephemeral: Vec<Arc<dyn EphemeralResource>>,
    functions: Vec<Arc<dyn Function>>,
}

impl<C: Send + Sync + 'static> TypedProvider<C> {
    /// Creates a provider. `configure` receives the configuration, `()` if it has no arguments, and
    /// returns the client. It is not called while the configuration has unknown values.
    pub fn new<M, F, Fut>(name: &str, configure: F) -> TypedProvider<C>
    where
        M: Model,
        F: Fn(Context, M) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<C, Failure>> + Send + 'static,
    {
        // The closure lives as long as the provider, so it owns a schema.
        let schema = Schema::of(M::block());
        let connect = move |cx: Context, config: Value| -> Connected<C> {
            match M::from_object(&with_defaults(&schema, config)) {
                Ok(config) => Box::pin(configure(cx, config)),
                Err(error) => Box::pin(std::future::ready(Err(error.into_failure()))),
            }
        };
        TypedProvider {
            name: name.to_owned(),
            publisher: "flightdeck".to_owned(),
            version: "0.0.0".to_owned(),
            schema: Schema::of(M::block()),
            configure: Box::new(connect),
            // Types are added before the client exists, so they share a place that is filled later.
            slot: Slot(Arc::new(RwLock::new(Client::Missing))),
            resources: Vec::new(),
            data_sources: Vec::new(),
            ephemeral: Vec::new(),
            functions: Vec::new(),
        }
    }

    /// Sets the publisher; see [`Provider::publisher`].
    #[must_use]
    pub fn publisher(mut self, publisher: &str) -> Self {
        publisher.clone_into(&mut self.publisher);
        self
    }

    /// Sets the semantic version.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// Adds a resource type whose objects can be updated in place.
    #[must_use]
    pub fn resource<T: Updatable<Client = C>>(mut self) -> Self {
        let typed = resource::Typed::<T>::updatable(self.slot.clone());
        self.resources.push(Arc::new(typed));
        self
    }

    /// Adds a resource type whose objects are replaced instead of updated: all attributes that can
    /// be configured must be `replaces`.
    #[must_use]
    pub fn immutable_resource<T: Lifecycle<Client = C>>(mut self) -> Self {
        let typed = resource::Typed::<T>::immutable(self.slot.clone());
        self.resources.push(Arc::new(typed));
        self
    }

    /// Adds a data source.
    #[must_use]
    pub fn data_source<T: Lookup<Client = C>>(mut self) -> Self {
        self.data_sources.push(Arc::new(data::Typed::<T> {
            slot: self.slot.clone(),
            kind: PhantomData,
        }));
        self
    }

    /// Adds an ephemeral resource.
    #[must_use]
    pub fn ephemeral_resource<T: Ephemeral<Client = C>>(mut self) -> Self {
        let typed = ephemeral::Typed::<T>::new(self.slot.clone());
        self.ephemeral.push(Arc::new(typed));
        self
    }

    /// Adds a function from a closure, with the names of its parameters. Arguments of `Option<T>`
    /// can be null; the last can be [`super::Variadic`].
    #[must_use]
    pub fn function<A, F, const N: usize>(
        mut self,
        name: &str,
        summary: &str,
        parameters: [&'static str; N],
        call: F,
    ) -> Self
    where
        A: 'static,
        F: TypedFunction<A, N>,
    {
        self.functions.push(Arc::new(function::Typed {
            name: name.to_owned(),
            summary: summary.to_owned(),
            names: parameters,
            call,
            arguments: PhantomData,
        }));
        self
    }

    /// Adds an untyped function.
    #[must_use]
    pub fn untyped_function(mut self, function: impl Function) -> Self {
        self.functions.push(Arc::new(function));
        self
    }

    /// Adds an untyped resource type.
    #[must_use]
    pub fn untyped_resource(mut self, resource: impl Resource) -> Self {
        self.resources.push(Arc::new(resource));
        self
    }

    /// Adds an untyped data source.
    #[must_use]
    pub fn untyped_data_source(mut self, source: impl DataSource) -> Self {
        self.data_sources.push(Arc::new(source));
        self
    }

    /// Adds an untyped ephemeral resource.
    #[must_use]
    pub fn untyped_ephemeral_resource(mut self, resource: impl EphemeralResource) -> Self {
        self.ephemeral.push(Arc::new(resource));
        self
    }
}

#[async_trait]
impl<C: Send + Sync + 'static> Provider for TypedProvider<C> {
    fn name(&self) -> &str {
        &self.name
    }

    fn publisher(&self) -> &str {
        &self.publisher
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn schema(&self) -> Schema {
        self.schema.clone()
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        self.resources.clone()
    }

    fn data_sources(&self) -> Vec<Arc<dyn DataSource>> {
        self.data_sources.clone()
    }

    fn functions(&self) -> Vec<Arc<dyn Function>> {
        self.functions.clone()
    }

    fn ephemeral_resources(&self) -> Vec<Arc<dyn EphemeralResource>> {
        self.ephemeral.clone()
    }

    async fn configure(&self, cx: &Context, config: &Value) -> Diagnostics {
        // A plan can configure the provider with values that other resources have yet to get.
        if let Some(place) = first_unknown(config) {
            // This is not an error: the plan continues, and only calls that need the client fail.
            self.slot.set(Client::Unknown(place));
            return Diagnostics::new();
        }
        match (self.configure)(cx.clone(), config.clone()).await {
            Ok(client) => {
                self.slot.set(Client::Ready(Arc::new(client)));
                Diagnostics::new()
            }
            Err(failure) => {
                // The client of a former configuration must not serve later calls.
                self.slot.set(Client::Missing);
                crate::calls::failure_diagnostics(failure)
            }
        }
    }
}
