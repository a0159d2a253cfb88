//! Tests of plan files: what one shows is what it does, whoever changed it.

use crate::support::{Run, Workspace};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};

const MAIN: &str = r#"
terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}
provider "lab" {
  file = "cloud.json"
}
variable "kind" {
  default = "v1"
}
variable "note" {
  default = "a default"
}
resource "lab_thing" "a" {
  count = 2
  name  = "a-${count.index}"
  kind  = var.kind
}
output "kind" {
  value = var.kind
}
"#;

/// Workspace with two objects, a plan `p` that updates both, and a copy without its store.
fn planned() -> [Workspace; 2] {
    let w = Workspace::new(&[("main.tf", MAIN)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.run(&["plan", "--out", "p", "--var", "kind=v2"]).expect(0);
    let files = ["main.tf", "cloud.json", "terraform.tfstate", "p"];
    let texts = files.map(|name| (name, w.read(name)));
    let copied = texts.each_ref().map(|(name, text)| (*name, text.as_str()));
    let copy = Workspace::new(&copied);
    [w, copy]
}

fn content(text: &str) -> Value {
    let packed = STANDARD.decode(text.lines().nth(2).unwrap()).unwrap();
    let mut json = String::new();
    let mut unpacking = ZlibDecoder::new(&packed[..]);
    unpacking.read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

fn with_content(text: &str, signature: &str, content: &Value) -> String {
    let mut to = ZlibEncoder::new(Vec::new(), Compression::fast());
    to.write_all(content.to_string().as_bytes()).unwrap();
    let body = STANDARD.encode(to.finish().unwrap());
    let title = text.lines().next().unwrap();
    format!("{title}\n{signature}\n{body}\n")
}

/// Changes a JSON text in the content.
fn in_text(part: &mut Value, edit: impl Fn(&mut Value)) {
    let mut json = serde_json::from_str(part.as_str().unwrap()).unwrap();
    edit(&mut json);
    *part = json.to_string().into();
}

fn destroy_all(content: &mut Value) {
    in_text(&mut content["stage"]["detail"], |detail| {
        for change in detail["changes"].as_array_mut().unwrap() {
            change["action"] = json!("destroy");
            // Null, of the same type.
            change["after"] = json!([change["before"][0], "wA==", []]);
        }
    });
}

#[test]
fn signed_plan_that_was_changed_is_refused_before_it_is_shown() {
    let [w, copy] = planned();
    let text = w.read("p");
    let signature = text.lines().nth(1).unwrap().to_owned();
    let mut edited = content(&text);
    destroy_all(&mut edited);
    w.write("edited", &with_content(&text, &signature, &edited));
    for words in [
        &["show", "edited"][..],
        &["show", "-json", "edited"],
        &["graph", "--plan=edited"],
        &["apply", "edited"],
    ] {
        let run = w.run(words).expect(1);
        let says = "was changed after it was written";
        assert!(run.stderr.contains(says), "{words:?}: {run:?}");
    }
    // Another user and directory.
    let applied = copy.run(&["apply", "p"]).expect(0);
    assert!(applied.stderr.contains("not signed"), "{applied:?}");
    assert!(copy.read("cloud.json").contains("v2"));
}

#[test]
fn plan_without_its_signature_is_refused_beside_the_stage_that_it_was() {
    let [w, _] = planned();
    let text = w.read("p");
    let mut edited = content(&text);
    destroy_all(&mut edited);
    w.write("edited", &with_content(&text, "unsigned", &edited));
    let run = w.run(&["apply", "edited"]).expect(1);
    assert!(run.stderr.contains("with other operations"), "{run:?}");
}

#[test]
fn operations_of_a_changed_plan_are_what_it_shows() {
    let [_, copy] = planned();
    let text = copy.read("p");
    let mut edited = content(&text);
    destroy_all(&mut edited);
    // Parts of earlier layouts that are made from the operations now.
    edited["stage"]["counts"] = content(&text)["stage"]["counts"].clone();
    copy.write("edited", &with_content(&text, "unsigned", &edited));
    let shown = copy.run(&["show", "edited"]).expect(0).stdout;
    assert!(shown.contains("2 to destroy"), "{shown}");
    let json = copy.run(&["show", "-json", "edited"]).expect(0).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    for change in json["resource_changes"].as_array().unwrap() {
        assert_eq!(change["change"]["actions"], json!(["delete"]));
    }
}

#[test]
fn rest_of_a_changed_plan_is_compared_before_anything_is_applied() {
    type Edit = fn(&mut Value);
    let table: [(&str, Edit); 12] = [
        ("configuration", |c| {
            c["surroundings"]["configuration"]["root_module"]["resources"] = json!([]);
        }),
        ("state", |c| {
            c["surroundings"]["prior_state"] = Value::Null;
        }),
        ("values of variables", |c| {
            c["surroundings"]["defaults"]["note"] = json!("another");
        }),
        // The state after these edits is the one that the plan shows.
        ("state", |c| {
            in_text(&mut c["stage"]["detail"], |detail| {
                let edit = json!({ "remove": { "address": "lab_thing.a[0]", "deposed": "" } });
                detail["edits"] = json!([edit]);
            });
        }),
        ("configuration files", |c| {
            c["stage"]["snapshot"][0][1] = json!("# nothing\n");
        }),
        ("changed", |c| {
            c["stage"]["config_digest"] = json!("0");
        }),
        // Otherwise the file would bring the configuration that it is compared with.
        ("configuration of an earlier deploy", |c| {
            in_text(&mut c["stage"]["detail"], |detail| {
                detail["request"]["configuration_of"] = json!(1);
            });
        }),
        ("list of changes", |c| {
            in_text(&mut c["stage"]["detail"], |detail| {
                let first = detail["changes"][0].clone();
                detail["changes"].as_array_mut().unwrap().push(first);
            });
        }),
        ("list of former objects", |c| {
            in_text(&mut c["stage"]["detail"], |detail| {
                detail["changes"][0]["address"] = json!("lab_thing.a[1]");
                detail["changes"][1]["address"] = json!("lab_thing.a[0]");
            });
        }),
        ("list of planned objects", |c| {
            in_text(&mut c["stage"]["detail"], |detail| {
                detail["changes"][0]["action"] = json!("destroy");
            });
        }),
        ("list of planned objects", |c| {
            in_text(&mut c["stage"]["detail"], |detail| {
                detail["changes"][0]["action"] = json!("no_op");
            });
        }),
        ("mode", |c| {
            in_text(&mut c["stage"]["detail"], |detail| {
                detail["request"]["mode"] = json!("refresh_only");
            });
        }),
    ];
    for (part, edit) in table {
        let [_, copy] = planned();
        let (text, cloud) = (copy.read("p"), copy.read("cloud.json"));
        let mut edited = content(&text);
        edit(&mut edited);
        assert_ne!(edited, content(&text), "{part}");
        copy.write("edited", &with_content(&text, "unsigned", &edited));
        let run = copy.run(&["apply", "edited"]).expect(1);
        assert!(run.stderr.contains(part), "{part}: {run:?}");
        assert_eq!(copy.read("cloud.json"), cloud, "{part}");
        copy.run(&["apply", "p"]).expect(0);
    }
}

#[test]
fn selection_of_a_changed_plan_is_shown_and_applied() {
    let [w, copy] = planned();
    for w in [w, copy] {
        let text = w.read("p");
        let mut edited = content(&text);
        edited["stage"]["left"] = json!(["lab_thing.a[0]"]);
        w.write("edited", &with_content(&text, "unsigned", &edited));
        let shown = w.run(&["show", "edited"]).expect(0).stdout;
        assert_ne!(shown, w.run(&["show", "p"]).expect(0).stdout);
        w.run(&["apply", "edited"]).expect(0);
        let cloud = w.read("cloud.json");
        assert_eq!(cloud.matches("\"v2\"").count(), 1, "{cloud}");
    }
}

#[test]
fn shared_key_refuses_plans_that_it_did_not_sign() {
    let [w, _] = planned();
    let with_key = |w: &Workspace, words: &[&str], key: &str| {
        Run::from_command(w.command(words).env("FLIGHTDECK_PLAN_KEY", key))
    };
    let (key, other) = ("a key that two jobs share", "another key of enough length");
    let plan = ["plan", "--out", "shared", "--var", "kind=v3"];
    with_key(&w, &plan, key).expect(0);
    let text = w.read("shared");
    let unsigned = with_content(&text, "unsigned", &content(&text));
    w.write("unsigned", &unsigned);
    for (file, key, says) in [
        ("shared", other, "is not signed with the key"),
        ("unsigned", key, "is not signed with the key"),
        ("shared", "short", "too short"),
        ("shared", "", "is empty or too short"),
    ] {
        for words in [["show", file], ["apply", file]] {
            let run = with_key(&w, &words, key).expect(1);
            assert!(run.stderr.contains(says), "{words:?}: {run:?}");
        }
    }
    with_key(&w, &["show", "shared"], key).expect(0);
    with_key(&w, &["apply", "shared"], key).expect(0);
    assert!(w.read("cloud.json").contains("v3"));
}

#[test]
fn digest_of_a_plan_is_checked_before_anything_is_read() {
    let [w, _] = planned();
    let plan = ["plan", "--out", "q", "--var", "kind=v4"];
    let said = w.run(&plan).expect(0).stderr;
    let digest = said.split("sha256:").nth(1).unwrap();
    let digest = digest.split_whitespace().next().unwrap();
    let json = ["plan", "--out", "r", "--var", "kind=v4", "--json"];
    let result = w.run(&json).expect(0).result();
    let of_r = result["digest"].as_str().unwrap().to_owned();
    // A configuration that cannot be read shows that nothing was.
    w.write("broken.tf", "resource {");
    let run = w.run(&["apply", "--digest", digest, "r"]).expect(1);
    assert!(run.stderr.contains("has the digest"), "{run:?}");
    assert!(!run.stderr.contains("broken.tf"), "{run:?}");
    for words in [
        ["apply", "--digest", digest, "1"],
        ["apply", "--digest", digest, "missing"],
    ] {
        let run = w.run(&words).expect(1);
        assert!(run.stderr.contains("needs a plan file"), "{run:?}");
    }
    std::fs::remove_file(w.path().join("broken.tf")).unwrap();
    w.run(&["apply", "--digest", &of_r, "r"]).expect(0);
    let run = w
        .run(&["apply", &format!("--digest={digest}"), "q"])
        .expect(1);
    assert!(!run.stderr.contains("has the digest"), "{run:?}");
}

#[test]
fn damaged_plans_are_refused_with_a_reason() {
    let [w, _] = planned();
    let text = w.read("p");
    let lines: Vec<&str> = text.lines().collect();
    let [title, signature, body] = lines[..] else {
        panic!("{} lines", lines.len());
    };
    for damaged in [
        format!("{title}\n"),
        format!("{title}\n{signature}\n"),
        format!("{title}\n{signature}\n{}\n", &body[..body.len() / 2]),
        format!("{title}\nunsigned\n{}\n", &body[..body.len() / 2]),
        format!("{title}\nunsigned\n!!\n"),
        format!("{title}\nunsigned\n{}\n", STANDARD.encode("[]")),
        format!("{text}more\n"),
        format!("flightdeck plan x\n{signature}\n{body}\n"),
        String::new(),
    ] {
        w.write("damaged", &damaged);
        for words in [["show", "damaged"], ["apply", "damaged"]] {
            let run = w.run(&words).expect(1);
            assert!(run.stderr.contains("plan"), "{words:?}: {run:?}");
        }
    }
}

#[test]
fn plan_that_unpacks_to_far_more_than_its_size_is_refused() {
    let [w, _] = planned();
    let text = w.read("p");
    let title = text.lines().next().unwrap();
    // Valid JSON: blanks, then the content of the plan.
    let content = content(&text).to_string();
    let mut to = ZlibEncoder::new(Vec::new(), Compression::best());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..64 {
        to.write_all(&blanks).unwrap();
    }
    to.write_all(content.as_bytes()).unwrap();
    let body = STANDARD.encode(to.finish().unwrap());
    assert!(body.len() < 200_000, "{}", body.len());
    w.write("bomb", &format!("{title}\nunsigned\n{body}\n"));
    for words in [["show", "bomb"], ["apply", "bomb"]] {
        let run = w.run(&words).expect(1);
        assert!(run.stderr.contains("damaged"), "{words:?}: {run:?}");
    }
}

#[test]
fn plan_of_many_resources_is_small() {
    let w = Workspace::new(&[("main.tf", &MAIN.replace("count = 2", "count = 300"))]);
    w.run(&["plan", "--out", "p"]).expect(0);
    let size = w.read("p").len();
    assert!(size < 40_000, "{size} bytes");
}
