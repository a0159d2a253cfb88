//! Locks within this process.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock that a panic elsewhere does not close for good: what is under these locks is whole after
/// each statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
