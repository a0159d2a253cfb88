//! `local-exec` provisioner: runs a command on this machine.

use super::{Fault, HIDDEN, RunningProvisioner};
use crate::stage::provision::LocalExec;
use model::FailureClass;
use shell::{CommandExit, LocalCommand, Output};

pub(super) async fn run(what: &LocalExec, doing: &RunningProvisioner<'_>) -> Result<(), Fault> {
    let shown = if what.secret {
        "with sensitive values".to_owned()
    } else {
        format!("{:?}", what.command)
    };
    // OpenTofu's default interpreter on Unix.
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
        report_command(what, &words, doing);
    }
    if what.secret {
        doing.log_output(HIDDEN);
    }
    let dir = what
        .dir
        .as_ref()
        .map_or_else(|| doing.base.to_owned(), |d| doing.base.join(d));
    let command = LocalCommand {
        words,
        dir,
        environment: what.environment.clone(),
    };
    let say = |line: &str| {
        if !what.secret {
            doing.log_output(line);
        }
    };
    let output = Output::new(&say);
    let ended = command.run(&output, doing.cancel).await;
    // Reported in any case, because it explains output that is missing.
    doing.report_left_open(&output);
    match ended {
        Err(error) => Err(doing.fault(format!("Error running command {shown}: {error}."))),
        Ok(CommandExit::Killed) => {
            let killed = doing.fault(format!(
                "Command {shown} and the processes that it started were killed, because the deploy was cancelled."
            ));
            Err(Fault {
                class: Some(FailureClass::Cancelled),
                ..killed
            })
        }
        Ok(CommandExit::Status(status)) if status.success() => Ok(()),
        Ok(CommandExit::Status(status)) => {
            let output = if what.secret {
                HIDDEN.to_owned()
            } else {
                output.last().join("\n")
            };
            Err(doing.fault(format!(
                "Error running command {shown}: {status}. Output: {output}"
            )))
        }
    }
}

/// Logs the command and emits it as an object step.
fn report_command(what: &LocalExec, words: &[String], doing: &RunningProvisioner<'_>) {
    if what.secret {
        let log = "executing: a command with sensitive values";
        doing.recorder.log_output(&doing.name, log);
        return;
    }
    let each: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    let log = format!("executing: {words:?}");
    doing
        .recorder
        .log_output(&doing.name, &fetch::redacted(&log));
    let shown = format!("Executing: [{}]", each.join(" "));
    doing.report_output(&fetch::redacted(&shown));
}
