//! Testing kit: plans and applies configurations of a provider as a host does, in this process or
//! over the real protocol, and checks the answers as hosts do: an applied object must match its
//! plan, without unknown values.
//!
//! ```
//! # use sdk::{TypedProvider, testing::TestProvider};
//! # async fn example() -> sdk::Result<()> {
//! # let provider = || TypedProvider::new("notes", |_, _: ()| async { Ok(()) });
//! let test = TestProvider::in_process(provider())?;
//! test.configure(serde_json::json!({})).await?;
//! # Ok(())
//! # }
//! ```

mod bluelink;
mod connect;
mod ephemeral;
mod migrations;
mod operations;
mod start;

pub use connect::connect;
pub use ephemeral::OpenResource;
pub use operations::{Changed, Instance, Plan};
pub use start::TestProvider;
