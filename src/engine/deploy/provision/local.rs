//! `local-exec`: a command on this machine.

use super::arguments::{Arguments, Given};
use super::{Doing, Fault, HIDDEN};
use crate::engine::deploy::command::{Command, Ended};
use crate::engine::secrets::Secrets;
use crate::engine::stage::scope::ModuleScope;
use crate::engine::words::FailureClass;
use cty::{Type, Value};
use lang::body::BodySchema;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;

/// What a `local-exec` block says.
pub(super) struct LocalExec {
    command: String,
    interpreter: Vec<String>,
    dir: Option<String>,
    environment: BTreeMap<String, String>,
    quiet: bool,
    /// Whether anything of it is sensitive or ephemeral.
    secret: bool,
}

pub(super) fn read(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    secrets: Option<&Secrets>,
) -> Result<LocalExec, Diagnostics> {
    let schema = BodySchema::new().required(&["command"]).optional(&[
        "interpreter",
        "working_dir",
        "environment",
        "when",
        "quiet",
    ]);
    let mut arguments = Arguments::of(scope, &provisioner.body, &schema, secrets);
    let command = arguments.text("command");
    let interpreter = arguments.texts("interpreter").known().unwrap_or_default();
    let dir = arguments.text("working_dir").known();
    let environment = arguments
        .get("environment", &Type::map(Type::String))
        .known();
    let quiet = arguments.flag("quiet").known().unwrap_or(false);
    let (early, secret) = (arguments.early(), arguments.secret);
    arguments.end()?;
    let command = match command {
        Given::Yes(command) if !command.is_empty() => command,
        Given::Unknown if early => String::new(),
        _ => {
            let fault = Diagnostic::error(
                "Invalid local-exec command",
                "The command must be a known, non-empty text.",
            );
            return Err(fault.at(provisioner.span).into());
        }
    };
    let pairs = |e: Value| {
        e.as_map().map(|m| {
            m.iter()
                .filter_map(|(k, v)| Some((k.to_string(), v.as_str()?.to_owned())))
                .collect()
        })
    };
    Ok(LocalExec {
        command,
        interpreter: interpreter.into_iter().flatten().collect(),
        dir,
        environment: environment.and_then(pairs).unwrap_or_default(),
        quiet,
        secret,
    })
}

pub(super) async fn run(what: &LocalExec, doing: &Doing<'_>) -> Result<(), Fault> {
    let shown = if what.secret {
        "with sensitive values".to_owned()
    } else {
        format!("{:?}", what.command)
    };
    let interpreter = if what.interpreter.is_empty() {
        vec!["/bin/sh".to_owned(), "-c".to_owned()]
    } else {
        what.interpreter.clone()
    };
    let words: Vec<String> = interpreter
        .into_iter()
        .chain([what.command.clone()])
        .collect();
    if !what.quiet {
        let words = if what.secret {
            "a command with sensitive values".to_owned()
        } else {
            format!("{words:?}")
        };
        doing.say(&format!("executing: {words}"));
    }
    if what.secret {
        doing.say(HIDDEN);
    }
    let dir = what
        .dir
        .as_ref()
        .map_or_else(|| doing.base.to_owned(), |d| doing.base.join(d));
    let command = Command {
        words,
        dir,
        environment: what.environment.clone(),
    };
    let say = |line: &str| {
        if !what.secret {
            doing.say(line);
        }
    };
    match command.run(&say, doing.cancel).await {
        Err(error) => Err(doing.fault(format!("Error running command {shown}: {error}."))),
        Ok(Ended::Killed) => {
            let killed = doing.fault(format!(
                "Command {shown} was killed with the deploy, and all that it had started."
            ));
            Err(Fault {
                class: Some(FailureClass::Cancelled),
                ..killed
            })
        }
        Ok(Ended::Status(status, _)) if status.success() => Ok(()),
        Ok(Ended::Status(status, last)) => {
            let output = if what.secret {
                HIDDEN.to_owned()
            } else {
                last.join("\n")
            };
            Err(doing.fault(format!(
                "Error running command {shown}: {status}. Output: {output}"
            )))
        }
    }
}
