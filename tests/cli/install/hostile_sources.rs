//! Tests of packages with links that lead outside, of addresses with secrets, and of mirrors that
//! lead to http archives.

use super::https_server::{Reply, Server};
use super::registry::platform;
use super::{git, run, run_with};
use crate::support::Workspace;
use serde_json::json;
use std::os::unix::fs::symlink;

/// Repository with a module that has this link, and a workspace that calls it.
fn with_link(target: &str, name: &str) -> Workspace {
    let w = Workspace::new(&[]);
    w.write("repository/main.tf", "output \"o\" {\n  value = 1\n}\n");
    w.write("repository/parts/x.tf", "");
    w.write("secret", "token = \"canary\"\n");
    let repository = w.path().join("repository");
    symlink(target, repository.join(name)).unwrap();
    git(&repository, &["init", "-q"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "-qm", "one"]);
    call(&w, &format!("git::file://{}", repository.display()));
    w
}

fn call(w: &Workspace, source: &str) {
    let text = format!("module \"m\" {{\n  source = {source:?}\n}}\n");
    w.write("main.tf", &text);
}

#[test]
fn module_with_a_link_outside_its_package_is_not_installed() {
    for (target, name) in [
        ("/etc/passwd", "users.tf"),
        ("../secret", "secret.tf"),
        ("/etc", "etc"),
        ("../../secret", "parts/y.tf"),
    ] {
        let w = with_link(target, name);
        let run = w.run(&["init"]).expect(1);
        let said = format!("the link \"{name}\" leads out of the package");
        assert!(run.stderr.contains(&said), "{run:#?}");
        let shown = ["root:", "canary"].map(|word| run.stderr.contains(word));
        assert_eq!(shown, [false; 2], "{run:#?}");
        assert!(!w.path().join(".terraform/modules/m").exists());
    }
    with_link("parts/x.tf", "x.tf").run(&["init"]).expect(0);
}

#[test]
fn submodule_with_a_link_outside_its_package_is_refused() {
    let w = with_link("/etc/passwd", "users.tf");
    let outer = w.path().join("outer");
    std::fs::create_dir(&outer).unwrap();
    w.write("outer/main.tf", "output \"o\" {\n  value = 1\n}\n");
    git(&outer, &["init", "-q"]);
    let inner = w.path().join("repository").display().to_string();
    git(&outer, &["submodule", "--quiet", "add", &inner, "inner"]);
    git(&outer, &["add", "."]);
    git(&outer, &["commit", "-qm", "one"]);
    call(&w, &format!("git::file://{}", outer.display()));
    let allowed = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "protocol.file.allow"),
        ("GIT_CONFIG_VALUE_0", "always"),
    ];
    let server = Server::start();
    let run = run_with(&w, &server, &["init"], &allowed).expect(1);
    let said = "the link \"inner/users.tf\" leads out of the package";
    assert!(run.stderr.contains(said), "{run:#?}");
}

#[test]
fn addresses_are_shown_without_credentials() {
    let server = Server::start();
    let host = &server.host;
    for source in [
        format!("https://me:canary@{host}/x.zip?X-Signature=canary"),
        format!("https://canary@{host}/page?token=canary"),
        format!("git::https://me:canary@{host}/x.git?ref=v1"),
        format!("git::https://canary@{host}/x.git?sshkey=Y2FuYXJ5"),
        "ftp://me:canary@h/x".to_owned(),
        "git::https://me:canary@h/x.git?ref=--upload-pack=x".to_owned(),
        format!("https://me:canary@{host}/x.zip?archive=rar"),
    ] {
        let w = Workspace::new(&[]);
        call(&w, &source);
        for args in [
            &["init"][..],
            &["init", "--json"],
            &["validate"],
            &["stage", "--json"],
        ] {
            let run = run(&w, &server, args);
            assert_ne!(run.code, Some(0), "{source}: {run:#?}");
            let shown = format!("{}{}", run.stdout, run.stderr);
            for secret in ["canary", "Y2FuYXJ5"] {
                assert!(!shown.contains(secret), "{source} {args:?}: {run:#?}");
            }
        }
    }
}

#[test]
fn https_mirror_with_http_archives_is_refused() {
    let server = Server::start();
    let w = Workspace::new(&[(
        "main.tf",
        "terraform {\n  required_providers {\n    lab = { source = \"far.example.com/acme/lab\" }\n  }\n}\n",
    )]);
    let rc = format!(
        "provider_installation {{\n  network_mirror {{\n    url = \"{}\"\n  }}\n}}\n",
        server.url("/mirror/")
    );
    w.write("cli.rc", &rc);
    let rc = w.path().join("cli.rc").display().to_string();
    let base = "/mirror/far.example.com/acme/lab";
    let index = Reply::json(&json!({ "versions": { "1.0.0": {} } }));
    server.answer(&format!("{base}/index.json"), index);
    let away = "http://127.0.0.1:1/x.zip";
    server.answer("/x.zip", Reply::status(302).with("Location", away));
    for url in [away, "/x.zip"] {
        let archives = json!({ "archives": { platform(): { "url": url } } });
        server.answer(&format!("{base}/1.0.0.json"), Reply::json(&archives));
        let run = run_with(&w, &server, &["init"], &[("TF_CLI_CONFIG_FILE", &rc)]).expect(1);
        let named = run.stderr.contains("https") && run.stderr.contains(away);
        assert!(named, "{url}: {run:#?}");
    }
}
