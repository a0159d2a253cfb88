//! Tests of unreadable files, of files that are not plugins, and of unusual but valid files.

use super::case::{ONE, with_a};
use super::size_limits::megabytes;
use crate::support::Workspace;

/// The error names a configuration file without read permission. Skipped for root, who can read
/// every file.
#[test]
fn unreadable_configuration_file_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let w = Workspace::new(&[("main.tf", ONE), ("secret.tf", ONE)]);
    std::fs::set_permissions(
        w.path().join("secret.tf"),
        std::fs::Permissions::from_mode(0o000),
    )
    .unwrap();
    if std::fs::read(w.path().join("secret.tf")).is_ok() {
        cty::testing::skipped(
            "permissions do not bind root here; a link to itself stands for an unreadable file in the table",
        );
        return;
    }
    let run = w.run(&["stage", "--json"]).expect(1);
    let said = run.diagnostics()[0].to_string();
    assert!(
        said.contains("secret.tf") && said.contains("ermission denied"),
        "{said}"
    );
}

/// Unusual file names and contents that are valid.
#[test]
fn unusual_valid_files_are_read() {
    let input = |text: &str| with_a(&format!("  input = \"{text}\"\n"));
    let name = "a".repeat(5_000);
    let good: [(&str, &str, Vec<u8>, u64); 9] = [
        ("an empty file", "main.tf", Vec::new(), 0),
        ("a byte order mark", "main.tf", format!("\u{feff}{}", with_a("")).into_bytes(), 1),
        ("CRLF", "main.tf", with_a("  input = 1\n").replace('\n', "\r\n").into_bytes(), 1),
        ("NUL in a text", "main.tf", input("a\0b").into_bytes(), 1),
        ("a megabyte", "main.tf", input(&"x".repeat(1_000_000)).into_bytes(), 1),
        ("10 MB", "main.tf", (megabytes(10) + &input("${local.a49999}")).into_bytes(), 1),
        (
            "a name of 5,000 characters",
            "main.tf",
            format!("resource \"terraform_data\" \"{name}\" {{}}\noutput \"o\" {{ value = terraform_data.{name}.id }}\n").into_bytes(),
            1,
        ),
        ("400 digits", "main.tf", with_a(&format!("  input = {}\n", "9".repeat(400))).into_bytes(), 1),
        ("a sum of 10,000", "main.tf", with_a(&format!("  input = {}2\n", "1 + ".repeat(10_000))).into_bytes(), 1),
    ];
    for (name, file, bytes, created) in good {
        let w = Workspace::new(&[("x.tf/readme", "a directory is passed over")]);
        std::fs::write(w.path().join(file), bytes).unwrap();
        let run = w.run(&["deploy", "--auto-approve", "--json"]);
        assert_eq!(
            run.code,
            Some(0),
            "{name}: {:?} {:.2000}",
            run.diagnostics(),
            run.stderr
        );
        assert_eq!(run.result()["operations"]["done"], created, "{name}");
        let again = w.run(&["stage", "--json", "--detailed-exitcode"]);
        assert_eq!(
            again.code,
            Some(0),
            "{name}: what was deployed stays as it is"
        );
    }
}

pub(super) const ACME: &str = "terraform {\n  required_providers {\n    x = { source = \"acme/x\" }\n  }\n}\nresource \"x_y\" \"a\" {}\n";

fn executable(w: &Workspace, platform: &str, bytes: &[u8], mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let dir = w.path().join(format!(
        ".terraform/providers/registry.opentofu.org/acme/x/1.0.0/{platform}"
    ));
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("terraform-provider-x_v1.0.0");
    std::fs::write(&file, bytes).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn here() -> &'static str {
    if cfg!(target_arch = "aarch64") {
        "linux_arm64"
    } else {
        "linux_amd64"
    }
}

#[test]
fn plugin_without_execute_permission_differs_from_one_for_another_machine() {
    // First 20 bytes of an ELF file for the IBM S/390, an unsupported architecture.
    let mut other = b"\x7fELF\x02\x02\x01".to_vec();
    other.resize(64, 0);
    other[16..20].copy_from_slice(&[0, 2, 0, 22]);
    let rows: [(&str, &str, &[u8], u32, &str); 3] = [
        (
            "not executable",
            here(),
            b"#!/bin/sh\nexit 0\n",
            0o644,
            "execut",
        ),
        (
            "other architecture",
            here(),
            &other,
            0o755,
            "is built for linux s390x",
        ),
        (
            "other system",
            "plan9_mips",
            b"#!/bin/sh\nexit 0\n",
            0o755,
            "acme/x",
        ),
    ];
    for (name, platform, bytes, mode, says) in rows {
        let w = Workspace::new(&[("main.tf", ACME)]);
        executable(&w, platform, bytes, mode);
        for args in [["stage"], ["plugins"]] {
            let run = w.run(&args).expect(3);
            assert!(run.stderr.to_lowercase().contains(says), "{name}: {run:#?}");
        }
    }
}
