//! Engine methods for the metrics endpoint: binds its address, or takes over that of a former
//! engine.

use super::{Engine, Shared};
use crate::error::EngineError;
use model::EventKind;
use model::mutex::lock;
use std::net::SocketAddr;
use std::time::Duration;
use telemetry::metrics;

/// Attempts to bind the port that a former engine had, and the pause between them.
const TRIES: usize = 20;
const BETWEEN: Duration = Duration::from_millis(50);

impl Engine {
    /// Starts to count events and serves metrics at this address until
    /// [`shutdown`](Self::shutdown). A notice has the address.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn serve_metrics(&self, address: SocketAddr) -> Result<(), EngineError> {
        let Shared { bus, tasks, .. } = &*self.shared;
        let served = metrics::serve(address, bus, tasks).await;
        let served = served.map_err(EngineError::refused)?;
        let others = match served.address.ip().is_loopback() {
            true => "",
            false => ", to every client that can reach this address",
        };
        let text = format!(
            "metrics are served at http://{}/metrics{others}",
            served.address
        );
        // Kept, because the server stops when it is dropped.
        *lock(&self.shared.metrics_server) = Some(served);
        bus.emit(EventKind::Notice { text });
        Ok(())
    }

    /// Serves metrics at the address of an engine that has ended; a notice reports a failure.
    pub async fn resume_metrics_server(&self, address: Option<SocketAddr>) {
        let Some(address) = address else {
            return;
        };
        // The former engine may still be closing its port.
        for _ in 0..TRIES {
            if self.serve_metrics(address).await.is_ok() {
                return;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        if let Err(error) = self.serve_metrics(address).await {
            let text = error.to_string();
            self.shared.bus.emit(EventKind::Notice { text });
        }
    }

    /// Address of the metrics endpoint, if there is one.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        lock(&self.shared.metrics_server)
            .as_ref()
            .map(|s| s.address)
    }
}
