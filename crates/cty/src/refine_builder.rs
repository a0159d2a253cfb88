//! Builder that adds refinements to an unknown value one at a time and detects contradictions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::refine::{Refinement, RefinementError};
use crate::value::Data;
use crate::{Marks, Number, Type, Value};

/// Collects refinements; see [`Value::refine`]. Refinements that do not fit the type of the value
/// are errors. They are ignored for a value of unknown type.
#[derive(Clone, Debug)]
pub struct RefinementBuilder {
    pub(super) original: Value,
    pub(super) marks: Marks,
    pub(super) refinement: Refinement,
    pub(super) null: bool,
    pub(super) error: Option<RefinementError>,
}

impl RefinementBuilder {
    fn fail(mut self, why: &'static str) -> Self {
        // The first contradiction is the cause of later ones.
        self.error.get_or_insert(RefinementError(why));
        self
    }

    fn is_unneeded(&self) -> bool {
        self.original.is_dynamic_unknown()
    }

    /// Excludes null.
    pub fn not_null(mut self) -> Self {
        if self.is_unneeded() {
            return self;
        }
        if self.null || self.original.is_null() {
            return self.fail("a null value cannot be refined as not null");
        }
        self.refinement.not_null = true;
        self
    }

    /// Restricts the value to null.
    pub fn null(mut self) -> Self {
        if self.is_unneeded() {
            return self;
        }
        if self.refinement.not_null || self.original.is_given() {
            return self.fail("a value that is not null cannot be refined as null");
        }
        self.null = true;
        self
    }

    /// Sets the prefix of the string, without a last character that following text could change.
    pub fn string_prefix(self, prefix: &str) -> Self {
        let safe = crate::text::safe_prefix(prefix);
        self.string_prefix_full(&safe)
    }

    /// Sets the exact prefix of the string. Following text must not combine with its end.
    pub fn string_prefix_full(mut self, prefix: &str) -> Self {
        if self.is_unneeded() {
            return self;
        }
        if self.original.ty != Type::String {
            return self.fail("a string prefix needs a string");
        }
        let prefix = crate::text::normal(prefix);
        if self
            .original
            .as_str()
            .is_some_and(|text| !text.starts_with(&*prefix))
        {
            return self.fail("the string does not begin with the prefix");
        }
        let had = self
            .refinement
            .prefix
            .clone()
            .unwrap_or_else(|| Arc::from(""));
        // One of the two prefixes must extend the other.
        if !had.starts_with(&*prefix) && !prefix.starts_with(&*had) {
            return self.fail("the prefix differs from the one known before");
        }
        if prefix.len() > had.len() {
            self.refinement.prefix = Some(prefix);
        }
        self
    }

    /// Sets a lower bound of the number.
    pub fn number_min(mut self, min: Number, inclusive: bool) -> Self {
        if self.is_unneeded() {
            return self;
        }
        if self.original.ty != Type::Number {
            return self.fail("a number bound needs a number");
        }
        if self
            .original
            .as_number()
            .is_some_and(|n| is_out_of_range(n.compare(&min), Ordering::Less, inclusive))
        {
            return self.fail("the number is below the lower bound");
        }
        if let Some((had, had_inclusive)) = &self.refinement.min {
            let tighter = match min.compare(had) {
                Ordering::Greater => true,
                Ordering::Equal => *had_inclusive && !inclusive,
                Ordering::Less => false,
            };
            if !tighter {
                return self;
            }
        }
        // Minus infinity bounds nothing.
        if !min.is_infinite() || !min.is_negative() {
            self.refinement.min = Some((min, inclusive));
        }
        self.check_bounds()
    }

    /// Sets an upper bound of the number.
    pub fn number_max(mut self, max: Number, inclusive: bool) -> Self {
        if self.is_unneeded() {
            return self;
        }
        if self.original.ty != Type::Number {
            return self.fail("a number bound needs a number");
        }
        if self
            .original
            .as_number()
            .is_some_and(|n| is_out_of_range(n.compare(&max), Ordering::Greater, inclusive))
        {
            return self.fail("the number is above the upper bound");
        }
        if let Some((had, had_inclusive)) = &self.refinement.max {
            let tighter = match max.compare(had) {
                Ordering::Less => true,
                Ordering::Equal => *had_inclusive && !inclusive,
                Ordering::Greater => false,
            };
            if !tighter {
                return self;
            }
        }
        // Plus infinity bounds nothing.
        if !max.is_infinite() || max.is_negative() {
            self.refinement.max = Some((max, inclusive));
        }
        self.check_bounds()
    }

    /// Sets the least number of elements of the collection.
    pub fn length_min(mut self, min: usize) -> Self {
        if self.is_unneeded() {
            return self;
        }
        if !self.original.ty.is_collection() {
            return self.fail("a length bound needs a collection");
        }
        if self.original.len().is_some_and(|l| l < min) {
            return self.fail("the collection is shorter than the lower bound");
        }
        self.refinement.length_min = self.refinement.length_min.max(min);
        self.check_bounds()
    }

    /// Sets the greatest number of elements of the collection.
    pub fn length_max(mut self, max: usize) -> Self {
        if self.is_unneeded() {
            return self;
        }
        if !self.original.ty.is_collection() {
            return self.fail("a length bound needs a collection");
        }
        // A set with unknown elements can still shrink, so its least length counts.
        if self.original.is_given() && self.original.range().length_min() > max {
            return self.fail("the collection is longer than the upper bound");
        }
        self.refinement.length_max =
            Some(self.refinement.length_max.map_or(max, |had| had.min(max)));
        self.check_bounds()
    }

    /// Sets the exact number of elements of the collection.
    pub fn length(self, length: usize) -> Self {
        self.length_min(length).length_max(length)
    }

    fn check_bounds(self) -> Self {
        if let (Some((min, min_in)), Some((max, max_in))) =
            (&self.refinement.min, &self.refinement.max)
        {
            match min.compare(max) {
                Ordering::Greater => return self.fail("the lower bound is above the upper bound"),
                Ordering::Equal if !(*min_in && *max_in) => {
                    return self.fail("the bounds leave no number");
                }
                _ => {}
            }
        }
        if self
            .refinement
            .length_max
            .is_some_and(|max| max < self.refinement.length_min)
        {
            return self.fail("the least length is above the greatest");
        }
        self
    }

    /// Returns the refined value, or the first contradiction.
    pub fn build(self) -> Result<Value, RefinementError> {
        match self.error {
            Some(e) => Err(e),
            None => Ok(self.into_value()),
        }
    }

    /// Returns the refined value, or the unrefined one after a contradiction. For refinements that
    /// are true by construction.
    pub fn finish(self) -> Value {
        match self.error {
            Some(_) => self.original.with_marks(&self.marks),
            None => self.into_value(),
        }
    }

    fn into_value(self) -> Value {
        let RefinementBuilder {
            original,
            marks,
            refinement: wip,
            null,
            ..
        } = self;
        if original.is_known() || original.is_dynamic_unknown() {
            return original.with_marks(&marks);
        }
        // A refinement that leaves one value is replaced by that value.
        let value = if null {
            Some(Value::null(original.ty.clone()))
        } else {
            only_value(&original.ty, &wip)
        };
        let value = value.unwrap_or_else(|| {
            let refinement = if wip == Refinement::default() {
                None
            } else {
                Some(Arc::new(wip))
            };
            Value::leaf(original.ty.clone(), Data::Unknown(refinement))
        });
        value.with_marks(&marks)
    }
}

fn is_out_of_range(found: Ordering, wrong_side: Ordering, inclusive: bool) -> bool {
    found == wrong_side || (found == Ordering::Equal && !inclusive)
}

/// Greatest length at which a list of known length becomes a known list of unknown elements. A
/// length from a provider must not allocate without limit.
const MAX_COLLAPSED_LIST: usize = 100_000;

fn only_value(ty: &Type, r: &Refinement) -> Option<Value> {
    // Null would be a second possible value.
    if !r.not_null {
        return None;
    }
    if let (Some((min, true)), Some((max, true))) = (&r.min, &r.max)
        && min.compare(max) == Ordering::Equal
    {
        return Some(Value::number(min.clone()));
    }
    if r.length_max != Some(r.length_min) {
        return None;
    }
    match (ty, r.length_min) {
        (Type::List(e), n) if n <= MAX_COLLAPSED_LIST => Some(Value::list(
            (**e).clone(),
            vec![Value::unknown((**e).clone()); n],
        )),
        // Two unknown elements of a set could be equal, so only 0 and 1 determine the set.
        (Type::Set(e), n) if n <= 1 => Some(Value::set(
            (**e).clone(),
            vec![Value::unknown((**e).clone()); n],
        )),
        (Type::Map(e), 0) => Some(Value::map(
            (**e).clone(),
            std::iter::empty::<(&str, Value)>(),
        )),
        _ => None,
    }
}
