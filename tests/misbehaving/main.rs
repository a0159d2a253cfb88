//! Tests of plugin faults through the real binary. Each table row is a run of flightdeck in a
//! workspace that needs one fake (see `fake/`) and the bundled lab. For each fault the error names
//! the failure, place, reason and remedy, flightdeck's memory stays small, the lab serves, and no
//! process is left.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod conformance;
mod crashes_and_kills;
mod failing_applies;
#[path = "fake/names.rs"]
mod fake_names;
mod faults_in_calls;
mod launch_fault_table;
mod launch_faults;
mod observed_run;
mod retries;
#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod support;
mod traces;
mod wrong_answers;
