//! What both encodings share: the error, and the choice between them in a provider's answer.

use crate::types_json::MAX_DEPTH;
use crate::{Path, PathStep, Type, Value, json, msgpack};

/// Why a value cannot be encoded or decoded, and where inside it.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecError {
    /// Where.
    pub path: Path,
    /// What is wrong there.
    pub message: String,
}

impl std::fmt::Display for CodecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl std::error::Error for CodecError {}

/// Decodes the two fields of a provider's dynamic value: msgpack wins over JSON; both empty means
/// that there is no value, which is not the same as null.
pub fn decode_dynamic_value(
    msgpack: &[u8],
    json: &[u8],
    ty: &Type,
) -> Result<Option<Value>, CodecError> {
    if !msgpack.is_empty() {
        return msgpack::decode(msgpack, ty).map(Some);
    }
    if !json.is_empty() {
        return json::decode(json, ty).map(Some);
    }
    Ok(None)
}

/// Where a codec is inside a value, and how deep: dynamic parts go deeper without a step. Each
/// level knows the one around it, so that a path is made only where an error has to name it.
#[derive(Default)]
pub(crate) struct Place<'a> {
    around: Option<(&'a Place<'a>, Step<'a>)>,
    depth: usize,
}

/// One step further into a value.
pub(crate) enum Step<'a> {
    Attr(&'a str),
    /// Of a map.
    Key(&'a str),
    /// Of a list or a tuple.
    Nth(usize),
    /// An element by its key, whatever holds it.
    Element(&'a Value),
    /// None: what is inside stands at the same place.
    Same,
}

impl Step<'_> {
    fn path(&self) -> Option<PathStep> {
        Some(match self {
            Self::Attr(name) => PathStep::Attr((*name).into()),
            Self::Key(key) => PathStep::Index(Value::string(key)),
            Self::Nth(n) => PathStep::Index(Value::number(*n)),
            Self::Element(key) => PathStep::Index((*key).clone()),
            Self::Same => return None,
        })
    }
}

impl Place<'_> {
    pub(crate) fn fail<T>(&self, message: impl Into<String>) -> Result<T, CodecError> {
        Err(self.error(message))
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> CodecError {
        let mut steps = Vec::new();
        let mut at = self;
        while let Some((around, step)) = &at.around {
            steps.extend(step.path());
            at = around;
        }
        steps.reverse();
        CodecError {
            path: Path::new(steps),
            message: message.into(),
        }
    }

    /// Does something one step further in.
    pub(crate) fn within<T>(
        &self,
        step: Step<'_>,
        act: impl FnOnce(&Place<'_>) -> Result<T, CodecError>,
    ) -> Result<T, CodecError> {
        let inner = Place {
            around: Some((self, step)),
            depth: self.depth + 1,
        };
        if self.depth >= MAX_DEPTH {
            return inner.fail(format!("value nests deeper than {MAX_DEPTH} levels"));
        }
        act(&inner)
    }

    /// Does something one level deeper at the same place.
    pub(crate) fn deeper<T>(
        &self,
        act: impl FnOnce(&Place<'_>) -> Result<T, CodecError>,
    ) -> Result<T, CodecError> {
        self.within(Step::Same, act)
    }
}

/// A list or set of decoded elements. Where the element type has dynamic parts, the elements settle
/// it.
pub(crate) fn collect_elements(
    set: bool,
    element: &Type,
    elements: Vec<Value>,
    at: &Place<'_>,
) -> Result<Value, CodecError> {
    let element = if element.has_dynamic() && !elements.is_empty() {
        Type::Dynamic
    } else {
        element.clone()
    };
    let made = if set {
        Value::try_set(element, elements)
    } else {
        Value::try_list(element, elements)
    };
    made.map_err(|e| at.error(e.to_string()))
}

/// A map of decoded elements.
pub(crate) fn collect_members(
    element: &Type,
    members: Vec<(String, Value)>,
    at: &Place<'_>,
) -> Result<Value, CodecError> {
    let element = if element.has_dynamic() && !members.is_empty() {
        Type::Dynamic
    } else {
        element.clone()
    };
    Value::try_map(element, members).map_err(|e| at.error(e.to_string()))
}

/// The value in a form that fits `ty`: as it is, or converted.
pub(crate) fn conforming(value: &Value, ty: &Type) -> Result<Value, CodecError> {
    if value.ty().conforms_to(ty) {
        return Ok(value.clone());
    }
    crate::convert(value, ty).map_err(|e| CodecError {
        path: e.path,
        message: e.message,
    })
}
