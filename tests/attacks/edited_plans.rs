//! Edited plans: random edits of the content of a plan file. A signed file is refused; an unsigned
//! one is refused, or its deploy does what the file shows.

use crate::LAB;
use crate::support::{Run, Workspace};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};

/// Number of random edits.
const EDITS: &str = "FLIGHTDECK_TEST_EDITS";
const SEED: &str = "FLIGHTDECK_TEST_SEED";

/// Files of a workspace whose plan `p` creates, updates, replaces and destroys one object each.
struct Planned(Vec<(&'static str, String)>);

impl Planned {
    fn new() -> (Workspace, Self) {
        let thing = |name: &str, body: &str| {
            format!("resource \"lab_thing\" \"{name}\" {{\n  name = \"{name}\"\n{body}}}\n")
        };
        let before = [
            LAB,
            &thing("changed", "  kind = \"v1\"\n"),
            &thing("gone", ""),
            &thing("same", "  kind = \"v1\"\n"),
        ];
        let w = Workspace::new(&[("main.tf", &before.concat())]);
        w.run(&["deploy", "--auto-approve"]).expect(0);
        let after = [
            LAB,
            &thing("changed", "  kind = \"v2\"\n"),
            &thing("same", "  kind = \"v1\"\n"),
            &thing("made", "  kind = \"v3\"\n"),
            "output \"kind\" {\n  value = lab_thing.changed.kind\n}\n",
        ];
        w.write("main.tf", &after.concat());
        w.run(&["plan", "--out", "p"]).expect(0);
        let names = ["main.tf", "cloud.json", "terraform.tfstate", "p"];
        let files = names.map(|name| (name, w.read(name)));
        (w, Self(files.into()))
    }

    fn plan(&self) -> &str {
        &self.0[3].1
    }

    /// A clone of the workspace without its store, with this plan.
    fn clone_with(&self, plan: &str) -> Workspace {
        let w = Workspace::new(&[]);
        self.0.iter().for_each(|(name, text)| w.write(name, text));
        w.write("p", plan);
        w
    }
}

fn content(text: &str) -> Value {
    let packed = STANDARD.decode(text.lines().nth(2).unwrap()).unwrap();
    let mut json = String::new();
    ZlibDecoder::new(&packed[..])
        .read_to_string(&mut json)
        .unwrap();
    opened(serde_json::from_str(&json).unwrap())
}

/// Replaces JSON texts by their values, below a key that tells them apart.
fn opened(value: Value) -> Value {
    match value {
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(inner) if inner.is_object() || inner.is_array() => json!({ "\0": opened(inner) }),
            _ => Value::String(text),
        },
        Value::Array(all) => all.into_iter().map(opened).collect(),
        Value::Object(all) => all.into_iter().map(|(k, v)| (k, opened(v))).collect(),
        other => other,
    }
}

fn closed(value: Value) -> Value {
    match value {
        Value::Array(all) => all.into_iter().map(closed).collect(),
        Value::Object(mut all) => match all.remove("\0") {
            Some(inner) => closed(inner).to_string().into(),
            None => all.into_iter().map(|(k, v)| (k, closed(v))).collect(),
        },
        other => other,
    }
}

fn with_content(text: &str, signature: &str, content: Value) -> String {
    let mut to = ZlibEncoder::new(Vec::new(), Compression::fast());
    to.write_all(closed(content).to_string().as_bytes())
        .unwrap();
    let body = STANDARD.encode(to.finish().unwrap());
    let title = text.lines().next().unwrap();
    format!("{title}\n{signature}\n{body}\n")
}

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }
}

/// Pointers to all values of a document.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    let mut add = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        let at = format!("{at}/{key}");
        pointers(value, &at, all);
        all.push(at);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| add(key, value)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(n, value)| add(&n.to_string(), value)),
        _ => {}
    }
}

/// Makes one edit: another value of the document in a place, a removal, or a repetition.
fn edit(content: &mut Value, random: &mut Random) -> String {
    let mut all = Vec::new();
    pointers(content, "", &mut all);
    let at = all[random.below(all.len())].clone();
    let other = content
        .pointer(&all[random.below(all.len())])
        .unwrap()
        .clone();
    let kind = random.below(4);
    let place = content.pointer_mut(&at).unwrap();
    match (kind, place) {
        (0, Value::String(text)) => {
            *text = match text.as_str() {
                "update" | "create" | "no_op" => "destroy".to_owned(),
                "destroy" => "update".to_owned(),
                text => text.replace('v', "w") + "x",
            }
        }
        (0, Value::Number(n)) => *n = (n.as_i64().unwrap_or(0) + 1).into(),
        (0, Value::Bool(is)) => *is = !*is,
        (0, Value::Array(list)) => list.reverse(),
        (1, Value::Array(list)) if !list.is_empty() => list.push(list[0].clone()),
        (2, Value::Array(list)) => drop(list.pop()),
        (2, Value::Object(map)) => {
            let key = map.keys().next().cloned();
            key.map(|key| map.remove(&key));
        }
        (3, place) => *place = Value::Null,
        (_, place) => *place = other,
    }
    at
}

/// Names and kinds of the objects, in order.
fn objects(w: &Workspace) -> Vec<(String, String)> {
    let cloud: Value = serde_json::from_str(&w.read("cloud.json")).unwrap();
    let all = cloud["objects"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<(String, String)> = all
        .map(|(_, object)| &object["attributes"])
        .map(|object| (text(&object["name"]), text(&object["kind"])))
        .collect();
    all.sort();
    all
}

/// Objects after the changes that `show -json` shows.
fn shown(run: &Run) -> Vec<(String, String)> {
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let changes = json["resource_changes"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut all: Vec<(String, String)> = changes
        .map(|change| &change["change"]["after"])
        .filter(|after| after.is_object())
        .map(|after| (text(&after["name"]), text(&after["kind"])))
        .collect();
    all.sort();
    all
}

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(default)
}

#[test]
fn edited_signed_plan_is_refused() {
    let (w, planned) = Planned::new();
    let signature = planned.plan().lines().nth(1).unwrap();
    let (before, mut random) = (objects(&w), Random(number(SEED, 1)));
    let edits = number(EDITS, 24);
    for n in 0..edits {
        let mut edited = content(planned.plan());
        let at = edit(&mut edited, &mut random);
        if edited == content(planned.plan()) {
            continue;
        }
        w.write("edited", &with_content(planned.plan(), signature, edited));
        for words in [["show", "edited"], ["apply", "edited"]] {
            let run = w.run(&words).expect(1);
            let says = "was changed after it was written";
            assert!(run.stderr.contains(says), "edit {n} of {at}: {run:?}");
        }
        assert_eq!(objects(&w), before, "edit {n} of {at}");
    }
    println!("met: {edits} edits of a signed plan");
}

#[test]
fn edited_plan_is_refused_or_does_what_it_shows() {
    let (_, planned) = Planned::new();
    let mut random = Random(number(SEED, 1).wrapping_add(1));
    let (mut refused, mut applied) = (0, 0);
    for n in 0..number(EDITS, 48) {
        let mut edited = content(planned.plan());
        let at = edit(&mut edited, &mut random);
        let plan = with_content(planned.plan(), "unsigned", edited);
        let w = planned.clone_with(&plan);
        let before = objects(&w);
        let show = w.run(&["show", "-json", "p"]);
        let apply = w.run(&["apply", "p"]);
        let after = objects(&w);
        if apply.code == Some(0) {
            applied += 1;
            assert_eq!(show.code, Some(0), "edit {n} of {at}: {show:?}");
            assert_eq!(after, shown(&show), "edit {n} of {at}: {apply:?}");
        } else {
            refused += 1;
            assert_eq!(after, before, "edit {n} of {at}: {apply:?}");
        }
    }
    println!("met: {refused} edited plans refused, {applied} applied as shown");
}

#[test]
fn unsigned_plan_names_the_values_of_its_variables() {
    let variables = "variable \"region\" {\n  default = \"eu\"\n}\n\
                     variable \"password\" {\n  sensitive = true\n}\n";
    let made = Workspace::new(&[("main.tf", variables)]);
    made.run(&["plan", "--out", "p", "-var=region=us", "-var=password=pw-1"])
        .expect(0);
    assert!(!made.run(&["show", "p"]).expect(0).stderr.contains("signed"));
    let text = made.read("p");
    let lines: Vec<&str> = text.lines().collect();
    let unsigned = format!("{}\nunsigned\n{}\n", lines[0], lines[2]);
    let elsewhere = Workspace::new(&[("main.tf", variables), ("p", &unsigned)]);
    for words in [["show", "p"], ["apply", "p"]] {
        let run = elsewhere.run(&words).expect(0);
        let names = run.stderr.contains("The plan file is not signed")
            && run.stderr.contains("region = \"us\"")
            && run.stderr.contains("password = (sensitive value)");
        assert!(names && !run.stderr.contains("pw-1"), "{run:?}");
    }
    println!("met: an unsigned plan with other values of variables");
}
