//! Evaluated `encryption` blocks: each encryption target (`state`, `plan`, …) with its methods and
//! keys. Plain data, created by [`super::keys`].

use std::sync::Arc;

use crate::source::Span;

/// Target for the states of remote state data sources without their own target.
pub const REMOTE_DEFAULT: &str = "remote_state_data_sources.default";
/// Prefix of targets for one remote state data source.
pub const REMOTE: &str = "remote_state_data_source.";

/// Encryption target with its methods.
#[derive(Clone, Debug)]
pub struct Encrypted {
    /// Target name: `state`, `plan`, …
    pub target: Arc<str>,
    /// Source position of its block.
    pub span: Span,
    /// The method that writes, followed by the fallback methods for reading.
    pub methods: Vec<Method>,
}

/// Encryption method.
#[derive(Clone, Debug)]
pub enum Method {
    /// No encryption.
    Unencrypted,
    /// AES in Galois counter mode.
    AesGcm {
        /// Key material.
        key: Arc<Key>,
        /// Additional authenticated data.
        aad: Vec<u8>,
    },
    /// Method that this crate does not implement, by name.
    Other(Arc<str>),
}

/// A key.
#[derive(Clone)]
pub enum Key {
    /// Derived from a secret.
    Derived {
        /// Name under which its metadata is stored.
        name: Arc<str>,
        /// Passphrase or key to derive from.
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
    /// Key from a remote key provider, by its type.
    Remote(Arc<str>),
    /// Written out in the configuration.
    Written,
}

/// Input of a key derivation.
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
