//! `flightdeck [DIR]` and `flightdeck demo`: the console on a workspace, or on a temporary demo
//! workspace.

use crate::app::state::{Appearance, ThemeName};
use crate::app::{self, ConsoleOptions, DemoHook};
use crate::cli::args::names;
use crate::cli::console_shutdown::farewell;
use crate::cli::escape::safe_path;
use crate::cli::exit::{self, CliError, CommandResult};
use crate::cli::output::Output;
use crate::cli::session;
use crate::cli::signals::Signals;
use crate::cli::suggest::nearest_word;
use crate::ui::term::{self, Screen};
use engine::Access;
use engine::Engine;
use engine::Settings;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;

pub(super) async fn run(dir: Option<&Path>, ascii: bool, out: &mut Output) -> CommandResult {
    if let Some(dir) = dir {
        enter(dir)?;
    }
    terminal()?;
    let options = options(ascii, out)?;
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
    bundled::demo::write_to(&workspace).map_err(refused)?;
    let plugins = place.path().join("plugins");
    let program = std::env::current_exe().map_err(refused)?;
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
    engine.report_orphans().await;
    // Set up before the screen is taken over: from then on a signal ends the console, which
    // restores the terminal.
    let mut signals = Signals::listen()?;
    let told = async move { signals.next().await };
    let after = async |engine| farewell(engine, out).await;
    Box::pin(app::run(engine, options, Screen::enter, told, after))
        .await
        .map_err(|e| CliError::internal(format!("the console failed: {e:#}")))?;
    Ok(exit::OK)
}

/// Options of the console: appearance from flags and environment, keys from `keys.toml`.
fn options(ascii: bool, out: &Output) -> Result<ConsoleOptions, CliError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    // The first set variable decides about the encoding.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    // Without UTF-8 the terminal cannot show the symbols of the console.
    let plain = locale.is_some_and(|l| !l.to_ascii_lowercase().replace('-', "").contains("utf8"));
    let light = term::background_is_light(variable("COLORFGBG").as_deref()).unwrap_or(false);
    let theme = match variable("FLIGHTDECK_THEME").as_deref() {
        Some("light") => ThemeName::Light,
        Some("contrast") => ThemeName::Contrast,
        Some("dark") => ThemeName::Dark,
        // Only if the variable does not name a theme.
        _ if light => ThemeName::Light,
        _ => ThemeName::Dark,
    };
    let looks = Appearance {
        theme,
        color: out.color,
        ascii: ascii || plain,
    };
    Ok(ConsoleOptions {
        appearance: looks,
        mouse: true,
        shell: term::has_shell(),
        tmux: variable("TMUX").is_some_and(|v| !v.is_empty()),
        keys: keys()?,
        ..ConsoleOptions::default()
    })
}

/// Reads the operator's `keys.toml`: `command = ["key", …]`. A missing file is no error, an
/// unreadable one is.
fn keys() -> Result<BTreeMap<String, Vec<String>>, CliError> {
    use etcetera::BaseStrategy;
    let Ok(base) = etcetera::choose_base_strategy() else {
        return Ok(BTreeMap::new());
    };
    let path = base.config_dir().join("flightdeck").join("keys.toml");
    let text = match fsroot::read_named(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(e) => {
            return Err(CliError::io(format!(
                "cannot read {}: {e}",
                safe_path(&path)
            )));
        }
    };
    toml::from_str(&text).map_err(|e| {
        CliError::setting(format!("{}: {}", safe_path(&path), e.message()))
            .hint("write command = [\"key\"]")
    })
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
