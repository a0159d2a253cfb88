//! Waits until a deployed object is stable, and checks objects again that were not. The deploy
//! itself has succeeded: a failed check fails the operation and never discards values.

use super::adapter::BluelinkProvider;
use super::deploy::{HAS_STABILISED, Named, spec_of};
use super::merge::Spec;
use super::retry::pause_completed;
use super::schema::Definition;
use super::state::{PrivateState, Unstable};
use super::wire::Fault;
use crate::{Bytes, ReadResponse};
use calls::{CallContext, Method, ProviderDiagnostic, ProviderError, Retrying};
use cty::Value;
use model::{LookupRequest, Pause, Severity, seconds};
use proto::bluelink::sharedtypesv1::{ResourceHasStabilisedRequest, ResourceHasStabilisedResponse};
use std::time::Duration;
use tokio::time::Instant;

/// Minimum timeout of a check.
const MIN_DEADLINE: Duration = Duration::from_secs(1);

impl BluelinkProvider {
    /// Checks until the object is stable; returns the failure if it is not. The object exists in
    /// both cases.
    pub(super) async fn wait_until_stable(
        &self,
        (of, after): (&Definition, Unstable),
        named: &Named,
        spec: &mut Spec,
        ctx: &CallContext,
    ) -> Option<ProviderDiagnostic> {
        let (every, within) = (
            self.settings.stability_interval,
            self.settings.stable_within,
        );
        let until = Instant::now() + within;
        let stop = &ctx.retrying.stop;
        let tell = |pause| ctx.retrying.report(pause);
        let mut looks = 0;
        // Bounded by the stabilisation timeout.
        let failure = loop {
            looks += 1;
            // A hanging check must not outlast the wait.
            let left = until
                .saturating_duration_since(Instant::now())
                .max(MIN_DEADLINE);
            let look = CallContext {
                deadline: Some(left),
                retrying: Retrying {
                    stop_token: stop.clone(),
                    ..ctx.retrying.clone()
                },
                ..ctx.clone()
            };
            // A result that is already there counts more than a simultaneous stop.
            let looked = tokio::select! { biased;
                looked = self.check_stability(of, named, spec, &look) => looked,
                () = stop.cancelled() => Err(cancelled()),
            };
            match looked {
                Ok(true) => break None,
                Ok(false) => {}
                Err(mut failure) => {
                    failure.detail += unstable_status(after);
                    break Some(failure);
                }
            }
            // Ends now if the next check would start after the deadline.
            if Instant::now() + every > until {
                break Some(unstable_diagnostic(looks, within, after));
            }
            tell(Some(Pause::Look(LookupRequest::after(looks, every))));
            if !pause_completed(&[&ctx.cancel, stop], every).await {
                let mut failure = cancelled();
                failure.detail += unstable_status(after);
                break Some(failure);
            }
        };
        if looks > 1 {
            tell(None);
        }
        failure
    }

    /// Checks once, and takes over values that the provider has set meanwhile.
    async fn check_stability(
        &self,
        of: &Definition,
        named: &Named,
        spec: &mut Spec,
        ctx: &CallContext,
    ) -> Result<bool, ProviderDiagnostic> {
        let request = ResourceHasStabilisedRequest {
            resource_type: named.kind.clone(),
            host_id: self.wire.host_id.clone(),
            instance_id: self.settings.instance_id.clone(),
            instance_name: self.settings.instance_name.clone(),
            resource_id: named.resource_id.clone(),
            resource_spec: Some(spec.node.clone()),
            resource_metadata: None,
            context: Some(self.caller.context(ctx)),
        };
        let method = Method::ResourceHasStabilised;
        let asked = |next| {
            let call = (method, HAS_STABILISED);
            self.item::<ResourceHasStabilisedResponse>(call, (ctx, next), request.clone())
        };
        match self.call_with_retries(method, ctx, asked).await {
            Ok(info) => {
                spec.merge(of, info.computed_field_values);
                Ok(info.stabilised)
            }
            // A plugin that is older than this call cannot report stability.
            Err(Fault::Call(ProviderError::Unsupported { .. })) => Ok(true),
            Err(Fault::Call(error)) => {
                let summary = "deployed, but its stability is unknown";
                let failure = ProviderDiagnostic::error(summary, format!("{error}."));
                Err(failure.from_call(Some(method)))
            }
            Err(Fault::Reported(said)) => {
                let doing = "deployed the resource, but could not report its stability";
                let mut failure = said.diagnostic(doing);
                failure.detail.push('.');
                Err(failure)
            }
        }
    }

    /// Returns the response to a read: checks an object again that was not stable after its last
    /// deploy.
    pub(super) async fn recheck_stability(
        &self,
        of: &Definition,
        seen: Value,
        private: &Bytes,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        let mut kept = PrivateState::decode(private);
        let mut answer = ReadResponse {
            state: seen,
            private: kept.bytes(),
            identity: None,
            diagnostics: Vec::new(),
        };
        let Some(after) = kept.unstable else {
            return Ok(answer);
        };
        let mut spec = Spec::new(spec_of(of, &answer.state));
        let named = self.resource_names(of, private, ctx);
        let looked = self.check_stability(of, &named, &mut spec, ctx).await;
        // The result of a cancelled check would wrongly count as "not stable".
        if ctx.cancel.is_cancelled() {
            return Err(ProviderError::Cancelled {
                plugin: self.info.plugin.clone(),
                method: Method::ResourceHasStabilised,
                sent: true,
            });
        }
        let stable = matches!(looked, Ok(true));
        if stable {
            kept.unstable = None;
            answer.private = kept.bytes();
        } else {
            // Null for a computed field still means "not set yet".
            spec.restore_cleared();
        }
        let object = spec.object(of, &answer.state);
        answer.state =
            object.map_err(|what| self.wire.undecodable(Method::ResourceHasStabilised, what))?;
        let note = match (looked, after) {
            (Ok(true), Unstable::Updated) => None,
            (Ok(true), Unstable::Created) => Some((
                "the object has become stable",
                "Its creation was not confirmed as successful, so it is tainted and the next deploy replaces it. Run `flightdeck state untaint ADDRESS` to keep it.".to_owned(),
            )),
            (Ok(false), _) => Some((
                "the object is not stable yet",
                "The plugin has not reported it as stable since its last deploy. The next deploy waits for it again.".to_owned(),
            )),
            (Err(failure), _) => Some((
                "the stability of the object is unknown",
                format!("{}: {}", failure.summary, failure.detail),
            )),
        };
        let warning = |(summary, detail)| ProviderDiagnostic {
            severity: Severity::Warning,
            ..ProviderDiagnostic::error(summary, detail)
        };
        answer.diagnostics.extend(note.map(warning));
        answer.diagnostics.append(&mut spec.warnings);
        Ok(answer)
    }
}

fn unstable_diagnostic(looks: u32, within: Duration, after: Unstable) -> ProviderDiagnostic {
    let looks = match looks {
        1 => "1 check".to_owned(),
        looks => format!("{looks} checks"),
    };
    let detail = format!(
        "The plugin deployed the object, but it was not stable after {looks} within {}.{} Raise BLUELINK_DEPLOY_ENGINE_PLUGINS_V1_RESOURCE_STABILISATION_POLLING_TIMEOUT_MS if it needs longer.",
        seconds(within),
        unstable_status(after)
    );
    ProviderDiagnostic::error("failed to stabilise", detail)
        .from_call(Some(Method::ResourceHasStabilised))
}

fn cancelled() -> ProviderDiagnostic {
    let detail = "The plugin deployed the object, but the wait for its stability was cancelled.";
    ProviderDiagnostic::error("cancelled before it was stable", detail)
        .from_call(Some(Method::ResourceHasStabilised))
}

/// Describes the state of an object whose stability is unknown.
fn unstable_status(after: Unstable) -> &'static str {
    match after {
        Unstable::Created => {
            " It is kept in the state as tainted and not stable: the next stage checks it again, and the next deploy replaces it unless you run `flightdeck state untaint`."
        }
        Unstable::Updated => {
            " It is kept in the state with its values and as not stable: the next stage checks it again, and the next deploy waits for it."
        }
    }
}
