//! `flightdeck plugins`: launch what the workspace needs, and show how each came up.

use crate::cli::exit::{CliError, Ended, OK, failed, fields, plain};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::safe::{safe, safe_lines};
use crate::cli::schema;
use crate::cli::session::{Session, settings};
use crate::cli::suggest::nearest;
use crate::cli::time::duration;
use crate::engine::error::EngineError;
use crate::engine::provider::ProviderSchema;
use crate::engine::settings::Access;
use crate::engine::view::PluginView;
use crate::engine::words::{LaunchAttempt, PluginState};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Last words shown of a failed attempt.
const LINES: usize = 8;

pub(super) async fn run(name: Option<&str>, out: &mut Output) -> Ended {
    let mut session = Session::start(settings("plugins", Access::ReadWrite, None)?).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let loaded = session
        .wait(out, &mut progress, engine.load_plugins())
        .await;
    let (view, _) = engine.subscribe();
    let mut schemas = BTreeMap::new();
    let mut without = BTreeMap::new();
    for id in view.plugins.keys() {
        match session.wait(out, &mut progress, engine.schema(id)).await {
            Ok(schema) => drop(schemas.insert(id.clone(), schema)),
            Err(why) => drop(without.insert(id.clone(), why.to_string())),
        }
    }
    session.end(out).await;
    out.flush_diagnostics();
    let all: Vec<PluginView> = view.plugins.into_values().collect();
    let known = all.iter().map(|p| p.id.0.clone()).collect::<Vec<_>>();
    let chosen: Vec<PluginView> = all
        .into_iter()
        .filter(|p| name.is_none_or(|part| p.id.0.contains(part)))
        .collect();
    if let (Some(part), true) = (name, chosen.is_empty())
        && loaded.is_ok()
    {
        return Err(none_of(part, &known));
    }
    if out.json {
        let all: Vec<Value> = chosen
            .iter()
            .map(|p| as_json(p, schemas.get(&p.id), name.is_some()))
            .collect();
        return answer(all, loaded, out);
    }
    chosen.iter().for_each(|p| {
        show(
            out,
            p,
            schemas
                .get(&p.id)
                .ok_or(without.get(&p.id).map(String::as_str)),
            name.is_some(),
        )
    });
    if let Err(error) = loaded {
        let text = error.to_string();
        let told = |p: &PluginView| p.state.why().is_some_and(|why| text.contains(why));
        if !chosen.iter().any(told) {
            return Err(error);
        }
        // Its line above says why in full.
        out.problem(text.lines().next().unwrap_or_default());
        return Err(CliError::Said(error.exit_code()));
    }
    if chosen.is_empty() {
        out.line("the workspace uses no plugins");
    }
    Ok(OK)
}

/// The words for a name that no plugin has.
fn none_of(part: &str, known: &[String]) -> CliError {
    let hint = match nearest(part, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "the workspace uses none".to_owned(),
        None => format!("there are {}", known.join(", ")),
    };
    CliError::Refused(format!(
        "no plugin of this workspace has {part:?} in its name; {hint}"
    ))
}

/// The result that programs read. Those that did come up are told in either case.
fn answer(all: Vec<Value>, loaded: Result<(), CliError>, out: &mut Output) -> Ended {
    let mut result = fields(json!({ "plugins": all }));
    let code = match loaded {
        Ok(()) => OK,
        Err(CliError::Engine(error @ EngineError::Plugin(_))) => {
            out.diagnostic(&plain(&error.to_string()));
            out.flush_diagnostics();
            result.extend(failed(error.exit_code()));
            error.exit_code()
        }
        Err(error) => return Err(error),
    };
    out.result("plugins", result);
    Ok(code)
}

/// The plugin as it is seen, with its schema: all of it where one was asked for, else how much
/// there is.
fn as_json(plugin: &PluginView, schema: Option<&Arc<ProviderSchema>>, whole: bool) -> Value {
    let mut out = json!(plugin);
    out["schema"] = schema.map_or(Value::Null, |s| {
        if whole {
            schema::whole(s)
        } else {
            schema::counts(s)
        }
    });
    out
}

/// One plugin with its schema, or why it has none.
fn show(
    out: &mut Output,
    plugin: &PluginView,
    schema: Result<&Arc<ProviderSchema>, Option<&str>>,
    whole: bool,
) {
    // By the time it is shown a plugin that came up has been stopped again: what counts is how its
    // last launch went.
    let ready = plugin
        .attempts
        .back()
        .and_then(|a| a.verdict.as_ref())
        .is_some_and(|v| v.kind == "ready");
    let (state, ink) = match &plugin.state {
        state if state.is_failed() => (state.word(), Ink::Red),
        _ if ready && schema.is_err() => ("ready, but of no use", Ink::Red),
        PluginState::Ready { .. } => ("ready", Ink::Green),
        _ if ready => ("ready", Ink::Green),
        other => (other.word(), Ink::Yellow),
    };
    let state = out.paint(ink, state);
    let found = plugin.found.as_ref();
    let version = found.and_then(|f| f.version.as_deref()).unwrap_or("-");
    let dialect = found.and_then(|f| f.dialect.as_deref()).unwrap_or("-");
    let took = plugin
        .attempts
        .back()
        .filter(|_| ready)
        .and_then(|a| a.took_ms)
        .map_or_else(String::new, |ms| format!(", up in {}", duration(ms)));
    out.line(&format!(
        "{}  {state}  {version}  {dialect}, launches {}{took}",
        plugin.id,
        plugin.attempts.len()
    ));
    if let Some(found) = found {
        if plugin.state.why() == Some(&found.why) {
            out.line(&format!("    {}", safe(&found.address)));
        } else {
            out.line(&format!(
                "    {} from {}: {}",
                safe(&found.address),
                safe(&found.source),
                safe(&found.why)
            ));
        }
        if let Some(path) = found.executable.as_ref().filter(|_| whole) {
            out.line(&format!("    {}", safe(path)));
        }
    }
    if let Ok(schema) = schema {
        out.line(&format!("    {}", schema::line(schema)));
    }
    if let Some(why) = plugin.state.why().or(schema.err().flatten()) {
        for line in safe_lines(why).lines() {
            let line = out.paint(Ink::Red, &format!("    {line}"));
            out.line(&line);
        }
    }
    for attempt in plugin
        .attempts
        .iter()
        .filter(|a| whole || a.verdict.as_ref().is_some_and(|v| v.kind != "ready"))
    {
        one_attempt(out, attempt);
    }
    if let Some(schema) = schema.ok().filter(|_| whole) {
        schema::show(out, schema);
    }
}

fn one_attempt(out: &mut Output, attempt: &LaunchAttempt) {
    let phases: Vec<String> = attempt
        .phases
        .iter()
        .map(|p| format!("{} {} ms", p.name.word(), p.at_ms))
        .collect();
    let verdict = attempt
        .verdict
        .as_ref()
        .map_or("running", |v| v.text.as_str());
    let pid = attempt
        .pid
        .map_or_else(String::new, |pid| format!(", pid {pid}"));
    out.line(&format!(
        "    launch {} of {}{pid}: {} [{}]",
        attempt.number,
        attempt.limit,
        safe(verdict),
        phases.join(" → ")
    ));
    let failed = attempt.verdict.as_ref().is_some_and(|v| v.kind != "ready");
    for line in attempt
        .last_lines
        .iter()
        .rev()
        .take(LINES)
        .rev()
        .filter(|_| failed)
    {
        let line = out.paint(Ink::Dim, &format!("      | {}", safe(line)));
        out.line(&line);
    }
}
