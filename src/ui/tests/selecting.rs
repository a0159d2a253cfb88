//! Tests of selections of several changes: modules, ranges, undo and redo.

use super::Console;
use super::fixture::modules;
use crate::app::msg::{Answer, Effect, Subject};
use model::*;

const SEARCH: [&str; 2] = [
    "module.svc[\"search\"].lab_server.this[2]",
    "module.svc[\"search\"].lab_server.this[10]",
];

/// Creates a console with a stage that has modules, and moves to a row.
fn at(row: &str) -> Console {
    let mut c = Console::staged(120, 40);
    c.event(modules::stage());
    c.press("3");
    c.frame();
    go(&mut c, row);
    c
}

fn go(c: &mut Console, row: &str) {
    c.frame();
    let rows = &c.state.frame.rows;
    let index = rows.iter().position(|r| r.key.text() == Some(row)).unwrap();
    c.press("g");
    (0..index).for_each(|_| c.press("j"));
}

fn many(take: bool, addresses: &[&str]) -> Vec<Effect> {
    let addresses = addresses.iter().map(|a| (*a).to_owned()).collect();
    vec![Effect::Select(13, vec![Select::Many { take, addresses }])]
}

/// Stores a selection, as the engine does after a request.
fn stored(c: &mut Console, left: &[&str], along: &[(&str, &str)]) {
    let left: Vec<String> = left.iter().map(|a| (*a).to_owned()).collect();
    let along = along.iter();
    let along = along.map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    c.event(EventKind::Selected {
        stage: 13,
        taken: vec![],
        left: left.clone(),
    });
    c.answer(Answer::Selected {
        stage: 13,
        selection: Selection {
            taken: vec![],
            left,
            along: along.collect(),
        },
    });
}

#[test]
fn space_on_a_module_deselects_and_selects_all_changes_below_it() {
    for fold in [false, true] {
        let mut c = at("module.svc[\"search\"]");
        if fold {
            c.press("left");
        }
        c.press("space");
        assert_eq!(c.take_effects(), many(false, &SEARCH));
        c.shows("2 changes deselected");
        stored(&mut c, &SEARCH[..1], &[]);
        // One of them is deselected, so the key selects all.
        c.press("space");
        assert_eq!(c.take_effects(), many(true, &SEARCH));
    }
}

#[test]
fn message_counts_changes_deselected_along_with_a_module() {
    let mut c = at("module.svc[\"search\"]");
    c.press("space");
    let others = ["local_file.policy", "module.net.module.dns.lab_zone.a"];
    let along = others.map(|o| (o, SEARCH[0]));
    stored(
        &mut c,
        &[SEARCH[0], SEARCH[1], others[0], others[1]],
        &along,
    );
    c.shows("local_file.policy and 1 more deselected along with");
}

#[test]
fn note_names_the_change_that_the_operator_deselected() {
    let mut c = at("module.svc[\"search\"]");
    let others = ["local_file.policy", "module.net.module.dns.lab_zone.a"];
    // The zone needs the policy, which needs the server.
    stored(
        &mut c,
        &[SEARCH[0], others[0], others[1]],
        &[(others[0], SEARCH[0]), (others[1], others[0])],
    );
    c.press("T");
    for row in others {
        let line = c.line(row);
        assert!(
            line.contains(&format!("deselected with {}", SEARCH[0])),
            "{line}"
        );
    }
}

#[test]
fn hidden_changes_of_a_module_are_selected_only_after_a_question() {
    for (keys, expected) in [
        ("enter", vec![]),
        ("esc", vec![]),
        ("n", vec![]),
        ("tab enter", vec![0]),
        ("v", vec![0]),
        ("a", vec![0, 1]),
        ("left enter", vec![0, 1]),
    ] {
        for (width, height) in [(120, 40), (80, 24)] {
            let mut c = at("module.svc[\"search\"]");
            c.state.frame.size = (width, height);
            c.press("&");
            c.type_text("this[2");
            c.press("enter");
            go(&mut c, "module.svc[\"search\"].lab_server.this[2]");
            // The only matching change of its module is that row, and a change alone hides none.
            c.press("left");
            assert!(c.state.node().is_some());
            c.press("space");
            assert_eq!(c.take_effects(), []);
            c.shows("Deselect the hidden changes of this module, too?");
            c.shows("1 change visible");
            c.shows(SEARCH[1]);
            c.press(keys);
            let all: Vec<&str> = expected.iter().map(|i: &usize| SEARCH[*i]).collect();
            let effects = match all.as_slice() {
                [] => vec![],
                [one] => vec![Effect::Select(13, vec![Select::Leave((*one).to_owned())])],
                all => many(false, all),
            };
            assert_eq!(c.take_effects(), effects, "{keys}");
            c.hides("too?");
        }
    }
}

#[test]
fn range_selects_its_rows_and_folded_modules() {
    let mut c = at("local_file.policy");
    c.press("Z g V j");
    c.shows("range: 2 rows");
    c.press("space");
    let zones = ["a", "b"].map(|z| format!("module.net.module.dns.lab_zone.{z}"));
    let expected = ["local_file.policy", &zones[0], &zones[1]];
    assert_eq!(c.take_effects(), many(false, &expected));
    // The range has ended, and the cursor has stayed.
    c.hides("range:");
    assert_eq!(c.state.node().unwrap().key, "module.net.module.dns");
}

#[test]
fn range_over_an_open_module_selects_only_the_rows_in_it() {
    let mut c = at("module.net.module.dns");
    c.press("shift-down space");
    let zone = "module.net.module.dns.lab_zone.a".to_owned();
    assert_eq!(
        c.take_effects(),
        [Effect::Select(13, vec![Select::Leave(zone)])]
    );
}

#[test]
fn range_extends_in_both_directions_and_escape_ends_it() {
    let mut c = at(SEARCH[0]);
    c.press("shift-up");
    c.shows("range: 2 rows");
    c.press("shift-down shift-down");
    assert_eq!(c.state.range(), Some((10, 11)));
    let marked = |c: &mut Console| {
        let (list, buffer) = (crate::app::layout::areas(&c.state).list, c.buffer());
        let style = |y: u16| buffer[(list.x, list.y + y)].bg;
        (0..list.height).filter(|y| style(*y) == style(10)).count()
    };
    assert_eq!(marked(&mut c), 1, "the cursor is drawn over the range");
    c.press("esc");
    c.hides("range:");
    assert_eq!(c.take_effects(), []);
    c.press("V V");
    c.hides("range:");
    // A row that is not there any more ends the range.
    c.press("V");
    c.event(modules::stage());
    c.hides("range:");
}

#[test]
fn undo_and_redo_restore_selections_with_their_closure() {
    let mut c = at(SEARCH[0]);
    c.press("u");
    c.shows("nothing to undo");
    c.press("space");
    c.take_effects();
    stored(&mut c, &SEARCH, &[(SEARCH[1], SEARCH[0])]);
    c.press("u");
    let except = |left: &[&str]| {
        let left = left.iter().map(|a| (*a).to_owned()).collect();
        [Effect::Select(13, vec![Select::Except(left)])]
    };
    assert_eq!(c.take_effects(), except(&[]));
    c.shows("undone: 2 changes selected again");
    stored(&mut c, &[], &[]);
    c.press("ctrl-r");
    let mut sorted = SEARCH;
    sorted.sort_unstable();
    assert_eq!(c.take_effects(), except(&sorted));
    stored(&mut c, &SEARCH, &[]);
    c.press("ctrl-r");
    c.shows("nothing to redo");
    // A request that fails leaves the stored selection.
    c.press("u");
    c.take_effects();
    c.answer(Answer::Failed {
        what: Subject::Select,
        text: "disk full".into(),
        diagnostics: vec![],
    });
    c.press("u");
    assert_eq!(c.take_effects(), except(&[]));
    // Selections of the former stage mean nothing in a new one.
    c.event(modules::stage());
    c.press("u");
    c.shows("nothing to undo");
}

#[test]
fn select_all_with_a_filter_includes_folded_modules_and_no_hidden_change() {
    let mut c = at("local_file.policy");
    c.press("& t h i s enter Z *");
    let [Effect::Select(13, selects)] = &c.take_effects()[..] else {
        panic!("one request");
    };
    let [
        Select::Many {
            take: false,
            addresses,
        },
    ] = &selects[..]
    else {
        panic!("{selects:?}");
    };
    assert_eq!(addresses.len(), 4);
    assert!(
        addresses.iter().all(|a| a.contains("this[")),
        "{addresses:?}"
    );
}

fn saved(name: &str, addresses: &[&str]) -> SavedSelection {
    SavedSelection {
        name: name.to_owned(),
        at: super::fixture::NOW,
        addresses: addresses.iter().map(|a| (*a).to_owned()).collect(),
    }
}

/// Opens the popup with two saved selections.
fn with_saved(width: u16, height: u16) -> Console {
    let mut c = at(SEARCH[0]);
    c.state.frame.size = (width, height);
    c.press("m");
    c.take_effects();
    c.answer(Answer::Selections(vec![
        saved("database", &["module.svc[\"orders.eu\"].lab_database.main"]),
        saved("search", &[SEARCH[0], "lab_thing.gone"]),
    ]));
    c
}

#[test]
fn saved_selection_is_loaded_and_its_missing_changes_are_named() {
    for (width, height) in [(120, 40), (80, 24)] {
        let mut c = with_saved(width, height);
        c.shows("database  1 change  2026-11-21 14:02");
        c.shows("search  2 changes (1 in this stage)");
        c.press("down enter");
        let only = Select::Only(vec![SEARCH[0].into(), "lab_thing.gone".into()]);
        assert_eq!(c.take_effects(), [Effect::Select(13, vec![only])]);
        let selection = Selection {
            taken: vec![SEARCH[0].into(), "local_file.policy".into()],
            left: vec![SEARCH[1].into()],
            along: vec![("local_file.policy".into(), SEARCH[0].into())],
        };
        c.answer(Answer::LoadedSelection {
            stage: 13,
            selection,
        });
        c.shows("One change is not in this stage:");
        c.shows("  lab_thing.gone");
        c.press("esc");
        c.shows("selection search loaded: 1 of 2 changes, and 1 more along with them");
        c.press("u");
        let except = Select::Except(vec![]);
        assert_eq!(c.take_effects(), [Effect::Select(13, vec![except])]);
    }
}

#[test]
fn current_selection_is_saved_under_a_new_name() {
    let mut c = with_saved(120, 40);
    c.type_text("new one");
    c.shows("+ new one   save the current selection");
    c.hides("database  1 change");
    c.press("enter");
    let save = Effect::SaveSelection(13, "new one".into());
    assert_eq!(c.take_effects(), [save]);
    c.hides("Saved selections");
}

#[test]
fn replacing_and_deleting_a_saved_selection_asks_first() {
    for (key, question, effect) in [
        (
            "ctrl-s",
            "Replace the saved selection database?",
            Effect::SaveSelection(13, "database".into()),
        ),
        (
            "ctrl-x",
            "Delete the saved selection database?",
            Effect::DeleteSelection("database".into()),
        ),
    ] {
        let mut c = with_saved(120, 40);
        c.press(key);
        c.shows(question);
        c.press("enter");
        assert_eq!(c.take_effects(), []);
        c.press("m");
        c.take_effects();
        c.press(key);
        c.press("y");
        assert_eq!(c.take_effects(), [effect]);
    }
}

#[test]
fn commands_without_keys_are_run_from_the_palette() {
    let mut c = at(SEARCH[0]);
    c.press(":");
    c.type_text("deselect");
    c.press("enter");
    assert_eq!(
        c.take_effects(),
        [Effect::Select(
            13,
            vec![Select::Leave(SEARCH[0].to_owned())]
        )]
    );
}
