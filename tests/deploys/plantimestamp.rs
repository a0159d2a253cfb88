//! Test of values that a deploy takes from its stage.

use crate::Lab;
use bundled::lab::control::{Fault, Kind, On};

/// `plantimestamp()` is the same in the stage and in its deploy.
#[test]
fn plantimestamp_is_equal_in_stage_and_deploy() {
    const THING: &str = "resource \"lab_thing\" \"a\" { name = \"a\" }\n";
    let lab = Lab::new(THING);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.set_fault(Fault {
        on: On::Read,
        ms: Some(1_100),
        ..Fault::new(Kind::Latency)
    });
    lab.configure(&format!(
        "{THING}resource \"terraform_data\" \"t\" {{ input = plantimestamp() }}\n"
    ));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
}
