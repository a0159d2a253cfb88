//! What operations wait for, as far as it is told: some names of many, and others once those are
//! done. Owned by the record of a deploy.

use std::collections::{BTreeSet, HashMap};

/// How many of what an operation waits for are remembered, and how many of them are told at a time.
pub const REMEMBERED: usize = 64;
const NAMED: usize = 8;

/// Operations by their place in the deploy.
#[derive(Default)]
pub struct Waits {
    of: HashMap<usize, Line>,
    dependents: HashMap<usize, Vec<usize>>,
}

#[derive(Default)]
struct Line {
    /// Told, and not done.
    named: BTreeSet<usize>,
    /// Not told, and not done.
    rest: BTreeSet<usize>,
}

impl Line {
    fn name_more(&mut self) {
        while self.named.len() < NAMED
            && let Some(next) = self.rest.pop_first()
        {
            self.named.insert(next);
        }
    }
}

impl Waits {
    /// An operation waits for these too; answers those that are to be named.
    pub fn add(&mut self, operation: usize, needs: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let line = self.of.entry(operation).or_default();
        for need in needs {
            if !line.named.contains(&need) && line.rest.insert(need) {
                self.dependents.entry(need).or_default().push(operation);
            }
        }
        line.name_more();
        line.named.iter().copied().collect()
    }

    /// An operation is done; answers which others have nothing left of what was named, and what
    /// they wait for now.
    pub fn done(&mut self, operation: usize) -> Vec<(usize, Vec<usize>)> {
        let mut out = Vec::new();
        for dependent in self.dependents.remove(&operation).unwrap_or_default() {
            let Some(line) = self.of.get_mut(&dependent) else {
                continue;
            };
            let was_named = line.named.remove(&operation);
            line.rest.remove(&operation);
            if was_named && line.named.is_empty() && !line.rest.is_empty() {
                line.name_more();
                out.push((dependent, line.named.iter().copied().collect()));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_named_once_those_that_were_are_done() {
        let mut waits = Waits::default();
        assert_eq!(waits.add(99, 0..20), (0..8).collect::<Vec<_>>());
        // One that was not named, and most of those that were.
        for n in [12, 0, 1, 2, 3, 4, 5, 6] {
            assert_eq!(waits.done(n), []);
        }
        assert_eq!(waits.done(7), [(99, vec![8, 9, 10, 11, 13, 14, 15, 16])]);
        for n in (8..16).filter(|n| *n != 12) {
            assert_eq!(waits.done(n), []);
        }
        assert_eq!(waits.done(16), [(99, vec![17, 18, 19])]);
        for n in 17..20 {
            assert_eq!(waits.done(n), []);
        }
    }
}
