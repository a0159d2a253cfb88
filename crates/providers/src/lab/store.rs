//! The lab's world: one JSON file that every lab process and the operator share.
//! A change holds the lock beside the file and replaces the file in one step, so that a reader or a
//! killed writer never leaves half of one. Owns no memory between calls: the file is the truth.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::LabError;

/// How long a process waits for another one's change of the file.
const LOCK_DEADLINE: Duration = Duration::from_secs(10);
const LOCK_RETRY: Duration = Duration::from_millis(5);

/// Everything that exists in the lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cloud {
    /// Grows with every change that the lab itself makes.
    #[serde(default)]
    pub serial: u64,
    /// What exists, by id.
    #[serde(default)]
    pub objects: BTreeMap<String, Object>,
    /// How often each fault has struck since it was last let through.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fired: BTreeMap<String, u32>,
}

/// One thing in the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Object {
    /// Its resource type, as `lab_server`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name; unique only where the type says so.
    pub name: String,
    /// Its attributes. An operator may change them here, by hand: that is drift.
    pub attributes: serde_json::Map<String, serde_json::Value>,
}

impl Cloud {
    /// The first object of a type with a name.
    pub fn find(&self, kind: &str, name: &str) -> Option<(&String, &Object)> {
        self.objects.iter().find(|(_, object)| object.kind == kind && object.name == name)
    }

    /// Objects of a type whose attribute has this text.
    pub fn referring<'a>(&'a self, kind: &'a str, attribute: &'a str, text: &'a str) -> impl Iterator<Item = &'a Object> {
        let refers = move |object: &&Object| object.attributes.get(attribute).and_then(|value| value.as_str()) == Some(text);
        self.objects.values().filter(move |object| object.kind == kind).filter(refers)
    }
}

/// A JSON file that several processes change: the lab itself, or its control file.
#[derive(Clone, Debug)]
pub struct SharedFile {
    path: PathBuf,
}

impl SharedFile {
    /// The file at a path; it need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> SharedFile {
        SharedFile { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds now; the default where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or is not the JSON that is expected.
    pub fn load<T: Default + DeserializeOwned>(&self) -> Result<T, LabError> {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(T::default()),
            Err(source) => return Err(LabError::Io { doing: "read", path: self.path.clone(), source }),
        };
        serde_json::from_slice(&bytes).map_err(|source| LabError::Unreadable { path: self.path.clone(), source })
    }

    /// Changes the file under its lock. Nothing is written when `change` fails or changes nothing.
    ///
    /// # Errors
    /// When the file cannot be locked, read or written, or when `change` fails.
    pub fn update<T, R, E>(&self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E>
    where
        T: Default + DeserializeOwned + Serialize + Clone + PartialEq,
        E: From<LabError>,
    {
        let _lock = self.lock()?;
        let before: T = self.load()?;
        let mut after = before.clone();
        let result = change(&mut after)?;
        if after != before {
            self.replace(&after)?;
        }
        Ok(result)
    }

    /// Changes the lab under its lock, and counts the change.
    ///
    /// # Errors
    /// As [`SharedFile::update`].
    pub fn update_cloud<R, E: From<LabError>>(&self, change: impl FnOnce(&mut Cloud) -> Result<R, E>) -> Result<R, E> {
        self.update(|cloud: &mut Cloud| {
            let before = cloud.objects.clone();
            let result = change(cloud)?;
            if cloud.objects != before {
                cloud.serial += 1;
            }
            Ok(result)
        })
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(suffix);
        self.path.with_file_name(name)
    }

    fn lock(&self) -> Result<File, LabError> {
        let path = self.beside(".lock");
        let failed = |source| LabError::Io { doing: "lock", path: path.clone(), source };
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(failed)?;
        let deadline = Instant::now() + LOCK_DEADLINE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
                Err(fs::TryLockError::WouldBlock) if Instant::now() >= deadline => {
                    return Err(LabError::Locked { path, waited_s: LOCK_DEADLINE.as_secs() });
                }
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY),
            }
        }
    }

    fn replace<T: Serialize>(&self, content: &T) -> Result<(), LabError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let temporary = self.beside(&format!(".{}-{}.tmp", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
        let mut bytes = serde_json::to_vec_pretty(content).map_err(|source| LabError::Unreadable { path: self.path.clone(), source })?;
        bytes.push(b'\n');
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&temporary)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)
        };
        write().map_err(|source| {
            let _nothing_was_made = fs::remove_file(&temporary);
            LabError::Io { doing: "write", path: self.path.clone(), source }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thing(name: &str) -> Object {
        Object { kind: "lab_thing".into(), name: name.into(), attributes: serde_json::Map::new() }
    }

    #[test]
    fn writers_at_the_same_time_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/lab.json");
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let file = SharedFile::new(&path);
                scope.spawn(move || {
                    for number in 0..20 {
                        let id = format!("{writer}-{number}");
                        let change = |cloud: &mut Cloud| -> Result<(), LabError> {
                            cloud.objects.insert(id.clone(), thing(&id));
                            Ok(())
                        };
                        file.update_cloud(change).unwrap();
                        let seen: Cloud = file.load().unwrap();
                        assert!(seen.objects.contains_key(&id));
                    }
                });
            }
        });
        let cloud: Cloud = SharedFile::new(&path).load().unwrap();
        assert_eq!((cloud.objects.len(), cloud.serial), (160, 160));
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 2, "only the file and its lock are left: {left:?}");
    }

    #[test]
    fn a_change_that_fails_leaves_the_file_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedFile::new(dir.path().join("lab.json"));
        file.update_cloud(|cloud| Ok::<_, LabError>(cloud.objects.insert("a".into(), thing("a")))).unwrap();
        let before = fs::read(file.path()).unwrap();
        let refused = file.update_cloud(|cloud| {
            cloud.objects.clear();
            Err::<(), _>(LabError::Locked { path: PathBuf::new(), waited_s: 0 })
        });
        assert!(refused.is_err());
        assert_eq!(fs::read(file.path()).unwrap(), before);
    }

    #[test]
    fn a_file_that_is_not_json_is_refused_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let file = SharedFile::new(dir.path().join("lab.json"));
        fs::write(file.path(), "{ nonsense").unwrap();
        let error = file.load::<Cloud>().unwrap_err().to_string();
        assert!(error.contains("lab.json"), "{error}");
    }
}
