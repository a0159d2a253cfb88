//! Plans the destroy of an instance; asks the provider only if it declares that it plans destroys.

use super::plan_request::warnings;
use super::{NoPlan, Planned, Prior};
use calls::{CallContext, ProviderDiagnostic};
use cty::Value;
use cty::schema::Schema;
use model::Action;
use provider::{PlanRequest, Provider};

/// Plans a destroy. Calls the provider only if `plan_destroy` is set, as the provider declares in
/// its capabilities.
pub async fn plan_destroy(
    provider: &dyn Provider,
    type_name: &str,
    schema: &Schema,
    prior: &Prior,
    plan_destroy: bool,
    ctx: &CallContext,
) -> Result<Planned, NoPlan> {
    let null = Value::null(schema.implied_type().clone());
    let mut planned = Planned {
        action: Action::Destroy,
        reason: None,
        before: prior.value.clone(),
        after: null.clone(),
        private: prior.private.clone(),
        identity: prior.identity.clone(),
        replace_paths: Vec::new(),
        warnings: Vec::new(),
    };
    // Providers without this capability do not expect such a request.
    if !plan_destroy {
        return Ok(planned);
    }
    let request = PlanRequest {
        type_name: type_name.to_owned(),
        prior: prior.value.clone().unmark_deep().0,
        proposed: null.clone(),
        config: null,
        prior_private: prior.private.clone(),
        prior_identity: prior.identity.clone(),
    };
    let response = provider.plan(request, ctx).await?;
    if response
        .diagnostics
        .iter()
        .any(|d| d.severity == model::Severity::Error)
    {
        return Err(NoPlan::Refused(response.diagnostics));
    }
    if !response.planned.is_null() {
        return Err(NoPlan::Refused(vec![ProviderDiagnostic::error(
            "Provider produced invalid plan",
            format!(
                "{} planned a new object for a destroy, which must plan none. This is a bug in the provider; report it to the provider's developers.",
                provider.info().address
            ),
        )]));
    }
    planned.warnings = warnings(&response);
    // Providers may pass data from the plan to the apply.
    planned.private = response.private;
    Ok(planned)
}
