//! Dialects: plugin protocols, each with a process lifecycle and an adapter. This module lists all
//! of them for the layers above. Keeps no state.

use super::{Provider, ProviderSchema, bluelink, tfplugin};
use async_trait::async_trait;
use calls::{CallContext, Checked, Lane, Method, ProviderError};
use model::settings::Settings;
use model::{PluginFound, PluginId};
use plugin::Connection;
use plugin::lifecycle::Lifecycle;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Plugin protocol.
#[async_trait]
pub trait Dialect: Send + Sync + 'static {
    /// Returns the name without a version, which is known only once a process is ready.
    fn name(&self) -> &'static str;

    /// Returns true if a plugin belongs to this dialect. Plugins that no dialect claims use the
    /// default one.
    fn claims(&self, found: &PluginFound) -> bool;

    /// Returns the lifecycle of its processes.
    fn lifecycle(&self) -> Arc<dyn Lifecycle>;

    /// Returns the lifecycle of transformer processes; `None` if it has no transformers.
    fn transformers(&self) -> Option<Arc<dyn Lifecycle>> {
        None
    }

    /// Returns the scope of a provider's configuration.
    fn configuration(&self) -> Configuration {
        Configuration::OfProcess
    }

    /// Returns true if its plugins can call each other during a stage or deploy: an idle plugin may
    /// then still be needed.
    fn plugins_call_each_other(&self) -> bool {
        false
    }

    /// Returns true if a failed call may be repeated: the cause is temporary, and the call had no
    /// effect.
    fn is_transient(&self, _method: Method, _error: &ProviderError) -> bool {
        false
    }

    /// Creates the adapter of a ready process. Its schema is known if the launch fetched it.
    ///
    /// # Errors
    /// The result of the launch is unusable.
    async fn adapter(&self, reached: ConnectedProcess) -> Result<Arc<dyn Provider>, ProviderError>;
}

/// Way in which a dialect passes a provider's configuration to its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configuration {
    /// A process is configured once; another configuration needs another process.
    OfProcess,
    /// It is sent with each call
    /// ([`CallContext::configuration`](calls::CallContext::configuration)); one
    /// process serves all configurations.
    OfCall,
}

/// Ready process.
pub struct ConnectedProcess {
    pub plugin: PluginId,
    /// Full provider address.
    pub address: String,
    /// Connection made by the lifecycle of the same dialect.
    pub connection: Connection,
    /// Reports the reason after the connection broke.
    pub exit_reporter: Arc<dyn ExitReporter>,
    /// Schema, if another process of the same executable has supplied it.
    pub schema: Option<Arc<ProviderSchema>>,
    /// Calls needed to create the adapter.
    pub setup_calls: SetupCalls,
    /// Tracks users of the process, for calls that reach it other than through the adapter.
    pub users: TaskTracker,
}

/// Calls for creating an adapter. They use no slot, because the caller may hold one.
#[derive(Clone)]
pub struct SetupCalls {
    pub lane: Arc<Lane>,
    pub cancel: CancellationToken,
}

impl SetupCalls {
    /// Makes a call.
    ///
    /// # Errors
    /// The call failed, passed its deadline or was cancelled.
    pub async fn make_call<T: Send>(
        &self,
        method: Method,
        call: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        // `run_beside` needs an `Answer`, which `T` need not be.
        let mut answered = None;
        let call = async {
            answered = Some(call.await?);
            Ok(Checked::default())
        };
        Box::pin(
            self.lane
                .run_without_slot(method, &CallContext::general(&self.cancel), call),
        )
        .await?;
        answered.ok_or_else(|| ProviderError::Cancelled {
            plugin: self.lane.plugin().clone(),
            method,
            sent: false,
        })
    }
}

impl ConnectedProcess {
    /// Returns the error of an adapter that received the process of another dialect.
    #[must_use]
    pub fn wrong_dialect_error(self) -> ProviderError {
        let why = "its process uses another dialect than it was launched with; this is a bug in flightdeck".to_owned();
        ProviderError::Blocked {
            plugin: self.plugin,
            state: "cannot be used".to_owned(),
            why,
        }
    }
}

/// End of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It crashed. All calls interrupted by one crash have the same incident.
    Crashed { incident: String, text: String },
    /// It was stopped, restarted or killed by an order.
    Ended,
}

/// Source of the reason why a process ended: its supervisor.
#[async_trait]
pub trait ExitReporter: Send + Sync {
    /// Returns the end of the process behind a broken connection; `None` if it still runs, or its
    /// end is not recorded within a short time.
    async fn process_end(&self) -> Option<ProcessEnd>;
}

/// Returns the error of a call whose connection broke; `why` describes it as seen by the caller.
pub async fn lost_connection_error(
    obituary: &dyn ExitReporter,
    plugin: PluginId,
    method: Method,
    why: String,
) -> ProviderError {
    // A call notices the broken connection, the supervisor the exit, possibly a little later.
    match obituary.process_end().await {
        Some(ProcessEnd::Crashed { incident, text }) => ProviderError::Crashed {
            plugin,
            method,
            incident,
            text,
        },
        Some(ProcessEnd::Ended) => ProviderError::Ended { plugin, method },
        None => ProviderError::Unavailable {
            plugin,
            method,
            why,
        },
    }
}

/// Set of dialects. Cheap to clone.
#[derive(Clone)]
pub struct Dialects {
    /// In the order in which they may claim a plugin.
    special: Vec<Arc<dyn Dialect>>,
    /// Default dialect, for plugins that no other one claims.
    fallback: Arc<dyn Dialect>,
}

impl Default for Dialects {
    /// Returns all built-in dialects, without a workspace.
    fn default() -> Self {
        Self::with_bluelink(bluelink::BluelinkSettings::default())
    }
}

impl Dialects {
    /// Returns all built-in dialects for a workspace, with settings from the environment.
    #[must_use]
    pub fn of_workspace(settings: &Settings) -> Self {
        Self::with_bluelink(bluelink::BluelinkSettings::of(
            &settings.workspace,
            &settings.workspace_name,
        ))
    }

    fn with_bluelink(settings: bluelink::BluelinkSettings) -> Self {
        let usual = tfplugin::TfPlugin {
            lifecycle: tfplugin::TfLifecycle::from_environment(),
        };
        Self {
            special: vec![Arc::new(bluelink::Bluelink::new(settings))],
            fallback: Arc::new(usual),
        }
    }

    /// Adds a dialect, which takes precedence over the others.
    #[must_use]
    pub fn with(mut self, dialect: Arc<dyn Dialect>) -> Self {
        self.special.insert(0, dialect);
        self
    }

    /// Returns the dialect of a plugin.
    #[must_use]
    pub fn of(&self, found: &PluginFound) -> Arc<dyn Dialect> {
        self.special
            .iter()
            .find(|dialect| dialect.claims(found))
            .unwrap_or(&self.fallback)
            .clone()
    }
}

impl fmt::Debug for Dialects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(
                self.special
                    .iter()
                    .chain([&self.fallback])
                    .map(|dialect| dialect.name()),
            )
            .finish()
    }
}
