//! Records of the objects that conformance checks create, so that `plugin conform --clean` finds
//! them after a crash. Each run has a file in the user's state directory, written before a create.

use super::compare::shown;
use crate::stage::managed::{Prior, mark};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cty::schema::Schema;
use cty::{Type, Value};
use fsroot::RootedPath;
use provider::ProviderSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const MODE: u32 = 0o600;
/// Most objects of a run.
const MAX_OBJECTS: usize = 1_000;
/// Largest file of a run, in bytes.
const MAX_BYTES: usize = 16 << 20;
/// Most runs that are read.
const MAX_RUNS: usize = 1_000;
/// Most planned values of an object that are recorded for display.
const MAX_PLANNED: usize = 40;

/// A run with the objects that may exist.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RunRecord {
    /// Name of the file without its extension.
    pub name: String,
    pub plugin: String,
    /// Executable that the run was given; `None` for an installed provider.
    pub executable: Option<PathBuf>,
    /// Directory of the run.
    pub directory: PathBuf,
    /// File with the configurations.
    pub config: Option<PathBuf>,
    /// SHA-256 of that file, in hexadecimal: with another content, the provider may not find the
    /// objects.
    #[serde(default)]
    pub config_digest: Option<String>,
    pub prefix: String,
    pub pid: u32,
    pub objects: Vec<ObjectRecord>,
}

/// An object that may exist.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ObjectRecord {
    pub number: u64,
    pub type_name: String,
    /// Planned values for display, without sensitive ones.
    pub planned: BTreeMap<String, String>,
    config: String,
    /// Object of the provider's last answer; `None` if no answer has one.
    object: Option<StoredObject>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredObject {
    id: Option<String>,
    value: String,
    private: String,
    identity: Option<String>,
}

impl ObjectRecord {
    /// Returns the id of the object, if an answer has it.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.object.as_ref()?.id.as_deref()
    }

    /// Returns true if the provider answered with the object, so that it can be destroyed.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.object.is_some()
    }

    /// Decodes the configuration of the object.
    ///
    /// # Errors
    /// The schema of the type is another one now.
    pub fn config(&self, schema: &Schema) -> Result<Value, String> {
        decode(&self.config, schema.implied_type())
    }

    /// Decodes the object; `None` if no answer has one.
    ///
    /// # Errors
    /// The schema of the type is another one now.
    pub(super) fn prior(&self, schemas: &ProviderSchema) -> Result<Option<Prior>, String> {
        let Some(stored) = &self.object else {
            return Ok(None);
        };
        let schema = schemas.resources.get(&self.type_name);
        let schema = schema.ok_or("the provider has no such type any more")?;
        let identity = schemas.identities.get(&self.type_name);
        let identity = stored.identity.as_ref().zip(identity);
        let identity = identity.map(|(text, schema)| decode(text, &schema.ty));
        let value = decode(&stored.value, schema.implied_type())?;
        Ok(Some(Prior {
            value: mark(schema, value, &[]),
            private: STANDARD.decode(&stored.private).map_err(text)?.into(),
            tainted: false,
            identity: identity.transpose()?,
        }))
    }
}

fn text(error: impl std::fmt::Display) -> String {
    format!("the record cannot be decoded: {error}")
}

fn decode(encoded: &str, ty: &Type) -> Result<Value, String> {
    let bytes = STANDARD.decode(encoded).map_err(text)?;
    cty::msgpack::decode(&bytes, ty).map_err(text)
}

fn encode(value: &Value, ty: &Type) -> Result<String, String> {
    let plain = value.clone().unmark_deep().0;
    let bytes = cty::msgpack::encode(&plain, ty);
    let bytes = bytes.map_err(|error| format!("a value cannot be recorded: {error}"))?;
    Ok(STANDARD.encode(bytes))
}

/// Records of one run. The lock of its file shows other processes that the run is live.
#[derive(Debug)]
pub struct Records {
    /// `None` for a run that creates nothing.
    place: Option<(RootedPath, File)>,
    run: Mutex<RunRecord>,
    /// First record that could not be saved.
    failure: Mutex<Option<String>>,
}

fn path(state: &Path, name: &str) -> RootedPath {
    RootedPath::new(state, Path::new("flightdeck/conform").join(name))
}

impl Records {
    /// Returns records that save nothing, for a run that creates no objects.
    #[must_use]
    pub fn none() -> Self {
        Self {
            place: None,
            run: Mutex::default(),
            failure: Mutex::default(),
        }
    }

    /// Begins the records of a run, in the user's state directory.
    ///
    /// # Errors
    /// The lock of the run cannot be created.
    pub fn begin(state: &Path, mut run: RunRecord) -> io::Result<Self> {
        run.name = uuid::Uuid::new_v4().simple().to_string()[..12].to_owned();
        let lock = path(state, &format!("{}.lock", run.name)).open_or_create(MODE)?;
        if !fsroot::try_lock(&lock)? {
            return Err(io::Error::other("another run has the same name"));
        }
        Ok(Self {
            place: Some((path(state, &format!("{}.json", run.name)), lock)),
            run: Mutex::new(run),
            failure: Mutex::default(),
        })
    }

    /// Takes over the records of a run that has ended; `None` if it is still live, or has none.
    ///
    /// # Errors
    /// The files of the run cannot be read.
    pub fn take_over(state: &Path, name: &str) -> io::Result<Option<Self>> {
        let lock = path(state, &format!("{name}.lock")).open_or_create(MODE)?;
        if !fsroot::try_lock(&lock)? {
            return Ok(None);
        }
        let place = path(state, &format!("{name}.json"));
        // Read under the lock, because the run may have ended a moment ago.
        let run = match place.read() {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            place: Some((place, lock)),
            run: Mutex::new(run),
            failure: Mutex::default(),
        }))
    }

    /// Returns the names of the runs with records, oldest first by name.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn names(state: &Path) -> io::Result<Vec<String>> {
        let found = match std::fs::read_dir(state.join("flightdeck/conform")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            found => found?,
        };
        let names = found.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".json").map(str::to_owned)
        });
        let mut names: Vec<String> = names.take(MAX_RUNS).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the run with its remaining objects.
    #[must_use]
    pub fn run(&self) -> RunRecord {
        lock(&self.run).clone()
    }

    /// Returns the reason that a record could not be saved, if there is one.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone()
    }

    /// Records an object before its create.
    ///
    /// # Errors
    /// It cannot be recorded, so that it must not be created.
    pub(super) fn add(
        &self,
        type_name: &str,
        schema: &Schema,
        planned: &Value,
        config: &Value,
    ) -> Result<u64, String> {
        let config = encode(config, schema.implied_type())?;
        let mut run = lock(&self.run);
        if run.objects.len() >= MAX_OBJECTS {
            return Err(format!(
                "the run has {MAX_OBJECTS} recorded objects already"
            ));
        }
        let number = run.objects.last().map_or(1, |last| last.number + 1);
        run.objects.push(ObjectRecord {
            number,
            type_name: type_name.to_owned(),
            planned: planned_values(&mark(schema, planned.clone(), &[])),
            config,
            object: None,
        });
        if let Err(error) = self.save(&run) {
            run.objects.pop();
            return Err(error);
        }
        Ok(number)
    }

    /// Records the object of an answer.
    pub(super) fn update(&self, number: u64, schemas: &ProviderSchema, object: &Prior) {
        let mut run = lock(&self.run);
        let Some(of) = run.objects.iter_mut().find(|of| of.number == number) else {
            return;
        };
        match stored(&of.type_name, schemas, object) {
            Ok(object) => of.object = Some(object),
            Err(why) => return self.fail(why),
        }
        self.save(&run).unwrap_or_else(|why| self.fail(why));
    }

    /// Removes the record of an object that does not exist.
    pub fn remove(&self, number: u64) {
        let mut run = lock(&self.run);
        run.objects.retain(|of| of.number != number);
        self.save(&run).unwrap_or_else(|why| self.fail(why));
    }

    fn fail(&self, why: String) {
        lock(&self.failure).get_or_insert(why);
    }

    fn save(&self, run: &RunRecord) -> Result<(), String> {
        let Some((place, _)) = &self.place else {
            return Ok(());
        };
        let failed = |why: &dyn std::fmt::Display| format!("cannot save the record: {why}");
        let bytes = serde_json::to_vec(run).map_err(|error| failed(&error))?;
        if bytes.len() > MAX_BYTES {
            return Err(failed(&format!("it has more than {MAX_BYTES} bytes")));
        }
        place
            .replace(&bytes, MODE)
            .map_err(|error| failed(&format!("{}: {error}", place.path().display())))
    }
}

impl Drop for Records {
    /// Removes the files of a run without remaining objects.
    fn drop(&mut self) {
        let Some((place, _lock)) = &self.place else {
            return;
        };
        let run = lock(&self.run);
        if run.objects.is_empty() {
            // An empty file that stays has no effect; the next clean-up removes it.
            let _gone = place.remove_file();
            let _gone = place.sibling(format!("{}.lock", run.name)).remove_file();
        }
    }
}

fn stored(
    type_name: &str,
    schemas: &ProviderSchema,
    object: &Prior,
) -> Result<StoredObject, String> {
    let schema = schemas.resources.get(type_name);
    let schema = schema.ok_or("the provider has no such type")?;
    let identity = object
        .identity
        .as_ref()
        .zip(schemas.identities.get(type_name));
    let identity = identity.map(|(value, schema)| encode(value, &schema.ty));
    Ok(StoredObject {
        id: super::id_of(&object.value),
        value: encode(&object.value, schema.implied_type())?,
        private: STANDARD.encode(&object.private),
        identity: identity.transpose()?,
    })
}

/// Returns the known values of a planned object, which help an operator to find it.
fn planned_values(planned: &Value) -> BTreeMap<String, String> {
    let members = planned.as_map().into_iter().flat_map(|all| all.iter());
    let known = members.filter(|(_, value)| value.is_known() && !value.is_null());
    let known = known.map(|(name, value)| (name.to_string(), shown(value)));
    known.take(MAX_PLANNED).collect()
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
