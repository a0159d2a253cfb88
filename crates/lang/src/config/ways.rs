//! How something is to be encrypted, worked out of an `encryption` block.

use std::sync::Arc;

use crate::source::Span;

/// What the encryption of the states of others is called, unless their own is said.
pub const REMOTE_DEFAULT: &str = "remote_state_data_sources.default";
/// What precedes the name of a data source in the word for its own.
pub const REMOTE: &str = "remote_state_data_source.";

/// What is to be encrypted, and how.
#[derive(Clone, Debug)]
pub struct Encrypted {
    /// The word for it: `state`, `plan`, …
    pub what: Arc<str>,
    /// Its block.
    pub span: Span,
    /// The method that writes, and after it those that may have written what is read.
    pub methods: Vec<Method>,
}

/// A way to encrypt something.
#[derive(Clone, Debug)]
pub enum Method {
    /// Not at all.
    Unencrypted,
    /// AES in Galois counter mode.
    AesGcm {
        /// What its key is made of.
        key: Arc<Key>,
        /// What is authenticated beside the text.
        aad: Vec<u8>,
    },
    /// One that is not known here beyond its word.
    Other(Arc<str>),
}

/// A key.
#[derive(Clone)]
pub enum Key {
    /// Derived from a secret.
    Derived {
        /// What its metadata is filed under.
        name: Arc<str>,
        /// The passphrase, or the key that it is made of.
        secret: Secret,
        /// In bytes.
        length: usize,
        /// Rounds.
        iterations: u32,
        /// `sha256` or `sha512`.
        hash: Arc<str>,
        /// In bytes.
        salt_length: usize,
    },
    /// Of a key provider that asks others for it, by its type.
    Remote(Arc<str>),
    /// Written out in the configuration.
    Written,
}

/// What a key is derived from.
#[derive(Clone)]
pub enum Secret {
    /// A text.
    Passphrase(String),
    /// Another key.
    Key(Arc<Key>),
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}
