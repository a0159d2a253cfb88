//! Hashes of the configurations of members: the old and the new one of each rollout.

use crate::Lab;
use crate::groups::group;
use serde_json::Value;

const SERVERS: &str = r#"
variable "kind" { default = "v1" }
variable "size" { default = 2 }
resource "lab_thing" "base" {
  name = "base"
  kind = var.kind
}
resource "lab_thing" "web" {
  count   = var.size
  name    = "web-${count.index}"
  kind    = var.kind
  payload = lab_thing.base.revision
}
"#;

/// Hashes of the members, in the order of their keys.
fn hashes(lab: &Lab) -> Vec<String> {
    let listed = lab.workspace.run(&["group", "--json"]).expect(0).result();
    let members = listed["groups"][0]["members"].as_array().expect("members");
    let hash = |member: &Value| member["hash"].as_str().unwrap_or_default().to_owned();
    members.iter().map(hash).collect()
}

/// Key, old and new hash of the members of the newest rollout.
fn rolled(lab: &Lab) -> Vec<(String, String, String)> {
    let shown = lab.workspace.run(&["group", "show", "web", "--json"]);
    let shown = shown.expect(0).result();
    let members = shown["rollouts"][0]["members"].as_array().expect("members");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let part = |m: &Value| (text(&m["key"]), text(&m["old_hash"]), text(&m["new_hash"]));
    members.iter().map(part).collect()
}

#[test]
fn rollout_shows_the_old_and_the_new_hash_of_each_member() {
    let lab = Lab::new(SERVERS);
    let deploy = |vars: &[&str]| {
        let args = [&["deploy", "--auto-approve"], vars].concat();
        lab.workspace.run(&args).expect(0)
    };
    deploy(&[]);
    lab.workspace
        .write("web.flightdeck.hcl", &group("    batch = 1"));
    assert_eq!(
        hashes(&lab),
        ["", ""],
        "no stage with the group has seen them"
    );
    // A stage without changes knows the configuration of members that are older than the group.
    lab.workspace.run(&["stage"]).expect(0);
    let first = hashes(&lab);
    assert!(first.iter().all(|hash| hash.len() == 32), "{first:?}");
    assert_ne!(first[0], first[1], "the names of the members differ");

    deploy(&["--var", "kind=v2"]);
    let second = hashes(&lab);
    let key = |at: usize| (at.to_string(), first[at].clone(), second[at].clone());
    assert_eq!(rolled(&lab), [key(0), key(1)]);
    assert_ne!(first[0], second[0]);
    let shown = lab.workspace.run(&["group", "show", "web"]).expect(0);
    let change = format!("{} → {}", &first[0][..7], &second[0][..7]);
    assert!(shown.stdout.contains(&change), "{}", shown.stdout);
    // The revision was unknown in the stage, and the hash of the rollout has its value.
    lab.workspace.run(&["stage", "--var", "kind=v2"]).expect(0);
    assert_eq!(hashes(&lab), second);

    // Neither the size of the group nor the order of arguments counts.
    let lines = "  kind    = var.kind\n  payload = lab_thing.base.revision\n";
    assert!(SERVERS.contains(lines));
    let moved = "  payload = lab_thing.base.revision\n  kind    = var.kind\n";
    lab.configure(&SERVERS.replace(lines, moved));
    deploy(&["--var", "kind=v2", "--var", "size=3"]);
    let third = hashes(&lab);
    assert_eq!(third[..2], second[..]);
    let added = ("2".to_owned(), String::new(), third[2].clone());
    assert_eq!(rolled(&lab), [added]);

    // A removed member has no hash, and one of the same key later begins without any.
    deploy(&["--var", "kind=v2"]);
    let removed = ("2".to_owned(), third[2].clone(), String::new());
    assert_eq!(rolled(&lab), [removed]);
    assert_eq!(hashes(&lab), second);
    deploy(&["--var", "kind=v2", "--var", "size=3"]);
    assert_eq!(rolled(&lab)[0].1, "");
}
