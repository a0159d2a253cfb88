//! Tests of the start and end of the bundled providers as processes.
#![allow(clippy::unwrap_used)]

mod plugin;

use std::process::Command;

use plugin::common::text;
use plugin::{PROGRAM, Plugin, command, run};
use serde_json::json;

#[test]
fn manual_start_fails_with_an_explanation() {
    for name in bundled::NAMES {
        let mut by_hand = Command::new(PROGRAM);
        by_hand.arg(name).env_remove(wire::env::MAGIC_COOKIE_KEY);
        for port in wire::env::HOST_PORTS {
            by_hand.env_remove(port);
        }
        let (code, out, err) = run(by_hand);
        assert_eq!((code, out.as_str()), (1, ""), "{name}");
        assert!(err.contains("this program is a plugin"), "{name}: {err}");
    }
}

#[test]
fn unknown_plugin_name_fails_and_lists_the_available_names() {
    let mut unknown = Command::new(PROGRAM);
    unknown.arg("nothing");
    let (code, _, err) = run(unknown);
    assert_eq!(code, 1);
    assert!(err.contains("broken, lab, local, slowstart"), "{err}");
}

#[test]
fn broken_plugin_panics_at_each_launch() {
    let (folder, identity) = (
        tempfile::tempdir().unwrap(),
        wire::Identity::generate().unwrap(),
    );
    for _ in 0..2 {
        let (broken, _sockets) = command("broken", folder.path(), &identity);
        let (code, out, err) = run(broken);
        assert_eq!((code, out.as_str()), (2, ""));
        assert!(
            err.starts_with("panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\n"),
            "{err}"
        );
    }
}

#[tokio::test]
async fn slowstart_plugin_starts_at_its_third_launch() {
    let (folder, identity) = (
        tempfile::tempdir().unwrap(),
        wire::Identity::generate().unwrap(),
    );
    for launch in 1..=2 {
        let (cold, _sockets) = command("slowstart", folder.path(), &identity);
        let (code, out, err) = run(cold);
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains(&format!("launch {launch}")), "{err}");
    }
    let mut warm = Plugin::start("slowstart", folder.path()).await;
    let probe = warm
        .host
        .made("slowstart_probe", json!({"name": "p"}))
        .await;
    assert_eq!(text(&probe, "id"), "probe-p");
    Plugin::start("slowstart", folder.path()).await;
}

#[test]
fn unreachable_host_port_is_named_in_the_error() {
    for (port, words) in [
        // Only root could listen there, and nothing does.
        ("1", "at port 1 of this machine: "),
        ("many", "\"many\", which is not a port"),
        ("0", "\"0\", which is not a port"),
    ] {
        let mut plugin = Command::new(PROGRAM);
        plugin
            .arg("local")
            .env_remove(wire::env::MAGIC_COOKIE_KEY)
            .env(wire::env::HOST_PORTS[1], port);
        let (code, out, err) = run(plugin);
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        assert!(err.contains(words), "{port}: {err}");
    }
}

#[tokio::test]
async fn magic_cookie_takes_precedence_over_a_leftover_port() {
    let (folder, identity) = (
        tempfile::tempdir().unwrap(),
        wire::Identity::generate().unwrap(),
    );
    let (mut local, _sockets) = command("local", folder.path(), &identity);
    let mut child = local.env(wire::env::HOST_PORTS[0], "1").spawn().unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("1|6|unix|"), "{line}");
}

#[tokio::test]
async fn shutdown_exits_with_code_zero_and_removes_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::lab(folder.path(), json!({})).await;
    assert_eq!(std::fs::read_dir(plugin.sockets.path()).unwrap().count(), 1);
    plugin.host.shutdown().await;
    let (status, said) = plugin.ended();
    assert_eq!(status.code(), Some(0), "{said}");
    assert_eq!(std::fs::read_dir(plugin.sockets.path()).unwrap().count(), 0);
    // The output consists of hclog lines.
    let first: serde_json::Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["@module"].as_str(), first["@message"].as_str()),
        (Some("lab"), Some("configured"))
    );
}

#[tokio::test]
async fn plugin_ignores_sigint_and_exits_on_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::lab(folder.path(), json!({})).await;
    let signal = |name: &str, id: u32| {
        assert!(
            Command::new("kill")
                .args([name, &id.to_string()])
                .status()
                .unwrap()
                .success()
        )
    };
    signal("-INT", plugin.child.id());
    plugin.host.made("lab_thing", json!({"name": "t"})).await;
    signal("-TERM", plugin.child.id());
    assert_eq!(plugin.ended().0.code(), Some(0));
    assert_eq!(std::fs::read_dir(plugin.sockets.path()).unwrap().count(), 0);
}
