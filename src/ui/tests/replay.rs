//! Tests of the replay of a deploy: its title and its groups.

use super::{Console, fixture};
use crate::app::msg::Answer;
use model::*;

fn replayed(record: DeployRecord) -> Console {
    let mut c = Console::staged(120, 40);
    c.press("5");
    c.answer(Answer::History(fixture::history()));
    c.press("enter");
    c.answer(Answer::Record(Box::new(record)));
    c
}

fn title(c: &mut Console) -> String {
    c.frame().lines().nth(3).unwrap().to_owned()
}

#[test]
fn title_of_a_replay_marks_failures_and_the_position() {
    let mut c = replayed(fixture::record());
    let text = title(&mut c);
    // Of 5 events, the third tells the failure.
    let bar = |played: usize, rest: usize| {
        let all: String = "━".repeat(played) + &"─".repeat(rest);
        let mut cells: Vec<char> = all.chars().collect();
        cells[2 * 24 / 5] = '✗';
        cells.into_iter().collect::<String>()
    };
    let expected = format!(
        "event 5 of 5  {} · 14:03:23 · ✗ failed in 1m12s",
        bar(24, 0)
    );
    assert!(text.starts_with(" replay of deploy #31 · "), "{text}");
    assert!(text.contains(&expected), "{text}");
    c.press("[");
    let text = title(&mut c);
    let expected = format!(
        "event 4 of 5  {} · 14:02:14 · 1 done",
        bar(4 * 24 / 5, 24 - 4 * 24 / 5)
    );
    assert!(text.contains(&expected), "{text}");
    // An ended deploy does not run.
    assert!(!text.contains('◐'), "{text}");
    let footer = c.frame().lines().last().unwrap().to_owned();
    assert!(footer.starts_with(" esc back  ] forward"), "{footer}");
}

#[test]
fn heading_counts_waiting_and_not_attempted_operations_apart() {
    let mut record = fixture::record();
    record.operations[2].state = OperationState::Waiting;
    record.operations[3].state = OperationState::NotAttempted;
    let mut c = replayed(record);
    let counted = |s: OperationState| {
        let (d, _) = c.state.shown_deploy().unwrap();
        d.operations.iter().filter(|o| o.state == s).count()
    };
    let (waiting, skipped) = (
        counted(OperationState::Waiting),
        counted(OperationState::NotAttempted),
    );
    assert!(waiting > 0 && skipped > 0);
    c.shows(&format!(" waiting ({waiting}) · not attempted ({skipped})"));
}
