//! Tests of encrypted files: a file of OpenTofu can be read, written files can be read back, and
//! errors name their reason.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use statefile::StateFile;
use statefile::encryption::{Encryption, EncryptionError, Hash, KeySource, Method, Secret};

fn source(passphrase: &str) -> KeySource {
    KeySource {
        name: "key_provider.pbkdf2.key".to_owned(),
        secret: Secret::Passphrase(passphrase.to_owned()),
        length: 32,
        iterations: 1_000,
        hash: Hash::Sha512,
        salt_length: 32,
    }
}

fn aes(key: KeySource) -> Method {
    Method::AesGcm {
        key,
        aad: Vec::new(),
    }
}

fn plain() -> String {
    let file = StateFile {
        serial: 8,
        lineage: "l".to_owned(),
        ..StateFile::default()
    };
    file.to_line()
}

#[test]
fn encrypted_state_round_trips_with_serial_and_lineage_in_clear() {
    let way = Encryption::new(vec![aes(source("sixteen letters!"))]);
    let sealed = way.encrypt(plain(), 8, "l").unwrap();
    assert!(
        sealed.starts_with(
            "{\"serial\":8,\"lineage\":\"l\",\"meta\":{\"key_provider.pbkdf2.key\":\""
        )
    );
    assert!(sealed.ends_with("\"encryption_version\":\"v0\"}\n"));
    assert_eq!(way.open(sealed.as_bytes()).unwrap(), plain().into_bytes());
    // Decrypted with the configuration only.
    let other = Encryption::new(vec![aes(source("sixteen letters!"))]);
    assert_eq!(other.open(sealed.as_bytes()).unwrap(), plain().into_bytes());
    let again = way.encrypt(plain(), 8, "l").unwrap();
    assert_ne!(again, sealed, "the nonce is another each time");
}

#[test]
fn chained_key_stores_the_metadata_of_both_keys() {
    let chained = KeySource {
        name: "alias".to_owned(),
        secret: Secret::Key(Box::new(source("sixteen letters!"))),
        length: 16,
        hash: Hash::Sha256,
        ..source("")
    };
    let way = Encryption::new(vec![Method::AesGcm {
        key: chained,
        aad: vec![1, 2],
    }]);
    let sealed = way.encrypt(plain(), 8, "l").unwrap();
    assert!(sealed.contains("\"alias\":") && sealed.contains("\"key_provider.pbkdf2.key\":"));
    assert_eq!(way.open(sealed.as_bytes()).unwrap(), plain().into_bytes());
}

#[test]
fn decryption_fails_with_a_reason() {
    let way = Encryption::new(vec![aes(source("sixteen letters!"))]);
    let sealed = way.encrypt(plain(), 8, "l").unwrap();
    let why = |way: &Encryption, text: &str| way.open(text.as_bytes()).unwrap_err();
    let wrong = Encryption::new(vec![aes(source("another passphrase"))]);
    assert!(matches!(why(&wrong, &sealed), EncryptionError::WrongKey));
    let renamed = Encryption::new(vec![aes(KeySource {
        name: "key_provider.pbkdf2.other".to_owned(),
        ..source("sixteen letters!")
    })]);
    assert!(matches!(why(&renamed, &sealed), EncryptionError::NoKey(_)));
    assert!(matches!(why(&way, &plain()), EncryptionError::Plain));
    let moved = sealed.replacen("\"serial\":8", "\"serial\":9", 1);
    assert!(matches!(why(&way, &moved), EncryptionError::Tampered));
    for (from, to) in [
        ("\"v0\"", "\"v1\""),
        ("\"encrypted_data\":\"", "\"encrypted_data\":\"?"),
    ] {
        let damaged = sealed.replacen(from, to, 1);
        assert!(
            matches!(why(&way, &damaged), EncryptionError::Envelope(_)),
            "{to}"
        );
    }
}

#[test]
fn fallback_method_decrypts_and_the_first_method_encrypts() {
    let begun = Encryption::new(vec![aes(source("sixteen letters!")), Method::Unencrypted]);
    assert_eq!(
        begun.open(plain().as_bytes()).unwrap(),
        plain().into_bytes()
    );
    assert!(begun.encrypts());
    let sealed = begun.encrypt(plain(), 8, "l").unwrap();
    let ended = Encryption::new(vec![Method::Unencrypted, aes(source("sixteen letters!"))]);
    assert_eq!(ended.open(sealed.as_bytes()).unwrap(), plain().into_bytes());
    assert!(!ended.encrypts());
    assert_eq!(ended.encrypt(plain(), 8, "l").unwrap(), plain());
    let rotated = Encryption::new(vec![
        aes(source("another passphrase")),
        aes(source("sixteen letters!")),
    ]);
    assert_eq!(
        rotated.open(sealed.as_bytes()).unwrap(),
        plain().into_bytes()
    );
}

#[test]
fn excessive_key_derivation_work_is_rejected_quickly() {
    let way = Encryption::new(vec![aes(source("sixteen letters!"))]);
    let sealed = way.encrypt(plain(), 8, "l").unwrap();
    let mut envelope: serde_json::Value = serde_json::from_str(&sealed).unwrap();
    let name = "key_provider.pbkdf2.key";
    for (iterations, key_length) in [
        (4_294_967_295_u64, 32_u64),
        (600_000, 1 << 40),
        (600_000, u64::MAX),
        (1, 1 << 17),
        (200_000_001, 1),
        (600_000, 1 << 16),
    ] {
        let how = format!(
            "{{\"salt\":\"AAAA\",\"iterations\":{iterations},\"hash_function\":\"sha512\",\"key_length\":{key_length}}}"
        );
        envelope["meta"][name] = STANDARD.encode(how).into();
        let began = std::time::Instant::now();
        let refused = way.open(envelope.to_string().as_bytes()).unwrap_err();
        assert!(
            matches!(refused, EncryptionError::TooMuchWork { .. }),
            "{iterations} {key_length}: {refused}"
        );
        assert!(began.elapsed().as_secs() < 5, "{iterations} {key_length}");
    }
}
