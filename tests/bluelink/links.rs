//! Links between two resources, from the first stage to the end: what they are staged as, made,
//! changed and taken away, and what of them is kept.

use crate::bench::{Bench, counts};
use crate::support::Run;
use serde_json::{Value, json};

pub(crate) const A: &str =
    "resource \"fake_box\" \"a\" {\n  name   = \"a\"\n  labels = { x = \"1\" }\n}\n";
pub(crate) const B: &str = "resource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";
pub(crate) const LINK: &str = "link \"ab\" {\n  from = fake_box.a\n  to   = fake_box.b\n}\n";

/// A plugin with links from boxes to boxes.
pub(crate) fn bench(main: &str) -> Bench {
    let bench = Bench::new(main);
    bench.tell("links", "fake/box::fake/box\n");
    bench.tell("retry", "3 0.01 0.05 2");
    bench
}

pub(crate) fn whole() -> Bench {
    bench(&format!("{A}{B}{LINK}"))
}

/// What objects and links went through so far, in order: `create A`, `DestroyResource`.
pub(crate) fn done(bench: &Bench) -> Vec<String> {
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

/// The same of links alone.
pub(crate) fn phases(bench: &Bench) -> Vec<String> {
    let all = done(bench).into_iter();
    all.filter(|what| what.contains(' ')).collect()
}

/// The kept attributes of the link.
pub(crate) fn kept(bench: &Bench) -> Value {
    bench.stored("link")["attributes"].clone()
}

fn names(bench: &Bench) -> Vec<String> {
    let all = bench.world().into_iter();
    all.map(|o| o["name"].as_str().unwrap().to_owned()).collect()
}

/// The lines of a stage about one change.
fn shown(run: &Run, address: &str) -> String {
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
fn a_link_is_made_left_alone_changed_and_taken_away_before_its_ends() {
    let bench = whole();
    let staged = bench.stage().expect(0);
    assert_eq!(counts(&staged), "create 3");
    println!("{}", shown(&staged, "link.ab"));
    let told = bench.calls("StageLinkChanges").remove(0);
    assert_eq!(told["there"], false);
    bench.deploy().expect(0);
    assert_eq!(phases(&bench), ["create A", "create B", "create between"]);
    assert_eq!(done(&bench)[..2], ["DeployResource", "DeployResource"]);
    assert_eq!(names(&bench), ["a", "b", "between-a"]);
    println!("{:#}", kept(&bench));
    let again = bench.stage().expect(0);
    println!("{}", shown(&again, "link.ab"));
    assert_eq!(counts(&again), "");
    println!("{:#?}", again.result());

    let write = LINK.replace("b\n}", "b\n  annotations = { \"fake.link.mode\" = \"write\" }\n}");
    bench.main(&format!("{A}{B}{write}"));
    let staged = bench.stage().expect(0);
    assert_eq!(counts(&staged), "update 1");
    println!("{}", shown(&staged, "link.ab"));
    bench.deploy().expect(0);
    assert_eq!(counts(&bench.stage().expect(0)), "");
    bench.run(&["destroy", "--auto-approve"]).expect(0);
    println!("{:?}", done(&bench));
    assert_eq!(json!(1), json!(1));
}
