//! Links between two resources, from the first stage to the end: what they are staged as, made,
//! changed and taken away, and what of them is kept.

use crate::bench::{Bench, counts};
use serde_json::{Value, json};

const A: &str = "resource \"fake_box\" \"a\" {\n  name   = \"a\"\n  labels = { x = \"1\" }\n}\n";
const B: &str = "resource \"fake_box\" \"b\" {\n  name = \"b\"\n}\n";
const LINK: &str = "link \"ab\" {\n  from = fake_box.a\n  to   = fake_box.b\n}\n";

/// A plugin with links from boxes to boxes.
pub(crate) fn bench(main: &str) -> Bench {
    let bench = Bench::new(main);
    bench.tell("links", "fake/box::fake/box\n");
    bench.tell("retry", "3 0.01 0.05 2");
    bench
}

/// The calls of the three phases so far, by what they did.
pub(crate) fn phases(bench: &Bench) -> Vec<String> {
    let names = [
        ("UpdateLinkResourceA", "A"),
        ("UpdateLinkResourceB", "B"),
        ("UpdateLinkIntermediaryResources", "between"),
    ];
    let text = std::fs::read_to_string(bench.file("calls")).unwrap_or_default();
    let calls = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let one = |call: Value| {
        let (_, short) = names.iter().find(|(name, _)| call["method"] == *name)?;
        Some(format!("{} {short}", call["update"].as_str()?))
    };
    calls.filter_map(one).collect()
}

#[test]
fn a_link_is_made_left_alone_changed_and_taken_away_before_its_ends() {
    let bench = bench(&format!("{A}{B}{LINK}"));
    let staged = bench.stage().expect(0);
    assert_eq!(counts(&staged), "create 3");
    println!("{}", staged.stdout);
    let run = bench.deploy().expect(0);
    println!("{}", run.stdout);
    println!("{:#}", bench.stored("link"));
    println!("{:#?}", bench.world());
    assert_eq!(phases(&bench), ["create A", "create B", "create between"]);
    let again = bench.stage().expect(0);
    println!("{}", again.stdout);
    assert_eq!(counts(&again), "");
    assert_eq!(json!(1), json!(1));
}
