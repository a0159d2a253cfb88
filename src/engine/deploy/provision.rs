//! Runs provisioners: commands on this machine or a remote one, and copies, with the object as
//! `self`. An intent is recorded before, an outcome after; output goes to the log.

mod file;
mod local;
mod remote;

use super::record::DeployRecorder;
use super::run::OperationError;
use crate::stage::change::Change;
use crate::stage::provision::{
    Connection, ConnectionError, ProvisionerArguments, connection, read,
};
use crate::stage::scope::ModuleScope;
use lang::config::Provisioner;
use lang::diag::{Diagnostic, Diagnostics};
use model::{FailureClass, ObjectPhase, OperationStep};
use shell::Output;
use shell::ssh::{Remote, SshError, Target};
use std::path::Path;
use store::StoreError;
use store::records::DestroyStepOf;
use tokio_util::sync::CancellationToken;

/// Placeholder for the output of a command that was given secrets, which it may print in any
/// encoding.
const HIDDEN: &str = "(output redacted: the command received a sensitive value)";

/// Failure of a provisioner.
pub enum Failed {
    /// It failed, or could not be run.
    Error(Box<OperationError>),
    /// Its intent or outcome could not be recorded; true if it had run by then.
    Store(StoreError, bool),
}

impl From<Diagnostics> for Failed {
    fn from(diags: Diagnostics) -> Self {
        Self::Error(diags.into())
    }
}

/// Failure of a provisioner that has started.
struct Fault {
    diags: Diagnostics,
    class: Option<FailureClass>,
    /// True if it may still run, or have ended, unobserved.
    unknown: bool,
}

/// Running provisioner.
struct RunningProvisioner<'a> {
    recorder: &'a DeployRecorder,
    provisioner: &'a Provisioner,
    /// Address of the object.
    name: String,
    /// Base directory of relative local paths.
    base: &'a Path,
    cancel: &'a CancellationToken,
}

/// Runs one provisioner for the object of `change`. `place` is its position among the provisioners
/// of its resource, from 1; `of` is set for destroy provisioners. A failure counts unless
/// `on_failure = continue`.
pub async fn run(
    scope: &ModuleScope<'_>,
    provisioner: &Provisioner,
    place: usize,
    recorder: &DeployRecorder,
    change: &Change,
    of: Option<&DestroyStepOf>,
    cancel: &CancellationToken,
) -> Result<(), Failed> {
    let what = read(scope, provisioner, Some(recorder.secrets()))?;
    if let (Some(patterns), ProvisionerArguments::Local(what)) = (recorder.patterns(), &what)
        && !patterns.allow(provisioner.body.span(), what)
    {
        return Err(Failed::Error(OperationError::of(
            untrusted_value(provisioner).into(),
            None,
            false,
        )));
    }
    let connection = match what {
        ProvisionerArguments::Local(_) => None,
        _ => match connection(scope, provisioner, recorder.secrets()) {
            // Nothing has run yet, so this failure needs no intent.
            Err(ConnectionError::Faulty(diags)) => return Err(diags.into()),
            read => Some(read),
        },
    };
    let step = OperationStep::Provisioner {
        kind: provisioner.kind.clone(),
        place,
    };
    recorder
        .record_provisioner_intent(change, step.clone(), of)
        .await
        .map_err(|e| Failed::Store(e, false))?;
    let doing = RunningProvisioner {
        recorder,
        provisioner,
        name: change.address.to_string(),
        base: &scope.context.dir,
        cancel,
    };
    let done = doing.run_or_copy(&what, connection).await;
    // `on_failure = continue` must not hide a cancellation.
    let go_on = done.is_err() && provisioner.continue_on_failure && !cancel.is_cancelled();
    // With an unknown outcome the intent stays open, because the command may still run on the
    // machine.
    if go_on || done.as_ref().err().is_none_or(|fault| !fault.unknown) {
        recorder
            .record_outcome(change, &step, done.is_ok() || go_on, Vec::new())
            .await
            .map_err(|e| Failed::Store(e, true))?;
    }
    match done {
        Err(fault) if go_on => {
            let why = fault
                .diags
                .errors()
                .next()
                .map(|d| d.detail.as_str())
                .unwrap_or_default();
            doing.log_output(&format!(
                "the provisioner failed; the deploy continues, because on_failure = continue. {why}"
            ));
            Ok(())
        }
        done => done.map_err(|fault| {
            Failed::Error(OperationError::of(fault.diags, fault.class, fault.unknown))
        }),
    }
}

/// Error of a command of the reconcile loop that a value of an object changes.
fn untrusted_value(provisioner: &Provisioner) -> Diagnostic {
    Diagnostic::error(
        "Command is not trusted",
        "A value of an object changes what this command runs, so the reconcile loop does not run it. Pass the value in `environment`, or deploy the changes yourself.",
    )
    .at(provisioner.body.span())
}

/// Returns the phase to report.
fn end_phase(done: &Result<(), Fault>) -> ObjectPhase {
    match done {
        Ok(()) => ObjectPhase::Ended,
        Err(_) => ObjectPhase::Failed,
    }
}

impl RunningProvisioner<'_> {
    /// Runs or copies, and reports the phases.
    async fn run_or_copy(
        &self,
        what: &ProvisionerArguments,
        connection: Option<Result<Connection, ConnectionError>>,
    ) -> Result<(), Fault> {
        self.report_phase(ObjectPhase::Begun);
        let done = match (what, connection) {
            // Invalid connection values fail here, after the intent, so that
            // `on_failure = continue` can ignore them.
            (_, Some(Err(ConnectionError::Faulty(diags) | ConnectionError::Invalid(diags)))) => {
                Err(Fault {
                    diags,
                    class: None,
                    unknown: false,
                })
            }
            (ProvisionerArguments::Remote(what), Some(Ok(connection))) => {
                Box::pin(remote::run(what, &connection, self)).await
            }
            (ProvisionerArguments::File(what), Some(Ok(connection))) => {
                Box::pin(file::run(what, &connection, self)).await
            }
            (ProvisionerArguments::Local(what), _) => local::run(what, self).await,
            (ProvisionerArguments::Remote(_) | ProvisionerArguments::File(_), None) => Ok(()),
        };
        self.report_phase(end_phase(&done));
        done
    }

    fn log_output(&self, text: &str) {
        let text = fetch::redacted(text);
        self.recorder.log_output(&self.name, &text);
        self.report_output(&text);
    }

    /// Reports that a background process kept the output of a command open.
    fn report_left_open(&self, output: &Output<'_>) {
        if output.is_left_open() {
            self.recorder.report_left_open(&self.name);
        }
    }

    /// Reports output as an object step only, without logging it.
    fn report_output(&self, text: &str) {
        self.report_phase(ObjectPhase::Said(text.to_owned()));
    }

    fn report_phase(&self, phase: ObjectPhase) {
        let kind = self.provisioner.kind.name();
        self.recorder.emit_step(&self.name, kind, || phase);
    }

    fn fault(&self, detail: String) -> Fault {
        let summary = format!("{} provisioner error", self.provisioner.kind);
        let diagnostic = Diagnostic::error(summary, fetch::redacted(&detail))
            .at(self.provisioner.span)
            .with_address(self.name.as_str());
        Fault {
            diags: diagnostic.into(),
            class: None,
            unknown: false,
        }
    }

    fn ssh_fault(&self, error: &SshError) -> Fault {
        let text = error.to_string();
        let mut detail: String = text
            .chars()
            .take(1)
            .flat_map(char::to_uppercase)
            .chain(text.chars().skip(1))
            .collect();
        detail.push('.');
        Fault {
            class: Some(error.class()),
            unknown: error.may_still_run(),
            ..self.fault(detail)
        }
    }

    async fn connect<'t>(&self, target: &'t Target) -> Result<Remote<'t>, Fault> {
        let agent = target.agent.is_some();
        self.log_output(&format!("connecting to {}", target.endpoint.text(agent)));
        if let Some(bastion) = &target.bastion {
            self.log_output(&format!("through the bastion {}", bastion.text(agent)));
        }
        let remote = Remote::connect(target, &|text| self.log_output(text), self.cancel)
            .await
            .map_err(|e| self.ssh_fault(&e))?;
        self.log_output("connected");
        Ok(remote)
    }
}
