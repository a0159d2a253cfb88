//! What a test does not do here, said where the harness does not swallow it.

use std::io::Write as _;

/// Says that the test of this thread does nothing here, and why, in one line past the harness,
/// which keeps the output of tests that pass to itself.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // There is nobody to tell that it could not be told.
    drop(writeln!(std::io::stderr(), "skipped: {test}: {why}"));
}
