//! Provider process across its launches: the adapter of the current launch, and the configuration.
//! Shared by the handles of the pool.

use super::exit_watcher::{ExitWatcher, blocked};
use super::launched::{Launched, Lease};
use super::replacement::Renewing;
use super::replicas::Replicas;
use super::schema_cache::SchemaCache;
use crate::dialect::{ConnectedProcess, Dialect, SetupCalls};
use crate::*;
use calls::{Answer, CallContext, Checked, Lane, Method, ProviderError, RefusalCode};
use cty::Value;
use model::mutex::lock;
use model::{PluginId, PluginState};
use plugin::{Connection, Plugin, PluginError, Start};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(super) struct PooledProcess {
    pub(super) plugin: Plugin,
    pub(super) lane: Arc<Lane>,
    pub(super) dialect: Arc<dyn Dialect>,
    address: String,
    pub(super) start: Option<Start>,
    schema_cache: Arc<SchemaCache>,
    pub(super) ready_timeout: Duration,
    /// Pauses between launches.
    pub(super) backoff: Vec<Duration>,
    pub(super) current: Mutex<Option<Arc<Launched>>>,
    pub(super) schema: Mutex<Option<Arc<ProviderSchema>>>,
    /// Last configuration that the process received.
    pub(super) config: Mutex<Option<Value>>,
    /// Held while an adapter is created or configured, so that it happens once. Taken after
    /// `fitting`.
    pub(super) making: tokio::sync::Mutex<()>,
    /// Held while the process gets another configuration or is replaced.
    pub(super) reconfiguring: tokio::sync::Mutex<()>,
    /// Users of replaced launches.
    pub(super) draining: Mutex<Vec<TaskTracker>>,
    pub(super) renewing: Mutex<Renewing>,
    pub(super) replicas: Mutex<Replicas>,
}

impl PooledProcess {
    pub(super) fn new(
        plugin: Plugin,
        lane: Arc<Lane>,
        dialect: Arc<dyn Dialect>,
        address: String,
        start: Option<&Start>,
        shelf: Arc<SchemaCache>,
        (ready_within, backoff): (Duration, Vec<Duration>),
    ) -> Self {
        let start = start.cloned();
        let (current, schema, config, making, fitting) = Default::default();
        let (leaving, renewing, crew) = Default::default();
        Self {
            plugin,
            lane,
            dialect,
            address,
            start,
            schema_cache: shelf,
            ready_timeout: ready_within,
            backoff,
            current,
            schema,
            config,
            making,
            reconfiguring: fitting,
            draining: leaving,
            renewing,
            replicas: crew,
        }
    }

    pub(super) fn id(&self) -> &PluginId {
        self.plugin.id()
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn lane(&self) -> &Arc<Lane> {
        &self.lane
    }

    pub(super) fn dialect(&self) -> &Arc<dyn Dialect> {
        &self.dialect
    }

    /// Returns the dialect of the running process, with its version.
    pub(super) fn running_dialect(&self) -> &'static str {
        lock(&self.current)
            .as_ref()
            .map_or(self.dialect.name(), |c| c.adapter.info().dialect)
    }

    /// Returns the schema of the last launch, even during a new launch.
    pub(super) fn known_schema(&self) -> Option<Arc<ProviderSchema>> {
        lock(&self.schema).clone()
    }

    pub(super) fn state(&self) -> PluginState {
        self.plugin.state()
    }

    pub(super) async fn kill(&self) {
        use PluginState as S;
        // A process that does not run stays as it is: its state has more information than
        // "stopped".
        if matches!(
            self.state(),
            S::Launching { .. }
                | S::Handshaking { .. }
                | S::Registering { .. }
                | S::Ready { .. }
                | S::Draining
                | S::Backoff { .. }
        ) {
            self.plugin.kill().await;
        }
    }

    /// Returns the current launch with a lease, if it is alive.
    pub(super) fn lease_if_alive(&self) -> Option<Lease> {
        let current = lock(&self.current);
        current.as_ref().filter(|c| c.is_alive()).map(Lease::of)
    }

    /// Returns the current launch without a lease, if it is alive.
    pub(super) fn launch_if_alive(&self) -> Option<Arc<Launched>> {
        lock(&self.current)
            .as_ref()
            .filter(|c| c.is_alive())
            .cloned()
    }

    /// Locks `mutex`, unless the caller cancels.
    async fn lock_or_cancel<'m>(
        &self,
        mutex: &'m tokio::sync::Mutex<()>,
        ctx: &CallContext,
    ) -> Result<tokio::sync::MutexGuard<'m, ()>, ProviderError> {
        tokio::select! {
            biased;
            guard = mutex.lock() => Ok(guard),
            () = ctx.cancel.cancelled() => Err(self.cancelled_error()),
        }
    }

    fn cancelled_error(&self) -> ProviderError {
        ProviderError::Cancelled {
            plugin: self.id().clone(),
            method: Method::Schema,
            sent: false,
        }
    }

    /// Returns the running process, launching it if needed. Its schema is known.
    pub(super) async fn current(&self, ctx: &CallContext) -> Result<Lease, ProviderError> {
        match self.lease_if_alive() {
            Some(hold) => Ok(hold),
            None => {
                // Concurrent callers share one launch.
                let _one = self.lock_or_cancel(&self.making, ctx).await?;
                // Boxed to keep the future of every call small.
                Box::pin(self.launch(ctx)).await
            }
        }
    }

    /// Returns the running process as [`PooledProcess::current`] does, with the last configuration,
    /// if there was one.
    pub(super) async fn current_configured(
        &self,
        ctx: &CallContext,
    ) -> Result<Lease, ProviderError> {
        if let Some(hold) = self.lease_if_alive()
            && (hold.is_configured() || lock(&self.config).is_none())
        {
            return Ok(hold);
        }
        let _one = self.lock_or_cancel(&self.making, ctx).await?;
        let hold = Box::pin(self.launch(ctx)).await?;
        let config = lock(&self.config).clone();
        let Some(config) = config.filter(|_| !hold.is_configured()) else {
            return Ok(hold);
        };
        self.send_configuration(&*hold, config, &ctx.cancel).await?;
        hold.launched.configured.store(true, Ordering::SeqCst);
        Ok(hold)
    }

    /// Sends the configuration to a new launch. Uses no slot, because the caller may hold one
    /// already.
    pub(super) async fn send_configuration(
        &self,
        adapter: &dyn Provider,
        config: Value,
        cancel: &CancellationToken,
    ) -> Result<(), ProviderError> {
        let general = CallContext::general(cancel);
        let call = adapter.configure(config, &general);
        let answer = self
            .lane
            .run_without_slot(Method::Configure, &general, call)
            .await?;
        match answer.first_error() {
            None => Ok(()),
            Some(error) => Err(ProviderError::Refused {
                plugin: self.id().clone(),
                method: Method::Configure,
                code: RefusalCode::Other("after it was launched again"),
                message: format!("{}: {}", error.summary, error.detail),
            }),
        }
    }

    /// Records the configuration that the process received.
    pub(super) fn set_configuration(&self, to: &Lease, config: Value) {
        *lock(&self.config) = Some(config);
        // After the configuration is stored, so that a relaunch in between uses it.
        to.launched.configured.store(true, Ordering::SeqCst);
    }

    /// Prepares the process for a configuration, restarting it if it has another one. Returns true
    /// if it already has this one.
    pub(super) async fn prepare_configuration(
        &self,
        config: &Value,
        ctx: &CallContext,
    ) -> Result<bool, ProviderError> {
        let _one = self.lock_or_cancel(&self.reconfiguring, ctx).await?;
        let known = lock(&self.config).clone();
        match known {
            None => {
                self.current(ctx).await?;
                Ok(false)
            }
            Some(known) if known.raw_equals(config) => {
                self.current_configured(ctx).await?;
                Ok(true)
            }
            Some(_) => {
                // Restart: nothing of the old configuration, such as credentials, regions and
                // caches, may remain in the process.
                self.close_replicas(ctx).await?;
                // Wait for running calls: they must finish with the configuration they started
                // with.
                let _all = self.lane.drain(Method::Configure, ctx).await?;
                self.wait_for_drained(ctx).await?;
                *lock(&self.config) = None;
                lock(&self.current).take();
                self.demand(ctx, self.plugin.restart()).await?;
                self.current(ctx).await?;
                Ok(false)
            }
        }
    }

    /// Waits until replaced launches have no users.
    pub(super) async fn wait_for_drained(&self, ctx: &CallContext) -> Result<(), ProviderError> {
        let all = lock(&self.draining).clone();
        for users in all {
            tokio::select! { biased; // who gives up waits no more
                () = ctx.cancel.cancelled() => return Err(self.cancelled_error()),
                () = users.wait() => {}
            }
        }
        Ok(())
    }

    /// Launches the process and creates its adapter, unless it runs. Call it with `making` held.
    async fn launch(&self, ctx: &CallContext) -> Result<Lease, ProviderError> {
        if let Some(hold) = self.lease_if_alive() {
            return Ok(hold);
        }
        let connection = self.demand(ctx, self.plugin.ready()).await?;
        let launched = self.adapted(connection, &ctx.cancel).await?;
        // Schema and launch are published under one lock, so that they always match.
        let mut current = lock(&self.current);
        let hold = Lease::of(&launched);
        *lock(&self.schema) = launched.adapter.known_schema();
        *current = Some(launched);
        Ok(hold)
    }

    /// Creates the adapter of a ready process; its schema is known on return.
    pub(super) async fn adapted(
        &self,
        connection: Connection,
        cancel: &CancellationToken,
    ) -> Result<Arc<Launched>, ProviderError> {
        let known = self.start.as_ref().and_then(|s| self.schema_cache.get(s));
        let is_new = known.is_none();
        let asking = SetupCalls {
            lane: self.lane.clone(),
            cancel: cancel.clone(),
        };
        let users = TaskTracker::new();
        let reached = ConnectedProcess {
            plugin: self.id().clone(),
            address: self.address.clone(),
            connection: connection.clone(),
            exit_reporter: Arc::new(ExitWatcher {
                plugin: self.plugin.clone(),
                connection: connection.clone(),
            }),
            schema: known,
            setup_calls: asking.clone(),
            users: users.clone(),
        };
        let adapter = self.dialect.adapter(reached).await?;
        if is_new {
            let schema = match adapter.known_schema() {
                Some(schema) => schema,
                None => {
                    asking
                        .make_call(
                            Method::Schema,
                            adapter.schema(&CallContext::general(cancel)),
                        )
                        .await?
                }
            };
            if let Some(start) = &self.start {
                self.schema_cache.insert(start, &schema);
            }
        }
        Ok(Launched::new(connection, adapter, users))
    }

    /// Waits for the supervisor's answer, at most as long as launches may take.
    async fn demand(
        &self,
        ctx: &CallContext,
        answer: impl Future<Output = Result<Connection, PluginError>>,
    ) -> Result<Connection, ProviderError> {
        let plugin = self.id().clone();
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|e| blocked(e, plugin)),
            // Only the wait ends; the launch itself continues for other callers.
            () = ctx.cancel.cancelled() => Err(self.cancelled_error()),
            () = tokio::time::sleep(self.ready_timeout) => {
                Err(ProviderError::NotReady { plugin, after: self.ready_timeout, state: self.plugin.state().label().to_owned() })
            }
        }
    }

    /// Asks the provider to stop its current work, if it runs.
    pub(super) async fn ask_to_stop(&self, ctx: &CallContext) -> Result<(), ProviderError> {
        let Some(hold) = self.lease_if_alive() else {
            return Ok(());
        };
        let call = async { hold.stop(ctx).await.map(|()| Checked::default()) };
        self.lane
            // Without a slot, because all slots may be held by the calls to stop.
            .run_without_slot(Method::Stop, ctx, call)
            .await
            .map(|_| ())
    }
}
