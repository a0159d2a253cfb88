//! Repeats the engine's events in the log that `TF_LOG` asks for. Events are fit for everybody to
//! see: what is sensitive is masked in them.

use crate::engine::bus::{Bus, Listener};
use crate::engine::logging::ENGINE_LOG;
use crate::engine::words::{Event, EventKind, PluginEvent, Severity};
use std::sync::Arc;
use tracing::{Level, event};

/// Repeats events from now on, where they are logged at all.
pub(super) fn start(bus: &Bus) {
    if tracing::enabled!(target: ENGINE_LOG, Level::ERROR) {
        bus.listen(Arc::new(EventLog));
    }
}

struct EventLog;

impl Listener for EventLog {
    fn hear(&self, heard: &Event) {
        let text = || serde_json::to_string(heard).unwrap_or_default();
        match &heard.kind {
            // Lines of plugins are logged before a flood of them is thinned out.
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
