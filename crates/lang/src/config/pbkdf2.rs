//! Key provider `pbkdf2`: derives keys from passphrases.

use std::sync::Arc;

use cty::{Type, Value};

use super::encryption::Declared;
use super::encryption_methods::{Key, Secret};
use super::keys::Setup;
use crate::body::BodySchema;
use crate::diag::{Diagnostic, Diagnostics};
use crate::source::Span;

/// Minimum length of a passphrase or key to derive from.
const MIN_PASSPHRASE: u64 = 16;

/// Minimum number of iterations.
const MIN_ITERATIONS: u64 = 200_000;

/// Maximum length of a key and of a salt, in bytes.
const MAX_LENGTH: u64 = 1 << 16;

/// Maximum iterations over all blocks of a key, which take some minutes.
const MAX_ITERATIONS: u64 = 200_000_000;

/// Internal attribute of key values; its name cannot be written in a configuration.
pub(super) const BYTES: &str = "bytes of the key";

impl Setup<'_> {
    pub(super) fn pbkdf2(
        &mut self,
        declared: &Declared,
        diags: &mut Diagnostics,
    ) -> Option<(u64, Arc<Key>)> {
        const ARGUMENTS: [&str; 6] = [
            "passphrase",
            "chain",
            "key_length",
            "iterations",
            "hash_function",
            "salt_length",
        ];
        let (content, found) = declared
            .body
            .content(&BodySchema::new().optional(&ARGUMENTS));
        let failed = found.has_errors();
        diags.append(found);
        if failed {
            return None;
        }
        let mark = diags.len();
        let number = |this: &mut Self, name: &str, or: u64, diags: &mut Diagnostics| match content
            .attribute(name)
        {
            Some(a) => this
                .of_type(a, &Type::Number, diags)
                .map(|v| v.as_number().and_then(|n| n.to_u64()).unwrap_or_default()),
            None => Some(or),
        };
        let rounds = number(self, "iterations", 600_000, diags);
        let bytes = number(self, "key_length", 32, diags);
        let salt = number(self, "salt_length", 32, diags);
        let text = |this: &mut Self, name: &str, diags: &mut Diagnostics| {
            content
                .attribute(name)
                .and_then(|a| this.of_type(a, &Type::String, diags))
                .map(|v| v.as_str().unwrap_or_default().to_owned())
        };
        let hash = text(self, "hash_function", diags).unwrap_or_else(|| "sha512".to_owned());
        let passphrase = text(self, "passphrase", diags).filter(|p| !p.is_empty());
        let chain = content.attribute("chain").and_then(|a| {
            let value = self.value(&a.expr, diags)?;
            Some((length(&value, a.expr.span, diags)?, self.key_of(&value)?))
        });
        if diags.0[mark..].iter().any(Diagnostic::is_error) {
            return None;
        }
        let lengths = (
            passphrase.as_ref().map(|p| p.len() as u64),
            chain.as_ref().map(|(bytes, _)| *bytes),
        );
        let why = match lengths {
            (None, None) => "it has neither a passphrase nor a chain".to_owned(),
            (Some(_), Some(_)) => {
                "it has both a passphrase and a chain, which are mutually exclusive".to_owned()
            }
            (Some(n), None) if n < MIN_PASSPHRASE => {
                format!("its passphrase must have at least {MIN_PASSPHRASE} bytes")
            }
            (None, Some(n)) if n < MIN_PASSPHRASE => {
                format!(
                    "the key from the key provider in chain must have at least {MIN_PASSPHRASE} bytes"
                )
            }
            _ if bytes == Some(0) => "key_length must be larger than zero".to_owned(),
            _ if rounds.is_none_or(|n| n < MIN_ITERATIONS) => {
                format!("iterations must be at least {MIN_ITERATIONS}")
            }
            _ if salt == Some(0) => "salt_length must be larger than zero".to_owned(),
            _ if bytes.max(salt) > Some(MAX_LENGTH) => {
                format!("key_length and salt_length must be at most {MAX_LENGTH}")
            }
            // A key longer than the hash has several blocks, and each takes all iterations.
            _ if rounds.zip(bytes).is_some_and(|(n, bytes)| {
                n.saturating_mul(bytes.div_ceil(if hash == "sha256" { 32 } else { 64 }))
                    > MAX_ITERATIONS
            }) =>
            {
                format!(
                    "iterations multiplied by the number of hash blocks in key_length must be at most {MAX_ITERATIONS}; reduce iterations or key_length"
                )
            }
            _ if !matches!(&*hash, "sha256" | "sha512") => {
                format!("there is no hash_function {hash:?}; use sha256 or sha512")
            }
            _ => {
                let secret = match (passphrase, chain) {
                    (Some(text), _) => Secret::Passphrase(text),
                    (None, chain) => Secret::Key(chain?.1),
                };
                let narrow = |n: Option<u64>| usize::try_from(n?).ok();
                let key = Key::Derived {
                    name: declared.metadata.clone(),
                    secret,
                    length: narrow(bytes)?,
                    iterations: u32::try_from(rounds?).ok()?,
                    hash: hash.into(),
                    salt_length: narrow(salt)?,
                };
                return Some((bytes?, Arc::new(key)));
            }
        };
        let detail = format!(
            "key_provider.pbkdf2.{} cannot provide a key: {why}.",
            declared.name
        );
        diags.push(Diagnostic::error(
            "Unable to build encryption key data",
            detail,
        ));
        None
    }
}

/// Length of a key, from a key provider or from bytes written in the configuration.
pub(super) fn length(value: &Value, span: Span, diags: &mut Diagnostics) -> Option<u64> {
    let fields = value.as_map();
    let own = fields.and_then(|f| f.get(BYTES)?.as_number()?.to_u64());
    let written = || {
        fields
            .and_then(|f| f.get("encryption_key")?.as_slice())
            .map(|bytes| bytes.len() as u64)
    };
    let found = own.or_else(written);
    if found.is_none() {
        let detail = format!(
            "A key provider (key_provider.TYPE.NAME) is required here, but the value is of type \
            {}.",
            value.ty().friendly_name()
        );
        diags.error(span, "Expected key_provider value", detail);
    }
    found
}
