//! Lazily computed values.

use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

type Work<T> = Box<dyn FnOnce() -> T + Send>;

/// Value computed on first use, once for all its clones. A screen shows the attributes of one of
/// many thousand resources.
pub struct Lazy<T>(Arc<LazyLock<T, Work<T>>>);

impl<T> Lazy<T> {
    /// Creates a value from `work`. The first reader waits for it.
    pub fn new(work: impl FnOnce() -> T + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(work))))
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> From<T> for Lazy<T> {
    fn from(value: T) -> Self {
        Self::new(move || value)
    }
}

impl<T> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: PartialEq> PartialEq for Lazy<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Lazy<T> {}

impl<T: fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Serialize> Serialize for Lazy<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::Lazy;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn lazy_value_is_computed_once_on_first_access() {
        let asked = Arc::new(AtomicU32::new(0));
        let counted = asked.clone();
        let later = Lazy::new(move || counted.fetch_add(1, Ordering::Relaxed));
        let other = later.clone();
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert_eq!((*later, *other), (0, 0));
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
