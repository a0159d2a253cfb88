//! Tests of `plugin conform` with the bundled providers: they pass, leave nothing, and the report
//! has each form.

use crate::support::{Run, Workspace};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Configurations for the types whose starters the lab refuses.
const LAB: &str = r#"
resource "lab_bucket" "any" {
  name = "conform"

  lifecycle_rule {
    prefix      = "logs"
    expire_days = 30
  }
}

resource "lab_database" "any" {
  name   = "conform"
  engine = lower("POSTGRES")
  password = "only-a-test"
}

resource "lab_network" "any" {
  name = "conform"
  cidr = cidrsubnet("10.0.0.0/8", 8, 1)

  subnet {
    name = "a"
    cidr = cidrsubnet("10.1.0.0/16", 8, 1)
  }
}

resource "lab_thing" "any" {
  name = "conform"
  spec = {
    ports = [{ number = 80 }, { number = 443 }]
  }
}
"#;

const LOCAL: &str = r#"
resource "local_directory" "any" {
  path = "conform"
}

resource "local_file" "any" {
  filename = "conform.txt"
  content  = "text"
}

resource "local_process" "any" {
  command  = ["sleep", "600"]
  log_file = "conform.log"
}
"#;

fn statuses(report: &Value, id: &str) -> Vec<String> {
    let types = report["types"].as_array().unwrap().iter();
    let checks = types.flat_map(|of| of["checks"].as_array().unwrap());
    let found = checks.filter(|check| check["id"] == id);
    found
        .map(|c| c["status"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn bundled_providers_pass_and_leave_nothing() {
    for (plugin, config, types) in [("bundled/lab", LAB, 4), ("bundled/local", LOCAL, 3)] {
        let world = Workspace::new(&[("given.hcl", config)]);
        let words = [
            "plugin",
            "conform",
            plugin,
            "--config",
            "given.hcl",
            "--yes",
            "--json",
        ];
        let report = &world.run(&words).expect(0).result()["report"];
        for id in [
            "create",
            "read",
            "no-op-plan",
            "destroy",
            "read-after-destroy",
            "destroy-again",
        ] {
            assert_eq!(
                statuses(report, id),
                vec!["pass"; types],
                "{id}: {report:#}"
            );
        }
        assert!(
            statuses(report, "replace").contains(&"pass".to_owned()),
            "{report:#}"
        );
        if plugin == "bundled/lab" {
            for id in [
                "update:lifecycle_rule.expire_days",
                "update:subnet.zone",
                "update:spec.replicas",
                "update:spec.ports[0].number",
            ] {
                assert_eq!(statuses(report, id), ["pass"], "{id}: {report:#}");
            }
        }
        let left: Vec<_> = std::fs::read_dir(world.path()).unwrap().flatten().collect();
        let left: Vec<_> = left.iter().map(std::fs::DirEntry::file_name).collect();
        let is_object = |name: &&std::ffi::OsString| name.to_string_lossy().starts_with("conform");
        // The log of a process stays, as in a deploy.
        let left: Vec<_> = left
            .iter()
            .filter(is_object)
            .filter(|n| !n.to_string_lossy().ends_with(".log"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn report_has_each_form() {
    let world = Workspace::new(&[]);
    let run = |more: &[&str]| {
        let words = ["plugin", "conform", "bundled/lab", "--type", "lab_bucket"];
        world.run(&[&words, more].concat()).expect(0).stdout
    };
    let table = run(&[]);
    for part in [
        "No objects were created; --yes",
        "pass     plan-create",
        "0 failed",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let junit = run(&["--report", "junit"]);
    assert!(
        junit.starts_with("<?xml") && junit.contains("<testsuite name=\"lab_bucket\""),
        "{junit}"
    );
    let markdown = run(&["--report", "markdown"]);
    assert!(markdown.contains("| `plan-create` | pass |"), "{markdown}");
}

#[test]
fn refused_starter_is_skipped_and_a_refused_file_fails() {
    let world = Workspace::new(&[
        (
            "bad.hcl",
            "resource \"lab_network\" \"any\" {\n  name = \"x\"\n  cidr = \"y\"\n}\n",
        ),
        (
            "open.hcl",
            "resource \"lab_network\" \"any\" {\n  name = \"x\"\n  cidr = var.x\n}\n",
        ),
        ("syntax.hcl", "resource \"lab_network\" {\n"),
    ]);
    let words = ["plugin", "conform", "bundled/lab", "--json"];
    let starter = world
        .run(&[&words, &["--type", "lab_network"][..]].concat())
        .expect(0);
    let report = &starter.result()["report"];
    let create = &report["types"][0]["checks"][0];
    assert_eq!(
        (&create["id"], &create["status"]),
        (&"validate".into(), &"skipped".into())
    );
    assert!(
        create["evidence"].as_str().unwrap().contains("--config"),
        "{create}"
    );
    let bad = world
        .run(&[&words, &["--config", "bad.hcl"][..]].concat())
        .expect(1);
    let check = &bad.result()["report"]["types"][0]["checks"][0];
    assert_eq!(check["status"], "fail", "{check}");
    assert!(
        check["evidence"].as_str().unwrap().contains("cidr"),
        "{check}"
    );
    for (file, said) in [("open.hcl", "open.hcl:3"), ("syntax.hcl", "syntax.hcl:1")] {
        let run = world
            .run(&[&words[..3], &["--config", file]].concat())
            .expect(1);
        assert!(
            run.stderr.contains(said) && run.stdout.is_empty(),
            "{run:?}"
        );
    }
}

#[test]
fn reports_of_earlier_runs_are_listed_newest_first() {
    let world = Workspace::new(&[]);
    let conform = ["plugin", "conform"];
    world
        .run(&[&conform[..], &["bundled/lab", "--type", "lab_bucket"]].concat())
        .expect(0);
    world
        .run(
            &[
                &conform[..],
                &["bundled/local", "--type", "local_process", "--yes"],
            ]
            .concat(),
        )
        .expect(1);
    let list = |more: &[&str]| {
        world
            .run(&[&conform, &["--history"][..], more].concat())
            .expect(0)
    };
    let reports = list(&["--json"]).result()["reports"].clone();
    assert_eq!(
        (&reports[0]["plugin"], &reports[1]["plugin"]),
        (&"bundled/local".into(), &"bundled/lab".into())
    );
    let lines = list(&[]).stdout;
    assert!(
        lines.contains("failed  bundled/local") && lines.contains("with objects; create"),
        "{lines}"
    );
    let lines = list(&["bundled/lab"]).stdout;
    assert!(
        lines.lines().count() == 1 && lines.contains("planned only"),
        "{lines}"
    );
    world.run(&conform).expect(1);
}

#[test]
fn interrupted_run_destroys_what_it_has_created() {
    let config = "provider \"lab\" {\n  file = \"lab.json\"\n}\nresource \"lab_bucket\" \"any\" {\n  name = \"conform\"\n  read_ms = 60000\n}\n";
    let world = Workspace::new(&[("given.hcl", config)]);
    let objects = || {
        let text = std::fs::read_to_string(world.path().join("lab.json")).unwrap_or_default();
        text.matches("bkt-").count()
    };
    let words = [
        "plugin",
        "conform",
        "bundled/lab",
        "--config",
        "given.hcl",
        "--yes",
        "--json",
    ];
    let child = world.command(&words).spawn().unwrap();
    let ends = Instant::now() + Duration::from_secs(60);
    while objects() == 0 {
        assert!(Instant::now() < ends, "no object was created");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = i32::try_from(child.id()).unwrap();
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::INT).unwrap();
    let run = Run::from(child.wait_with_output().unwrap()).expect(1);
    let report = &run.result()["report"];
    assert_eq!(
        (&report["stopped"], &report["leftovers"]),
        (&"interrupted".into(), &json!([]))
    );
    assert_eq!(statuses(report, "create"), ["pass"], "{report:#}");
    assert_eq!(statuses(report, "read"), ["skipped"], "{report:#}");
    assert_eq!(objects(), 0, "{run:#?}");
}

#[test]
fn run_that_passes_its_deadline_is_not_passed_and_leaves_nothing() {
    let config = "provider \"lab\" {\n  file = \"lab.json\"\n}\nresource \"lab_bucket\" \"any\" {\n  name = \"conform\"\n  create_ms = 3000\n}\n";
    let world = Workspace::new(&[("given.hcl", config)]);
    let words = ["plugin", "conform", "bundled/lab", "--config", "given.hcl"];
    let limits = ["--yes", "--json", "--deadline", "2s"];
    let run = world.run(&[&words[..], &limits].concat()).expect(1);
    let report = &run.result()["report"];
    let why = "the deadline of the run has passed";
    assert_eq!(report["stopped"], why, "{report:#}");
    assert_eq!(report["leftovers"], json!([]), "{report:#}");
    assert_eq!(statuses(report, "destroy"), ["skipped"], "{report:#}");
    let text = std::fs::read_to_string(world.path().join("lab.json")).unwrap();
    assert!(!text.contains("bkt-"), "{text}");
}

#[test]
fn interruption_of_the_clean_up_leaves_nothing() {
    let config = "provider \"lab\" {\n  file = \"lab.json\"\n}\nresource \"lab_bucket\" \"any\" {\n  name = \"conform\"\n  create_ms = 3000\n  delete_ms = 6000\n}\n";
    let world = Workspace::new(&[("given.hcl", config)]);
    let has_object = || {
        let text = std::fs::read_to_string(world.path().join("lab.json")).unwrap_or_default();
        text.contains("bkt-")
    };
    let words = ["plugin", "conform", "bundled/lab", "--config", "given.hcl"];
    let limits = ["--yes", "--json", "--deadline", "2s"];
    let mut command = world.command(&[&words[..], &limits].concat());
    let child = command.spawn().unwrap();
    let ends = Instant::now() + Duration::from_secs(60);
    while !has_object() {
        assert!(Instant::now() < ends, "no object was created");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The deadline has passed, so that a new process destroys the object for six seconds.
    std::thread::sleep(Duration::from_secs(2));
    assert!(has_object(), "the clean-up has ended");
    let pid = i32::try_from(child.id()).unwrap();
    rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::INT).unwrap();
    let run = Run::from(child.wait_with_output().unwrap()).expect(1);
    let report = &run.result()["report"];
    assert_eq!(report["leftovers"], json!([]), "{report:#}");
    assert!(!has_object(), "{run:#?}");
}
