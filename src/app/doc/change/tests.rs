//! Tables of attributes and the lines that show them.

use super::*;
use crate::app::doc::{plain, plain_text};
use lang::addr::quote;

fn attr(before: Option<&str>, after: Option<&str>) -> AttributeChange {
    AttributeChange {
        path: "content".to_owned(),
        before_path: None,
        before: before.map(quote),
        after: after.map(quote),
        unknown: false,
        sensitive: false,
        forces_replacement: false,
        changed: before != after,
    }
}

fn doc(a: &AttributeChange, extent: Extent) -> Doc {
    let mut doc = Doc::new();
    attribute::push(&mut doc, &Grouped::one(a), Action::Update, 0, extent);
    doc
}

fn shown(a: &AttributeChange, all: bool, zoomed: bool) -> Vec<String> {
    let text = plain_text(&doc(
        a,
        Extent {
            all,
            zoomed,
            short: false,
        },
    ));
    text.lines().map(str::to_owned).collect()
}

fn numbered(from: usize, to: usize) -> String {
    (from..=to).map(|n| format!("line {n}\n")).collect()
}

#[test]
fn equal_changes_of_a_policy_are_one_line_with_their_count() {
    let policy = |tag: &str| {
        let statement = |sid: u32| {
            format!(r#"{{"Sid":"S{sid}","Condition":{{"StringEquals":{{"aws:tag":"{tag}"}}}}}}"#)
        };
        let all: Vec<String> = (0..8).map(statement).collect();
        format!(r#"{{"Version":"1","Statement":[{}]}}"#, all.join(","))
    };
    let a = attr(Some(&policy("v1.4.2")), Some(&policy("v1.5.0")));
    assert_eq!(
        shown(&a, false, false),
        [
            "  ~ content (JSON) 8 changed of 17 values",
            "      ~ Statement[*].Condition.StringEquals.aws:tag \"v1.4.2\" → \"v1.5.0\"  ×8",
            "      … 9 unchanged values",
        ]
    );
    let all = shown(&a, true, false);
    assert_eq!(all.len(), 1 + 1 + 9);
    assert!(
        all.contains(&"        Version                          \"1\"".to_owned()),
        "{all:?}"
    );
}

#[test]
fn lines_of_long_texts_are_folded_around_changes() {
    let before = numbered(1, 40);
    let after = before.replace("line 20\n", "line twenty\n");
    let a = attr(Some(&before), Some(&after));
    let folded = [
        "  ~ content 2 lines changed",
        "       … 17 unchanged lines",
        "       line 18",
        "       line 19",
        "     - line 20",
        "     + line twenty",
        "       line 21",
        "       line 22",
        "       … 18 unchanged lines",
    ];
    assert_eq!(shown(&a, false, false), folded);
    assert_eq!(shown(&a, false, true), folded);
    assert_eq!(shown(&a, true, true).len(), 1 + 41);
    // The pane shows the beginning of many changed lines.
    let a = attr(Some("x\n"), Some(&numbered(1, 30)));
    let pane = shown(&a, false, false);
    assert_eq!(
        pane.last().map(String::as_str),
        Some("    … 23 more lines (enter)")
    );
    assert_eq!(shown(&a, false, true).len(), 1 + 31);
}

#[test]
fn long_text_before_an_unknown_value_is_folded_by_line() {
    let mut a = attr(Some("a\nb\n"), None);
    (a.unknown, a.changed) = (true, true);
    let folded = "  ~ content (2 lines) → (known after apply)";
    assert_eq!(shown(&a, false, false), [folded]);
    assert_eq!(shown(&a, true, false), [folded, "      a", "      b"]);
    // One line needs no summary.
    a.before = Some("\"a\"".into());
    assert_eq!(
        shown(&a, false, false),
        ["  ~ content \"a\" → (known after apply)"]
    );
}

#[test]
fn missing_line_break_is_named_where_it_is_a_difference() {
    let lines = |before, after| shown(&attr(Some(before), Some(after)), false, false).join("|");
    let changed = lines("a\nb", "a\nb\n");
    assert!(
        changed.contains("- b  (no line break at the end)|     + b"),
        "{changed}"
    );
    assert!(!lines("a\nb", "a\nc").contains("line break"));
}

#[test]
fn created_and_destroyed_texts_are_shown_by_line() {
    let json = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*"}]}"#;
    let table: [(Option<&str>, Option<&str>, &[&str]); 4] = [
        (
            None,
            Some("#!/bin/sh\nexec shop\n"),
            &[
                "  + content (2 lines)",
                "      #!/bin/sh",
                "      exec shop",
            ],
        ),
        (
            Some("a\nb"),
            None,
            &["  - content (2 lines)", "      a", "      b"],
        ),
        (None, Some("one line\n"), &["  + content \"one line\\n\""]),
        (None, Some("{\"a\":1}"), &["  + content \"{\\\"a\\\":1}\""]),
    ];
    for (before, after, expected) in table {
        assert_eq!(shown(&attr(before, after), false, false), expected);
    }
    let lines = shown(&attr(None, Some(json)), false, true);
    assert_eq!(lines[0], "  + content (JSON, 9 lines)");
    assert_eq!(
        lines[1..3],
        ["      {", "        \"Version\": \"2012-10-17\","]
    );
}

/// Pieces with the role of a changed part.
fn parts(doc: &Doc) -> Vec<(Role, &str)> {
    doc.iter()
        .flatten()
        .filter(|s| matches!(s.role, Role::Removed | Role::Added))
        .map(|s| (s.role, s.text.as_str()))
        .collect()
}

#[test]
fn changed_words_of_long_texts_are_marked() {
    let a = attr(
        Some("https://shop.example/api/v1/orders?limit=10"),
        Some("https://shop.example/api/v2/orders?limit=10"),
    );
    let found = doc(&a, Extent::default());
    assert_eq!(parts(&found), [(Role::Removed, "v1"), (Role::Added, "v2")]);
    assert_eq!(
        plain(&found[0]),
        "  ~ content \"https://shop.example/api/v1/orders?limit=10\" → \"https://shop.example/api/v2/orders?limit=10\""
    );
    // In lines, too.
    let a = attr(
        Some("listen 80 default\nroot /srv\n"),
        Some("listen 443 default\nroot /srv\n"),
    );
    let found = doc(&a, Extent::default());
    assert_eq!(parts(&found), [(Role::Removed, "80"), (Role::Added, "443")]);
    // Short texts, and texts without much in common, have no parts.
    for (before, after) in [
        ("500m", "750m"),
        ("the quick brown fox jumps", "a lazy dog sleeps here"),
    ] {
        let found = doc(&attr(Some(before), Some(after)), Extent::default());
        assert_eq!(parts(&found), [], "{before}");
    }
}

#[test]
fn redacted_unknown_and_sensitive_values_are_never_compared() {
    let json = |word: &str| format!(r#"{{"user":"(sensitive)","word":"{word}"}}"#);
    // A redacted value may have changed along with another one.
    let a = attr(Some(&json("a")), Some(&json("b")));
    assert_eq!(
        shown(&a, false, false),
        [
            "  ~ content (JSON) 1 changed of 2 values",
            "      ~ word \"a\" → \"b\"",
            "      1 redacted value may differ",
        ]
    );
    // Only redacted parts differ.
    let mut a = attr(Some(&json("a")), Some(&json("a")));
    a.changed = true;
    assert!(shown(&a, false, false)[0].ends_with("differs in redacted text"));
    let mut a = attr(Some("a\n(sensitive)\n"), Some("a\n(sensitive)\n"));
    a.changed = true;
    assert_eq!(
        shown(&a, false, false),
        ["  ~ content differs in redacted text"]
    );
    // The text of a sensitive attribute is not looked at.
    let mut a = attr(Some(&json("a")), Some(&json("b")));
    a.sensitive = true;
    assert_eq!(
        shown(&a, true, true),
        ["  ~ content (sensitive) → (sensitive)"]
    );
    let mut a = attr(Some("a\nb"), None);
    a.unknown = true;
    a.changed = true;
    assert_eq!(
        shown(&a, false, false),
        ["  ~ content (2 lines) → (known after apply)"]
    );
    let mut a = attr(Some(&json("a")), Some(&json("b")));
    a.forces_replacement = true;
    assert!(shown(&a, false, false)[0].ends_with("values  forces replacement"));
}
