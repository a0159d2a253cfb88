//! Hash, UUID and password hash functions. Files are hashed as bytes, strings as UTF-8.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cty::{Type, Value};
use sha2::Digest;

use super::call::{CallError, Function, Param, int_argument, text};
use super::files;

/// Digest algorithm and output encoding.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Base64Sha256,
    Base64Sha512,
}

impl Kind {
    fn digest(self, bytes: &[u8]) -> String {
        match self {
            Kind::Md5 => hex::encode(md5::Md5::digest(bytes)),
            Kind::Sha1 => hex::encode(sha1::Sha1::digest(bytes)),
            Kind::Sha256 => hex::encode(sha2::Sha256::digest(bytes)),
            Kind::Sha512 => hex::encode(sha2::Sha512::digest(bytes)),
            Kind::Base64Sha256 => STANDARD.encode(sha2::Sha256::digest(bytes)),
            Kind::Base64Sha512 => STANDARD.encode(sha2::Sha512::digest(bytes)),
        }
    }
}

pub(super) fn of_text(kind: Kind) -> Function {
    Function::new(
        vec![Param::new("str", Type::String)],
        Type::String,
        move |args, _, _| Ok(kind.digest(text(args, 0)?.as_bytes()).into()),
    )
    .not_null()
}

pub(super) fn of_file(kind: Kind) -> Function {
    Function::new(
        vec![Param::new("path", Type::String)],
        Type::String,
        move |args, _, host| {
            let bytes =
                files::read(host, text(args, 0)?, &cty::Marks::none()).map_err(CallError::call)?;
            Ok(kind.digest(&bytes).into())
        },
    )
    .not_null()
}

pub(super) fn uuid() -> Function {
    Function::new(vec![], Type::String, |_, _, _| {
        Ok(uuid::Uuid::new_v4().to_string().into())
    })
    .not_null()
    .impure()
}

pub(super) fn uuidv5() -> Function {
    let params = vec![
        Param::new("namespace", Type::String),
        Param::new("name", Type::String),
    ];
    Function::new(params, Type::String, |args, _, _| {
        let namespace = match text(args, 0)? {
            "dns" => uuid::Uuid::NAMESPACE_DNS,
            "url" => uuid::Uuid::NAMESPACE_URL,
            "oid" => uuid::Uuid::NAMESPACE_OID,
            "x500" => uuid::Uuid::NAMESPACE_X500,
            other => uuid::Uuid::parse_str(other).map_err(|e| {
                CallError::call(format!("uuidv5() doesn't support namespace {other} ({e})"))
            })?,
        };
        Ok(uuid::Uuid::new_v5(&namespace, text(args, 1)?.as_bytes())
            .to_string()
            .into())
    })
    .not_null()
}

pub(super) fn bcrypt() -> Function {
    Function::new(vec![Param::new("str", Type::String)], Type::String, |args, _, host| {
        let cost = if args.len() > 1 { int_argument(args, 1)? } else { 10 };
        if args.len() > 2 {
            return Err(CallError::call("bcrypt() takes no more than two arguments"));
        }
        // Like bcrypt in the reference: too small costs select the default, too large ones are
        // errors.
        let cost = match cost {
            ..=3 => 10,
            4..=31 => cost as u32,
            _ => return Err(CallError::call(format!("error occurred generating password: cost {cost} is outside allowed range (4,31)"))),
        };
        let password = text(args, 0)?;
        if password.len() > 72 {
            return Err(CallError::call("error occurred generating password: password length exceeds 72 bytes"));
        }
        // Each increment of the cost doubles the work.
        host.consume_steps(256 << cost)?;
        bcrypt::hash_with_result(password, cost)
            .map(|parts| Value::from(parts.format_for_version(bcrypt::Version::TwoA)))
            .map_err(|e| CallError::call(format!("error occurred generating password: {e}")))
    })
    .more(Param::new("cost", Type::Number))
    .not_null()
    .impure()
}
