use super::*;
use futures_util::FutureExt;

fn scheduler(parallelism: usize) -> Scheduler {
    let stops = Stops::default();
    Scheduler::new(parallelism, stops)
}

/// Graph of independent steps, of which the second needs the first.
fn graph() -> Graph {
    let mut graph = Graph::default();
    (0..4).for_each(|_| {
        graph.add();
    });
    graph.add_need(1, 0);
    graph
}

/// Event that ends starts, and the starts after it: of an ordinary step, and of an urgent one.
type Case = (&'static str, fn(&Scheduler), bool, bool);

#[test]
fn steps_start_by_these_rules() {
    let cases: [Case; 5] = [
        ("nothing happened", |_| {}, true, true),
        (
            "stop starting",
            |s| s.stops().starting.cancel(),
            false,
            true,
        ),
        ("ask plugins", |s| s.stops().all.cancel(), false, false),
        ("lost store", |s| assert!(s.lose_store()), false, false),
        (
            "lost store, reported once",
            |s| assert!(s.lose_store() && !s.lose_store() && s.has_lost_store()),
            false,
            false,
        ),
    ];
    for (event, act, ordinary, urgent) in cases {
        let scheduler = scheduler(1);
        scheduler.urgency().make_urgent(&graph(), 1);
        act(&scheduler);
        assert_eq!(scheduler.may_start(3), ordinary, "{event}: ordinary");
        assert_eq!(scheduler.may_start(1), urgent, "{event}: urgent");
    }
}

#[tokio::test]
async fn second_half_keeps_the_turn_if_its_other_needs_are_done() {
    for (other_done, kept) in [(true, true), (false, false)] {
        let (scheduler, mut graph) = (scheduler(1), graph());
        graph.add_need(1, 2);
        if other_done {
            scheduler.succeeded(2);
        }
        let first = scheduler.start(0, false).await.unwrap();
        let mut waiting = Box::pin(scheduler.start(3, false));
        assert!(waiting.as_mut().now_or_never().is_none());
        scheduler.prioritize(&graph, 0, 1, first);
        // Without the other need the turn goes to the operation that waits.
        assert_eq!(waiting.as_mut().now_or_never().is_none(), kept);
        if kept {
            let second = scheduler.start(1, false).now_or_never().flatten();
            assert!(second.is_some_and(|turn| !turn.is_ahead()));
        }
    }
}

#[tokio::test]
async fn waiting_operations_end_when_nothing_may_start_any_more() {
    let acts: [fn(&Scheduler); 2] = [|s| s.stops().all.cancel(), |s| assert!(s.lose_store())];
    for act in acts {
        let scheduler = scheduler(1);
        let first = scheduler.start(0, false).await.unwrap();
        let mut waiting = Box::pin(scheduler.start(3, false));
        assert!(waiting.as_mut().now_or_never().is_none());
        // The second half will not start, and keeps the only turn.
        scheduler.prioritize(&graph(), 0, 1, first);
        act(&scheduler);
        assert!(waiting.now_or_never().is_some_and(|turn| turn.is_none()));
    }
}

#[tokio::test]
async fn operation_ahead_does_not_wait_for_its_turn_when_nothing_may_start() {
    let scheduler = scheduler(2);
    let first = scheduler.start(0, true).await.unwrap();
    let _second = scheduler.start(1, true).await.unwrap();
    let ahead = first.while_writing(async { scheduler.start(3, true).await });
    let mut ahead = ahead.now_or_never().flatten().unwrap();
    assert!(ahead.is_ahead() && !ahead.may_write());
    let mut upgrade = Box::pin(ahead.upgrade());
    assert!(
        upgrade.as_mut().now_or_never().is_none(),
        "both turns are taken"
    );
    scheduler.stops().all.cancel();
    assert_eq!(upgrade.now_or_never(), Some(true));
    assert!(!scheduler.may_start(3));
}

#[tokio::test]
async fn operation_that_got_its_turn_after_the_stop_does_not_start() {
    let scheduler = scheduler(2);
    let first = scheduler.start(0, true).await.unwrap();
    let second = scheduler.start(1, true).await.unwrap();
    let mut waiting = Box::pin(scheduler.start(3, false));
    let polled = first.while_writing(async { waiting.as_mut().now_or_never().is_none() });
    assert_eq!(polled.now_or_never(), Some(true), "waits for the full turn");
    scheduler.stops().starting.cancel();
    drop(second);
    assert!(waiting.now_or_never().is_some_and(|turn| turn.is_none()));
}
