//! Command line: parses arguments, runs one command against the engine's handle and maps its result
//! to an exit code. Owns stdout and stderr.

mod args;
mod commands;
mod confirmation;
mod console_shutdown;
mod container_init;
mod diagnostics;
mod environment;
mod environment_args;
mod escape;
mod exit;
mod flags;
mod grouping;
mod installing;
mod json_into;
mod live_line;
mod log;
mod options;
mod output;
mod progress;
mod schema;
mod sensitive_values;
mod session;
mod show;
mod signals;
mod spelling;
mod suggest;
mod time;
mod tofu;
mod usage;
mod user_files;
mod values;
mod variable_prompts;
mod variables;

use output::Output;
use plugin::descendants;
use shell::guard;
use state;
use std::process::ExitCode;

/// Time limit for releasing state locks on the backend's server at the end of a command.
const UNLOCKING: std::time::Duration = std::time::Duration::from_secs(3);

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    // Core dumps go first: everything after this line may read secrets.
    no_core_files();
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    // Helpers are started often, so they skip everything that only commands need.
    if let Some(code) = helper(&words) {
        return code;
    }
    // Registers the helper roles of this executable with the engine.
    guard::register();
    descendants::register();
    let (args, shared) = match arguments(spelling::normalize(words)) {
        Ok(parsed) => parsed,
        Err(code) => return code,
    };
    // SAFETY: no thread has been started yet.
    #[allow(unsafe_code)]
    let supervised = unsafe {
        environment::move_out_variables();
        // After the removal, so that process 1 does not show the variables either.
        container_init::supervise()
    };
    if let Some(code) = supervised {
        return code;
    }
    if let Some(args::Command::Plugin(served)) = &args.command
        && served.serves()
    {
        // They have their own use of stdout and stderr, and their own runtime.
        return serve(served);
    }
    let mut out = match output(&args, shared) {
        Ok(out) => out,
        Err(code) => return code,
    };
    // The console owns the screen, which decides about the log and the threads below.
    let has_console = matches!(args.command, None | Some(args::Command::Demo));
    // Made absolute before `-C`, because `TF_LOG_PATH` is relative to the original directory.
    let log_path = log::absolute_path();
    if let Some(dir) = &args.chdir
        && let Err(error) = commands::change_directory(dir)
    {
        return ExitCode::from(exit::report(Err(error), "flightdeck", &mut out));
    }
    log::start(&args, has_console, log_path.as_deref(), &mut out);
    let runtime = match runtime(has_console) {
        Ok(runtime) => runtime,
        Err(e) => {
            out.error_line(&format!("cannot start the async runtime: {e}"));
            return ExitCode::from(exit::ERROR);
        }
    };
    if let Err(e) = runtime.block_on(async { signals::ignore_file_size_signal() }) {
        tracing::debug!(error = %e, "a file that grows beyond its limit will end this process");
    }
    let name = args.command.as_ref().map_or("console", args::Command::name);
    let work = async move {
        // Boxed, because the future of all commands together is large.
        let ended = Box::pin(commands::run(args, &mut out)).await;
        commands::trust::report_commands(&mut out);
        // A cancelled command may have left state locks.
        for left in state::release_all(UNLOCKING).await {
            out.error_line(&left.to_string());
        }
        (ended, out)
    };
    let (ended, mut out) = match has_console {
        // The console draws on this thread, which the engine's work cannot keep busy.
        true => runtime.block_on(work),
        false => runtime.block_on(on_worker(&runtime, work)),
    };
    if runtime.metrics().num_alive_tasks() == 0 {
        // No task is left, so the runtime need not wait: memory of its threads is freed with the
        // process.
        runtime.shutdown_background();
    } else {
        // A thread that is blocked in a read from the keyboard must not delay the exit.
        runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    }
    ExitCode::from(exit::report(ended, name, &mut out))
}

fn runtime(has_console: bool) -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers(has_console))
        .enable_all()
        .build()
}

/// Runs a command on a worker thread, beside the tasks that it waits for.
async fn on_worker<T: Send + 'static>(
    runtime: &tokio::runtime::Runtime,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    let worked = runtime.spawn(work).await;
    worked.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic()))
}

/// Serves a bundled plugin or the web server until its end.
fn serve(served: &options::PluginSubcommand) -> ExitCode {
    match served {
        options::PluginSubcommand::Serve { name } => bundled::main(name),
        options::PluginSubcommand::Web {
            port,
            release,
            until_unlocked,
        } => bundled::web::Web {
            port: *port,
            release: release.clone(),
            until_unlocked: until_unlocked.clone(),
        }
        .main(),
        // Run by `commands::run`, with a runtime.
        _ => ExitCode::from(exit::ERROR),
    }
}

/// Applies the flags that concern the output.
fn configured(
    out: &mut Output,
    args: &args::Args,
    shared: flags::SharedFlags,
) -> Result<(), exit::CliError> {
    out.concise = args.concise;
    out.live &= !args.concise;
    let variable = std::env::var("TF_INPUT").ok();
    out.has_input = variable_prompts::is_input_on(args.input, variable.as_deref());
    out.grouping = grouping::Grouping {
        compact_warnings: args.compact_warnings,
        consolidate_warnings: args.consolidate_warnings.unwrap_or_default(),
        consolidate_errors: args.consolidate_errors.unwrap_or_default(),
    };
    if let Some(command) = &args.command {
        out.form = command.form(shared.json_into.is_some())?;
    }
    out.flags = shared;
    Ok(())
}

/// Parses the arguments of the command line and of the environment. Prints errors and help.
fn arguments(words: Vec<std::ffi::OsString>) -> Result<(args::Args, flags::SharedFlags), ExitCode> {
    let completed = match environment_args::complete(words.clone(), |name| std::env::var_os(name)) {
        Ok(completed) => completed,
        Err(error) => {
            let error = escape::safe(&error.to_string()).into_owned();
            let error = flags::command().error(clap::error::ErrorKind::ValueValidation, error);
            return Err(usage::refuse(error, &words, &[]));
        }
    };
    let words = flags::normalize_booleans(completed.words);
    let parsed = flags::parse(&words);
    parsed.map_err(|error| usage::refuse(error, &words, &completed.variables))
}

/// Creates the output in the form that the arguments ask for. Prints errors.
fn output(args: &args::Args, shared: flags::SharedFlags) -> Result<Output, ExitCode> {
    let mut out = Output::new(
        args.no_color,
        args.command.as_ref().is_some_and(args::Command::wants_json),
    );
    out.log_level = args.log_level;
    out.metrics = args.metrics;
    out.traces = args.otlp.clone();
    match configured(&mut out, args, shared) {
        Ok(()) => Ok(out),
        Err(error) => {
            let code = exit::report(Err(error), "flightdeck", &mut out);
            Err(ExitCode::from(code))
        }
    }
}

/// Runs the program in its other roles: helper processes that flightdeck starts, and bundled
/// plugins.
fn helper(words: &[std::ffi::OsString]) -> Option<ExitCode> {
    match words {
        [_, word, rest @ ..] if word == guard::ARGUMENT => Some(guard::main(rest)),
        [_, word, rest @ ..] if word == descendants::ARGUMENT => Some(descendants::main(rest)),
        [program] => bundled::installed_as(program).map(bundled::main),
        _ => None,
    }
}

/// Number of the engine's worker threads: all cores but one, which is left to the plugins. On two
/// cores, two threads that pass a plugin's answers between them take 1.5 times as long as one. The
/// console gets at least two, because it draws while the engine works.
fn workers(has_console: bool) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores - 1).max(if has_console { 2 } else { 1 })
}

/// Disables core dumps of this process and its children, because memory may contain secrets.
fn no_core_files() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    if std::env::var_os("FLIGHTDECK_CORE_DUMPS").is_none_or(|v| v != "1") {
        // Best effort: no output exists yet to report a failure, and the command runs anyway.
        setrlimit(
            Resource::Core,
            Rlimit {
                current: Some(0),
                maximum: Some(0),
            },
        )
        .ok();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn served_providers_are_the_bundled_ones_of_the_search() {
        assert_eq!(bundled::NAMES, dependency::BUNDLED_TYPES);
    }
}
