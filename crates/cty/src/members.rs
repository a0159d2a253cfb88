//! The members of a map or an object, in the order of their names. One allocation for all of them,
//! shared by clones: most objects are small and there are very many, and the nodes of a tree cost
//! more than what is in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Value;

type Member = (Arc<str>, Value);

/// Names and values, in the order of the names, each name once.
#[derive(Clone)]
pub struct Members(Arc<[Member]>);

impl Members {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let at = self.0.binary_search_by(|(k, _)| (**k).cmp(name)).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Whether there is a member of this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All, in the order of their names.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// The names, in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.0.iter().map(|(k, _)| k)
    }

    /// The values, in the order of their names.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.iter().map(|(_, v)| v)
    }

    /// A copy that can be changed.
    pub fn to_map(&self) -> BTreeMap<Arc<str>, Value> {
        self.0.iter().cloned().collect()
    }

    /// The same with another value for a name that is there; `None` where it is not.
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
    /// Of two equal names the last one counts.
    fn from_iter<T: IntoIterator<Item = Member>>(members: T) -> Self {
        let mut all: Vec<Member> = members.into_iter().collect();
        if !all.is_sorted_by(|a, b| a.0 < b.0) {
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all.reverse();
            all.dedup_by(|a, b| a.0 == b.0);
            all.reverse();
        }
        Members(all.into())
    }
}

/// See [`Members::iter`].
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
    fn names_are_in_order_and_the_last_of_two_equal_ones_counts() {
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
