//! Tests of failures, and of their messages in each dialect.

use crate::bench::{BOTH, Dialect, TestWorkspace, assert_equal_over_both_dialects};
use bundled::lab::control::{self, Fault, Kind, On};
use serde_json::{Value, json};

const BUCKET: &str = "resource \"lab_bucket\" \"b\" {\n  name = \"b\"\n}\n";

fn workspace_with_fault(dialect: Dialect, kind: Kind, times: u32) -> TestWorkspace {
    let bench = TestWorkspace::new(dialect);
    bench.main(BUCKET);
    let fault = Fault {
        times: Some(times),
        ..Fault::new(kind)
    };
    control::set(&bench.lab(), fault).unwrap();
    bench
}

fn errors(run: &crate::support::Run) -> String {
    let all = run.diagnostics();
    let errors = all.iter().filter(|d| d["severity"] == "error");
    let text = |d: &Value| format!("{} {}", d["summary"], d["detail"]);
    errors.map(text).collect()
}

#[test]
fn invalid_configuration_is_refused_before_any_change() {
    assert_equal_over_both_dialects(|bench| {
        let mut seen = Vec::new();
        for (body, words) in [
            (
                "resource \"lab_bucket\" \"b\" {\n  name = \"No Such\"\n}\n",
                "lower-case letters",
            ),
            (
                "resource \"lab_bucket\" \"b\" {\n  name   = \"b\"\n  policy = \"{\"\n}\n",
                "not valid JSON",
            ),
            (
                "resource \"local_file\" \"f\" {\n  filename        = \"WORLD/f\"\n  file_permission = \"rw\"\n}\n",
                "not an octal permission like 0644",
            ),
        ] {
            bench.main(body);
            let run = bench.run(&["validate", "--json"]);
            assert_eq!(run.code, Some(1), "{run:#?}");
            assert!(run.stdout.contains(words), "{run:#?}");
            seen.push(json!(run.code));
        }
        seen
    });
}

#[test]
fn refused_create_has_reasons_and_leaves_no_object() {
    for dialect in BOTH {
        for (kind, words) in [
            (
                Kind::Permanent,
                "AccessDenied: this account may not do that (status 403)",
            ),
            (
                Kind::BadInput,
                "ValidationException: the lab does not accept this name",
            ),
        ] {
            let bench = workspace_with_fault(dialect, kind, 1);
            let run = bench.deploy().expect(5);
            assert!(errors(&run).contains(words), "{dialect:?}: {run:#?}");
            assert_eq!(control::objects(&bench.lab()).unwrap(), []);
            let class = run
                .lines()
                .into_iter()
                .find(|line| line["type"] == "result");
            assert_eq!(class.unwrap()["outcome"], "failed");
            // The fault applies to one call only.
            bench.deploy().expect(0);
        }
    }
}

#[test]
fn transient_error_is_retried_if_the_dialect_can_report_one() {
    let bench = workspace_with_fault(Dialect::Bluelink, Kind::Transient, 2);
    bench.deploy().expect(0);
    let bench = workspace_with_fault(Dialect::Bluelink, Kind::Transient, 99);
    let run = bench.deploy().expect(5);
    let said = errors(&run);
    assert!(
        said.contains("ThrottlingException") && said.contains("after 4 attempts"),
        "{said}"
    );
    let bench = workspace_with_fault(Dialect::Protocol6, Kind::Transient, 2);
    let run = bench.deploy().expect(5);
    assert!(errors(&run).contains("ThrottlingException"), "{run:#?}");
}

#[test]
fn partial_create_is_stored_or_removed_depending_on_the_dialect() {
    let usual = workspace_with_fault(Dialect::Protocol6, Kind::Partial, 1);
    usual.deploy().expect(5);
    assert_eq!(usual.state()["lab_bucket.b"]["status"], "tainted");
    assert_eq!(control::objects(&usual.lab()).unwrap().len(), 1);

    let bluelink = workspace_with_fault(Dialect::Bluelink, Kind::Partial, 1);
    let run = bluelink.deploy().expect(5);
    let said = errors(&run);
    assert!(said.contains("ran out of capacity half-way"), "{said}");
    assert!(
        said.contains("the partly created object (bkt-") && said.contains("was removed"),
        "{said}"
    );
    assert_eq!(control::objects(&bluelink.lab()).unwrap(), []);
    bluelink.deploy().expect(0);
}

#[test]
fn replacement_is_refused_until_requested_if_the_dialect_cannot_plan_it() {
    let bench = TestWorkspace::new(Dialect::Bluelink);
    let server = |more: &str| {
        format!(
            "resource \"lab_network\" \"n\" {{\n  name = \"n\"\n  cidr = \"10.1.0.0/16\"\n}}\n\
             resource \"lab_server\" \"s\" {{\n  name  = \"s\"\n  image = \"img-1\"\n{more}}}\n"
        )
    };
    bench.main(&server(""));
    bench.deploy().expect(0);
    bench.main(&server("  network_id = lab_network.n.id\n"));
    let run = bench.deploy().expect(5);
    let said = errors(&run);
    assert!(
        said.contains("a change of network_id requires a replacement"),
        "{said}"
    );
    assert!(said.contains("--replace"), "{said}");
    let args = ["deploy", "--auto-approve", "--replace", "lab_server.s"];
    bench.run(&args).expect(0);
    assert_eq!(bench.stage(), "");
    let server = &bench.state()["lab_server.s"]["attributes"];
    assert_eq!(server["private_ip"], "10.1.0.10");
}

#[test]
fn crash_during_a_change_is_an_unknown_outcome() {
    for dialect in BOTH {
        let bench = TestWorkspace::new(dialect);
        bench.main(BUCKET);
        let fault = Fault {
            times: Some(1),
            after: true,
            ..Fault::new(Kind::Crash)
        };
        control::set(&bench.lab(), fault).unwrap();
        let run = bench.deploy().expect(5);
        assert_eq!(
            run.result()["operations"]["unknown"],
            1,
            "{dialect:?}: {run:#?}"
        );
        assert_eq!(
            control::objects(&bench.lab()).unwrap().len(),
            1,
            "its work was done"
        );
    }
}

/// Size and environment of the server in an object, such as `small live`.
fn size_and_env(server: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", text(&server["size"]), text(&server["tags"]["env"]))
}

/// Server as a new stage reads it, and the attributes that the stage changes.
fn staged(bench: &TestWorkspace) -> (String, Vec<String>) {
    bench.run(&["stage", "--plan-json", "plan.json"]).expect(0);
    let plan: Value = serde_json::from_str(&bench.workspace.read("plan.json")).unwrap();
    let change = &plan["resource_changes"][0]["change"];
    let after = change["after"].as_object().unwrap().iter();
    let changed = after.filter(|(name, value)| change["before"][name] != **value);
    let changed = changed.map(|(name, _)| name.clone());
    (size_and_env(&change["before"]), changed.collect())
}

#[test]
fn s4_08_failed_update_keeps_its_committed_part_and_the_next_deploy_repairs_it() {
    for dialect in BOTH {
        let bench = TestWorkspace::new(dialect);
        let server = |size: &str, env: &str| {
            let first = "resource \"lab_server\" \"s\" {\n  name  = \"s\"\n  image = \"img-1\"";
            let rest = format!("size  = \"{size}\"\n  tags  = {{ env = \"{env}\" }}");
            bench.main(&format!("{first}\n  {rest}\n}}\n"));
        };
        let stored = || bench.state()["lab_server.s"].clone();
        server("small", "test");
        bench.deploy().expect(0);
        let made = stored();

        server("large", "live");
        let changed = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let both = ("small test".to_owned(), changed(&["size", "tags"]));
        assert_eq!(staged(&bench), both);
        let fault = Fault {
            times: Some(1),
            on: On::Update,
            attribute: Some("size".to_owned()),
            text: Some("no large machine is free".to_owned()),
            ..Fault::new(Kind::Partial)
        };
        control::set(&bench.lab(), fault).unwrap();
        let run = bench.deploy().expect(5);
        assert_eq!(run.result()["operations"]["failed"], 1, "{dialect:?}");
        let said = &run.diagnostics()[0];
        assert_eq!(said["address"], "lab_server.s", "{said:#}");
        assert!(
            errors(&run).contains("no large machine is free"),
            "{said:#}"
        );
        let half = stored();
        assert!(half.get("status").is_none(), "not tainted: {half:#}");
        if dialect == Dialect::Protocol6 {
            let mut wanted = made["attributes"].clone();
            wanted["tags"]["env"] = json!("live");
            assert_eq!(half["attributes"], wanted, "exactly the committed part");
        }

        // A Bluelink host stores nothing of a failed call; its next stage reads what was done.
        let rest = ("small live".to_owned(), changed(&["size"]));
        assert_eq!(staged(&bench), rest, "{dialect:?}");
        bench.deploy().expect(0);
        assert_eq!(size_and_env(&stored()["attributes"]), "large live");
        assert_eq!(bench.stage(), "", "{dialect:?}");
        assert_eq!(stored()["attributes"]["id"], made["attributes"]["id"]);
    }
}
