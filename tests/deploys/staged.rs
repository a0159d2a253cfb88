//! Test of values that a deploy takes from its stage.

use crate::Lab;
use providers::lab::control::{Fault, Kind, On};

/// `plantimestamp()` is the same in the stage and in its deploy.
#[test]
fn the_moment_of_the_plan_is_the_same_while_staging_and_deploying() {
    const THING: &str = "resource \"lab_thing\" \"a\" { name = \"a\" }\n";
    let lab = Lab::new(THING);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    lab.break_it(Fault {
        on: On::Read,
        ms: Some(1_100),
        ..Fault::new(Kind::Latency)
    });
    lab.configure(&format!(
        "{THING}resource \"terraform_data\" \"t\" {{ input = plantimestamp() }}\n"
    ));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
}
