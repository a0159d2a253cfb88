//! Validates a link against its kind and with the plugin.

use super::annotations::{all, check};
use super::ends::Side;
use super::private_data::LinkPrivate;
use crate::bluelink::adapter::BluelinkProvider;
use crate::bluelink::check::convert_diagnostic;
use crate::bluelink::convert::{Unknown, encode};
use crate::bluelink::wire::Fault;
use calls::{CallContext, Checked, Method, ProviderDiagnostic, ProviderError};
use cty::Value;
use proto::bluelink::providerserverv1::{ValidateLinkRequest, ValidateLinkResponse};

impl BluelinkProvider {
    /// Validates the arguments of a link; asks the plugin if both ends are known.
    pub(in super::super) async fn validate_link(
        &self,
        config: Value,
        ctx: &CallContext,
    ) -> Result<Checked, ProviderError> {
        // A `resource` block of the link type matches the schema, but the engine resolves no ends
        // for it.
        if ctx.linked.is_none() {
            let detail = "Replace this resource with a block `link \"NAME\" { from = … to = … }`, whose ends are resource instances.";
            let wrong = ProviderDiagnostic::error("Links need a link block", detail);
            return Ok(Checked {
                diagnostics: vec![wrong],
            });
        }
        let (kind, sides) = match self.sides(ctx, (&config, &LinkPrivate::default())) {
            Ok(found) => found,
            Err(wrong) => {
                return Ok(Checked {
                    diagnostics: vec![wrong],
                });
            }
        };
        let wrong = check(kind, &config);
        // Before the plan only the types of the ends are known.
        if !wrong.is_empty() || sides.iter().any(|side| !side.after.is_known()) {
            return Ok(Checked { diagnostics: wrong });
        }
        let spec = |side: &Side| {
            encode(
                &side.after,
                Some(&side.definition().node),
                Unknown::Unresolved,
            )
        };
        let [from, to] = &sides;
        let request = ValidateLinkRequest {
            resource_a_spec: spec(from),
            resource_b_spec: spec(to),
            resource_a_name: from.name.clone(),
            resource_b_name: to.name.clone(),
            resource_a_type: from.kind(),
            resource_b_type: to.kind(),
            annotations: all(kind, &config),
            link_context: Some(self.link_context(ctx)),
            host_id: self.wire.host_id.clone(),
        };
        let (method, path) = (
            Method::ValidateLink,
            "/providerserverv1.Provider/ValidateLink",
        );
        let asked = self.item::<ValidateLinkResponse>((method, path), (ctx, None), request);
        let diagnostics: Vec<ProviderDiagnostic> = match asked.await {
            Ok(complete) => complete
                .diagnostics
                .iter()
                .filter_map(convert_diagnostic)
                .collect(),
            // A plugin that is older than this call reports nothing.
            Err(Fault::Call(ProviderError::Unsupported { .. })) => Vec::new(),
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(said)) => vec![said.diagnostic("could not validate the link")],
        };
        Ok(Checked { diagnostics })
    }
}
