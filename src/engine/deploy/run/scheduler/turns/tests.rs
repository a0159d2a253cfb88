use super::*;
use futures_util::FutureExt;
use graph::Graph;

#[tokio::test]
async fn urgent_waiter_is_next_and_a_dropped_waiter_uses_no_permit() {
    let mut graph = Graph::default();
    for _ in 0..4 {
        graph.add();
    }
    let urgency = Arc::new(Urgency::default());
    let turns = Turns::new(1, urgency.clone());
    let first = turns.take(0).await.unwrap();
    let mut ordinary = Box::pin(turns.take(1));
    let mut gone = Box::pin(turns.take(2));
    let mut urgent = Box::pin(turns.take(3));
    assert!(ordinary.as_mut().now_or_never().is_none() && gone.as_mut().now_or_never().is_none());
    assert!(urgent.as_mut().now_or_never().is_none());
    urgency.make_urgent(&graph, 3);
    urgency.make_urgent(&graph, 2);
    drop(gone);
    drop(first);
    let second = urgent.as_mut().now_or_never().flatten().unwrap();
    assert!(ordinary.as_mut().now_or_never().is_none());
    drop(second);
    let third = ordinary.as_mut().now_or_never().flatten();
    assert!(third.is_some());
    drop(third);
    assert!(turns.take(0).now_or_never().flatten().is_some());
}

#[tokio::test]
async fn one_operation_is_planned_ahead_while_another_is_writing() {
    let turns = Turns::new(2, Arc::default());
    let first = turns.take(0).await.unwrap();
    let second = turns.take(1).await.unwrap();
    let mut third = Box::pin(turns.take(2));
    let mut fourth = Box::pin(turns.take(3));
    assert!(third.as_mut().now_or_never().is_none());
    let (done, work) = oneshot::channel::<()>();
    let mut writing = Box::pin(first.while_writing(work));
    assert!(writing.as_mut().now_or_never().is_none());
    let mut third = third.as_mut().now_or_never().flatten();
    assert!(third.as_ref().is_some_and(|turn| turn.ahead));
    assert!(fourth.as_mut().now_or_never().is_none(), "one for one");
    let mut whole = Box::pin(Turn::upgrade(&mut third));
    assert!(whole.as_mut().now_or_never().is_none(), "both are had");
    assert!(fourth.as_mut().now_or_never().is_none(), "one for one");
    done.send(()).unwrap();
    assert!(writing.as_mut().now_or_never().is_some());
    drop(writing);
    drop(second);
    assert!(whole.as_mut().now_or_never().is_some());
    drop(whole);
    assert!(third.as_ref().is_some_and(|turn| !turn.ahead));
    assert!(fourth.as_mut().now_or_never().is_none(), "nobody writes");
    drop(first);
    let fourth = fourth.now_or_never().flatten();
    assert!(fourth.is_some_and(|turn| !turn.ahead));
    drop(third);
    let line = lock(&turns.line);
    assert_eq!((line.free, line.ahead, line.writing), (2, 0, 0));
}

#[tokio::test]
async fn quick_calls_allow_a_bounded_number_of_operations_ahead() {
    let turns = Turns::new(2, Arc::default());
    let mut first = turns.take(0).await.unwrap();
    let _second = turns.take(1).await.unwrap();
    let mut third = Box::pin(turns.take(2));
    assert!(third.as_mut().now_or_never().is_none(), "nobody writes");
    first.calls();
    drop(first);
    let mut third = third.now_or_never().flatten().unwrap();
    let mut waiting: Vec<_> = (3..12).map(|n| Box::pin(turns.take(n))).collect();
    let ahead: Vec<Turn> = waiting
        .iter_mut()
        .filter_map(|turn| turn.as_mut().now_or_never().flatten())
        .collect();
    assert_eq!(ahead.len(), 2 * MAX_AHEAD);
    assert!(ahead.iter().all(|turn| turn.ahead && turn.may_write()));
    // One slow call raises the average above the limit.
    lock(&turns.line).add_duration(QUICK_CALL * 20);
    assert!(ahead.iter().all(|turn| !turn.may_write()));
    third.calls();
    drop(ahead);
    let mut last = waiting.pop().unwrap();
    assert!(last.as_mut().now_or_never().is_none(), "nobody writes");
    drop(third);
    let last = last.now_or_never().flatten();
    assert!(last.is_some_and(|turn| !turn.ahead && turn.may_write()));
}

#[test]
fn operations_ahead_decrease_with_the_call_duration() {
    let ahead = |ms| {
        let takes = Duration::from_millis(ms);
        let mut line = Line::default();
        line.add_duration(takes);
        line.ahead_per_turn()
    };
    assert_eq!(Line::default().ahead_per_turn(), None, "nothing is known");
    let all: Vec<_> = [0, 1, 2, 3, 4, 5, 8, 9, 10]
        .into_iter()
        .map(ahead)
        .collect();
    let each = [4, 4, 4, 3, 2, 2, 1, 1].map(Some);
    assert_eq!(all, [&each[..], &[None]].concat());
}

#[tokio::test]
async fn urgent_operation_precedes_operations_ahead() {
    let mut graph = Graph::default();
    for _ in 0..5 {
        graph.add();
    }
    let urgency = Arc::new(Urgency::default());
    let turns = Turns::new(2, urgency.clone());
    let mut first = turns.take(0).await.unwrap();
    let second = turns.take(1).await.unwrap();
    first.calls();
    drop(first);
    let first = turns.take(2).await.unwrap();
    let mut ahead = turns.take(3).now_or_never().flatten();
    assert!(ahead.as_ref().is_some_and(|turn| turn.ahead));
    let mut whole = Box::pin(Turn::upgrade(&mut ahead));
    assert!(whole.as_mut().now_or_never().is_none(), "both are had");
    lock(&turns.line).add_duration(QUICK_CALL * 20);
    let mut urgent = Box::pin(turns.take(4));
    assert!(urgent.as_mut().now_or_never().is_none());
    urgency.make_urgent(&graph, 4);
    drop(second);
    assert!(whole.as_mut().now_or_never().is_none());
    assert!(urgent.now_or_never().flatten().is_some_and(|t| !t.ahead));
    assert!(whole.as_mut().now_or_never().is_some());
    drop(first);
}

#[tokio::test]
async fn nothing_is_planned_ahead_with_one_permit() {
    let turns = Turns::new(1, Arc::default());
    let only = turns.take(0).await.unwrap();
    let mut next = Box::pin(turns.take(1));
    assert!(next.as_mut().now_or_never().is_none());
    only.while_writing(async { assert!(next.as_mut().now_or_never().is_none()) })
        .await;
    drop(only);
    assert!(
        next.now_or_never()
            .flatten()
            .is_some_and(|turn| !turn.ahead)
    );
}
