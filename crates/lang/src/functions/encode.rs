//! Functions that encode and decode: Base64, gzip, character sets, URLs, CSV, JSON, YAML.

mod charset_names;
mod charsets;
mod deflate;
pub(super) mod json;
mod rows;
mod urls;
mod yaml_read;
mod yaml_resolve;
mod yaml_write;

use std::io::Read;

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use cty::{Marks, Type, Value};

use self::charsets::Charset;
use super::call::{CallError, Function, Param, text};
use super::collect::maps::quoting;

/// Decoder settings of OpenTofu (Go's standard encoding): padding is required, spare bits may be
/// non-zero.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Maximum size of a `base64gunzip` result, in bytes, because a small input can expand to a huge
/// text.
const UNZIPPED: u64 = 256 << 20;

fn str_param() -> Param {
    Param::new("str", Type::String)
}

fn from_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    // Go's decoder ignores line breaks.
    let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    LENIENT.decode(plain)
}

fn bytes_of(text: &str, marks: &Marks) -> Result<Vec<u8>, CallError> {
    from_base64(text).map_err(|_| {
        CallError::call(quoting(text, marks, |text| {
            format!("failed to decode base64 data {text}")
        }))
    })
}

pub(super) fn base64encode() -> Function {
    Function::new(vec![str_param()], Type::String, |args, _, _| {
        Ok(STANDARD.encode(text(args, 0)?).into())
    })
    .not_null()
}

pub(super) fn base64decode() -> Function {
    Function::new(vec![str_param().marked()], Type::String, |args, _, _| {
        let marks = args[0].marks();
        let decoded = String::from_utf8(bytes_of(text(args, 0)?, marks)?).map_err(|_| {
            CallError::call("the result of decoding the provided string is not valid UTF-8")
        })?;
        Ok(Value::from(decoded).with_marks(marks))
    })
    .not_null()
}

pub(super) fn base64gzip() -> Function {
    Function::new(vec![str_param()], Type::String, |args, _, _| {
        Ok(STANDARD
            .encode(deflate::gzip(text(args, 0)?.as_bytes()))
            .into())
    })
    .not_null()
}

pub(super) fn base64gunzip() -> Function {
    Function::new(vec![str_param().marked()], Type::String, |args, _, _| {
        let marks = args[0].marks();
        let packed = bytes_of(text(args, 0)?, marks)?;
        let mut bytes = Vec::new();
        // Like Go's reader, this reads all members of a gzip file.
        flate2::read::MultiGzDecoder::new(packed.as_slice())
            // One byte more than allowed shows that the text is too long.
            .take(UNZIPPED + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| CallError::call(format!("failed to gunzip bytestream: {e}")))?;
        if bytes.len() as u64 > UNZIPPED {
            return Err(CallError::call(
                "the decompressed text is longer than 256 MiB",
            ));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| CallError::call("the decompressed data is not valid UTF-8"))?;
        Ok(Value::from(text).with_marks(marks))
    })
    .not_null()
}

fn charset(args: &[Value]) -> Result<(Charset, &str), CallError> {
    let name = text(args, 1)?;
    let found = Charset::find(name);
    found.map(|set| (set, name)).ok_or_else(|| {
        CallError::arg(
            1,
            format!("{name:?} is not a supported IANA encoding name or alias"),
        )
    })
}

pub(super) fn textencodebase64() -> Function {
    Function::new(
        vec![
            Param::new("string", Type::String),
            Param::new("encoding", Type::String),
        ],
        Type::String,
        |args, _, _| {
            let (set, name) = charset(args)?;
            let bytes = set.encode(text(args, 0)?).ok_or_else(|| {
                CallError::arg(
                    0,
                    format!(
                        "the given string contains characters that cannot be represented in {}",
                        name.to_uppercase()
                    ),
                )
            })?;
            Ok(STANDARD.encode(bytes).into())
        },
    )
    .not_null()
}

pub(super) fn textdecodebase64() -> Function {
    Function::new(
        vec![
            Param::new("source", Type::String),
            Param::new("encoding", Type::String),
        ],
        Type::String,
        |args, _, _| {
            let (set, name) = charset(args)?;
            let bytes = from_base64(text(args, 0)?).map_err(|e| match e {
                base64::DecodeError::InvalidByte(at, _) => CallError::arg(
                    0,
                    format!("the given value is has an invalid base64 symbol at offset {at}"),
                ),
                other => CallError::arg(0, format!("invalid source string: {other}")),
            })?;
            let decoded = set.decode(&bytes).ok_or_else(|| {
                CallError::arg(
                    0,
                    format!(
                        "the given string contains symbols that are not defined for {}",
                        name.to_uppercase()
                    ),
                )
            })?;
            Ok(decoded.into())
        },
    )
    .not_null()
}

pub(super) fn urlencode() -> Function {
    Function::new(vec![str_param()], Type::String, |args, _, _| {
        Ok(urls::escape(text(args, 0)?).into())
    })
    .not_null()
}

pub(super) fn urldecode() -> Function {
    Function::new(vec![str_param()], Type::String, |args, _, _| {
        let given = text(args, 0)?;
        urls::unescape(given)
            .map(Value::from)
            .map_err(|e| CallError::call(format!("failed to decode URL '{given}': {e}")))
    })
    .not_null()
}

pub(super) fn csvdecode() -> Function {
    Function::typed(
        vec![str_param()],
        |args, _| match text(args, 0) {
            Ok(known) => table(known).map(|value| value.ty().clone()),
            Err(_) => Ok(Type::Dynamic),
        },
        |args, _, _| table(text(args, 0)?),
    )
    .not_null()
}

/// Parses CSV to a list of objects; the first row names the attributes.
fn table(text: &str) -> Result<Value, CallError> {
    let mut rows = rows::rows(text).map_err(CallError::from_error)?.into_iter();
    let headers = rows
        .next()
        .ok_or_else(|| CallError::call("missing header line"))?;
    let mut seen = std::collections::BTreeSet::new();
    if let Some(double) = headers.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(CallError::call(format!("duplicate column name {double:?}")));
    }
    let element = Type::object(headers.iter().map(|name| (name, Type::String)));
    let objects = rows
        .map(|row| {
            Value::object(
                headers
                    .iter()
                    .zip(row)
                    .map(|(name, cell)| (name, Value::from(cell))),
            )
        })
        .collect();
    Value::try_list(element, objects).map_err(|e| CallError::call(e.to_string()))
}

pub(super) fn yamlencode() -> Function {
    Function::new(
        vec![
            Param::new("value", Type::Dynamic)
                .unknown()
                .dynamic()
                .null(),
        ],
        Type::String,
        |args, _, _| {
            if !args[0].is_wholly_known() {
                return Ok(Value::unknown(Type::String));
            }
            Ok(yaml_write::write(&args[0])?.into())
        },
    )
    .not_null()
}

pub(super) fn yamldecode() -> Function {
    Function::typed(
        vec![Param::new("src", Type::String)],
        |args, _| match text(args, 0) {
            Ok(known) => yaml(known).map(|value| value.ty().clone()),
            Err(_) => Ok(Type::Dynamic),
        },
        |args, _, _| yaml(text(args, 0)?),
    )
}

fn yaml(text: &str) -> Result<Value, CallError> {
    yaml_read::read(text).map_err(CallError::call)
}

/// Parses a YAML document as `yamldecode` does.
///
/// # Errors
/// Syntax errors, with the line.
pub fn read_yaml(text: &str) -> Result<Value, String> {
    yaml_read::read(text)
}
