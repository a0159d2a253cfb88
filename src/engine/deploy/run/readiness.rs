//! Wait after an apply until the object is ready, if the overlay of its type asks for it.

use super::deploying::Deploying;
use super::instances::Subject;
use super::operation_error::OperationError;
use super::outcome::StoredOutcome;
use crate::stage::managed;
use calls::CallContext;
use cty::{Marks, Path, Value};
use lang::diag::{Diagnostic, Diagnostics};
use model::{FailureClass, LookupRequest, Pause, Readiness, seconds};
use proto::Bytes;
use provider::ReadRequest;
use tokio::time::Instant;
use types::TypeSettings;

/// Applied object, as the last look found it.
pub(super) struct Looked {
    pub(super) value: Value,
    pub(super) private: Bytes,
    pub(super) identity: Option<Value>,
}

impl Deploying {
    /// Reads an applied object until it is ready, and stores it as the last look found it. The
    /// object stays in the state, untainted, if it is not ready in time.
    pub(super) async fn wait_until_ready(
        &self,
        subject: &Subject<'_>,
        mut object: Looked,
    ) -> Result<Value, Box<OperationError>> {
        let settings = self.type_settings(subject.change);
        if !settings.waits() {
            return Ok(object.value);
        }
        let applied = object.value.clone();
        let ctx = CallContext {
            deadline: settings.limit("read"),
            ..self.context(subject.change, false)
        };
        let waited = self
            .poll_readiness(subject, &settings, &mut object, &ctx)
            .await;
        // Written once: if flightdeck dies meanwhile, the state has the object as it was applied.
        if !object.value.raw_equals(&applied) {
            let kept = StoredOutcome {
                value: &object.value,
                private: &object.private,
                identity: object.identity.as_ref(),
                step: None,
            };
            self.store_unchanged(subject.change, subject.schema, kept)
                .await?;
        }
        waited.map(|()| object.value)
    }

    async fn poll_readiness(
        &self,
        subject: &Subject<'_>,
        settings: &TypeSettings,
        object: &mut Looked,
        ctx: &CallContext,
    ) -> Result<(), Box<OperationError>> {
        let (every, within) = (settings.wait_interval(), settings.wait_timeout());
        let until = Instant::now() + within;
        let (mut looks, mut recorded) = (0, None);
        // Bounded by the timeout. The response of the apply is the first look.
        let result = loop {
            looks += 1;
            let Some(found) = settings.condition(&object.value) else {
                break Ok(());
            };
            let readiness = found.readiness;
            let status = found.status.clone();
            // An object that is ready at once is recorded by the end of the deploy.
            let is_first = recorded.is_none() && readiness == Readiness::Available;
            if recorded != Some(readiness) && !is_first {
                let address = &subject.change.address;
                self.recorder.observe_readiness(address, found).await;
                recorded = Some(readiness);
            }
            if readiness == Readiness::Available {
                break Ok(());
            }
            let seen = status.as_deref().unwrap_or(readiness.label());
            if Instant::now() + every > until {
                let detail = format!(
                    "The object was applied, but after {looks} looks within {} it is {seen:?}. It is in the state and not tainted, and the next stage plans no change of it. If it needs longer, raise \"timeout\" in the \"wait\" block of type \"{}\".",
                    seconds(within),
                    subject.change.address.resource.kind
                );
                break Err(not_ready("The object is not ready in time", detail));
            }
            let pause = Pause::Look(LookupRequest::after(looks, every));
            ctx.retrying.report(Some(pause));
            tokio::select! { biased; // a cancellation takes precedence
                () = ctx.cancel.cancelled() => break Err(stopped(seen)),
                () = ctx.retrying.stop.cancelled() => break Err(stopped(seen)),
                () = tokio::time::sleep(every) => {}
            }
            if let Err(error) = self.read_applied(subject, object, ctx).await {
                break Err(error);
            }
        };
        if looks > 1 {
            ctx.retrying.report(None);
        }
        result
    }

    /// Reads the object once.
    async fn read_applied(
        &self,
        subject: &Subject<'_>,
        object: &mut Looked,
        ctx: &CallContext,
    ) -> Result<(), Box<OperationError>> {
        let (current, marks): (Value, Vec<(Path, Marks)>) =
            object.value.clone().unmark_deep_with_paths();
        let request = ReadRequest {
            type_name: subject.change.address.resource.kind.to_string(),
            current,
            private: object.private.clone(),
            identity: object.identity.clone(),
        };
        let response = match subject.provider.read(request, ctx).await {
            Ok(response) => response,
            Err(error) => {
                let detail = format!("The object was applied, but cannot be read: {error}.");
                return Err(not_ready("The readiness of the object is unknown", detail));
            }
        };
        self.check_provider_diagnostics(&response.diagnostics, subject.change, subject.resource)?;
        if response.state.is_null() {
            let detail = "The object was applied, but the provider does not find it any more. It is still in the state; the next stage reads it again.";
            return Err(not_ready("The object has disappeared", detail.to_owned()));
        }
        object.value = managed::normalize_read(subject.schema, &response.state, &marks);
        object.private = response.private;
        object.identity = response.identity.or_else(|| object.identity.take());
        Ok(())
    }
}

fn not_ready(summary: &str, detail: String) -> Box<OperationError> {
    let diags: Diagnostics = Diagnostic::error(summary, detail).into();
    OperationError::of(diags, Some(FailureClass::NotReady), false)
}

fn stopped(seen: &str) -> Box<OperationError> {
    let detail = format!(
        "The object was applied, but the wait for its readiness was cancelled; it is {seen:?}. It is in the state and not tainted."
    );
    let diags: Diagnostics = Diagnostic::error("Cancelled before it was ready", detail).into();
    OperationError::of(diags, Some(FailureClass::Cancelled), false)
}
