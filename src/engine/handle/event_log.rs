//! Copies the engine's events to the `TF_LOG` log. Events are already redacted.

use model::bus::{Bus, Listener};
use model::logging::ENGINE_LOG;
use model::{Event, EventKind, PluginEvent, Severity};
use std::sync::Arc;
use tracing::{Level, event};

/// Starts to copy events, if the log is enabled.
pub(super) fn start(bus: &Bus) {
    if tracing::enabled!(target: ENGINE_LOG, Level::ERROR) {
        bus.listen(Arc::new(EventLog));
    }
}

struct EventLog;

impl Listener for EventLog {
    fn on_event(&self, heard: &Event) {
        // Serialized only if the level is enabled.
        let text = || serde_json::to_string(heard).unwrap_or_default();
        match &heard.kind {
            // Plugin lines are logged elsewhere, before excess lines are dropped.
            EventKind::Plugin(PluginEvent::Log { .. }) => {}
            EventKind::Diagnostic(diagnostic) => match diagnostic.severity {
                Severity::Error => {
                    event!(target: ENGINE_LOG, Level::ERROR, detail = diagnostic.detail, "{}", diagnostic.summary);
                }
                Severity::Warning => {
                    event!(target: ENGINE_LOG, Level::WARN, detail = diagnostic.detail, "{}", diagnostic.summary);
                }
            },
            EventKind::Notice { text } => event!(target: ENGINE_LOG, Level::INFO, "{text}"),
            EventKind::Plugin(_)
            | EventKind::Install(_)
            | EventKind::Lock { .. }
            | EventKind::CallStarted(_)
            | EventKind::CallFinished(_) => {
                event!(target: ENGINE_LOG, Level::DEBUG, "{}", text());
            }
            _ => event!(target: ENGINE_LOG, Level::TRACE, "{}", text()),
        }
    }
}
