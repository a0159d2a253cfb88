//! What comes from outside can be told apart by looking at it, and forges nothing.

use crate::support::Workspace;
use serde_json::Value;

const INVISIBLE: [&str; 6] = [
    "\u{200b}",
    "\u{202e}",
    "\u{2066}",
    "\u{e0041}",
    "\u{9b}31m",
    "\u{7f}",
];

#[test]
fn no_text_of_others_is_printed_that_cannot_be_seen() {
    let keys: String = INVISIBLE
        .iter()
        .map(|hidden| format!("\"a{hidden}\", "))
        .collect();
    let main = format!(
        "resource \"terraform_data\" \"a\" {{\n  for_each = toset([\"a\", {keys}])\n  input = \"value of ${{each.key}}\"\n}}\n\
         output \"o\" {{\n  value = \"out{}put\"\n}}\n\
         check \"c\" {{\n  assert {{\n    condition = length(terraform_data.a) == 0\n    error_message = \"words {} that are hidden\"\n  }}\n}}\n",
        INVISIBLE.concat(),
        INVISIBLE.concat()
    );
    let w = Workspace::new(&[("main.tf", &main)]);
    for args in [
        &["stage"][..],
        &["stage", "--json"],
        &["deploy", "--auto-approve"],
        &["state", "list"],
        &["state", "list", "--json"],
        &["history"],
        &["history", "1", "--json"],
        &["history", "1"],
        &["stage", "--destroy"],
        &["deploy", "--auto-approve", "--json"],
    ] {
        let run = w.run(args).expect(0);
        for text in [&run.stdout, &run.stderr] {
            let seen = text.chars().find(|c| {
                INVISIBLE
                    .concat()
                    .chars()
                    .any(|hidden| hidden == *c && !hidden.is_ascii_graphic())
            });
            assert_eq!(seen, None, "{args:?}: {text:?}");
        }
    }
    let listed = w.run(&["state", "list"]).expect(0).stdout;
    assert!(
        listed.contains("terraform_data.a[\"a\"]")
            && listed.contains("terraform_data.a[\"a\\u{200b}\"]"),
        "{listed}"
    );
    // Programs read what it is.
    let rows = w.run(&["state", "list", "--json"]).expect(0).result();
    let addresses: Vec<&str> = rows["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|r| r["address"].as_str())
        .collect();
    assert!(
        addresses.contains(&"terraform_data.a[\"a\u{200b}\"]"),
        "{addresses:?}"
    );
    assert_eq!(addresses.len(), 1 + INVISIBLE.len());
}

#[test]
fn a_name_with_line_ends_forges_no_line_of_the_history() {
    let w = Workspace::new(&[("main.tf", "resource \"terraform_data\" \"a\" {}\n")]);
    let forged = "eve\n#2    2026-01-01 00:00:00  succeeded  stage #2 by root on prod\u{202e}";
    let mut command = w.command(&["deploy", "--auto-approve"]);
    assert!(command.env("USER", forged).status().unwrap().success());
    let shown = w.run(&["history"]).expect(0).stdout;
    assert_eq!(
        shown.lines().filter(|l| l.starts_with('#')).count(),
        1,
        "{shown}"
    );
    assert!(shown.contains("by eve\\n#2"), "{shown}");
    let kept = &w.run(&["history", "--json"]).expect(0).result()["history"][0]["who"];
    assert!(
        matches!(kept, Value::String(who) if who.starts_with("eve\\n") && who.chars().count() <= 64),
        "{kept}"
    );
}
