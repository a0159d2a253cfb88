//! What a deploy leaves behind: events for those who watch, records for those who come later. Every
//! operation's state lives here. Only intents and outcomes are waited for.

mod beside;
mod failure;
mod operations;
mod outcome;
mod progress;

use super::waits::Waits;
use crate::engine::bus::Bus;
use crate::engine::pool::Pool;
use crate::engine::secrets::Secrets;
use crate::engine::store::Store;
use crate::engine::store::model::{DestroyStep, UnknownOutcome};
use crate::engine::words::*;
pub use beside::{Account, Objects};
pub use failure::fingerprint;
use operations::Operations;
pub use progress::{DestroyProgress, object_digest};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Unfinished business of earlier deploys.
pub struct Earlier {
    pub unknown: Vec<UnknownOutcome>,
    /// Commands that ended well in destroys that were cut off.
    pub destroy_steps: Vec<DestroyStep>,
}

/// Records one deploy.
pub struct DeployRecord {
    store: Store,
    bus: Bus,
    pool: Pool,
    deploy: DeployId,
    operations: Arc<Mutex<Operations>>,
    /// Told whenever there is more to be kept of them.
    changed: Notify,
    earlier: Earlier,
    /// Cancelled once operations are being stopped: what fails from then on was cut off.
    stopping: CancellationToken,
}

impl DeployRecord {
    /// For a deploy whose operations are on record.
    pub fn new(
        store: Store,
        bus: Bus,
        pool: Pool,
        deploy: DeployId,
        operations: Vec<Operation>,
        earlier: Earlier,
        stopping: CancellationToken,
    ) -> Self {
        let by_id = operations
            .iter()
            .enumerate()
            .map(|(i, o)| (o.address.clone(), i))
            .collect();
        Self {
            store,
            bus,
            pool,
            deploy,
            operations: Arc::new(Mutex::new(Operations {
                all: operations,
                by_id,
                waits: Waits::default(),
                unkept: BTreeSet::new(),
            })),
            changed: Notify::new(),
            earlier,
            stopping,
        }
    }

    /// What must not be in what is said and kept.
    pub fn secrets(&self) -> &Secrets {
        self.pool.secrets()
    }

    /// A step of a provisioner, for those who follow each.
    pub fn follow(&self, address: &str, kind: &str, phase: impl FnOnce() -> ObjectPhase) {
        crate::engine::bus::follow(&self.bus, || ObjectStep {
            address: address.to_owned(),
            work: ObjectWork::Provision(kind.to_owned()),
            phase: match phase() {
                ObjectPhase::Said(text) => ObjectPhase::Said(
                    self.secrets()
                        .hide(&crate::engine::visible::uncoloured(&text))
                        .into_owned(),
                ),
                phase => phase,
            },
            known_by: None,
        });
    }

    /// What a provisioner or the like says of an operation.
    pub fn say(&self, address: &str, text: &str) {
        let plugin = PluginId(format!("provisioner {address}").into());
        let line = crate::engine::words::LogLine {
            plugin,
            at: now_ms(),
            level: crate::engine::words::LogLevel::Info,
            stream: crate::engine::words::LogStream::Engine,
            module: None,
            text: self
                .secrets()
                .hide(&crate::engine::visible::uncoloured(text))
                .into_owned(),
            panic: false,
        };
        self.bus
            .emit(EventKind::Plugin(crate::engine::words::PluginEvent::Log {
                line,
            }));
    }
}
