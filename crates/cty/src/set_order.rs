//! The order of set elements. Users see it and providers receive it, so it is the reference
//! engine's: primitives by nature, everything else by a text made of the element; nulls last,
//! unknown elements after known ones.

use std::cmp::Ordering;

use crate::value::Data;
use crate::{Type, Value};

/// How far back the twin of an element is looked for: fractions with the same text at different
/// precisions are neighbours.
const TWINS: usize = 16;

/// Brings elements into set order and drops duplicates. Unknown elements are never duplicates of
/// each other.
pub(crate) fn arrange(element: &Type, elements: Vec<Value>) -> Vec<Value> {
    let mut keyed: Vec<(Rank, String, Value)> = elements
        .into_iter()
        .map(|v| {
            let key = if element.is_primitive() && v.is_given() {
                String::new()
            } else {
                hash_text(&v)
            };
            (rank(&v), key, v)
        })
        .collect();
    keyed.sort_by(|a, b| {
        a.0.cmp(&b.0)
            .then_with(|| natural(&a.2, &b.2))
            .then_with(|| a.1.as_bytes().cmp(b.1.as_bytes()))
    });
    let mut kept: Vec<(String, Value)> = Vec::with_capacity(keyed.len());
    for (_, key, value) in keyed {
        // Equal elements have equal keys, and so lie together. Numbers of one text lie next to each
        // other; the zeros stay apart.
        let near = |v: &Value| match (v.as_number(), value.as_number()) {
            (Some(a), Some(b)) => {
                a.is_negative() == b.is_negative()
                    && !(a.is_integer() && b.is_integer() && a.compare(b).is_ne())
            }
            _ => natural(v, &value) == Ordering::Equal,
        };
        let twin = kept
            .iter()
            .rev()
            .take_while(|(k, v)| *k == key && near(v))
            .take(TWINS)
            .any(|(_, v)| same(v, &value));
        if !twin {
            kept.push((key, value));
        }
    }
    kept.into_iter().map(|(_, v)| v).collect()
}

/// Whether one of the elements surely equals `wanted`.
pub(crate) fn contains(elements: &[Value], wanted: &Value) -> bool {
    elements.iter().any(|e| same(e, wanted))
}

/// Whether set order tells two elements apart. If not, they may still be different: large numbers
/// inside other things are ordered by ten digits only.
pub(crate) fn differ(a: &Value, b: &Value) -> bool {
    rank(a) != rank(b) || natural(a, b) != Ordering::Equal || hash_text(a) != hash_text(b)
}

fn same(a: &Value, b: &Value) -> bool {
    a.equals(b).as_bool() == Some(true)
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Known,
    Unknown,
    Null,
}

fn rank(value: &Value) -> Rank {
    match value.data {
        Data::Null => Rank::Null,
        Data::Unknown(_) => Rank::Unknown,
        _ => Rank::Known,
    }
}

fn natural(a: &Value, b: &Value) -> Ordering {
    match (&a.data, &b.data) {
        (Data::String(x), Data::String(y)) => x.cmp(y),
        (Data::Bool(x), Data::Bool(y)) => x.cmp(y),
        (Data::Number(x), Data::Number(y)) => x
            .compare(y)
            .then_with(|| y.is_negative().cmp(&x.is_negative())),
        _ => Ordering::Equal,
    }
}

/// The text by which elements that have no natural order are sorted.
pub(crate) fn hash_text(value: &Value) -> String {
    let mut text = String::new();
    append(value, &mut text);
    text
}

fn append(value: &Value, out: &mut String) {
    match (&value.data, &value.ty) {
        (Data::Unknown(_), _) => out.push('?'),
        (Data::Null, _) => out.push('~'),
        (Data::Bool(b), _) => out.push(if *b { 'T' } else { 'F' }),
        (Data::Number(n), _) => out.push_str(&n.to_hash_text()),
        (Data::String(s), _) => crate::text::quote(s, out),
        (Data::Map(members), Type::Object(_)) => {
            out.push('<');
            for v in members.values() {
                append(v, out);
                out.push(';');
            }
            out.push('>');
        }
        (Data::Map(members), _) => {
            out.push('{');
            for (k, v) in members.iter() {
                crate::text::quote(k, out);
                out.push(':');
                append(v, out);
                out.push(';');
            }
            out.push('}');
        }
        (Data::Seq(elements), ty) => {
            let (open, close) = if ty.is_tuple() {
                ('<', '>')
            } else {
                ('[', ']')
            };
            out.push(open);
            for v in elements.iter() {
                append(v, out);
                out.push(';');
            }
            out.push(close);
        }
    }
}
