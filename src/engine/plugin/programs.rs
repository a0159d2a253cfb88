//! Whether something runs that rests on the programs that serve: then none is replaced by another.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many things run that rest on the programs that serve. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Programs(Arc<AtomicUsize>);

/// While it lasts no process is replaced by one of another program: what was approved is what runs.
#[derive(Debug)]
pub struct Pinned(Programs);

impl Programs {
    /// Keeps the programs that serve: a file that changes is taken later.
    pub fn pin(&self) -> Pinned {
        self.0.fetch_add(1, Ordering::SeqCst);
        Pinned(self.clone())
    }

    /// Whether somebody keeps them.
    pub fn are_pinned(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}
