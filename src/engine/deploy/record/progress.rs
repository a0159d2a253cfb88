//! Progress of operations beside their outcome: of destroys that earlier deploys started, whose
//! successful provisioners are not run again, and of waits for readiness.

use super::DeployRecorder;
use lang::addr::AbsInstance;
use model::*;
use store::records::{DestroyStep, DestroyStepOf, StateObject};
use types::Condition;
use workspace::load::digest;

/// Successful steps in the destroy of one object, from earlier deploys.
pub struct DestroyProgress<'r>(Vec<&'r DestroyStep>);

impl DestroyProgress<'_> {
    /// Takes the earlier run of a command. Each run counts for one block, because two blocks with
    /// the same text may both have run.
    pub fn take_run(&mut self, of: &DestroyStepOf) -> Option<&DestroyStep> {
        let at = self.0.iter().position(|step| step.of == *of)?;
        Some(self.0.remove(at))
    }
}

impl DeployRecorder {
    /// Returns the recorded steps of an object by address, for any of its states.
    pub fn destroy_progress(&self, address: &str) -> DestroyProgress<'_> {
        let of_it = self.earlier.destroy_steps.iter();
        DestroyProgress(of_it.filter(|step| step.address == address).collect())
    }

    /// Logs and reports that a command's background process kept its output open.
    pub fn report_left_open(&self, address: &str) {
        let text = format!(
            "a command of {address} has ended, but a process that it left in the background keeps its output open; the rest of that output is not logged. Redirect the output of background processes, for example to a file"
        );
        self.log_output(address, &text);
        self.bus.emit(EventKind::Notice { text });
    }

    /// Records the readiness of an existing object whose operation waits for it.
    pub async fn observe_readiness(&self, address: &AbsInstance, found: Condition) {
        let now = now_ms();
        let observation = Observation {
            address: address.to_string(),
            deposed: None,
            resource_type: address.resource.kind.to_string(),
            at: now,
            exists: true,
            readiness: Some(found.readiness),
            status: found.status,
            since: now,
            drift: Vec::new(),
        };
        let cause = format!("deploy #{}", self.deploy);
        let stored = self.store.put_observations(vec![observation], cause);
        if let Err(error) = stored.await {
            // The end of the deploy records the object again, and reports a failure.
            tracing::debug!(%error, "cannot record the readiness of {address}");
        }
    }

    /// Reports that a command is skipped, and the deploy with its outcome.
    pub fn skipped(&self, address: &str, earlier: &DestroyStep) {
        let text = format!(
            "the {} of {address} does not run again: it succeeded in deploy #{} at {}, before the destroy in that deploy was interrupted",
            earlier.step,
            earlier.deploy,
            moment(earlier.ended),
        );
        self.log_output(address, &text);
        self.bus.emit(EventKind::Notice { text });
    }
}

/// Returns a digest of an object's record as far as commands can see it.
pub fn object_digest(object: &StateObject) -> String {
    let identity = object.identity.as_deref().unwrap_or_default();
    let parts = [&object.provider, &object.attributes, identity].map(str::to_owned);
    digest(parts.into_iter().chain([object.schema_version.to_string()]))
}
