//! The store: durable history of a workspace and a copy of its state, as small traits over one
//! model. Only the SQLite implementation touches the file.
//!
//! ```no_run
//! # async fn example() -> Result<(), flightdeck_store::StoreError> {
//! use model::settings::Access;
//!
//! let store = flightdeck_store::Store::open("/srv/app", Access::ReadOnly)?;
//! for deploy in store.history(10).await? {
//!     println!("{:?} {:?}", deploy.deploy, deploy.outcome);
//! }
//! # Ok(())
//! # }
//! ```

mod compressed;
mod error;
mod recorder;
pub mod records;
mod rescue_files;
mod rows;
pub mod sensitive;
mod sqlite;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod traits;
mod version4;

pub use error::StoreError;
pub use recorder::Recorder;
pub use rescue_files::{rescue_instructions, unused_rescue_file};
pub use rows::{marked_value, outputs, revealed, rows, rows_with_sensitive};
pub use traits::{
    Deploys, Edits, Failures, Launches, Locks, Logs, Observations, Reconciles, Rescues, Rollouts,
    SavedSelections, Stages, States, StoreApi,
};
pub use version4::{Version4Error, from_version4, version4};

use fsroot::RootedPath;
use model::settings::Access;
use std::ops::Deref;
use std::sync::Arc;

/// Handle to the store of a workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store(Arc<dyn StoreApi>);

impl Store {
    /// Opens the store of the workspace `dir`; [`Access::ReadWrite`] creates it. Refuses links.
    /// [`Access::NoStore`] opens nothing and behaves like an empty store. Blocks for some
    /// milliseconds.
    ///
    /// # Errors
    /// Every way in which a file can be unusable has its own [`StoreError`].
    pub fn open(dir: impl Into<RootedPath>, access: Access) -> Result<Self, StoreError> {
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
    type Target = dyn StoreApi;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}
