//! Detached OpenPGP signatures as registries use them: version 4 keys and signatures, RSA or
//! Ed25519, SHA-2. A library does the cryptography.
//!
//! No OpenPGP crate, because of its weight: `pgp` 0.21 without its default features adds 98 crates
//! (38 of them in no other version here), with cryptography beside aws-lc for algorithms that no
//! registry uses. `sequoia-openpgp` has the LGPL, which `deny.toml` refuses.

mod error;

pub use error::SignatureError;

use aws_lc_rs::digest;
use aws_lc_rs::signature::{
    ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine as _;
use sha2::Digest as _;

/// Packet tags.
const SIGNATURE: u8 = 2;
const KEY: u8 = 6;
const SUBKEY: u8 = 14;
/// Signature types.
const BINARY_SIGNATURE: u8 = 0x00;
const SUBKEY_BINDING: u8 = 0x18;
const REVOKED: u8 = 0x20;
/// Signature types that a key makes about itself.
const SELF_SIGNATURES: [u8; 5] = [0x10, 0x11, 0x12, 0x13, 0x1f];
/// Subpacket types.
const CREATED: u8 = 2;
const KEY_EXPIRES: u8 = 9;
/// OID of Ed25519 in the older key format.
const ED25519_OID: [u8; 9] = [0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];

/// Signer of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signer {
    /// Key id, in hex.
    pub key: String,
    /// True if the key has expired.
    pub expired: bool,
}

/// Verifies a signature and returns the key that made it. `now` is in seconds since 1970.
///
/// # Errors
/// None of the keys made it, or the data is invalid.
pub fn verify(
    document: &[u8],
    signature: &[u8],
    keys: &[String],
    now: u64,
) -> Result<Signer, SignatureError> {
    let packets = packets(&bytes_of(signature)?)?;
    let signatures: Vec<Sig> = packets
        .iter()
        .filter(|(tag, _)| *tag == SIGNATURE)
        .map(|(_, body)| Sig::read(body))
        .collect::<Result<_, _>>()?;
    let mut why = SignatureError::Unknown;
    // Text signatures cover normalized line ends and not these bytes.
    for sig in signatures.iter().filter(|s| s.kind == BINARY_SIGNATURE) {
        for key in keys.iter().map(|armored| read_keys(armored.as_bytes())) {
            let found = match key {
                Ok(found) => found,
                // One unusable key must not hide the others.
                Err(error) => {
                    why = error;
                    continue;
                }
            };
            for key in &found {
                match key.has_signed(sig, document) {
                    Ok(true) if key.revoked => why = SignatureError::Revoked(key.id.clone()),
                    Ok(true) => {
                        return Ok(Signer {
                            key: key.id.clone(),
                            expired: key.expires.is_some_and(|at| at < now),
                        });
                    }
                    Ok(false) => {}
                    Err(error) => why = error,
                }
            }
        }
    }
    Err(why)
}

/// Decodes ASCII armor, or returns binary data unchanged.
fn bytes_of(text: &[u8]) -> Result<Vec<u8>, SignatureError> {
    let begin = text
        .iter()
        .position(|b| !b.is_ascii_whitespace())
        .unwrap_or(0);
    if !text[begin..].starts_with(b"-----BEGIN PGP") {
        return Ok(text.to_vec());
    }
    let text = std::str::from_utf8(text).map_err(|_| SignatureError::ArmorNotText)?;
    let mut lines = text.trim().lines().skip(1);
    // Armor headers end with an empty line.
    lines.by_ref().find(|line| line.trim().is_empty());
    let mut packed = String::new();
    for line in lines {
        let line = line.trim();
        // The armor checksum, or the end.
        if line.starts_with('=') || line.starts_with('-') {
            break;
        }
        packed.push_str(line);
    }
    Ok(base64::engine::general_purpose::STANDARD.decode(packed)?)
}

/// Parses packets: tag and body.
fn packets(mut rest: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, SignatureError> {
    let mut out = Vec::new();
    let short = || SignatureError::CutOff("it");
    let number = |bytes: Option<&[u8]>| -> Result<usize, SignatureError> {
        let bytes = bytes.ok_or_else(short)?;
        Ok(bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b)))
    };
    while let Some(&first) = rest.first() {
        if first & 0x80 == 0 {
            return Err(SignatureError::NotOpenPgp);
        }
        let (tag, head, length) = if first & 0x40 == 0 {
            // In the old format, the lowest bits are the size of the length field.
            let size = match first & 3 {
                0 => 1,
                1 => 2,
                2 => 4,
                _ => return Err(SignatureError::NoLength),
            };
            ((first >> 2) & 15, 1 + size, number(rest.get(1..1 + size))?)
        } else {
            let second = *rest.get(1).ok_or_else(short)?;
            let (head, length) = match second {
                0..192 => (2, usize::from(second)),
                192..224 => {
                    let third = *rest.get(2).ok_or_else(short)?;
                    (
                        3,
                        (usize::from(second) - 192) * 256 + usize::from(third) + 192,
                    )
                }
                255 => (6, number(rest.get(2..6))?),
                _ => return Err(SignatureError::InParts),
            };
            (first & 63, head, length)
        };
        let body = rest
            .get(head..)
            .and_then(|r| r.get(..length))
            .ok_or_else(short)?;
        out.push((tag, body.to_vec()));
        rest = &rest[head + length..];
    }
    Ok(out)
}

/// OpenPGP multiprecision integer, and the rest.
fn mpi(bytes: &[u8]) -> Result<(&[u8], &[u8]), SignatureError> {
    let short = || SignatureError::CutOff("one of its numbers");
    let bits = bytes.get(..2).ok_or_else(short)?;
    let length = (usize::from(bits[0]) << 8 | usize::from(bits[1])).div_ceil(8);
    let body = bytes.get(2..2 + length).ok_or_else(short)?;
    Ok((body, &bytes[2 + length..]))
}

/// Pads a number with leading zeros.
fn padded(number: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length.saturating_sub(number.len())];
    out.extend_from_slice(number);
    out
}

/// Signature packet.
struct Sig {
    kind: u8,
    algorithm: u8,
    hash: u8,
    /// Bytes of the signature that it covers itself.
    head: Vec<u8>,
    /// Hashed subpackets by type.
    parts: Vec<(u8, Vec<u8>)>,
    numbers: Vec<u8>,
}

impl Sig {
    fn read(body: &[u8]) -> Result<Self, SignatureError> {
        let short = || SignatureError::CutOff("the signature");
        let &[version, kind, algorithm, hash, high, low, ..] = body else {
            return Err(short());
        };
        if version != 4 {
            return Err(SignatureError::SignatureVersion(version));
        }
        let length = usize::from(high) << 8 | usize::from(low);
        let head = body.get(..6 + length).ok_or_else(short)?;
        let rest = &body[6 + length..];
        let other = rest.get(..2).ok_or_else(short)?;
        let other = usize::from(other[0]) << 8 | usize::from(other[1]);
        // Skips two bytes of the digest, which only serve as a quick check.
        let numbers = rest.get(2 + other + 2..).ok_or_else(short)?;
        Ok(Self {
            kind,
            algorithm,
            hash,
            head: head.to_vec(),
            parts: parts(&head[6..])?,
            numbers: numbers.to_vec(),
        })
    }

    /// Signed message: the document with the trailer of the signature.
    fn message(&self, document: &[u8]) -> Vec<u8> {
        let length = u32::try_from(self.head.len()).unwrap_or(u32::MAX);
        [document, &self.head, &[4, 0xff], &length.to_be_bytes()].concat()
    }

    fn part(&self, kind: u8) -> Option<u64> {
        let (_, bytes) = self.parts.iter().find(|(k, _)| *k == kind)?;
        Some(bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    }
}

fn parts(mut rest: &[u8]) -> Result<Vec<(u8, Vec<u8>)>, SignatureError> {
    let mut out = Vec::new();
    let short = || SignatureError::CutOff("one of its subpackets");
    while let Some(&first) = rest.first() {
        let (head, length) = match first {
            0..192 => (1, usize::from(first)),
            192..255 => {
                let second = *rest.get(1).ok_or_else(short)?;
                (
                    2,
                    (usize::from(first) - 192) * 256 + usize::from(second) + 192,
                )
            }
            255 => {
                let bytes = rest.get(1..5).ok_or_else(short)?;
                (5, bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b)))
            }
        };
        let body = rest
            .get(head..)
            .and_then(|r| r.get(..length))
            .ok_or_else(short)?;
        let (&kind, content) = body.split_first().ok_or_else(short)?;
        // The highest bit only marks a subpacket as critical.
        out.push((kind & 0x7f, content.to_vec()));
        rest = &rest[head + length..];
    }
    Ok(out)
}

/// Public key packet.
struct Key {
    id: String,
    body: Vec<u8>,
    algorithm: u8,
    numbers: Vec<u8>,
    created: u64,
    expires: Option<u64>,
    revoked: bool,
}

impl Key {
    fn read(body: &[u8]) -> Result<Self, SignatureError> {
        let &[version, a, b, c, d, algorithm, ref numbers @ ..] = body else {
            return Err(SignatureError::CutOff("a key"));
        };
        if version != 4 {
            return Err(SignatureError::KeyVersion(version));
        }
        let mut print = sha1::Sha1::new();
        print.update(framed(body));
        // The key id is the end of the fingerprint.
        let id = hex::encode_upper(&print.finalize()[12..]);
        Ok(Self {
            id,
            body: body.to_vec(),
            algorithm,
            numbers: numbers.to_vec(),
            created: u64::from(u32::from_be_bytes([a, b, c, d])),
            expires: None,
            revoked: false,
        })
    }

    /// Returns true if this key signed these bytes.
    fn has_signed(&self, sig: &Sig, bytes: &[u8]) -> Result<bool, SignatureError> {
        let message = sig.message(bytes);
        match (self.algorithm, sig.algorithm) {
            // 1 and 3 are RSA, 22 is Ed25519.
            (1 | 3, 1 | 3) => self.rsa(sig, &message),
            (22, 22) => self.ed25519(sig, &message),
            (1 | 3 | 22, _) => Ok(false),
            (kind, theirs) if kind == theirs => Err(SignatureError::Kind {
                key: self.id.clone(),
                kind,
            }),
            _ => Ok(false),
        }
    }

    fn rsa(&self, sig: &Sig, message: &[u8]) -> Result<bool, SignatureError> {
        let kind = match sig.hash {
            8 => &RSA_PKCS1_2048_8192_SHA256,
            9 => &RSA_PKCS1_2048_8192_SHA384,
            10 => &RSA_PKCS1_2048_8192_SHA512,
            other => return Err(SignatureError::Digest(other)),
        };
        let (n, rest) = mpi(&self.numbers)?;
        let (e, _) = mpi(rest)?;
        let (signature, _) = mpi(&sig.numbers)?;
        let signature = padded(signature, n.len());
        Ok(RsaPublicKeyComponents { n, e }
            .verify(kind, message, &signature)
            .is_ok())
    }

    fn ed25519(&self, sig: &Sig, message: &[u8]) -> Result<bool, SignatureError> {
        let kind = match sig.hash {
            8 => &digest::SHA256,
            9 => &digest::SHA384,
            10 => &digest::SHA512,
            other => return Err(SignatureError::Digest(other)),
        };
        let after = self
            .numbers
            .strip_prefix(&[9])
            .and_then(|n| n.strip_prefix(&ED25519_OID));
        let Some(after) = after else {
            return Err(SignatureError::Curve(self.id.clone()));
        };
        let (point, _) = mpi(after)?;
        let Some(point) = point.strip_prefix(&[0x40]).filter(|p| p.len() == 32) else {
            return Err(SignatureError::Point(self.id.clone()));
        };
        let (r, rest) = mpi(&sig.numbers)?;
        let (s, _) = mpi(rest)?;
        // Both are stored without leading zeros.
        let signature = [padded(r, 32), padded(s, 32)].concat();
        // OpenPGP signs the digest of the message with Ed25519, not the message.
        let digest = digest::digest(kind, message);
        let key = UnparsedPublicKey::new(&ED25519, point);
        Ok(key.verify(digest.as_ref(), &signature).is_ok())
    }
}

/// Key packet in the form that signatures cover.
fn framed(body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap_or(u16::MAX);
    [&[0x99][..], &length.to_be_bytes(), body].concat()
}

/// Parses the primary key of a block, and the subkeys it certifies.
fn read_keys(armored: &[u8]) -> Result<Vec<Key>, SignatureError> {
    let mut keys: Vec<Key> = Vec::new();
    let mut subkey: Option<Key> = None;
    for (tag, body) in packets(&bytes_of(armored)?)? {
        match tag {
            KEY => keys.push(Key::read(&body)?),
            SUBKEY => subkey = Key::read(&body).ok(),
            SIGNATURE => {
                let Some(primary) = keys.first_mut() else {
                    continue;
                };
                // Signatures of other keys may use unsupported versions.
                let Ok(sig) = Sig::read(&body) else { continue };
                if sig.kind == SUBKEY_BINDING {
                    let Some(mut key) = subkey.take() else {
                        continue;
                    };
                    let bytes = [framed(&primary.body), framed(&key.body)].concat();
                    if primary.has_signed(&sig, &bytes).unwrap_or(false) {
                        key.expires = sig.part(KEY_EXPIRES).map(|after| key.created + after);
                        keys.push(key);
                    }
                } else if sig.kind == REVOKED {
                    primary.revoked = primary
                        .has_signed(&sig, &framed(&primary.body))
                        .unwrap_or(false);
                } else if SELF_SIGNATURES.contains(&sig.kind)
                    && let (Some(after), Some(_)) = (sig.part(KEY_EXPIRES), sig.part(CREATED))
                {
                    primary.expires = Some(primary.created + after).filter(|_| after > 0);
                }
            }
            _ => {}
        }
    }
    match keys.is_empty() {
        true => Err(SignatureError::NoKey),
        false => Ok(keys),
    }
}

#[cfg(test)]
mod tests;
