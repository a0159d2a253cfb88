//! Parses the names that an operator passes to `forget`, and matches them with objects of the state
//! and unknown outcomes. Pure.

use super::import_forget::{id_of, manual_change};
use crate::error::{EngineError, NotFound};
use lang::addr::{AbsInstance, Target};
use model::{StateChange, StateChangeKind};
use std::collections::{BTreeMap, BTreeSet};
use store::records::{StateEdit, StateObject, UnknownOutcome};

/// Name of objects of the state, or of an unknown outcome.
enum Named {
    /// A module, resource or instance.
    Target(Target),
    /// One deposed object, in the form of lists: `lab_thing.a (deposed 0a1b2c3d)`.
    Deposed(AbsInstance, String),
    /// Side effect of a call, by the id of its intent, in the form of lists: `lab_thing.a (beside
    /// 17)`.
    RequestedCall(AbsInstance, i64),
}

/// Objects and unknown outcomes of a workspace, by address.
pub(super) struct Forgettable<'a>(BTreeMap<AbsInstance, ForgetMatches<'a>>);

/// Consequences of a `forget`.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    pub(super) edits: Vec<StateEdit>,
    pub(super) changes: Vec<StateChange>,
    /// Intents of the unknown outcomes that are settled.
    pub(super) settled: Vec<i64>,
}

impl<'a> Forgettable<'a> {
    pub(super) fn new(objects: &'a [StateObject], unknown: &'a [UnknownOutcome]) -> Self {
        let mut all: BTreeMap<AbsInstance, ForgetMatches<'_>> = BTreeMap::new();
        for object in objects {
            if let Ok(address) = object.address.parse() {
                all.entry(address).or_default().objects.push(object);
            }
        }
        // An address may have only an unknown outcome.
        for outcome in unknown {
            if let Ok(address) = outcome.address.parse() {
                all.entry(address).or_default().unknown.push(outcome);
            }
        }
        Self(all)
    }

    /// Matches all names; an error for one that matches nothing.
    pub(super) fn forget(&self, names: &[String]) -> Result<Forgotten, EngineError> {
        // Keyed by instance, so an address given twice is forgotten once.
        let mut going: BTreeMap<&AbsInstance, Going<'_>> = BTreeMap::new();
        for text in names {
            let named = parse(text)?;
            let matches = self
                .0
                .iter()
                .filter_map(|(address, held)| Some((address, held.match_name(&named, address)?)));
            let mut found = false;
            for (address, goes) in matches {
                found = true;
                going.entry(address).or_default().add(goes);
            }
            if !found {
                return Err(absent(text, &self.0));
            }
        }
        let mut forgotten = Forgotten::default();
        for (address, goes) in going {
            forgotten.add(&address.to_string(), goes);
        }
        Ok(forgotten)
    }
}

impl Forgotten {
    fn add(&mut self, name: &str, goes: Going<'_>) {
        let mut settled: Vec<String> = goes.unknown.iter().map(|u| u.text()).collect();
        self.settled.extend(goes.unknown.iter().map(|u| u.id));
        // Without objects there are only unknown outcomes to settle.
        if goes.objects.is_empty() {
            self.changes.push(StateChange {
                settled,
                ..manual_change(StateChangeKind::Settled, name)
            });
            return;
        }
        // The first change of an address lists the settled outcomes.
        for object in goes.objects {
            self.edits.push(StateEdit::Remove {
                address: object.address.clone(),
                deposed: object.deposed.clone(),
            });
            self.changes.push(StateChange {
                deposed: (!object.deposed.is_empty()).then(|| object.deposed.clone()),
                id: id_of(object),
                provider: Some(object.provider.clone()),
                settled: std::mem::take(&mut settled),
                ..manual_change(StateChangeKind::Forgotten, name)
            });
        }
    }
}

/// Objects and unknown outcomes of one address.
#[derive(Default)]
struct ForgetMatches<'a> {
    objects: Vec<&'a StateObject>,
    unknown: Vec<&'a UnknownOutcome>,
}

/// The part to forget.
type Going<'a> = ForgetMatches<'a>;

impl<'a> ForgetMatches<'a> {
    /// Adds matches of another name, without those that are there.
    fn add(&mut self, other: Self) {
        for object in other.objects {
            if !self.objects.contains(&object) {
                self.objects.push(object);
            }
        }
        for unknown in other.unknown {
            if !self.unknown.contains(&unknown) {
                self.unknown.push(unknown);
            }
        }
    }

    /// Part that a name matches; `None` if it matches nothing.
    fn match_name(&self, named: &Named, address: &AbsInstance) -> Option<Going<'a>> {
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
fn parse(text: &str) -> Result<Named, EngineError> {
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
fn absent(text: &str, all: &BTreeMap<AbsInstance, ForgetMatches<'_>>) -> EngineError {
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::OperationStep;

    fn object(address: &str, deposed: &str) -> StateObject {
        StateObject {
            address: address.to_owned(),
            deposed: deposed.to_owned(),
            provider: String::new(),
            schema_version: 0,
            attributes: "{}".to_owned(),
            sensitive: "[]".to_owned(),
            private: Vec::new(),
            tainted: false,
            create_before_destroy: false,
            skip_destroy: false,
            dependencies: Vec::new(),
            needs: Vec::new(),
            identity: None,
            identity_version: 0,
            rest: String::new(),
        }
    }

    fn unknown(id: i64, address: &str, step: OperationStep) -> UnknownOutcome {
        UnknownOutcome {
            id,
            deploy: 3,
            address: address.to_owned(),
            deposed: String::new(),
            step,
            at: 0,
            detail: "{}".to_owned(),
        }
    }

    /// Removed objects and settled intents of these names, or the error.
    fn forget(names: &[&str]) -> Result<String, String> {
        let objects = [
            object("x_y.a", ""),
            object("x_y.a", "0a1b2c3d"),
            object("x_y.b[0]", ""),
            object("x_y.b[1]", ""),
            object("module.m.x_y.c", ""),
            object("x_y.e", "4e5f6a7b"),
        ];
        let unknown = [
            unknown(7, "x_y.a", OperationStep::Update),
            unknown(8, "x_y.d", OperationStep::Create),
            unknown(9, "x_y.e", OperationStep::Create),
        ];
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let forgotten = Forgettable::new(&objects, &unknown).forget(&names);
        let forgotten = forgotten.map_err(|error| error.to_string())?;
        let edits = forgotten.edits.iter().map(|edit| match edit {
            StateEdit::Remove { address, deposed } => format!("{address} {deposed}"),
            other => format!("{other:?}"),
        });
        let edits: Vec<String> = edits.map(|edit| edit.trim().to_owned()).collect();
        Ok(format!("{} | {:?}", edits.join(", "), forgotten.settled))
    }

    #[test]
    fn names_select_objects_and_unknown_outcomes() {
        for (rule, names, expected) in [
            (
                "an instance with its deposed object",
                &["x_y.a"][..],
                "x_y.a, x_y.a 0a1b2c3d | [7]",
            ),
            (
                "one deposed object alone",
                &["x_y.a (deposed 0a1b2c3d)"],
                "x_y.a 0a1b2c3d | []",
            ),
            (
                "all instances of a resource",
                &["x_y.b"],
                "x_y.b[0], x_y.b[1] | []",
            ),
            ("one of them", &["x_y.b[1]"], "x_y.b[1] | []"),
            (
                "everything in a module",
                &["module.m"],
                "module.m.x_y.c | []",
            ),
            (
                "an address that has only an unknown outcome",
                &["x_y.d"],
                " | [8]",
            ),
            (
                "an unknown creation, without the object that it replaces",
                &["x_y.e"],
                " | [9]",
            ),
            (
                "an address that is given twice",
                &["x_y.b[0]", "x_y.b"],
                "x_y.b[0], x_y.b[1] | []",
            ),
        ] {
            assert_eq!(forget(names).as_deref(), Ok(expected), "{rule}");
        }
    }

    #[test]
    fn name_without_a_match_forgets_nothing_and_names_the_closest() {
        let error = forget(&["x_y.b", "x_y.aa"]).unwrap_err();
        assert!(
            error.contains("x_y.aa") && error.contains("`x_y.a`"),
            "{error}"
        );
        assert!(forget(&["x_y.b (deposed 00000000)"]).is_err());
        assert!(forget(&["x y"]).is_err());
    }
}
