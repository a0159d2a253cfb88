//! What is measured, served while an engine works.

use super::{Engine, Shared};
use crate::engine::error::EngineError;
use crate::engine::metrics;
use crate::engine::mutex::lock;
use crate::engine::words::EventKind;
use std::net::SocketAddr;
use std::time::Duration;

/// How often a port is tried that another engine had, and how long after each other.
const TRIES: usize = 20;
const BETWEEN: Duration = Duration::from_millis(50);

impl Engine {
    /// Counts from now on what happens, and serves it at this address for programs that watch,
    /// until [`shutdown`](Self::shutdown). A notice says where.
    ///
    /// # Errors
    /// Nothing can be listened for at this address.
    pub async fn serve_metrics(&self, address: SocketAddr) -> Result<(), EngineError> {
        let Shared { bus, tasks, .. } = &*self.shared;
        let served = metrics::serve(address, bus, tasks).await;
        let served = served.map_err(EngineError::because)?;
        let others = match served.address.ip().is_loopback() {
            true => "",
            false => ", to whoever reaches this address",
        };
        let text = format!(
            "metrics are served at http://{}/metrics{others}",
            served.address
        );
        *lock(&self.shared.served) = Some(served);
        bus.emit(EventKind::Notice { text });
        Ok(())
    }

    /// Serves metrics where an engine did that has ended; where that cannot be, a notice says so.
    pub async fn go_on_serving(&self, address: Option<SocketAddr>) {
        let Some(address) = address else {
            return;
        };
        // The one that has ended may be about to leave its port.
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

    /// Where metrics are served, if they are.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        lock(&self.shared.served).as_ref().map(|s| s.address)
    }
}
