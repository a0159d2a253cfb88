#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use super::*;
use std::path::Path;
use std::process::Command;

fn gpg(home: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new("gpg")
        .args([
            "--batch",
            "--quiet",
            "--no-tty",
            "--passphrase",
            "",
            "--pinentry-mode",
            "loopback",
        ])
        .args(args)
        .env("GNUPGHOME", home)
        .current_dir(home)
        .output()
        .ok()?;
    output.status.success().then_some(output.stdout)
}

#[test]
fn verify_accepts_only_valid_gnupg_signatures() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    std::fs::write(home.join("doc"), "the document").unwrap();
    for kind in ["rsa2048", "ed25519"] {
        let name = format!("{kind}@example.com");
        if gpg(
            home,
            &["--quick-generate-key", &name, kind, "sign", "never"],
        )
        .is_none()
        {
            println!("skipped: what gnupg signs: there is no gpg that makes keys");
            return;
        }
        let key = String::from_utf8(gpg(home, &["--armor", "--export", &name]).unwrap()).unwrap();
        let sign = |armor: &[&str], digest: &str| {
            let args = [
                armor,
                &[
                    "--local-user",
                    &name,
                    "--digest-algo",
                    digest,
                    "--detach-sign",
                    "--output",
                    "-",
                    "doc",
                ],
            ]
            .concat();
            gpg(home, &args).unwrap()
        };
        for signature in [sign(&[], "SHA256"), sign(&["--armor"], "SHA512")] {
            let keys = [key.clone()];
            let signer = verify(b"the document", &signature, &keys, 0).unwrap();
            assert_eq!((signer.key.len(), signer.expired), (16, false));
            for (document, signature, keys) in [
                (&b"another one"[..], &signature[..], &keys[..]),
                (b"the document", &signature[..signature.len() / 2], &keys),
                (b"the document", &signature, &[]),
                (b"the document", b"", &keys),
                (b"the document", b"no signature", &keys),
            ] {
                verify(document, signature, keys, 0).unwrap_err();
            }
        }
    }
    // A subkey may sign if its primary key certifies it.
    let name = "sub@example.com";
    gpg(
        home,
        &["--quick-generate-key", name, "rsa2048", "cert", "1y"],
    )
    .unwrap();
    let listed = gpg(home, &["--list-keys", "--with-colons", name]).unwrap();
    let listed = String::from_utf8(listed).unwrap();
    let print = listed
        .lines()
        .find_map(|l| l.strip_prefix("fpr:::::::::"))
        .unwrap();
    let print = print.trim_end_matches(':');
    gpg(home, &["--quick-add-key", print, "rsa2048", "sign", "1y"]).unwrap();
    let key = String::from_utf8(gpg(home, &["--armor", "--export", name]).unwrap()).unwrap();
    let signature = gpg(
        home,
        &[
            "--local-user",
            name,
            "--detach-sign",
            "--output",
            "-",
            "doc",
        ],
    )
    .unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let keys = [key];
    assert!(
        !verify(b"the document", &signature, &keys, now)
            .unwrap()
            .expired
    );
    let later = now + 3 * 365 * 24 * 3600;
    assert!(
        verify(b"the document", &signature, &keys, later)
            .unwrap()
            .expired
    );
    // The agent of gpg would outlive the directory.
    Command::new("gpgconf")
        .args(["--kill", "all"])
        .env("GNUPGHOME", home)
        .output()
        .ok();
}

#[test]
fn verify_rejects_malformed_signatures() {
    for bytes in [
        &b"\x88"[..],
        b"\xc2\xff\xff\xff\xff\xff",
        b"\x00",
        b"-----BEGIN PGP SIGNATURE-----\n\n*\n",
    ] {
        assert!(
            verify(
                b"x",
                bytes,
                &["-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n\n".to_owned()],
                0
            )
            .is_err()
        );
    }
}
