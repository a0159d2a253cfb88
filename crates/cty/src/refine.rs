//! What is known about unknown values: not null, the start of a string, bounds of a number or of a
//! length. Where so much is known that only one value is left, the result is that value.

use std::cmp::Ordering;
use std::sync::Arc;

use super::refine_builder::RefinementBuilder;
use crate::value::Data;
use crate::{Number, Type, Value};

/// What is known about one unknown value.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Refinement {
    /// Surely not null.
    pub not_null: bool,
    /// How the string begins (strings only).
    pub prefix: Option<Arc<str>>,
    /// Lower bound, and whether it is included (numbers only).
    pub min: Option<(Number, bool)>,
    /// Upper bound, and whether it is included (numbers only).
    pub max: Option<(Number, bool)>,
    /// Least number of elements (collections only).
    pub length_min: usize,
    /// Greatest number of elements (collections only).
    pub length_max: Option<usize>,
}

/// A refinement that contradicts the value or an earlier refinement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("inconsistent refinement: {0}")]
pub struct RefinementError(pub &'static str);

impl Value {
    /// Begins to narrow down this value. For a known value this only checks what is claimed.
    pub fn refine(&self) -> RefinementBuilder {
        let (bare, marks) = self.clone().unmark();
        let wip = match &bare.data {
            Data::Unknown(Some(r)) => (**r).clone(),
            _ => Refinement::default(),
        };
        RefinementBuilder {
            original: bare,
            marks,
            wip,
            null: false,
            error: None,
        }
    }

    /// This value, known not to be null. A value that is null already stays null.
    pub fn refine_not_null(&self) -> Value {
        match &self.data {
            Data::Unknown(Some(r)) if r.not_null => self.clone(),
            Data::Unknown(_) => self.refine().not_null().finish(),
            _ => self.clone(),
        }
    }

    /// What this value can still become.
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

    /// Known and not null, or refined so.
    pub fn is_definitely_not_null(&self) -> bool {
        match &self.data {
            Data::Null => false,
            Data::Unknown(r) => r.as_ref().is_some_and(|r| r.not_null),
            _ => true,
        }
    }

    /// The refinement of an unknown value, if it has one.
    pub fn refinement(&self) -> Option<&Refinement> {
        match &self.data {
            Data::Unknown(r) => r.as_deref(),
            _ => None,
        }
    }

    /// The same value without what is known about its unknown parts.
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

/// What a value can still become; see [`Value::range`].
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub(super) ty: Type,
    pub(super) null: bool,
    pub(super) refinement: Refinement,
}

impl Range {
    /// The type of the value.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// Null is not excluded.
    pub fn could_be_null(&self) -> bool {
        self.null || !self.refinement.not_null
    }

    /// Null is excluded.
    pub fn definitely_not_null(&self) -> bool {
        !self.could_be_null()
    }

    /// How a string begins; empty if nothing is known.
    pub fn string_prefix(&self) -> &str {
        self.refinement.prefix.as_deref().unwrap_or("")
    }

    /// The lower bound of a number, and whether it is included.
    pub fn number_min(&self) -> Option<&(Number, bool)> {
        self.refinement.min.as_ref()
    }

    /// The upper bound of a number, and whether it is included.
    pub fn number_max(&self) -> Option<&(Number, bool)> {
        self.refinement.max.as_ref()
    }

    /// The least number of elements of a collection.
    pub fn length_min(&self) -> usize {
        self.refinement.length_min
    }

    /// The greatest number of elements of a collection, if bounded.
    pub fn length_max(&self) -> Option<usize> {
        self.refinement.length_max
    }

    /// Whether `value` is within the range: surely, surely not, or `None` for undecided.
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
