//! Trait [`PluginObserver`], through which supervisors emit their events. The event bus implements
//! it.

use model::bus::{Bus, EventSink};
use model::secrets::Secrets;
use model::{EventKind, PluginEvent};

/// Receiver of a supervisor's events. Must not block.
pub trait PluginObserver: Send + Sync + 'static {
    /// Receives one event.
    fn event(&self, event: PluginEvent);

    /// Receives a text to show to the operator at once.
    fn on_notice(&self, _text: String) {}

    /// Returns the secrets to redact in a plugin's output. It has no default, because an observer
    /// that forgot to implement it would redact nothing.
    fn secrets(&self) -> Secrets;
}

impl PluginObserver for Bus {
    fn event(&self, event: PluginEvent) {
        self.emit(EventKind::Plugin(event));
    }

    fn on_notice(&self, text: String) {
        self.emit(EventKind::Notice { text });
    }

    fn secrets(&self) -> Secrets {
        EventSink::secrets(self)
    }
}
