//! `flightdeck plugins`: launches the plugins of the workspace and all transformers, and shows each
//! with its launches; or lists installed plugins and optionally launches them.

use crate::cli::escape::{safe, safe_lines};
use crate::cli::exit::{CliError, CommandResult, OK, failed, fields, plain_diagnostic};
use crate::cli::output::{Ink, Output};
use crate::cli::progress::Progress;
use crate::cli::schema;
use crate::cli::session::{Session, settings};
use crate::cli::suggest::nearest_word;
use engine::error::EngineError;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use model::settings::Access;
use model::view::PluginView;
use model::{
    LaunchAttempt, NO_TRANSFORMERS, PluginId, PluginKind, PluginState, VerdictKind, duration,
};
use plugin::find::{Discovered, Environment, PluginPath, plugin_roots};
use provider::ProviderSchema;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of output lines shown for a failed launch.
const LINES: usize = 8;

pub(super) async fn run(name: Option<&str>, out: &mut Output) -> CommandResult {
    let mut session = Session::start(settings("plugins", Access::ReadWrite, None)?, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let loaded = session.wait(out, &mut progress, engine.try_plugins()).await;
    // The view is taken before the end of the session: afterwards all plugins are stopped.
    let (view, _) = engine.subscribe();
    let mut schemas = BTreeMap::new();
    let mut without = BTreeMap::new();
    let providers = view.plugins.values().filter(|p| !p.is_transformer());
    for id in providers.map(|p| &p.id) {
        let schema = async {
            match name {
                // Texts of a schema are fetched only if they are shown.
                Some(_) => engine.documented(id).await,
                None => engine.schema(id).await,
            }
        };
        match session.wait(out, &mut progress, schema).await {
            Ok(schema) => drop(schemas.insert(id.clone(), schema)),
            Err(why) => drop(without.insert(id.clone(), why.to_string())),
        }
    }
    session.finish(out).await;
    out.flush_diagnostics();
    let all: Vec<PluginView> = view.plugins.into_values().collect();
    let known = all.iter().map(|p| p.id.to_string()).collect::<Vec<_>>();
    let chosen: Vec<PluginView> = all
        .into_iter()
        .filter(|p| name.is_none_or(|part| p.id.0.contains(part)))
        .collect();
    if let (Some(part), true) = (name, chosen.is_empty())
        && loaded.is_ok()
    {
        return Err(none_of(part, &known));
    }
    let path = PluginPath::read(&plugin_roots(&Environment::from_process()));
    if out.json {
        let all: Vec<Value> = chosen
            .iter()
            .map(|p| as_json(p, schemas.get(&p.id), name.is_some()))
            .collect();
        let path = name.is_none().then(|| path_as_json(&path, &chosen));
        return print_json(all, path.flatten(), loaded, out);
    }
    for p in &chosen {
        let why = without.get(&p.id).map(String::as_str);
        show(out, p, schemas.get(&p.id).ok_or(why), name.is_some());
    }
    if name.is_none() {
        show_path(out, &path, &chosen);
    }
    if let Err(error) = loaded {
        let text = error.to_string();
        // The error of a shown plugin is not printed twice.
        let mut reasons = chosen.iter().filter_map(|p| p.state.unavailable_reason());
        if !reasons.any(|why| text.contains(why)) {
            return Err(error);
        }
        // The line of the plugin above has the full reason.
        out.error_line(text.lines().next().unwrap_or_default());
        return Err(CliError::AlreadyReported(error.exit_code()));
    }
    if chosen.is_empty() {
        out.line("the workspace uses no plugins");
    }
    Ok(OK)
}

/// Lists the installed providers, and launches them if requested. Needs no configuration.
pub(super) async fn installed(name: Option<&str>, launch: bool, out: &mut Output) -> CommandResult {
    let settings = settings("plugins", Access::ReadOnly, None)?;
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let all = engine.find_installed();
    let all = match session.wait(out, &mut progress, all).await {
        Ok(all) => all,
        Err(error) => {
            session.finish(out).await;
            return Err(error);
        }
    };
    let fits = |id: &&PluginId| name.is_none_or(|part| id.0.contains(part));
    let chosen: Vec<PluginId> = all.iter().filter(fits).cloned().collect();
    let (mut schemas, mut loaded) = (BTreeMap::new(), Ok(()));
    let wanted = chosen.iter().filter(|_| launch);
    // In parallel; the first failure becomes the error, the others are in the lines of their
    // plugins.
    let launches = join_all(wanted.map(|id| async { (id.clone(), engine.documented(id).await) }));
    match session.wait(out, &mut progress, launches.map(Ok)).await {
        Ok(all) => all.into_iter().for_each(|(id, launched)| match launched {
            Ok(schema) => drop(schemas.insert(id, schema)),
            Err(why) if loaded.is_ok() => loaded = Err(CliError::Engine(why)),
            Err(_) => {}
        }),
        Err(error) => loaded = Err(error),
    }
    let (mut view, _) = engine.subscribe();
    session.finish(out).await;
    out.flush_diagnostics();
    if let (Some(part), true) = (name, chosen.is_empty()) {
        let known: Vec<String> = all.iter().map(ToString::to_string).collect();
        return Err(none_of(part, &known));
    }
    let chosen: Vec<PluginView> = chosen
        .iter()
        .filter_map(|id| view.plugins.remove(id))
        .collect();
    if out.json {
        let all = chosen.iter();
        let all = all.map(|p| as_json(p, schemas.get(&p.id), name.is_some()));
        return print_json(all.collect(), None, loaded, out);
    }
    for plugin in &chosen {
        let schema = schemas.get(&plugin.id).ok_or(None);
        show(out, plugin, schema, name.is_some());
    }
    match loaded {
        Ok(()) => Ok(OK),
        Err(CliError::Engine(error)) => {
            // The lines of the plugins above have the full reasons.
            out.error_line(error.to_string().lines().next().unwrap_or_default());
            Err(CliError::AlreadyReported(error.exit_code()))
        }
        Err(error) => Err(error),
    }
}

/// Returns the error for a name that matches no plugin.
fn none_of(part: &str, known: &[String]) -> CliError {
    let hint = match nearest_word(part, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "there are no plugins".to_owned(),
        None => format!("known plugins: {}", known.join(", ")),
    };
    CliError::missing(format!("no plugin has {part:?} in its name")).hint(hint)
}

/// Prints the JSON result. Plugins that became ready are included even after a failure.
fn print_json(
    all: Vec<Value>,
    path: Option<Value>,
    loaded: Result<(), CliError>,
    out: &mut Output,
) -> CommandResult {
    let mut result = fields(json!({ "plugins": all }));
    result.extend(path.map(|path| ("plugin_path".to_owned(), path)));
    let code = match loaded {
        Ok(()) => OK,
        Err(CliError::Engine(error @ EngineError::Plugin(_))) => {
            out.diagnostic(&plain_diagnostic(&error.to_string()));
            out.flush_diagnostics();
            result.extend(failed(error.exit_code()));
            error.exit_code()
        }
        Err(error) => return Err(error),
    };
    out.result("plugins", result);
    Ok(code)
}

/// Returns a plugin with its schema as JSON: the complete schema if a plugin was named, otherwise
/// its counts.
fn as_json(plugin: &PluginView, schema: Option<&Arc<ProviderSchema>>, whole: bool) -> Value {
    let mut out = json!(plugin);
    out["schema"] = schema.map_or(Value::Null, |s| {
        if whole {
            schema::schema_json(s)
        } else {
            schema::counts(s)
        }
    });
    if plugin.is_transformer() {
        out["note"] = NO_TRANSFORMERS.into();
    }
    out
}

/// Describes the use of a plugin on the plugin path.
fn use_of(path: &PluginPath, plugin: &Discovered, used: &[PluginView]) -> String {
    let executable = plugin.executable.display().to_string();
    let is_it = |view: &PluginView| {
        let found = view.found.as_ref();
        found.and_then(|f| f.executable.as_deref()) == Some(&executable)
    };
    let runs = used.iter().any(is_it);
    match (plugin.kind, path.shadowing_plugin(plugin)) {
        (PluginKind::Provider, _) if runs => "used".to_owned(),
        (PluginKind::Transformer, _) if runs => format!("launched; {NO_TRANSFORMERS}"),
        (_, Some(other)) => format!("shadowed by {} in {}", other.version, other.root.display()),
        (PluginKind::Provider, None) => "not used by this workspace".to_owned(),
        (PluginKind::Transformer, None) => NO_TRANSFORMERS.to_owned(),
    }
}

/// Returns all plugins on the plugin path with their use; `None` if it is empty.
fn path_as_json(path: &PluginPath, used: &[PluginView]) -> Option<Value> {
    let one = |plugin: &Discovered| {
        let mut out = json!(plugin);
        out["fate"] = use_of(path, plugin, used).into();
        out
    };
    let plugins: Vec<Value> = path.plugins.iter().map(one).collect();
    let rejected = path.rejected.iter();
    let rejected: Vec<Value> = rejected
        .map(|(file, why)| json!({"path": file, "why": why}))
        .collect();
    let something = !plugins.is_empty() || !rejected.is_empty();
    something.then(|| json!({"plugins": plugins, "rejected": rejected}))
}

fn show_path(out: &mut Output, path: &PluginPath, used: &[PluginView]) {
    if path.plugins.is_empty() && path.rejected.is_empty() {
        return;
    }
    out.line("Plugin path:");
    for plugin in &path.plugins {
        let fate = use_of(path, plugin, used);
        let (kind, id, version) = (plugin.kind.word(), &plugin.id, &plugin.version);
        let line = format!("{kind} {id} {version}: {fate}");
        out.line(&format!("    {}", safe(&line)));
    }
    for (file, why) in &path.rejected {
        let line = format!("rejected: {}: {why}", file.display());
        out.line(&format!("    {}", safe(&line)));
    }
}

/// Returns the status of a plugin with its colour, and true if it became ready.
fn status(plugin: &PluginView, has_schema: bool) -> (&'static str, Ink, bool) {
    // Plugins are already stopped when they are shown, so the verdict of the last launch counts.
    let ready = plugin
        .attempts
        .back()
        .and_then(|a| a.verdict.as_ref())
        .is_some_and(|v| v.kind == VerdictKind::Ready);
    let (word, ink) = match &plugin.state {
        state if state.is_failed() => (state.label(), Ink::Red),
        _ if ready && !has_schema && !plugin.is_transformer() => {
            ("ready, schema unavailable", Ink::Red)
        }
        PluginState::Ready { .. } => ("ready", Ink::Green),
        _ if ready => ("ready", Ink::Green),
        other => (other.label(), Ink::Yellow),
    };
    (word, ink, ready)
}

/// Prints one plugin with its schema or the reason for a missing schema.
fn show(
    out: &mut Output,
    plugin: &PluginView,
    schema: Result<&Arc<ProviderSchema>, Option<&str>>,
    whole: bool,
) {
    let (state, ink, ready) = status(plugin, schema.is_ok());
    let state = out.paint(ink, state);
    let found = plugin.found.as_ref();
    let version = found.and_then(|f| f.version.as_deref()).unwrap_or("-");
    let dialect = found.and_then(|f| f.dialect.as_deref()).unwrap_or("-");
    let took = plugin
        .attempts
        .back()
        .filter(|_| ready)
        .and_then(|a| a.took_ms)
        .map_or_else(String::new, |ms| format!(", ready in {}", duration(ms)));
    out.line(&format!(
        "{}  {state}  {version}  {dialect}, launches {}{took}",
        plugin.id,
        plugin.attempts.len()
    ));
    if let Some(found) = found {
        // A rejected plugin has one reason for both, which is printed below.
        if plugin.state.unavailable_reason() == Some(&found.why) {
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
    for (title, text) in found
        .iter()
        .flat_map(|f| &f.about)
        .flat_map(|about| about.parts())
    {
        out.line(&format!("    {title}: {}", safe(text)));
    }
    if plugin.is_transformer() {
        let line = format!("    {}; {NO_TRANSFORMERS}", safe(&plugin.transforms()));
        out.line(&line);
    }
    if let Ok(schema) = schema {
        out.line(&format!("    {}", schema::line(schema)));
    }
    if let Some(why) = plugin.state.unavailable_reason().or(schema.err().flatten()) {
        for line in safe_lines(why).lines() {
            let line = out.paint(Ink::Red, &format!("    {line}"));
            out.line(&line);
        }
    }
    for attempt in plugin.attempts.iter().filter(|a| {
        whole
            || a.verdict
                .as_ref()
                .is_some_and(|v| v.kind != VerdictKind::Ready)
    }) {
        print_attempt(out, attempt);
    }
    if let Some(schema) = schema.ok().filter(|_| whole) {
        schema::show(out, schema);
    }
}

fn print_attempt(out: &mut Output, attempt: &LaunchAttempt) {
    let phases: Vec<String> = attempt
        .phases
        .iter()
        .map(|p| format!("{} {} ms", p.name.label(), p.at_ms))
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
    let failed = attempt
        .verdict
        .as_ref()
        .is_some_and(|v| v.kind != VerdictKind::Ready);
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
