//! Tests of workspaces, metrics, traces, installation and changed backends in the console, in a
//! real terminal.

use crate::console_workspace::*;
use crate::pty::Pty;
use portable_pty::CommandBuilder;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

const DATA: &str = "resource \"terraform_data\" \"a\" {\n  input = terraform.workspace\n}\n";

/// Creates and selects the workspace `dev`.
fn create_and_select_dev(c: &mut Pty) {
    c.keys("\x17").unwrap();
    c.wait("● default", SOON).unwrap();
    c.keys("dev\r").unwrap();
    c.wait("Create workspace dev", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("switched to workspace dev", LONG).unwrap();
    c.wait("workspace dev  lock", SOON).unwrap();
}

#[test]
fn workspaces_are_created_and_selected_with_their_own_history() {
    let w = Workspace::of(DATA);
    let mut c = w.console();
    c.wait("lock: free", LONG).unwrap();
    create_and_select_dev(&mut c);
    c.keys("3s").unwrap();
    c.wait("terraform_data.a", LONG).unwrap();
    // It is named while it is staged, too, when nothing can be deployed.
    c.wait("1 of 1 selected", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #1?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    let there = |name: &str| w.path().join(name);
    let state = std::fs::read_to_string(there("terraform.tfstate.d/dev/terraform.tfstate"));
    assert!(state.unwrap().contains("\"dev\""));
    let selected = || std::fs::read_to_string(there(".terraform/environment")).unwrap();
    assert_eq!(selected(), "dev");

    // The workspace `default` has no record of that deploy.
    c.keys("5\x17").unwrap();
    c.wait("● dev", SOON).unwrap();
    c.keys("\x1b[A\r").unwrap();
    c.wait("switched to workspace default", LONG).unwrap();
    c.wait("No deploy was made in this workspace yet.", LONG)
        .unwrap();
    assert_eq!(selected(), "default");
    assert!(!there("terraform.tfstate").exists());
    w.assert_unlocked_workspace("dev");

    c.keys("\x17").unwrap();
    c.wait("● default", SOON).unwrap();
    c.keys("dev\r").unwrap();
    c.wait("switched to workspace dev", LONG).unwrap();
    c.wait("1 deploy", LONG).unwrap();
    c.keys("q").unwrap();
    let (code, screen) = c.end(LONG).unwrap();
    assert_eq!(code, 0);
    assert_terminal_restored(&screen);
    w.assert_unlocked();
    w.assert_unlocked_workspace("dev");
}

/// Response of the metrics server, once it answers.
fn metrics(port: u16) -> String {
    let ends = std::time::Instant::now() + LONG;
    loop {
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
            stream.set_read_timeout(Some(LONG)).unwrap();
            let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let mut text = String::new();
            if asked
                .and_then(|()| stream.read_to_string(&mut text))
                .is_ok()
                && !text.is_empty()
            {
                return text;
            }
        }
        assert!(std::time::Instant::now() < ends, "nobody answers at {port}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn metrics_and_traces_follow_to_another_workspace() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let (sent, came) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in collector.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = vec![0; 1 << 16];
            let mut all = Vec::new();
            // The first requests contain the spans of one small deploy.
            while !all.windows(9).any(|w| w == b"deploy #1") {
                let n = stream.read(&mut bytes).unwrap();
                assert!(n > 0, "no deploy in {:?}", String::from_utf8_lossy(&all));
                all.extend_from_slice(&bytes[..n]);
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).unwrap();
            sent.send(()).unwrap();
        }
    });

    let w = Workspace::of(DATA);
    let mut c = w.console_with(&["--metrics", &port.to_string(), "--otlp", &endpoint]);
    c.wait("lock: free", LONG).unwrap();
    assert!(metrics(port).contains("flightdeck_build_info"));
    create_and_select_dev(&mut c);
    c.keys("3s").unwrap();
    c.wait("1 of 1 selected", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #1?", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    let text = metrics(port);
    let deployed = "flightdeck_deploys_total{outcome=\"succeeded\"} 1";
    assert!(text.contains(deployed), "{text}");
    came.recv_timeout(LONG).expect("the deploy's trace");
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
    w.assert_unlocked();
}

fn git(dir: &Path, args: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(["-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(done.status.success(), "git {args:?}: {done:?}");
}

#[test]
fn missing_modules_are_offered_installed_and_staged() {
    let origin = tempfile::tempdir().unwrap();
    let w = Workspace::of(&format!(
        "module \"net\" {{\n  source = \"git::file://{}\"\n}}\n",
        origin.path().display()
    ));
    let mut c = w.console();
    c.wait("Install missing modules and providers?", LONG)
        .unwrap();
    c.wait("1 module is not installed:", SOON).unwrap();
    // The repository does not exist yet.
    c.keys("y").unwrap();
    c.wait("✗ installation failed", LONG).unwrap();
    c.keys("\x1b").unwrap();
    // A key that comes at once with it would be another one.
    c.wait_until(|screen| !screen.contains("✗ installation failed"), SOON)
        .unwrap();
    c.keys("0").unwrap();
    c.wait("not installed: 1 module: net", SOON).unwrap();
    std::fs::write(origin.path().join("main.tf"), DATA).unwrap();
    git(origin.path(), &["init", "-q"]);
    git(origin.path(), &["add", "."]);
    git(origin.path(), &["commit", "-q", "-m", "first"]);
    c.keys("i").unwrap();
    c.wait("Install missing modules and providers?", SOON)
        .unwrap();
    c.keys("y").unwrap();
    c.wait("✓ installed: 1 module", LONG).unwrap();
    c.wait("lock: free", LONG).unwrap();
    c.keys("\x1b").unwrap();
    c.wait_until(|screen| !screen.contains("✓ installed"), SOON)
        .unwrap();
    c.keys("3s").unwrap();
    c.wait("module.net.terraform_data.a", LONG).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
    w.assert_unlocked();
}

/// The directory was initialized for one file, and the block now names another one.
#[test]
fn changed_backend_is_initialized_and_its_state_migrated_after_a_confirmation() {
    let block = |file: &str| {
        format!("terraform {{\n  backend \"local\" {{\n    path = \"{file}\"\n  }}\n}}\n{DATA}")
    };
    let w = Workspace::of(&block("old.tfstate"));
    let run = |args: &[&str]| {
        let done = Command::new(FLIGHTDECK)
            .args(args)
            .current_dir(w.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
    };
    run(&["init"]);
    run(&["deploy", "--auto-approve"]);
    std::fs::write(w.path().join("main.tf"), block("new.tfstate")).unwrap();
    let mut c = w.console();
    c.wait("Initialize the backend?", LONG).unwrap();
    c.keys("y").unwrap();
    c.wait("There is a state in old.tfstate", LONG).unwrap();
    assert!(!w.path().join("new.tfstate").exists());
    c.keys("b").unwrap();
    c.wait("✓ installed", LONG).unwrap();
    c.wait("lock: free", LONG).unwrap();
    let state = |name: &str| std::fs::read_to_string(w.path().join(name)).unwrap();
    assert!(state("new.tfstate").contains("terraform_data"));
    assert!(state("old.tfstate").contains("terraform_data"));
    c.keys("\x1b").unwrap();
    c.wait_until(|screen| !screen.contains("✓ installed"), SOON)
        .unwrap();
    c.keys("6").unwrap();
    c.wait("terraform_data.a", LONG).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
    w.assert_unlocked();
}

#[test]
fn doctor_findings_are_fixed_in_the_console() {
    use std::os::unix::fs::PermissionsExt;
    let w = Workspace::of(DATA);
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".terraform.d");
    std::fs::create_dir(&folder).unwrap();
    let tokens = folder.join("credentials.tfrc.json");
    std::fs::write(&tokens, "{}").unwrap();
    std::fs::set_permissions(&tokens, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg(w.path());
    command.env_remove("TF_CLI_CONFIG_FILE");
    command.env("HOME", home.path());
    let mut c = Pty::start(command, 120, 40).unwrap();
    c.wait("lock: free", LONG).unwrap();
    c.keys("H").unwrap();
    c.wait("1 warning", LONG).unwrap();
    c.wait("remedy: run `chmod 600", SOON).unwrap();
    c.keys("F").unwrap();
    c.wait("is now private to its owner", SOON).unwrap();
    c.wait("✓ no problems found", LONG).unwrap();
    let mode = std::fs::metadata(&tokens).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    c.keys("\x1b").unwrap();
    c.wait_until(|screen| !screen.contains("no problems found"), SOON)
        .unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
}
