//! Binding of a store to the place of the state that it has a copy of. A store of one environment
//! must not answer for another one, and its outcomes must not be written there.

use super::file::FilePlace;
use super::{StateError, StatePlace};
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

/// Relation of a store to the place of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// The store has no copy of any state yet.
    Unbound,
    /// The store is that of this place.
    Bound,
    /// The store has a copy of the state at another place.
    Other(String),
}

impl StatePlace {
    /// Text that identifies the place for a store, without credentials and in one spelling; `None`
    /// for an unusable place, and for a state that is read from one file and written to another. A
    /// file of the workspace is named relative to it, unless other workspaces may share the store.
    pub fn identity(&self, dir: &Path, store: &Path) -> Option<String> {
        let path = match self {
            Self::File(path)
            | Self::NamedFiles(FilePlace {
                path, read: None, ..
            }) => path,
            Self::NamedFiles(_) | Self::Refused(_) => return None,
            Self::In(..) => return self.open(dir, true).identity(),
        };
        let (file, home) = (resolved(&dir.join(path)), resolved_directory(dir));
        let is_inside = resolved(store).starts_with(&home);
        let relative = file.strip_prefix(&home).ok().filter(|_| is_inside);
        Some(relative.unwrap_or(&file).display().to_string())
    }

    /// Is this the place with a name that a store has recorded?
    fn is_named(&self, dir: &Path, name: &str) -> bool {
        match self {
            Self::File(path) => resolved(&dir.join(path)) == resolved(&dir.join(name)),
            _ => self.open(dir, true).place() == name,
        }
    }
}

/// Finds the relation of a store to the place of a state.
///
/// # Errors
/// The store cannot be read.
pub async fn binding(store: &Store, dir: &Path, place: &StatePlace) -> Result<Binding, StoreError> {
    let Some(identity) = place.identity(dir, store.path()) else {
        return Ok(Binding::Bound);
    };
    let bound = store.bound_place().await?;
    if !bound.is_empty() {
        return Ok(related(bound, &identity));
    }
    // An earlier version has recorded only the place of the last write.
    let written = store.backend_version().await?.place;
    Ok(match written.is_empty() {
        true => Binding::Unbound,
        false if place.is_named(dir, &written) => Binding::Bound,
        false => Binding::Other(written),
    })
}

/// Binds a store to the place of a state, unless it has a copy of another state. Returns the
/// relation that it then has.
///
/// # Errors
/// The store cannot be read or written.
pub async fn bind(store: &Store, dir: &Path, place: &StatePlace) -> Result<Binding, StoreError> {
    match (
        binding(store, dir, place).await?,
        place.identity(dir, store.path()),
    ) {
        (Binding::Unbound | Binding::Bound, Some(identity)) if store.can_write() => {
            Ok(related(store.bind_place(&identity).await?, &identity))
        }
        (found, _) => Ok(found),
    }
}

fn related(bound: String, identity: &str) -> Binding {
    match bound == identity {
        true => Binding::Bound,
        false => Binding::Other(bound),
    }
}

impl super::StateOfRecord {
    /// Binds the store to the place of the state.
    ///
    /// # Errors
    /// The store has a copy of the state at another place.
    pub(super) async fn bind(&self) -> Result<(), StateError> {
        let found = bind(&self.copy, &self.dir, &self.place()).await?;
        self.refuse_other(found)
    }

    /// Refuses a store that has a copy of the state at another place.
    pub(super) async fn check_binding(&self) -> Result<(), StateError> {
        let found = binding(&self.copy, &self.dir, &self.place()).await?;
        self.refuse_other(found)
    }

    fn refuse_other(&self, found: Binding) -> Result<(), StateError> {
        match found {
            Binding::Other(from) => Err(StateError::Moved {
                from,
                to: self.place_name(),
            }),
            Binding::Unbound | Binding::Bound => Ok(()),
        }
    }
}

/// Absolute path of a directory in one spelling, with links resolved.
pub fn resolved_directory(dir: &Path) -> PathBuf {
    let real = dir.canonicalize();
    real.unwrap_or_else(|_| resolved(dir))
}

/// Absolute path of a file in one spelling, with the links of its existing directories resolved.
pub fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let plain = fsroot::normalize(&absolute);
    let parents = plain.ancestors().skip(1);
    let mut real = parents.filter_map(|parent| Some((parent, parent.canonicalize().ok()?)));
    let found = real.next().map(|(parent, real)| {
        let rest = plain.strip_prefix(parent).unwrap_or(&plain);
        real.join(rest)
    });
    found.unwrap_or(plain)
}
