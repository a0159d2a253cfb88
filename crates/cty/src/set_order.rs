//! Order of set elements. Users see it and providers receive it, so it is the order of go-cty:
//! primitives by value, other elements by a text derived from them; unknown elements follow known
//! ones, and nulls are last.

use std::cmp::Ordering;

use crate::value::Data;
use crate::{Type, Value};

/// Number of preceding elements to compare with, to find duplicates: fractions with the same text
/// at different precisions are neighbours.
const NEIGHBOURS: usize = 16;

/// Sorts elements into set order and drops duplicates. Unknown elements are never duplicates of
/// each other.
pub(crate) fn sort_and_dedup(element: &Type, elements: Vec<Value>) -> Vec<Value> {
    let mut keyed: Vec<(Rank, String, Value)> = elements
        .into_iter()
        .map(|v| {
            // Primitives compare by value, so the text is needed for other elements only.
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
        // Equal elements have equal keys, and are therefore neighbours. Numbers of one text are
        // neighbours too, except negative and positive zero.
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
            .take(NEIGHBOURS)
            .any(|(_, v)| same_value(v, &value));
        if !twin {
            kept.push((key, value));
        }
    }
    kept.into_iter().map(|(_, v)| v).collect()
}

/// Returns true if one of the elements certainly equals `wanted`.
pub(crate) fn contains(elements: &[Value], wanted: &Value) -> bool {
    elements.iter().any(|e| same_value(e, wanted))
}

/// Returns true if set order distinguishes two elements. If not, they can still differ: large
/// numbers inside compound elements are ordered by ten digits only.
pub(crate) fn differ(a: &Value, b: &Value) -> bool {
    rank(a) != rank(b) || natural(a, b) != Ordering::Equal || hash_text(a) != hash_text(b)
}

fn same_value(a: &Value, b: &Value) -> bool {
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
            // Negative zero is a different element; it sorts after zero.
            .compare(y)
            .then_with(|| y.is_negative().cmp(&x.is_negative())),
        _ => Ordering::Equal,
    }
}

/// Returns the text that sorts elements without a natural order. It is that of go-cty.
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
