//! The workspace on disk: configuration, selected workspace, backend and its metadata, references
//! in expressions. `init` and the workspace commands write here; all else reads. Launches no
//! plugin.
//!
//! ```no_run
//! # use flightdeck_workspace::{initialize::InitError, workspaces};
//! # async fn example() -> Result<(), InitError> {
//! for name in workspaces::list("/srv/app".as_ref(), &Default::default()).await? {
//!     println!("{name}");
//! }
//! # Ok(())
//! # }
//! ```

mod backend_check;
mod encryption;
pub mod initialize;
pub mod link_providers;
pub mod load;
pub mod provider_addr;
pub mod refs;
pub mod state_location;
pub mod store_location;
pub mod workspaces;
