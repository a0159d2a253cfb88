//! Tests of the installation of providers from registries, mirrors, directories and the cache, with
//! the lock file.

use super::https_server::{Reply, Server};
use super::pgp_signer::Signer;
use super::registry::{
    archive, checksum_of_another_platform, download, download_information, h1, mirror, package,
    platform, registry, sha256,
};
use super::{run, run_tofu, run_with, tofu};
use crate::support::{Run, Workspace};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Configuration that uses the provider `lab` of a host.
pub(super) fn lab(host: &str, version: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    lab = {{\n      source  = \"{host}/acme/lab\"\n      version = \"{version}\"\n    }}\n  }}\n}}\nprovider \"lab\" {{\n  file = \"cloud.json\"\n}}\nresource \"lab_thing\" \"a\" {{\n  name = \"a\"\n}}\n"
    )
}

fn locked(host: &str, version: &str, constraints: &str, hashes: &[String]) -> String {
    let mut hashes = hashes.to_vec();
    hashes.sort();
    let lines: String = hashes.iter().map(|h| format!("    \"{h}\",\n")).collect();
    format!(
        "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n\nprovider \"{host}/acme/lab\" {{\n  version     = \"{version}\"\n  constraints = \"{constraints}\"\n  hashes = [\n{lines}  ]\n}}\n"
    )
}

pub(super) const LOCK: &str = ".terraform.lock.hcl";

pub(super) fn installed(w: &Workspace, host: &str, version: &str) -> PathBuf {
    w.path().join(format!(
        ".terraform/providers/{host}/acme/lab/{version}/{}",
        platform()
    ))
}

/// Detail of the only error of a failed run.
fn error(run: Run) -> String {
    let run = run.expect(1);
    let errors: Vec<Value> = run
        .diagnostics()
        .into_iter()
        .filter(|d| d["severity"] == "error")
        .collect();
    let [d] = &errors[..] else { panic!("{run:#?}") };
    format!(
        "{}: {}",
        d["summary"].as_str().unwrap(),
        d["detail"].as_str().unwrap()
    )
}

#[test]
fn provider_is_installed_from_its_registry_verified_locked_and_used() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0", "1.1.0", "1.2.0-beta1"]);
    let host = &server.host;
    let w = Workspace::new(&[("main.tf", &lab(host, "~> 1.0"))]);
    // Before the installation the error names the remedy.
    let before = run(&w, &server, &["stage"]).expect(3);
    assert!(before.stderr.contains("flightdeck init"), "{before:#?}");
    let first = run(&w, &server, &["init"]).expect(0);
    assert!(
        first
            .stderr
            .contains(&format!("1.1.0: installed, signed by {}", signer.name())),
        "{first:#?}"
    );
    let sums = [
        h1("1.1.0"),
        format!("zh:{}", sha256(&package("1.1.0"))),
        format!("zh:{}", checksum_of_another_platform("1.1.0")),
    ];
    assert_eq!(w.read(LOCK), locked(host, "1.1.0", "~> 1.0", &sums));
    run(&w, &server, &["deploy", "--auto-approve"]).expect(0);
    assert!(w.read("cloud.json").contains("\"a\""));
    // An installed and locked provider is not fetched again.
    let asked = server.requested_paths().len();
    let again = run(&w, &server, &["init"]).expect(0);
    assert!(
        again.stderr.contains("1.1.0: already installed"),
        "{again:#?}"
    );
    assert_eq!(server.requested_paths().len(), asked);
    // The locked version stays until `--upgrade`.
    w.write("main.tf", &lab(host, "1.0.0"));
    assert!(error(run(&w, &server, &["init", "--json"])).contains("--upgrade"));
    run(&w, &server, &["init", "--upgrade"]).expect(0);
    assert!(
        w.read(LOCK)
            .contains("version     = \"1.0.0\"\n  constraints = \"1.0.0\"")
    );
    run(&w, &server, &["stage"]).expect(0);
    w.write("main.tf", &lab(host, ">= 2.0.0"));
    let none = error(run(&w, &server, &["init", "--upgrade", "--json"]));
    assert!(none.contains("The newest version is 1.2.0-beta1"), "{none}");
}

#[test]
fn package_that_fails_verification_is_not_installed() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0"]);
    let host = &server.host;
    let key = signer.armored();
    let fails = |words: &str| {
        let w = Workspace::new(&[("main.tf", &lab(host, "1.0.0"))]);
        let told = error(run(&w, &server, &["init", "--json"]));
        assert!(told.contains(words), "{words}: {told}");
        assert!(!installed(&w, host, "1.0.0").exists() && !w.path().join(LOCK).exists());
    };
    let sums = "/packages/1.0.0/SHA256SUMS";
    let signature = format!("{sums}.sig");
    let stranger = Signer::new();
    let list = format!(
        "{}  terraform-provider-lab_1.0.0_{}.zip\n",
        sha256(&package("1.0.0")),
        platform()
    );
    // A checksum list with another signer, a changed list, and a list without the package.
    server.answer(sums, Reply::bytes(list.clone()));
    server.answer(&signature, Reply::bytes(stranger.sign(list.as_bytes())));
    fails("signature of the checksums");
    server.answer(&signature, Reply::bytes(signer.sign(b"another list")));
    fails("signature of the checksums");
    server.answer(sums, Reply::bytes("00  other.zip\n"));
    fails("has no entry for terraform-provider-lab");
    registry(&server, &signer, &["1.0.0"]);
    // A missing key, another archive, and an archive with paths that lead outside.
    server.answer(
        &download("1.0.0"),
        Reply::json(&json!({ "signing_keys": {} })),
    );
    fails("not the expected JSON");
    let mut keyless = download_information("1.0.0", &key);
    keyless["signing_keys"] = json!({});
    server.answer(&download("1.0.0"), Reply::json(&keyless));
    fails("none of the keys that the registry lists");
    let mut old = download_information("1.0.0", &key);
    old["protocols"] = json!(["4.0"]);
    server.answer(&download("1.0.0"), Reply::json(&old));
    fails("supports the plugin protocols 4.0");
    server.answer(
        &download("1.0.0"),
        Reply::json(&download_information("1.0.0", &key)),
    );
    server.answer(&archive("1.0.0"), Reply::bytes(package("1.0.1")));
    fails("was expected");
    server.answer(&archive("1.0.0"), Reply::status(404));
    fails("was not found");
    server.answer(&archive("1.0.0"), Reply::bytes(package("1.0.0")).cut(7));
    fails("was interrupted after");
    server.answer(&download("1.0.0"), Reply::status(404));
    fails("no package for");
    server.answer("/providers/acme/lab/versions", Reply::status(404));
    fails("was not found in");
    server.answer("/.well-known/terraform.json", Reply::json(&json!({})));
    fails("has no registry of providers");
}

#[test]
fn wrong_hashes_and_read_only_lock_files_are_reported() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0"]);
    let host = &server.host;
    let w = Workspace::new(&[("main.tf", &lab(host, "1.0.0"))]);
    let wrong = locked(
        host,
        "1.0.0",
        "1.0.0",
        &["h1:AAAA=".to_owned(), format!("zh:{}", "0".repeat(64))],
    );
    w.write(LOCK, &wrong);
    let told = error(run(&w, &server, &["init", "--json"]));
    assert!(told.contains("of this version in the lock file"), "{told}");
    assert!(!installed(&w, host, "1.0.0").exists());
    assert_eq!(w.read(LOCK), wrong);
    // The hash of the archive alone is enough to install it, and the lock file stays unchanged.
    let zh = format!("zh:{}", sha256(&package("1.0.0")));
    let known = locked(host, "1.0.0", "1.0.0", std::slice::from_ref(&zh));
    w.write(LOCK, &known);
    run(&w, &server, &["init", "--lockfile=readonly"]).expect(0);
    assert_eq!(w.read(LOCK), known);
    run(&w, &server, &["init"]).expect(0);
    assert_eq!(
        w.read(LOCK),
        locked(
            host,
            "1.0.0",
            "1.0.0",
            &[
                h1("1.0.0"),
                zh,
                format!("zh:{}", checksum_of_another_platform("1.0.0"))
            ]
        )
    );
    // A provider that the lock file does not contain.
    let fresh = Workspace::new(&[("main.tf", &lab(host, "1.0.0"))]);
    let refused = run(&fresh, &server, &["init", "--lockfile=readonly"]).expect(1);
    assert!(
        refused.stderr.contains("readonly forbids changing it"),
        "{refused:#?}"
    );
    assert!(!fresh.path().join(LOCK).exists());
    w.write(LOCK, "provider {");
    let damaged = run(&w, &server, &["init"]).expect(1);
    assert!(
        damaged.stderr.contains("is invalid: line 1"),
        "{damaged:#?}"
    );
}

#[test]
fn mirrors_directories_and_cache_are_used_as_configured() {
    let server = Server::start();
    mirror(&server, "far.example.com", &["1.0.0"]);
    let w = Workspace::new(&[("main.tf", &lab("far.example.com", "~> 1.0"))]);
    let with = |config: &str, more: &[(&str, &str)], args: &[&str]| {
        w.write("cli.rc", config);
        let path = w.path().join("cli.rc");
        let mut variables = vec![("TF_CLI_CONFIG_FILE", path.to_str().unwrap())];
        variables.extend(more);
        run_with(&w, &server, args, &variables)
    };
    let clean = || {
        std::fs::remove_dir_all(w.path().join(".terraform")).ok();
        std::fs::remove_file(w.path().join(LOCK)).ok();
    };
    let network = format!(
        "provider_installation {{\n  network_mirror {{\n    url = \"{}\"\n  }}\n}}\n",
        server.url("/mirror/")
    );
    let first = with(&network, &[], &["init"]).expect(0);
    assert!(
        first.stderr.contains("Incomplete lock file information"),
        "{first:#?}"
    );
    assert_eq!(
        w.read(LOCK),
        locked("far.example.com", "1.0.0", "~> 1.0", &[h1("1.0.0")])
    );
    run(&w, &server, &["deploy", "--auto-approve"]).expect(0);
    // A package whose hash is not the mirror's.
    clean();
    server.answer("/packages/mirrored.zip", Reply::bytes(package("6.6.6")));
    let told = error(with(&network, &[], &["init", "--json"]));
    assert!(
        told.contains("none of the hashes that its mirror lists"),
        "{told}"
    );
    // The mirror excludes this provider, so no source is left.
    let excluding = network.replace("url =", "exclude = [\"far.example.com/*/*\"]\n    url =");
    let told = error(with(&excluding, &[], &["init", "--json"]));
    assert!(told.contains("has no source for it"), "{told}");
    // A directory, unpacked: a link. Packed: unpacked.
    let folder = w.path().join("dir");
    let inner = format!("far.example.com/acme/lab/1.0.0/{}", platform());
    w.write(&format!("dir/{inner}/terraform-provider-lab_v1.0.0"), "x");
    let directory = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n",
        folder.display()
    );
    with(&directory, &[], &["init"]).expect(0);
    let place = installed(&w, "far.example.com", "1.0.0");
    assert_eq!(std::fs::read_link(&place).unwrap(), folder.join(&inner));
    clean();
    std::fs::remove_dir_all(&folder).unwrap();
    let packed = folder.join("far.example.com/acme/lab");
    std::fs::create_dir_all(&packed).unwrap();
    let name = format!("terraform-provider-lab_1.0.0_{}.zip", platform());
    std::fs::write(packed.join(name), package("1.0.0")).unwrap();
    with(&directory, &[], &["init"]).expect(0);
    assert!(place.is_dir() && !place.is_symlink());
    assert_eq!(
        w.read(LOCK),
        locked("far.example.com", "1.0.0", "~> 1.0", &[h1("1.0.0")])
    );
    // The cache: fetched once, then linked.
    clean();
    server.answer("/packages/mirrored.zip", Reply::bytes(package("1.0.0")));
    let cache = w.path().join("cache");
    std::fs::create_dir(&cache).unwrap();
    let cached = [("TF_PLUGIN_CACHE_DIR", cache.to_str().unwrap())];
    with(&network, &cached, &["init"]).expect(0);
    assert_eq!(std::fs::read_link(&place).unwrap(), cache.join(&inner));
    std::fs::remove_dir_all(w.path().join(".terraform")).unwrap();
    let asked = server.requested_paths().len();
    with(&network, &cached, &["init"]).expect(0);
    assert_eq!(server.requested_paths().len(), asked);
    assert_eq!(std::fs::read_link(&place).unwrap(), cache.join(&inner));
}

#[test]
fn json_output_has_each_installation_step_and_the_result() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0"]);
    let w = Workspace::new(&[("main.tf", &lab(&server.host, "1.0.0"))]);
    let run = run(&w, &server, &["init", "--json"]).expect(0);
    let kinds: Vec<String> = run
        .lines()
        .iter()
        .map(|l| l["type"].as_str().unwrap().to_owned())
        .collect();
    for kind in [
        "provider_sought",
        "provider_fetching",
        "provider_installed",
        "locked",
    ] {
        assert!(kinds.iter().any(|k| k == kind), "{kinds:?}");
    }
    let result = run.result();
    assert_eq!(
        (&result["modules"], &result["providers"]),
        (&json!(0), &json!(1))
    );
}

#[test]
fn installed_providers_match_those_of_tofu() {
    let Some(tofu) = tofu("what is laid out is what tofu lays out") else {
        return;
    };
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0", "1.1.0"]);
    let host = &server.host;
    let child = format!(
        "terraform {{\n  required_providers {{\n    lab = {{\n      source  = \"{host}/acme/lab\"\n      version = \">= 1, != 1.0.5\"\n    }}\n  }}\n}}\n"
    );
    let w = Workspace::new(&[
        ("main.tf", &lab(host, "~> 1.0")),
        ("child/main.tf", &child),
        ("call.tf", "module \"c\" {\n  source = \"./child\"\n}\n"),
    ]);
    let tree = || {
        let listed = std::process::Command::new("find")
            .args([".terraform", "-printf", "%p %y %m\n"])
            .current_dir(w.path())
            .output()
            .unwrap();
        let mut lines: Vec<String> = String::from_utf8(listed.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    run_tofu(&tofu, &w, Some(&server), &["init", "-no-color"]).expect(0);
    let (theirs, lock) = (tree(), w.read(LOCK));
    // An installation by tofu satisfies flightdeck.
    run(&w, &server, &["stage"]).expect(0);
    std::fs::remove_dir_all(w.path().join(".terraform")).unwrap();
    std::fs::remove_file(w.path().join(LOCK)).unwrap();
    run(&w, &server, &["init"]).expect(0);
    assert_eq!(w.read(LOCK), lock);
    assert_eq!(tree(), theirs);
    // An installation by flightdeck satisfies tofu.
    run(&w, &server, &["deploy", "--auto-approve"]).expect(0);
    run_tofu(
        &tofu,
        &w,
        Some(&server),
        &["plan", "-detailed-exitcode", "-no-color"],
    )
    .expect(0);
    // tofu does not change the lock file that flightdeck wrote.
    run_tofu(
        &tofu,
        &w,
        Some(&server),
        &["init", "-no-color", "-lockfile=readonly"],
    )
    .expect(0);
    assert_eq!(w.read(LOCK), lock);
}
