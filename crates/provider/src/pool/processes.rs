//! Methods of the pool that concern all its processes: functions, plugins that failed for good,
//! stop and kill.

use super::handle::Pool;
use super::pooled_provider::PooledProvider;
use super::process::PooledProcess;
use crate::Provider;
use crate::functions::Functions;
use calls::{CallContext, ProviderError};
use futures_util::future::join_all;
use model::mutex::lock;
use model::{PluginId, PluginState};
use std::collections::HashMap;
use std::sync::Arc;

/// Plugin that failed for good, with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    pub plugin: PluginId,
    pub address: String,
    pub state: PluginState,
}

impl Pool {
    /// Returns the functions of the running providers, by address.
    pub fn functions(&self) -> Functions {
        let addresses = lock(&self.shared.addresses);
        let first = addresses
            .iter()
            .filter_map(|(address, a)| Some((address, a.processes.first()?)));
        let some = first.filter(|(_, p)| p.known_schema().is_some_and(|s| !s.functions.is_empty()));
        let all: HashMap<Arc<str>, Arc<dyn Provider>> = some
            .map(|(address, p)| {
                (
                    Arc::from(address.as_str()),
                    Arc::new(PooledProvider::unconfigured(p.clone())) as Arc<dyn Provider>,
                )
            })
            .collect();
        Functions::new(all, tokio_util::sync::CancellationToken::new())
    }

    pub(super) fn processes(&self) -> Vec<Arc<PooledProcess>> {
        lock(&self.shared.addresses)
            .values()
            .flat_map(|a| a.processes.iter().cloned())
            .collect()
    }

    /// Returns the plugins that failed for good: their resources are blocked until an operator
    /// acts.
    pub fn blocked(&self) -> Vec<Blocked> {
        let one = |p: Arc<PooledProcess>| {
            let state = p.state();
            let stuck = matches!(
                state,
                PluginState::Rejected { .. }
                    | PluginState::GaveUp { .. }
                    | PluginState::Incompatible { .. }
                    | PluginState::Disabled
            );
            stuck.then(|| Blocked {
                plugin: p.id().clone(),
                address: p.address().to_owned(),
                state,
            })
        };
        // Mates are optional: the leader still serves their configuration.
        let led = self.processes().into_iter().filter(|p| !p.is_replica());
        led.filter_map(one).collect()
    }

    /// Asks every running provider to stop its current work (not to exit). Returns the errors.
    pub async fn stop_all(&self, ctx: &CallContext) -> Vec<ProviderError> {
        ask_to_stop(self.processes(), ctx).await
    }

    /// Asks the processes of one provider to stop their current work (not to exit). Returns the
    /// errors.
    pub async fn ask_to_stop(&self, id: &PluginId, ctx: &CallContext) -> Vec<ProviderError> {
        let mut processes = self.processes();
        processes.retain(|p| p.id() == id);
        ask_to_stop(processes, ctx).await
    }

    /// Kills every process. Their running operations have an unknown outcome. The next demand
    /// launches them again.
    pub async fn kill_all(&self) {
        let processes = self.processes();
        join_all(processes.iter().map(|p| p.kill())).await;
    }

    /// Starts to stop every process, without waiting; nothing can be launched afterwards.
    pub fn stop(&self) {
        self.shared.plugins.stop();
    }

    /// Stops every process and waits for it; nothing can be launched afterwards.
    pub async fn shutdown(&self) {
        self.shared.plugins.shutdown().await;
    }
}

async fn ask_to_stop(processes: Vec<Arc<PooledProcess>>, ctx: &CallContext) -> Vec<ProviderError> {
    let answers = join_all(processes.iter().map(|p| p.ask_to_stop(ctx))).await;
    answers.into_iter().filter_map(Result::err).collect()
}
