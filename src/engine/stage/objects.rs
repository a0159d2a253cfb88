//! Converts between state records and values: decodes stored objects, after the provider has
//! upgraded them, and encodes new ones.

use super::change::Recorded;
use super::encoding::StageCodecError;
use super::managed::Prior;
use super::needs::Needs;
use super::prior;
use super::scope::WalkContext;
use calls::{CallContext, ProviderDiagnostic, ProviderError};
use cty::schema::Schema;
use cty::{Marks, Path, Type, Value};
use lang::addr::AbsInstance;
use model::ConfigKey;
use proto::Bytes;
use provider::{Provider, UpgradeRequest};
use std::collections::BTreeSet;
use store::records::StateObject;

/// Reason that a stored object cannot be used.
#[derive(Debug)]
pub enum Unusable {
    Call(ProviderError),
    Refused(Vec<ProviderDiagnostic>),
}

/// Upgrades a stored object to the provider's current schema and decodes it.
pub async fn load(
    provider: &dyn Provider,
    schema: &Schema,
    object: &StateObject,
    type_name: &str,
    ctx: &CallContext,
) -> Result<Prior, Unusable> {
    let stored = object.schema_version;
    if stored > schema.version {
        return Err(Unusable::Refused(vec![ProviderDiagnostic::error(
            "Resource instance managed by newer provider version",
            format!(
                "The state of {} has schema version {stored}, but the provider {} supports versions up to {}. Use a newer version of the provider.",
                object.address,
                provider.info().address,
                schema.version
            ),
        )]));
    }
    // An older schema version is sent unchanged, because the provider's upgrade may need attributes
    // that the current schema lacks. With the current version unknown attributes are dropped, like
    // in OpenTofu.
    let attributes = if stored == schema.version {
        retain_known(&object.attributes, schema.implied_type())
    } else {
        object.attributes.clone()
    };
    let request = UpgradeRequest {
        type_name: type_name.to_owned(),
        version: stored,
        raw_json: Bytes::from(attributes.into_bytes()),
    };
    let answer = provider
        .upgrade(request, ctx)
        .await
        .map_err(Unusable::Call)?;
    if answer
        .diagnostics
        .iter()
        .any(|d| d.severity == model::Severity::Error)
    {
        return Err(Unusable::Refused(answer.diagnostics));
    }
    Ok(Prior {
        value: prior::marked(answer.state, &object.sensitive),
        private: Bytes::from(object.private.clone()),
        tainted: object.tainted,
        identity: load_identity(provider, object, type_name, ctx).await?,
    })
}

/// Returns the JSON text without attributes that the type lacks.
fn retain_known(attributes: &str, ty: &Type) -> String {
    fn strip(value: &mut serde_json::Value, ty: &Type) -> bool {
        use serde_json::Value as Json;
        match (value, ty) {
            (Json::Array(all), Type::List(ty) | Type::Set(ty)) => {
                all.iter_mut().fold(false, |any, one| strip(one, ty) | any)
            }
            (Json::Object(all), Type::Map(ty)) => all
                .values_mut()
                .fold(false, |any, one| strip(one, ty) | any),
            (Json::Object(all), Type::Object(object)) => {
                let before = all.len();
                all.retain(|name, _| object.attributes.contains_key(name.as_str()));
                let mut any = all.len() != before;
                for (name, one) in all.iter_mut() {
                    if let Some(ty) = object.attributes.get(name.as_str()) {
                        any |= strip(one, ty);
                    }
                }
                any
            }
            _ => false,
        }
    }
    // The decoder of the text reports invalid JSON.
    let Ok(mut value) = serde_json::from_str(attributes) else {
        return attributes.to_owned();
    };
    if strip(&mut value, ty) {
        value.to_string()
    } else {
        attributes.to_owned()
    }
}

/// Decodes the identity of a stored object, upgraded to the current identity schema. `None` if the
/// type has no identities (any more).
async fn load_identity(
    provider: &dyn Provider,
    object: &StateObject,
    type_name: &str,
    ctx: &CallContext,
) -> Result<Option<Value>, Unusable> {
    let Some(text) = &object.identity else {
        return Ok(None);
    };
    let Some(schema) = provider
        .known_schema()
        .and_then(|s| s.identities.get(type_name).cloned())
    else {
        return Ok(None);
    };
    let stored = object.identity_version;
    if stored > schema.version {
        let detail = format!(
            "The identity of {} has schema version {stored}, but the provider {} supports versions up to {}. Use a newer version of the provider.",
            object.address,
            provider.info().address,
            schema.version
        );
        return Err(Unusable::Refused(vec![ProviderDiagnostic::error(
            "Resource identity managed by newer provider version",
            detail,
        )]));
    }
    // Without an upgrade the provider need not be called.
    if stored == schema.version {
        let broken = |e: cty::CodecError| {
            let detail = format!(
                "The identity of {} in the state cannot be decoded: {e}.",
                object.address
            );
            Unusable::Refused(vec![ProviderDiagnostic::error(
                "Invalid resource identity in state",
                detail,
            )])
        };
        return cty::json::decode(text.as_bytes(), &schema.ty)
            .map(Some)
            .map_err(broken);
    }
    let request = UpgradeRequest {
        type_name: type_name.to_owned(),
        version: stored,
        raw_json: Bytes::from(text.clone().into_bytes()),
    };
    let answer = provider
        .upgrade_identity(request, ctx)
        .await
        .map_err(Unusable::Call)?;
    if answer
        .diagnostics
        .iter()
        .any(|d| d.severity == model::Severity::Error)
    {
        return Err(Unusable::Refused(answer.diagnostics));
    }
    Ok(answer.identity)
}

/// Encodes an identity for the state: its JSON and its schema version. `None` unless it is wholly
/// known.
pub fn encode_identity(
    around: &WalkContext,
    provider: &ConfigKey,
    kind: &str,
    identity: Option<&Value>,
) -> Option<(String, i64)> {
    let schema = around
        .schemas
        .get(&provider.address)?
        .identities
        .get(kind)?;
    let identity = identity.filter(|v| !v.is_null() && v.is_wholly_known())?;
    Some((
        cty::json::encode(identity, &schema.ty).ok()?,
        schema.version,
    ))
}

/// Parts of a state record other than the value.
#[derive(Debug, Clone)]
pub struct RecordContext<'a> {
    pub address: &'a AbsInstance,
    pub deposed: &'a str,
    pub provider: &'a ConfigKey,
    pub tainted: bool,
    pub create_before_destroy: bool,
    pub skip_destroy: bool,
    pub dependencies: &'a BTreeSet<String>,
    pub needs: &'a Needs,
    /// As returned by [`encode_identity`].
    pub identity: Option<(String, i64)>,
}

/// Builds the state record of an object; the marks of `value` and the schema become its sensitive
/// paths.
pub fn record(
    around: &RecordContext<'_>,
    schema: &Schema,
    value: &Value,
    private: &[u8],
) -> Result<StateObject, StageCodecError> {
    let (plain, marks) = value.clone().unmark_deep_with_paths();
    let sensitive: Vec<(Path, Marks)> = marks
        .into_iter()
        // The state format has no other marks.
        .filter(|(_, m)| m.is_sensitive())
        .collect();
    let attributes = cty::json::encode(&plain, schema.implied_type()).map_err(|source| {
        StageCodecError::Value {
            of: around.address.to_string(),
            source,
        }
    })?;
    Ok(StateObject {
        address: around.address.to_string(),
        deposed: around.deposed.to_owned(),
        provider: around.provider.to_string(),
        schema_version: schema.version,
        attributes,
        sensitive: prior::paths_to_json(&sensitive_paths(schema, &plain, &sensitive)),
        private: private.to_vec(),
        tainted: around.tainted,
        create_before_destroy: around.create_before_destroy,
        skip_destroy: around.skip_destroy,
        dependencies: around.dependencies.iter().cloned().collect(),
        needs: around.needs.iter().cloned().collect(),
        identity: around.identity.as_ref().map(|(text, _)| text.clone()),
        identity_version: around.identity.as_ref().map_or(0, |(_, version)| *version),
        // Unknown fields of the previous record are not carried over: they described the previous
        // object.
        rest: String::new(),
    })
}

/// Returns the sensitive paths of the configuration's marks and of the schema.
fn sensitive_paths(schema: &Schema, value: &Value, config_marks: &[(Path, Marks)]) -> Vec<Path> {
    let mut all: Vec<Path> = config_marks
        .iter()
        .filter(|(p, m)| m.is_sensitive() && p.apply(value).is_ok())
        .map(|(p, _)| p.clone())
        .collect();
    for path in schema.block.sensitive_paths(value) {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}

/// Returns false for an object that another tool wrote: it has dependencies, but no needs.
pub fn has_recorded_needs(object: &StateObject) -> bool {
    !object.needs.is_empty() || object.dependencies.is_empty()
}

/// Returns the recorded data of an object other than its values. Its needs count as not recorded if
/// it has dependencies but no needs.
pub fn recorded(object: &StateObject) -> Recorded {
    Recorded {
        dependencies: object.dependencies.iter().cloned().collect(),
        needs: has_recorded_needs(object).then(|| object.needs.iter().cloned().collect()),
        tainted: object.tainted,
    }
}

/// Decodes a stored output's value, marked if sensitive.
pub fn output_value(output: &store::records::StateOutput) -> Option<Value> {
    let ty = Type::from_json(output.ty.as_bytes()).ok()?;
    let value = cty::json::decode(output.value.as_bytes(), &ty).ok()?;
    Some(if output.sensitive {
        value.mark(cty::Mark::Sensitive)
    } else {
        value
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty() -> Type {
        let rule = Type::object([("port", Type::Number)]);
        Type::object([
            ("name", Type::String),
            ("rules", Type::list(rule.clone())),
            ("by_key", Type::map(rule)),
            ("any", Type::Dynamic),
        ])
    }

    #[test]
    fn attributes_that_the_type_lacks_are_dropped_at_every_depth() {
        for (stored, kept) in [
            (r#"{"name":"x","old":1}"#, r#"{"name":"x"}"#),
            (
                r#"{"rules":[{"port":1,"old":1},{"port":2}]}"#,
                r#"{"rules":[{"port":1},{"port":2}]}"#,
            ),
            (
                r#"{"by_key":{"k":{"port":1,"old":1}}}"#,
                r#"{"by_key":{"k":{"port":1}}}"#,
            ),
            // The type of a dynamic value is its own.
            (r#"{"any":{"old":1}}"#, r#"{"any":{"old":1}}"#),
            (r#"{"rules":null}"#, r#"{"rules":null}"#),
            // The decoder reports what is no JSON.
            ("{", "{"),
        ] {
            assert_eq!(retain_known(stored, &ty()), kept, "{stored}");
        }
    }

    #[test]
    fn text_without_dropped_attributes_stays_as_it_is() {
        // Spaces show that the text was not written anew.
        let stored = r#"{ "name" : "x" }"#;
        assert_eq!(retain_known(stored, &ty()), stored);
    }

    #[test]
    fn needs_count_as_not_recorded_if_only_dependencies_are() {
        use crate::stage::testing::state;
        for (line, edit, recorded) in [
            ("lab_thing.a <lab_thing.b", None, Some(1)),
            ("lab_thing.a", None, Some(0)),
            // A state of another tool has dependencies alone.
            ("lab_thing.a <lab_thing.b", Some(()), None),
        ] {
            let mut object = state(&[line]).0.objects.remove(0);
            if edit.is_some() {
                object.needs.clear();
            }
            let needs = super::recorded(&object).needs;
            assert_eq!(needs.map(|needs| needs.len()), recorded, "{line}");
        }
    }

    #[test]
    fn stored_output_is_decoded_by_its_type_and_marked() {
        let output = |value: &str, ty: &str, sensitive| store::records::StateOutput {
            name: "o".to_owned(),
            value: value.to_owned(),
            ty: ty.to_owned(),
            sensitive,
            rest: String::new(),
        };
        let number = output_value(&output("1", "\"number\"", false)).expect("a number");
        assert!(number.raw_equals(&Value::int(1)));
        let secret = output_value(&output("\"s\"", "\"string\"", true)).expect("a text");
        assert!(secret.has_mark(&cty::Mark::Sensitive));
        for (value, ty) in [
            ("\"x\"", "\"number\""),
            ("1", "\"nothing\""),
            ("{", "\"string\""),
        ] {
            assert!(output_value(&output(value, ty, false)).is_none(), "{value}");
        }
    }
}
