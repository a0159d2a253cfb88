//! Provider protocol 6 server of a [`Provider`]; runs each call as its own task. Owns the schemas
//! and the token through which StopProvider cancels running calls.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use cty::Type;
use proto::tfplugin6 as pb;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::diagnostics::{Diagnostics, Failure};
use crate::function::{Callable, Function};
use crate::provider::{Context, DataSource, EphemeralResource, Provider, Resource};
use crate::schema::Schema;
use crate::validate::{SchemaError, internal_validate};
use crate::wire_schema;

/// Provider, resource type or data source, with its schema and type.
pub(crate) struct Entry<T: ?Sized> {
    pub(crate) item: Arc<T>,
    pub(crate) schema: Schema,
    pub(crate) ty: Type,
    /// Type of identities, if the type has them.
    pub(crate) identity: Option<Type>,
    pub(crate) has_write_only: bool,
}

impl<T: ?Sized> Entry<T> {
    pub(super) fn new(item: Arc<T>, schema: Schema) -> Arc<Entry<T>> {
        Arc::new(Entry {
            item,
            ty: schema.implied_type(),
            identity: schema.identity_type(),
            has_write_only: schema.block.has_write_only(),
            schema,
        })
    }
}

/// Reads the schemas of types, by name.
fn entries<T: ?Sized>(
    items: Vec<Arc<T>>,
    read: impl Fn(&T) -> (&str, Schema),
) -> BTreeMap<String, Arc<Entry<T>>> {
    let entry = |item: Arc<T>| {
        let (name, schema) = read(&item);
        (name.to_owned(), Entry::new(item.clone(), schema))
    };
    items.into_iter().map(entry).collect()
}

fn schemas<T: ?Sized>(of: &BTreeMap<String, Arc<Entry<T>>>) -> HashMap<String, pb::Schema> {
    let schema =
        |(name, one): (&String, &Arc<Entry<T>>)| (name.clone(), wire_schema::to_wire(&one.schema));
    of.iter().map(schema).collect()
}

/// Server of the protocol.
pub(crate) struct Service {
    pub(super) provider: Arc<Entry<dyn Provider>>,
    pub(super) resources: BTreeMap<String, Arc<Entry<dyn Resource>>>,
    pub(super) data_sources: BTreeMap<String, Arc<Entry<dyn DataSource>>>,
    pub(super) ephemeral: BTreeMap<String, Arc<Entry<dyn EphemeralResource>>>,
    pub(super) functions: BTreeMap<String, Arc<Callable>>,
    pub(super) schema: pb::get_provider_schema::Response,
    pub(super) stop: Mutex<CancellationToken>,
    pub(super) shutdown: CancellationToken,
    tasks: TaskTracker,
}

/// Result of a call's task; a panic becomes a diagnostic.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Answer with diagnostics.
pub(crate) trait Diagnosed {
    /// Adds diagnostics to the answer.
    fn add(&mut self, more: Diagnostics);
}

impl Diagnosed for Diagnostics {
    fn add(&mut self, more: Diagnostics) {
        self.extend(more);
    }
}

macro_rules! diagnosed {
    ($($method:ident),*) => {
        $(impl Diagnosed for pb::$method::Response {
            fn add(&mut self, more: Diagnostics) {
                self.diagnostics.extend(more.into_wire());
            }
        })*
    };
}

diagnosed!(
    read_resource,
    plan_resource_change,
    apply_resource_change,
    import_resource_state,
    read_data_source,
    open_ephemeral_resource,
    renew_ephemeral_resource
);

impl Service {
    /// Reads names and schemas from the provider once.
    ///
    /// # Errors
    /// The first mistake of the author.
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        tasks: TaskTracker,
        end: CancellationToken,
    ) -> Result<Service, SchemaError> {
        // Checked at startup, so that a mistake fails before the handshake.
        if let Some(first) = internal_validate(&*provider).into_iter().next() {
            return Err(first);
        }
        let resources = entries(provider.resources(), |one| (one.name(), one.schema()));
        let data_sources = entries(provider.data_sources(), |one| (one.name(), one.schema()));
        let ephemeral = entries(provider.ephemeral_resources(), |one| {
            (one.name(), one.schema())
        });
        let callable = |item: Arc<dyn Function>| {
            let signature = item.signature();
            let name = item.name().to_owned();
            (name, Arc::new(Callable { item, signature }))
        };
        let functions: BTreeMap<_, _> = provider.functions().into_iter().map(callable).collect();
        let schema = provider.schema();
        let provider = Entry::new(provider, schema);
        let signature =
            |(name, one): (&String, &Arc<Callable>)| (name.clone(), (&one.signature).into());
        let answer = pb::get_provider_schema::Response {
            provider: Some(wire_schema::to_wire(&provider.schema)),
            server_capabilities: Some(capabilities()),
            resource_schemas: schemas(&resources),
            data_source_schemas: schemas(&data_sources),
            ephemeral_resource_schemas: schemas(&ephemeral),
            functions: functions.iter().map(signature).collect(),
            ..Default::default()
        };
        let stop = Mutex::new(end.child_token());
        Ok(Service {
            provider,
            resources,
            data_sources,
            ephemeral,
            functions,
            schema: answer,
            stop,
            shutdown: end,
            tasks,
        })
    }

    pub(super) fn resource(&self, name: &str) -> Result<Arc<Entry<dyn Resource>>, Failure> {
        self.resources
            .get(name)
            .cloned()
            .ok_or_else(|| self.unknown_name("resource type", name))
    }

    pub(super) fn data_source(&self, name: &str) -> Result<Arc<Entry<dyn DataSource>>, Failure> {
        self.data_sources
            .get(name)
            .cloned()
            .ok_or_else(|| self.unknown_name("data source", name))
    }

    pub(super) fn ephemeral(
        &self,
        name: &str,
    ) -> Result<Arc<Entry<dyn EphemeralResource>>, Failure> {
        self.ephemeral
            .get(name)
            .cloned()
            .ok_or_else(|| self.unknown_name("ephemeral resource", name))
    }

    pub(super) fn function(&self, name: &str) -> Result<Arc<Callable>, Failure> {
        self.functions
            .get(name)
            .cloned()
            .ok_or_else(|| self.unknown_name("function", name))
    }

    fn unknown_name(&self, what: &str, name: &str) -> Failure {
        Failure::new(
            format!("unknown {what} {name}"),
            format!(
                "the provider {} has no {what} of that name",
                self.provider.item.name()
            ),
        )
    }

    /// Runs a call as a task, and writes its warnings to the log.
    pub(super) async fn run<T, F, Fut>(&self, call: F) -> Outcome<T>
    where
        T: Send + 'static,
        F: FnOnce(Context) -> Fut,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        let (outcome, warnings) = self.task(call).await;
        warnings.log_warnings();
        outcome
    }

    /// Runs a call as a task, and adds its warnings to the answer.
    pub(super) async fn answer<T, F, Fut>(&self, call: F) -> Outcome<T>
    where
        T: Diagnosed + Send + 'static,
        F: FnOnce(Context) -> Fut,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        let (outcome, warnings) = self.task(call).await;
        match outcome {
            Ok(mut answer) => {
                answer.add(warnings);
                Ok(answer)
            }
            Err(mut failure) => {
                failure.diagnostics.extend(warnings);
                Err(failure)
            }
        }
    }

    /// Runs a call as a task. If the host disconnects, the task is not aborted but asked to stop.
    async fn task<T, F, Fut>(&self, call: F) -> (Outcome<T>, Diagnostics)
    where
        T: Send + 'static,
        F: FnOnce(Context) -> Fut,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        // A child of the current token, so that StopProvider reaches this call.
        let stop = self
            .stop
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .child_token();
        // Cancels the task's token if this future is dropped, that is, when the host disconnects.
        let hung_up = stop.clone().drop_guard();
        let cx = Context::new(stop);
        let outcome = self.tasks.spawn(call(cx.clone())).await;
        hung_up.disarm();
        // A panic must not end the process, which can serve other calls.
        let outcome = outcome.unwrap_or_else(|error| {
            // The only other failure of a task is its cancellation by the runtime.
            let text = error
                .try_into_panic()
                .map(|payload| panic_text(payload.as_ref()))
                .unwrap_or_else(|_| "cancelled".into());
            Err(Failure::new(
                "the provider panicked",
                format!("{text}\nThis is a bug in the provider; its log names the location."),
            ))
        });
        (outcome, cx.take_warnings())
    }
}

/// Returns the message of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}

pub(super) fn capabilities() -> pb::ServerCapabilities {
    pb::ServerCapabilities {
        plan_destroy: true,
        get_provider_schema_optional: true,
        move_resource_state: true,
        ..Default::default()
    }
}
