//! Tests of links between two resources: how they are staged, created, updated and removed, and the
//! link's data in the state.

use crate::running_deploy::operation;
use crate::support::Run;
use crate::workspace::{TestWorkspace, change_counts};
use serde_json::{Value, json};

pub(crate) const A: &str =
    "resource \"fake_box\" \"a\" {\n  name   = \"a\"\n  labels = { x = \"1\" }\n}\n";
/// Depends on the other box, so that ids are equal in each run.
pub(crate) const B: &str =
    "resource \"fake_box\" \"b\" {\n  name       = \"b\"\n  depends_on = [fake_box.a]\n}\n";
pub(crate) const LINK: &str = "link \"ab\" {\n  from = fake_box.a\n  to   = fake_box.b\n}\n";

/// Workspace with a plugin that links boxes to boxes.
pub(crate) fn bench(main: &str) -> TestWorkspace {
    let bench = TestWorkspace::with_plugin(main);
    bench.write_fault_file("links", "fake/box::fake/box\n");
    bench.write_fault_file("retry", "3 0.01 0.05 2");
    bench
}

pub(crate) fn linked_workspace() -> TestWorkspace {
    bench(&format!("{A}{B}{LINK}"))
}

/// Calls about objects and links so far, in order: `create A`, `DestroyResource`.
pub(crate) fn recorded_steps(bench: &TestWorkspace) -> Vec<String> {
    let names = [
        ("UpdateLinkResourceA", "A"),
        ("UpdateLinkResourceB", "B"),
        ("UpdateLinkIntermediaryResources", "between"),
    ];
    let text = std::fs::read_to_string(bench.file("calls")).unwrap_or_default();
    let calls = text
        .lines()
        .filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let one = |call: Value| {
        let method = call["method"].as_str()?;
        if matches!(method, "DeployResource" | "DestroyResource") {
            return Some(method.to_owned());
        }
        let (_, short) = names.iter().find(|(name, _)| method == *name)?;
        Some(format!("{} {short}", call["update"].as_str()?))
    };
    calls.filter_map(one).collect()
}

/// Calls about links so far, in order.
pub(crate) fn recorded_link_phases(bench: &TestWorkspace) -> Vec<String> {
    let all = recorded_steps(bench).into_iter();
    all.filter(|what| what.contains(' ')).collect()
}

/// Attributes of the link in the state.
pub(crate) fn link_attributes(bench: &TestWorkspace) -> Value {
    bench.state_attributes("link")["attributes"].clone()
}

pub(crate) fn names(bench: &TestWorkspace) -> Vec<String> {
    let all = bench.plugin_objects().into_iter();
    all.map(|o| o["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Lines of a stage about one change.
fn lines_of_change(run: &Run, address: &str) -> String {
    let change = run.lines().into_iter().rev();
    let mut staged = change.filter(|e| e["type"] == "staged");
    let changes = staged.next().unwrap()["changes"].clone();
    let mut changes = changes.as_array().unwrap().clone().into_iter();
    let change = changes.find(|c| c["address"] == address).unwrap();
    let line = |a: &Value| {
        let after = match a["unknown"] == true {
            true => "?".to_owned(),
            false => a["after"].as_str().unwrap_or("-").to_owned(),
        };
        let before = a["before"].as_str().unwrap_or("-");
        format!("{}: {before} -> {after}", a["path"].as_str().unwrap())
    };
    let all = change["attributes"].as_array().unwrap().iter();
    let changed = all.filter(|a| a["changed"] == true).map(line);
    changed.collect::<Vec<_>>().join("\n")
}

#[test]
fn link_is_created_kept_updated_and_removed_before_its_ends() {
    let bench = linked_workspace();
    let staged = bench.stage().expect(0);
    assert_eq!(change_counts(&staged), "create 3");
    assert_eq!(
        lines_of_change(&staged, "link.ab"),
        "from: - -> \"fake_box.a\"\nfrom_id: - -> ?\nintermediaries: - -> ?\n\
         intermediary_resources: - -> ?\nresource_a.fake_box_a.label: - -> ?\n\
         resource_a.fake_box_a.mode: - -> \"read\"\nresource_b: - -> ?\nsensitive_data: - -> ?\n\
         to: - -> \"fake_box.b\"\nto_id: - -> ?",
        "what is known of the three parts, and that the rest is known on deploy"
    );
    let told = bench.calls("StageLinkChanges").remove(0);
    assert_eq!(told["there"], false);
    assert!(
        told["unknown"][1]
            .as_array()
            .unwrap()
            .contains(&json!("spec.id")),
        "{told}"
    );
    let run = bench.deploy().expect(0);
    assert_eq!(
        recorded_steps(&bench),
        [
            "DeployResource",
            "DeployResource",
            "create A",
            "create B",
            "create between"
        ]
    );
    assert_eq!(names(&bench), ["a", "b", "between-a"]);
    let kept_of = |name: &str| link_attributes(&bench)[name]["value"].clone();
    assert_eq!(
        kept_of("resource_a")["fake_box_a"],
        json!({"label": "b-3", "mode": "read"})
    );
    assert_eq!(kept_of("resource_b")["fake_box_b"]["by"], "a-1");
    assert_eq!(kept_of("intermediaries")["between"]["id"], "between-a-5");
    assert_eq!(
        kept_of("intermediary_resources")["between-a-5"]["type"],
        "fake/box"
    );
    // Each phase is a visible call, recorded with the operation.
    for method in [
        "UpdateLinkResourceA",
        "UpdateLinkResourceB",
        "UpdateLinkIntermediaryResources",
    ] {
        let is_it = |e: &&Value| e["method"] == method && e["resource"] == "link.ab";
        let kinds: Vec<Value> = run
            .lines()
            .iter()
            .filter(is_it)
            .map(|e| e["type"].clone())
            .collect();
        assert_eq!(kinds, ["call_started", "call_finished"], "{method}");
    }
    let beside = operation(&bench, "link.ab")["beside"].clone();
    let short = |b: &Value| {
        format!("{} {} {} {}", b["action"], b["kind"], b["name"], b["end"]).replace('"', "")
    };
    let beside: Vec<String> = beside.as_array().unwrap().iter().map(short).collect();
    assert_eq!(
        beside,
        [
            "update resource_a fake_box.a done",
            "update resource_b fake_box.b done",
            "create intermediaries link.ab done"
        ]
    );

    // The link's own change to `a` is not drift of `a`.
    let again = bench.stage().expect(0);
    assert_eq!(change_counts(&again), "");
    assert!(again.result()["drift"].is_null(), "{again:#?}");

    let write = LINK.replace(
        "b\n}",
        "b\n  annotations = { \"fake.link.mode\" = \"write\" }\n}",
    );
    bench.main(&format!("{A}{B}{write}"));
    let staged = bench.stage().expect(0);
    assert_eq!(change_counts(&staged), "update 1");
    assert_eq!(
        lines_of_change(&staged, "link.ab"),
        "annotations[\"fake.link.mode\"]: - -> \"write\"\nresource_a.fake_box_a.mode: \"read\" -> \"write\""
    );
    bench.deploy().expect(0);
    assert_eq!(
        recorded_link_phases(&bench)[3..],
        ["update A", "update B", "update between"]
    );
    let told = bench.calls("UpdateLinkResourceA");
    assert_eq!(told[1]["changed"], json!(["fake_box_a.mode"]));
    assert_eq!(
        told[1]["data"]["fake_box_b"]["by"], "a-1",
        "as it was before"
    );
    assert_eq!(told[1]["link"], told[0]["link"], "it keeps its name");
    assert_eq!(change_counts(&bench.stage().expect(0)), "");

    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(
        recorded_steps(&bench)[8..],
        [
            "destroy A",
            "destroy B",
            "destroy between",
            "DestroyResource",
            "DestroyResource"
        ]
    );
    assert_eq!(bench.plugin_objects(), Vec::<Value>::new());
}

#[test]
fn removed_link_is_destroyed_and_its_ends_stay() {
    let bench = linked_workspace();
    bench.deploy().expect(0);
    bench.main(&format!("{A}{B}"));
    assert_eq!(change_counts(&bench.stage().expect(0)), "destroy 1");
    bench.deploy().expect(0);
    assert_eq!(
        recorded_link_phases(&bench)[3..],
        ["destroy A", "destroy B", "destroy between"]
    );
    assert_eq!(names(&bench), ["a", "b"]);
    assert!(bench.plugin_objects()[0]["labels"]["linked"].is_null());
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
}

#[test]
fn update_of_an_end_updates_the_link_and_replacement_of_an_end_replaces_it() {
    let bench = linked_workspace();
    bench.deploy().expect(0);
    bench.main(&format!("{}{B}{LINK}", A.replace("\"1\"", "\"2\"")));
    let staged = bench.stage().expect(0);
    assert_eq!(change_counts(&staged), "update 2");
    assert_eq!(
        lines_of_change(&staged, "link.ab"),
        "resource_a: { fake_box_a = { label = \"b-3\", mode = \"read\" } } -> ?"
    );
    bench.deploy().expect(0);
    assert_eq!(
        bench.plugin_objects()[0]["labels"],
        json!({"x": "2", "linked": "b-3"})
    );
    assert_eq!(change_counts(&bench.stage().expect(0)), "");

    bench.main(&format!("{A}{}{LINK}", B.replace("= \"b\"", "= \"c\"")));
    assert_eq!(
        change_counts(&bench.stage().expect(0)),
        "update 1, replace 2"
    );
    bench.deploy().expect(0);
    let all = recorded_steps(&bench);
    let at = |what: &str| all.iter().rposition(|w| w == what).unwrap();
    assert!(at("destroy between") < at("DestroyResource"), "{all:?}");
    assert!(at("DestroyResource") < at("create A"), "{all:?}");
    assert_eq!(names(&bench), ["a", "between-a", "c"]);
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
}

#[test]
fn hard_link_orders_creation_and_destruction_of_its_ends() {
    let b = "resource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";
    let bench = bench(&format!("{A}{b}{LINK}"));
    bench.write_fault_file("hard", "");
    bench.deploy().expect(0);
    let made = bench.calls("DeployResource");
    let made: Vec<&Value> = made.iter().map(|call| &call["name"]).collect();
    assert_eq!(made, ["fake_box.b", "fake_box.a"]);
    let gone = |i: usize| bench.calls("DestroyResource")[i]["resource"].clone();
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(gone(0), bench.calls("DeployResource")[1]["resource"]);
    // A dependency in the configuration takes precedence over the link's order.
    let bench = linked_workspace();
    bench.write_fault_file("hard", "");
    bench.deploy().expect(0);
    let made = bench.calls("DeployResource");
    assert_eq!(made[0]["name"], "fake_box.a");
}

#[test]
fn changed_intermediary_is_drift_of_the_link_and_is_restored() {
    let bench = linked_workspace();
    bench.deploy().expect(0);
    let file = "world/between-a-5.json";
    let before = std::fs::read_to_string(bench.file(file)).unwrap();
    bench.write_fault_file(file, &before.replace("green", "red"));
    let run = bench.stage().expect(0);
    assert_eq!(change_counts(&run), "update 1");
    assert_eq!(run.result()["drift"][0]["address"], "link.ab");
    let line = "intermediary_resources[\"between-a-5\"].spec.colour: \"red\" -> \"green\"";
    let said = lines_of_change(&run, "link.ab").replace(".between-a-5", "[\"between-a-5\"]");
    assert_eq!(said, line);
    bench.deploy().expect(0);
    assert!(
        std::fs::read_to_string(bench.file(file))
            .unwrap()
            .contains("green")
    );
    assert_eq!(change_counts(&bench.stage().expect(0)), "");

    std::fs::remove_file(bench.file(file)).unwrap();
    assert_eq!(change_counts(&bench.stage().expect(0)), "update 1");
    bench.deploy().expect(0);
    assert_eq!(names(&bench), ["a", "b", "between-a"]);
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
}

#[test]
fn foreign_change_of_a_value_written_by_the_link_is_drift() {
    let bench = linked_workspace();
    bench.deploy().expect(0);
    let file = "world/a-1.json";
    let before = std::fs::read_to_string(bench.file(file)).unwrap();
    bench.write_fault_file(file, &before.replace("\"b-3\"", "\"b-9\""));
    let run = bench.stage().expect(0);
    assert_eq!(
        run.result()["drift"][0]["address"],
        "fake_box.a",
        "{run:#?}"
    );
}

#[test]
fn links_support_for_each_modules_and_json() {
    let each = "resource \"fake_box\" \"a\" {\n  for_each = toset([\"x\", \"y\"])\n  name     = each.key\n}\n\
                resource \"fake_box\" \"n\" {\n  count = 2\n  name  = \"n${count.index}\"\n}\n\
                link \"all\" {\n  for_each = toset([\"x\", \"y\"])\n  from     = fake_box.a[each.key]\n  to       = fake_box.n[0]\n}\n\
                link \"n\" {\n  count = 1\n  from  = fake_box.n[count.index]\n  to    = fake_box.n[count.index + 1]\n}\n\
                module \"inner\" {\n  source = \"./inner\"\n}\n";
    let bench = bench(each);
    let inner =
        "terraform {\n  required_providers {\n    fake = { source = \"bluelink/fake\" }\n  }\n}\n";
    bench
        .workspace
        .write("inner/main.tf", &format!("{inner}{A}{B}"));
    let json = r#"{"link": {"ab": {"from": "${fake_box.a}", "to": "${fake_box.b}"}}}"#;
    bench.workspace.write("inner/link.tf.json", json);
    bench.deploy().expect(0);
    let state: Value = serde_json::from_str(&bench.workspace.read("terraform.tfstate")).unwrap();
    let links = state["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| r["type"] == "link");
    let one = |i: &Value| format!("{} {}", i["attributes"]["from"], i["attributes"]["to"]);
    let mut all: Vec<String> = links
        .flat_map(|r| r["instances"].as_array().unwrap().iter().map(one))
        .map(|text| text.replace("\\\"", "'").replace('"', ""))
        .collect();
    all.sort();
    assert_eq!(
        all,
        [
            "fake_box.a['x'] fake_box.n[0]",
            "fake_box.a['y'] fake_box.n[0]",
            "fake_box.n[0] fake_box.n[1]",
            "module.inner.fake_box.a module.inner.fake_box.b"
        ]
    );
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
    bench.main(&each.replace(
        "link \"all\" {\n  for_each = toset([\"x\", \"y\"])",
        "link \"all\" {\n  for_each = toset([\"x\"])",
    ));
    assert_eq!(change_counts(&bench.stage().expect(0)), "destroy 1");
}

#[test]
fn sensitive_link_data_is_marked_and_never_shown() {
    let secret = A.replace("}\n}", "}\n  secret = \"hush-hush\"\n}");
    let bench = bench(&format!("{secret}{B}{LINK}"));
    let run = bench.run(&["deploy", "--auto-approve"]).expect(0);
    let shown = bench.run(&["state", "show", "link.ab"]).expect(0);
    let said = format!("{run:#?}{shown:#?}{:#?}", bench.stage().expect(0));
    assert!(!said.contains("hush"), "{said}");
    let kept = link_attributes(&bench);
    let hidden = &kept["sensitive_data"]["value"]["resource_a"]["fake_box_a"]["secret"];
    assert_eq!(hidden, "hush-hush");
    assert!(kept["resource_a"]["value"]["fake_box_a"]["secret"].is_null());
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
    let told = bench.calls("StageLinkChanges").pop().unwrap();
    assert_eq!(
        told["data"]["fake_box_a"]["secret"], "hush-hush",
        "the plugin has all of it"
    );
}

#[test]
fn state_with_a_link_survives_export_and_import() {
    let bench = linked_workspace();
    bench.deploy().expect(0);
    let exported = bench.run(&["state", "export"]).expect(0).stdout;
    bench.workspace.write("kept.tfstate", &exported);
    std::fs::remove_file(bench.workspace.path().join("terraform.tfstate")).unwrap();
    std::fs::remove_dir_all(bench.workspace.path().join(".flightdeck")).unwrap();
    bench.run(&["state", "push", "kept.tfstate"]).expect(0);
    assert_eq!(change_counts(&bench.stage().expect(0)), "");
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(bench.plugin_objects(), Vec::<Value>::new());
}
