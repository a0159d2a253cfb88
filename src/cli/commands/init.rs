//! `flightdeck init`: the modules and providers of a configuration, fetched. Draws what has come of
//! each; what is done the engine says.

use crate::cli::exit::{CliError, Ended, OK, fields};
use crate::cli::installing::shown;
use crate::cli::options::{InitArgs, LockfileMode};
use crate::cli::output::{Ink, Output, paint};
use crate::cli::safe::{safe, safe_lines};
use crate::cli::session::settings;
use crate::cli::signals::Signals;
use crate::engine::error::EngineError;
use crate::engine::install::{self, Installed, Lockfile, Request};
use crate::engine::settings::Access;
use crate::engine::workspace::initialize::InitBackend;
use serde_json::json;
use std::io::IsTerminal;

/// How often is asked where the answer is neither yes nor no.
const QUESTIONS: usize = 3;

/// Installs; where there are states to bring over and somebody can be asked, after an answer.
async fn installed(
    mut request: Request,
    asks: bool,
    out: &mut Output,
) -> Result<Installed, CliError> {
    let first = request.clone();
    let answer = shown(out, |tell, stop| install::install(first, tell, stop)).await;
    let Err(CliError::Engine(EngineError::StatesToBring { from, to })) = &answer else {
        return answer;
    };
    if !asks {
        return answer;
    }
    let question = format!(
        "There is a state in {}, and the backend is {} now.\nCopy it there? `yes` copies it, `no` goes on with what is there: ",
        safe(from),
        safe(to)
    );
    match yes_or_no(&question, out).await? {
        None => return answer,
        Some(true) => request.backend.force_copy = true,
        Some(false) => request.backend.reconfigure = true,
    }
    shown(out, |tell, stop| install::install(request, tell, stop)).await
}

/// What somebody at the terminal answers; nothing where that is no answer.
async fn yes_or_no(question: &str, out: &Output) -> Result<Option<bool>, CliError> {
    let mut signals = Signals::listen()?;
    for _ in 0..QUESTIONS {
        eprint!("{}", paint(out.err_color, Ink::Bold, &safe_lines(question)));
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).map(|_| line)
        });
        let line = tokio::select! { biased;
            () = signals.next() => return Err(CliError::Cancelled),
            line = line => line,
        };
        match line {
            Ok(Ok(line)) if line.trim().eq_ignore_ascii_case("yes") => return Ok(Some(true)),
            Ok(Ok(line)) if line.trim().eq_ignore_ascii_case("no") => return Ok(Some(false)),
            // The end of the input is none, too.
            Ok(Ok(line)) if !line.is_empty() => {}
            _ => return Ok(None),
        }
    }
    Ok(None)
}

pub(super) async fn run(args: InitArgs, out: &mut Output) -> Ended {
    let here = settings("init", Access::ReadOnly, None)?;
    let backend = InitBackend {
        config: args.backend_config,
        reconfigure: args.reconfigure,
        migrate: args.migrate_state,
        force_copy: args.force_copy,
        without_backend: !args.backend,
        variables: args.variables.flags.clone(),
    };
    let request = Request {
        backend,
        dir: here.workspace,
        named: here.named,
        values: args.variables.request(),
        upgrade: args.upgrade,
        plugin_dirs: args.plugin_dir,
        lockfile: match args.lockfile {
            None => Lockfile::Written,
            Some(LockfileMode::Readonly) => Lockfile::ReadOnly,
        },
    };
    let asks = !out.json && args.unasked.input != Some(false) && std::io::stdin().is_terminal();
    let installed = installed(request, asks, out).await?;
    installed.diagnostics.iter().for_each(|d| out.diagnostic(d));
    out.flush_diagnostics();
    installed.told.iter().for_each(|text| out.note(text));
    if out.json {
        out.result(
            "init",
            fields(json!({ "modules": installed.modules, "providers": installed.providers })),
        );
    } else {
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
