//! Where supervisors' reports go.

use crate::engine::bus::{Bus, EventSink};
use crate::engine::secrets::Secrets;
use crate::engine::words::{EventKind, PluginEvent};

/// Where a supervisor's events go. Must not block.
pub trait PluginObserver: Send + Sync + 'static {
    /// Takes one event.
    fn event(&self, event: PluginEvent);

    /// Takes a text that the operator is to see at once.
    fn notice(&self, _text: String) {}

    /// What must not be in a line of a plugin's output. Every observer says so itself: who forgot
    /// would hide nothing.
    fn secrets(&self) -> Secrets;
}

impl PluginObserver for Bus {
    fn event(&self, event: PluginEvent) {
        self.emit(EventKind::Plugin(event));
    }

    fn notice(&self, text: String) {
        self.emit(EventKind::Notice { text });
    }

    fn secrets(&self) -> Secrets {
        EventSink::secrets(self)
    }
}
