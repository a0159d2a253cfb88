//! Limit on the work of an evaluation. Counts evaluated parts of the expression and values read by
//! functions, not time, so the same expression fails at the same place on every machine.

use std::cell::Cell;

use cty::Value;

use crate::diag::{Diagnostic, Said};

/// Default maximum of steps for one expression: about one minute of CPU time. A comparison of ten
/// thousand objects with each other takes a fifth of it.
pub const MOST: u64 = 1 << 29;

/// Fixed cost of a call, besides its arguments.
const CALL: u64 = 8;

/// Remaining steps of one evaluation.
#[derive(Debug)]
pub struct Steps {
    most: u64,
    left: Cell<u64>,
}

impl Steps {
    /// Limit of `most` steps.
    pub fn new(most: u64) -> Steps {
        Steps {
            most,
            left: Cell::new(most),
        }
    }

    /// Counts steps.
    pub fn take(&self, steps: u64) {
        self.left.set(self.left.get().saturating_sub(steps));
    }

    /// Counts a call that reads all of these values.
    pub(crate) fn take_call(&self, args: &[Value]) {
        self.take(args.iter().map(weight).fold(CALL, u64::saturating_add));
    }

    /// Returns true if no steps are left.
    pub fn are_over(&self) -> bool {
        self.left.get() == 0
    }

    /// Error if no steps are left. The evaluator sets its source position.
    pub(crate) fn fault(&self) -> Option<Diagnostic> {
        self.are_over()
            .then(|| Diagnostic::error("Evaluation limit exceeded", Said::plain(self.words())))
    }

    pub(crate) fn words(&self) -> String {
        format!(
            "The evaluation takes more than {} million steps. Each iteration of a loop and each \
            value that a function reads is a step. Use smaller collections, or fewer nested \
            loops and calls.",
            self.most.div_ceil(1_000_000)
        )
    }
}

/// Steps needed to read all of a value.
fn weight(value: &Value) -> u64 {
    /// Bytes of text that count as one step.
    const BYTES: usize = 64;
    let text = value.as_str().map_or(0, |text| text.len() / BYTES);
    u64::from(value.size()).saturating_add(text as u64)
}
