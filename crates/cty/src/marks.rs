//! Marks: notes that travel with a value through every operation and never go to a provider or into
//! a file.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// One note on a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mark {
    /// Not to be shown.
    Sensitive,
    /// Not to be stored.
    Ephemeral,
    /// From something deprecated; the text says what to use instead.
    Deprecated(Arc<str>),
    /// A note of a caller's own (tests use it).
    Custom(i64),
    /// A named note of a caller's own.
    Named(Arc<str>),
}

/// The notes on one value. Empty costs nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Marks(Option<Arc<BTreeSet<Mark>>>);

impl Marks {
    /// No marks.
    pub const fn none() -> Marks {
        Marks(None)
    }

    /// Exactly one mark.
    pub fn one(mark: Mark) -> Marks {
        Marks(Some(Arc::new(BTreeSet::from([mark]))))
    }

    /// The mark for values not to be shown.
    pub fn sensitive() -> Marks {
        Marks::one(Mark::Sensitive)
    }

    /// No marks at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether this mark is among them.
    pub fn contains(&self, mark: &Mark) -> bool {
        self.0.as_ref().is_some_and(|s| s.contains(mark))
    }

    /// Whether the value is not to be shown.
    pub fn is_sensitive(&self) -> bool {
        self.contains(&Mark::Sensitive)
    }

    /// Whether the value is not to be stored.
    pub fn is_ephemeral(&self) -> bool {
        self.contains(&Mark::Ephemeral)
    }

    /// Whether the value is to be kept from those who watch: it is sensitive or ephemeral.
    pub fn hide(&self) -> bool {
        self.is_sensitive() || self.is_ephemeral()
    }

    /// In a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.0.iter().flat_map(|s| s.iter())
    }

    /// All marks of both.
    pub fn union(&self, other: &Marks) -> Marks {
        match (&self.0, &other.0) {
            (_, None) => self.clone(),
            (None, _) => other.clone(),
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) || b.is_subset(a) => self.clone(),
            (Some(a), Some(b)) => Marks(Some(Arc::new(a.union(b).cloned().collect()))),
        }
    }

    /// Adds the marks of `other`.
    pub fn extend(&mut self, other: &Marks) {
        *self = self.union(other);
    }

    /// Without those for which `keep` says no.
    pub fn filtered(&self, keep: impl Fn(&Mark) -> bool) -> Marks {
        self.iter().filter(|m| keep(m)).cloned().collect()
    }

    /// Without this one.
    pub fn without(&self, mark: &Mark) -> Marks {
        if self.contains(mark) {
            self.filtered(|m| m != mark)
        } else {
            self.clone()
        }
    }
}

impl FromIterator<Mark> for Marks {
    fn from_iter<I: IntoIterator<Item = Mark>>(iter: I) -> Marks {
        let set: BTreeSet<Mark> = iter.into_iter().collect();
        if set.is_empty() {
            Marks(None)
        } else {
            Marks(Some(Arc::new(set)))
        }
    }
}

impl From<Mark> for Marks {
    fn from(mark: Mark) -> Marks {
        Marks::one(mark)
    }
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
