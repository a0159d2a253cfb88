//! Operator access to the lab: sets and clears faults in the control file, and modifies or removes
//! objects without the provider. Used by the demo console and by tests; the provider only reads the
//! control file. Every function takes the path of the lab file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LabError;
use super::cloud::Object;
pub use super::fault::{Fault, Kind, On};
use super::lab_file::LabFile;
use super::parsed::Parsed;
use super::store::SharedFile;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Control {
    #[serde(default)]
    faults: Vec<Fault>,
}

/// Fault of the control file, with its number of occurrences.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Fault as it was set.
    pub fault: Fault,
    /// Number of occurrences; counted only for a fault with a limit.
    pub occurrences: u32,
    /// True if the limit is reached, so that the fault no longer occurs.
    pub is_exhausted: bool,
}

/// Object of the lab, to select one to modify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its id.
    pub id: String,
    /// Its resource type.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Returns the path of the control file: `lab.control.json` beside `lab.json`.
pub fn path_of(lab: &Path) -> PathBuf {
    lab.with_extension("control.json")
}

fn file(lab: &Path) -> SharedFile {
    SharedFile::new(path_of(lab))
}

/// Returns the faults of the control file, oldest first.
///
/// # Errors
/// The control file or the lab file cannot be read.
pub fn list(lab: &Path) -> Result<Vec<Listed>, LabError> {
    let fired = LabFile::new(lab).read(|cloud| cloud.fired.clone())?;
    let listed = |fault: Fault| {
        let struck = fired
            .get(&format!("control/{}", fault.id))
            .copied()
            .unwrap_or(0);
        Listed {
            is_exhausted: fault.limit().is_some_and(|limit| struck >= limit),
            occurrences: struck,
            fault,
        }
    };
    Ok(file(lab)
        .load::<Control>()?
        .faults
        .into_iter()
        .map(listed)
        .collect())
}

/// Control file as the provider reads it: checked at every call, but parsed only after a change.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    path: PathBuf,
    cached: Arc<Mutex<Option<Parsed<Control>>>>,
}

impl Watched {
    pub(super) fn new(lab: &Path) -> Watched {
        Watched {
            path: path_of(lab),
            cached: Arc::default(),
        }
    }

    /// Returns the current faults.
    ///
    /// # Errors
    /// The control file cannot be read.
    pub(super) fn faults(&self) -> Result<Vec<Fault>, LabError> {
        let mut seen = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        // Taken out, so that a failed read does not leave outdated faults.
        let mut control = match seen.take() {
            Some(control) => control,
            None => Parsed::read(&self.path)?,
        };
        if !control.is_current(&self.path)? {
            control = Parsed::read(&self.path)?;
        }
        Ok(seen.insert(control).content.faults.clone())
    }
}

/// Sets a fault and returns its id. Replaces an existing fault with the same id.
///
/// # Errors
/// The control file cannot be read or written.
pub fn set(lab: &Path, mut fault: Fault) -> Result<String, LabError> {
    // A random id, so that two faults of one kind can be cleared separately.
    if fault.id.is_empty() {
        fault.id = format!(
            "{}-{}",
            fault.kind.as_str(),
            &uuid::Uuid::new_v4().simple().to_string()[..6]
        );
    }
    let id = fault.id.clone();
    file(lab).update(|control: &mut Control| {
        control.faults.retain(|other| other.id != fault.id);
        control.faults.push(fault);
        Ok::<_, LabError>(())
    })?;
    // A fault set again starts with a full count.
    forget_count(lab, &id)?;
    Ok(id)
}

/// Clears a fault; returns false if no fault has this id.
///
/// # Errors
/// The control file cannot be read or written.
pub fn clear(lab: &Path, id: &str) -> Result<bool, LabError> {
    let found = file(lab).update(|control: &mut Control| {
        let before = control.faults.len();
        control.faults.retain(|fault| fault.id != id);
        Ok::<_, LabError>(control.faults.len() < before)
    })?;
    forget_count(lab, id)?;
    Ok(found)
}

/// Clears all faults and returns their number.
///
/// # Errors
/// The control file cannot be read or written.
pub fn clear_all(lab: &Path) -> Result<usize, LabError> {
    // The counters are in the lab file, so they are reset one by one afterwards.
    let gone = file(lab)
        .update(|control: &mut Control| Ok::<_, LabError>(std::mem::take(&mut control.faults)))?;
    for fault in &gone {
        forget_count(lab, &fault.id)?;
    }
    Ok(gone.len())
}

fn forget_count(lab: &Path, id: &str) -> Result<(), LabError> {
    LabFile::new(lab).update(|change| {
        change.count(&format!("control/{id}"), None);
        Ok(())
    })
}

/// Returns the objects of the lab.
///
/// # Errors
/// The lab file cannot be read.
pub fn objects(lab: &Path) -> Result<Vec<Existing>, LabError> {
    let existing = |(id, object): (&String, &Object)| Existing {
        id: id.clone(),
        kind: object.kind.clone(),
        name: object.name.clone(),
    };
    LabFile::new(lab).read(|cloud| cloud.objects.iter().map(existing).collect())
}

/// Changes an attribute of an object without the provider, which causes drift.
///
/// # Errors
/// The object does not exist, or the lab file cannot be read or written.
pub fn tamper(lab: &Path, id: &str, attribute: &str, value: Value) -> Result<(), LabError> {
    LabFile::new(lab).update(|change| {
        let mut object = change
            .objects
            .get(id)
            .cloned()
            .ok_or_else(|| LabError::NoObject { id: id.to_owned() })?;
        object.attributes.insert(attribute.to_owned(), value);
        change.put(id, object);
        Ok(())
    })
}

/// Removes an object without the provider.
///
/// # Errors
/// The object does not exist, or the lab file cannot be read or written.
pub fn delete_object(lab: &Path, id: &str) -> Result<(), LabError> {
    LabFile::new(lab).update(|change| {
        if change.remove(id) {
            Ok(())
        } else {
            Err(LabError::NoObject { id: id.to_owned() })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_set_listed_and_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let lab = dir.path().join("lab.json");
        assert_eq!(list(&lab).unwrap(), []);
        let first = set(
            &lab,
            Fault {
                times: Some(1),
                ..Fault::new(Kind::Crash)
            },
        )
        .unwrap();
        let second = set(
            &lab,
            Fault {
                id: "mine".into(),
                ..Fault::new(Kind::Hang)
            },
        )
        .unwrap();
        assert_eq!(second, "mine");
        assert!(path_of(&lab).ends_with("lab.control.json"));
        let kinds: Vec<_> = list(&lab)
            .unwrap()
            .into_iter()
            .map(|listed| (listed.fault.kind, listed.is_exhausted))
            .collect();
        assert_eq!(kinds, [(Kind::Crash, false), (Kind::Hang, false)]);
        assert!(clear(&lab, &first).unwrap());
        assert!(!clear(&lab, &first).unwrap());
        assert_eq!(clear_all(&lab).unwrap(), 1);
        assert_eq!(list(&lab).unwrap(), []);
    }

    #[test]
    fn tampering_with_a_missing_object_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let lab = dir.path().join("lab.json");
        let error = tamper(&lab, "srv-0", "size", Value::Null)
            .unwrap_err()
            .to_string();
        assert!(error.contains("srv-0"), "{error}");
        assert!(delete_object(&lab, "srv-0").is_err());
    }
}
