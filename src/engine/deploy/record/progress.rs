//! Progress of destroys that earlier deploys began: commands that ended well and are not run again.

use super::DeployRecord;
use crate::engine::store::model::{DestroyStep, DestroyStepOf, StateObject};
use crate::engine::words::*;
use crate::engine::workspace::load::digest;

/// Steps of the destroy of one object that earlier deploys have done.
pub struct DestroyProgress<'r>(Vec<&'r DestroyStep>);

impl DestroyProgress<'_> {
    /// The earlier run of a command. Each one stands for one block: of two with the same text,
    /// both may have run.
    pub fn take(&mut self, of: &DestroyStepOf) -> Option<&DestroyStep> {
        let at = self.0.iter().position(|step| step.of == *of)?;
        Some(self.0.remove(at))
    }
}

impl DeployRecord {
    /// Steps on record for the object of an address, whichever state of it they ran for.
    pub fn destroy_progress(&self, address: &str) -> DestroyProgress<'_> {
        let of_it = self.earlier.destroy_steps.iter();
        DestroyProgress(of_it.filter(|step| step.address == address).collect())
    }

    /// Logs that a provisioner's command left its output open when it ended, and tells the
    /// operator.
    pub fn left_open(&self, address: &str) {
        let text = format!(
            "a command of {address} has ended, but a process that it left in the background keeps its output open; the rest of that output is not logged. Redirect the output of background processes, for example to a file"
        );
        self.say(address, &text);
        self.bus.emit(EventKind::Notice { text });
    }

    /// Says that a command is not run, and where its outcome is.
    pub fn skipped(&self, address: &str, earlier: &DestroyStep) {
        let text = format!(
            "the {} of {address} is not run again: it ended well in deploy #{} at {}, before that destroy was cut off",
            earlier.step,
            earlier.deploy,
            moment(earlier.ended),
        );
        self.say(address, &text);
        self.bus.emit(EventKind::Notice { text });
    }
}

/// Digest of an object as the state has it, by what a command may see of it.
pub fn object_digest(object: &StateObject) -> String {
    let identity = object.identity.as_deref().unwrap_or_default();
    let parts = [&object.provider, &object.attributes, identity].map(str::to_owned);
    digest(parts.into_iter().chain([object.schema_version.to_string()]))
}
