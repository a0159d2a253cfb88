//! `flightdeck group commit`, `import`, `rollback`, `scale`, `free` and `destroy`: changes of the
//! declarations of groups.

use crate::cli::commands::deploy::{self, GroupDeploy};
use crate::cli::escape::{safe, safe_lines, safe_path};
use crate::cli::exit::{CliError, CommandResult, ERROR, OK, fields};
use crate::cli::output::Output;
use crate::cli::progress::Progress;
use crate::cli::session::{Session, run_request, settings};
use engine::Engine;
use engine::error::{EngineError, NotFound};
use model::settings::Access;
use model::{GroupCommitView, GroupImport, ImportedResource, VariableFlag};
use serde_json::json;
use std::path::Path;

/// Remedy if no confirmation is possible.
const APPROVE: &str = "add --auto-approve";

fn access(pretend: bool) -> Access {
    match pretend {
        true => Access::ReadOnly,
        false => Access::ReadWrite,
    }
}

/// Reads the specification of a file.
fn read(file: &Path) -> Result<String, CliError> {
    fsroot::read_named(file).map_err(|e| {
        let name = safe_path(file);
        CliError::io(format!("cannot read the specification {name}: {e}"))
            .hint("name a file with a group specification")
    })
}

/// Parses resources such as `aws_ebs_volume.data=vol-1`.
pub(super) fn imported(
    texts: &[String],
    exclude: &[String],
) -> Result<Vec<ImportedResource>, CliError> {
    let one = |text: &String| {
        let (resource, id) = text.split_once('=').ok_or_else(|| {
            CliError::usage(format!("{text:?} is no resource with an id"))
                .hint("write it as aws_instance=i-1, or aws_ebs_volume.data=vol-1")
        })?;
        let (kind, name) = match resource.split_once('.') {
            Some((kind, name)) => (kind, Some(name.to_owned())),
            None => (resource, None),
        };
        Ok(ImportedResource {
            kind: kind.to_owned(),
            name,
            id: id.to_owned(),
            exclude: exclude.to_vec(),
        })
    };
    texts.iter().map(one).collect()
}

pub(super) async fn import(
    file: &Path,
    (resources, member, variables): (Vec<ImportedResource>, Option<String>, Vec<VariableFlag>),
    out: &mut Output,
) -> Result<(), CliError> {
    let request = GroupImport {
        file: safe_path(file),
        spec: read(file)?,
        member,
        resources,
        variables,
    };
    let settings = settings("group import", Access::ReadWrite, None)?;
    let import = async |engine: Engine| engine.import_group(request).await;
    let view = run_request(settings, out, import).await?;
    out.result("group", fields(json!({ "import": view })));
    if out.json {
        return Ok(());
    }
    let (group, member) = (safe(&view.group), safe(&view.member));
    if view.imported.is_empty() {
        out.line(&format!(
            "group {group}: all resources are imported already"
        ));
        return Ok(());
    }
    out.line(&format!("group {group}: imported as member {member}"));
    for address in &view.imported {
        out.line(&format!("  {}", safe(address)));
    }
    out.line("run `flightdeck stage` to compare the declarations with the objects");
    Ok(())
}

pub(super) async fn commit(file: &Path, pretend: bool, out: &mut Output) -> Result<(), CliError> {
    let name = safe_path(file);
    let text = read(file)?;
    let settings = settings("group commit", access(pretend), None)?;
    let commit = async |engine: Engine| engine.commit_group(&name, text, pretend).await;
    let view = run_request(settings, out, commit).await?;
    print_commit(out, &view, pretend);
    Ok(())
}

pub(super) async fn roll_back(name: &str, pretend: bool, out: &mut Output) -> Result<(), CliError> {
    let settings = settings("group rollback", access(pretend), None)?;
    let commit = async |engine: Engine| engine.roll_back_group(name, pretend).await;
    let view = run_request(settings, out, commit).await?;
    print_commit(out, &view, pretend);
    Ok(())
}

fn print_commit(out: &mut Output, view: &GroupCommitView, pretend: bool) {
    out.result(
        "group",
        fields(json!({ "commit": view, "pretend": pretend })),
    );
    if out.json {
        return;
    }
    let name = safe(&view.group);
    out.line(&format!("group {name}: {} ({})", view.text, view.plan));
    for (sign, files) in [("+", &view.written), ("-", &view.removed)] {
        for file in files {
            out.line(&format!("  {sign} {}", safe(file)));
        }
    }
    let next = match (view.changes, pretend, view.taken) {
        (false, _, true) => "the group is as the specification says",
        (_, true, _) => "nothing was written",
        (_, false, true) => "run `flightdeck deploy` to apply it",
        (_, false, false) => {
            "the workspace is locked, so the declarations end in .new; the next stage takes them in"
        }
    };
    out.line(next);
}

pub(super) async fn scale(
    name: &str,
    size: u32,
    (pretend, write): (bool, bool),
    out: &mut Output,
) -> Result<(), CliError> {
    let settings = settings("group scale", Access::ReadWrite, None)?;
    let mut session = Session::start(settings, out).await?;
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let resizing = async {
        match engine.resize_group(name, size, pretend).await {
            Ok(view) => Ok(Err(view)),
            // A group of the configuration.
            Err(EngineError::NotFound(NotFound::Group(_))) => {
                let decides = engine.group_size(name).await?;
                let written = match write {
                    true => Some(engine.write_group_size(name, size).await?),
                    false => None,
                };
                Ok(Ok((decides, written)))
            }
            Err(error) => Err(error),
        }
    };
    let resized = session.wait(out, &mut progress, resizing).await;
    session.finish(out).await;
    let (decides, written) = match resized? {
        Ok(decided) => decided,
        Err(view) => {
            print_commit(out, &view, pretend);
            return Ok(());
        }
    };
    let result = json!({ "size": decides, "written": written });
    out.result("group", fields(result));
    if out.json {
        return Ok(());
    }
    out.line(&format!(
        "group {}: {} = {} in {} decides the size",
        safe(name),
        decides.argument,
        safe_lines(&decides.expression),
        safe(&decides.place)
    ));
    for other in &decides.multiplied_by {
        out.line(&format!("multiplied by {}", safe_lines(other)));
    }
    let next = match (&written, &decides.variable, &decides.assigned) {
        (Some(file), Some(variable), _) => {
            format!("{file} assigns {variable} = {size}; run `flightdeck deploy` to apply it")
        }
        (None, Some(variable), Some(file)) => {
            format!("{file} assigns var.{variable}; add --write to set it to {size}")
        }
        (None, Some(variable), None) => format!(
            "no file assigns var.{variable}; add --write to set it to {size} in terraform.tfvars"
        ),
        (_, None, _) if !decides.multiplied_by.is_empty() => {
            format!("change these expressions to get {size} members")
        }
        (_, None, _) => format!("change that expression to get {size} members"),
    };
    out.line(&safe(&next));
    Ok(())
}

pub(super) async fn free(name: &str, auto_approve: bool, out: &mut Output) -> CommandResult {
    let settings = settings("group free", Access::ReadWrite, None)?;
    let mut session = Session::start(settings, out).await?;
    let freed = free_in(&mut session, name, auto_approve, out).await;
    session.finish(out).await;
    if !freed? {
        out.stderr_line("nothing was changed");
        return Err(CliError::AlreadyReported(ERROR));
    }
    out.result("group", fields(json!({ "freed": name })));
    if !out.json {
        let name = safe(name);
        out.line(&format!(
            "group {name} is no longer managed; its resources are unchanged"
        ));
    }
    Ok(OK)
}

async fn free_in(
    session: &mut Session,
    name: &str,
    auto_approve: bool,
    out: &mut Output,
) -> Result<bool, CliError> {
    let mut progress = Progress::new(out);
    let engine = session.engine.clone();
    let block = session
        .wait(out, &mut progress, engine.group_block(name))
        .await?;
    let question = match &block {
        None => format!("Stop to manage the group {name:?}? Its files and resources stay."),
        Some(block) => {
            let shown = safe_lines(&block.text);
            out.stderr_line(&format!(
                "{} has this block:\n\n{shown}\n",
                safe(&block.file)
            ));
            let file = &block.file;
            format!("Remove the group {name:?} from {file}? Its resources stay.")
        }
    };
    if !auto_approve && !session.confirm(&question, APPROVE, out).await? {
        return Ok(false);
    }
    session
        .wait(out, &mut progress, engine.free_group(name))
        .await?;
    Ok(true)
}

pub(super) async fn destroy(group: GroupDeploy, out: &mut Output) -> CommandResult {
    let name = group.name.clone();
    let read = async |engine: Engine| {
        let targets = engine.group_resources(&name).await?;
        Ok((targets, engine.group_block(&name).await?.is_none()))
    };
    let read_only = settings("group destroy", Access::ReadOnly, None)?;
    let (targets, is_committed) = run_request(read_only, out, read).await?;
    let code = deploy::destroy_targets(group, targets, out).await?;
    if code == OK && is_committed {
        // Otherwise the next stage would create the group again.
        let settings = settings("group destroy", Access::ReadWrite, None)?;
        run_request(settings, out, async |engine: Engine| {
            engine.end_group(&name).await
        })
        .await?;
    }
    Ok(code)
}
