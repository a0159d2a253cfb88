//! What makes a dialect: how its processes live, and the adapter over one that came up. All of them
//! are listed here; what is above asks the list. Owns no state.

use super::{Provider, ProviderSchema, bluelink, tfplugin};
use crate::engine::calls::{CallContext, Checked, Lane, Method, ProviderError};
use crate::engine::plugin::Connection;
use crate::engine::plugin::life::Life;
use crate::engine::settings::Settings;
use crate::engine::words::{PluginFound, PluginId};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// One way of speaking with plugins.
#[async_trait]
pub trait Dialect: Send + Sync + 'static {
    /// Its name, without a version: which one is spoken is known when a process is up.
    fn name(&self) -> &'static str;

    /// Whether a plugin that was found is one of its own. One that nobody claims is a provider as
    /// they usually are.
    fn claims(&self, found: &PluginFound) -> bool;

    /// How its processes live.
    fn life(&self) -> Arc<dyn Life>;

    /// How the processes of its transformers live; `None` where it has no such plugins.
    fn transformers(&self) -> Option<Arc<dyn Life>> {
        None
    }

    /// To what a provider's configuration belongs.
    fn configuration(&self) -> Configuration {
        Configuration::OfProcess
    }

    /// Whether its plugins ask each other, while something is staged or deployed: one that nobody
    /// uses may be asked at any moment then.
    fn ask_each_other(&self) -> bool {
        false
    }

    /// Whether a call that failed so is made again: what it failed of passes, and nothing has come
    /// of it.
    fn is_transient(&self, _method: Method, _error: &ProviderError) -> bool {
        false
    }

    /// The adapter over a process that came up. Knows the schema where the launch has brought it.
    ///
    /// # Errors
    /// What the launch has brought is of no use.
    async fn adapter(&self, reached: Reached) -> Result<Arc<dyn Provider>, ProviderError>;
}

/// To what a provider's configuration belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configuration {
    /// A process is given one, once; another configuration needs another process.
    OfProcess,
    /// It goes with each call
    /// ([`CallContext::configuration`](crate::engine::calls::CallContext::configuration)); one
    /// process serves them all.
    OfCall,
}

/// A process that came up.
pub struct Reached {
    pub plugin: PluginId,
    /// The whole provider address.
    pub address: String,
    /// The way to it, as the life of the same dialect has made it.
    pub connection: Connection,
    /// Is asked what happened when the connection breaks.
    pub obituary: Arc<dyn Obituary>,
    /// Its schema, where another process of the same executable has told it.
    pub schema: Option<Arc<ProviderSchema>>,
    /// By which the adapter asks for what it needs to be made.
    pub asking: Asking,
    /// Who uses the process; for what comes to it by another way than the adapter's own calls.
    pub users: TaskTracker,
}

/// Calls that belong to making an adapter: beside the slots, as whoever has it made may hold one.
#[derive(Clone)]
pub struct Asking {
    pub lane: Arc<Lane>,
    pub cancel: CancellationToken,
}

impl Asking {
    /// Makes a call.
    ///
    /// # Errors
    /// The call's, its deadline, cancellation.
    pub async fn ask<T: Send>(
        &self,
        method: Method,
        call: impl Future<Output = Result<T, ProviderError>> + Send,
    ) -> Result<T, ProviderError> {
        let mut answered = None;
        let call = async {
            answered = Some(call.await?);
            Ok(Checked::default())
        };
        Box::pin(
            self.lane
                .run_beside(method, &CallContext::general(&self.cancel), call),
        )
        .await?;
        answered.ok_or_else(|| ProviderError::Cancelled {
            plugin: self.lane.plugin().clone(),
            method,
            sent: false,
        })
    }
}

impl Reached {
    /// The error of an adapter that was given the process of another dialect.
    #[must_use]
    pub fn foreign(self) -> ProviderError {
        let why = "its process speaks another dialect than it was launched for; this is an error of flightdeck".to_owned();
        ProviderError::Blocked {
            plugin: self.plugin,
            state: "cannot be used".to_owned(),
            why,
        }
    }
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Death {
    /// By itself. All calls that one crash took down name the same incident.
    Crashed { incident: String, text: String },
    /// Since it was stopped, restarted or killed on request.
    Ended,
}

/// Who knows what became of a process: its supervisor.
#[async_trait]
pub trait Obituary: Send + Sync {
    /// What became of the process behind a broken connection; `None` where it lives, or nobody can
    /// tell within a moment.
    async fn death(&self) -> Option<Death>;
}

/// Why a call was not answered whose connection broke, which looks like this from here.
pub async fn lost(
    obituary: &dyn Obituary,
    plugin: PluginId,
    method: Method,
    why: String,
) -> ProviderError {
    // The supervisor learns of a death by the process, we by the connection: it may know a moment
    // later.
    match obituary.death().await {
        Some(Death::Crashed { incident, text }) => ProviderError::Crashed {
            plugin,
            method,
            incident,
            text,
        },
        Some(Death::Ended) => ProviderError::Ended { plugin, method },
        None => ProviderError::Unavailable {
            plugin,
            method,
            why,
        },
    }
}

/// The dialects that are spoken. Cheap to clone.
#[derive(Clone)]
pub struct Dialects {
    /// In the order in which they are asked whether a plugin is theirs.
    special: Vec<Arc<dyn Dialect>>,
    /// Spoken with whatever no other has claimed.
    usual: Arc<dyn Dialect>,
}

impl Default for Dialects {
    /// All of ours, for no workspace in particular.
    fn default() -> Self {
        Self::with_bluelink(bluelink::BluelinkSettings::default())
    }
}

impl Dialects {
    /// All of ours for a workspace, as the environment has them.
    #[must_use]
    pub fn of_workspace(settings: &Settings) -> Self {
        Self::with_bluelink(bluelink::BluelinkSettings::of(
            &settings.workspace,
            &settings.named,
        ))
    }

    fn with_bluelink(settings: bluelink::BluelinkSettings) -> Self {
        let usual = tfplugin::TfPlugin {
            life: tfplugin::TfLife::of_environment(),
        };
        Self {
            special: vec![Arc::new(bluelink::Bluelink::new(settings))],
            usual: Arc::new(usual),
        }
    }

    /// With one more, which is asked before the others.
    #[must_use]
    pub fn with(mut self, dialect: Arc<dyn Dialect>) -> Self {
        self.special.insert(0, dialect);
        self
    }

    /// The dialect of a plugin that was found.
    #[must_use]
    pub fn of(&self, found: &PluginFound) -> Arc<dyn Dialect> {
        self.special
            .iter()
            .find(|dialect| dialect.claims(found))
            .unwrap_or(&self.usual)
            .clone()
    }
}

impl fmt::Debug for Dialects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(
                self.special
                    .iter()
                    .chain([&self.usual])
                    .map(|dialect| dialect.name()),
            )
            .finish()
    }
}
