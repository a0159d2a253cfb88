//! Tests of the order of destroys: dependents first, even after moves and changed dependencies.

use crate::Lab;

fn thing(name: &str, rest: &str) -> String {
    format!("resource \"lab_thing\" \"{name}\" {{\n  name = \"{name}\"\n{rest}}}\n")
}

/// Destroyed objects in order; checks that each destroy ends before the next one begins.
fn sequential_destroys(lab: &Lab, args: &[&str]) -> Vec<String> {
    let run = lab.workspace.run(args).expect(0);
    let operations: Vec<_> = run
        .lines()
        .into_iter()
        .filter(|e| e["type"] == "operation" && e["action"] == "destroy")
        .collect();
    let at = |state: &str, address: &str| {
        let is_it = |e: &serde_json::Value| e["state"] == state && e["address"] == address;
        operations.iter().position(is_it).unwrap()
    };
    let mut all: Vec<String> = Vec::new();
    for e in operations.iter().filter(|e| e["state"] == "running") {
        let address = e["address"].as_str().unwrap();
        if let Some(before) = all.last().filter(|before| *before != address) {
            assert!(
                at("done", before) < at("running", address),
                "{operations:#?}"
            );
        }
        if !all.iter().any(|a| a == address) {
            all.push(address.to_owned());
        }
    }
    all
}

#[test]
fn dependents_are_destroyed_before_moved_objects() {
    let on = |name: &str| format!("  depends_on = [lab_thing.{name}]\n");
    let moved = "moved {\n  from = lab_thing.a\n  to   = lab_thing.z\n}\n";
    let z = thing("z", "").replace("\"z\"\n}", "\"a\"\n}");
    let destroy = ["destroy", "--auto-approve", "--json"];
    let deploy = ["deploy", "--auto-approve", "--json"];
    // Previous configuration, current configuration, command, and order of the destroys.
    let bound = format!("{}{}", thing("a", ""), thing("b", &on("a")));
    let free = format!("{}{}", thing("a", ""), thing("b", ""));
    for (then, now, args, order) in [
        (
            &bound,
            format!("{moved}{z}{}", thing("b", &on("z"))),
            &destroy[..],
            ["b", "z"],
        ),
        // The state records the dependency, which the configuration no longer has.
        (
            &bound,
            format!("{moved}{z}{}", thing("b", "")),
            &destroy[..],
            ["b", "z"],
        ),
        // Both objects have left the configuration.
        (
            &bound,
            "moved {\n  from = lab_thing.a\n  to   = lab_thing.gone\n}\n".to_owned(),
            &deploy[..],
            ["b", "gone"],
        ),
        // Dependencies of the current configuration also order the destroys.
        (&free, bound.clone(), &destroy[..], ["b", "a"]),
        (
            &free,
            format!("{}{}", thing("a", &on("b")), thing("b", "")),
            &destroy[..],
            ["a", "b"],
        ),
    ] {
        let lab = Lab::new(then);
        lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
        lab.configure(&now);
        let order = order.map(|name| format!("lab_thing.{name}"));
        assert_eq!(sequential_destroys(&lab, args), order, "{now}");
    }
}

#[test]
fn state_mv_keeps_the_order_of_destroys() {
    let on = "  depends_on = [lab_thing.a]\n";
    let lab = Lab::new(&format!("{}{}", thing("a", ""), thing("b", on)));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let rename = ["state", "mv", "lab_thing.a", "lab_thing.z"];
    lab.workspace.run(&rename).expect(0);
    lab.configure("");
    let deploy = ["deploy", "--auto-approve", "--json"];
    assert_eq!(
        sequential_destroys(&lab, &deploy),
        ["lab_thing.b", "lab_thing.z"]
    );
}
