//! Tests of the tree of modules on the screens Stage, Deploy and State.

use super::fixture::modules;
use super::{Console, lines};
use crate::app::layout;
use crate::app::msg::Answer;
use model::*;

/// Creates a console with a stage that has modules.
fn staged(width: u16, height: u16) -> Console {
    let mut c = Console::staged(width, height);
    c.event(modules::stage());
    c.press("3");
    c
}

/// Labels in the list, one for each row, without the other columns.
fn labels(c: &mut Console) -> Vec<String> {
    c.frame();
    let rows = &c.state.frame.rows;
    rows.iter().map(|row| row.label().into_owned()).collect()
}

/// Drawn rows of the list.
fn list(c: &mut Console) -> Vec<String> {
    let buffer = c.buffer();
    let area = layout::areas(&c.state).list;
    lines(&buffer)[usize::from(area.top())..usize::from(area.bottom())].to_vec()
}

fn select(c: &mut Console, address: &str) {
    c.frame();
    let rows = &c.state.frame.rows;
    let at = rows.iter().position(|r| r.key.text() == Some(address));
    let at = at.unwrap_or_else(|| panic!("no row {address}"));
    c.press("g");
    for _ in 0..at {
        c.press("j");
    }
}

const OPEN: [&str; 12] = [
    "local_file.policy",
    "▾ module.net.module.dns",
    "  lab_zone.a",
    "  lab_zone.b",
    "▾ module.svc (2)",
    "  ▾ [\"orders.eu\"]",
    "    lab_database.main",
    "    lab_server.this[0]",
    "    lab_server.this[1]",
    "  ▾ [\"search\"]",
    "    lab_server.this[2]",
    "    lab_server.this[10]",
];

#[test]
fn stage_shows_modules_as_a_tree_in_natural_order() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = staged(width, height);
        assert_eq!(labels(&mut c), OPEN);
        let all = list(&mut c).join("\n");
        assert!(all.contains("[x]     ▾ module.svc (2)"), "{all}");
        // Its rows show that all of them are selected.
        assert!(!all.contains("5 of 5"), "{all}");
        assert!(all.contains("+2 ~2 -/+1"), "{all}");
    }
}

#[test]
fn folding_hides_the_rows_of_a_module_and_keeps_its_counts() {
    let mut c = staged(120, 40);
    c.event(EventKind::Selected {
        stage: 13,
        taken: Vec::new(),
        left: vec!["module.svc[\"search\"].lab_server.this[2]".into()],
    });
    select(&mut c, "module.svc[\"search\"].lab_server.this[10]");
    // A leaf leads to its node, a second press folds that, a third goes to the next one.
    c.press("left");
    assert_eq!(c.state.node().unwrap().key, "module.svc[\"search\"]");
    c.press("left");
    assert_eq!(labels(&mut c)[9..], ["  ▸ [\"search\"]"]);
    let row = c.line("▸ [\"search\"]");
    assert!(
        row.contains("[◪]") && row.contains("~2 ") && row.contains("1 of 2 selected ━━╸──"),
        "{row}"
    );
    c.press("left left");
    assert_eq!(labels(&mut c)[4..], ["▸ module.svc (2)"]);
    c.press("left");
    c.shows("no module around this row");
    // Inner folds are kept.
    c.press("right");
    assert_eq!(labels(&mut c)[9..], ["  ▸ [\"search\"]"]);
    c.press("right");
    assert_eq!(c.state.node().unwrap().key, "module.svc[\"orders.eu\"]");
    c.shows(" enter fold ");
    c.press("enter");
    c.shows(" enter unfold ");
    assert_eq!(
        labels(&mut c)[5..7],
        ["  ▸ [\"orders.eu\"]", "  ▸ [\"search\"]"]
    );
    c.press("enter");
    assert_eq!(labels(&mut c)[6], "    lab_database.main");
}

#[test]
fn all_modules_are_folded_and_unfolded_by_one_key() {
    let mut c = staged(120, 40);
    select(&mut c, "module.svc[\"orders.eu\"].lab_server.this[1]");
    c.press("Z");
    assert_eq!(
        labels(&mut c),
        [
            "local_file.policy",
            "▸ module.net.module.dns",
            "▸ module.svc (2)"
        ]
    );
    assert_eq!(c.state.node().unwrap().key, "module.svc");
    c.shows("all modules folded");
    c.press("Z");
    assert_eq!(labels(&mut c), OPEN);
}

#[test]
fn another_key_and_another_sort_order_show_a_flat_list() {
    let mut c = staged(120, 40);
    c.press("T");
    let flat = labels(&mut c);
    assert_eq!(flat[0], "module.svc[\"search\"].lab_server.this[10]");
    assert_eq!(flat.len(), 8);
    c.press("left");
    c.shows("T shows the tree");
    c.press("T");
    assert_eq!(labels(&mut c), OPEN);
    c.press(",");
    c.shows("sorted by action");
    assert_eq!(labels(&mut c).len(), 8);
    c.press("left");
    c.shows("sorted by another column");
    // A tree is sorted by address, so that order needs no press of its own.
    c.press(",");
    c.shows("sorted by address");
    assert_eq!(labels(&mut c), OPEN);
    c.press(".");
    assert_eq!(labels(&mut c).last().unwrap(), "local_file.policy");
}

#[test]
fn list_without_modules_stays_flat() {
    let mut c = Console::staged(120, 40);
    c.press("3");
    assert_eq!(labels(&mut c)[0], "aws_s3_bucket.logs");
    for key in ["left", "right", "Z", "T"] {
        c.press(key);
        c.shows("this list has no modules");
    }
}

#[test]
fn filter_opens_folded_modules_and_names_the_hidden_rows() {
    let mut c = staged(120, 40);
    c.press("Z &");
    c.type_text("server.this[1");
    c.press("enter");
    assert_eq!(
        labels(&mut c),
        [
            "▾ module.svc (2)",
            "  ▾ [\"orders.eu\"]",
            "    lab_server.this[1]",
            "  ▾ [\"search\"]",
            "    lab_server.this[10]",
        ]
    );
    c.shows("3 hidden");
    // Folds of the filtered list are forgotten with the filter.
    c.press("Z");
    assert_eq!(labels(&mut c), ["▸ module.svc (2)"]);
    c.press("esc");
    assert_eq!(labels(&mut c).len(), 3);
}

#[test]
fn search_finds_rows_of_folded_modules_and_opens_them() {
    let mut c = staged(120, 40);
    c.press("Z g /");
    c.type_text("database");
    c.press("enter");
    let key = c.state.selected().unwrap().key.text().unwrap().to_owned();
    assert_eq!(key, "module.svc[\"orders.eu\"].lab_database.main");
    assert_eq!(
        labels(&mut c)[2..7],
        [
            "▾ module.svc (2)",
            "  ▾ [\"orders.eu\"]",
            "    lab_database.main",
            "    lab_server.this[0]",
            "    lab_server.this[1]",
        ]
    );
}

#[test]
fn detail_of_a_module_lists_its_rows() {
    let mut c = staged(120, 40);
    select(&mut c, "module.net.module.dns");
    let detail = crate::app::doc::plain_text(&c.state.detail());
    assert!(detail.contains("+1 -1"), "{detail}");
    assert!(detail.contains("[x] - lab_zone.b destroy"), "{detail}");
    c.press("w");
    c.shows("no change under the cursor");
}

#[test]
fn many_changes_start_folded() {
    let mut c = Console::staged(120, 40);
    let EventKind::Staged(stage) = modules::stage() else {
        unreachable!()
    };
    let mut stage = (*stage).clone();
    let like = stage.changes[0].clone();
    stage.changes = (0..3_000)
        .map(|i| ChangeView {
            address: format!("module.m[{}].lab_server.this[{i}]", i % 40),
            ..like.clone()
        })
        .collect();
    c.event(EventKind::Staged(stage.into()));
    c.press("3");
    assert_eq!(labels(&mut c), ["▸ module.m (40)"]);
    c.press("right");
    let all = labels(&mut c);
    assert_eq!(all.len(), 41);
    assert_eq!(all[3], "  ▸ [2].lab_server.this (75)");
    c.press("j right");
    assert_eq!(labels(&mut c)[2], "    [0]");
}

#[test]
fn running_and_failed_operations_stay_above_the_tree() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = staged(width, height);
        c.event(modules::deploy());
        c.press("4 Z");
        assert_eq!(
            labels(&mut c),
            [
                "running (1)",
                "module.svc[\"search\"].lab_server.this[10]",
                "failed (1)",
                "module.svc[\"orders.eu\"].lab_server.this[0]",
                "done, newest first (2)",
                "module.svc[\"orders.eu\"].lab_server.this[1]",
                "module.net.module.dns.lab_zone.a",
                "waiting (4)",
                "local_file.policy",
                "▸ module.net.module.dns",
                "▸ module.svc (2)",
            ]
        );
        // The running operation with its heading.
        assert_eq!(c.state.frame.pinned, 2);
        if width > 100 {
            c.hides("this[2]");
        }
        c.press("G");
        let row = c.line("▸ module.svc (2)");
        assert!(row.contains("1/5 done"), "{row}");
        let detail = crate::app::doc::plain_text(&c.state.detail());
        assert!(
            detail.contains("1 running · 1 failed · 2 waiting"),
            "{detail}"
        );
        // No module opens when an operation below it ends.
        let mut ended = modules::operations()[0].clone();
        (ended.state, ended.began, ended.took_ms) =
            (OperationState::Done, Some(c.state.now), Some(7));
        c.event(EventKind::Operation(ended));
        assert_eq!(labels(&mut c).len(), 10);
        assert!(c.line("▸ module.svc (2)").contains("2/5 done"));
    }
}

#[test]
fn state_shows_modules_as_a_tree_with_counts() {
    let mut c = Console::staged(120, 40);
    c.answer(Answer::State(modules::rows()));
    c.press("6");
    assert_eq!(labels(&mut c), OPEN);
    assert!(c.line("▾ module.svc (2)").contains("5 resources"));
    c.press("T");
    c.shows("root module");
    c.shows("    local_file.policy");
}
