//! Record of one deploy: owns the state of every operation, emits events, and writes to the store.
//! Operations wait only for intents and outcomes.

mod failure;
mod operations;
mod outcome;
mod progress;
mod requested_calls;

use super::command_patterns::CommandPatterns;
use super::waits::Waits;
pub use failure::fingerprint;
use model::bus::Bus;
use model::secrets::Secrets;
use model::*;
use operations::Operations;
pub use progress::{DestroyProgress, object_digest};
use provider::pool::Pool;
pub use requested_calls::{Objects, RequestRecorder};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use store::Store;
use store::records::{DestroyStep, UnknownOutcome};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Open records of earlier deploys.
pub struct Earlier {
    pub unknown: Vec<UnknownOutcome>,
    /// Commands that succeeded in interrupted destroys.
    pub destroy_steps: Vec<DestroyStep>,
}

/// Recorder of one deploy.
pub struct DeployRecorder {
    store: Store,
    bus: Bus,
    pool: Pool,
    deploy: DeployId,
    operations: Arc<Mutex<Operations>>,
    /// Notified when operations have changes to store.
    changed: Notify,
    earlier: Earlier,
    /// Cancelled once operations are being stopped; later failures count as interrupted.
    stopping: CancellationToken,
    /// Commands that may run, if the reconcile loop deploys.
    patterns: Option<CommandPatterns>,
}

impl DeployRecorder {
    /// Limits the commands of provisioners, for the reconcile loop.
    #[must_use]
    pub fn with_patterns(self, patterns: Option<CommandPatterns>) -> Self {
        Self { patterns, ..self }
    }

    /// Returns the commands that may run, unless all may.
    pub fn patterns(&self) -> Option<&CommandPatterns> {
        self.patterns.as_ref()
    }

    /// Creates the recorder of a deploy whose operations are already stored.
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
                unstored: BTreeSet::new(),
            })),
            changed: Notify::new(),
            earlier,
            stopping,
            patterns: None,
        }
    }

    /// Returns the redaction for output and records.
    pub fn secrets(&self) -> &Secrets {
        self.pool.secrets()
    }

    /// Emits an event of the deploy.
    pub fn emit(&self, event: EventKind) {
        self.bus.emit(event);
    }

    /// Emits a step of a provisioner.
    pub fn emit_step(&self, address: &str, kind: &str, phase: impl FnOnce() -> ObjectPhase) {
        model::bus::emit_step(&self.bus, || ObjectStep {
            address: address.to_owned(),
            work: ObjectWork::Provision(kind.to_owned()),
            phase: match phase() {
                ObjectPhase::Said(text) => ObjectPhase::Said(
                    self.secrets()
                        .redact(&model::visible::uncoloured(&text))
                        .into_owned(),
                ),
                phase => phase,
            },
            known_by: None,
        });
    }

    /// Logs output of a provisioner for an operation.
    pub fn log_output(&self, address: &str, text: &str) {
        let plugin = PluginId(format!("provisioner {address}").into());
        let line = model::LogLine {
            plugin,
            at: now_ms(),
            level: model::LogLevel::Info,
            stream: model::LogStream::Engine,
            module: None,
            // Redacted here, because events are stored.
            text: self
                .secrets()
                .redact(&model::visible::uncoloured(text))
                .into_owned(),
            panic: false,
        };
        self.bus
            .emit(EventKind::Plugin(model::PluginEvent::Log { line }));
    }
}
