//! Tests every key in every context: presses each key of the table of commands, and checks its
//! effect in the frame or in the requested effects. A command without a case fails.

mod general;
mod screens;
mod stage;
mod state;
mod trees;

use super::{Console, fixture, lines};
use crate::app::command::COMMANDS;
use crate::app::layout;
use crate::app::msg::{Answer, Effect, TracingMove};
use crate::app::schema::SchemaRow;
use crate::app::state::Context::{self, *};
use crate::app::state::{Fault, Screen};
use crate::app::theme::Rgb;
use model::{EventKind, FailureGroup};
use ratatui::style::{Color, Modifier};
use std::sync::LazyLock;

/// Contexts of a table of cases.
type Contexts = LazyLock<Vec<Context>>;

fn contexts(of: impl Fn(Context) -> bool) -> Vec<Context> {
    Context::ALL.iter().copied().filter(|c| of(*c)).collect()
}

/// Contexts with a list of their own; tui-logger owns the lines of the engine's log.
static LISTS: Contexts = LazyLock::new(|| contexts(|c| c != Tracing));
/// Contexts of the fixture in which nothing runs.
static IDLE: Contexts = LazyLock::new(|| contexts(|c| !matches!(c, Calls | Deploy)));
static SORTED: Contexts = LazyLock::new(|| contexts(|c| c.of().sorts.len() > 1));
static UNSORTED: Contexts = LazyLock::new(|| contexts(|c| c.of().sorts.len() == 1));
static PANES: Contexts = LazyLock::new(|| contexts(|c| c.of().has_panes()));

fn schema() -> Vec<SchemaRow> {
    let row = fixture::schema_row;
    vec![
        row("resources", 0, true),
        row("resources/aws_vpc", 1, true),
        row("resources/aws_vpc/cidr", 2, false),
        row("resources/aws_eip", 1, true),
        row("resources/aws_eip/ip", 2, false),
    ]
}

fn failures() -> Vec<FailureGroup> {
    let mut all = fixture::failures();
    let mut other = all[0].clone();
    (other.fingerprint, other.summary, other.count) = (
        "throttled".into(),
        "the policy of the account throttles".into(),
        2,
    );
    all.push(other);
    all
}

/// Creates a console in a context, with rows in every list.
fn at(place: Context, (width, height): (u16, u16)) -> Console {
    let mut c = if matches!(place, Calls | Deploy) {
        Console::deploying(width, height)
    } else {
        Console::staged(width, height)
    };
    c.answer(Answer::History(fixture::history()));
    c.answer(Answer::State(fixture::state_rows()));
    c.answer(Answer::Failures(failures()));
    c.answer(Answer::Groups(fixture::groups()));
    c.tick(1);
    match place {
        Schema => {
            c.press("1 j j right");
            c.answer(Answer::Schema(fixture::id("hashicorp/aws"), schema()));
            c.press("enter");
        }
        Replay => {
            c.press("5 enter");
            c.answer(Answer::Record(Box::new(fixture::record())));
        }
        Failures => c.press("5 v"),
        Tracing => c.press("7 e"),
        // The others are screens with a digit.
        _ => {
            let mut digits = 0..Screen::ALL.len();
            while c.state.context() != place {
                c.press(&digits.next().unwrap().to_string());
            }
        }
    }
    assert_eq!(c.state.context(), place);
    if place == Groups {
        // The first group, whose rollout goes on.
        c.press("g");
    }
    c.state.frame.toast = None;
    c.take_effects();
    c
}

/// Frame and cursor before the key.
struct Before {
    frame: String,
    cursor: Option<(usize, String)>,
    key: String,
}

impl Before {
    fn of(c: &mut Console, key: &str) -> Self {
        Self {
            frame: c.frame(),
            cursor: cursor(c),
            key: key.to_owned(),
        }
    }
}

/// Line under the cursor, found by its background.
fn cursor(c: &mut Console) -> Option<(usize, String)> {
    let buffer = c.buffer();
    let list = layout::areas(&c.state).list;
    let lines = lines(&buffer);
    let Rgb(r, g, b) = c.state.shown_theme().colors.cursor;
    (list.top()..list.bottom())
        .find(|y| buffer[(list.x, *y)].bg == Color::Rgb(r, g, b))
        .map(|y| {
            let line: String = lines[usize::from(y)]
                .chars()
                .take(usize::from(list.width))
                .collect();
            (usize::from(y), line.trim().to_owned())
        })
}

/// Label of the marked tab.
fn tab(c: &mut Console) -> String {
    let buffer = c.buffer();
    let marked =
        (0..buffer.area.width).filter(|x| buffer[(*x, 1)].modifier.contains(Modifier::REVERSED));
    marked
        .map(|x| buffer[(x, 1)].symbol().to_owned())
        .collect::<String>()
        .trim()
        .to_owned()
}

/// Number of heavy border cells, which mark the focused pane.
fn heavy(frame: &str) -> usize {
    frame.matches("━").count() + frame.matches("┃").count()
}

/// A key with its preparation and its check.
struct KeyCase {
    command: &'static str,
    places: &'static [Context],
    arrange: fn(&mut Console),
    see: fn(&mut Console, &Before),
}

fn nothing(_: &mut Console) {}

fn story(
    command: &'static str,
    places: &'static [Context],
    see: fn(&mut Console, &Before),
) -> KeyCase {
    KeyCase {
        command,
        places,
        arrange: nothing,
        see,
    }
}

fn after(
    command: &'static str,
    places: &'static [Context],
    arrange: fn(&mut Console),
    see: fn(&mut Console, &Before),
) -> KeyCase {
    KeyCase {
        command,
        places,
        arrange,
        see,
    }
}

fn moved_down(c: &mut Console, b: &Before) {
    let (from, to) = (b.cursor.clone().unwrap(), cursor(c).unwrap());
    assert!(to.0 > from.0 && to.1 != from.1, "{from:?} {to:?}");
}

fn moved_up(c: &mut Console, b: &Before) {
    let (from, to) = (b.cursor.clone().unwrap(), cursor(c).unwrap());
    assert!(to.0 < from.0 && to.1 != from.1, "{from:?} {to:?}");
}

fn to_top(c: &mut Console) {
    c.press("g");
}

/// Moves to the last row. In the logs that means follow, which a step down ends.
fn to_bottom(c: &mut Console) {
    c.press("G j");
}

/// Rows of a frame without header and footer.
fn rows(frame: &str) -> Vec<&str> {
    let all: Vec<&str> = frame.lines().collect();
    all[4..all.len() - 2].to_vec()
}

fn find(c: &mut Console, text: &str) {
    c.press("/");
    c.type_text(text);
    c.press("enter");
}

/// Searches for text that several rows contain.
fn find_common(c: &mut Console) {
    let text = match c.state.context() {
        Plugins => "hashicorp",
        History => "deck",
        Failures => "policy",
        Start => "e",
        Logs => "i",
        Groups => "w",
        _ => "aws",
    };
    find(c, text);
}

fn stories() -> Vec<KeyCase> {
    general::stories()
        .into_iter()
        .chain(screens::stories())
        .chain(trees::stories())
        .collect()
}

/// Runs the case of each key in each context. Returns the keys without a case.
fn walk(size: (u16, u16)) -> Vec<String> {
    let stories = stories();
    let mut missing = Vec::new();
    for &place in Context::ALL {
        for command in COMMANDS.iter().filter(|c| c.is_in(place)) {
            let mut told = stories
                .iter()
                .filter(|s| s.command == command.name && s.places.contains(&place));
            let story = told.next();
            assert!(
                told.next().is_none(),
                "two stories of {} in {}",
                command.name,
                place.of().title
            );
            for key in at(place, size).state.options.keys.keys_of(command, place) {
                let what = format!(
                    "{key} ({}) in {} at {size:?}",
                    command.name,
                    place.of().title
                );
                let Some(story) = story else {
                    missing.push(what);
                    continue;
                };
                // Printed if the test fails, to identify the key.
                println!("{what}");
                let mut c = at(place, size);
                (story.arrange)(&mut c);
                let key = key.to_string();
                let before = Before::of(&mut c, &key);
                c.press(&key);
                (story.see)(&mut c, &before);
            }
        }
    }
    missing
}

#[test]
fn each_key_of_each_screen_does_its_documented_action_at_120_by_40() {
    assert_eq!(
        walk((120, 40)),
        Vec::<String>::new(),
        "keys without a story"
    );
}

#[test]
fn each_key_of_each_screen_does_its_documented_action_at_80_by_24() {
    assert_eq!(walk((80, 24)), Vec::<String>::new(), "keys without a story");
}

#[test]
fn key_cases_refer_only_to_existing_commands_and_keys() {
    for s in stories() {
        let command = COMMANDS
            .iter()
            .find(|c| c.name == s.command)
            .unwrap_or_else(|| panic!("there is no command {}", s.command));
        for place in s.places {
            assert!(
                command.is_in(*place),
                "{} is not in {}",
                s.command,
                place.of().title
            );
            let keys = at(*place, (120, 40))
                .state
                .options
                .keys
                .keys_of(command, *place);
            assert!(
                !keys.is_empty(),
                "{} has no key in {}",
                s.command,
                place.of().title
            );
        }
    }
}

#[test]
fn screens_match_their_snapshots() {
    for (width, height) in [(120, 40), (80, 24)] {
        for &place in Context::ALL {
            // tui-logger draws the time of day, so its frame is never the same.
            if place != Tracing {
                let mut c = at(place, (width, height));
                insta::assert_snapshot!(
                    format!("{place:?}-{width}x{height}").to_lowercase(),
                    c.frame()
                );
            }
        }
    }
}
