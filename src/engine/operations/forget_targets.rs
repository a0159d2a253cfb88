//! Parses the names that an operator passes to `forget`, and matches them with objects of the state
//! and unknown outcomes. Pure.

use crate::error::{EngineError, NotFound};
use lang::addr::{AbsInstance, Target};
use std::collections::{BTreeMap, BTreeSet};
use store::records::{StateObject, UnknownOutcome};

/// Name of objects of the state, or of an unknown outcome.
pub(super) enum Named {
    /// A module, resource or instance.
    Target(Target),
    /// One deposed object, in the form of lists: `lab_thing.a (deposed 0a1b2c3d)`.
    Deposed(AbsInstance, String),
    /// Side effect of a call, by the id of its intent, in the form of lists: `lab_thing.a (beside
    /// 17)`.
    RequestedCall(AbsInstance, i64),
}

/// Objects and unknown outcomes of one address.
#[derive(Default)]
pub(super) struct ForgetMatches<'a> {
    pub(super) objects: Vec<&'a StateObject>,
    pub(super) unknown: Vec<&'a UnknownOutcome>,
}

/// The part to forget.
pub(super) type Going<'a> = ForgetMatches<'a>;

impl<'a> ForgetMatches<'a> {
    /// Part that a name matches; `None` if it matches nothing.
    pub(super) fn match_name(&self, named: &Named, address: &AbsInstance) -> Option<Going<'a>> {
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
                (!objects.is_empty()).then_some(ForgetMatches { objects, unknown })
            }
            Named::RequestedCall(of, intent) => {
                let is_it = |u: &&UnknownOutcome| u.requested_call().is_some() && u.id == *intent;
                let all = self.unknown.iter().copied().filter(|_| of == address);
                let unknown: Vec<_> = all.filter(is_it).collect();
                (!unknown.is_empty()).then_some(ForgetMatches {
                    objects: Vec::new(),
                    unknown,
                })
            }
            Named::Target(target) if !target.contains(address) => None,
            Named::Target(_) => {
                // A side effect has a name of its own.
                let own = |u: &&UnknownOutcome| u.requested_call().is_none();
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
                // An unknown creation without a current object is meant alone; the deposed object
                // that it should replace stays.
                if !current && !made.is_empty() {
                    return Some(ForgetMatches {
                        objects: Vec::new(),
                        unknown: made,
                    });
                }
                Some(ForgetMatches {
                    objects: self.objects.clone(),
                    unknown,
                })
            }
        }
    }
}

/// Parses a name.
pub(super) fn parse(text: &str) -> Result<Named, EngineError> {
    let text = text.trim();
    if let Some((address, intent)) = split_requested_call(text) {
        return Ok(Named::RequestedCall(address.parse()?, intent));
    }
    match text
        .strip_suffix(')')
        .and_then(|t| t.split_once(" (deposed "))
    {
        Some((address, key)) => Ok(Named::Deposed(address.parse()?, key.to_owned())),
        None => Ok(Named::Target(text.parse()?)),
    }
}

/// Splits `ADDRESS (beside 17)` into address and intent id.
fn split_requested_call(text: &str) -> Option<(&str, i64)> {
    let (address, number) = text.strip_suffix(')')?.split_once(" (beside ")?;
    Some((address, number.parse().ok()?))
}

/// Error for a name without a match, with the closest name.
pub(super) fn absent(text: &str, all: &BTreeMap<AbsInstance, ForgetMatches<'_>>) -> EngineError {
    // Instances, and the resources and modules they belong to.
    let names: BTreeSet<String> = all
        .keys()
        .flat_map(|a| [a.to_string(), a.abs().to_string(), a.module.to_string()])
        .filter(|name| !name.is_empty())
        .collect();
    let near = lang::eval::closest(text, names.iter().map(String::as_str));
    NotFound::ToForget {
        address: text.to_owned(),
        near: near.map(str::to_owned),
    }
    .into()
}
