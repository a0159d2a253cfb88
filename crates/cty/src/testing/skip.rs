//! Reports a skipped test on stderr, past the output capture of the test harness.

use std::io::Write as _;

/// Prints that the test of this thread is skipped, and the reason. Writes to stderr directly,
/// because the harness captures the output of passing tests.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // A failed write cannot be reported anywhere else.
    drop(writeln!(std::io::stderr(), "skipped: {test}: {why}"));
}
