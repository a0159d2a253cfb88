//! `flightdeck logs`: prints log lines of plugins from the store.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CliError, CommandResult, OK, fields};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::time::format_local;
use crate::cli::values::Level;
use model::settings::Access;
use model::{LogLevel, LogLine, LogQuery, LogRow};
use serde_json::json;
use std::time::Duration;

/// Polling interval for new lines.
const PAUSE: Duration = Duration::from_millis(300);
/// Maximum number of lines per poll.
const MAX_LINES_PER_POLL: u32 = 10_000;

pub(super) struct LogFilter {
    pub(super) plugin: Option<String>,
    pub(super) follow: bool,
    pub(super) level: Option<Level>,
    pub(super) since: Option<i64>,
}

pub(super) async fn run(wanted: LogFilter, out: &mut Output) -> CommandResult {
    let mut session = Session::start(settings("logs", Access::ReadOnly, None)?, out).await?;
    let told = print_logs(&mut session, &wanted, out).await;
    session.finish(out).await;
    let lines = told?;
    if out.json {
        out.result("logs", fields(json!({ "lines": lines })));
    } else if lines == 0 {
        out.stderr_line("no matching log lines");
    }
    Ok(OK)
}

async fn print_logs(
    session: &mut Session,
    wanted: &LogFilter,
    out: &mut Output,
) -> Result<u64, CliError> {
    let mut query = LogQuery {
        plugin: wanted.plugin.clone(),
        level: wanted.level.and_then(Level::log),
        since: wanted.since,
        ..LogQuery::default()
    };
    let engine = session.engine.clone();
    let mut progress = Progress::new(out);
    let (mut last, mut lines) = (0, 0);
    loop {
        let rows = session
            .wait(out, &mut progress, engine.logs(query.clone()))
            .await?;
        for row in rows.iter().filter(|row| row.id > last) {
            show(out, row);
            lines += 1;
        }
        if let Some(newest) = rows.last() {
            // Ids grow, but a repeated window may end with an older one.
            last = last.max(newest.id);
            // Lines of several plugins may be stored slightly out of order. Each poll therefore
            // starts 5 s earlier and skips known lines by id.
            query.since = Some(newest.line.at - 5_000).max(wanted.since);
            query.limit = MAX_LINES_PER_POLL;
        }
        // Following ends with its reader, because nothing else would end it.
        if !wanted.follow || !out.is_open() {
            return Ok(lines);
        }
        session
            .wait_outside_engine(tokio::time::sleep(PAUSE))
            .await?;
    }
}

fn show(out: &mut Output, row: &LogRow) {
    if out.json {
        let mut line = json!(row);
        line["type"] = "log".into();
        out.line(&line.to_string());
        return;
    }
    let line = &row.line;
    let ink = match line.level {
        LogLevel::Error => Ink::Red,
        LogLevel::Warn => Ink::Yellow,
        LogLevel::Info => Ink::Green,
        LogLevel::Debug | LogLevel::Trace => Ink::Dim,
    };
    let level = out.paint(ink, &format!("{:<5}", line.level.label()));
    out.line(&format!("{} {level} {}", format_local(line.at), text(line)));
}

/// Plugin, module and text of a line. A name can come from a store of another program.
fn text(line: &LogLine) -> String {
    let module = line
        .module
        .as_deref()
        .map_or_else(String::new, |m| format!("{}: ", safe(m)));
    let plugin = line.plugin.to_string();
    format!("{}  {module}{}", safe(&plugin), safe_lines(&line.text))
}

#[cfg(test)]
mod tests {
    use super::text;
    use model::{LogLevel, LogLine, LogStream, PluginId};

    #[test]
    fn names_and_text_of_a_line_are_escaped() {
        let line = LogLine {
            at: 0,
            plugin: PluginId("acme/\u{1b}[2Jlab\u{202e}\n".into()),
            level: LogLevel::Info,
            module: Some("core\u{200b}\u{7}".into()),
            text: "one\u{1b}]0;x\u{7}\u{202e}".into(),
            stream: LogStream::Stderr,
            panic: false,
        };
        let shown = text(&line);
        assert!(
            !shown.chars().any(model::visible::needs_escape),
            "{shown:?}"
        );
        assert!(shown.contains("lab\\u{202e}"), "{shown}");
    }
}
