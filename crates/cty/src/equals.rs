//! Two kinds of equality. `equals` is the `==` operator of the language: nulls of all types are
//! equal, and unknown operands can give an unknown result. `raw_equals` compares everything: types,
//! marks, unknown values and refinements.

use crate::set_order;
use crate::value::Data;
use crate::{Marks, Value};

impl Value {
    /// Compares as the `==` operator: true, false or an unknown bool, with the marks of both sides.
    pub fn equals(&self, other: &Value) -> Value {
        if !self.deep.marked && !other.deep.marked {
            return bool_or_unknown(compare(self, other));
        }
        // Comparison with null does not read nested values, so only the outer marks apply.
        let one_null = self.is_null() != other.is_null();
        let (a, mut marks_a) = self.clone().unmark_deep();
        let (b, mut marks_b) = other.clone().unmark_deep();
        if one_null {
            (marks_a, marks_b) = (self.marks.clone(), other.marks.clone());
        }
        bool_or_unknown(compare(&a, &b))
            .with_marks(&marks_a)
            .with_marks(&marks_b)
    }

    /// Compares everything, including marks and refinements.
    pub fn raw_equals(&self, other: &Value) -> bool {
        // Types are compared last, because those of objects are large.
        let of_one_kind = std::mem::discriminant(&self.data) == std::mem::discriminant(&other.data);
        if !of_one_kind || self.marks != other.marks || self.ty != other.ty {
            return false;
        }
        match (&self.data, &other.data) {
            (Data::Null, Data::Null) => true,
            (Data::Unknown(a), Data::Unknown(b)) => a == b,
            (Data::Bool(a), Data::Bool(b)) => a == b,
            (Data::Number(a), Data::Number(b)) => a == b,
            (Data::String(a), Data::String(b)) => a == b,
            (Data::Seq(a), Data::Seq(b)) => {
                // Shared storage is equal without a look inside.
                std::sync::Arc::ptr_eq(a, b)
                    || a.len() == b.len() && a.iter().zip(b.iter()).all(|(x, y)| x.raw_equals(y))
            }
            (Data::Map(a), Data::Map(b)) => {
                a.is_same_as(b)
                    || a.len() == b.len()
                        && a.iter()
                            .zip(b.iter())
                            .all(|((k, x), (l, y))| k == l && x.raw_equals(y))
            }
            _ => false,
        }
    }

    /// Compares like [`Value::raw_equals`], without marks at any depth.
    pub fn raw_equals_ignoring_marks(&self, other: &Value) -> bool {
        if !self.deep.marked && !other.deep.marked {
            return self.raw_equals(other);
        }
        self.clone()
            .unmark_deep()
            .0
            .raw_equals(&other.clone().unmark_deep().0)
    }

    /// Returns the marks of this value and of everything inside it.
    pub fn all_marks(&self) -> Marks {
        self.clone().unmark_deep().1
    }
}

fn bool_or_unknown(answer: Option<bool>) -> Value {
    answer.map_or_else(Value::unknown_bool, Value::bool)
}

/// Compares values without marks; `None` if unknown values leave the result open.
fn compare(a: &Value, b: &Value) -> Option<bool> {
    // Null is decided first: a refinement "not null" is enough, even if the value is unknown.
    if a.is_null() && b.is_definitely_not_null() || b.is_null() && a.is_definitely_not_null() {
        return Some(false);
    }
    match (a.is_known(), b.is_known()) {
        (false, false) => return None,
        (true, false) => return against_unknown(a, b),
        (false, true) => return against_unknown(b, a),
        (true, true) => {}
    }
    if a.is_null() || b.is_null() {
        return Some(a.is_null() && b.is_null());
    }
    // Open types can still turn out to be equal, unless their known parts already differ.
    if !a.has_wholly_known_type() || !b.has_wholly_known_type() {
        return if a.ty.conforms_to(&b.ty) || b.ty.conforms_to(&a.ty) {
            None
        } else {
            Some(false)
        };
    }
    if a.ty != b.ty {
        return Some(false);
    }
    match (&a.data, &b.data) {
        (Data::Bool(x), Data::Bool(y)) => Some(x == y),
        (Data::Number(x), Data::Number(y)) => Some(x.equals(y)),
        (Data::String(x), Data::String(y)) => Some(x == y),
        (Data::Seq(x), Data::Seq(y)) if a.ty.is_set() => compare_sets(x, y),
        (Data::Seq(x), Data::Seq(y)) => {
            if x.len() != y.len() {
                return Some(false);
            }
            // go-cty stops at the first pair that is not equal, so a later different pair must not
            // turn an unknown result into false.
            x.iter()
                .zip(y.iter())
                .map(|(x, y)| compare(x, y))
                .find(|answer| *answer != Some(true))
                .unwrap_or(Some(true))
        }
        (Data::Map(x), Data::Map(y)) => {
            if x.len() != y.len() || !x.keys().eq(y.keys()) {
                return Some(false);
            }
            all_equal(x.values().zip(y.values()))
        }
        _ => Some(false),
    }
}

fn against_unknown(known: &Value, unknown: &Value) -> Option<bool> {
    // A known value outside the refinements can never be equal.
    if unknown.range().includes(known) == Some(false) {
        return Some(false);
    }
    if known.is_null() || unknown.ty.has_dynamic() {
        return None;
    }
    if known.ty != unknown.ty {
        Some(false)
    } else {
        None
    }
}

/// Returns false for a pair that certainly differs, else `None` if a pair is undecided. The order
/// of the pairs does not matter.
fn all_equal<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Option<bool> {
    let mut open = false;
    for (x, y) in pairs {
        match compare(x, y) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => open = true,
        }
    }
    if open { None } else { Some(true) }
}

fn compare_sets(x: &[Value], y: &[Value]) -> Option<bool> {
    // An element with unknown parts may turn out to equal any element of the other set.
    if x.iter().chain(y).any(|e| e.deep.unknown) {
        return None;
    }
    if x.len() != y.len() {
        return Some(false);
    }
    let Some(at) = x
        .iter()
        .zip(y)
        .position(|(a, b)| compare(a, b) != Some(true))
    else {
        return Some(true);
    };
    // Both are in set order, so the first difference decides, unless set order treats the two
    // elements as equal.
    if set_order::differ(&x[at], &y[at]) {
        return Some(false);
    }
    let within = |a: &[Value], b: &[Value]| a.iter().all(|e| set_order::contains(b, e));
    Some(within(&x[at..], &y[at..]) && within(&y[at..], &x[at..]))
}
