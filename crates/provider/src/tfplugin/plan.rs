//! Converts a provider's answer to a plan request from the wire to the model. Also an entry point
//! of the fuzzer.

use super::convert::{self, Side, diagnostics, has_errors};
use crate::*;
use calls::{Method, ProviderError};
use cty::Type;
use model::PluginId;
use proto::tfplugin6 as pb;

/// Converts the answer to a plan from the wire to the model. All providers' answers pass through
/// here.
///
/// # Errors
/// A value does not have the type, or a path has an empty step.
pub fn plan_answer(
    plugin: &PluginId,
    ty: &Type,
    answer: pb::plan_resource_change::Response,
) -> Result<PlanResponse, ProviderError> {
    planned(
        &Side {
            plugin,
            method: Method::Plan,
            ty: ty.clone(),
            identity: None,
            meta: None,
        },
        answer,
    )
}

pub(super) fn planned(
    side: &Side<'_>,
    answer: pb::plan_resource_change::Response,
) -> Result<PlanResponse, ProviderError> {
    let diagnostics = diagnostics(answer.diagnostics);
    let paths = answer
        .requires_replace
        .into_iter()
        .map(convert::path)
        .collect::<Option<Vec<_>>>();
    let undecodable = || ProviderError::Undecodable {
        plugin: side.plugin.clone(),
        method: side.method,
        what: "a path in requires_replace has an empty step".to_owned(),
    };
    Ok(PlanResponse {
        planned: side.decode_or_null(answer.planned_state, &diagnostics)?,
        requires_replace: match paths {
            Some(paths) => paths,
            // Report the provider's errors rather than a malformed path.
            None if has_errors(&diagnostics) => Vec::new(),
            None => return Err(undecodable()),
        },
        private: answer.planned_private,
        identity: side.decode_identity(answer.planned_identity, &diagnostics)?,
        legacy: answer.legacy_type_system,
        diagnostics,
    })
}
