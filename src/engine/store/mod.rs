//! The store: what is kept of a workspace, over one model. Nothing durable goes round it. How it is
//! kept is a folder of its own: SQLite.

mod error;
mod export;
pub mod model;
mod recorder;
mod rows;
pub mod sensitive;
mod sqlite;

pub use error::StoreError;
pub use export::version4;
pub use recorder::Recorder;
pub use rows::rows;
pub use sqlite::{Acquired, CallSample, KEPT_EVENTS, KEPT_LINES, NewDeploy, Store};
