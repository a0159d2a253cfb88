//! Ownership of the directory `.flightdeck` of a workspace: store, generated secrets and caches. A
//! key of the user marks it. A directory that came with a clone has no such mark; it is set aside
//! and never deleted.

use crate::user_key;
use fsroot::RootedPath;
use sha2::{Digest as _, Sha256};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Environment variable with a key, which runners and containers share.
pub const VARIABLE: &str = "FLIGHTDECK_STORE_KEY";
/// Directory of a workspace that is set aside.
const STORE: &str = ".flightdeck";
/// Parent of the directories that were set aside, below the workspace.
const ASIDE: &str = ".flightdeck-set-aside";
/// Mark of the owner, in the directory.
const OWNER: &str = "owner";
const VERSION: &str = "flightdeck store 1";
/// Limit of the numbers of directories set aside.
const MAX_ASIDE: u32 = 10_000;

/// Reasons why a directory cannot be marked or set aside.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    #[error("cannot read or write {}: {source}; check its permissions", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("no store is set aside in {}", .0.display())]
    NoneAside(PathBuf),
}

impl OwnershipError {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// Owner of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// It does not exist, or there is no key to check it with.
    Unchecked,
    /// It has the user's mark.
    Own,
    /// It has no mark. It becomes the user's own once.
    Unmarked,
    /// It came from elsewhere; the reason.
    Foreign(&'static str),
}

/// The user's key.
#[derive(Clone)]
pub struct StoreKey {
    /// `None` if it does not exist yet.
    key: Option<String>,
    /// Key of the user's state directory beside a given one: marks made before it was given count.
    former: Option<String>,
    /// File of the key; `None` if the key was given, or if the user has no state directory outside
    /// of the workspace.
    file: Option<PathBuf>,
    workspace: PathBuf,
}

impl StoreKey {
    /// Reads the key of the environment or of the user's state directory.
    ///
    /// # Errors
    /// The file of the key cannot be read.
    pub fn load(
        workspace: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, OwnershipError> {
        let with = |key, file| Self {
            key,
            former: None,
            file,
            workspace: workspace.to_owned(),
        };
        let given = variable(VARIABLE).filter(|key| !key.trim().is_empty());
        let file = user_key::file(workspace, &variable);
        if let Some(given) = given {
            return Ok(Self {
                former: file.and_then(|file| user_key::read(&file).ok()),
                ..with(Some(given.trim().to_owned()), None)
            });
        }
        let Some(file) = file else {
            return Ok(with(None, None));
        };
        match user_key::read(&file) {
            Ok(key) => Ok(with(Some(key), Some(file))),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(with(None, Some(file))),
            Err(e) => Err(OwnershipError::at(&file)(e)),
        }
    }

    /// A key for a command that only reads, whose user cannot read the file of the key.
    pub fn without_key(workspace: &Path) -> Self {
        Self {
            key: None,
            former: None,
            file: None,
            workspace: workspace.to_owned(),
        }
    }

    /// The same key for a directory elsewhere than in the workspace.
    #[must_use]
    pub fn in_directory(self, parent: PathBuf) -> Self {
        Self {
            workspace: parent,
            ..self
        }
    }

    /// Directory that has the store and those that were set aside.
    pub fn directory(&self) -> &Path {
        &self.workspace
    }

    /// Finds the owner of the workspace's directory. `is_tracked` if git tracks a file in it;
    /// `None` if that cannot be found out.
    pub fn owner(&self, is_tracked: Option<bool>) -> Ownership {
        let dir = self.workspace.join(STORE);
        // Links and other kinds are refused when the store is opened.
        let Ok(found) = std::fs::symlink_metadata(&dir) else {
            return Ownership::Unchecked;
        };
        if !found.is_dir() {
            return Ownership::Unchecked;
        }
        let mark = self.file(OWNER).read().ok();
        let mark = mark.and_then(|text| String::from_utf8(text).ok());
        let own = mark.as_deref().and_then(|mark| self.is_own(mark));
        let is_users = found.uid() == rustix::process::geteuid().as_raw();
        match (own, is_tracked) {
            // A mark for a tracked directory comes from an explicit adoption.
            (Some(Mark::Adopted), _) | (Some(Mark::Made), Some(false) | None) => Ownership::Own,
            (_, Some(true)) => Ownership::Foreign("git tracks it, so it came with the repository"),
            // Root keeps the store of the user whose workspace it is; the guard of the store
            // refuses other users.
            (None, _) if !is_users => Ownership::Unchecked,
            (None, None) => {
                Ownership::Foreign("git may track it: the index of the repository cannot be read")
            }
            (None, _) if mark.is_some() && self.key.is_none() && self.file.is_none() => {
                Ownership::Unchecked
            }
            (None, _) if mark.is_some() => {
                Ownership::Foreign("it has the key of another user or machine")
            }
            (None, _) => Ownership::Unmarked,
        }
    }

    /// Marks the directory as the user's own, if it exists. Creates a missing key.
    ///
    /// # Errors
    /// The key or the mark cannot be written.
    pub fn mark(&self) -> Result<(), OwnershipError> {
        self.write_mark(Mark::Made)
    }

    fn write_mark(&self, mark: Mark) -> Result<(), OwnershipError> {
        let key = match (&self.key, &self.file) {
            (Some(key), _) => key.clone(),
            (None, Some(file)) => user_key::create(file).map_err(OwnershipError::at(file))?,
            (None, None) => return Ok(()),
        };
        if !self.workspace.join(STORE).is_dir() {
            return Ok(());
        }
        let id = uuid::Uuid::new_v4().simple().to_string();
        let text = format!(
            "{VERSION}\n{id} {} {}\n",
            mark.name(),
            proof(&key, &id, mark)
        );
        let file = self.file(OWNER);
        file.replace(text.as_bytes(), 0o600)
            .map_err(OwnershipError::at(&file.path()))
    }

    /// Parses a mark; `None` if it was not made with this key.
    fn is_own(&self, text: &str) -> Option<Mark> {
        let rest = text.strip_prefix(VERSION)?.trim();
        let mut words = rest.split(' ');
        let (id, name, found) = (words.next()?, words.next()?, words.next()?);
        let mark = [Mark::Made, Mark::Adopted]
            .into_iter()
            .find(|mark| mark.name() == name)?;
        let mut keys = self.key.iter().chain(&self.former);
        keys.any(|key| proof(key, id, mark) == found)
            .then_some(mark)
    }

    fn file(&self, name: &str) -> RootedPath {
        RootedPath::new(&self.workspace, Path::new(STORE).join(name))
    }

    /// Moves the directory aside. Returns its number; the directory is then below
    /// [`StoreKey::aside`].
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn set_aside(&self) -> Result<u32, OwnershipError> {
        let free = |number: &u32| !self.workspace.join(self.aside(*number)).exists();
        let number = (1..MAX_ASIDE).find(free).unwrap_or(MAX_ASIDE);
        let place = RootedPath::new(&self.workspace, self.aside(number));
        place
            .create_dirs()
            .map_err(OwnershipError::at(&place.path()))?;
        self.rename(Path::new(STORE), &self.aside(number).join(STORE))?;
        Ok(number)
    }

    /// Directory with a store that was set aside, relative to the workspace.
    pub fn aside(&self, number: u32) -> PathBuf {
        Path::new(ASIDE).join(number.to_string())
    }

    /// Numbers of the stores that were set aside.
    pub fn all_aside(&self) -> Vec<u32> {
        let entries = std::fs::read_dir(self.workspace.join(ASIDE));
        let names = entries.into_iter().flatten().flatten();
        let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let has_store = |number: &u32| {
            let store = self.workspace.join(self.aside(*number)).join(STORE);
            std::fs::symlink_metadata(store).is_ok_and(|found| found.is_dir())
        };
        let mut numbers: Vec<u32> = numbers.filter(has_store).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Takes a store that was set aside as the user's own. A present one is set aside first.
    /// Returns the number of the latter.
    ///
    /// # Errors
    /// There is no such store, or it cannot be moved or marked.
    pub fn adopt(&self, number: u32) -> Result<Option<u32>, OwnershipError> {
        if !self.all_aside().contains(&number) {
            return Err(OwnershipError::NoneAside(
                self.workspace.join(self.aside(number)),
            ));
        }
        let former = match self.workspace.join(STORE).exists() {
            true => Some(self.set_aside()?),
            false => None,
        };
        self.rename(&self.aside(number).join(STORE), Path::new(STORE))?;
        self.write_mark(Mark::Adopted)?;
        Ok(former)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), OwnershipError> {
        // Refuses links on the way.
        let place = RootedPath::new(&self.workspace, to);
        place
            .check_dirs()
            .map_err(OwnershipError::at(&place.path()))?;
        let from = self.workspace.join(from);
        std::fs::rename(&from, place.path()).map_err(OwnershipError::at(&from))
    }
}

/// Kinds of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Made,
    /// The user has confirmed it, also if git tracks the directory.
    Adopted,
}

impl Mark {
    fn name(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Adopted => "adopted",
        }
    }
}

/// Proof that a mark was made with a key.
fn proof(key: &str, id: &str, mark: Mark) -> String {
    // The inner digest has a fixed length, so that no proof can be extended to another text.
    let inner = Sha256::digest(format!("{VERSION}\0{key}\0{}\0{id}", mark.name()));
    let mut outer = Sha256::new();
    outer.update(key.as_bytes());
    outer.update(inner);
    hex::encode(outer.finalize())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    fn key(root: &Path, home: &str, given: Option<&str>) -> StoreKey {
        let home = root.join(home).display().to_string();
        let variable = |name: &str| match name {
            "HOME" => Some(home.clone()),
            VARIABLE => given.map(str::to_owned),
            _ => None,
        };
        StoreKey::load(&root.join("w"), variable).unwrap()
    }

    fn workspace() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("w/.flightdeck")).unwrap();
        std::fs::write(root.path().join("w/.flightdeck/file"), "mine").unwrap();
        root
    }

    #[test]
    fn directory_belongs_to_the_key_that_marked_it() {
        let root = workspace();
        let own = key(root.path(), "a", None);
        assert_eq!(own.owner(Some(false)), Ownership::Unmarked);
        assert!(matches!(own.owner(None), Ownership::Foreign(_)));
        own.mark().unwrap();
        let again = key(root.path(), "a", None);
        assert_eq!(again.owner(Some(false)), Ownership::Own);
        assert_eq!(again.owner(None), Ownership::Own, "an unreadable index");
        let with_given = key(root.path(), "a", Some("k"));
        assert_eq!(
            with_given.owner(Some(false)),
            Ownership::Own,
            "marked before"
        );
        for (what, other, is_tracked) in [
            ("another user", key(root.path(), "b", None), Some(false)),
            ("a given key", key(root.path(), "b", Some("k")), Some(false)),
            ("tracked by git", own.clone(), Some(true)),
            (
                "tracked, another user",
                key(root.path(), "b", None),
                Some(true),
            ),
        ] {
            assert!(
                matches!(other.owner(is_tracked), Ownership::Foreign(_)),
                "{what}"
            );
        }
        let runner = key(root.path(), "b", Some("shared"));
        runner.mark().unwrap();
        assert_eq!(
            key(root.path(), "c", Some("shared")).owner(Some(false)),
            Ownership::Own
        );
        // A changed mark is no mark of the user.
        let file = root.path().join("w/.flightdeck/owner");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("made", "adopted")).unwrap();
        assert!(matches!(runner.owner(Some(true)), Ownership::Foreign(_)));
    }

    #[test]
    fn store_that_is_set_aside_is_kept_and_can_be_adopted() {
        let root = workspace();
        let own = key(root.path(), "a", None);
        let number = own.set_aside().unwrap();
        assert_eq!(own.all_aside(), [number]);
        assert_eq!(own.owner(Some(false)), Ownership::Unchecked);
        std::fs::create_dir(root.path().join("w/.flightdeck")).unwrap();
        assert_eq!(own.adopt(number).unwrap(), Some(2));
        let text = std::fs::read_to_string(root.path().join("w/.flightdeck/file")).unwrap();
        assert_eq!(text, "mine");
        // The adoption has created the key.
        let own = key(root.path(), "a", None);
        assert_eq!(
            own.owner(Some(true)),
            Ownership::Own,
            "adopted although git tracks it"
        );
        assert_eq!(own.all_aside(), [2]);
        assert!(own.adopt(7).is_err());
    }

    #[test]
    fn link_in_place_of_the_directories_is_not_followed() {
        let root = workspace();
        std::fs::create_dir(root.path().join("out")).unwrap();
        std::os::unix::fs::symlink("../out", root.path().join("w").join(ASIDE)).unwrap();
        assert!(key(root.path(), "a", None).set_aside().is_err());
        assert!(root.path().join("w/.flightdeck/file").exists());
    }
}
