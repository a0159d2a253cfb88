//! Schema cache by executable: all processes of one executable have the same schema, so it is
//! converted once and shared.

use crate::ProviderSchema;
use model::mutex::lock;
use plugin::Start;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// Cache key of an executable; a rebuilt file has a different one.
#[derive(PartialEq, Eq, Hash)]
struct Executable {
    path: PathBuf,
    args: Vec<OsString>,
    size: u64,
    changed: Option<SystemTime>,
}

impl Executable {
    /// Reads the key of an executable; `None` for a process started by others, whose executable is
    /// unknown.
    fn of(start: &Start) -> Option<Self> {
        let Start::Spawn(spec) = start else {
            return None;
        };
        let file = std::fs::metadata(&spec.executable).ok()?;
        Some(Self {
            path: spec.executable.clone(),
            args: spec.args.clone(),
            size: file.len(),
            changed: file.modified().ok(),
        })
    }
}

/// Cached schemas.
#[derive(Default)]
pub(super) struct SchemaCache(Mutex<HashMap<Executable, Arc<ProviderSchema>>>);

impl SchemaCache {
    pub(super) fn get(&self, start: &Start) -> Option<Arc<ProviderSchema>> {
        let executable = Executable::of(start)?;
        lock(&self.0).get(&executable).cloned()
    }

    pub(super) fn insert(&self, start: &Start, schema: &Arc<ProviderSchema>) {
        let Some(executable) = Executable::of(start) else {
            return;
        };
        let mut shelf = lock(&self.0);
        // A rebuilt executable replaces its predecessor's entry, so that the cache does not grow.
        shelf.retain(|known, _| known.path != executable.path || known.args != executable.args);
        shelf.insert(executable, schema.clone());
    }
}
