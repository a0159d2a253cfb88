//! Shared parts of the msgpack and JSON encodings: the error, the position inside a value, and the
//! choice of the encoding in a provider's response.

use crate::types_json::MAX_DEPTH;
use crate::{Path, PathStep, Type, Value, json, msgpack};

/// Failure to encode or decode a value, with the path to the failing part.
#[derive(Debug, Clone, PartialEq)]
pub struct CodecError {
    /// Path to the failing part.
    pub path: Path,
    /// Problem at that path.
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

/// Decodes the two fields of a provider's dynamic value. msgpack has priority over JSON. `None` if
/// both are empty: an absent value differs from null.
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

/// Position of a codec inside a value, and its depth. Dynamic values add depth without a path step.
/// Each level links to the one around it, so that a [`Path`] is only built for an error.
#[derive(Default)]
pub(crate) struct Place<'a> {
    parent: Option<(&'a Place<'a>, Step<'a>)>,
    depth: usize,
}

/// Step into a value.
pub(crate) enum Step<'a> {
    Attr(&'a str),
    /// Key of a map.
    Key(&'a str),
    /// Element number in a list or tuple.
    Nth(usize),
    /// Key of an element in any container.
    Element(&'a Value),
    /// No step: the wrapped value of a dynamic value has the same path.
    Wrapped,
}

impl Step<'_> {
    fn path(&self) -> Option<PathStep> {
        Some(match self {
            Self::Attr(name) => PathStep::Attr((*name).into()),
            Self::Key(key) => PathStep::Index(Value::string(key)),
            Self::Nth(n) => PathStep::Index(Value::number(*n)),
            Self::Element(key) => PathStep::Index((*key).clone()),
            Self::Wrapped => return None,
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
        while let Some((around, step)) = &at.parent {
            steps.extend(step.path());
            at = around;
        }
        // The links run from the inside out.
        steps.reverse();
        CodecError {
            path: Path::new(steps),
            message: message.into(),
        }
    }

    /// Runs `act` one step further inside the value.
    pub(crate) fn at_step<T>(
        &self,
        step: Step<'_>,
        act: impl FnOnce(&Place<'_>) -> Result<T, CodecError>,
    ) -> Result<T, CodecError> {
        let inner = Place {
            parent: Some((self, step)),
            depth: self.depth + 1,
        };
        // Encoding and decoding recurse, so input from a provider could otherwise exhaust the
        // stack.
        if self.depth >= MAX_DEPTH {
            return inner.fail(format!("value nests deeper than {MAX_DEPTH} levels"));
        }
        act(&inner)
    }

    /// Runs `act` one level deeper at the same path.
    pub(crate) fn one_level_deeper<T>(
        &self,
        act: impl FnOnce(&Place<'_>) -> Result<T, CodecError>,
    ) -> Result<T, CodecError> {
        self.at_step(Step::Wrapped, act)
    }
}

/// Builds a list or set of decoded elements. If the element type has dynamic parts, it is inferred
/// from the elements.
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

/// Builds a map of decoded elements.
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

/// Returns the value as it is if it conforms to `ty`, else converted.
pub(crate) fn conforming(value: &Value, ty: &Type) -> Result<Value, CodecError> {
    if value.ty().conforms_to(ty) {
        return Ok(value.clone());
    }
    crate::convert(value, ty).map_err(|e| CodecError {
        path: e.path,
        message: e.message,
    })
}
