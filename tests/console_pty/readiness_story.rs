//! Story of an object that takes time: it exists before it is ready, its dependent waits, and a
//! look at all objects finds the next change.

use crate::console_workspace::*;
use bundled::lab::control;
use serde_json::json;

#[test]
fn object_is_awaited_until_it_is_ready_and_a_look_finds_its_change() {
    let w = Workspace::bundled();
    let main = w.path().join("main.tf");
    let text = std::fs::read_to_string(&main).unwrap();
    let more = r#"
resource "lab_thing" "slow" {
  name     = "slow"
  ready_ms = 6000
}
resource "lab_thing" "after" {
  name = "after"
  kind = lab_thing.slow.status
}
"#;
    std::fs::write(&main, text + more).unwrap();
    let overlay = "type \"lab_thing\" {\n  ready = self.status == \"ready\"\n  wait {\n    interval = \"1s\"\n    timeout  = \"120s\"\n  }\n}\n";
    std::fs::write(w.path().join("types.flightdeck.hcl"), overlay).unwrap();
    let mut c = w.console();
    c.wait("● ready", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("· 3 of 3 selected", LONG).unwrap();
    c.keys("a").unwrap();
    c.wait("Apply stage #", SOON).unwrap();
    c.keys("y").unwrap();
    c.wait("created, waiting until ready: ", LONG).unwrap();
    c.wait("blocked by lab_thing.slow", SOON).unwrap();
    c.wait("deploy #1 · ✓ succeeded", LONG).unwrap();
    c.keys("6").unwrap();
    c.wait("lab_thing.slow", SOON).unwrap();
    c.wait("● available", SOON).unwrap();
    // Somebody changes the object; the look finds it.
    let lab = w.path().join("lab.json");
    let cloud: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&lab).unwrap()).unwrap();
    let objects = cloud["objects"].as_object().unwrap();
    let slow = objects.iter().find(|(_, o)| o["name"] == "slow").unwrap();
    control::tamper(&lab, slow.0, "kind", json!("by hand")).unwrap();
    c.keys("L").unwrap();
    c.wait("1 changed outside", LONG).unwrap();
    c.wait("update needed", SOON).unwrap();
    quit(c);
    w.assert_unlocked();
}
