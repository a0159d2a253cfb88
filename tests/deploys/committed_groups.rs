//! Committed groups: specifications in InfraKit's form, from the commit to the destroy.

use crate::Lab;
use crate::groups::{NEVER_HEALTHY, begin_deploy, group, waits_for_health};
use bundled::lab::control::{Fault, Kind, On};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Specification of members with a disk of their own and a shared resource.
fn spec(allocation: &Value, kind: &str) -> String {
    json!({"ID": "app", "Properties": {
        "Allocation": allocation,
        "Instance": {"Type": "lab_thing", "Properties": {"resource": {"lab_thing": {
            "host": {"name": "{{ var `/self/instId` }}", "kind": kind},
            "disk": {"@scope": "@dedicated-app", "name": "disk-{{ var `/self/dedicated/attachId` }}"},
            "shared": {"@scope": "app", "name": "shared"},
        }}}},
        "Flavor": {"Plugin": "flavor-vanilla", "Properties": {"Tags": {"tier": "web"}}},
    }})
    .to_string()
}

fn files(lab: &Lab) -> String {
    let names = std::fs::read_dir(lab.workspace.path()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|n| n.contains(".tf.json")).collect();
    names.sort();
    names.join(" ").replace(".tf.json", "")
}

fn objects(lab: &Lab) -> String {
    lab.objects()
        .join(" ")
        .replace("lab_thing.", "")
        .replace("thing.", "")
}

/// Ids of the objects by name.
fn ids(lab: &Lab) -> BTreeMap<String, String> {
    let shown = lab.workspace.run(&["state", "pull"]).expect(0);
    let state: Value = serde_json::from_str(&shown.stdout).unwrap();
    let resources = state["resources"].as_array().unwrap().iter();
    let pairs = resources.map(|resource| {
        let attributes = &resource["instances"][0]["attributes"];
        let text = |name: &str| attributes[name].as_str().unwrap_or_default().to_owned();
        (text("name"), text("id"))
    });
    pairs.collect()
}

fn commit(lab: &Lab, allocation: Value, kind: &str, more: &[&str]) -> String {
    lab.workspace.write("app.json", &spec(&allocation, kind));
    let args = [&["group", "commit", "app.json"], more].concat();
    lab.workspace.run(&args).expect(0).stdout
}

fn deploy(lab: &Lab) -> Value {
    let deploy = ["deploy", "--auto-approve", "--json"];
    lab.workspace.run(&deploy).expect(0).result()
}

#[test]
fn s3_01_committed_group_is_declared_rolled_scaled_and_destroyed() {
    let lab = Lab::new("");
    let pretended = commit(&lab, json!({"Size": 3}), "v1", &["--pretend"]);
    assert!(pretended.contains("Managing 3 instances"), "{pretended}");
    assert_eq!(files(&lab), "");
    commit(&lab, json!({"Size": 3}), "v1", &[]);
    let disks = "app_dedicated_1 app_dedicated_2 app_dedicated_3 app_global";
    assert_eq!(
        files(&lab),
        format!("{disks} instance-1 instance-2 instance-3")
    );
    deploy(&lab);
    assert_eq!(
        objects(&lab),
        "disk-1 disk-2 disk-3 instance-1 instance-2 instance-3 shared"
    );
    let before = ids(&lab);
    let again = commit(&lab, json!({"Size": 3}), "v1", &[]);
    assert!(again.contains("Noop"), "{again}");

    // A new configuration rolls: new instances, and the same disks.
    let rolled = commit(&lab, json!({"Size": 3}), "v2", &[]);
    assert!(
        rolled.contains("Performing a rolling update on 3 instances"),
        "{rolled}"
    );
    let staged = lab.workspace.run(&["stage"]).expect(0).stdout;
    assert!(
        staged.contains("group app: rolling update of 3 instances in 3 batches"),
        "{staged}"
    );
    assert_eq!(deploy(&lab)["operations"]["done"], 6);
    let after = ids(&lab);
    for disk in ["disk-1", "disk-2", "disk-3", "shared"] {
        assert_eq!(after[disk], before[disk], "{disk}");
    }
    assert_eq!(
        objects(&lab),
        "disk-1 disk-2 disk-3 instance-4 instance-5 instance-6 shared"
    );
    let shown = lab
        .workspace
        .run(&["group", "show", "app", "--json"])
        .expect(0)
        .result();
    let rollout = &shown["rollouts"][0];
    assert_eq!(rollout["state"], "converged", "{rollout}");
    let batches: Vec<&Value> = rollout["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| &m["batch"])
        .collect();
    assert_eq!(batches, [1, 2, 3]);

    // A size never rolls.
    let scaled = lab
        .workspace
        .run(&["group", "scale", "app", "1"])
        .expect(0)
        .stdout;
    assert!(scaled.contains("Terminating 2 instances"), "{scaled}");
    deploy(&lab);
    assert_eq!(objects(&lab), "disk-3 instance-6 shared");
    // The first rollback returns to the size before.
    let back = lab
        .workspace
        .run(&["group", "rollback", "app", "--pretend"])
        .expect(0)
        .stdout;
    assert!(back.contains("Adding 2 instances"), "{back}");

    let destroyed = ["group", "destroy", "app", "--auto-approve"];
    lab.workspace.run(&destroyed).expect(0);
    assert_eq!((objects(&lab), files(&lab)), (String::new(), String::new()));
    let listed = lab.workspace.run(&["group"]).expect(0).stdout;
    assert!(listed.contains("no groups"), "{listed}");
}

#[test]
fn rollback_ends_the_rollout_of_a_failed_configuration() {
    let lab = Lab::new("");
    commit(&lab, json!({"Size": 3}), "v1", &[]);
    deploy(&lab);
    commit(&lab, json!({"Size": 3}), "v2", &[]);
    lab.set_fault(Fault {
        on: On::Create,
        name: Some("instance-5".to_owned()),
        text: Some("quota of hosts exceeded".to_owned()),
        ..Fault::new(Kind::Permanent)
    });
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(5);
    let states = || {
        let shown = lab.workspace.run(&["group", "show", "app", "--json"]);
        let shown = shown.expect(0).result();
        let rollouts = shown["rollouts"].as_array().unwrap().iter();
        let state = |rollout: &Value| rollout["state"].as_str().unwrap().to_owned();
        rollouts.map(state).collect::<Vec<_>>()
    };
    assert_eq!(states(), ["paused (failed)", "converged"]);
    let untouched = ids(&lab)["instance-3"].clone();

    lab.clear_faults();
    let pretend = ["group", "rollback", "app", "--pretend"];
    lab.workspace.run(&pretend).expect(0);
    assert_eq!(states(), ["paused (failed)", "converged"]);
    lab.workspace.run(&["group", "rollback", "app"]).expect(0);
    assert_eq!(states(), ["rolled back", "converged"]);
    let refused = lab.workspace.run(&["group", "resume", "app"]).expect(1);
    let refused = refused.stderr;
    assert!(refused.contains("the rollout is rolled back"), "{refused}");

    deploy(&lab);
    assert_eq!(states(), ["converged", "rolled back", "converged"]);
    assert_eq!(ids(&lab)["instance-3"], untouched);
    let kinds = lab.workspace.run(&["state", "pull"]).expect(0).stdout;
    assert!(!kinds.contains("\"v2\""), "{kinds}");
}

#[test]
fn s3_14_new_declarations_wait_until_a_stage_takes_them_in() {
    let lab = Lab::new(crate::groups::SERVERS);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.workspace
        .write("web.flightdeck.hcl", &group(NEVER_HEALTHY));
    let (mut child, _lines) = begin_deploy(&lab, &["--var", "kind=v2"], waits_for_health);
    let committed = commit(&lab, json!({"LogicalIDs": ["a"]}), "v1", &[]);
    assert!(committed.contains("the workspace is locked"), "{committed}");
    assert_eq!(
        files(&lab),
        "app_dedicated_a.new app_global.new instance-1.new"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let staged = lab
        .workspace
        .run(&["stage", "--var", "kind=v2"])
        .expect(0)
        .stdout;
    assert!(staged.contains("lab_thing.instance-1"), "{staged}");
    assert_eq!(files(&lab), "app_dedicated_a app_global instance-1");
    // The list of pets is fixed.
    lab.workspace
        .write("app.json", &spec(&json!({"LogicalIDs": ["b"]}), "v1"));
    let refused = lab
        .workspace
        .run(&["group", "commit", "app.json"])
        .expect(1);
    assert!(
        refused.stderr.contains("removed a; added b"),
        "{}",
        refused.stderr
    );
    let scaled = lab.workspace.run(&["group", "scale", "app", "2"]).expect(1);
    assert!(
        scaled.stderr.contains("fixed list of members (a)"),
        "{}",
        scaled.stderr
    );
    // Free changes nothing but the management.
    lab.workspace
        .run(&["group", "free", "app", "--auto-approve"])
        .expect(0);
    assert_eq!(files(&lab), "app_dedicated_a app_global instance-1");
    let listed = || lab.workspace.run(&["group"]).expect(0).stdout;
    assert!(!listed().contains("app"), "{}", listed());
    // A commit manages what exists again, although it changes no file.
    let adopted = commit(&lab, json!({"LogicalIDs": ["a"]}), "v1", &[]);
    assert!(adopted.contains("Noop"), "{adopted}");
    assert!(listed().contains("app"), "{}", listed());
}

#[test]
fn s3_04_mistakes_of_a_specification_have_their_places() {
    let lab = Lab::new("");
    let both = spec(&json!({"Size": 2, "LogicalIDs": ["a"]}), "v1");
    let pretty: Value = serde_json::from_str(&both).unwrap();
    lab.workspace.write("app.json", &format!("{pretty:#}"));
    let refused = lab
        .workspace
        .run(&["group", "commit", "app.json"])
        .expect(1);
    assert!(
        refused.stderr.contains("allocation method") && refused.stderr.contains("app.json:6:21"),
        "{}",
        refused.stderr
    );
    assert_eq!(files(&lab), "");
}

#[test]
fn size_and_block_of_a_group_of_the_configuration_are_shown_before_they_change() {
    let servers = crate::groups::SERVERS.replace("count = 3", "count = var.size");
    let lab = Lab::new(&format!("variable \"size\" {{ default = 3 }}\n{servers}"));
    lab.workspace.write("web.flightdeck.hcl", &group(""));
    let shown = lab
        .workspace
        .run(&["group", "scale", "web", "2"])
        .expect(0)
        .stdout;
    assert!(
        shown.contains("count = var.size in main.tf:")
            && shown.contains("no file assigns var.size"),
        "{shown}"
    );
    let write = ["group", "scale", "web", "2", "--write"];
    lab.workspace.run(&write).expect(0);
    let values = lab.workspace.path().join("terraform.tfvars");
    assert_eq!(std::fs::read_to_string(&values).unwrap(), "size = 2\n");
    std::fs::write(&values, "# servers\nsize = 5 # all\n").unwrap();
    lab.workspace.run(&write).expect(0);
    assert_eq!(
        std::fs::read_to_string(&values).unwrap(),
        "# servers\nsize = 2 # all\n"
    );
    deploy(&lab);
    assert_eq!(objects(&lab), "web-0 web-1");
    lab.configure(crate::groups::SERVERS);
    let literal = lab.workspace.run(&write).expect(1);
    assert!(
        literal.stderr.contains("count = 3 in main.tf:"),
        "{}",
        literal.stderr
    );

    let block = lab.workspace.path().join("web.flightdeck.hcl");
    let declined = lab
        .workspace
        .run_with_input(&["group", "free", "web"], "no\n")
        .expect(1);
    assert!(
        declined.stderr.contains("group \"web\" {"),
        "{}",
        declined.stderr
    );
    assert!(block.exists());
    lab.workspace
        .run(&["group", "free", "web", "--yes"])
        .expect(0);
    assert!(!block.exists());
    assert_eq!(objects(&lab), "web-0 web-1");
}

#[test]
fn s3_08_import_takes_all_resources_or_none() {
    let lab = Lab::new(
        "resource \"lab_thing\" \"a\" {\n  name = \"a\"\n  kind = \"v1\"\n}\nresource \"lab_thing\" \"b\" {\n  name = \"b\"\n}\n",
    );
    deploy(&lab);
    let ids = ids(&lab);
    lab.workspace
        .run(&["state", "forget", "lab_thing.a", "lab_thing.b"])
        .expect(0);
    lab.configure("");
    lab.workspace
        .write("app.json", &spec(&json!({"LogicalIDs": ["a"]}), "v1"));
    let (host, disk) = (
        format!("lab_thing.host={}", ids["a"]),
        format!("lab_thing.disk={}", ids["b"]),
    );
    let import = |more: &[&str]| {
        let args = [&["group", "import", "app.json", host.as_str()], more].concat();
        lab.workspace.run(&args)
    };
    // The second resource does not exist, so the first one is not kept either.
    let failed = import(&["lab_thing.disk=nothing"]).expect(1);
    assert!(
        failed.stderr.contains("nothing is imported"),
        "{}",
        failed.stderr
    );
    assert_eq!((lab.state(), files(&lab)), (Vec::new(), String::new()));
    let unknown = import(&["lab_thing.other=1"]).expect(1);
    assert!(
        unknown.stderr.contains("matches no resource"),
        "{}",
        unknown.stderr
    );
    import(&[&disk]).expect(0);
    assert_eq!(files(&lab), "app_dedicated_a instance-1");
    let staged = lab.workspace.run(&["stage"]).expect(0).stdout;
    assert!(staged.contains("no changes"), "{staged}");
    let again = import(&[&disk]).expect(0).stdout;
    assert!(again.contains("imported already"), "{again}");
    let listed = lab.workspace.run(&["group"]).expect(0).stdout;
    assert!(
        listed.contains("app") && listed.contains("1 member"),
        "{listed}"
    );
}
