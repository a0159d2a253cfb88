//! Signatures as registries have them: an OpenPGP key of version 4, made for the test, and detached
//! signatures.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use sha1::Digest as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// Signing key with the name of its owner.
pub(crate) struct Signer {
    pair: RsaKeyPair,
    created: u32,
}

fn mpi(bytes: &[u8]) -> Vec<u8> {
    let begin = bytes.iter().position(|b| *b != 0).unwrap();
    let bytes = &bytes[begin..];
    let bits = bytes.len() * 8 - bytes[0].leading_zeros() as usize;
    [&u16::try_from(bits).unwrap().to_be_bytes()[..], bytes].concat()
}

/// The two integers of a key in DER.
fn numbers(der: &[u8]) -> (&[u8], &[u8]) {
    fn content(der: &[u8]) -> (&[u8], &[u8]) {
        let (head, length) = match usize::from(der[1]) {
            short @ 0..128 => (2, short),
            long => {
                let bytes = &der[2..2 + (long & 127)];
                let length = bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b));
                (2 + bytes.len(), length)
            }
        };
        (&der[head..head + length], &der[head + length..])
    }
    let (both, _) = content(der);
    let (n, rest) = content(both);
    (n, content(rest).0)
}

fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[0xc0 | tag, 255][..], &length, body].concat()
}

impl Signer {
    pub(crate) fn new() -> Self {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs();
        Self {
            pair,
            // An hour ago, because clocks may differ.
            created: u32::try_from(now).unwrap() - 3600,
        }
    }

    fn body(&self) -> Vec<u8> {
        let (n, e) = numbers(self.pair.public_key().as_ref());
        let head = [&[4][..], &self.created.to_be_bytes(), &[1]].concat();
        [head, mpi(n), mpi(e)].concat()
    }

    fn framed(&self) -> Vec<u8> {
        let body = self.body();
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[0x99][..], &length, &body].concat()
    }

    fn id(&self) -> Vec<u8> {
        sha1::Sha1::digest(self.framed())[12..].to_vec()
    }

    /// Key id, as messages show it.
    pub(crate) fn name(&self) -> String {
        hex::encode_upper(self.id())
    }

    fn signature(&self, kind: u8, signed: &[u8]) -> Vec<u8> {
        let created = (self.created + 60).to_be_bytes();
        // Creation time, and the flag of a signing key.
        let parts = [&[5, 2][..], &created, &[2, 27, 3]].concat();
        let length = u16::try_from(parts.len()).unwrap().to_be_bytes();
        let head = [&[4, kind, 1, 8][..], &length, &parts].concat();
        let tail = [
            &[4, 0xff][..],
            &u32::try_from(head.len()).unwrap().to_be_bytes(),
        ]
        .concat();
        let message = [signed, &head, &tail].concat();
        let digest = sha2::Sha256::digest(&message);
        let mut raw = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), &message, &mut raw)
            .unwrap();
        let issuer = [&[0, 10, 9, 16][..], &self.id()].concat();
        packet(2, &[head, issuer, digest[..2].to_vec(), mpi(&raw)].concat())
    }

    /// Detached signature of a document.
    pub(crate) fn sign(&self, document: &[u8]) -> Vec<u8> {
        self.signature(0, document)
    }

    /// Public key in ASCII armor.
    pub(crate) fn armored(&self) -> String {
        let owner = b"Test <test@example.com>";
        let length = u32::try_from(owner.len()).unwrap().to_be_bytes();
        let signed = [&self.framed()[..], &[0xb4], &length, owner].concat();
        let own = self.signature(0x13, &signed);
        let all = [packet(6, &self.body()), packet(13, owner), own].concat();
        let text = base64::engine::general_purpose::STANDARD.encode(&all);
        let lines: Vec<&str> = (0..text.len())
            .step_by(64)
            .map(|at| &text[at..text.len().min(at + 64)])
            .collect();
        format!(
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n{}\n-----END PGP PUBLIC KEY BLOCK-----\n",
            lines.join("\n")
        )
    }
}
