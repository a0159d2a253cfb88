//! `terraform_data`: stores a value, and is replaced when its triggers change. Pure, except for the
//! ids it generates.

use crate::*;
use calls::ProviderDiagnostic;
use cty::schema::{Attribute, Block, Schema};
use cty::{Path, Type, Value};

/// Returns the attributes of any type: input and output always have the same type, triggers have
/// their own.
pub(super) fn schema() -> Schema {
    let attributes = [
        ("id", Attribute::computed(Type::String)),
        ("input", Attribute::optional(Type::Dynamic)),
        ("output", Attribute::computed(Type::Dynamic)),
        ("triggers_replace", Attribute::optional(Type::Dynamic)),
    ];
    Schema::new(
        0,
        Block {
            attributes: attributes.map(|(n, a)| (n.into(), a)).into(),
            ..Default::default()
        },
    )
}

fn attr(value: &Value, name: &str) -> Value {
    value
        .get_attr(name)
        .unwrap_or_else(|| Value::null(Type::Dynamic))
}

/// Returns the object with some of its attributes changed.
fn with<const N: usize>(value: &Value, changes: [(&str, Value); N]) -> Value {
    let mut attributes = value.as_map().map(cty::Members::to_map).unwrap_or_default();
    attributes.extend(changes.map(|(name, v)| (name.into(), v)));
    Value::object_from_map(attributes)
}

/// Rejects values for the computed attributes.
pub(super) fn validate(config: &Value) -> Vec<ProviderDiagnostic> {
    if config.is_null() {
        return Vec::new();
    }
    let set = ["id", "output"]
        .into_iter()
        .filter(|name| !attr(config, name).is_null());
    set.map(|name| ProviderDiagnostic::error(format!("{name:?} attribute is read-only"), ""))
        .collect()
}

pub(super) fn upgrade(request: &UpgradeRequest) -> UpgradeResponse {
    let schema = schema();
    match cty::json::decode(&request.raw_json, schema.implied_type()) {
        Ok(state) => UpgradeResponse {
            state,
            diagnostics: Vec::new(),
        },
        Err(e) => UpgradeResponse {
            state: Value::null(schema.implied_type().clone()),
            diagnostics: vec![ProviderDiagnostic::error(
                "The stored state cannot be read",
                e.to_string(),
            )],
        },
    }
}

/// Returns the planned `output` of an `input`: unknown of the same type, or null if the input is.
fn planned_output(input: &Value) -> Value {
    if input.is_null() {
        input.clone()
    } else {
        Value::unknown(input.ty().clone())
    }
}

fn planned_id() -> Value {
    Value::unknown(Type::String).refine_not_null()
}

pub(super) fn plan(request: PlanRequest) -> PlanResponse {
    let answer = |planned: Value, requires_replace: Vec<Path>| PlanResponse {
        planned,
        requires_replace,
        private: request.prior_private.clone(),
        identity: None,
        legacy: false,
        diagnostics: Vec::new(),
    };
    let (prior, proposed) = (&request.prior, &request.proposed);
    // A destroy needs no planned values.
    if proposed.is_null() {
        return answer(proposed.clone(), Vec::new());
    }
    let (input, triggers) = (attr(proposed, "input"), attr(proposed, "triggers_replace"));
    if prior.is_null() {
        return answer(
            with(
                proposed,
                [("id", planned_id()), ("output", planned_output(&input))],
            ),
            Vec::new(),
        );
    }
    // Types count: "1" and 1 are different triggers.
    if !attr(prior, "triggers_replace").raw_equals(&triggers) {
        let planned = with(
            proposed,
            [("id", planned_id()), ("output", planned_output(&input))],
        );
        return answer(planned, vec![Path::root().attr("triggers_replace")]);
    }
    if !attr(prior, "input").raw_equals(&input) {
        return answer(
            // Unknown although the input is known, as in OpenTofu's builtin provider.
            with(proposed, [("output", Value::unknown(input.ty().clone()))]),
            Vec::new(),
        );
    }
    answer(proposed.clone(), Vec::new())
}

pub(super) fn apply(request: ApplyRequest) -> ApplyResponse {
    let mut state = request.planned;
    if !state.is_null() {
        // The planned output is unknown after a create or a changed input.
        if !attr(&state, "output").is_known() {
            state = with(&state, [("output", attr(&state, "input"))]);
        }
        // Unknown after a create or a replacement.
        if !attr(&state, "id").is_known() {
            state = with(
                &state,
                [("id", Value::string(uuid::Uuid::new_v4().to_string()))],
            );
        }
    }
    ApplyResponse {
        new_state: Some(state),
        private: request.private,
        identity: None,
        legacy: false,
        diagnostics: Vec::new(),
    }
}

/// Imports by id alone, because there is no remote object to read.
pub(super) fn import(request: &ImportRequest) -> ImportResponse {
    let state = with(
        &schema().block.empty_value(),
        [("id", Value::string(&request.id))],
    );
    let imported = Imported {
        type_name: request.type_name.clone(),
        state,
        private: Bytes::new(),
        identity: None,
    };
    ImportResponse {
        imported: vec![imported],
        diagnostics: Vec::new(),
    }
}

/// Converts the state of a `null_resource`, whose triggers become an object.
pub(super) fn convert_null_resource(request: MoveRequest) -> MoveResponse {
    let empty = schema().block.empty_value();
    let answer = |state: Value, diagnostics| MoveResponse {
        state,
        private: request.source_private.clone(),
        identity: None,
        diagnostics,
    };
    let refuse = |error| answer(Value::null(empty.ty().clone()), vec![error]);
    if request.source_type != "null_resource" {
        let detail = format!(
            "Only a null_resource can become a {}, not a {}.",
            request.target_type, request.source_type
        );
        return refuse(ProviderDiagnostic::error("Unsupported move", detail));
    }
    // Decode only the attributes that are kept.
    let ty = Type::object([("id", Type::String), ("triggers", Type::map(Type::String))]);
    let old = match cty::json::decode(&request.raw_json, &ty) {
        Ok(old) => old,
        Err(e) => {
            return refuse(ProviderDiagnostic::error(
                "The stored state cannot be read",
                e.to_string(),
            ));
        }
    };
    let mut state = with(&empty, [("id", attr(&old, "id"))]);
    // A map in `null_resource`, but an object here.
    if let Some(triggers) = attr(&old, "triggers").as_map() {
        state = with(
            &state,
            [(
                "triggers_replace",
                Value::object_from_map(triggers.to_map()),
            )],
        );
    }
    answer(state, Vec::new())
}

#[cfg(test)]
mod tests;
