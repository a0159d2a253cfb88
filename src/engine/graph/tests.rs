use super::*;
use std::sync::Mutex;

fn graph(edges: &[(Step, Step)], steps: usize) -> Graph {
    let mut g = Graph::default();
    for _ in 0..steps {
        g.add();
    }
    for &(step, needed) in edges {
        g.need(step, needed);
    }
    g
}

#[tokio::test]
async fn a_failure_stops_only_what_depends_on_it() {
    let g = graph(&[(1, 0), (2, 1), (4, 3)], 5);
    let ran = Mutex::new(Vec::new());
    let ended = g
        .walk(
            2,
            || true,
            |s| {
                ran.lock().unwrap().push(s);
                async move { s != 0 }
            },
        )
        .await;
    assert_eq!(
        ended,
        [
            Ended::Failed,
            Ended::Skipped,
            Ended::Skipped,
            Ended::Done,
            Ended::Done
        ]
    );
    assert_eq!(*ran.lock().unwrap(), [0, 3, 4]);
}

#[tokio::test]
async fn a_step_with_one_failed_and_one_late_need_is_skipped_once() {
    let g = graph(&[(2, 0), (2, 1), (3, 2)], 4);
    let ended = g.walk(1, || true, |s| async move { s != 0 }).await;
    assert_eq!(
        ended,
        [Ended::Failed, Ended::Done, Ended::Skipped, Ended::Skipped]
    );
}

#[tokio::test]
async fn a_walk_tells_of_each_step_that_ended_or_will_not_begin() {
    let g = graph(&[(1, 0), (2, 1), (4, 3)], 5);
    let told = Mutex::new(Vec::new());
    let run = |s| async move { s != 0 };
    g.walk_urgent_first(
        1,
        &Urgency::default(),
        || Starts::All,
        run,
        |s| told.lock().unwrap().push(s),
    )
    .await;
    assert_eq!(*told.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[test]
fn what_is_held_is_released_once_nothing_needs_it() {
    // 1 needs 0, and 2 and 3 need 1. 1 is held too, so 0 is needed until 1 is let go.
    let g = graph(&[(1, 0), (2, 1), (3, 1)], 5);
    let mut releases = Releases::new(&g);
    releases.hold(0);
    releases.hold(1);
    assert!([0, 1, 2].iter().all(|s| releases.end(&g, *s).is_empty()));
    assert_eq!(releases.end(&g, 3), [1]);
    assert_eq!(releases.let_go(&g, 1), [0]);
    assert!(releases.let_go(&g, 0).is_empty());
    assert!(releases.end_all(&g).is_empty());
    // Steps that were not started need nothing either.
    let mut releases = Releases::new(&g);
    releases.hold(0);
    assert!(releases.end(&g, 0).is_empty());
    assert_eq!(releases.end_all(&g), [0]);
}

#[tokio::test]
async fn nothing_starts_once_no_more_is_wanted() {
    let g = graph(&[(1, 0)], 3);
    let left = Mutex::new(1);
    let ended = g
        .walk(
            1,
            || *left.lock().unwrap() > 0,
            |_| {
                *left.lock().unwrap() -= 1;
                async { true }
            },
        )
        .await;
    assert_eq!(ended, [Ended::Done, Ended::Skipped, Ended::Skipped]);
}

#[tokio::test]
async fn what_is_urgent_starts_first_even_where_there_is_no_room_for_others() {
    // Each odd step needs the even one before it; starting an even one makes the odd one urgent.
    let g = graph(&[(1, 0), (3, 2), (5, 4)], 6);
    let (urgency, ran) = (Urgency::default(), Mutex::new(Vec::new()));
    let run = |s: Step| {
        ran.lock().unwrap().push(s);
        if s.is_multiple_of(2) {
            urgency.hurry(&g, s + 1);
        }
        async { true }
    };
    let ended = g
        .walk_urgent_first(1, &urgency, || Starts::All, run, |_| {})
        .await;
    assert_eq!(*ran.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(ended, [Ended::Done; 6]);
}

#[tokio::test]
async fn what_is_urgent_ends_after_everything_else_was_stopped() {
    // 1 needs 0 and 4. 4 is ready too, but once 0 runs only urgent steps may start.
    let g = graph(&[(1, 0), (1, 4), (3, 2)], 5);
    let (urgency, ran) = (Urgency::default(), Mutex::new(Vec::new()));
    let run = |s: Step| {
        ran.lock().unwrap().push(s);
        if s == 0 {
            urgency.hurry(&g, 1);
        }
        async { true }
    };
    let may = || {
        if ran.lock().unwrap().is_empty() {
            Starts::All
        } else {
            Starts::Urgent
        }
    };
    let ended = g.walk_urgent_first(8, &urgency, may, run, |_| {}).await;
    assert_eq!(*ran.lock().unwrap(), [0, 4, 1]);
    assert_eq!(
        ended,
        [
            Ended::Done,
            Ended::Done,
            Ended::Skipped,
            Ended::Skipped,
            Ended::Done
        ]
    );
}

#[test]
fn cycles_are_found_apart_from_what_hangs_on_them() {
    let g = graph(&[(0, 1), (1, 0), (2, 0), (3, 3), (4, 5)], 6);
    assert_eq!(g.cycles(), [vec![0, 1], vec![3]]);
    assert_eq!(g.order(), [5, 4]);
}
