//! Provisioners: `local-exec` runs a command on this machine with the object as `self`. Its intent is on record before it
//! runs and its outcome after it, its output goes to the log.

use super::command::{Command, Ended};
use super::record::Recorder;
use super::run::Trouble;
use crate::engine::Secrets;
use crate::engine::stage::change::Change;
use crate::engine::stage::scope::ModuleScope;
use crate::engine::store::StoreError;
use crate::engine::store::model::provisioner_step;
use crate::engine::workspace::refs::{self, Ref};
use cty::{Mark, Type, Value};
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

/// What is told in the place of what a command says that was given secrets: it may say them in any spelling.
const HIDDEN: &str = "(output hidden: the command was given a sensitive value)";

/// What a `local-exec` block says.
struct LocalExec {
    command: String,
    interpreter: Vec<String>,
    dir: Option<String>,
    environment: BTreeMap<String, String>,
    quiet: bool,
    /// Whether anything of it is sensitive or ephemeral.
    secret: bool,
}

/// Why a provisioner did not end well.
pub enum Failed {
    /// It ran, or could not be run.
    Trouble(Box<Trouble>),
    /// Its intent or its outcome could not be written down; whether it had run by then.
    Store(StoreError, bool),
}

impl From<Diagnostics> for Failed {
    fn from(diags: Diagnostics) -> Self {
        Self::Trouble(diags.into())
    }
}

/// Runs one provisioner of the object of `change`, the one at `place` in its block (from 1); a failure counts unless it is
/// told to go on.
pub async fn run(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    place: usize,
    recorder: &Recorder,
    change: &Change,
    cancel: &CancellationToken,
) -> Result<(), Failed> {
    let what = read(scope, provisioner, Some(recorder.secrets()))?;
    let step = provisioner_step(&provisioner.kind, place);
    recorder.intend(change, "", &step, &Value::null(Type::Dynamic)).await.map_err(|e| Failed::Store(e, false))?;
    let done = execute(&what, scope, provisioner, recorder, change, cancel).await;
    let go_on = done.is_err() && provisioner.go_on_after_failure && !cancel.is_cancelled();
    recorder.settle(change, &step, done.is_ok() || go_on, Vec::new()).await.map_err(|e| Failed::Store(e, true))?;
    if go_on {
        recorder.say(&change.address.to_string(), "the provisioner failed; on_failure = continue");
        return Ok(());
    }
    done.map_err(Into::into)
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

/// Whether a provisioner refers to this resource by its name.
pub fn names(provisioner: &Provisioner, resource: &lang::addr::Resource) -> bool {
    let attributes = provisioner.body.just_attributes().0;
    let named = |t: &lang::syntax::Traversal| matches!(refs::parse(t), Ok(Ref::Resource { resource: name, .. }) if name == *resource);
    attributes.values().any(|attribute| attribute.expr.traversals().into_iter().any(named))
}

/// What is to be run; `secrets` learn of what it is given. Without them nothing is run yet, and values that are not known
/// yet are no error.
fn read(scope: &ModuleScope<'_>, provisioner: &Provisioner, secrets: Option<&Secrets>) -> Result<LocalExec, Diagnostics> {
    let early = secrets.is_none();
    let schema = BodySchema::new().required(&["command"]).optional(&["interpreter", "working_dir", "environment", "when", "quiet"]);
    let (content, mut diags) = provisioner.body.content(&schema);
    let (mut unknown, mut secret) = (false, false);
    let mut get = |name: &str, ty: Type, diags: &mut Diagnostics| -> Option<Value> {
        let attribute = content.attribute(name)?;
        let faults = scope.check(&attribute.expr.traversals());
        if faults.has_errors() {
            diags.append(faults);
            return None;
        }
        let (value, mut more) = lang::eval::evaluate_as(&attribute.expr, &ty, scope);
        scope.unchanged(&mut more, Some(attribute.expr.span));
        diags.append(more);
        if let Some(secrets) = secrets {
            secrets.learn(&value);
        }
        secret |= value.contains_mark(&Mark::Sensitive) || value.contains_mark(&Mark::Ephemeral);
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
    Ok(LocalExec {
        command: command.to_owned(),
        interpreter: interpreter.as_ref().map(texts).unwrap_or_default(),
        dir: dir.and_then(|d| d.as_str().map(str::to_owned)),
        environment: environment
            .and_then(|e| Some(e.as_map()?.iter().filter_map(|(k, v)| Some((k.to_string(), v.as_str()?.to_owned()))).collect()))
            .unwrap_or_default(),
        quiet: quiet.and_then(|q| q.as_bool()).unwrap_or(false),
        secret,
    })
}

async fn execute(
    what: &LocalExec,
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    recorder: &Recorder,
    change: &Change,
    cancel: &CancellationToken,
) -> Result<(), Diagnostics> {
    let name = change.address.to_string();
    let fault = |detail: String| {
        Diagnostics::from(Diagnostic::error("local-exec provisioner error", detail).at(provisioner.span).about(name.as_str()))
    };
    let shown = if what.secret { "with sensitive values".to_owned() } else { format!("{:?}", what.command) };
    let interpreter = if what.interpreter.is_empty() { vec!["/bin/sh".to_owned(), "-c".to_owned()] } else { what.interpreter.clone() };
    let words: Vec<String> = interpreter.into_iter().chain([what.command.clone()]).collect();
    if !what.quiet {
        let words = if what.secret { "a command with sensitive values".to_owned() } else { format!("{words:?}") };
        recorder.say(&name, &format!("executing: {words}"));
    }
    if what.secret {
        recorder.say(&name, HIDDEN);
    }
    let base = &scope.around.dir;
    let dir = what.dir.as_ref().map_or_else(|| base.clone(), |d| base.join(d));
    let command = Command { words, dir, environment: what.environment.clone() };
    let say = |line: &str| {
        if !what.secret {
            recorder.say(&name, line);
        }
    };
    match command.run(say, cancel).await {
        Err(error) => Err(fault(format!("Error running command {shown}: {error}."))),
        Ok(Ended::Killed) => Err(fault(format!("Command {shown} was killed with the deploy, and all that it had started."))),
        Ok(Ended::Status(status, _)) if status.success() => Ok(()),
        Ok(Ended::Status(status, last)) => {
            let output = if what.secret { HIDDEN.to_owned() } else { last.join("\n") };
            Err(fault(format!("Error running command {shown}: {status}. Output: {output}")))
        }
    }
}
