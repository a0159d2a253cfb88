//! One call to a resource of the lab: simulates its latency, progress messages and faults.

use std::time::Duration;

use cty::{Number, Value};
use sdk::{Context, Diagnostic, Failure, Object, State};

use super::fault::{Fault, Kind as FaultKind, On};
use super::fault_block;
use super::provider::Settings;

/// Interval of progress messages of a long call.
const PROGRESS: Duration = Duration::from_secs(3);

/// Exit code of a Go program after a panic, which a crash imitates.
const PANIC_EXIT: i32 = 2;

/// Call of a resource: operation, object and faults.
pub(super) struct Call<'a> {
    pub(super) cx: &'a Context,
    pub(super) on: On,
    pub(super) name: String,
    pub(super) settings: std::sync::Arc<Settings>,
    pub(super) faults: Vec<Fault>,
}

pub(super) fn undescribable(problem: impl Into<String>) -> Failure {
    Failure::new("the object is not valid", problem)
}

pub(super) fn own_latency(object: &Object, on: On) -> Option<u64> {
    let (name, _) = fault_block::LATENCIES
        .into_iter()
        .find(|(_, call)| *call == on)?;
    object.get(name).as_number().and_then(Number::to_u64)
}

/// Runs file operations on a thread for blocking work.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Failure::new(
            "the lab's operation did not end normally",
            error.to_string(),
        )
    })
}

impl Call<'_> {
    pub(super) fn fault_of_kind(&self, kind: FaultKind) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.kind == kind)
    }

    pub(super) fn describe(&self, resource: &str) -> String {
        format!(
            "cannot {} {} {}",
            self.on.as_str(),
            resource.trim_start_matches("lab_"),
            self.name
        )
    }

    /// Failure of a change that was made in part, with the object as it is now.
    pub(super) fn half_done(&self, resource: &str, fault: &Fault, now: Value) -> Failure {
        let text = fault.text.clone().unwrap_or_else(|| {
            "the lab ran out of capacity half-way; the object exists and is incomplete".into()
        });
        let summary = format!("{}: only half done", self.describe(resource));
        Failure::new(summary, text).with_partial(State::new(now))
    }

    fn stopped(&self, resource: &str) -> Failure {
        Failure::new(
            format!("{}: stopped", self.describe(resource)),
            "the host asked the provider to stop before the lab had begun; nothing was changed",
        )
    }

    /// Waits for the latency of the call and its faults; fails if the host asks to stop.
    pub(super) async fn wait(&self, resource: &str, base: u64) -> Result<(), Failure> {
        let slower: u64 = self
            .faults
            .iter()
            .filter(|fault| fault.kind == FaultKind::Latency)
            .map(|fault| fault.ms.unwrap_or(1000))
            .sum();
        let mut left = Duration::from_millis(base.saturating_add(slower));
        let whole = left;
        // Waits in steps, to log progress in between.
        while !left.is_zero() {
            let step = left.min(PROGRESS);
            tokio::select! {
                biased; // stop has priority
                () = self.cx.stop().cancelled() => return Err(self.stopped(resource)),
                () = tokio::time::sleep(step) => left -= step,
            }
            if !left.is_zero() {
                let percent = 100 - left.as_millis() * 100 / whole.as_millis().max(1);
                sdk::log::info(
                    "still at work",
                    &[
                        ("call", &self.on.as_str()),
                        ("resource", &resource),
                        ("name", &self.name),
                        ("percent", &percent),
                    ],
                );
            }
        }
        Ok(())
    }

    pub(super) async fn apply_faults_before(&self, resource: &str) -> Result<(), Failure> {
        // The order is fixed: a crash hides all other faults, and a hang the remaining ones.
        let text = |fault: &Fault, otherwise: &str| {
            fault.text.clone().unwrap_or_else(|| otherwise.to_owned())
        };
        if let Some(fault) = self
            .fault_of_kind(FaultKind::Crash)
            .filter(|fault| !fault.after)
        {
            crash(self.on, fault);
        }
        if self
            .fault_of_kind(FaultKind::Hang)
            .is_some_and(|fault| !fault.after)
        {
            sdk::log::warn(
                "waiting for an answer that will not come",
                &[("resource", &resource), ("name", &self.name)],
            );
            // Only the stop token ends a hang.
            self.cx.stop().cancelled().await;
            return Err(self.stopped(resource));
        }
        // `transient()` lets a Bluelink host repeat the call.
        if let Some(fault) = self.fault_of_kind(FaultKind::Transient) {
            sdk::log::warn(
                "throttled",
                &[("resource", &resource), ("name", &self.name)],
            );
            let detail = text(
                fault,
                "ThrottlingException: rate exceeded (status 429); try again in a moment",
            );
            return Err(
                Failure::new(format!("{}: throttled", self.describe(resource)), detail).transient(),
            );
        }
        if let Some(fault) = self.fault_of_kind(FaultKind::BadInput) {
            let attribute = fault.attribute.as_deref().unwrap_or("name");
            let detail = text(
                fault,
                &format!(
                    "ValidationException: the lab does not accept this {attribute} (status 400)"
                ),
            );
            return Err(Diagnostic::error(
                format!("{}: invalid {attribute}", self.describe(resource)),
                detail,
            )
            .at_attr(attribute)
            .into());
        }
        if let Some(fault) = self.fault_of_kind(FaultKind::Permanent) {
            sdk::log::warn("denied", &[("resource", &resource), ("name", &self.name)]);
            let detail = text(
                fault,
                "AccessDenied: this account may not do that (status 403)",
            );
            return Err(Failure::new(self.describe(resource), detail));
        }
        Ok(())
    }

    /// Applies the faults that occur after the work.
    pub(super) async fn apply_faults_after(
        &self,
        resource: &str,
        value: Value,
    ) -> Result<State, Failure> {
        if let Some(fault) = self
            .fault_of_kind(FaultKind::Crash)
            .filter(|fault| fault.after)
        {
            crash(self.on, fault);
        }
        if self
            .fault_of_kind(FaultKind::Hang)
            .is_some_and(|fault| fault.after)
        {
            sdk::log::warn(
                "done, but the answer is held back",
                &[("resource", &resource), ("name", &self.name)],
            );
            // The work is done by now: the host cannot know it, so the outcome is unknown to it.
            self.cx.stop().cancelled().await;
        }
        let Some(fault) = self.fault_of_kind(FaultKind::Inconsistent) else {
            return Ok(State::new(value));
        };
        // The result must differ from the plan in a value of the right type.
        let attribute = fault.attribute.as_deref().unwrap_or("name");
        let mut object = Object::of(&value).map_err(undescribable)?;
        let other = match object.get(attribute) {
            value if value.as_bool().is_some() => Value::bool(value.as_bool() == Some(false)),
            value if value.as_number().is_some() => {
                Value::int(object.int(attribute).unwrap_or(0) + 1)
            }
            _ => Value::string(format!(
                "{}-and-something-else",
                object.text(attribute).unwrap_or_default()
            )),
        };
        object.set(attribute, other);
        object.into_value().map(State::new).map_err(undescribable)
    }
}

/// Ends the process like a Go program with a nil pointer dereference.
#[expect(
    clippy::disallowed_methods,
    reason = "a crash on purpose: nothing may be stopped or cleaned up"
)]
fn crash(on: On, fault: &Fault) -> ! {
    let what = fault
        .text
        .as_deref()
        .unwrap_or("runtime error: invalid memory address or nil pointer dereference");
    let call = match on {
        On::Create => "Create",
        On::Read => "Read",
        On::Update => "Update",
        _ => "Delete",
    };
    eprintln!(
        "panic: {what}\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x8a1f3c]\n\n\
         goroutine 87 [running]:\n\
         lab/internal/cloud.(*Client).{call}(0x0, {{0xc0003a4000, 0x5}})\n\tlab/internal/cloud/client.go:118 +0x3c\n\
         lab/internal/provider.resource{call}({{0xd2c6f0, 0xc0004b2300}}, 0xc000512180)\n\tlab/internal/provider/resource.go:64 +0x1d5\n\
         created by lab/internal/provider.serve in goroutine 1\n\tlab/internal/provider/serve.go:31 +0x9a"
    );
    std::process::exit(PANIC_EXIT)
}
