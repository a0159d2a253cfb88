//! Limit on the work of an evaluation. Counts evaluated parts of the expression and values read by
//! functions, not time, so the same expression fails at the same place on every machine.

use std::cell::Cell;

use cty::Value;

use crate::diag::{Diagnostic, Message};

/// Default maximum of steps for one expression: about one minute of CPU time. A comparison of ten
/// thousand objects with each other takes a fifth of it.
pub const MAX_STEPS: u64 = 1 << 29;

/// Fixed cost of a call, besides its arguments.
const CALL: u64 = 8;

/// Remaining steps of one evaluation.
#[derive(Debug)]
pub struct Steps {
    limit: u64,
    remaining: Cell<u64>,
}

impl Steps {
    /// Limit of `most` steps.
    pub fn new(most: u64) -> Steps {
        Steps {
            limit: most,
            remaining: Cell::new(most),
        }
    }

    /// Counts steps.
    pub fn consume(&self, steps: u64) {
        self.remaining
            .set(self.remaining.get().saturating_sub(steps));
    }

    /// Counts a call that reads all of these values.
    pub(crate) fn consume_call(&self, args: &[Value]) {
        self.consume(args.iter().map(read_cost).fold(CALL, u64::saturating_add));
    }

    /// Returns true if no steps are left.
    pub fn is_exhausted(&self) -> bool {
        self.remaining.get() == 0
    }

    /// Error if no steps are left. The evaluator sets its source position.
    pub(crate) fn exhausted_error(&self) -> Option<Diagnostic> {
        self.is_exhausted().then(|| {
            Diagnostic::error(
                "Evaluation limit exceeded",
                Message::plain(self.limit_message()),
            )
        })
    }

    pub(crate) fn limit_message(&self) -> String {
        format!(
            "The evaluation takes more than {} million steps. Each iteration of a loop and each \
            value that a function reads is a step. Use smaller collections, or fewer nested \
            loops and calls.",
            self.limit.div_ceil(1_000_000)
        )
    }
}

/// Steps needed to read all of a value.
fn read_cost(value: &Value) -> u64 {
    /// Bytes of text that count as one step.
    const BYTES: usize = 64;
    let text = value.as_str().map_or(0, |text| text.len() / BYTES);
    u64::from(value.size()).saturating_add(text as u64)
}
