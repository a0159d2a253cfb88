//! Members of a map or an object, sorted by name. One shared allocation holds all of them: most
//! objects are small and numerous, and the nodes of a tree would cost more than their contents.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Value;

type Member = (Arc<str>, Value);

/// Names and values, sorted by name; names are unique.
#[derive(Clone)]
pub struct Members(Arc<[Member]>);

impl Members {
    /// Returns the value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.0.binary_search_by(|(k, _)| (**k).cmp(name)).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Returns true if a member has this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over all members, sorted by name.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// Iterates over the names, sorted.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.0.iter().map(|(k, _)| k)
    }

    /// Iterates over the values, sorted by their names.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.iter().map(|(_, v)| v)
    }

    /// Returns a mutable copy.
    pub fn to_map(&self) -> BTreeMap<Arc<str>, Value> {
        self.0.iter().cloned().collect()
    }

    /// Replaces the value of an existing name; `None` if the name does not exist.
    pub(crate) fn with(&self, name: &str, change: impl FnOnce(&Value) -> Value) -> Option<Members> {
        let at = self.0.binary_search_by(|(k, _)| (**k).cmp(name)).ok()?;
        let mut all = self.0.to_vec();
        all[at].1 = change(&all[at].1);
        Some(Members(all.into()))
    }

    pub(crate) fn is_same_as(&self, other: &Members) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl FromIterator<Member> for Members {
    /// The last of several equal names wins.
    fn from_iter<T: IntoIterator<Item = Member>>(members: T) -> Self {
        let mut all: Vec<Member> = members.into_iter().collect();
        // The sort is stable and `dedup_by` keeps the first of equal neighbours, so reversing makes
        // the last one win. Sorted input, the usual case, skips all of it.
        if !all.is_sorted_by(|a, b| a.0 < b.0) {
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all.reverse();
            all.dedup_by(|a, b| a.0 == b.0);
            all.reverse();
        }
        Members(all.into())
    }
}

/// Iterator over members; see [`Members::iter`].
pub struct Iter<'a>(std::slice::Iter<'a, Member>);

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a Arc<str>, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(k, v)| (k, v))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(k, v)| (k, v))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Members {
    type Item = (&'a Arc<str>, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(all: &[(&str, i64)]) -> Members {
        all.iter()
            .map(|(k, v)| (Arc::from(*k), Value::int(*v)))
            .collect()
    }

    #[test]
    fn members_are_sorted_and_the_last_duplicate_wins() {
        let all = members(&[("b", 1), ("a", 2), ("b", 3), ("c", 4), ("a", 5)]);
        assert_eq!(
            all.keys().map(|k| &**k).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert!(all.get("a").is_some_and(|v| v.raw_equals(&Value::int(5))));
        assert!(all.get("b").is_some_and(|v| v.raw_equals(&Value::int(3))));
        assert!(all.get("d").is_none());
        let changed = all.with("b", |_| Value::int(9)).unwrap();
        assert!(
            changed
                .get("b")
                .is_some_and(|v| v.raw_equals(&Value::int(9)))
        );
        assert!(all.with("d", Value::clone).is_none());
    }
}
