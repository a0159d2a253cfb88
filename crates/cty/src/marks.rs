//! Marks: annotations that operations propagate from their operands to the result. They are never
//! sent to a provider or written to a file.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Annotation of a value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mark {
    /// Must not be shown.
    Sensitive,
    /// Must not be stored.
    Ephemeral,
    /// Comes from something deprecated; the text names the replacement.
    Deprecated(Arc<str>),
    /// Annotation of a caller (used by tests).
    Custom(i64),
    /// Named annotation of a caller.
    Named(Arc<str>),
}

/// Marks of one value. The empty set needs no allocation.
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

    /// Returns the mark of sensitive values.
    pub fn sensitive() -> Marks {
        Marks::one(Mark::Sensitive)
    }

    /// Returns true if there are no marks.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if this mark is present.
    pub fn contains(&self, mark: &Mark) -> bool {
        self.0.as_ref().is_some_and(|s| s.contains(mark))
    }

    /// Returns true if the value must not be shown.
    pub fn is_sensitive(&self) -> bool {
        self.contains(&Mark::Sensitive)
    }

    /// Returns true if the value must not be stored.
    pub fn is_ephemeral(&self) -> bool {
        self.contains(&Mark::Ephemeral)
    }

    /// Returns true if the value must be redacted, because it is sensitive or ephemeral.
    pub fn needs_redaction(&self) -> bool {
        self.is_sensitive() || self.is_ephemeral()
    }

    /// Iterates over the marks in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.0.iter().flat_map(|s| s.iter())
    }

    /// Returns the marks of both.
    pub fn union(&self, other: &Marks) -> Marks {
        match (&self.0, &other.0) {
            (_, None) => self.clone(),
            (None, _) => other.clone(),
            // Sharing is the usual case: results of operations keep the set of an operand.
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) || b.is_subset(a) => self.clone(),
            (Some(a), Some(b)) => Marks(Some(Arc::new(a.union(b).cloned().collect()))),
        }
    }

    /// Adds the marks of `other`.
    pub fn extend(&mut self, other: &Marks) {
        *self = self.union(other);
    }

    /// Returns the marks for which `keep` is true.
    pub fn filtered(&self, keep: impl Fn(&Mark) -> bool) -> Marks {
        self.iter().filter(|m| keep(m)).cloned().collect()
    }

    /// Returns the marks without this one.
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
