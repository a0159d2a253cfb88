//! Requests a plan from the provider and checks the answer.

use super::{NoPlan, PlanQuestion, shown_prefix};
use calls::{CallContext, ProviderDiagnostic};
use cty::{Path, Value};
use proto::Bytes;
use provider::{PlanRequest, PlanResponse, Provider};

/// Calls PlanResourceChange and checks the answer.
pub(super) async fn request_plan(
    provider: &dyn Provider,
    question: &PlanQuestion<'_>,
    prior: &Value,
    config: &Value,
    private: Bytes,
    identity: Option<Value>,
    ctx: &CallContext,
) -> Result<PlanResponse, NoPlan> {
    let block = &question.schema.block;
    let proposed = question.schema.proposed_new(prior, config);
    let request = PlanRequest {
        type_name: question.type_name.to_owned(),
        prior: prior.clone(),
        proposed,
        config: config.clone(),
        prior_private: private,
        prior_identity: identity,
    };
    let response = provider.plan(request, ctx).await?;
    if response
        .diagnostics
        .iter()
        .any(|d| d.severity == model::Severity::Error)
    {
        return Err(NoPlan::Refused(response.diagnostics));
    }
    if response.planned.is_null() {
        return Err(NoPlan::Refused(vec![ProviderDiagnostic::error(
            "Provider produced invalid plan",
            format!(
                "{} planned no object where one is configured. This is a bug in the provider; report it to the provider's developers.",
                provider.info().address
            ),
        )]));
    }
    // Providers on the legacy SDK break the rules in known ways, so that OpenTofu accepts their
    // plans too.
    if !response.legacy {
        let broken = cty::plan::assert_plan_valid(block, prior, config, &response.planned);
        if !broken.is_empty() {
            // The rule's message contains values, so it is hidden at sensitive paths.
            let secret = |path: &Path| {
                let before = question.prior.and_then(|p| p.value.shown_prefix(path));
                question
                    .config
                    .shown_prefix(path)
                    .or(before)
                    .or_else(|| shown_prefix(question.schema, &response.planned, path))
            };
            let said = |(path, text): (Path, String)| match secret(&path) {
                Some(path) => invalid(
                    provider,
                    path,
                    "it differs from the configuration and the state, and is not shown because it is sensitive",
                ),
                None => invalid(provider, path, &text),
            };
            return Err(NoPlan::Refused(broken.into_iter().map(said).collect()));
        }
    }
    Ok(response)
}

pub(super) fn invalid(provider: &dyn Provider, path: Path, text: &str) -> ProviderDiagnostic {
    let detail = format!(
        "{} planned an invalid value for {path}: {text}. This is a bug in the provider; report it to the provider's developers.",
        provider.info().address
    );
    ProviderDiagnostic::error("Provider produced invalid plan", detail).at(path)
}

pub(super) fn warnings(response: &PlanResponse) -> Vec<ProviderDiagnostic> {
    response
        .diagnostics
        .iter()
        .filter(|d| d.severity == model::Severity::Warning)
        .cloned()
        .collect()
}
