//! Groups of like resource instances: their members, the order of changes, waits for health, and
//! rollouts. Pure decisions: callers pass observations and times, and run the returned actions.
//!
//! ```
//! use group::order::{Configuration, Member, plan};
//! use group::policy::UpdatePolicy;
//! use group::{Health, MemberKey};
//!
//! let desired: Vec<MemberKey> = (0..3).map(MemberKey::Index).collect();
//! let members: Vec<Member> = desired
//!     .iter()
//!     .map(|key| Member::new(key.clone(), Configuration::Differs).with_health(Health::Healthy))
//!     .collect();
//! let plan = plan(&members, &desired, &UpdatePolicy::default())?;
//! assert_eq!(plan.summary(), "rolling update of 3 instances in 3 batches");
//! # Ok::<(), group::order::OrderError>(())
//! ```

pub mod allocation;
pub mod attachment;
pub mod commit;
pub mod declared;
pub mod drift;
pub mod hash;
pub mod health;
pub mod import;
mod key;
pub mod leader;
pub mod order;
pub mod plan_text;
pub mod policy;
pub mod prune;
pub mod rollout;
pub mod scope;
pub mod spec;

pub use allocation::Allocation;
pub use hash::ConfigHash;
pub use health::Health;
pub use key::MemberKey;

/// Milliseconds since the Unix epoch.
pub type UnixMs = i64;
