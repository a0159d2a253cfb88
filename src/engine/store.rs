//! The store: durable history of a workspace and a copy of its state, as small traits over one
//! model. Only the SQLite implementation touches the file.

mod error;
mod keeping;
pub mod model;
mod packed;
mod recorder;
mod rescue_files;
mod rows;
pub mod sensitive;
mod sqlite;
mod version4;

pub use error::StoreError;
pub use keeping::{
    Deploys, Edits, Failures, Keeping, Launches, Locks, Logs, Rescues, Stages, States,
};
pub use recorder::Recorder;
pub use rescue_files::{rescue_instructions, waiting_rescue};
pub use rows::{outputs, rows, rows_in_the_clear};
pub use version4::{Version4Error, from_version4, version4};

use super::settings::Access;
use fsroot::Below;
use std::ops::Deref;
use std::sync::Arc;

/// Handle to the store of a workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store(Arc<dyn Keeping>);

impl Store {
    /// Opens the store of the workspace `dir`; [`Access::ReadWrite`] creates it. Refuses links.
    /// [`Access::NoStore`] opens nothing and behaves like an empty store. Blocks for some
    /// milliseconds.
    ///
    /// # Errors
    /// Every way in which a file can be unusable has its own [`StoreError`].
    pub fn open(dir: impl Into<Below>, access: Access) -> Result<Self, StoreError> {
        let dir = dir.into();
        let checked = match access {
            Access::ReadWrite => dir.create_dirs(),
            Access::ReadOnly | Access::ReadState => dir.check_dirs(),
            Access::NoStore => Ok(()),
        };
        let path = dir.path();
        checked.map_err(|e| StoreError::unchecked(&path, e))?;
        Ok(Self(Arc::new(sqlite::Sqlite::open(&path, access)?)))
    }
}

impl Deref for Store {
    type Target = dyn Keeping;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
