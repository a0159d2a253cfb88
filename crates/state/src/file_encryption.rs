//! Encryption methods of a configuration for plan files and for states read from other workspaces.
//! Methods that are not supported are reported when they are needed.

use statefile::encryption::{Encryption, EncryptionError, Method, is_encrypted};

/// Reasons why a file cannot be encrypted or decrypted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CipherError {
    #[error(transparent)]
    Encryption(#[from] EncryptionError),
    #[error("encryption {0} is not supported; use pbkdf2 and aes_gcm")]
    Unknown(#[source] UnknownMethod),
}

/// Unsupported encryption method or key provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMethod {
    #[error("with the method {0:?}")]
    Method(String),
    #[error("with a key of the key provider {0:?}")]
    Provider(String),
    #[error("with a key given as text")]
    WrittenKey,
}

/// The supported methods, and the first unsupported one.
#[derive(Debug, Clone, Default)]
pub struct FileEncryption {
    encryption: Encryption,
    unknown_method: Option<UnknownMethod>,
    /// The unsupported method is the one that encrypts.
    reads_only: bool,
}

impl FileEncryption {
    /// First the method that encrypts, then its fallbacks for reading.
    #[must_use]
    pub fn new(methods: Vec<Result<Method, UnknownMethod>>) -> Self {
        Self {
            unknown_method: methods.iter().find_map(|one| one.clone().err()),
            reads_only: methods.first().is_some_and(Result::is_err),
            encryption: Encryption::new(methods.into_iter().flatten().collect()),
        }
    }

    /// Decrypts a file.
    ///
    /// # Errors
    /// It was encrypted by another method, or is plain although encryption is required.
    pub fn open(&self, file: Vec<u8>) -> Result<Vec<u8>, CipherError> {
        // An empty file has nothing to decrypt.
        if file.iter().all(u8::is_ascii_whitespace) {
            return Ok(file);
        }
        match (self.encryption.open(&file), &self.unknown_method) {
            // With no supported method left, `known` accepts plain text, which the configuration
            // may forbid.
            (Ok(text), Some(_)) if is_encrypted(&file) || self.encryption.has_methods() => {
                Ok(text.into_owned())
            }
            (_, Some(lacks)) => Err(CipherError::Unknown(lacks.clone())),
            (opened, None) => Ok(opened?.into_owned()),
        }
    }

    /// Encrypts a text for a file.
    ///
    /// # Errors
    /// The method that encrypts is not supported.
    pub fn encrypt(&self, text: String) -> Result<String, CipherError> {
        if let Some(lacks) = self.unknown_method.as_ref().filter(|_| self.reads_only) {
            return Err(CipherError::Unknown(lacks.clone()));
        }
        Ok(self.encryption.encrypt(text, 0, "")?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;
    use statefile::encryption::{Hash, KeySource, Secret};

    fn aes(passphrase: &str) -> Result<Method, UnknownMethod> {
        Ok(Method::AesGcm {
            key: KeySource {
                name: "key_provider.pbkdf2.k".to_owned(),
                secret: Secret::Passphrase(passphrase.to_owned()),
                length: 32,
                iterations: 200_000,
                hash: Hash::Sha256,
                salt_length: 32,
            },
            aad: Vec::new(),
        })
    }

    fn unknown() -> Result<Method, UnknownMethod> {
        Err(UnknownMethod::Provider("aws_kms".to_owned()))
    }

    #[test]
    fn decryption_fails_with_another_key() {
        let ours = FileEncryption::new(vec![aes("sixteen letters!")]);
        let sealed = ours.encrypt("{\"a\":1}".to_owned()).unwrap();
        assert!(is_encrypted(sealed.as_bytes()), "{sealed}");
        assert_eq!(
            ours.open(sealed.clone().into_bytes()).unwrap(),
            b"{\"a\":1}"
        );
        let others = FileEncryption::new(vec![aes("another sixteen.")]);
        assert!(others.open(sealed.clone().into_bytes()).is_err());
        assert!(FileEncryption::default().open(sealed.into_bytes()).is_err());
        assert!(ours.open(b"{}".to_vec()).is_err(), "it is plain");
        assert_eq!(
            FileEncryption::default().open(b"{}".to_vec()).unwrap(),
            b"{}"
        );
    }

    #[test]
    fn unsupported_encryption_method_is_named_only_when_needed() {
        let begun = FileEncryption::new(vec![unknown(), aes("sixteen letters!")]);
        let sealed = FileEncryption::new(vec![aes("sixteen letters!")]).encrypt("{}".to_owned());
        assert_eq!(begun.open(sealed.unwrap().into_bytes()).unwrap(), b"{}");
        assert!(
            begun
                .encrypt("{}".to_owned())
                .unwrap_err()
                .to_string()
                .contains("aws_kms")
        );
        let alone = FileEncryption::new(vec![unknown()]);
        for file in [
            &b"{}"[..],
            br#"{"meta":{},"encrypted_data":"","encryption_version":"v0"}"#,
        ] {
            let error = alone.open(file.to_vec()).unwrap_err();
            assert!(error.to_string().contains("aws_kms"), "{error}");
        }
        let left = FileEncryption::new(vec![Ok(Method::Unencrypted), unknown()]);
        assert_eq!(left.open(b"{}".to_vec()).unwrap(), b"{}");
        assert_eq!(left.encrypt("{}".to_owned()).unwrap(), "{}");
    }
}
