//! `rsadecrypt`: PKCS #1 v1.5 with a private key in PEM. Not constant-time, because the operator
//! owns both key and result.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cty::{Type, Value};
use dashu_int::UBig;

use super::call::{CallError, Function, Param, text};

/// Maximum key size, because decryption time grows with its cube.
const MAX_KEY_BITS: usize = 16_384;

/// Reasons why a text is not a usable private key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum KeyError {
    #[error("failed to parse key: no key found")]
    NotFound,
    #[error(
        "failed to parse key: password protected keys are not supported. Please decrypt the key prior to use"
    )]
    Encrypted,
    #[error("failed to parse key: the content is not Base64")]
    NotBase64,
    #[error("failed to parse key: invalid ASN1 data in the given private key")]
    NotAsn1,
    #[error("failed to parse key: keys of kind {0:?} are not supported, only RSA")]
    Kind(String),
}

/// Modulus and private exponent.
struct Key {
    modulus: UBig,
    exponent: UBig,
}

pub(super) fn rsadecrypt() -> Function {
    let params = vec![
        Param::new("ciphertext", Type::String),
        Param::new("privatekey", Type::String),
    ];
    Function::new(params, Type::String, |args, _, _| {
        // Go's decoder ignores line breaks.
        let encoded: String = text(args, 0)?
            .chars()
            .filter(|c| !matches!(c, '\r' | '\n'))
            .collect();
        let cipher = STANDARD.decode(&encoded).map_err(|_| {
            CallError::arg(
                0,
                "failed to decode input: cipher text must be base64-encoded",
            )
        })?;
        let key = key(text(args, 1)?).map_err(|e| CallError::arg(1, e.to_string()))?;
        let plain = decrypt(&key, &cipher).ok_or_else(|| {
            CallError::call("failed to decrypt: the text was not encrypted with this key")
        })?;
        String::from_utf8(plain)
            .map(Value::from)
            .map_err(|_| CallError::call("the decrypted data is not valid UTF-8"))
    })
    .not_null()
}

/// Parses a PEM key in PKCS #1 or PKCS #8 form.
fn key(pem: &str) -> Result<Key, KeyError> {
    let (begin, rest) = pem.split_once("-----BEGIN ").ok_or(KeyError::NotFound)?;
    let _ = begin;
    let (kind, rest) = rest.split_once("-----").ok_or(KeyError::NotFound)?;
    let (body, _) = rest.split_once("-----END").ok_or(KeyError::NotFound)?;
    // Older keys name their encryption in a header line of the body.
    if body.contains("ENCRYPTED") || kind.contains("ENCRYPTED") {
        return Err(KeyError::Encrypted);
    }
    let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    let der = STANDARD.decode(body).map_err(|_| KeyError::NotBase64)?;
    match kind {
        "RSA PRIVATE KEY" => pkcs1(&der).ok_or(KeyError::NotAsn1),
        "PRIVATE KEY" => {
            // PKCS #8: version, algorithm, then the PKCS #1 key as an octet string.
            let mut outer = Der(&der);
            let mut inside = Der(outer.take(0x30).ok_or(KeyError::NotAsn1)?);
            inside.take(0x02).ok_or(KeyError::NotAsn1)?;
            inside.take(0x30).ok_or(KeyError::NotAsn1)?;
            pkcs1(inside.take(0x04).ok_or(KeyError::NotAsn1)?).ok_or(KeyError::NotAsn1)
        }
        other => Err(KeyError::Kind(other.to_owned())),
    }
}

fn pkcs1(der: &[u8]) -> Option<Key> {
    let mut outer = Der(der);
    // Version, modulus, public exponent, private exponent; the primes after them are not needed.
    let mut inside = Der(outer.take(0x30)?);
    inside.take(0x02)?;
    let modulus = UBig::from_be_bytes(inside.take(0x02)?);
    inside.take(0x02)?;
    let exponent = UBig::from_be_bytes(inside.take(0x02)?);
    let bits = modulus.to_be_bytes().len() * 8;
    (64..=MAX_KEY_BITS)
        .contains(&bits)
        .then_some(Key { modulus, exponent })
}

/// Sequence of DER elements.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The content of the next element, if it has this tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (&found, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let mut length = usize::from(first);
        // With the high bit set, the low bits count the bytes of the length.
        if first & 0x80 != 0 {
            let count = usize::from(first & 0x7F);
            if count == 0 || count > 4 || rest.len() < count {
                return None;
            }
            length = rest[..count]
                .iter()
                .fold(0, |n, b| n << 8 | usize::from(*b));
            rest = &rest[count..];
        }
        if found != tag || rest.len() < length {
            return None;
        }
        let (content, behind) = rest.split_at(length);
        self.0 = behind;
        Some(content)
    }
}

/// Decrypts a message of the form 0, 2, at least eight nonzero bytes, 0, text.
fn decrypt(key: &Key, cipher: &[u8]) -> Option<Vec<u8>> {
    let length = key.modulus.to_be_bytes().len();
    let number = UBig::from_be_bytes(cipher);
    if cipher.len() > length || number >= key.modulus {
        return None;
    }
    let bytes = power(&number, &key.exponent, &key.modulus).to_be_bytes();
    // The number has no leading zeros, but the block has a fixed length.
    let mut block = vec![0u8; length.checked_sub(bytes.len())?];
    block.extend_from_slice(&bytes);
    if block.len() < 11 || block[0] != 0 || block[1] != 2 {
        return None;
    }
    let end = block[2..].iter().position(|b| *b == 0)?;
    (end >= 8).then(|| block[2 + end + 1..].to_vec())
}

fn power(base: &UBig, exponent: &UBig, modulus: &UBig) -> UBig {
    // Square and multiply, from the highest bit on.
    let mut result = UBig::ONE;
    for byte in exponent.to_be_bytes().iter() {
        for bit in (0..8).rev() {
            result = &result * &result % modulus;
            if byte >> bit & 1 == 1 {
                result = &result * base % modulus;
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsa_decrypts_a_message_with_its_key() {
        let key = key(KEY).unwrap();
        let cipher = STANDARD.decode(CIPHER).unwrap();
        assert_eq!(
            decrypt(&key, &cipher).as_deref(),
            Some(&b"a small secret"[..])
        );
        assert_eq!(decrypt(&key, &cipher[1..]), None);
    }

    #[test]
    fn malformed_rsa_keys_are_rejected() {
        for text in [
            "",
            "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC",
        ] {
            assert!(super::key(text).is_err(), "{text}");
        }
    }

    const KEY: &str = "\
-----BEGIN RSA PRIVATE KEY-----\n\
MIIBzAIBAAJhALXmWM99okckHvKOBGcHBimUZ5N02MMsAkAL19vTcx8HgtL0ZMra\n\
x8LUojOndi26bNwOywOOH/mWArrtbbvZQzT0HNlWTSnfQ0WdhkW1R9DuUXMWsHSo\n\
mXXnKa0FEC7B0QIDAQABAmEAqRil3t2wCepuSpXzScOh2u13DAFHsMgsn1VjKZv8\n\
HRBicbF4MYwIv/njf5lhp0jxcAby+GObhdDU50peL25syVWeW/5AaaCwUKOadkuZ\n\
YhYwUfJ/wethJUXdficOUc8BAjEA5O7Y3qj0fDPnmdWq8WZltcc9RjJ95PGL0Hga\n\
LbzeQdp5aEoXe3fPopac6Y7mtWKJAjEAy2fwIUVLUVyus5N6I8vpg/BITCy3UZA9\n\
ekXdeKPrtiygFp69F3cQ2kKr+b+ghTMJAjEAxNSiu5XyVpNd7kLqLZFHo6nBAgjJ\n\
ez0+Y6fPgkGfqmkH92W0mOBjMjxifuDxdURZAjEAriqNXq+q0jv+Cx2YU9ZiWOsB\n\
vNf9EAXl3jC8dnRFfHOxkCzT1KfK8lhsUSlYFTWhAjAEtWnTkByb2h1Iu6pFc4Yy\n\
v+DTPQcNbOIEZlC09qT3lmb81BD0LbSL3TSas7sx0Fw=\n\
-----END RSA PRIVATE KEY-----\n\
";
    const CIPHER: &str = "sAYk7WVUzkUzxQOCohMH6EvzWuXgvsDzNWj+PnW6UNV3of5t8eu7b+B6q5fDDjSkHoX53nMeYLTzUAzaqpd9lF3tSeoVF0PwhROClmjz3BrfkVySxgs4UVKZ6N0zoPXX";
}
