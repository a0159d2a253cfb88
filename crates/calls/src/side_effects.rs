//! Durable record of the side effects that a plugin requests during a call, written before and
//! after each. The caller supplies it; without one, such requests are rejected.

use async_trait::async_trait;
use model::{SideEffect, SideEffectOutcome};
use store::StoreError;
use store::records::StateObject;

/// Object in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateEntry {
    /// Resource address.
    pub address: String,
    /// JSON object text.
    pub attributes: String,
    pub private: Vec<u8>,
    pub tainted: bool,
}

impl From<&StateObject> for StateEntry {
    fn from(object: &StateObject) -> Self {
        Self {
            address: object.address.clone(),
            attributes: object.attributes.clone(),
            private: object.private.clone(),
            tainted: object.tainted,
        }
    }
}

/// Error of a side effect that cannot be recorded; it must not be executed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NotRecorded {
    /// The operation `asks` for more than `most` things.
    #[error(
        "the operation {asks} has reached the limit of {most} side effects, so this one is not executed"
    )]
    TooMany { asks: String, most: usize },
    #[error("the side effect was not executed, because the store cannot record it first: {0}")]
    Store(#[from] StoreError),
}

/// Record of one call's side effects.
#[async_trait]
pub trait SideEffectRecord: Send + Sync + std::fmt::Debug {
    /// Records a side effect requested by `asked_by` (as text), with the object's `id` if it
    /// exists. The record is durable on return; only then may the side effect be executed. Returns
    /// its position.
    ///
    /// # Errors
    /// The record failed: the side effect must not be executed.
    async fn record_intent(
        &self,
        deed: SideEffect,
        asked_by: &str,
        id: Option<String>,
    ) -> Result<u32, NotRecorded>;

    /// Records its outcome.
    async fn record_outcome(&self, place: u32, end: SideEffectOutcome);

    /// Returns the objects of a type that belong to a provider (by full address) in the current
    /// state.
    fn objects(&self, provider: &str, kind: &str) -> Vec<StateEntry>;

    /// Shows the operator a warning about the operation of the call.
    async fn warn(&self, text: String);
}
