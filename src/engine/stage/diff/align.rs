//! Pairs the elements of two lists for a comparison. Pure.

use super::{has_hidden_part, render};
use cty::Value;
use std::collections::HashSet;

/// Attributes that identify an element, in the order of preference.
const IDENTITIES: [&str; 9] = ["Sid", "sid", "name", "Name", "key", "Key", "id", "Id", "ID"];
/// Limit of compared pairs of elements; larger lists are paired by position.
const MAX_PAIRS: usize = 10_000;
/// Score of two elements with the same identity or the same value. It exceeds every sum of smaller
/// scores.
const SAME: u64 = 1 << 32;
/// Smallest share of equal attributes of similar elements, in percent.
const SIMILAR: u64 = 50;

/// Indexes of an element before and after; one of them is `None` if it was added or removed.
pub(super) type Pair = (Option<usize>, Option<usize>);

/// Returns the attribute that identifies the elements: present, known and not hidden in all of
/// them, and unique on each side.
pub(super) fn identity(before: &[Value], after: &[Value]) -> Option<&'static str> {
    IDENTITIES.into_iter().find(|name| {
        [before, after].iter().all(|side| {
            let mut seen = HashSet::new();
            side.iter()
                .all(|one| key(one, name).is_some_and(|key| seen.insert(key)))
        })
    })
}

/// Returns the text of the identifying attribute of an element.
pub(super) fn key(element: &Value, name: &str) -> Option<String> {
    if !element.is_known() || element.is_null() || super::has_hiding_marks(element) {
        return None;
    }
    let value = element.as_map()?.get(name)?;
    let primitive = value.as_str().is_some() || value.as_number().is_some();
    (value.is_known() && !value.is_null() && !has_hidden_part(value) && primitive)
        .then(|| render(value))
}

/// Pairs elements by their position.
pub(super) fn by_position(before: usize, after: usize) -> Vec<Pair> {
    (0..before.max(after))
        .map(|i| ((i < before).then_some(i), (i < after).then_some(i)))
        .collect()
}

/// Pairs elements in their order, so that as many as possible keep their identity or value. Without
/// an identity, similar elements are paired next, and the others between two pairs by position.
pub(super) fn pairs(before: &[Value], after: &[Value], identity: Option<&str>) -> Vec<Pair> {
    let hidden = before.iter().chain(after).any(has_hidden_part);
    // A pair that depends on hidden values would reveal which of them are equal.
    if hidden && identity.is_none() {
        return by_position(before.len(), after.len());
    }
    let score = |b: usize, a: usize| match identity {
        Some(name) if key(&before[b], name) == key(&after[a], name) => SAME,
        Some(name) => u64::from(!hidden && is_renamed(&before[b], &after[a], name)),
        None => likeness(&before[b], &after[a]),
    };
    let same = |b: usize, a: usize| score(b, a) == SAME;
    let most = before.len().min(after.len());
    let head = (0..most).take_while(|i| same(*i, *i)).count();
    let tail = (0..most - head)
        .take_while(|i| same(before.len() - 1 - i, after.len() - 1 - i))
        .count();
    let (rows, columns) = (before.len() - head - tail, after.len() - head - tail);
    if rows * columns > MAX_PAIRS {
        return by_position(before.len(), after.len());
    }
    let mut matched: Vec<(usize, usize)> = (0..head).map(|i| (i, i)).collect();
    matched.extend(
        best(rows, columns, |b, a| score(head + b, head + a))
            .into_iter()
            .map(|(b, a)| (head + b, head + a)),
    );
    matched.extend(
        (0..tail)
            .rev()
            .map(|i| (before.len() - 1 - i, after.len() - 1 - i)),
    );
    with_gaps(&matched, before.len(), after.len(), identity.is_none())
}

/// Finds the pairs in order with the highest sum of scores.
fn best(rows: usize, columns: usize, score: impl Fn(usize, usize) -> u64) -> Vec<(usize, usize)> {
    // Sums for the rest of both lists from each place on.
    let mut sums = vec![vec![0u64; columns + 1]; rows + 1];
    for b in (0..rows).rev() {
        for a in (0..columns).rev() {
            let paired = match score(b, a) {
                0 => 0,
                score => score + sums[b + 1][a + 1],
            };
            sums[b][a] = paired.max(sums[b + 1][a]).max(sums[b][a + 1]);
        }
    }
    let (mut b, mut a, mut found) = (0, 0, Vec::new());
    while b < rows && a < columns {
        if sums[b][a] == sums[b + 1][a] {
            b += 1;
        } else if sums[b][a] == sums[b][a + 1] {
            a += 1;
        } else {
            found.push((b, a));
            (b, a) = (b + 1, a + 1);
        }
    }
    found
}

/// Adds the elements between the pairs: paired by position if wanted, else removed and added.
fn with_gaps(
    matched: &[(usize, usize)],
    before: usize,
    after: usize,
    by_position: bool,
) -> Vec<Pair> {
    let (mut b, mut a, mut out) = (0, 0, Vec::new());
    for (next_b, next_a) in matched.iter().copied().chain([(before, after)]) {
        while by_position && b < next_b && a < next_a {
            out.push((Some(b), Some(a)));
            (b, a) = (b + 1, a + 1);
        }
        out.extend((b..next_b).map(|i| (Some(i), None)));
        out.extend((a..next_a).map(|i| (None, Some(i))));
        if next_b < before {
            out.push((Some(next_b), Some(next_a)));
        }
        (b, a) = (next_b + 1, next_a + 1);
    }
    out
}

/// Returns true if two elements differ in their identity only.
fn is_renamed(before: &Value, after: &Value, identity: &str) -> bool {
    let (Some(b), Some(a)) = (before.as_map(), after.as_map()) else {
        return false;
    };
    b.len() == a.len()
        && b.iter().all(|(name, value)| {
            &**name == identity || a.get(name).is_some_and(|v| v.raw_equals(value))
        })
}

/// Scores the likeness of two elements without hidden parts.
fn likeness(before: &Value, after: &Value) -> u64 {
    if before.raw_equals(after) {
        return SAME;
    }
    let (Some(b), Some(a)) = (before.as_map(), after.as_map()) else {
        return 0;
    };
    let given = |v: &Value| !(v.is_known() && v.is_null());
    let all = b.values().chain(a.values()).filter(|v| given(v)).count() as u64;
    let equal = b
        .iter()
        .filter(|(name, v)| given(v) && a.get(name).is_some_and(|other| other.raw_equals(v)))
        .count() as u64;
    let percent = equal * 200 / all.max(1);
    if percent >= SIMILAR { percent } else { 0 }
}
