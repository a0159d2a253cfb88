//! Tests of the replay of a deploy: its title and its groups.

use super::{Console, fixture};
use crate::app::msg::{Answer, Effect};
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
    let bar = |played: usize, number: usize| {
        let all: String = "━".repeat(played) + &"─".repeat(104 - played);
        let mut cells: Vec<char> = all.chars().collect();
        cells[2 * 104 / 5] = '✗';
        let cells: String = cells.into_iter().collect();
        format!(" {cells}  event {number} of 5")
    };
    let expected = " replay of deploy #31 · 14:03:23 · ✗ failed in 1m12s";
    assert!(text.starts_with(expected), "{text}");
    c.shows(&bar(104, 5));
    c.press("[");
    let text = title(&mut c);
    let expected = " replay of deploy #31 · 14:02:14 · 1 done";
    assert!(text.starts_with(expected), "{text}");
    c.shows(&bar(4 * 104 / 5, 4));
    // An ended deploy does not run.
    assert!(!text.contains('◐'), "{text}");
    let footer = c.frame().lines().last().unwrap().to_owned();
    assert!(
        footer.starts_with(" esc back  space play  ] forward"),
        "{footer}"
    );
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

#[test]
fn playing_follows_the_clock_at_its_speed_and_ends_with_the_deploy() {
    let mut c = replayed(fixture::record());
    let times: Vec<UnixMs> = fixture::record().events.iter().map(|e| e.at).collect();
    let whole = times[times.len() - 1] - times[0];
    c.press("space");
    assert!(title(&mut c).contains("playing at 1× · 14:02:11"));
    c.shows("event 0 of 5");
    let mut last = 0;
    for _ in 0..whole / 1_000 + 5 {
        c.tick(1_000);
        let replay = c.state.loaded.replay.as_ref().unwrap();
        assert!(replay.cursor >= last, "{} after {last}", replay.cursor);
        last = replay.cursor;
        // Never ahead of the time of the replay.
        if replay.is_playing {
            let at = replay.at;
            assert!(times[..replay.cursor].iter().all(|t| *t <= at));
        }
    }
    let text = title(&mut c);
    assert!(!text.contains("playing"), "{text}");
    c.shows("event 5 of 5");
}

#[test]
fn every_position_shows_the_same_view_forward_and_back() {
    let mut record = fixture::record();
    // More events than checkpoints, so that steps back begin at one of them.
    let events: Vec<Event> = (0..12).flat_map(|_| record.events.clone()).collect();
    record.events = events;
    let all = record.events.len();
    let forward: Vec<_> = (0..=all)
        .map(|at| {
            crate::app::replay::Replay::at(record.clone(), at)
                .view()
                .clone()
        })
        .collect();
    let mut replay = crate::app::replay::Replay::at(record, all);
    for at in (0..=all).rev().chain([7, 50, 3, 59]) {
        replay.seek(at);
        assert_eq!((replay.cursor, replay.view()), (at, &forward[at]));
    }
}

#[test]
fn history_loads_the_operations_of_the_deploy_under_the_cursor() {
    let mut c = Console::new(120, 40);
    c.answer(Answer::History(fixture::history()));
    c.answer(Answer::Last(Box::new(fixture::record())));
    c.press("5");
    c.frame();
    c.effects.clear();
    // The newest deploy is loaded for the Deploy screen.
    c.shows("timeline of #");
    c.tick(1_000);
    assert_eq!(c.effects, []);
    c.press("j");
    c.frame();
    c.tick(1_000);
    assert_eq!(c.effects, [Effect::LoadOperations(30)]);
    c.hides("timeline of #");
    // Requested once.
    c.tick(1_000);
    assert_eq!(c.effects.len(), 1);
    c.answer(Answer::Operations(29, fixture::record().operations));
    c.hides("timeline of #");
    c.answer(Answer::Operations(30, fixture::record().operations));
    c.shows("timeline of #");
    c.shows("plugins      hashicorp/aws (");
}
