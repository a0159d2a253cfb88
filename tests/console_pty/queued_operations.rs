//! Test of more operations than slots in the console, in a real deploy.

use crate::console_workspace::*;
use crate::pty::Pty;
use bundled::lab::control;
use portable_pty::CommandBuilder;

#[test]
fn operations_that_wait_for_the_only_slot_are_queued() {
    let w = Workspace::bundled();
    let text = std::fs::read_to_string(w.path().join("main.tf")).unwrap();
    std::fs::write(
        w.path().join("main.tf"),
        text.replace(
            "  name = \"logs\"",
            "  count = 3\n  name  = \"logs-${count.index}\"",
        ),
    )
    .unwrap();
    let slow = control::Fault {
        ms: Some(3_000),
        on: control::On::Create,
        ..control::Fault::new(control::Kind::Latency)
    };
    control::set(&w.path().join("lab.json"), slow).unwrap();
    let mut command = CommandBuilder::new(FLIGHTDECK);
    command.arg(w.path());
    command.env("FLIGHTDECK_SLOTS", "1");
    let mut c = Pty::start(command, 120, 40).unwrap();
    c.wait("● ready", LONG).unwrap();
    c.keys("3s").unwrap();
    c.wait("· 3 of 3 selected", LONG).unwrap();
    c.keys("ay").unwrap();
    c.wait("1 running · 2 queued", LONG).unwrap();
    c.keys(">>>>").unwrap();
    c.wait(" queued behind lab_bucket.logs[", SOON).unwrap();
    c.wait("✓ succeeded", LONG).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(LONG).unwrap().0, 0);
}
