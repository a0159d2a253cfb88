//! Tests of lock queues and deadlock detection.

use super::locks::{LockReply, LockRequester, Name, QueuePlace, Table};
use model::PluginId;
use std::sync::Arc;

fn name(resource: &str) -> Name {
    ("instance".to_owned(), resource.to_owned())
}

fn asker(number: u64) -> LockRequester {
    LockRequester {
        number,
        text: format!("box.{number}"),
        plugin: PluginId("bluelink/fake".into()),
        call: Some(number + 100),
        by: String::new(),
        on_change: Arc::new(|_| ()),
    }
}

fn table(calls: &[u64]) -> Table {
    let mut table = Table::default();
    calls
        .iter()
        .for_each(|number| table.call_started(*number, None));
    table
}

fn granted(table: &mut Table, number: u64, resource: &str) {
    let asked = table.request(&name(resource), asker(number));
    assert!(matches!(asked, LockReply::Granted), "{number} {resource}");
}

fn waits(table: &mut Table, number: u64, resource: &str) -> QueuePlace {
    match table.request(&name(resource), asker(number)) {
        LockReply::Queued(place) => place,
        _ => panic!("{number} does not wait for {resource}"),
    }
}

fn circle(table: &mut Table, number: u64, resource: &str) -> (String, Vec<u64>) {
    match table.request(&name(resource), asker(number)) {
        LockReply::Circle { text, others } => (text, others),
        _ => panic!("{number} would not wait for ever for {resource}"),
    }
}

#[test]
fn lock_goes_to_the_first_waiter_and_skips_those_that_left() {
    let mut table = table(&[1, 2, 3, 4]);
    granted(&mut table, 1, "a");
    let gone = waits(&mut table, 2, "a");
    let mut third = waits(&mut table, 3, "a");
    let mut fourth = waits(&mut table, 4, "a");
    assert_eq!(fourth.waits.borrow().blocker, Some(101));
    drop(gone);
    table.call_ended(1);
    assert!(third.granted.try_recv().is_ok() && fourth.granted.try_recv().is_err());
    let waits = fourth.waits.borrow_and_update().clone();
    assert_eq!(
        (waits.text.as_str(), waits.blocker),
        ("lock on \"a\", held by box.3", Some(103))
    );
    assert!(
        table.cancel_request(&name("a"), fourth.ticket),
        "it was in line"
    );
    assert!(!table.cancel_request(&name("a"), fourth.ticket));
    table.call_ended(3);
    granted(&mut table, 2, "a");
}

#[test]
fn lock_cycle_of_three_reports_all_members() {
    let mut table = table(&[1, 2, 3]);
    for (number, resource) in [(1, "a"), (2, "b"), (3, "c")] {
        granted(&mut table, number, resource);
    }
    let _first = waits(&mut table, 1, "b");
    let mut second = waits(&mut table, 2, "c");
    let (text, others) = circle(&mut table, 3, "a");
    assert_eq!(
        text,
        "box.3 would deadlock: it would wait for the lock on \"a\", held by box.1, which waits for the lock on \"b\", held by box.2, which waits for the lock on \"c\", held by box.3"
    );
    assert_eq!(others, [1, 2]);
    let told = second.waits.borrow_and_update().text.clone();
    assert!(
        told.contains("box.3 requested the lock on \"a\" and was refused"),
        "{told}"
    );
    table.call_ended(3);
    assert!(second.granted.try_recv().is_ok());
    granted(&mut table, 2, "c");
}

#[test]
fn lock_cycle_includes_waiters_ahead_in_the_queue() {
    let mut table = table(&[1, 2, 3]);
    granted(&mut table, 1, "a");
    granted(&mut table, 3, "c");
    let _first = waits(&mut table, 2, "a");
    // Another wait of the same call.
    let _second = waits(&mut table, 2, "c");
    let (text, others) = circle(&mut table, 3, "a");
    let behind = "for the lock on \"a\", which goes to box.2 first, which waits for the lock on \"c\", held by box.3";
    assert!(text.ends_with(behind), "{text}");
    assert_eq!(others, [2]);
}

#[test]
fn nested_call_shares_the_locks_of_its_parent_until_it_ends() {
    let mut table = table(&[1, 2]);
    table.call_started(5, Some(1));
    granted(&mut table, 5, "a");
    // The nested call has the lock, and ends without its parent.
    let mut whole = waits(&mut table, 1, "a");
    table.call_ended(5);
    assert!(whole.granted.try_recv().is_ok());
    table.call_started(6, Some(1));
    granted(&mut table, 6, "a");
    let mut second = waits(&mut table, 2, "a");
    table.call_ended(6);
    assert!(second.granted.try_recv().is_err(), "1 has it still");
    table.call_ended(1);
    assert!(second.granted.try_recv().is_ok());
}
