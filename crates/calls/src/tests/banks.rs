//! Banks of slots: replaced processes, and several processes with one line.

use super::*;

fn second(bench: &Bench) -> Arc<Lane> {
    let calls = Calls::new(bench.ear.clone(), Deadlines::default(), Vec::new());
    calls.additional_lane(&PluginId("hashicorp/aws#2".into()), &bench.lane)
}

fn plugin() -> Answered {
    let seat = seat().expect("it is the work of a call").to_string();
    let mut checked = Checked::default();
    checked
        .diagnostics
        .push(ProviderDiagnostic::error(seat, ""));
    Ok(checked)
}

#[tokio::test(start_paused = true)]
async fn slot_of_a_replaced_process_is_not_granted_again() {
    let bench = Bench::new(1);
    let (end1, first) = bench.begin(Method::Apply, "a").await;
    let (end2, _) = bench.begin(Method::Read, "b").await;
    assert_eq!(bench.heard(), ["1 in slot 1 of 1", "2 waits for 1"]);
    bench.lane.open();
    settle().await;
    assert_eq!(bench.heard(), ["2 in slot 1 of 1"], "of the new process");
    let (end3, _) = bench.begin(Method::Read, "c").await;
    assert_eq!(
        bench.heard(),
        ["3 waits for 2"],
        "the slot of 1 is of no use"
    );
    // The released slot belongs to the old process, so no call gets it.
    end1.send(fine()).expect("it waits");
    first.await.expect("ran").expect("answered");
    settle().await;
    assert_eq!(bench.heard(), ["1 Ok"]);
    end2.send(fine()).expect("it waits");
    settle().await;
    assert_eq!(bench.heard(), ["2 Ok", "3 in slot 1 of 1"]);
    end3.send(fine()).expect("it waits");
    settle().await;
    assert!(!bench.lane.is_used());
}

#[tokio::test(start_paused = true)]
async fn replicas_share_one_queue_and_the_least_busy_is_used() {
    let bench = Bench::new(2);
    let mate = second(&bench);
    let mut ends = Vec::new();
    for n in 0..4 {
        ends.push(bench.begin(Method::Read, &format!("r{n}")).await.0);
    }
    assert!(bench.lane.has_waiters());
    assert_eq!(bench.heard().len(), 4, "two run, two wait");
    let number = mate.open();
    settle().await;
    assert!(
        !bench.lane.has_waiters(),
        "both have had a slot of the other"
    );
    assert_eq!(
        bench.heard(),
        ["3 in slot 1 of 2", "4 in slot 2 of 2"],
        "in their order"
    );
    // Each process has one free slot: the next two calls go to one each.
    ends.remove(3).send(fine()).expect("it waits");
    ends.remove(2).send(fine()).expect("it waits");
    ends.remove(1).send(fine()).expect("it waits");
    settle().await;
    bench.heard();
    let (end, _) = bench.begin(Method::Read, "r4").await;
    assert_eq!(bench.heard(), ["5 in slot 1 of 2"], "of the second process");
    // A closed lane grants no further slot.
    mate.close_if(number);
    assert!(!mate.is_open());
    let (_end6, _) = bench.begin(Method::Read, "r5").await;
    let (_end7, _) = bench.begin(Method::Read, "r6").await;
    assert_eq!(bench.heard(), ["6 in slot 2 of 2", "7 waits for 1"]);
    end.send(fine()).expect("it waits");
    settle().await;
    assert_eq!(bench.heard(), ["5 Ok"], "and 7 waits on");
}

#[tokio::test(start_paused = true)]
async fn call_bound_to_one_process_does_not_block_other_calls() {
    let bench = Bench::new(1);
    let mate = second(&bench);
    mate.open();
    let (end1, _) = bench.begin(Method::Read, "a").await;
    let (lane, ctx) = (bench.lane.clone(), bench.ctx("b"));
    let here = bench.tasks.spawn(async move {
        lane.run_on_own_process(Method::CloseEphemeral, &ctx, async { plugin() })
            .await
    });
    settle().await;
    assert_eq!(bench.heard(), ["1 in slot 1 of 1", "2 waits for 1"]);
    let (lane, ctx) = (bench.lane.clone(), bench.ctx("c"));
    let any = lane.run(Method::Read, &ctx, async { plugin() }).await;
    assert_eq!(
        any.expect("answered").diagnostics[0].summary,
        "hashicorp/aws#2"
    );
    assert_eq!(bench.heard(), ["3 in slot 1 of 1", "3 Error"]);
    end1.send(fine()).expect("it waits");
    let here = here.await.expect("ran").expect("answered");
    assert_eq!(here.diagnostics[0].summary, "hashicorp/aws");
}

#[tokio::test(start_paused = true)]
async fn aborted_waiter_returns_the_granted_slot() {
    let bench = Bench::new(1);
    let mate = second(&bench);
    let (_end1, _) = bench.begin(Method::Apply, "a").await;
    let (_end2, waiting) = bench.begin(Method::Read, "b").await;
    let (_end3, next) = bench.begin(Method::Read, "c").await;
    bench.heard();
    // The slot is granted, but its task has not run yet.
    mate.open();
    waiting.abort();
    settle().await;
    assert!(waiting.is_finished() && !next.is_finished());
    let heard = bench.heard();
    assert_eq!(
        heard.last().map(String::as_str),
        Some("3 in slot 1 of 1"),
        "{heard:?}"
    );
}
