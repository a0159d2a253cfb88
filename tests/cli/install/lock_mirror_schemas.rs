//! Tests of `flightdeck providers`: hashes for the lock file, mirrors, requirements and schemas.

use super::https_server::{Reply, Server};
use super::pgp_signer::Signer;
use super::registry::{download_information, h1, mirror, package, platform, registry, sha256};
use super::{run, run_tofu, run_with, tofu};
use crate::support::Workspace;
use serde_json::{Value, json};

const LOCK: &str = ".terraform.lock.hcl";
const OTHER: &str = "plan9_mips";

fn lab(host: &str, version: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    lab = {{\n      source  = \"{host}/acme/lab\"\n      version = \"{version}\"\n    }}\n  }}\n}}\n"
    )
}

/// Adds a package for another platform to the registry.
fn for_another_machine(server: &Server, signer: &Signer, version: &str) {
    let bytes = package("7.7.7");
    let sums = format!(
        "{}  terraform-provider-lab_{version}_{OTHER}.zip\n{}  terraform-provider-lab_{version}_{}.zip\n",
        sha256(&bytes),
        sha256(&package(version)),
        platform(),
    );
    let mut answer = download_information(version, &signer.armored());
    let change = json!({
        "os": "plan9", "arch": "mips",
        "filename": format!("terraform-provider-lab_{version}_{OTHER}.zip"),
        "download_url": "/packages/other.zip",
        "shasum": sha256(&bytes),
        "shasums_url": "/packages/other.sums",
        "shasums_signature_url": "/packages/other.sig",
    });
    for (name, value) in change.as_object().unwrap() {
        answer[name] = value.clone();
    }
    let path = format!("/providers/acme/lab/{version}/download/plan9/mips");
    server.answer(&path, Reply::json(&answer));
    server.answer("/packages/other.zip", Reply::bytes(bytes));
    let signature = signer.sign(sums.as_bytes());
    server.answer("/packages/other.sums", Reply::bytes(sums));
    server.answer("/packages/other.sig", Reply::bytes(signature));
}

fn both_platforms() -> [String; 2] {
    [
        format!("-platform={}", platform()),
        format!("-platform={OTHER}"),
    ]
}

#[test]
fn lock_adds_hashes_for_other_platforms_and_keeps_existing_ones() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0", "1.1.0"]);
    for_another_machine(&server, &signer, "1.1.0");
    let host = &server.host;
    let kept = "provider \"example.com/acme/kept\" {\n  version = \"3.0.0\"\n  hashes = [\n    \"h1:x=\",\n  ]\n}\n";
    let w = Workspace::new(&[("main.tf", &lab(host, "~> 1.0")), (LOCK, kept)]);
    let [own, other] = both_platforms();
    let first = run(&w, &server, &["providers", "lock", &own, &other]).expect(0);
    let told = format!(
        "1.1.0: hashes for {OTHER} added, signed by {}",
        signer.name()
    );
    assert!(first.stderr.contains(&told), "{first:#?}");
    let text = w.read(LOCK);
    for part in [
        "kept",
        "h1:x=",
        "constraints = \"~> 1.0\"",
        &h1("1.1.0"),
        &h1("7.7.7"),
        &format!("zh:{}", sha256(&package("7.7.7"))),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // No fetched file is left in the workspace, and a second run changes nothing.
    assert!(!w.path().join(".terraform").exists());
    let again = run(&w, &server, &["providers", "lock", "--json", &own]).expect(0);
    assert_eq!(again.result()["changed"], false);
    assert_eq!(w.read(LOCK), text);
    // A locked version stays.
    registry(&server, &signer, &["1.0.0", "1.1.0", "1.2.0"]);
    run(
        &w,
        &server,
        &["providers", "lock", &format!("{host}/acme/lab")],
    )
    .expect(0);
    assert_eq!(w.read(LOCK), text);
    let none = run(&w, &server, &["providers", "lock", "acme/none"]).expect(1);
    assert!(
        none.stderr.contains("does not need the provider acme/none"),
        "{none:?}"
    );
    run(&w, &server, &["providers", "lock", "-platform=linux"]).expect(1);
    let away = run(&w, &server, &["providers", "lock", "-platform=os2_mips"]).expect(1);
    assert!(away.stderr.contains("os2_mips"), "{away:?}");
    assert_eq!(w.read(LOCK), text);
}

#[test]
fn lock_takes_hashes_from_the_named_mirror() {
    let server = Server::start();
    mirror(&server, "far.example.com", &["1.0.0"]);
    let w = Workspace::new(&[("main.tf", &lab("far.example.com", "1.0.0"))]);
    let net = format!("-net-mirror={}", server.url("/mirror/"));
    // `-net-mirror` takes precedence over the CLI configuration.
    w.write(
        "cli.rc",
        "provider_installation {\n  direct {\n    exclude = [\"*/*/*\"]\n  }\n}\n",
    );
    let rc = w.path().join("cli.rc");
    let variables = [("TF_CLI_CONFIG_FILE", rc.to_str().unwrap())];
    run_with(&w, &server, &["providers", "lock", &net], &variables).expect(0);
    let locked = w.read(LOCK);
    assert!(locked.contains(&h1("1.0.0")), "{locked}");
    // A directory may have packages for other platforms.
    let folder = "dir/far.example.com/acme/lab";
    std::fs::create_dir_all(w.path().join(folder)).unwrap();
    let name = format!("{folder}/terraform-provider-lab_1.0.0_{OTHER}.zip");
    std::fs::write(w.path().join(name), package("7.7.7")).unwrap();
    let args = [
        "providers",
        "lock",
        "-fs-mirror=dir",
        "-platform=plan9_mips",
    ];
    run(&w, &server, &args).expect(0);
    let locked = w.read(LOCK);
    assert!(locked.contains(&h1("1.0.0")), "{locked}");
    assert!(locked.contains(&h1("7.7.7")), "{locked}");
}

#[test]
fn mirror_writes_archives_and_indexes() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0", "1.1.0"]);
    for_another_machine(&server, &signer, "1.1.0");
    let host = &server.host;
    let w = Workspace::new(&[("main.tf", &lab(host, "1.0.0"))]);
    let put = |args: &[&str]| {
        run(
            &w,
            &server,
            &[&["providers", "mirror"], args, &["out"]].concat(),
        )
    };
    put(&[]).expect(0);
    w.write("main.tf", &lab(host, "1.1.0"));
    let [own, other] = both_platforms();
    put(&[&own]).expect(0);
    put(&[&other]).expect(0);
    let index = |file: &str| -> Value {
        serde_json::from_str(&w.read(&format!("out/{host}/acme/lab/{file}.json"))).unwrap()
    };
    assert_eq!(
        index("index"),
        json!({ "versions": { "1.0.0": {}, "1.1.0": {} } })
    );
    let archives = &index("1.1.0")["archives"];
    let name = format!("terraform-provider-lab_1.1.0_{OTHER}.zip");
    assert_eq!(archives[OTHER]["url"], name);
    let hashes = [h1("7.7.7"), format!("zh:{}", sha256(&package("7.7.7")))];
    assert_eq!(archives[OTHER]["hashes"], json!(hashes));
    assert_eq!(archives.as_object().unwrap().len(), 2);
    let there = std::fs::read(w.path().join(format!("out/{host}/acme/lab/{name}"))).unwrap();
    assert_eq!(sha256(&there), sha256(&package("7.7.7")));
    // The written mirror works: no other source is asked.
    let rc = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n",
        w.path().join("out").display()
    );
    w.write("cli.rc", &rc);
    let rc = w.path().join("cli.rc");
    let asked = server.requested_paths().len();
    run_with(
        &w,
        &server,
        &["init"],
        &[("TF_CLI_CONFIG_FILE", rc.to_str().unwrap())],
    )
    .expect(0);
    assert_eq!(server.requested_paths().len(), asked);
    assert!(w.read(LOCK).contains(&h1("1.1.0")));
    // The locked version takes precedence over the newest.
    w.write("main.tf", &lab(host, ">= 1.0.0"));
    registry(&server, &signer, &["1.0.0", "1.1.0", "1.2.0"]);
    put(&[]).expect(0);
    assert!(index("index")["versions"]["1.2.0"].is_null());
}

#[test]
fn lock_and_mirror_write_the_files_that_tofu_writes() {
    let Some(tofu) = tofu("what is locked and mirrored is what tofu locks and mirrors") else {
        return;
    };
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.1.0"]);
    for_another_machine(&server, &signer, "1.1.0");
    let w = Workspace::new(&[("main.tf", &lab(&server.host, "~> 1.0"))]);
    let [own, other] = both_platforms();
    let lock = ["providers", "lock", "-no-color", &own, &other];
    run_tofu(&tofu, &w, Some(&server), &lock).expect(0);
    let theirs = w.read(LOCK);
    run(&w, &server, &lock).expect(0);
    assert_eq!(w.read(LOCK), theirs);
    std::fs::remove_file(w.path().join(LOCK)).unwrap();
    run(&w, &server, &lock).expect(0);
    assert_eq!(w.read(LOCK), theirs);
    let there = |dir: &str| {
        let base = format!("{dir}/{}/acme/lab", server.host);
        let mut names: Vec<_> = std::fs::read_dir(w.path().join(&base))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let mut one: Value = serde_json::from_str(&w.read(&format!("{base}/1.1.0.json"))).unwrap();
        for (_, archive) in one["archives"].as_object_mut().unwrap() {
            // flightdeck writes one hash more than tofu.
            archive["hashes"].take();
        }
        (names, w.read(&format!("{base}/index.json")), one)
    };
    std::fs::create_dir(w.path().join("theirs")).unwrap();
    let put = |dir| ["providers", "mirror", "-no-color", &own, &other, dir];
    run_tofu(&tofu, &w, Some(&server), &put("theirs")).expect(0);
    run(&w, &server, &put("ours")).expect(0);
    assert_eq!(there("ours"), there("theirs"));
}

#[test]
fn provider_schemas_have_tofus_format() {
    let (server, signer) = (Server::start(), Signer::new());
    registry(&server, &signer, &["1.0.0"]);
    let w = Workspace::new(&[("main.tf", &lab(&server.host, "1.0.0"))]);
    run(&w, &server, &["init"]).expect(0);
    let schema = run(&w, &server, &["providers", "schema", "-json"]).expect(0);
    let ours: Value = serde_json::from_str(&schema.stdout).unwrap();
    let address = format!("{}/acme/lab", server.host);
    let thing = &ours["provider_schemas"][&address]["resource_schemas"]["lab_thing"];
    let name = &thing["block"]["attributes"]["name"];
    assert_eq!(
        (&name["type"], &name["required"]),
        (&json!("string"), &json!(true))
    );
    // Unused providers are omitted.
    assert_eq!(ours["provider_schemas"].as_object().unwrap().len(), 1);
    run(&w, &server, &["providers", "schema"]).expect(1);
    let Some(tofu) = tofu("schemas are told in the form that tofu tells them") else {
        return;
    };
    let theirs = run_tofu(&tofu, &w, Some(&server), &["providers", "schema", "-json"]);
    assert_eq!(schema.stdout, theirs.expect(0).stdout);
}
