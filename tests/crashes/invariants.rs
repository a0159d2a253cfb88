//! Invariants after a kill, and at the end.

use crate::workspace::{AttackedWorkspace, LabObject, Records, WANTED};
use model::{Action, Operation, OperationState, OperationStep};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use store::records::StateObject;

fn attributes(object: &StateObject) -> Value {
    serde_json::from_str(&object.attributes).unwrap()
}

/// Compares an object in the state with the lab's. The lab does not keep attributes that request
/// faults.
fn attributes_match(state: &Value, real: &Value) -> bool {
    real.as_object()
        .unwrap()
        .iter()
        .all(|(name, value)| state[name] == *value)
}

impl Records {
    fn is_unknown(&self, address: &str, deposed: &str, step: &OperationStep) -> bool {
        self.unknown
            .iter()
            .any(|u| u.address == address && u.deposed == deposed && u.step == *step)
    }

    fn current(&self, address: &str) -> Option<&StateObject> {
        self.state
            .objects
            .iter()
            .find(|o| o.address == address && o.deposed.is_empty())
    }
}

/// The lab, the state and the records agree, or the difference is an unknown outcome.
pub(crate) fn assert_agreement(
    lab: &BTreeMap<String, LabObject>,
    known: &Records,
) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for object in &known.state.objects {
        let (address, state) = (&object.address, attributes(object));
        let id = state["id"].as_str().unwrap().to_owned();
        match lab.get(&id) {
            None if known.is_unknown(address, &object.deposed, &OperationStep::Destroy) => {}
            None => {
                return Err(format!(
                    "{address} ({id}, {:?}) is in the state and gone from the lab",
                    object.deposed
                ));
            }
            Some(real)
                if attributes_match(&state, &real.attributes)
                    || known.is_unknown(address, "", &OperationStep::Update) => {}
            Some(real) => {
                return Err(format!(
                    "{address} is {real:?} in the lab and {state} in the state"
                ));
            }
        }
        seen.insert(id);
    }
    for (id, real) in lab.iter().filter(|(id, _)| !seen.contains(*id)) {
        if !known.is_unknown(&real.address, "", &OperationStep::Create) {
            return Err(format!(
                "{id} is in the lab as {} and nobody knows of it",
                real.address
            ));
        }
    }
    assert_no_duplicates(lab)?;
    let Some(record) = &known.deploy else {
        return if known.unknown.is_empty() {
            Ok(())
        } else {
            Err(format!("unknown without a deploy: {:?}", known.unknown))
        };
    };
    for operation in &record.operations {
        assert_record_matches_state(operation, known)?;
    }
    let unknown: BTreeSet<&str> = known.unknown.iter().map(|u| u.address.as_str()).collect();
    let named: BTreeSet<&str> = record
        .operations
        .iter()
        .filter(|o| o.state == OperationState::Unknown)
        .map(|o| o.address.as_str())
        .collect();
    if unknown != named {
        return Err(format!(
            "unknown are {unknown:?}, and the record names {named:?}"
        ));
    }
    let count = |state| {
        record
            .operations
            .iter()
            .filter(|o| o.state == state)
            .count()
    };
    let counts = record.summary.operations;
    let said = (
        counts.done as usize,
        counts.unknown as usize,
        counts.half_replaced as usize,
    );
    if said
        != (
            count(OperationState::Done),
            count(OperationState::Unknown),
            count(OperationState::HalfReplaced),
        )
    {
        return Err(format!("the summary counts {counts:?}"));
    }
    Ok(())
}

/// No object exists twice.
fn assert_no_duplicates(lab: &BTreeMap<String, LabObject>) -> Result<(), String> {
    let mut all = BTreeSet::new();
    match lab
        .values()
        .find(|real| !all.insert((&real.address, &real.version)))
    {
        Some(twice) => Err(format!(
            "{} was made twice in {}",
            twice.address, twice.version
        )),
        None => Ok(()),
    }
}

/// Checks that the record of an operation matches the state.
fn assert_record_matches_state(operation: &Operation, known: &Records) -> Result<(), String> {
    let address = operation.address.as_str();
    let deposed = known
        .state
        .objects
        .iter()
        .filter(|o| o.address == address && !o.deposed.is_empty())
        .count();
    let version = known
        .current(address)
        .map(|o| attributes(o)["kind"].as_str().unwrap_or("v2").to_owned());
    let version = version.as_deref();
    let fits = match (operation.state, operation.action) {
        (OperationState::Unknown, _) => return Ok(()),
        (OperationState::Done, Action::Destroy) => version.is_none(),
        (OperationState::Done, _) => version == Some("v2") && deposed == 0,
        // Stopped, or killed while it was planned: no effect.
        (OperationState::NotAttempted | OperationState::Failed, Action::Create) => {
            version.is_none()
        }
        (OperationState::HalfReplaced, Action::Replace) => version.is_none(),
        (OperationState::HalfReplaced, Action::ReplaceCreateFirst) => {
            version == Some("v2") && deposed == 1
        }
        // The old object may be deposed already.
        (OperationState::NotAttempted | OperationState::Failed, Action::ReplaceCreateFirst) => {
            (version == Some("v1")) != (deposed == 1)
        }
        (OperationState::NotAttempted | OperationState::Failed, _) => version == Some("v1"),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err(format!(
        "the record says {operation:?}, the state has {version:?} and {deposed} deposed"
    ))
}

/// At the end all objects have the wanted version, none exists twice, and no outcome is unknown.
pub(crate) fn assert_final_state(world: &AttackedWorkspace) -> Result<(), String> {
    let (lab, known) = (world.lab(), world.known());
    assert_agreement(
        &lab,
        &Records {
            deploy: None,
            ..known
        },
    )?;
    let old: Vec<_> = lab
        .values()
        .filter(|real| real.version != "v2" || real.address.starts_with("lab_thing.gone"))
        .collect();
    let known = world.known();
    let deposed = known
        .state
        .objects
        .iter()
        .filter(|o| !o.deposed.is_empty())
        .count();
    let counts = (lab.len(), known.state.objects.len(), deposed, old.len());
    if counts != (WANTED, WANTED, 0, 0) {
        return Err(format!(
            "in the lab, in the state, deposed, old: {counts:?}; {old:?}"
        ));
    }
    let ids = lab.keys().map(String::as_str).collect();
    world.home.assert_objects(&world.workspace, &ids)
}
