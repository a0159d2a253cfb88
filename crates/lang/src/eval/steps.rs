//! A bound of time: an evaluation counts what it does and ends with words where that is more than a
//! configuration can mean. Counted are the parts of the expression each time that they are worked
//! out, and what functions look at; so the same expression ends at the same place everywhere.

use std::cell::Cell;

use cty::Value;

use crate::diag::{Diagnostic, Said};

/// Steps of one expression, unless a scope says otherwise: about a minute of a processor.
/// What compares each of ten thousand objects with each other takes a fifth of them.
pub const MOST: u64 = 1 << 29;

/// What a call costs besides what it looks at.
const CALL: u64 = 8;

/// What one evaluation may still do.
#[derive(Debug)]
pub struct Steps {
    most: u64,
    left: Cell<u64>,
}

impl Steps {
    /// So many.
    pub fn new(most: u64) -> Steps {
        Steps {
            most,
            left: Cell::new(most),
        }
    }

    /// Counts some.
    pub fn take(&self, steps: u64) {
        self.left.set(self.left.get().saturating_sub(steps));
    }

    /// Counts what it takes to look at all of some values.
    pub(crate) fn take_call(&self, args: &[Value]) {
        self.take(args.iter().map(weight).fold(CALL, u64::saturating_add));
    }

    /// Whether there are none left.
    pub fn are_over(&self) -> bool {
        self.left.get() == 0
    }

    /// Why there is no going on, if there is none. The place is set by the evaluator.
    pub(crate) fn fault(&self) -> Option<Diagnostic> {
        self.are_over()
            .then(|| Diagnostic::error("Too much to work out", Said::plain(self.words())))
    }

    pub(crate) fn words(&self) -> String {
        format!(
            "Working this out takes more than {} million steps, counting each round of a loop and each value that a function looks at. Let it loop over less, or call itself less often.",
            self.most.div_ceil(1_000_000)
        )
    }
}

/// How many steps it takes to look at all of a value.
fn weight(value: &Value) -> u64 {
    /// Bytes of text that count as one step.
    const BYTES: usize = 64;
    let text = value.as_str().map_or(0, |text| text.len() / BYTES);
    u64::from(value.size()).saturating_add(text as u64)
}
