//! Implementations of the commands, one file each: call the engine, print the answer, return the
//! exit code.

mod console;
mod deploy;
mod doctor;
mod evaluate;
mod failures;
pub(super) mod files;
mod fmt;
mod get;
mod graph;
mod group;
mod history;
mod init;
mod logs;
mod output;
mod plan;
mod plugin;
mod plugins;
mod program;
mod providers;
mod reconcile;
mod selections;
mod show;
mod stage;
mod state;
pub(super) mod trust;
mod types;
mod unlock;
mod validate;
mod version;
mod workspace;

use super::args::{Args, Command};
use super::exit::{CliError, CommandResult};
use super::json_into::JsonInto;
use super::output::Output;
use crate::cli::escape::safe_path;
use model::StageRequest;
use std::path::Path;

/// Runs the command of the arguments, or the console.
pub(super) async fn run(args: Args, out: &mut Output) -> CommandResult {
    // Paths are checked first, so that a command does no work whose output is then refused.
    prepared(out)?;
    if let (Some(_), Some(command)) = (args.metrics, &args.command)
        && !command.calls_plugins()
    {
        let why = format!(
            "`{}` does not support --metrics, because it calls no plugin",
            command.name()
        );
        return Err(CliError::usage(why).hint("use it with the interactive console or with demo, plugins, validate, graph, types, console, stage, plan, deploy, refresh, destroy or import"));
    }
    if let (Some(_), Some(command)) = (&args.otlp, &args.command)
        && !command.deploys()
    {
        return Err(CliError::usage(format!(
            "`{}` does not support --otlp, because it deploys nothing",
            command.name()
        ))
        .hint("use it with the interactive console or with demo, deploy, refresh or destroy"));
    }
    // The lock must be free before the command's own engine asks for it.
    if args.force_unlock {
        unlock::run(out).await?;
    }
    let plan = args.plan.request();
    if args.trust_workspace {
        if let (None, Some(dir)) = (&args.command, &args.dir) {
            console::enter(dir)?;
        }
        let has_console = matches!(args.command, None | Some(Command::Demo));
        let variables = match args.command {
            None => plan.variables.clone(),
            Some(_) => out.flags.variables.clone(),
        };
        trust::run(variables, has_console, out).await?;
    }
    let Some(command) = args.command else {
        // With the trust flag, `enter` above has changed to the directory already.
        let dir = args.dir.filter(|_| !args.trust_workspace);
        return console::run(dir.as_deref(), args.ascii, plan, out).await;
    };
    if plan != StageRequest::default() {
        return Err(
            CliError::usage("plan options before the command have no effect").hint(format!(
                "give them after it: `flightdeck {} …`",
                command.name()
            )),
        );
    }
    if let Some(dir) = &args.dir {
        return Err(CliError::usage(format!(
            "unexpected directory {} before the command",
            safe_path(dir)
        ))
        .hint(format!(
            "to run the command there, use `flightdeck -C {} {}`",
            safe_path(dir),
            command.name()
        )));
    }
    match command {
        Command::Demo => console::demo(args.ascii, out).await,
        Command::Plugins {
            name,
            installed,
            launch,
            ..
        } => {
            let name = name.as_deref();
            match installed {
                true => plugins::installed(name, launch, out).await,
                false => plugins::run(name, out).await,
            }
        }
        Command::Init(args) => init::run(args, out).await,
        Command::Get(args) => get::run(args, out).await,
        Command::Providers(args) => providers::run(args, out).await,
        Command::Console(args) => evaluate::run(args, out).await,
        Command::Graph(args) => graph::run(args, out).await,
        Command::Types { name, all, .. } => types::run(name, all, out).await,
        Command::Validate(args) => validate::run(args, out).await,
        Command::Fmt(args) => fmt::run(&args, out),
        Command::Stage(args) => stage::run(args, out).await,
        Command::Selections(args) => selections::run(args, out).await,
        Command::Group(args) => group::run(args, out).await,
        Command::Reconcile(args) => reconcile::run(args, out).await,
        Command::Plan(args) => plan::run(args, out).await,
        Command::Refresh(args) => deploy::refresh(args, out).await,
        Command::Output { name, json, raw } => output::run(name.as_deref(), (json, raw), out).await,
        Command::Show {
            file, plan, json, ..
        } => show::run(file.or(plan).as_deref(), json, out).await,
        Command::Import(args) => state::import("import", args, out).await,
        Command::Taint(args) => state::taint("taint", args, true, out).await,
        Command::Untaint(args) => state::taint("untaint", args, false, out).await,
        Command::Deploy(args) => deploy::deploy(args, out).await,
        Command::Destroy(args) => deploy::destroy(args, out).await,
        Command::History {
            deploy, compare, ..
        } => history::run(deploy, compare, out).await,
        Command::Failures { since, .. } => failures::run(since, out).await,
        Command::Workspace(command) => Box::pin(workspace::run(command, out)).await,
        Command::ForceUnlock { id, force, .. } => workspace::force_unlock(&id, force, out).await,
        Command::State(command) => Box::pin(state::run(command, out)).await,
        Command::Logs {
            plugin,
            follow,
            level,
            since,
            ..
        } => {
            logs::run(
                logs::LogFilter {
                    plugin,
                    follow,
                    level,
                    since,
                },
                out,
            )
            .await
        }
        Command::Doctor { fix, .. } => doctor::run(fix, out).await,
        Command::Plugin(command) => Box::pin(plugin::run(command, out)).await,
        Command::Version { json } => version::run(json, out),
        Command::Completions { shell } => program::completions(shell, out),
        Command::Man => program::print_man_page(out),
    }
}

/// Checks the files that flags name, and creates that of `--json-into`.
fn prepared(out: &mut Output) -> Result<(), CliError> {
    let state = &out.flags.state;
    for path in state.out.iter().chain(&state.backup) {
        files::check_state(path)?;
    }
    let Some(path) = &out.flags.json_into else {
        return Ok(());
    };
    if out.json {
        return Err(
            CliError::usage("--json and --json-into cannot be combined").hint("remove one of them")
        );
    }
    out.json_file = Some(JsonInto::create(path)?);
    Ok(())
}

/// Makes `dir` the current directory, so that all paths of the command line are relative to it.
pub(super) fn change_directory(dir: &Path) -> Result<(), CliError> {
    std::env::set_current_dir(dir).map_err(|e| {
        CliError::io(format!(
            "cannot change to the directory {}: {e}",
            safe_path(dir)
        ))
        .hint("name an existing directory")
    })
}
