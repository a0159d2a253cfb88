//! Encryption of the state, plan files and remote states, from the `encryption` block and
//! `TF_ENCRYPTION`.

use lang::config::{self, Encrypted, REMOTE, REMOTE_DEFAULT};
use lang::diag::{Diagnostic, Diagnostics};
use provider::builtin::RemoteStates;
use state::{FileEncryption, UnknownMethod};
use statefile::encryption::{Encryption, Hash, KeySource, Method, Secret};

/// Encryption of the state. Reports an unsupported method if it encrypts; ignores unsupported
/// fallbacks.
pub(super) fn state(encrypted: &[Encrypted], diags: &mut Diagnostics) -> Encryption {
    let Some(state) = encrypted.iter().find(|one| &*one.target == "state") else {
        return Encryption::default();
    };
    let mut methods = Vec::new();
    // The first method encrypts; the others only decrypt.
    for (at, method) in state.methods.iter().enumerate() {
        match known_method(method) {
            Ok(method) => methods.push(method),
            Err(why) if at == 0 => {
                let detail = format!(
                    "The configuration requires state encryption {why}, which flightdeck does not support. Use pbkdf2 and aes_gcm. Nothing was done, because the state would be stored as plain text."
                );
                let error = Diagnostic::error("Encryption is not supported", detail);
                diags.push(error.at(state.span));
            }
            Err(_) => {}
        }
    }
    Encryption::new(methods)
}

/// Encryption of plan files.
pub(super) fn plans(encrypted: &[Encrypted]) -> FileEncryption {
    let plan = encrypted.iter().find(|one| &*one.target == "plan");
    plan.map(ciphers).unwrap_or_default()
}

/// Encryption of remote states.
pub(super) fn remote_state_encryption(encrypted: &[Encrypted]) -> RemoteStates {
    let mut out = RemoteStates::default();
    for one in encrypted {
        if &*one.target == REMOTE_DEFAULT {
            out.default = ciphers(one);
        } else if let Some(name) = one.target.strip_prefix(REMOTE) {
            out.by_name.insert(name.to_owned(), ciphers(one));
        }
    }
    out
}

fn ciphers(one: &Encrypted) -> FileEncryption {
    FileEncryption::new(one.methods.iter().map(known_method).collect())
}

fn known_method(method: &config::Method) -> Result<Method, UnknownMethod> {
    match method {
        config::Method::Unencrypted => Ok(Method::Unencrypted),
        config::Method::AesGcm { key, aad } => Ok(Method::AesGcm {
            key: source(key)?,
            aad: aad.clone(),
        }),
        config::Method::Other(kind) => Err(UnknownMethod::Method(kind.to_string())),
    }
}

fn source(key: &config::Key) -> Result<KeySource, UnknownMethod> {
    match key {
        config::Key::Derived {
            name,
            secret,
            length,
            iterations,
            hash,
            salt_length,
        } => Ok(KeySource {
            name: name.to_string(),
            secret: match secret {
                config::Secret::Passphrase(text) => Secret::Passphrase(text.clone()),
                config::Secret::Key(key) => Secret::Key(Box::new(source(key)?)),
            },
            length: *length,
            iterations: *iterations,
            hash: if &**hash == "sha256" {
                Hash::Sha256
            } else {
                Hash::Sha512
            },
            salt_length: *salt_length,
        }),
        config::Key::Remote(kind) => Err(UnknownMethod::Provider(kind.to_string())),
        config::Key::Written => Err(UnknownMethod::WrittenKey),
    }
}
