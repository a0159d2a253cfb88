//! Provisioners: `local-exec` runs a command on this machine with the object as `self`. Its output goes to the log. The
//! process has its own group, is bounded in what is kept of its output, and is killed when the deploy is.

use super::record::Recorder;
use super::run::Trouble;
use crate::engine::Secrets;
use crate::engine::stage::scope::ModuleScope;
use cty::{Type, Value};
use lang::addr::AbsInstance;
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_util::sync::CancellationToken;

/// Lines of output that are kept of one provisioner.
const KEPT_LINES: usize = 10_000;

/// What a `local-exec` block says.
struct Command {
    command: String,
    interpreter: Vec<String>,
    dir: Option<String>,
    environment: BTreeMap<String, String>,
    quiet: bool,
}

/// Runs one provisioner; a failure counts unless it is told to go on.
pub async fn run(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    recorder: &Recorder,
    address: &AbsInstance,
    cancel: &CancellationToken,
) -> Result<(), Box<Trouble>> {
    let done = match read(scope, provisioner, Some(recorder.secrets())) {
        Ok(command) => execute(command, scope, provisioner, recorder, address, cancel).await,
        Err(diags) => return Err(diags.into()),
    };
    match done {
        Err(_) if provisioner.go_on_after_failure => {
            recorder.say(&address.to_string(), "the provisioner failed; on_failure = continue");
            Ok(())
        }
        other => other.map_err(Into::into),
    }
}

/// What is wrong with a provisioner before there is an object: kinds that are not supported, arguments.
pub fn validate(scope: &ModuleScope<'_>, provisioner: &Provisioner) -> Diagnostics {
    match &*provisioner.kind {
        "local-exec" => read(scope, provisioner, None).err().unwrap_or_default(),
        "remote-exec" | "file" => {
            let detail = format!(
                "The {:?} provisioner is not supported: nothing is run on, or copied to, other machines. Of the provisioners there is \"local-exec\".",
                &*provisioner.kind
            );
            Diagnostic::error("Unsupported provisioner", detail).at(provisioner.span).into()
        }
        other => {
            let detail = format!("There is no provisioner {other:?}. Of the provisioners there is \"local-exec\".");
            Diagnostic::error("Missing provisioner", detail).at(provisioner.span).into()
        }
    }
}

/// What is to be run; `secrets` learn of what it is given. Without them nothing is run yet, and values that are not known
/// yet are no error.
fn read(scope: &ModuleScope<'_>, provisioner: &Provisioner, secrets: Option<&Secrets>) -> Result<Command, Diagnostics> {
    let early = secrets.is_none();
    let schema = BodySchema::new().required(&["command"]).optional(&["interpreter", "working_dir", "environment", "when", "quiet"]);
    let (content, mut diags) = provisioner.body.content(&schema);
    let mut unknown = false;
    let mut get = |name: &str, ty: Type, diags: &mut Diagnostics| -> Option<Value> {
        let attribute = content.attribute(name)?;
        let faults = scope.check(&attribute.expr.traversals());
        if faults.has_errors() {
            diags.append(faults);
            return None;
        }
        let (value, more) = lang::eval::evaluate_as(&attribute.expr, &ty, scope);
        diags.append(more);
        if let Some(secrets) = secrets {
            secrets.learn(&value);
        }
        let value = value.unmark_deep().0;
        unknown |= !value.is_wholly_known();
        (value.is_wholly_known() && !value.is_null()).then_some(value)
    };
    let command = get("command", Type::String, &mut diags);
    let interpreter = get("interpreter", Type::list(Type::String), &mut diags);
    let dir = get("working_dir", Type::String, &mut diags);
    let environment = get("environment", Type::map(Type::String), &mut diags);
    let quiet = get("quiet", Type::Bool, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    let given = command.as_ref().and_then(Value::as_str).filter(|c| !c.is_empty());
    let Some(command) = given.or((early && command.is_none() && unknown).then_some("")) else {
        return Err(Diagnostic::error("Invalid local-exec command", "The command must be a known, non-empty text.")
            .at(provisioner.span)
            .into());
    };
    let texts = |v: &Value| v.as_slice().unwrap_or_default().iter().filter_map(|e| e.as_str().map(str::to_owned)).collect();
    Ok(Command {
        command: command.to_owned(),
        interpreter: interpreter.as_ref().map(texts).unwrap_or_default(),
        dir: dir.and_then(|d| d.as_str().map(str::to_owned)),
        environment: environment
            .and_then(|e| Some(e.as_map()?.iter().filter_map(|(k, v)| Some((k.to_string(), v.as_str()?.to_owned()))).collect()))
            .unwrap_or_default(),
        quiet: quiet.and_then(|q| q.as_bool()).unwrap_or(false),
    })
}

async fn execute(
    what: Command,
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    recorder: &Recorder,
    address: &AbsInstance,
    cancel: &CancellationToken,
) -> Result<(), Diagnostics> {
    let fault = |detail: String| {
        Diagnostics::from(Diagnostic::error("local-exec provisioner error", detail).at(provisioner.span).about(address.to_string()))
    };
    let mut words = if what.interpreter.is_empty() { vec!["/bin/sh".to_owned(), "-c".to_owned()] } else { what.interpreter };
    words.push(what.command.clone());
    let mut command = tokio::process::Command::new(&words[0]);
    command.args(&words[1..]).envs(&what.environment).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    let base = &scope.around.dir;
    command.current_dir(what.dir.as_ref().map_or_else(|| base.clone(), |d| base.join(d)));
    let name = address.to_string();
    if !what.quiet {
        recorder.say(&name, &format!("executing: {words:?}"));
    }
    let mut child = command.spawn().map_err(|e| fault(format!("Error running command {:?}: {e}.", what.command)))?;
    let group = child.id();
    let mut out = BufReader::new(child.stdout.take().ok_or_else(|| fault("its output cannot be read".to_owned()))?).lines();
    let mut err = BufReader::new(child.stderr.take().ok_or_else(|| fault("its output cannot be read".to_owned()))?).lines();
    let mut kept: Vec<String> = Vec::new();
    let (mut out_open, mut err_open) = (true, true);
    let mut lines = 0usize;
    while out_open || err_open {
        // Cancellation first: a command that floods its output must still be stoppable.
        let line = tokio::select! { biased;
            () = cancel.cancelled() => {
                kill(group);
                return Err(fault(format!("Command {:?} was killed with the deploy.", what.command)));
            }
            line = out.next_line(), if out_open => line.unwrap_or(None).or_else(|| { out_open = false; None }),
            line = err.next_line(), if err_open => line.unwrap_or(None).or_else(|| { err_open = false; None }),
        };
        if let Some(line) = line {
            lines += 1;
            if lines <= KEPT_LINES {
                recorder.say(&name, &line);
            }
            if kept.len() == 20 {
                kept.remove(0);
            }
            kept.push(line);
        }
    }
    let status = child.wait().await.map_err(|e| fault(format!("Command {:?} cannot be waited for: {e}.", what.command)))?;
    if status.success() {
        return Ok(());
    }
    Err(fault(format!("Error running command {:?}: {status}. Output: {}", what.command, kept.join("\n"))))
}

fn kill(group: Option<u32>) {
    let group = group.and_then(|g| i32::try_from(g).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group
        && let Err(error) = rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
    {
        tracing::warn!(%error, "a provisioner's process group could not be killed");
    }
}
