//! Dependencies of waiting operations, for display. Each line names a few unfinished operations to
//! wait for, and the next ones once these are done. Operations with equal dependencies share a
//! line. Owned by the record of a deploy.

use std::collections::HashMap;

/// Needs stored per line, and those displayed at a time.
pub const MAX_STORED: usize = 64;
const MAX_DISPLAYED: usize = 8;

/// Lines of all waiting operations, by index of the operation in the deploy.
#[derive(Default)]
pub struct Waits {
    lines: Vec<Line>,
    /// Lines that wait for an operation.
    by_operation: HashMap<usize, Vec<usize>>,
}

/// Operations that wait, and the dependencies that they all wait for.
pub struct Line {
    pub waiting: Vec<usize>,
    /// Displayed and not done.
    pub displayed: Vec<usize>,
    /// Not displayed and not done; in the order of their start.
    not_displayed: Vec<usize>,
    /// Resources of which all instances are needed.
    pub all_of: Vec<String>,
}

impl Line {
    /// Needs that are not done.
    pub fn needs(&self) -> impl Iterator<Item = usize> {
        self.displayed.iter().chain(&self.not_displayed).copied()
    }

    /// Number of needs that are neither done nor displayed.
    pub fn more(&self) -> u32 {
        u32::try_from(self.not_displayed.len()).unwrap_or(u32::MAX)
    }

    /// Displays the needs that are not done, those that `is_reason` accepts first. Called once,
    /// after the last operation has ended.
    pub fn display_reasons(&mut self, is_reason: impl Fn(usize) -> bool) {
        self.not_displayed.append(&mut self.displayed);
        self.not_displayed
            .sort_unstable_by_key(|n| (!is_reason(*n), *n));
        let rest = self
            .not_displayed
            .split_off(self.not_displayed.len().min(MAX_DISPLAYED));
        self.displayed = std::mem::replace(&mut self.not_displayed, rest);
    }

    /// Displays further needs. Those that start last come first, because early ones would soon have
    /// to be replaced for every waiter.
    fn display_more(&mut self) {
        let more = self
            .not_displayed
            .len()
            .min(MAX_DISPLAYED - self.displayed.len());
        self.displayed
            .extend(self.not_displayed.drain(self.not_displayed.len() - more..));
        self.displayed.sort_unstable();
    }
}

impl Waits {
    /// Creates the lines from waiters with equal needs, the needs in the order of their start.
    pub fn of(all: impl IntoIterator<Item = (Vec<usize>, Vec<usize>)>) -> Self {
        let mut waits = Self::default();
        for (waiting, rest) in all {
            let number = waits.lines.len();
            for need in &rest {
                waits.by_operation.entry(*need).or_default().push(number);
            }
            let mut line = Line {
                waiting,
                displayed: Vec::new(),
                not_displayed: rest,
                all_of: Vec::new(),
            };
            line.display_more();
            waits.lines.push(line);
        }
        waits
    }

    /// Returns all lines.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns all lines.
    pub fn lines_mut(&mut self) -> &mut [Line] {
        &mut self.lines
    }

    /// Marks an operation as done. Returns the lines that display other needs now.
    pub fn done(&mut self, operation: usize) -> Vec<&Line> {
        let mut told = Vec::new();
        for at in self.by_operation.remove(&operation).unwrap_or_default() {
            let line = &mut self.lines[at];
            let before = line.displayed.len();
            line.displayed.retain(|named| *named != operation);
            line.not_displayed.retain(|other| *other != operation);
            // Replaced only together, because each change emits an event for every waiter.
            if line.displayed.len() < before
                && line.displayed.is_empty()
                && !line.not_displayed.is_empty()
            {
                line.display_more();
                told.push(at);
            }
        }
        told.into_iter().map(|at| &self.lines[at]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(waits: &mut Waits, done: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
        let lines = waits.done(done).into_iter();
        lines
            .map(|line| (line.waiting.clone(), line.displayed.clone()))
            .collect()
    }

    #[test]
    fn waiting_line_names_new_dependencies_when_the_named_ones_end() {
        let mut waits = Waits::of([(vec![99, 98], (0..20).collect())]);
        assert_eq!(waits.lines[0].displayed, (12..20).collect::<Vec<_>>());
        // One need that was not displayed, and most of the displayed ones.
        for n in [7, 12, 13, 14, 15, 16, 17, 18] {
            assert_eq!(told(&mut waits, n), []);
        }
        let next = vec![3, 4, 5, 6, 8, 9, 10, 11];
        assert_eq!(told(&mut waits, 19), [(vec![99, 98], next)]);
        for n in [3, 4, 5, 6, 8, 9, 10] {
            assert_eq!(told(&mut waits, n), []);
        }
        assert_eq!(told(&mut waits, 11), [(vec![99, 98], vec![0, 1, 2])]);
        for n in [0, 1, 2] {
            assert_eq!(told(&mut waits, n), []);
        }
    }

    #[test]
    fn reasons_are_named_first_and_the_rest_is_counted() {
        let mut waits = Waits::of([(vec![99], (0..21).collect())]);
        waits.done(5);
        let line = &mut waits.lines_mut()[0];
        assert_eq!((line.displayed.len(), line.more()), (8, 12));
        // One of the needs that are not displayed has failed.
        line.display_reasons(|n| n == 7);
        assert_eq!(line.displayed, [7, 0, 1, 2, 3, 4, 6, 8]);
        assert_eq!(line.more(), 12);
    }

    #[test]
    fn dependencies_completing_in_order_cause_no_update() {
        let mut waits = Waits::of([(vec![99], (0..64).collect())]);
        assert!((0..64).all(|n| told(&mut waits, n).is_empty()));
    }
}
