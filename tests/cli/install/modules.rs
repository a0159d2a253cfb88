//! Tests of the installation of modules from git, registries and archives, and of refused sources.

use super::archives::{tar_gz, zip};
use super::https_server::{Reply, Server};
use super::{git, run, run_tofu, run_with, tofu};
use crate::support::Workspace;
use serde_json::{Value, json};

pub(super) const LEAF: &str = "output \"at\" {\n  value = path.module\n}\n";
const TEXT: &str = "text/plain";

/// Registry with three versions of one module, each in its own archive.
pub(super) fn registry(server: &Server) {
    server.answer(
        "/.well-known/terraform.json",
        Reply::json(&json!({ "modules.v1": "/modules/" })),
    );
    let versions = ["1.0.0", "1.2.0", "2.0.0-beta1"].map(|v| json!({ "version": v }));
    server.answer(
        "/modules/acme/app/lab/versions",
        Reply::json(&json!({ "modules": [{ "versions": versions }] })),
    );
    for version in ["1.0.0", "1.2.0", "2.0.0-beta1"] {
        let archive = format!("/archives/{version}.tgz//app-x?archive=tar.gz");
        server.answer(
            &format!("/modules/acme/app/lab/{version}/download"),
            Reply::new(204, TEXT, "").with("X-Terraform-Get", &archive),
        );
        let main = format!(
            "module \"beside\" {{\n  source = \"./parts/beside\"\n}}\noutput \"at\" {{\n  value = [path.module, module.beside.at, \"{version}\"]\n}}\n"
        );
        let files = [
            ("app-x/main.tf", &*main),
            ("app-x/parts/beside/main.tf", LEAF),
        ];
        server.answer(
            &format!("/archives/{version}.tgz"),
            Reply::bytes(tar_gz(&files)),
        );
    }
}

fn outputs(w: &Workspace) -> Value {
    let state: Value = serde_json::from_str(&w.read("terraform.tfstate")).unwrap();
    state["outputs"].clone()
}

pub(super) fn manifest(w: &Workspace) -> Value {
    serde_json::from_str(&w.read(".terraform/modules/modules.json")).unwrap()
}

#[test]
fn newest_matching_version_is_installed_from_a_registry() {
    let server = Server::start();
    registry(&server);
    let w = Workspace::new(&[]);
    let call = |version: &str| {
        let text = format!(
            "module \"app\" {{\n  source  = \"{}/acme/app/lab\"\n  version = \"{version}\"\n}}\noutput \"at\" {{\n  value = module.app.at\n}}\n",
            server.host
        );
        w.write("main.tf", &text);
    };
    call("~> 1.0");
    let first = run(&w, &server, &["init"]).expect(0);
    assert!(
        first
            .stderr
            .contains("module app 1.2.0: installed in .terraform/modules/app/app-x"),
        "{first:#?}"
    );
    assert!(first.stdout.contains("2 modules"), "{first:#?}");
    run(&w, &server, &["deploy", "--auto-approve"]).expect(0);
    let dir = ".terraform/modules/app/app-x";
    assert_eq!(
        outputs(&w)["at"]["value"],
        json!([dir, format!("{dir}/parts/beside"), "1.2.0"])
    );
    assert_eq!(
        manifest(&w)["Modules"],
        json!([
            {"Key": "", "Source": "", "Dir": "."},
            {"Key": "app", "Source": format!("{}/acme/app/lab", server.host), "Version": "1.2.0", "Dir": dir},
            {"Key": "app.beside", "Source": "./parts/beside", "Dir": format!("{dir}/parts/beside")},
        ])
    );
    // A matching installed module is not fetched again.
    let asked = server.requested_paths().len();
    run(&w, &server, &["init"]).expect(0);
    assert_eq!(server.requested_paths().len(), asked);
    call("1.0.0");
    let stale = run(&w, &server, &["validate"]).expect(1);
    assert!(stale.stderr.contains("flightdeck init"), "{stale:#?}");
    run(&w, &server, &["init"]).expect(0);
    assert_eq!(manifest(&w)["Modules"][1]["Version"], "1.0.0");
    // A pre-release must be requested exactly.
    call(">= 2.0.0-alpha");
    let none = run(&w, &server, &["init", "--json"]).expect(1);
    let [d] = &none.diagnostics()[..] else {
        panic!("{none:#?}")
    };
    assert_eq!(d["summary"], "Unresolvable module version constraint");
    assert!(
        d["detail"]
            .as_str()
            .unwrap()
            .contains("newest version is 1.2.0"),
        "{d}"
    );
    assert_eq!(d["range"]["start"]["line"], 1);
    call("2.0.0-beta1");
    run(&w, &server, &["init"]).expect(0);
}

#[test]
fn registry_token_is_sent_only_to_the_registry() {
    let server = Server::start();
    registry(&server);
    let w = Workspace::new(&[(
        "main.tf",
        &format!(
            "module \"app\" {{\n  source = \"{}/acme/app/lab\"\n}}\n",
            server.host
        ),
    )]);
    w.write(
        "cli.rc",
        &format!(
            "credentials \"{}\" {{\n  token = \"open sesame\"\n}}\n",
            server.host
        ),
    );
    let config = w.path().join("cli.rc");
    let variables = [("TF_CLI_CONFIG_FILE", config.to_str().unwrap())];
    run_with(&w, &server, &["init"], &variables).expect(0);
    let shown = |path: &str| server.headers(path, "authorization");
    assert_eq!(
        shown("/modules/acme/app/lab/versions"),
        ["Bearer open sesame"]
    );
    assert_eq!(shown("/archives/1.2.0.tgz"), [""]);
    // Without a token, the error names the variable that sets one.
    server.answer("/modules/acme/app/lab/versions", Reply::status(401));
    std::fs::remove_dir_all(w.path().join(".terraform")).unwrap();
    let refused = run(&w, &server, &["init"]).expect(1);
    assert!(refused.stderr.contains("TF_TOKEN_"), "{refused:#?}");
}

#[test]
fn slow_invalid_and_unreachable_registries_have_errors() {
    let server = Server::start();
    registry(&server);
    let w = Workspace::new(&[]);
    let told = |host: &str, words: &str| {
        w.write(
            "main.tf",
            &format!("module \"app\" {{\n  source = \"{host}/acme/app/lab\"\n}}\n"),
        );
        let variables = [
            ("TF_REGISTRY_CLIENT_TIMEOUT", "1"),
            ("TF_REGISTRY_DISCOVERY_RETRY", "1"),
        ];
        let failed = run_with(&w, &server, &["init", "--json"], &variables).expect(1);
        let [d] = &failed.diagnostics()[..] else {
            panic!("{failed:#?}")
        };
        assert!(
            d["detail"].as_str().unwrap().contains(words),
            "{words}: {d}"
        );
        assert_eq!(d["range"]["filename"], "main.tf");
    };
    let versions = "/modules/acme/app/lab/versions";
    server.answer(versions, Reply::unanswered());
    told(&server.host, "did not answer within 1 seconds");
    assert_eq!(
        server
            .requested_paths()
            .iter()
            .filter(|p| *p == versions)
            .count(),
        2
    );
    server.answer(versions, Reply::status(500));
    told(&server.host, "status 500");
    server.answer(
        versions,
        Reply::new(200, "application/json", "{\"modules\""),
    );
    told(&server.host, "not the expected JSON");
    server.answer(versions, Reply::json(&json!({ "modules": [] })));
    told(&server.host, "lists no module");
    server.answer(versions, Reply::status(404));
    told(&server.host, "is not in the registry");
    server.answer(
        "/.well-known/terraform.json",
        Reply::json(&json!({ "providers.v1": "/p/" })),
    );
    told(&server.host, "has no registry of modules");
    // Nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    told(&free.to_string(), "cannot be reached");
}

#[test]
fn archives_are_verified_and_resumed() {
    let server = Server::start();
    let archive = zip(&[("top/main.tf", LEAF), ("filler", &"x".repeat(100_000))]);
    let whole = archive.len();
    server.answers(
        "/net.zip",
        vec![
            Reply::bytes(archive.clone()).cut(whole / 2),
            Reply::bytes(archive.clone()),
        ],
    );
    let digest = super::registry::sha256(&archive);
    let w = Workspace::new(&[(
        "main.tf",
        &format!(
            "module \"net\" {{\n  source = \"{}?checksum=sha256:{digest}\"\n}}\noutput \"at\" {{\n  value = module.net.at\n}}\n",
            server.url("/net.zip//top")
        ),
    )]);
    run(&w, &server, &["init"]).expect(0);
    let ranges = server.headers("/net.zip", "range");
    assert_eq!(ranges.len(), 2, "{ranges:?}");
    assert!(
        ranges[0].is_empty() && ranges[1].starts_with("bytes="),
        "{ranges:?}"
    );
    run(&w, &server, &["deploy", "--auto-approve"]).expect(0);
    assert_eq!(outputs(&w)["at"]["value"], ".terraform/modules/net/top");
    // Other contents under the same name fail the checksum.
    server.answer("/net.zip", Reply::bytes(zip(&[("top/main.tf", "")])));
    let wrong = run(&w, &server, &["init", "--upgrade"]).expect(1);
    assert!(wrong.stderr.contains("was expected"), "{wrong:#?}");
    assert!(!w.path().join(".terraform/modules/net").exists());
    // Only the manifest is left; a failed installation leaves no files.
    let left: Vec<_> = std::fs::read_dir(w.path().join(".terraform/modules"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn archive_with_outside_paths_and_invalid_archive_are_refused() {
    let server = Server::start();
    server.answer("/evil.zip", Reply::bytes(zip(&[("../../../evil.tf", "x")])));
    server.answer(
        "/page?terraform-get=1",
        Reply::new(200, "text/html", "<html></html>"),
    );
    server.answer(
        "/far?terraform-get=1",
        Reply::new(200, "text/html", "").with("X-Terraform-Get", "file:///etc"),
    );
    server.answer("/cut.zip", Reply::bytes(zip(&[("main.tf", LEAF)])).cut(10));
    for (source, words) in [
        (server.url("/evil.zip"), "leads out of the target directory"),
        (server.url("/page"), "the URL has no archive suffix"),
        (server.url("/far"), "must not redirect to local files"),
        (server.url("/none.zip"), "was not found"),
        (
            server.url("/cut.zip"),
            "was interrupted after 30 bytes: the connection was closed",
        ),
        (
            "s3::https://s3.amazonaws.com/b/k.zip".to_owned(),
            "cannot fetch packages by s3",
        ),
        (
            "oci://example.com/repo".to_owned(),
            "cannot fetch packages by oci",
        ),
        (
            "git::file:///nowhere?ref=-x".to_owned(),
            "begins with a dash",
        ),
        ("git::file:///nowhere/at/all".to_owned(), "git cannot fetch"),
    ] {
        let text = format!("\nmodule \"m\" {{\n  source = \"{source}\"\n}}\n");
        let w = Workspace::new(&[("main.tf", &text)]);
        let failed = run(&w, &server, &["init", "--json"]).expect(1);
        let [d] = &failed.diagnostics()[..] else {
            panic!("{failed:#?}")
        };
        assert_eq!(d["summary"], "Failed to download module");
        assert!(
            d["detail"].as_str().unwrap().contains(words),
            "{words}: {d}"
        );
        assert_eq!(d["range"]["start"]["line"], 2);
        assert!(!w.path().join("../evil.tf").exists() && !w.path().join("evil.tf").exists());
    }
}

/// Git repository with a module, a second module next to it, and two tags.
fn repository(w: &Workspace) -> String {
    w.write(
        "repository/net/main.tf",
        "module \"in\" {\n  source = \"../shared\"\n}\noutput \"at\" {\n  value = [path.module, module.in.at]\n}\n",
    );
    w.write("repository/shared/main.tf", LEAF);
    let repository = w.path().join("repository");
    git(&repository, &["init", "-q"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-qm", "one"]);
    git(&repository, &["tag", "v1"]);
    w.write(
        "repository/net/main.tf",
        "output \"at\" {\n  value = \"two\"\n}\n",
    );
    git(&repository, &["commit", "-qam", "two"]);
    repository.display().to_string()
}

#[test]
fn git_module_is_installed_at_a_reference_and_depth() {
    let w = Workspace::new(&[]);
    let repository = repository(&w);
    w.write(
        "main.tf",
        &format!(
            "module \"old\" {{\n  source = \"git::file://{repository}//net?ref=v1\"\n}}\nmodule \"new\" {{\n  source = \"git::file://{repository}//net?depth=1\"\n}}\noutput \"at\" {{\n  value = [module.old.at, module.new.at]\n}}\n",
        ),
    );
    w.run(&["init"]).expect(0);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let old = ".terraform/modules/old";
    assert_eq!(
        outputs(&w)["at"]["value"],
        json!([[format!("{old}/net"), format!("{old}/shared")], "two"])
    );
    let shallow = w.path().join(".terraform/modules/new/.git/shallow");
    assert!(shallow.exists());
}

#[test]
fn installed_modules_match_those_of_tofu_which_needs_no_init() {
    let Some(tofu) = tofu("what is made is what tofu makes") else {
        return;
    };
    let server = Server::start();
    registry(&server);
    let w = Workspace::new(&[("local/main.tf", LEAF)]);
    let repository = repository(&w);
    w.write(
        "main.tf",
        &format!(
            "module \"g\" {{\n  source = \"git::file://{repository}//net?ref=v1\"\n}}\nmodule \"l\" {{\n  source = \".//local/\"\n}}\nmodule \"r\" {{\n  source  = \"{}/acme/app/lab\"\n  version = \"1.0.0\"\n}}\nresource \"terraform_data\" \"a\" {{\n  input = module.g.at\n}}\n",
            server.host
        ),
    );
    let theirs = run_tofu(&tofu, &w, Some(&server), &["init", "-no-color"]);
    assert_eq!(theirs.code, Some(0), "{theirs:#?}");
    let manifest = w.read(".terraform/modules/modules.json");
    let files = |w: &Workspace| {
        let listed = std::process::Command::new("find")
            .args([".terraform", "-not", "-path", "*/.git/*"])
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
    let made = files(&w);
    std::fs::remove_dir_all(w.path().join(".terraform")).unwrap();
    run(&w, &server, &["init"]).expect(0);
    assert_eq!(w.read(".terraform/modules/modules.json"), manifest);
    assert_eq!(files(&w), made);
    let plan = run_tofu(&tofu, &w, Some(&server), &["plan", "-no-color"]);
    assert_eq!(plan.code, Some(0), "{plan:#?}");
}
