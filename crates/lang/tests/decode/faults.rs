//! Errors of decoding, and their places.

use super::{decode, schema};

#[test]
fn decode_errors_have_their_source_positions() {
    let mut schema = schema();
    let limited = schema.blocks.get_mut("port").unwrap();
    (limited.min_items, limited.max_items) = (1, 1);
    schema.blocks.get_mut("one").unwrap().min_items = 1;
    let got = decode(
        "tags = [1]\ncolour = 1\nport {\n  number = \"x\"\n}\nport { number = 1 }\nwindow {}\n",
        &schema,
        &[],
    );
    let mut faults = got.faults;
    faults.sort();
    let found: Vec<(u32, u32, &str)> = faults
        .iter()
        .map(|(l, c, s)| (*l, *c, s.as_str()))
        .collect();
    for want in [
        (1, 1, "Missing required argument"),
        (1, 1, "Missing one block"),
        (1, 8, "Incorrect attribute value type"),
        (2, 1, "Unsupported argument"),
        (4, 12, "Incorrect attribute value type"),
        (7, 1, "Unsupported block type"),
    ] {
        assert!(found.contains(&want), "{want:?} is not among {found:?}");
    }
    assert!(
        found.iter().any(|f| f.2 == "Too many port blocks"),
        "{found:?}"
    );
    assert_eq!(found.len(), 7, "{found:?}");
}

#[test]
fn dynamic_block_errors_have_their_source_positions() {
    let cases = [
        (
            "dynamic \"port\" {\n  for_each = 5\n  content { number = 1 }\n}\n",
            (2, 14),
            "Invalid dynamic for_each value",
        ),
        (
            "dynamic \"port\" {\n  for_each = null\n  content { number = 1 }\n}\n",
            (2, 14),
            "Invalid dynamic for_each value",
        ),
        (
            "dynamic \"port\" {\n  for_each = []\n}\n",
            (1, 16),
            "Missing dynamic content block",
        ),
        (
            "dynamic \"nothing\" {\n  for_each = []\n  content {}\n}\n",
            (1, 9),
            "Unsupported block type",
        ),
        (
            "dynamic \"port\" {\n  for_each = []\n  iterator = a.b\n  content { number = 1 }\n}\n",
            (3, 14),
            "Invalid dynamic iterator name",
        ),
        (
            "dynamic \"by_key\" {\n  for_each = [1]\n  labels = [null]\n  content { number = 1 }\n}\n",
            (3, 13),
            "Invalid dynamic block label",
        ),
        (
            "dynamic \"port\" {\n  content { number = 1 }\n}\n",
            (1, 16),
            "Missing required argument",
        ),
    ];
    for (text, place, summary) in cases {
        let got = decode(&format!("{text}size = 1\n"), &schema(), &[]);
        assert_eq!(
            got.faults,
            [(place.0, place.1, summary.to_owned())],
            "{text}"
        );
    }
}
