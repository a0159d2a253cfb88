//! The operator's hand in the lab: faults set and cleared in the control file beside the lab file,
//! and objects changed or removed behind everybody's back. Used by the console's demo and by tests;
//! the provider only reads the control file. Every function names the lab file it is about.

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

/// A fault of the control file, and how often it has struck.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The fault as it was set.
    pub fault: Fault,
    /// How often it has struck; counted only where it has a limit.
    pub struck: u32,
    /// It has reached its limit and strikes no more.
    pub spent: bool,
}

/// One object of the lab, for choosing what to break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its id.
    pub id: String,
    /// Its resource type.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Where the control file of a lab file is: `lab.json` has `lab.control.json` beside it.
pub fn path_of(lab: &Path) -> PathBuf {
    lab.with_extension("control.json")
}

fn file(lab: &Path) -> SharedFile {
    SharedFile::new(path_of(lab))
}

/// The faults set from outside, oldest first.
///
/// # Errors
/// When the control or the lab file cannot be read.
pub fn list(lab: &Path) -> Result<Vec<Listed>, LabError> {
    let fired = LabFile::new(lab).read(|cloud| cloud.fired.clone())?;
    let listed = |fault: Fault| {
        let struck = fired
            .get(&format!("control/{}", fault.id))
            .copied()
            .unwrap_or(0);
        Listed {
            spent: fault.limit().is_some_and(|limit| struck >= limit),
            struck,
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

/// The control file as the provider reads it: at every call, parsed only when it has changed.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    path: PathBuf,
    seen: Arc<Mutex<Option<Parsed<Control>>>>,
}

impl Watched {
    pub(super) fn new(lab: &Path) -> Watched {
        Watched {
            path: path_of(lab),
            seen: Arc::default(),
        }
    }

    /// The faults that are set now.
    ///
    /// # Errors
    /// When the control file cannot be read.
    pub(super) fn faults(&self) -> Result<Vec<Fault>, LabError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Sets a fault and returns its id. A fault with the id of one that is there takes its place.
///
/// # Errors
/// When the control file cannot be read or written.
pub fn set(lab: &Path, mut fault: Fault) -> Result<String, LabError> {
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
    forget_count(lab, &id)?;
    Ok(id)
}

/// Clears one fault; false where there is none with this id.
///
/// # Errors
/// When the control file cannot be read or written.
pub fn clear(lab: &Path, id: &str) -> Result<bool, LabError> {
    let found = file(lab).update(|control: &mut Control| {
        let before = control.faults.len();
        control.faults.retain(|fault| fault.id != id);
        Ok::<_, LabError>(control.faults.len() < before)
    })?;
    forget_count(lab, id)?;
    Ok(found)
}

/// Clears all faults and returns how many there were.
///
/// # Errors
/// When the control file cannot be read or written.
pub fn clear_all(lab: &Path) -> Result<usize, LabError> {
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

/// What exists in the lab now.
///
/// # Errors
/// When the lab file cannot be read.
pub fn objects(lab: &Path) -> Result<Vec<Existing>, LabError> {
    let existing = |(id, object): (&String, &Object)| Existing {
        id: id.clone(),
        kind: object.kind.clone(),
        name: object.name.clone(),
    };
    LabFile::new(lab).read(|cloud| cloud.objects.iter().map(existing).collect())
}

/// Changes an attribute of an object behind the back of everyone: drift.
///
/// # Errors
/// When there is no such object, or the lab file cannot be read or written.
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

/// Removes an object behind the back of everyone.
///
/// # Errors
/// When there is no such object, or the lab file cannot be read or written.
pub fn vanish(lab: &Path, id: &str) -> Result<(), LabError> {
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
            .map(|listed| (listed.fault.kind, listed.spent))
            .collect();
        assert_eq!(kinds, [(Kind::Crash, false), (Kind::Hang, false)]);
        assert!(clear(&lab, &first).unwrap());
        assert!(!clear(&lab, &first).unwrap());
        assert_eq!(clear_all(&lab).unwrap(), 1);
        assert_eq!(list(&lab).unwrap(), []);
    }

    #[test]
    fn an_object_that_is_not_there_cannot_be_tampered_with() {
        let dir = tempfile::tempdir().unwrap();
        let lab = dir.path().join("lab.json");
        let error = tamper(&lab, "srv-0", "size", Value::Null)
            .unwrap_err()
            .to_string();
        assert!(error.contains("srv-0"), "{error}");
        assert!(vanish(&lab, "srv-0").is_err());
    }
}
