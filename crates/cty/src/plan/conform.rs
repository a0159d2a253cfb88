//! Comparison of a value's type with the type that its schema requires.

use super::Violation;
use crate::{Number, Path, PathStep, Type, Value};

/// Returns every place at which values of `given` would not fit `want`; empty if they fit.
pub fn type_mismatches(given: &Type, want: &Type) -> Vec<Violation> {
    let mut found = Vec::new();
    compare(given, want, &mut Path::root(), &mut found);
    found
}

fn compare(given: &Type, want: &Type, path: &mut Path, found: &mut Vec<Violation>) {
    if want.is_dynamic() || given == want {
        return;
    }
    // An unknown key stands for all elements in the paths of collections.
    let mut inside = |given: &Type, want: &Type, step: PathStep| {
        path.push(step);
        compare(given, want, path, found);
        path.pop();
    };
    match (given, want) {
        (Type::Object(g), Type::Object(w)) => {
            for (name, want) in &w.attributes {
                if let Some(given) = g.attributes.get(name) {
                    inside(given, want, PathStep::Attr(name.clone()));
                }
            }
            let extra = g
                .attributes
                .keys()
                .filter(|n| !w.attributes.contains_key(*n));
            found.extend(extra.map(|n| (path.clone(), format!("unsupported attribute {n:?}"))));
            let missing = w
                .attributes
                .keys()
                .filter(|n| !g.attributes.contains_key(*n));
            found.extend(
                missing.map(|n| (path.clone(), format!("missing required attribute {n:?}"))),
            );
        }
        (Type::Tuple(g), Type::Tuple(w)) if g.len() == w.len() => {
            for (i, (given, want)) in g.iter().zip(w.iter()).enumerate() {
                inside(given, want, PathStep::Index(Value::number(Number::from(i))));
            }
        }
        (Type::Tuple(g), Type::Tuple(w)) => {
            found.push((
                path.clone(),
                format!("{} elements are required, but got {}", w.len(), g.len()),
            ));
        }
        (Type::List(g), Type::List(w)) => {
            inside(g, w, PathStep::Index(Value::unknown(Type::Number)))
        }
        (Type::Map(g), Type::Map(w)) => inside(g, w, PathStep::Index(Value::unknown(Type::String))),
        (Type::Set(g), Type::Set(w)) => {
            inside(g, w, PathStep::Index(Value::unknown((**g).clone())))
        }
        _ => found.push((
            path.clone(),
            format!(
                "{} required, but received {}",
                want.friendly_name(),
                given.friendly_name()
            ),
        )),
    }
}
