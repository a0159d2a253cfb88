//! Converts values, paths and diagnostics between the wire and the model. Requests use msgpack;
//! answers may use JSON or have no value, which differs from null. Keeps no state.

use crate::*;
use calls::{Method, ProviderDiagnostic, ProviderError};
use cty::{Path, PathStep, Type, Value};
use model::{PluginId, Severity};
use proto::tfplugin6 as pb;

/// Codec for the values of one call.
pub(super) struct Side<'a> {
    pub(super) plugin: &'a PluginId,
    pub(super) method: Method,
    /// Implied type of the schema that the call is about.
    pub(super) ty: Type,
    pub(super) identity: Option<Type>,
    pub(super) meta: Option<Type>,
}

impl Side<'_> {
    /// Encodes a value of the schema's type. Always returns `Some`, because null is sent as a value
    /// too.
    pub(super) fn encode(&self, value: &Value) -> Result<Option<pb::DynamicValue>, ProviderError> {
        self.encode_as(value, &self.ty)
    }

    fn encode_as(
        &self,
        value: &Value,
        ty: &Type,
    ) -> Result<Option<pb::DynamicValue>, ProviderError> {
        match cty::msgpack::encode(value, ty) {
            Ok(bytes) => Ok(Some(pb::DynamicValue {
                msgpack: bytes.into(),
                json: Bytes::new(),
            })),
            Err(e) => Err(ProviderError::Unencodable {
                plugin: self.plugin.clone(),
                method: self.method,
                what: e.to_string(),
            }),
        }
    }

    pub(super) fn encode_meta(
        &self,
        value: Option<&Value>,
    ) -> Result<Option<pb::DynamicValue>, ProviderError> {
        // A provider without a `provider_meta` schema must not receive one.
        match (value, &self.meta) {
            (Some(value), Some(ty)) => self.encode_as(value, ty),
            _ => Ok(None),
        }
    }

    pub(super) fn encode_identity(
        &self,
        value: Option<&Value>,
    ) -> Result<Option<pb::ResourceIdentityData>, ProviderError> {
        // An identity is sent only if the current schema of the type has one.
        match (value, &self.identity) {
            (Some(value), Some(ty)) => Ok(Some(pb::ResourceIdentityData {
                identity_data: self.encode_as(value, ty)?,
            })),
            _ => Ok(None),
        }
    }

    /// Decodes a value of the schema's type; `None` if none was sent.
    pub(super) fn decode(
        &self,
        value: Option<pb::DynamicValue>,
    ) -> Result<Option<Value>, ProviderError> {
        self.decode_as(value, &self.ty)
    }

    fn decode_as(
        &self,
        value: Option<pb::DynamicValue>,
        ty: &Type,
    ) -> Result<Option<Value>, ProviderError> {
        let Some(value) = value else { return Ok(None) };
        cty::decode_dynamic_value(&value.msgpack, &value.json, ty).map_err(|e| {
            ProviderError::Undecodable {
                plugin: self.plugin.clone(),
                method: self.method,
                what: e.to_string(),
            }
        })
    }

    /// Decodes as [`Side::decode`] does, with null if no value was sent. Null also replaces an
    /// invalid value in an answer with errors, so that the errors are reported.
    pub(super) fn decode_or_null(
        &self,
        value: Option<pb::DynamicValue>,
        diagnostics: &[ProviderDiagnostic],
    ) -> Result<Value, ProviderError> {
        match self.decode(value) {
            Ok(value) => Ok(value.unwrap_or_else(|| Value::null(self.ty.clone()))),
            Err(_) if has_errors(diagnostics) => Ok(Value::null(self.ty.clone())),
            Err(error) => Err(error),
        }
    }

    /// Decodes an identity of the resource type; `None` if none was sent, or if it is invalid in an
    /// answer with errors.
    pub(super) fn decode_identity(
        &self,
        data: Option<pb::ResourceIdentityData>,
        diagnostics: &[ProviderDiagnostic],
    ) -> Result<Option<Value>, ProviderError> {
        let (Some(data), Some(ty)) = (data, &self.identity) else {
            return Ok(None);
        };
        match self.decode_as(data.identity_data, ty) {
            // Null means that there is no identity.
            Ok(value) => Ok(value.filter(|v| !v.is_null())),
            Err(_) if has_errors(diagnostics) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub(super) fn has_errors(diagnostics: &[ProviderDiagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

/// Converts a path; `None` if a step has no selector.
pub(super) fn path(path: pb::AttributePath) -> Option<Path> {
    use pb::attribute_path::step::Selector;
    let step = |step: pb::attribute_path::Step| {
        Some(match step.selector? {
            Selector::AttributeName(name) => PathStep::Attr(name.into()),
            Selector::ElementKeyString(key) => PathStep::Index(Value::string(key)),
            Selector::ElementKeyInt(index) => PathStep::Index(Value::int(index)),
        })
    };
    Some(Path::new(
        path.steps
            .into_iter()
            .map(step)
            .collect::<Option<Vec<_>>>()?,
    ))
}

/// Maximum number of diagnostics per severity and answer.
const DIAGNOSTICS: usize = 200;
/// Maximum size of summary and detail, in bytes; longer ones are truncated.
const SUMMARY: usize = 2_000;
const DETAIL: usize = 64_000;

pub(super) fn diagnostic(
    severity: i32,
    summary: String,
    detail: String,
    path: Option<Path>,
) -> ProviderDiagnostic {
    // 2 is a warning. Unknown severities count as errors, because they may be errors.
    let severity = if severity == 2 {
        Severity::Warning
    } else {
        Severity::Error
    };
    ProviderDiagnostic {
        severity,
        summary: truncate(summary, SUMMARY),
        detail: truncate(detail, DETAIL),
        class: None,
        method: None,
        path,
    }
}

fn truncate(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    // Never split a character.
    let end = text.floor_char_boundary(most);
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}

/// Converts diagnostics, limited in number and size.
pub(super) fn diagnostics(all: Vec<pb::Diagnostic>) -> Vec<ProviderDiagnostic> {
    let (mut taken, mut errors, mut warnings) = (Vec::new(), 0, 0);
    for d in all {
        let count = if d.severity == 2 {
            &mut warnings
        } else {
            &mut errors
        };
        // All are counted, for the note about those left out.
        *count += 1;
        if *count <= DIAGNOSTICS {
            // An empty path means the whole value.
            let place = d.attribute.and_then(path).filter(|p| !p.is_empty());
            taken.push(diagnostic(d.severity, d.summary, d.detail, place));
        }
    }
    for (severity, word, count) in [(1, "errors", errors), (2, "warnings", warnings)] {
        if let Some(more @ 1..) = usize::checked_sub(count, DIAGNOSTICS) {
            let detail = format!(
                "The provider returned {count} {word}; only the first {DIAGNOSTICS} are shown."
            );
            taken.push(diagnostic(
                severity,
                format!("{more} more {word} omitted"),
                detail,
                None,
            ));
        }
    }
    taken
}

/// Adds the first error that the provider reported to the error of an invalid answer.
pub(super) fn with_reported(
    mut error: ProviderError,
    diagnostics: &[ProviderDiagnostic],
) -> ProviderError {
    let reported = diagnostics.iter().find(|d| d.severity == Severity::Error);
    if let (ProviderError::Undecodable { what, .. }, Some(reported)) = (&mut error, reported) {
        what.push_str(&format!("; the answer also reports: {}", reported.summary));
        if !reported.detail.is_empty() {
            what.push_str(&format!(": {}", reported.detail));
        }
    }
    error
}
