//! Chains of needs among the operations of a deploy.

use super::DeployView;
use crate::UnixMs;

/// Expected or actual end of an operation, and its position on the longest chain of needs, which
/// decides between equal ends.
pub type EndOfOperation = (UnixMs, usize);

impl DeployView {
    /// Returns the ends of all operations; `None` for those that have not ended.
    pub fn ends(&self) -> Vec<Option<EndOfOperation>> {
        let ends = self.operations.iter().map(|o| o.ended());
        ends.map(|end| Some((end?, 0))).collect()
    }

    /// Returns the end of the operation that has ended last.
    pub fn last_end(&self) -> Option<UnixMs> {
        self.operations.iter().filter_map(|o| o.ended()).max()
    }

    /// Returns the chain of needs that decides about the end of the deploy, first operation first:
    /// the operation that ends last, before it its need that ends last, and so on. Empty for a
    /// chain of one operation.
    pub fn critical_path(&self, ends: &[Option<EndOfOperation>]) -> Vec<usize> {
        let last = (0..ends.len()).filter_map(|at| Some((ends[at]?, at))).max();
        let mut chain: Vec<usize> = last.map(|(_, at)| at).into_iter().collect();
        // Needs form no cycle; the bound holds for a record that claims one.
        while let Some(at) = chain.last()
            && let Some(next) = self.last_need(*at, ends)
            && chain.len() < ends.len()
        {
            chain.push(next);
        }
        chain.reverse();
        if chain.len() < 2 { Vec::new() } else { chain }
    }

    /// Returns an operation and the chain of operations that it waits or waited for: after each one
    /// the need that blocks it, or that ended last before it started.
    pub fn chain_of(&self, at: usize) -> Vec<usize> {
        let ends = self.ends();
        let mut chain = vec![at];
        while let Some(next) = self.need_of(chain[chain.len() - 1], &ends)
            && !chain.contains(&next)
        {
            chain.push(next);
        }
        chain
    }

    fn need_of(&self, at: usize, ends: &[Option<EndOfOperation>]) -> Option<usize> {
        let operation = self.operations.get(at)?;
        if operation.began.is_some() {
            return self.last_need(at, ends);
        }
        let (blocker, _) = self.blockers(operation).into_iter().next()?;
        Some(self.operation(blocker)?.index as usize)
    }

    /// Returns the need of an operation that ends last.
    fn last_need(&self, at: usize, ends: &[Option<EndOfOperation>]) -> Option<usize> {
        let needs = self.needs(at).iter().copied();
        let ends = needs.filter_map(|need| Some((ends[need]?, need)));
        ends.max().map(|(_, need)| need)
    }
}
