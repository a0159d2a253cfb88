//! Whether something runs that rests on the programs that serve: then none is replaced by another.

use crate::engine::mutex::lock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How many things run that rest on the programs that serve, and what these are. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Programs(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    pins: AtomicUsize,
    /// By executable.
    expected: Mutex<HashMap<PathBuf, Expected>>,
}

/// Files that a plugin is launched from, and their digest when they were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) struct Expected {
    /// A package's directory, or an executable.
    pub(in crate::engine) files: PathBuf,
    pub(in crate::engine) digest: String,
}

/// While it lasts no process is replaced by one of another program: what was approved is what runs.
#[derive(Debug)]
pub struct Pinned(Programs);

impl Programs {
    /// Keeps the programs that serve: a file that changes is taken later.
    pub fn pin(&self) -> Pinned {
        self.0.pins.fetch_add(1, Ordering::SeqCst);
        Pinned(self.clone())
    }

    /// Whether somebody keeps them.
    pub fn are_pinned(&self) -> bool {
        self.0.pins.load(Ordering::SeqCst) > 0
    }

    /// Records the contents that an executable must have as long as programs are pinned.
    pub(in crate::engine) fn expect(&self, executable: PathBuf, expected: Expected) {
        lock(&self.0.expected).insert(executable, expected);
    }

    /// The contents that an executable must have to be launched now; `None` where any will do.
    pub(super) fn expected(&self, executable: &Path) -> Option<Expected> {
        let pinned = self.are_pinned();
        pinned.then(|| lock(&self.0.expected).get(executable).cloned())?
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.0.0.pins.fetch_sub(1, Ordering::SeqCst);
    }
}
