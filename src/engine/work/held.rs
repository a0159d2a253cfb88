//! What there is of an address that somebody lets go of, and what its name means. Pure.

use crate::engine::error::{EngineError, NotThere};
use crate::engine::store::model::{StateObject, UnknownOutcome};
use lang::addr::{AbsInstance, Target};
use std::collections::{BTreeMap, BTreeSet};

/// A name of something in the state.
pub(super) enum Named {
    /// A module, a resource, or an instance.
    Whole(Target),
    /// One deposed object, as lists show it: `lab_thing.a (deposed 0a1b2c3d)`.
    Deposed(AbsInstance, String),
    /// What a plugin asked for beside the object, by the number of its intent, as lists show it:
    /// `lab_thing.a (beside 17)`.
    Beside(AbsInstance, i64),
}

/// What there is of one address.
#[derive(Default)]
pub(super) struct Held<'a> {
    pub(super) objects: Vec<&'a StateObject>,
    pub(super) unknown: Vec<&'a UnknownOutcome>,
}

/// What of it is let go.
pub(super) type Going<'a> = Held<'a>;

impl<'a> Held<'a> {
    /// What a name means here; `None` where it means nothing.
    pub(super) fn named(&self, named: &Named, address: &AbsInstance) -> Option<Going<'a>> {
        match named {
            Named::Deposed(of, key) => {
                let objects: Vec<_> = self
                    .objects
                    .iter()
                    .copied()
                    .filter(|o| of == address && o.deposed == *key)
                    .collect();
                let unknown = self
                    .unknown
                    .iter()
                    .copied()
                    .filter(|u| u.deposed == *key)
                    .collect();
                (!objects.is_empty()).then_some(Held { objects, unknown })
            }
            Named::Beside(of, intent) => {
                let is_it = |u: &&UnknownOutcome| u.beside().is_some() && u.id == *intent;
                let all = self.unknown.iter().copied().filter(|_| of == address);
                let unknown: Vec<_> = all.filter(is_it).collect();
                (!unknown.is_empty()).then_some(Held {
                    objects: Vec::new(),
                    unknown,
                })
            }
            Named::Whole(target) if !target.contains(address) => None,
            Named::Whole(_) => {
                // What was asked for beside an object is not it: it goes by its own name.
                let own = |u: &&UnknownOutcome| u.beside().is_none();
                let unknown: Vec<_> = self.unknown.iter().copied().filter(own).collect();
                if self.objects.is_empty() && unknown.is_empty() {
                    return None;
                }
                let current = self.objects.iter().any(|o| o.deposed.is_empty());
                let made: Vec<_> = self
                    .unknown
                    .iter()
                    .copied()
                    .filter(|u| u.is_creation())
                    .collect();
                // A creation of which nothing is known is all that is meant; the old object that it
                // was to replace stays.
                if !current && !made.is_empty() {
                    return Some(Held {
                        objects: Vec::new(),
                        unknown: made,
                    });
                }
                Some(Held {
                    objects: self.objects.clone(),
                    unknown,
                })
            }
        }
    }
}

/// What a name means.
pub(super) fn parse(text: &str) -> Result<Named, EngineError> {
    let text = text.trim();
    if let Some((address, intent)) = beside(text) {
        return Ok(Named::Beside(address.parse()?, intent));
    }
    match text
        .strip_suffix(')')
        .and_then(|t| t.split_once(" (deposed "))
    {
        Some((address, key)) => Ok(Named::Deposed(address.parse()?, key.to_owned())),
        None => Ok(Named::Whole(text.parse()?)),
    }
}

/// The address and the number of what is named `ADDRESS (beside 17)`.
fn beside(text: &str) -> Option<(&str, i64)> {
    let (address, number) = text.strip_suffix(')')?.split_once(" (beside ")?;
    Some((address, number.parse().ok()?))
}

/// Nothing has this name; what has one like it.
pub(super) fn absent(text: &str, all: &BTreeMap<AbsInstance, Held<'_>>) -> EngineError {
    // Instances, and what they belong to.
    let names: BTreeSet<String> = all
        .keys()
        .flat_map(|a| [a.to_string(), a.abs().to_string(), a.module.to_string()])
        .filter(|name| !name.is_empty())
        .collect();
    let near = lang::eval::closest(text, names.iter().map(String::as_str));
    NotThere::ToForget {
        address: text.to_owned(),
        near: near.map(str::to_owned),
    }
    .into()
}
