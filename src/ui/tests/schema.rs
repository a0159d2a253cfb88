//! Tests of the schema browser: columns, search, keys.

use super::{Console, fixture};
use crate::app::msg::Answer;
use crate::app::schema::{SchemaFlag, SchemaRow};

fn opened() -> Console {
    let mut c = Console::staged(120, 40);
    c.press("1 j j right");
    let row = |path: &str, depth, flags: &[SchemaFlag], text: &str| SchemaRow {
        flags: flags.to_vec(),
        text: text.to_owned(),
        ..fixture::schema_row(path, depth, depth < 2)
    };
    let rows = vec![
        row("resources", 0, &[], ""),
        row("resources/aws_vpc", 1, &[], "A network."),
        row(
            "resources/aws_vpc/cidr",
            2,
            &[SchemaFlag::Required],
            "As `10.0.0.0/16`.",
        ),
        row(
            "resources/aws_vpc/main_route_table",
            2,
            &[SchemaFlag::Optional, SchemaFlag::Computed],
            "Its routes.",
        ),
        row("resources/aws_vpc_peer", 1, &[], "Two networks."),
    ];
    c.answer(Answer::Schema(fixture::id("hashicorp/aws"), rows));
    c.press("enter j");
    c
}

fn footer(c: &mut Console) -> String {
    c.frame().lines().last().unwrap().to_owned()
}

#[test]
fn schema_is_a_table_with_aligned_columns() {
    let mut c = opened();
    c.press("enter");
    let heading = c.frame().lines().nth(4).unwrap().to_owned();
    let at = |line: &str, part: &str| {
        let start = line
            .find(part)
            .unwrap_or_else(|| panic!("no {part:?} in {line:?}"));
        line[..start].chars().count()
    };
    for (row, set, text) in [
        ("cidr", "required", "As 10.0.0.0/16."),
        ("main_route_table", "optional, computed", "Its routes."),
    ] {
        let line = c.line(row);
        assert_eq!(at(&line, "string"), at(&heading, "TYPE"), "{line}");
        assert_eq!(at(&line, set), at(&heading, "SET"), "{line}");
        assert_eq!(at(&line, text), at(&heading, "DESCRIPTION"), "{line}");
    }
}

#[test]
fn footer_of_the_schema_says_what_enter_does() {
    let mut c = opened();
    assert!(footer(&mut c).starts_with(" esc back  enter unfold  "));
    c.press("enter");
    assert!(footer(&mut c).starts_with(" esc back  enter fold  "));
    c.press("j");
    // An attribute has nothing below it.
    assert!(!footer(&mut c).contains("fold"));
    c.press("enter");
    c.shows("this row has nothing below it");
}

#[test]
fn search_of_the_schema_counts_names_and_not_the_paths_of_children() {
    let mut c = opened();
    c.press("enter /");
    c.type_text("aws_vpc");
    c.press("enter");
    c.shows(" find: aws_vpc  1 of 2");
    let keys = footer(&mut c);
    assert!(keys.contains("n next  N previous"), "{keys}");
    c.press("n");
    c.shows("2 of 2");
    c.press("esc &");
    c.type_text("aws_vpc/");
    c.press("enter");
    // A filter for the type shows its attributes.
    c.shows("cidr");
    c.hides("aws_vpc_peer");
}
