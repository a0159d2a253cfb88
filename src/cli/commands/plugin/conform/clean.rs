//! `flightdeck plugin conform --clean`: lists the objects that earlier runs may have left, and
//! destroys them.

use super::{choice, digest, given};
use crate::cli::commands::change_directory;
use crate::cli::escape::{safe, safe_path};
use crate::cli::exit::{CliError, CommandResult, ERROR, OK, fields, report_problem};
use crate::cli::options::ConformArgs;
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, settings};
use crate::cli::user_files::state_directory;
use conform::Leftover;
use engine::conformance::{ObjectRecord, Records, RunRecord};
use engine::error::EngineError;
use engine::handle::{ConformRequest, Engine};
use model::settings::Access;
use serde_json::{Value as Json, json};
use std::path::Path;

pub(super) async fn run(args: &ConformArgs, out: &mut Output) -> CommandResult {
    let failed = |error: std::io::Error| {
        CliError::io(format!(
            "cannot read the records of created objects: {error}"
        ))
    };
    let Some(state) = state_directory() else {
        return Err(CliError::io("there is no state directory")
            .hint("set XDG_STATE_HOME to an absolute path"));
    };
    let (mut runs, mut live) = (Vec::new(), Vec::new());
    for name in Records::names(&state).map_err(failed)? {
        match Records::take_over(&state, &name).map_err(failed)? {
            Some(records) => runs.push(records),
            None => live.push(name),
        }
    }
    for name in live {
        out.stderr_line(&format!("run {} is in progress: skipped", safe(&name)));
    }
    discard(&args.discard, &runs)?;
    // Absolute, because each run is cleaned up in its own directory.
    let config = args.config.as_deref().map(std::path::absolute).transpose();
    let config = config.map_err(failed)?;
    if args.yes {
        for records in &runs {
            // One provider that fails must not keep the objects of another.
            match destroy(records, args, config.as_deref(), out).await {
                Ok(left) => left.iter().for_each(|left| report_left(left, out)),
                Err(CliError::Cancelled) => return Err(CliError::Cancelled),
                Err(error) => report_problem(&error, out),
            }
        }
    }
    let runs: Vec<RunRecord> = runs.iter().map(Records::run).collect();
    let remaining: usize = runs.iter().map(|run| run.objects.len()).sum();
    if out.json {
        let objects = runs.iter().flat_map(|run| {
            let all = run.objects.iter();
            all.map(|object| as_json(run, object)).collect::<Vec<_>>()
        });
        let objects: Vec<Json> = objects.collect();
        out.result("plugin", fields(json!({ "objects": objects })));
    } else {
        list(&runs, args.yes, out);
    }
    Ok(if remaining == 0 { OK } else { ERROR })
}

/// Name of a record, for `--discard`.
fn record_name(run: &RunRecord, object: &ObjectRecord) -> String {
    format!("{}.{}", run.name, object.number)
}

fn discard(names: &[String], runs: &[Records]) -> Result<(), CliError> {
    for name in names {
        let found = runs.iter().find_map(|records| {
            let run = records.run();
            let mut objects = run.objects.iter();
            let object = objects.find(|object| record_name(&run, object) == *name)?;
            Some((records, object.number))
        });
        let Some((records, number)) = found else {
            return Err(CliError::missing(format!("there is no record {name:?}"))
                .hint("`flightdeck plugin conform --clean` lists the records"));
        };
        records.remove(number);
        if let Some(why) = records.failure() {
            return Err(CliError::io(why));
        }
    }
    Ok(())
}

fn report_left(left: &Leftover, out: &mut Output) {
    let text = format!("left: {}: {}", left.named(), left.why);
    out.stderr_line(&safe(&text));
}

fn as_json(run: &RunRecord, object: &ObjectRecord) -> Json {
    json!({
        "record": record_name(run, object),
        "plugin": run.plugin,
        "type": object.type_name,
        "id": object.id(),
        "planned": object.planned,
        "answered": object.is_answered(),
    })
}

fn list(runs: &[RunRecord], has_destroyed: bool, out: &mut Output) {
    let (mut answered, mut unanswered) = (0, 0);
    for run in runs {
        for object in &run.objects {
            let id = object.id().unwrap_or("(id unknown)");
            out.line(&safe(&format!(
                "{}  {}  {} {id}",
                record_name(run, object),
                run.plugin,
                object.type_name
            )));
            let planned = object.planned.iter();
            for (name, value) in planned {
                out.line(&safe(&format!("    {name} = {value}")));
            }
            match object.is_answered() {
                true => answered += 1,
                false => {
                    unanswered += 1;
                    out.line("    the create had no answer: look for an object with these values");
                }
            }
        }
    }
    if answered + unanswered == 0 {
        return out.line("no objects remain");
    }
    if answered > 0 && !has_destroyed {
        out.line(
            "Run `flightdeck plugin conform --clean --yes` to destroy objects with an answer.",
        );
    }
    if unanswered > 0 || has_destroyed {
        out.line("When an object does not exist, run `flightdeck plugin conform --clean --discard RECORD`.");
    }
}

/// Destroys the objects of a run, in the directory of that run.
async fn destroy(
    records: &Records,
    args: &ConformArgs,
    config: Option<&Path>,
    out: &mut Output,
) -> Result<Vec<Leftover>, CliError> {
    let run = records.run();
    if !run.objects.iter().any(ObjectRecord::is_answered) {
        return Ok(Vec::new());
    }
    if config.is_none()
        && let Some(former) = run.config.as_deref()
        && run.config_digest.is_some()
        && run.config_digest != digest(former).ok()
    {
        return Err(CliError::missing(format!(
            "the configuration {} of the run {} was changed or removed, so that the provider may not find the objects",
            safe_path(former),
            safe(&run.name)
        ))
        .hint("restore the file, or name one with the same provider block by `--config FILE`"));
    }
    let given = given(config.or(run.config.as_deref()))?;
    // Relative paths in a configuration belong to the directory of the run.
    change_directory(&run.directory)?;
    let settings = settings("plugin conform", Access::ReadWrite, None)?;
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let request = |plugin| ConformRequest {
        plugin,
        types: Vec::new(),
        given,
        prefix: run.prefix.clone(),
        creates: true,
        call_deadline: args.call_deadline,
        deadline: args.deadline,
        start_limit: args.start_limit,
        memory_limit_mib: args.memory_limit,
    };
    let cleaned = async {
        let name = run
            .executable
            .as_deref()
            .map_or_else(|| run.plugin.clone(), path_text);
        match choice::chosen(&engine, &name).await? {
            Ok(plugin) => Ok(Ok(cleaned(&engine, &request(plugin), records).await?)),
            Err(error) => Ok(Err(error)),
        }
    };
    let cleaned: Result<Result<_, CliError>, _> = session.wait(out, &mut progress, cleaned).await;
    session.finish(out).await;
    out.flush_diagnostics();
    cleaned?
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

async fn cleaned(
    engine: &Engine,
    request: &ConformRequest,
    records: &Records,
) -> Result<Vec<Leftover>, EngineError> {
    engine.clean_conform(request, records).await
}
