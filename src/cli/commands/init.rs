//! `flightdeck init`: prepares the backend and installs modules and providers. Prints the result;
//! the engine does the work.

use crate::cli::confirmation::prompt_line;
use crate::cli::escape::safe;
use crate::cli::exit::{CliError, CommandResult, OK, fields};
use crate::cli::installing::run_with_progress;
use crate::cli::options::{InitArgs, LockfileMode};
use crate::cli::output::{Ink, Output};
use crate::cli::session::settings;
use crate::cli::signals::Signals;
use crate::cli::variable_prompts::can_confirm;
use engine::error::EngineError;
use engine::install::{self, Installed, Lockfile, Request};
use model::settings::Access;
use serde_json::json;
use workspace::initialize::InitBackend;

/// Maximum number of times a question is asked until the answer is "yes" or "no".
const MAX_QUESTIONS: usize = 3;

/// Installs. If states must be migrated and prompts are possible, asks first.
async fn installed(
    mut request: Request,
    asks: bool,
    out: &mut Output,
) -> Result<Installed, CliError> {
    let first = request.clone();
    let tried = run_with_progress(out, |tell, stop| install::install(first, tell, stop)).await;
    let Err(CliError::Engine(EngineError::StatesToMigrate { from, to })) = &tried else {
        return tried;
    };
    // The error names the flags that answer the question.
    if !asks {
        return tried;
    }
    let question = format!(
        "The backend is now {1}, but {0} still has a state.\nCopy the state to the new backend? \"yes\" copies it, \"no\" uses the state in the new backend: ",
        safe(from),
        safe(to)
    );
    match ask_yes_or_no(&question, out).await? {
        None => return tried,
        // The installation is repeated with the answer as a flag.
        Some(true) => request.backend.force_copy = true,
        Some(false) => request.backend.reconfigure = true,
    }
    run_with_progress(out, |tell, stop| install::install(request, tell, stop)).await
}

/// Asks a question with the answers `yes` and `no`. Returns `None` after three other answers.
async fn ask_yes_or_no(question: &str, out: &Output) -> Result<Option<bool>, CliError> {
    let mut signals = Signals::listen()?;
    for _ in 0..MAX_QUESTIONS {
        match prompt_line(question, &mut signals, out).await? {
            Some(line) if line.eq_ignore_ascii_case("yes") => return Ok(Some(true)),
            Some(line) if line.eq_ignore_ascii_case("no") => return Ok(Some(false)),
            Some(_) => {}
            None => return Ok(None),
        }
    }
    Ok(None)
}

pub(super) async fn run(args: InitArgs, out: &mut Output) -> CommandResult {
    let here = settings("init", Access::ReadOnly, None)?;
    let backend = InitBackend {
        config: args.backend_config,
        reconfigure: args.reconfigure,
        migrate: args.migrate_state,
        force_copy: args.force_copy,
        without_backend: !args.backend,
        locking: out.flags.locking(),
        variables: args.variables.flags.clone(),
    };
    let request = Request {
        backend,
        dir: here.workspace,
        workspace: here.workspace_name,
        values: args.variables.request(),
        upgrade: args.upgrade,
        plugin_dirs: args.plugin_dir,
        lockfile: match args.lockfile {
            None => Lockfile::Written,
            Some(LockfileMode::Readonly) => Lockfile::ReadOnly,
        },
    };
    let asks = can_confirm(out);
    let installed = installed(request, asks, out).await?;
    installed.diagnostics.iter().for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    installed
        .messages
        .iter()
        .for_each(|text| out.stderr_line(text));
    out.result(
        "init",
        fields(json!({ "modules": installed.modules, "providers": installed.providers })),
    );
    if !out.json {
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let line = format!(
            "Installed: {}, {}.",
            count(installed.modules, "module"),
            count(installed.providers, "provider")
        );
        let line = out.paint(Ink::Green, &line);
        out.line(&line);
    }
    Ok(OK)
}
