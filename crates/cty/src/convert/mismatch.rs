//! Error messages for types that do not convert, in the wording of OpenTofu.

use super::rules::convertible;
use crate::{ObjectType, Type};

/// Describes the mismatch of a value of type `got` where `want` is required.
pub fn mismatch_message(got: &Type, want: &Type) -> String {
    message(got, want, true)
}

/// Implements [`mismatch_message`]. Without `names`, attribute names that only `got` has are
/// omitted, because they may be sensitive.
pub(super) fn message(got: &Type, want: &Type, names: bool) -> String {
    let any = |t: &Type| t.is_dynamic();
    match (got, want) {
        (Type::Object(g), Type::Object(w)) => objects(g, w, names),
        // The conversion to a collection of any type fails only because no common type exists.
        (Type::Tuple(_), Type::List(e)) if any(e) => {
            "all list elements must have the same type".into()
        }
        (Type::Tuple(_), Type::Set(e)) if any(e) => {
            "all set elements must have the same type".into()
        }
        (Type::Object(_), Type::Map(e)) if any(e) => {
            "all map elements must have the same type".into()
        }
        (Type::Tuple(elements), Type::List(e) | Type::Set(e)) => {
            let bad = elements
                .iter()
                .enumerate()
                .find(|(_, g)| !is_convertible(g, e));
            bad.map_or_else(
                || all_must_be(e),
                |(i, g)| format!("element {i}: {}", message(g, e, names)),
            )
        }
        (Type::Object(o), Type::Map(e)) => {
            let bad = o.attributes.iter().find(|(_, g)| !is_convertible(g, e));
            match bad {
                None => all_must_be(e),
                Some((name, g)) if names => format!("element {name:?}: {}", message(g, e, names)),
                Some((_, g)) => format!("an element: {}", message(g, e, names)),
            }
        }
        (Type::Tuple(_) | Type::Object(_), w) if w.is_collection() => {
            format!("{} required", w.friendly_constraint_name())
        }
        (Type::List(g) | Type::Set(g), Type::List(w)) => {
            format!("incorrect list element type: {}", message(g, w, names))
        }
        (Type::List(g) | Type::Set(g), Type::Set(w)) => {
            format!("incorrect set element type: {}", message(g, w, names))
        }
        (Type::Map(g), Type::Map(w)) => {
            format!("incorrect map element type: {}", message(g, w, names))
        }
        (g, w) if g.is_collection() && w.is_collection() => {
            format!("{} required", w.friendly_constraint_name())
        }
        (g, w) if !is_ambiguous(g, w) => format!(
            "{} required, but have {}",
            w.friendly_name(),
            g.friendly_name()
        ),
        (_, w) => format!("{} required", w.friendly_constraint_name()),
    }
}

fn is_convertible(got: &Type, want: &Type) -> bool {
    got == want || convertible(got, want, true)
}

fn all_must_be(element: &Type) -> String {
    format!(
        "all elements must be {}",
        element.friendly_constraint_name()
    )
}

fn objects(got: &ObjectType, want: &ObjectType, names: bool) -> String {
    let missing: Vec<String> = want
        .attributes
        .keys()
        .filter(|n| !got.attributes.contains_key(*n) && !want.optional.contains(*n))
        .map(|n| format!("{n:?}"))
        .collect();
    match missing.as_slice() {
        [] => {}
        [one] => return format!("attribute {one} is required"),
        [one, two] => return format!("attributes {one} and {two} are required"),
        [most @ .., last] => {
            return format!("attributes {}, and {last} are required", most.join(", "));
        }
    }
    let both = || {
        want.attributes
            .iter()
            .filter_map(|(n, w)| got.attributes.get(n).filter(|g| *g != w).map(|g| (n, g, w)))
    };
    // Attributes that cannot convert at all are the likelier cause, so they are reported before
    // those that can fail for some values.
    let bad = both()
        .find(|(_, g, w)| !convertible(g, w, true))
        .or_else(|| both().find(|(_, g, w)| !convertible(g, w, false)));
    match bad {
        Some((name, g, w)) => format!("attribute {name:?}: {}", message(g, w, names)),
        None => "incorrect object attributes".into(),
    }
}

/// Returns true if naming both types would confuse: for example, both can print as "object".
fn is_ambiguous(got: &Type, want: &Type) -> bool {
    if got.is_primitive() != want.is_primitive() || *want == Type::String {
        return false;
    }
    if matches!(
        (got, want),
        (Type::Number, Type::Bool) | (Type::Bool, Type::Number)
    ) {
        return false;
    }
    !matches!((got, want), (Type::Tuple(_), Type::Object(_)))
}
