//! Refinements of unknown values: not null, the prefix of a string, bounds of a number or of a
//! length. If a refinement leaves only one value, the result is that value.

use std::cmp::Ordering;
use std::sync::Arc;

use super::refine_builder::RefinementBuilder;
use crate::value::Data;
use crate::{Number, Type, Value};

/// Facts about one unknown value.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Refinement {
    /// Excludes null.
    pub not_null: bool,
    /// Prefix of the string (strings only).
    pub prefix: Option<Arc<str>>,
    /// Lower bound, and true if it is inclusive (numbers only).
    pub min: Option<(Number, bool)>,
    /// Upper bound, and true if it is inclusive (numbers only).
    pub max: Option<(Number, bool)>,
    /// Least number of elements (collections only).
    pub length_min: usize,
    /// Greatest number of elements (collections only).
    pub length_max: Option<usize>,
}

/// Contradiction between a refinement and the value or an earlier refinement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("inconsistent refinement: {0}")]
pub struct RefinementError(pub &'static str);

impl Value {
    /// Starts a refinement of this value. For a known value it only checks the claims.
    pub fn refine(&self) -> RefinementBuilder {
        let (bare, marks) = self.clone().unmark();
        let wip = match &bare.data {
            Data::Unknown(Some(r)) => (**r).clone(),
            _ => Refinement::default(),
        };
        RefinementBuilder {
            original: bare,
            marks,
            refinement: wip,
            null: false,
            error: None,
        }
    }

    /// Excludes null. A value that is already null stays null.
    pub fn refine_not_null(&self) -> Value {
        match &self.data {
            Data::Unknown(Some(r)) if r.not_null => self.clone(),
            Data::Unknown(_) => self.refine().not_null().finish(),
            _ => self.clone(),
        }
    }

    /// Returns the range of values that this value can still become.
    pub fn range(&self) -> Range {
        let refinement = match &self.data {
            Data::Unknown(r) => r.as_deref().cloned().unwrap_or_default(),
            Data::Null => Refinement::default(),
            Data::String(s) => Refinement {
                not_null: true,
                prefix: Some(s.clone()),
                ..Default::default()
            },
            Data::Number(n) => {
                let bound = Some(((**n).clone(), true));
                Refinement {
                    not_null: true,
                    min: bound.clone(),
                    max: bound,
                    ..Default::default()
                }
            }
            Data::Seq(_) | Data::Map(_) if self.ty.is_collection() => {
                let most = self.len().unwrap_or(0);
                // Elements with unknown parts can turn out to be duplicates, which a set drops.
                let least = if self.ty.is_set() && self.deep.unknown {
                    most.min(1)
                } else {
                    most
                };
                Refinement {
                    not_null: true,
                    length_min: least,
                    length_max: Some(most),
                    ..Default::default()
                }
            }
            Data::Bool(_) | Data::Seq(_) | Data::Map(_) => Refinement {
                not_null: true,
                ..Default::default()
            },
        };
        Range {
            ty: self.ty.clone(),
            null: self.is_null(),
            refinement,
        }
    }

    /// Returns true if the value is known and not null, or refined as not null.
    pub fn is_definitely_not_null(&self) -> bool {
        match &self.data {
            Data::Null => false,
            Data::Unknown(r) => r.as_ref().is_some_and(|r| r.not_null),
            _ => true,
        }
    }

    /// Returns the refinement of an unknown value, if it has one.
    pub fn refinement(&self) -> Option<&Refinement> {
        match &self.data {
            Data::Unknown(r) => r.as_deref(),
            _ => None,
        }
    }

    /// Returns the value without the refinements of its unknown parts.
    pub fn without_refinements(&self) -> Value {
        if !self.deep.unknown {
            return self.clone();
        }
        let data = match &self.data {
            Data::Unknown(_) => Data::Unknown(None),
            Data::Seq(elements) => {
                Data::Seq(elements.iter().map(Value::without_refinements).collect())
            }
            Data::Map(members) => Data::Map(
                members
                    .iter()
                    .map(|(k, v)| (k.clone(), v.without_refinements()))
                    .collect(),
            ),
            other => other.clone(),
        };
        self.with_content(data)
    }
}

/// Values that a value can still become; see [`Value::range`].
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub(super) ty: Type,
    pub(super) null: bool,
    pub(super) refinement: Refinement,
}

impl Range {
    /// Returns the type of the value.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Returns true if null is not excluded.
    pub fn could_be_null(&self) -> bool {
        self.null || !self.refinement.not_null
    }

    /// Returns true if null is excluded.
    pub fn definitely_not_null(&self) -> bool {
        !self.could_be_null()
    }

    /// Returns the prefix of a string; empty if nothing is known.
    pub fn string_prefix(&self) -> &str {
        self.refinement.prefix.as_deref().unwrap_or("")
    }

    /// Returns the lower bound of a number, and true if it is inclusive.
    pub fn number_min(&self) -> Option<&(Number, bool)> {
        self.refinement.min.as_ref()
    }

    /// Returns the upper bound of a number, and true if it is inclusive.
    pub fn number_max(&self) -> Option<&(Number, bool)> {
        self.refinement.max.as_ref()
    }

    /// Returns the least number of elements of a collection.
    pub fn length_min(&self) -> usize {
        self.refinement.length_min
    }

    /// Returns the greatest number of elements of a collection, if bounded.
    pub fn length_max(&self) -> Option<usize> {
        self.refinement.length_max
    }

    /// Compares `value` with the range: surely inside, surely outside, or `None` if undecided.
    pub fn includes(&self, value: &Value) -> Option<bool> {
        if self.null {
            return Some(value.is_null());
        }
        if value.is_null() {
            return Some(!self.refinement.not_null);
        }
        if !value.ty.conforms_to(&self.ty) {
            return Some(false);
        }
        let r = &self.refinement;
        if let (Some(prefix), Some(text)) = (&r.prefix, value.as_str())
            && !text.starts_with(&**prefix)
        {
            return Some(false);
        }
        // `value` may be unknown itself: then the two ranges are compared.
        let theirs = value.range().refinement;
        if value.ty == Type::Number {
            let below = |a: &Option<(Number, bool)>, b: &Option<(Number, bool)>| match (a, b) {
                (Some((max, max_in)), Some((min, min_in))) => match max.compare(min) {
                    Ordering::Less => true,
                    Ordering::Equal => !(*max_in && *min_in),
                    Ordering::Greater => false,
                },
                _ => false,
            };
            if below(&theirs.max, &r.min) || below(&r.max, &theirs.min) {
                return Some(false);
            }
        }
        if value.ty.is_collection() {
            let too_short = theirs.length_max.is_some_and(|most| most < r.length_min);
            let too_long = r.length_max.is_some_and(|most| theirs.length_min > most);
            if too_short || too_long {
                return Some(false);
            }
        }
        None
    }
}
