//! Log of this process: flightdeck's own lines and, with `TF_LOG` and related variables, those of
//! the engine and of providers, in OpenTofu's log format.

mod file;
mod layer;
mod level;

use super::args::Args;
use super::exit::CliError;
use super::output::Output;
use super::values::Level;
pub(super) use file::absolute_path;
use layer::HclogLayer;
use level::Levels;
use model::logging::{ENGINE_LOG, PROVIDER_LOG};
use std::io::Write;
use std::path::Path;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry};

type BoxedLayer = Box<dyn tracing_subscriber::Layer<Registry> + Send + Sync>;

/// Starts the log of a command, or of the console, where log lines must not disturb the screen.
/// `path` is the absolute value of `TF_LOG_PATH`.
pub(super) fn start(args: &Args, has_console: bool, path: Option<&Path>, out: &mut Output) {
    let (levels, warnings) = Levels::from_environment(|name| std::env::var_os(name));
    for warning in warnings {
        out.stderr_line(&warning);
    }
    // The file is not created while the log is off.
    let file = match path.filter(|_| levels.is_enabled()).map(file::open) {
        None => None,
        Some(Ok(file)) => Some(file),
        Some(Err(error)) => {
            out.stderr_line(&not_opened(&error));
            None
        }
    };
    let on_stderr = file.is_none() && !has_console;
    if on_stderr && levels.provider.is_some() && out.log_level.is_none() {
        // `TF_LOG` prints these lines already; the progress output must not print them again.
        out.log_level = Some(Level::Off);
    }
    let asked = match (file, on_stderr) {
        (Some(file), _) => Some(layer(&levels, file)),
        (None, true) => Some(layer(&levels, Box::new(std::io::stderr()))),
        (None, false) => None,
    };
    let asked = asked.filter(|_| levels.is_enabled());
    // The console shows its log itself: a line on stderr would disturb the screen.
    if has_console {
        return crate::ui::term::start_log(args.log_level.map_or("info", |l| l.label()), asked);
    }
    // The `TF_LOG` log contains flightdeck's own errors already.
    let own = (!(on_stderr && levels.core.is_some()))
        .then(|| stderr(args.log_level.unwrap_or(Level::Warn), out.err_color));
    let subscriber =
        tracing_subscriber::registry().with(asked.into_iter().chain(own).collect::<Vec<_>>());
    if subscriber.try_init().is_err() {
        // A test has installed a subscriber; keep it.
    }
    tracing::info!(target: ENGINE_LOG, version = env!("CARGO_PKG_VERSION"), "flightdeck starts");
}

fn not_opened(error: &CliError) -> String {
    format!("warning: cannot open the log file: {error}; logging to stderr")
}

/// Layer for flightdeck's own lines on stderr. `RUST_LOG` overrides the filter.
fn stderr(level: Level, color: bool) -> BoxedLayer {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new(format!("off,flightdeck={}", level.label())));
    tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(color)
        .with_target(false)
        .with_filter(filter)
        .boxed()
}

fn layer(levels: &Levels, to: Box<dyn Write + Send>) -> BoxedLayer {
    let own = env!("CARGO_CRATE_NAME");
    let targets = [
        (own, levels.core),
        (ENGINE_LOG, levels.core),
        (PROVIDER_LOG, levels.provider),
    ];
    let filter = targets
        .into_iter()
        .filter_map(|(target, level)| Some((target, level?)))
        .collect::<Targets>();
    HclogLayer::new(to, levels.json).with_filter(filter).boxed()
}
