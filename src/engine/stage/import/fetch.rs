//! Fetches the object of an import from its provider.

use super::ImportTarget;
use super::names::identity;
use crate::stage::managed::{self, Prior};
use crate::stage::walk::{Walk, placed};
use calls::CallContext;
use cty::Value;
use cty::schema::Schema;
use lang::addr::AbsInstance;
use lang::diag::{Diagnostic, Diagnostics};
use model::{ObjectPhase, ObjectWork};
use provider::{ImportRequest, Imported, Provider, ReadRequest};

/// Imports the object by its id or identity, then reads its current state.
pub async fn fetch(
    walk: &Walk,
    provider: &dyn Provider,
    schema: &Schema,
    address: &AbsInstance,
    wanted: &ImportTarget,
    ctx: &CallContext,
) -> Result<(Prior, Diagnostics), Diagnostics> {
    let text = address.to_string();
    let who = provider.info().address.clone();
    let call = |e: calls::ProviderError| {
        Diagnostics::from(
            Diagnostic::error("Plugin call failed", e.to_string())
                .at(wanted.span)
                .with_address(text.as_str()),
        )
    };
    let kind = address.resource.kind.to_string();
    let identity = convert_identity(provider, &kind, &text, wanted)?;
    let request = ImportRequest {
        type_name: kind.clone(),
        id: wanted.id.clone(),
        identity,
    };
    let answer = provider.import(request, ctx).await.map_err(call)?;
    let mut said = placed(&answer.diagnostics, &text, None, Some(wanted.span));
    if said.has_errors() {
        return Err(said);
    }
    let found = only_object(&answer.imported, &who, address, wanted)?;
    let request = ReadRequest {
        type_name: kind,
        current: found.state.clone(),
        private: found.private.clone(),
        identity: found.identity.clone(),
    };
    let imported = managed::mark(schema, found.state.clone(), &[]);
    let refresh = |phase, value| walk.report_step(address, ObjectWork::Refresh, phase, Some(value));
    refresh(ObjectPhase::Begun, &imported);
    // An import may return little more than the id, so a read completes the object.
    let read = provider.read(request, ctx).await.map_err(call)?;
    said.append(placed(&read.diagnostics, &text, None, Some(wanted.span)));
    if said.has_errors() {
        return Err(said);
    }
    if read.state.is_null() {
        let detail = format!(
            "{who} found no object with the {}. Check the id, and the account and region in the configuration of the provider. To create a new object instead, deploy without the import.",
            wanted.describe()
        );
        let missing = Diagnostic::error("Cannot import non-existent remote object", detail);
        return Err(missing.at(wanted.span).with_address(text.as_str()).into());
    }
    let value = managed::normalize_read(schema, &read.state, &[]);
    refresh(ObjectPhase::Ended, &value);
    // A read may return no identity; the one of the import still applies then.
    let identity = read.identity.or_else(|| found.identity.clone());
    Ok((
        Prior {
            value,
            private: read.private,
            tainted: false,
            identity,
        },
        said,
    ))
}

/// Converts the given identity, if any, to the provider's type.
fn convert_identity(
    provider: &dyn Provider,
    kind: &str,
    address: &str,
    wanted: &ImportTarget,
) -> Result<Option<Value>, Diagnostics> {
    let Some(given) = &wanted.identity else {
        return Ok(None);
    };
    let schemas = provider.known_schema();
    let schema = schemas.as_ref().and_then(|s| s.identities.get(kind));
    identity(schema, kind, given).map(Some).map_err(|e| {
        let detail = format!("The identity for the import of {address} is invalid: {e}");
        Diagnostics::from(
            Diagnostic::error("Invalid import identity argument", detail)
                .at(wanted.span)
                .with_address(address),
        )
    })
}

/// Returns the only object of an answer, which must have the wanted type.
fn only_object<'a>(
    imported: &'a [Imported],
    who: &str,
    address: &AbsInstance,
    wanted: &ImportTarget,
) -> Result<&'a Imported, Diagnostic> {
    let (shown, kind) = (wanted.describe(), &*address.resource.kind);
    let fault = |summary: &str, detail: String| {
        Diagnostic::error(summary, detail)
            .at(wanted.span)
            .with_address(address.to_string())
    };
    let [object] = imported else {
        let detail = format!(
            "{who} returned {} objects for the {shown}, but an import needs exactly one. Use an id that names one object.",
            imported.len()
        );
        return Err(fault("Import did not find one object", detail));
    };
    if object.type_name != kind {
        let detail = format!(
            "{who} returned an object of type {} for the {shown}, but {address} has type {kind}.",
            object.type_name
        );
        return Err(fault("Import found another type of object", detail));
    }
    Ok(object)
}
