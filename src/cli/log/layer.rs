//! Log layer in hclog's format: text lines, or one JSON object per line.

use model::logging::PROVIDER_LOG;
use model::visible;
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Writes each event as a line.
pub(super) struct HclogLayer {
    writer: Mutex<Box<dyn Write + Send>>,
    json: bool,
}

impl HclogLayer {
    pub(super) fn new(to: Box<dyn Write + Send>, json: bool) -> Self {
        Self {
            writer: Mutex::new(to),
            json,
        }
    }
}

impl<S: Subscriber> Layer<S> for HclogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut module = fields.take("module").unwrap_or_default();
        // OpenTofu's log has the provider's name in the module of its lines.
        if event.metadata().target() == PROVIDER_LOG {
            let plugin = fields.take("plugin").unwrap_or_default();
            module = ["provider", &plugin, &module]
                .into_iter()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(".");
        }
        let line = Line {
            level: *event.metadata().level(),
            module,
            message: fields.take("message").unwrap_or_default(),
            fields: fields.all,
        };
        let now = jiff::Timestamp::now();
        let mut text = match self.json {
            true => line.json(now),
            false => line.text(now),
        };
        text.push('\n');
        // A panic in another thread while it logged must not silence the log.
        let mut to = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // A failing log must not fail the command.
        let _lost = to.write_all(text.as_bytes());
    }
}

#[derive(Default)]
struct Fields {
    all: Vec<(&'static str, String)>,
}

impl Fields {
    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.all.iter().position(|(known, _)| *known == name)?;
        Some(self.all.remove(at).1)
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.all.push((field.name(), value.to_owned()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.all.push((field.name(), format!("{value:?}")));
    }
}

/// One line of the log.
struct Line {
    level: Level,
    module: String,
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Line {
    fn text(&self, now: jiff::Timestamp) -> String {
        let level = match self.level {
            Level::TRACE => "[TRACE]",
            Level::DEBUG => "[DEBUG]",
            Level::INFO => "[INFO] ",
            Level::WARN => "[WARN] ",
            Level::ERROR => "[ERROR]",
        };
        let mut text = format!("{now:.3} {level} ");
        if !self.module.is_empty() {
            text.push_str(&format!("{}: ", self.module));
        }
        text.push_str(&self.message);
        if !self.fields.is_empty() {
            text.push(':');
        }
        for (name, value) in &self.fields {
            // Quoted as in hclog, so that fields can be parsed.
            match value.is_empty() || value.contains([' ', '"', '=', '\n']) {
                true => text.push_str(&format!(" {name}={value:?}")),
                false => text.push_str(&format!(" {name}={value}")),
            }
        }
        // Messages of plugins may contain line breaks and control characters.
        visible::one_line(&text).into_owned()
    }

    fn json(&self, now: jiff::Timestamp) -> String {
        let mut all = Map::new();
        let mut put = |name: &str, value: &str| all.insert(name.to_owned(), Value::from(value));
        put("@level", &self.level.as_str().to_ascii_lowercase());
        put("@message", &self.message);
        if !self.module.is_empty() {
            put("@module", &self.module);
        }
        put("@timestamp", &format!("{now:.6}"));
        for (name, value) in &self.fields {
            put(name, value);
        }
        let text = Value::Object(all).to_string();
        visible::json(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    #[test]
    fn log_line_has_the_hclog_format() {
        let now = "2026-01-02T03:04:05.678901Z".parse().unwrap();
        let line = Line {
            level: Level::INFO,
            module: "provider.lab".into(),
            message: "a\u{1b}b".into(),
            fields: vec![("id", "x y".into()), ("n", "1".into())],
        };
        let text = line.text(now);
        assert!(
            text.starts_with("2026-01-02T03:04:05.678Z [INFO]  provider.lab: a"),
            "{text}"
        );
        assert!(text.ends_with("b: id=\"x y\" n=1"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
        let json: Value = serde_json::from_str(&line.json(now)).unwrap();
        assert_eq!(json["@level"], "info");
        assert_eq!(json["@module"], "provider.lab");
        assert_eq!(json["@timestamp"], "2026-01-02T03:04:05.678901Z");
        assert_eq!(json["id"], "x y");
    }
}
