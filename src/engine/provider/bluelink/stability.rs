//! Waits until a deployed object is stable, and checks objects again that were not. The deploy
//! itself has succeeded: a failed check fails the operation and never discards values.

use super::adapter::BluelinkProvider;
use super::deploy::{Named, STABLE, spec_of};
use super::merge::Spec;
use super::retry::waited;
use super::schema::Definition;
use super::state::{Kept, Unstable};
use super::wire::Fault;
use crate::engine::calls::{CallContext, Method, ProviderDiagnostic, ProviderError, Retrying};
use crate::engine::provider::{Bytes, ReadResponse};
use crate::engine::words::{Look, Pause, Severity, seconds};
use cty::Value;
use proto::bluelink::sharedtypesv1::{ResourceHasStabilisedRequest, ResourceHasStabilisedResponse};
use std::time::Duration;
use tokio::time::Instant;

/// Minimum timeout of a check.
const LEAST: Duration = Duration::from_secs(1);

impl BluelinkProvider {
    /// Checks until the object is stable; returns the failure if it is not. The object exists in
    /// both cases.
    pub(super) async fn until_stable(
        &self,
        (of, after): (&Definition, Unstable),
        named: &Named,
        spec: &mut Spec,
        ctx: &CallContext,
    ) -> Option<ProviderDiagnostic> {
        let (every, within) = (self.settings.look_every, self.settings.stable_within);
        let until = Instant::now() + within;
        let stop = &ctx.retrying.stop;
        let tell = |pause| ctx.retrying.tell(pause);
        let mut looks = 0;
        // Bounded by the stabilisation timeout.
        let failure = loop {
            looks += 1;
            // A hanging check must not outlast the wait.
            let left = until.saturating_duration_since(Instant::now()).max(LEAST);
            let look = CallContext {
                deadline: Some(left),
                retrying: Retrying {
                    until: stop.clone(),
                    ..ctx.retrying.clone()
                },
                ..ctx.clone()
            };
            // A result that is already there counts more than a simultaneous stop.
            let looked = tokio::select! { biased;
                looked = self.look(of, named, spec, &look) => looked,
                () = stop.cancelled() => Err(cancelled()),
            };
            match looked {
                Ok(true) => break None,
                Ok(false) => {}
                Err(mut failure) => {
                    failure.detail += kept(after);
                    break Some(failure);
                }
            }
            // Ends now if the next check would start after the deadline.
            if Instant::now() + every > until {
                break Some(unstable(looks, within, after));
            }
            tell(Some(Pause::Look(Look::after(looks, every))));
            if !waited(&[&ctx.cancel, stop], every).await {
                let mut failure = cancelled();
                failure.detail += kept(after);
                break Some(failure);
            }
        };
        if looks > 1 {
            tell(None);
        }
        failure
    }

    /// Checks once, and takes over values that the provider has set meanwhile.
    async fn look(
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
            let call = (method, STABLE);
            self.item::<ResourceHasStabilisedResponse>(call, (ctx, next), request.clone())
        };
        match self.keep_asking(method, ctx, asked).await {
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
            Err(Fault::Said(said)) => {
                let doing = "deployed the resource, but could not report its stability";
                let mut failure = said.diagnostic(doing);
                failure.detail.push('.');
                Err(failure)
            }
        }
    }

    /// Returns the response to a read: checks an object again that was not stable after its last
    /// deploy.
    pub(super) async fn looked_again(
        &self,
        of: &Definition,
        seen: Value,
        private: &Bytes,
        ctx: &CallContext,
    ) -> Result<ReadResponse, ProviderError> {
        let mut kept = Kept::of(private);
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
        let named = self.named(of, private, ctx);
        let looked = self.look(of, &named, &mut spec, ctx).await;
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
            spec.unfinished();
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

fn unstable(looks: u32, within: Duration, after: Unstable) -> ProviderDiagnostic {
    let looks = match looks {
        1 => "1 check".to_owned(),
        looks => format!("{looks} checks"),
    };
    let detail = format!(
        "The plugin deployed the object, but it was not stable after {looks} within {}.{} Raise BLUELINK_DEPLOY_ENGINE_PLUGINS_V1_RESOURCE_STABILISATION_POLLING_TIMEOUT_MS if it needs longer.",
        seconds(within),
        kept(after)
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
fn kept(after: Unstable) -> &'static str {
    match after {
        Unstable::Created => {
            " It is kept in the state as tainted and not stable: the next stage checks it again, and the next deploy replaces it unless you run `flightdeck state untaint`."
        }
        Unstable::Updated => {
            " It is kept in the state with its values and as not stable: the next stage checks it again, and the next deploy waits for it."
        }
    }
}
