//! What can go wrong with the state of record, in words for an operator.

use crate::engine::store::StoreError;

/// Why the state cannot be locked, read or written where it lives.
#[derive(Debug, Clone, thiserror::Error)]
pub enum HomeError {
    #[error(transparent)]
    Store(#[from] StoreError),
}
