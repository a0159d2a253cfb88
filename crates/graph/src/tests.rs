use super::*;
use std::sync::Mutex;

fn graph(edges: &[(Step, Step)], steps: usize) -> Graph {
    let mut g = Graph::default();
    for _ in 0..steps {
        g.add();
    }
    for &(step, needed) in edges {
        g.add_need(step, needed);
    }
    g
}

#[tokio::test]
async fn failed_step_skips_only_its_dependents() {
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
            StepEnd::Failed,
            StepEnd::Skipped,
            StepEnd::Skipped,
            StepEnd::Done,
            StepEnd::Done
        ]
    );
    assert_eq!(*ran.lock().unwrap(), [0, 3, 4]);
}

#[tokio::test]
async fn step_with_a_failed_and_a_late_dependency_is_skipped_once() {
    let g = graph(&[(2, 0), (2, 1), (3, 2)], 4);
    let ended = g.walk(1, || true, |s| async move { s != 0 }).await;
    assert_eq!(
        ended,
        [
            StepEnd::Failed,
            StepEnd::Done,
            StepEnd::Skipped,
            StepEnd::Skipped
        ]
    );
}

#[tokio::test]
async fn walk_reports_each_ended_or_skipped_step() {
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
fn held_steps_are_released_when_no_dependent_remains() {
    // 1 needs 0, and 2 and 3 need 1. 1 is held too, so 0 is needed until 1 is let go.
    let g = graph(&[(1, 0), (2, 1), (3, 1)], 5);
    let mut releases = Releases::new(&g);
    releases.hold(0);
    releases.hold(1);
    assert!([0, 1, 2].iter().all(|s| releases.end(&g, *s).is_empty()));
    assert_eq!(releases.end(&g, 3), [1]);
    assert_eq!(releases.release(&g, 1), [0]);
    assert!(releases.release(&g, 0).is_empty());
    assert!(releases.end_all(&g).is_empty());
    // Steps that were not started need nothing either.
    let mut releases = Releases::new(&g);
    releases.hold(0);
    assert!(releases.end(&g, 0).is_empty());
    assert_eq!(releases.end_all(&g), [0]);
}

#[tokio::test]
async fn walk_starts_no_step_after_a_stop() {
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
    assert_eq!(ended, [StepEnd::Done, StepEnd::Skipped, StepEnd::Skipped]);
}

#[tokio::test]
async fn urgent_steps_start_first_even_at_the_parallelism_limit() {
    // Each odd step needs the even one before it; starting an even one makes the odd one urgent.
    let g = graph(&[(1, 0), (3, 2), (5, 4)], 6);
    let (urgency, ran) = (Urgency::default(), Mutex::new(Vec::new()));
    let run = |s: Step| {
        ran.lock().unwrap().push(s);
        if s.is_multiple_of(2) {
            urgency.make_urgent(&g, s + 1);
        }
        async { true }
    };
    let ended = g
        .walk_urgent_first(1, &urgency, || Starts::All, run, |_| {})
        .await;
    assert_eq!(*ran.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(ended, [StepEnd::Done; 6]);
}

#[tokio::test]
async fn urgent_steps_and_their_dependencies_run_after_a_stop() {
    // 1 needs 0 and 4. 4 is ready too, but once 0 runs only urgent steps may start.
    let g = graph(&[(1, 0), (1, 4), (3, 2)], 5);
    let (urgency, ran) = (Urgency::default(), Mutex::new(Vec::new()));
    let run = |s: Step| {
        ran.lock().unwrap().push(s);
        if s == 0 {
            urgency.make_urgent(&g, 1);
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
            StepEnd::Done,
            StepEnd::Done,
            StepEnd::Skipped,
            StepEnd::Skipped,
            StepEnd::Done
        ]
    );
}

#[test]
fn cycles_are_reported_without_their_dependents() {
    let g = graph(&[(0, 1), (1, 0), (2, 0), (3, 3), (4, 5)], 6);
    assert_eq!(g.cycles(), [vec![0, 1], vec![3]]);
    assert_eq!(g.order(), [5, 4]);
}

#[tokio::test]
async fn skipped_step_does_not_run_when_it_becomes_urgent() {
    // 0 fails, so that 1 is skipped; 3 needs 1, and becomes urgent once 2 runs.
    let g = graph(&[(1, 0), (3, 1), (3, 2)], 4);
    let (urgency, ran) = (Urgency::default(), Mutex::new(Vec::new()));
    let run = |s: Step| {
        ran.lock().unwrap().push(s);
        if s == 2 {
            urgency.make_urgent(&g, 3);
        }
        async move { s != 0 }
    };
    let ended = g
        .walk_urgent_first(1, &urgency, || Starts::All, run, |_| {})
        .await;
    assert_eq!(*ran.lock().unwrap(), [0, 2]);
    let skipped = StepEnd::Skipped;
    assert_eq!(ended, [StepEnd::Failed, skipped, StepEnd::Done, skipped]);
}
