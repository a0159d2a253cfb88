//! `flightdeck [DIR]` and `flightdeck demo`: the console on a workspace, or on a temporary demo
//! workspace.

use crate::app::choices::KeptChoices;
use crate::app::state::Appearance;
use crate::app::theme::{ColorDepth, FOLLOW, Themes};
use crate::app::{self, ConsoleOptions, DemoHook};
use crate::cli::args::names;
use crate::cli::console_shutdown::farewell;
use crate::cli::escape::safe_path;
use crate::cli::exit::{self, CliError, CommandResult};
use crate::cli::output::Output;
use crate::cli::session;
use crate::cli::signals::Signals;
use crate::cli::suggest::nearest_word;
use crate::cli::user_files;
use crate::ui::term::{self, Capabilities, Question, Screen};
use engine::Access;
use engine::Engine;
use engine::Settings;
use model::StageRequest;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

/// Variable with the name of a theme.
const THEME: &str = "FLIGHTDECK_THEME";

/// Opens the console. `plan` has the plan options of its stages.
pub(super) async fn run(
    dir: Option<&Path>,
    ascii: bool,
    plan: StageRequest,
    out: &mut Output,
) -> CommandResult {
    if let Some(dir) = dir {
        enter(dir)?;
    }
    terminal()?;
    let mut options = options(ascii, out)?;
    restore_choices(&mut options);
    options.plan = plan;
    open(settings()?, options, out).await
}

pub(super) async fn demo(ascii: bool, out: &mut Output) -> CommandResult {
    terminal()?;
    let mut options = options(ascii, out)?;
    let refused = |e: std::io::Error| {
        CliError::io(format!("cannot write the demo workspace: {e}"))
            .hint("set TMPDIR to a writable directory")
    };
    // Deleted when the console ends.
    let place = tempfile::Builder::new()
        .prefix("flightdeck-demo-")
        .tempdir()
        .map_err(refused)?;
    let workspace = place.path().join("shop");
    std::fs::create_dir(&workspace).map_err(refused)?;
    let program = std::env::current_exe().map_err(refused)?;
    // Released when the console ends, which ends the web servers that it has deployed.
    let _web_servers = bundled::demo::write_to(&workspace, &program).map_err(refused)?;
    // This program wrote the files just now, in a directory that only this user can write to.
    trust::commands::trust_directory(&workspace);
    let plugins = place.path().join("plugins");
    bundled::demo::install_plugin(&plugins, &program).map_err(refused)?;
    super::change_directory(&workspace)?;
    let hook = DemoHook::of_lab(workspace);
    options.notes = vec![DemoHook::NOTE.to_owned()];
    options.demo = Some(hook);
    let settings = Settings {
        plugin_path: Some(plugins),
        ..settings()?
    };
    open(settings, options, out).await
}

/// Engine settings of a console: work blocked by a plugin that gave up is refused, other work
/// continues.
fn settings() -> Result<Settings, CliError> {
    let mut settings = session::settings("console", Access::ReadWrite, None)?;
    // The operator can repair or restart a plugin while the console runs.
    settings.strict = false;
    Ok(settings)
}

async fn open(mut settings: Settings, options: ConsoleOptions, out: &mut Output) -> CommandResult {
    settings.traces = out.traces.clone();
    let engine = Engine::start(settings).await?;
    if let Some(address) = out.metrics {
        engine.serve_metrics(address).await?;
    }
    engine.warn_unread_store();
    engine.report_orphans().await;
    // Set up before the screen is taken over: from then on a signal ends the console, which
    // restores the terminal.
    let mut signals = Signals::listen()?;
    let told = async move { signals.next().await };
    let after = async |engine| farewell(engine, out).await;
    let capabilities = capabilities(&options);
    let enter = move |mouse| Screen::enter(mouse, capabilities);
    Box::pin(app::run(engine, options, enter, told, after))
        .await
        .map_err(|e| CliError::internal(format!("the console failed: {e:#}")))?;
    Ok(exit::OK)
}

/// Options of the console: appearance from flags and environment; keys, themes and choices from the
/// files of the user.
fn options(ascii: bool, out: &Output) -> Result<ConsoleOptions, CliError> {
    // The first set variable decides about the encoding.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    // Without UTF-8 the terminal cannot show the symbols of the console.
    let plain = locale.is_some_and(|l| !l.to_ascii_lowercase().replace('-', "").contains("utf8"));
    let (user_themes, problems) = user_files::themes();
    let mut themes = Themes::new(user_themes);
    themes.light_terminal =
        term::background_is_light(variable("COLORFGBG").as_deref()).unwrap_or(false);
    let mut options = ConsoleOptions {
        appearance: Appearance {
            depth: match out.color {
                true => Capabilities::of(variable).depth,
                false => ColorDepth::None,
            },
            ascii: ascii || plain,
        },
        themes,
        mouse: true,
        shell: term::has_shell(),
        tmux: variable("TMUX").is_some(),
        keys: user_files::keys()?,
        problems,
        ..ConsoleOptions::default()
    };
    if let Some(name) = variable(THEME) {
        choose_theme(&mut options, THEME, &name);
    }
    Ok(options)
}

/// Restores the choices of the last console, and keeps those of this one.
fn restore_choices(options: &mut ConsoleOptions) {
    let Some(file) = user_files::choices() else {
        return;
    };
    let stored = match file.read() {
        Ok(stored) => Some(stored),
        Err(e) => {
            options.problems.push(format!(
                "cannot read {}: {e}; the choices in it are replaced",
                safe_path(file.path())
            ));
            None
        }
    };
    let choices = stored.clone().unwrap_or_default();
    options.mouse = choices.mouse.unwrap_or(options.mouse);
    if let Some(name) = choices.theme.filter(|_| variable(THEME).is_none()) {
        choose_theme(options, &safe_path(file.path()), &name);
    }
    let file = Arc::new(file);
    options.choices = Some(KeptChoices { file, stored });
}

/// Chooses a theme, or reports that its name, from `source`, is unknown.
fn choose_theme(options: &mut ConsoleOptions, source: &str, name: &str) {
    if name != FOLLOW && !options.themes.choose(Some(name)) {
        let all = options.themes.all().iter().map(|t| t.name.as_str());
        let all: Vec<&str> = std::iter::once(FOLLOW).chain(all).collect();
        options.problems.push(format!(
            "{source}: unknown theme {name:?}; allowed are {}",
            all.join(", ")
        ));
    }
}

/// Value of an environment variable, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// Capabilities of the terminal. It is asked for its background only if that matters.
fn capabilities(options: &ConsoleOptions) -> Capabilities {
    let found = Capabilities::of(variable);
    let question = match found.question {
        Question::Awaited if options.appearance.depth == ColorDepth::None => Question::None,
        // Named in the environment, so that no terminal has to be asked.
        Question::Awaited if variable(THEME).is_some_and(|name| name != FOLLOW) => Question::None,
        Question::Awaited if options.themes.chosen().is_some() => Question::Asked,
        other => other,
    };
    Capabilities { question, ..found }
}

/// Changes to a directory. A word that is no directory may be a misspelled command.
pub(super) fn enter(dir: &Path) -> Result<(), CliError> {
    if dir.is_dir() {
        return super::change_directory(dir);
    }
    let word = dir.to_string_lossy();
    let known = names();
    let hint = match nearest_word(&word, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `flightdeck {near}`?"),
        None => "`flightdeck --help` lists the commands".to_owned(),
    };
    Err(CliError::usage(format!("{word:?} is neither a command nor a directory")).hint(hint))
}

fn terminal() -> Result<(), CliError> {
    const OTHERS: &str = "`flightdeck --help` lists the commands that work without a terminal";
    // Checked before the engine starts, which takes the lock.
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(CliError::usage("the console needs a terminal").hint(OTHERS));
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        let why = "the console needs a terminal that can move its cursor, but TERM=dumb says that this one cannot";
        return Err(CliError::usage(why)
            .hint("set TERM to the type of this terminal")
            .hint(OTHERS));
    }
    Ok(())
}
