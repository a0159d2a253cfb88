//! Where a call's plugin has what it asks of others written down: before it is done, and after. Who
//! makes the call gives it; without one, nothing is done for the plugin.

use crate::engine::store::StoreError;
use crate::engine::store::model::StateObject;
use crate::engine::words::{Deed, DeedEnd};
use async_trait::async_trait;

/// An object that the state has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its address.
    pub address: String,
    /// JSON object text.
    pub attributes: String,
    pub private: Vec<u8>,
    pub tainted: bool,
}

impl From<&StateObject> for Held {
    fn from(object: &StateObject) -> Self {
        Self {
            address: object.address.clone(),
            attributes: object.attributes.clone(),
            private: object.private.clone(),
            tainted: object.tainted,
        }
    }
}

/// Why what a plugin wants done cannot be written down; it must not be done.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unwritten {
    /// The operation `asks` for more than `most` things.
    #[error("{asks} has asked for {most} things beside its own object already, which is the most")]
    TooMany { asks: String, most: usize },
    #[error("it cannot be written down, and so is not done: {0}")]
    Store(#[from] StoreError),
}

/// The account of one call.
#[async_trait]
pub trait Ledger: Send + Sync + std::fmt::Debug {
    /// Writes down what `asked_by` (in words) wants done, and by which `id` the object is known,
    /// where it is there already. It is durable when this returns: only then may it be done. The
    /// answer is the deed's place.
    ///
    /// # Errors
    /// Why it cannot be written down: it must not be done.
    async fn intend(
        &self,
        deed: Deed,
        asked_by: &str,
        id: Option<String>,
    ) -> Result<u32, Unwritten>;

    /// Writes down what became of it.
    async fn settle(&self, place: u32, end: DeedEnd);

    /// The objects of a type that the state has of a provider (by its whole address) right now.
    fn objects(&self, provider: &str, kind: &str) -> Vec<Held>;

    /// Says something to the operator about what the call is for.
    async fn warn(&self, text: String);
}
