//! Pins of executables: while a stage or deploy runs, plugins are launched only with the file
//! contents that it has approved.

use model::mutex::lock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Counter of pins, with the expected contents of the executables. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct PinnedExecutables(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    pins: AtomicUsize,
    /// By executable.
    expected: Mutex<HashMap<PathBuf, Expected>>,
}

/// Files of a plugin, with their digest at the time of the search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// A package's directory, or an executable.
    pub files: PathBuf,
    pub digest: String,
}

/// Guard of a pin. While it exists, plugins run the contents that were approved.
#[derive(Debug)]
pub struct Pin(PinnedExecutables);

impl PinnedExecutables {
    /// Pins the current executables; changed files are used only after the pin is dropped.
    pub fn pin(&self) -> Pin {
        self.0.pins.fetch_add(1, Ordering::SeqCst);
        Pin(self.clone())
    }

    /// Returns true if any pin exists.
    pub fn are_pinned(&self) -> bool {
        self.0.pins.load(Ordering::SeqCst) > 0
    }

    /// Records the contents that an executable must have as long as programs are pinned.
    pub fn expect(&self, executable: PathBuf, expected: Expected) {
        lock(&self.0.expected).insert(executable, expected);
    }

    /// Returns the contents that an executable must have to be launched now; `None` allows any.
    pub(super) fn expected(&self, executable: &Path) -> Option<Expected> {
        let pinned = self.are_pinned();
        pinned.then(|| lock(&self.0.expected).get(executable).cloned())?
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.0.pins.fetch_sub(1, Ordering::SeqCst);
    }
}
