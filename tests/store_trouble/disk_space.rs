//! Tests of a disk that is full, nearly full or read-only, and of a limit on the size of files.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use bundled::lab::control;
use rusqlite::Connection;
use serde_json::Value;

use super::damaged_files::is_root;
use super::{BIN, MAIN, consistent, deployed, output_text};
use crate::support::Workspace;

/// Runs a shell script in a mount namespace, with `$BIN`, `$WORK` and `$OUT`; returns false if
/// namespaces are not permitted.
fn where_mounts_are_allowed(script: &str, w: &Workspace, out: &Path) -> bool {
    let probe = |args: &[&str]| {
        Command::new("unshare")
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let flags: &[&str] = if is_root() { &["-m"] } else { &["-r", "-m"] };
    let test = format!("mount -t tmpfs none {}", out.display());
    if !probe(&[flags, &["sh", "-c", &test]].concat()) {
        cty::testing::skipped("nothing can be mounted here");
        return false;
    }
    let base = w.command(&[] as &[&str]);
    let mut command = Command::new("unshare");
    command
        .args(flags)
        .args(["sh", "-ec", script])
        .env("BIN", BIN)
        .env("WORK", w.path())
        .env("OUT", out);
    for (name, value) in base.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    true
}

#[test]
fn read_only_file_system_is_reported_and_can_be_read() {
    let w = deployed();
    let out = tempfile::tempdir().unwrap();
    let script = r#"
        mount --bind "$WORK" "$WORK" && mount -o remount,ro,bind "$WORK"
        cd "$WORK"
        set +e
        "$BIN" stage >"$OUT/stage" 2>&1; echo $? >"$OUT/stage.code"
        "$BIN" state list >"$OUT/list" 2>&1; echo $? >"$OUT/list.code"
        "$BIN" history >"$OUT/history" 2>&1; echo $? >"$OUT/history.code"
        true
    "#;
    if !where_mounts_are_allowed(script, &w, out.path()) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    assert_eq!(read("stage.code").trim(), "1", "{}", read("stage"));
    assert!(
        read("stage").contains("cannot write in") && read("stage").contains("ead-only file system"),
        "{}",
        read("stage")
    );
    assert_eq!(
        (read("list.code").trim(), read("list").trim()),
        ("0", "terraform_data.a\nterraform_data.b")
    );
    assert_eq!(read("history.code").trim(), "0", "{}", read("history"));
}

/// Disk sizes in kilobytes: too small for a store, just large enough, and between.
#[test]
fn store_is_created_after_space_is_freed_on_a_nearly_full_disk() {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    let out = tempfile::tempdir().unwrap();
    let script = r#"
        set +e
        for size in $(seq 40 12 400); do
            mount -t tmpfs -o size=${size}k none "$WORK"
            cd "$WORK"
            printf 'resource "terraform_data" "a" {\n}\n' >main.tf
            "$BIN" stage >"$OUT/$size.before" 2>&1
            echo $? >"$OUT/$size.before.code"
            mount -o remount,size=10m "$WORK"
            "$BIN" stage >"$OUT/$size.after" 2>&1
            echo $? >"$OUT/$size.after.code"
            cd /
            umount "$WORK"
        done
        true
    "#;
    if !where_mounts_are_allowed(script, &w, out.path()) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    let mut refused = 0;
    for size in (40..=400).step_by(12) {
        let before = read(&format!("{size}.before"));
        match read(&format!("{size}.before.code")).trim() {
            "0" => {}
            "1" => {
                refused += 1;
                assert!(before.contains("o space left"), "{size} kB: {before}");
            }
            other => panic!("{size} kB: ended with {other}: {before}"),
        }
        assert_eq!(
            read(&format!("{size}.after.code")).trim(),
            "0",
            "{size} kB: {}",
            read(&format!("{size}.after"))
        );
    }
    assert!(
        (5..26).contains(&refused),
        "{refused} of 31 sizes were too small"
    );
}

#[test]
fn file_size_limit_is_reported_without_a_crash() {
    for blocks in [8, 100, 200, 300] {
        let w = Workspace::new(&[("main.tf", MAIN)]);
        let base = w.command(&[] as &[&str]);
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                &format!("ulimit -f {blocks}; exec \"$BIN\" deploy --auto-approve"),
            ])
            .env("BIN", BIN)
            .current_dir(w.path());
        for (name, value) in base.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ended = command.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(
            matches!(ended.status.code(), Some(0 | 1)),
            "{blocks} blocks: {ended:?}"
        );
        assert!(
            ended.status.success() || said.contains("ulimit -f") || said.contains("too large"),
            "{blocks} blocks: {said}"
        );
        // Without the limit, the next command works with the existing files.
        let next = w.run(&["stage"]);
        assert_eq!(
            next.code,
            Some(0),
            "{blocks} blocks: {}",
            self::output_text(&next)
        );
    }
}

/// The disk fills up during a deploy. Applied changes are recorded, or reported as unknown outcomes
/// by the next command.
#[test]
fn full_disk_during_a_deploy_loses_nothing() {
    let w = Workspace::new(&[]);
    let out = tempfile::tempdir().unwrap();
    let lab = out.path().join("lab.json");
    let many: String = (0..8)
        .map(|n| {
            format!(
                "resource \"lab_thing\" \"b{n}\" {{\n  name = \"b{n}\"\n  create_ms = {}\n  triggers = {{ a = lab_thing.a.id }}\n}}\nresource \"lab_thing\" \"c{n}\" {{\n  name = \"c{n}\"\n  triggers = {{ b = lab_thing.b{n}.id }}\n}}\n",
                500 + n * 100
            )
        })
        .collect();
    let main = format!(
        "terraform {{\n  required_providers {{\n    lab = {{ source = \"flightdeck.internal/bundled/lab\" }}\n  }}\n}}\nprovider \"lab\" {{\n  file = {:?}\n}}\n\
         resource \"lab_thing\" \"a\" {{\n  name = \"a\"\n}}\n{many}\
         resource \"terraform_data\" \"fill\" {{\n  input = lab_thing.a.id\n  provisioner \"local-exec\" {{\n    command = \"dd if=/dev/zero of=filler bs=4k; true\"\n  }}\n}}\n",
        lab.display().to_string()
    );
    std::fs::write(out.path().join("main.tf"), main).unwrap();
    let script = r#"
        mount -t tmpfs -o size=6m none "$WORK"
        cd "$WORK"
        cp "$OUT/main.tf" .
        set +e
        "$BIN" deploy --auto-approve --json >"$OUT/deploy" 2>"$OUT/deploy.err"; echo $? >"$OUT/deploy.code"
        "$BIN" state list >"$OUT/full.list" 2>&1; echo $? >"$OUT/full.list.code"
        "$BIN" stage >"$OUT/full.stage" 2>&1; echo $? >"$OUT/full.stage.code"
        rm filler
        "$BIN" history --json >"$OUT/history" 2>&1
        "$BIN" stage --json >"$OUT/stage" 2>"$OUT/stage.err"; echo $? >"$OUT/stage.code"
        "$BIN" state list >"$OUT/list" 2>&1
        cp .flightdeck/flightdeck.db* "$OUT/"
    "#;
    if !where_mounts_are_allowed(script, &w, out.path()) {
        return;
    }
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    let lines = |name: &str| {
        read(name)
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).unwrap())
            .collect::<Vec<_>>()
    };
    let deploy = format!("{}{}", read("deploy"), read("deploy.err"));
    assert!(["1", "5"].contains(&read("deploy.code").trim()), "{deploy}");
    assert!(
        deploy.contains("no space left on the disk") && deploy.contains("free some space"),
        "{deploy}"
    );
    assert!(!deploy.contains("panicked"), "{deploy}");
    // A full disk does not prevent reads.
    assert_eq!(read("full.list.code").trim(), "0", "{}", read("full.list"));
    assert!(
        read("full.list").contains("lab_thing.a"),
        "{}",
        read("full.list")
    );
    assert!(
        read("full.stage.code").trim() == "0" || read("full.stage").contains("no space left"),
        "{}",
        read("full.stage")
    );

    // With free space again: each object of the lab is in the state, or reported as an unknown
    // outcome.
    assert_eq!(
        read("stage.code").trim(),
        "0",
        "{}{}",
        read("stage"),
        read("stage.err")
    );
    let unknown: BTreeSet<String> = lines("stage")
        .into_iter()
        .filter(|l| l["summary"] == "Unknown outcome")
        .map(|l| l["address"].as_str().unwrap().to_owned())
        .collect();
    let full: BTreeSet<String> = read("full.stage")
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let listed: BTreeSet<String> = read("list").lines().map(str::to_owned).collect();
    let there: Vec<String> = control::objects(&lab)
        .unwrap()
        .into_iter()
        .map(|o| format!("lab_thing.{}", o.name))
        .collect();
    assert!(there.contains(&"lab_thing.a".to_owned()));
    let lost: Vec<&String> = there
        .iter()
        .filter(|a| !listed.contains(*a) && !unknown.contains(*a) && !full.contains(*a))
        .collect();
    assert!(
        lost.is_empty(),
        "lost: {lost:?} of {there:?}; state {listed:?}; unknown {unknown:?}"
    );
    assert!(
        !listed.contains("lab_thing.c0"),
        "nothing starts once nothing can be written down"
    );
    let outcome = lines("history").last().unwrap()["history"][0]["outcome"].clone();
    assert!(
        ["interrupted", "failed"].contains(&outcome.as_str().unwrap()),
        "{outcome}"
    );
    consistent(
        &Connection::open(out.path().join("flightdeck.db")).unwrap(),
        "after the disk was full",
    );

    // No plugin process is left.
    for line in lines("deploy") {
        if let Some(pid) = line["attempt"]["pid"].as_i64() {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            assert!(
                stat.is_empty() || stat.contains(") Z "),
                "plugin {pid} still runs: {stat}"
            );
        }
    }
}
