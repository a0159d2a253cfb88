//! Directories of the stores of a workspace directory. Each named workspace has one, and another
//! one for each further place of its state, such as the backend of another environment.

use super::state_location::{default_location, locate, with_files};
use fsroot::RootedPath;
use model::StageRequest;
use model::settings::{Access, Settings};
use sha2::{Digest as _, Sha256};
use state::{Binding, StatePlace, binding, resolved, resolved_directory};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use store::Store;

/// Directory of a store, in each directory that has one.
const STORE: &str = ".flightdeck";

/// Variable with the directory that has `.flightdeck`, in place of the workspace directory.
pub const VARIABLE: &str = "FLIGHTDECK_DATA_DIR";

/// Directory that has `.flightdeck`: the one that the operator names, else the workspace directory.
/// If that is read-only and has no store, OpenTofu's data directory, if one is named.
pub fn root(dir: &Path) -> RootedPath {
    let set = |name| std::env::var_os(name).filter(|text| !text.is_empty());
    let named = set(VARIABLE).or_else(|| {
        let data = set("TF_DATA_DIR")?;
        is_read_only(dir).then_some(data)
    });
    let Some(named) = named.map(|named| dir.join(named)) else {
        return RootedPath::new(dir, "");
    };
    match resolved_directory(&named).strip_prefix(resolved_directory(dir)) {
        // It can be part of a clone.
        Ok(inner) => RootedPath::new(dir, inner),
        Err(_) => RootedPath::new(named, ""),
    }
}

/// Can no store be created in the workspace directory?
fn is_read_only(dir: &Path) -> bool {
    std::fs::symlink_metadata(dir.join(STORE)).is_err()
        && rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).is_err()
}

/// Directory with the first store of a named workspace, in `.flightdeck`; for the default
/// workspace, that of the directory itself.
pub fn first(dir: &Path, named: &str) -> RootedPath {
    let root = root(dir);
    match named {
        "" => root,
        named => root.join(STORE).join("workspaces").join(named),
    }
}

/// Finds the directory of the store of a state: the one that is bound to its place, else the first
/// one of the workspace, else a new one beside the stores of other places.
pub async fn of_place(dir: &Path, named: &str, place: &StatePlace) -> RootedPath {
    let first = first(dir, named);
    let Some(identity) = place.identity(dir, &first.path()) else {
        return first;
    };
    let of_first = relation(&first, dir, place).await;
    if of_first == Some(Binding::Bound) {
        return first;
    }
    let others = first.join(STORE).join("backends");
    let preferred = digest(&[identity.as_bytes()]);
    let mut names = names_in(&others.path());
    // Usually the store of a place has its digest as name.
    names.sort_by_key(|name| *name != preferred);
    for name in &names {
        let other = others.join(name);
        if relation(&other, dir, place).await == Some(Binding::Bound) {
            return other;
        }
    }
    match of_first {
        Some(Binding::Other(_)) => {}
        // One that cannot be read is opened all the same, so that its error is reported.
        _ => return first,
    }
    // After a migration, the store with this name can be that of another place.
    let mut number = 1;
    loop {
        let name = match number {
            1 => preferred.clone(),
            number => format!("{preferred}-{number}"),
        };
        let other = others.join(name);
        if !matches!(relation(&other, dir, place).await, Some(Binding::Other(_))) {
            return other;
        }
        number += 1;
    }
}

/// Relation of the store in a directory to a place; `None` if it cannot be read.
async fn relation(at: &RootedPath, dir: &Path, place: &StatePlace) -> Option<Binding> {
    if std::fs::symlink_metadata(file(at)).is_err() {
        return Some(Binding::Unbound);
    }
    let at = at.clone();
    let opened = tokio::task::spawn_blocking(move || Store::open(at, Access::ReadOnly)).await;
    binding(&opened.ok()?.ok()?, dir, place).await.ok()
}

/// File of the store in a directory.
pub fn file(at: &RootedPath) -> PathBuf {
    at.path().join(STORE).join("flightdeck.db")
}

/// Directory of the store for a state and the flags that name state files. A file named by a flag
/// has its own store unless it is the configured one, because its history is that of another state.
pub async fn of_state(settings: &Settings, place: &StatePlace) -> RootedPath {
    let (dir, named) = (&settings.workspace, &settings.workspace_name);
    let StatePlace::NamedFiles(files) = place else {
        return of_place(dir, named, place).await;
    };
    let path = resolved(&dir.join(&files.path));
    let configured = configured_place(settings);
    if files.read.is_none()
        && matches!(&configured, StatePlace::File(file) if resolved(&dir.join(file)) == path)
    {
        return of_place(dir, named, &configured).await;
    }
    let read = files.read.as_ref().map(|file| resolved(&dir.join(file)));
    let read = read.unwrap_or_default();
    let name = digest(&[path.as_os_str().as_bytes(), read.as_os_str().as_bytes()]);
    first(dir, "").join(STORE).join("states").join(name)
}

/// Directory of the store for the configured state and these settings.
pub async fn configured(settings: &Settings) -> RootedPath {
    let place = configured_place(settings);
    let place = with_files(&settings.workspace, place, &settings.state_files);
    of_state(settings, &place).await
}

/// Place of the state by the configuration; without a readable one, the default place.
fn configured_place(settings: &Settings) -> StatePlace {
    let asked = StageRequest::with_variables(settings.variables.clone());
    let found = locate(&settings.workspace, &settings.workspace_name, &asked);
    match found {
        Ok(found) => found.place,
        Err(_) => default_location(&settings.workspace_name).place,
    }
}

/// Directories of all stores of a workspace directory that exist.
pub fn all(dir: &Path) -> Vec<RootedPath> {
    let root = first(dir, "");
    let named = root.join(STORE).join("workspaces");
    let mut found = vec![root.clone()];
    let names = names_in(&named.path()).into_iter();
    found.extend(names.map(|name| named.join(name)));
    let others: Vec<RootedPath> = found
        .iter()
        .map(|first| first.join(STORE).join("backends"))
        .chain([root.join(STORE).join("states")])
        .flat_map(|folder| {
            let names = names_in(&folder.path()).into_iter();
            names.map(move |name| folder.join(name))
        })
        .collect();
    found.extend(others);
    found.retain(|at| file(at).is_file());
    found
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Name of a store's directory, from texts that identify its state.
fn digest(texts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            // The separator keeps two texts apart.
            digest.update([0]);
        }
        digest.update(text);
    }
    hex::encode(&digest.finalize()[..8])
}
