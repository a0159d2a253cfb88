//! Commands on the workspaces of a directory: list, create, delete, select, force-unlock. They need
//! no running engine.

use super::initialize::InitError;
use super::{state_location, store_location};
use model::settings::Access;
use model::{DEFAULT_WORKSPACE, StageRequest};
use state::backend::{Backend, BackendKind, BackendMetadata, Settings};
use state::{Locking, StateError, lock_info as info};
use std::path::Path;
use std::sync::Arc;
use store::Store;
use store::records::{BackendVersion, State};

/// Opens the backend of a directory.
async fn backend(
    dir: &Path,
    request: &StageRequest,
    locks: bool,
) -> Result<Arc<dyn Backend>, InitError> {
    // All workspaces of a directory share its backend.
    let found = state_location::locate(dir, "", request).map_err(InitError::Configuration)?;
    // A new backend is recorded at its first use.
    if let Some((record, _)) = found.record {
        BackendMetadata::write(Some(&record), &state_location::data(dir))?;
    }
    let local = || Settings::new(BackendKind::Local);
    let settings = found.settings.unwrap_or_else(local);
    Ok(settings.open(dir, locks)?)
}

/// Name in backends, where the default workspace is empty.
fn inner(name: &str) -> &str {
    if name == DEFAULT_WORKSPACE { "" } else { name }
}

/// Names of the workspaces, the default one first.
///
/// # Errors
/// The backend cannot be located or listed.
pub async fn list(dir: &Path, request: &StageRequest) -> Result<Vec<String>, InitError> {
    let mut names = vec![DEFAULT_WORKSPACE.to_owned()];
    names.extend(backend(dir, request, true).await?.workspaces().await?);
    Ok(names)
}

/// Returns true if a workspace exists.
///
/// # Errors
/// See [`list`].
pub async fn exists(dir: &Path, name: &str, request: &StageRequest) -> Result<bool, InitError> {
    Ok(list(dir, request).await?.iter().any(|one| one == name))
}

/// Creates a workspace without selecting it.
///
/// # Errors
/// It exists, its name is invalid, or the backend refuses it.
pub async fn create(
    dir: &Path,
    name: &str,
    request: &StageRequest,
    locking: &Locking,
) -> Result<(), InitError> {
    state_location::checked(name, "the arguments")
        .map_err(|e| InitError::Refused(e.to_string()))?;
    if exists(dir, name, request).await? {
        return Err(InitError::Refused(format!(
            "workspace {name:?} already exists"
        )));
    }
    let backend = backend(dir, request, locking.is_enabled).await?;
    let mut waits = locking.new_wait();
    loop {
        let created = backend.create(inner(name), info("workspace-new")).await;
        if !is_locked(&created) || !waits.next().await {
            return Ok(created?);
        }
    }
}

/// Deletes a workspace and its state; one with objects only with `force`. The objects stay in the
/// target system without a state. The store's history stays.
///
/// # Errors
/// The workspace is selected or the default one, does not exist, or has objects.
pub async fn delete(
    dir: &Path,
    name: &str,
    force: bool,
    request: &StageRequest,
    locking: &Locking,
) -> Result<(), InitError> {
    let refuse = |why: String| Err(InitError::Refused(why));
    let selected = state_location::selected(dir, |name| std::env::var_os(name))
        .map_err(|e| InitError::Refused(e.to_string()))?;
    if inner(name).is_empty() {
        return refuse("the default workspace cannot be deleted".to_owned());
    }
    // Otherwise the directory would select a workspace that does not exist.
    if name == selected {
        return refuse(format!(
            "the workspace {name:?} is selected; select another one first"
        ));
    }
    if !exists(dir, name, request).await? {
        return refuse(format!("there is no workspace {name:?}"));
    }
    let backend = backend(dir, request, locking.is_enabled).await?;
    let text = backend.state_manager(name)?.read().await?;
    if !force && has_objects(&text) {
        return refuse(format!(
            "the workspace {name:?} has objects; destroy them first, or use -force to leave them unmanaged"
        ));
    }
    let mut waits = locking.new_wait();
    loop {
        // OpenTofu uses this operation name for a deletion too.
        let deleted = backend.delete(name, info("state-replace-provider")).await;
        if !is_locked(&deleted) || !waits.next().await {
            deleted?;
            break;
        }
    }
    forget(dir, name, request).await
}

fn is_locked(done: &Result<(), StateError>) -> bool {
    matches!(done, Err(StateError::Locked { .. }))
}

/// Clears the store's copy of the state, so a new workspace with this name starts empty.
async fn forget(dir: &Path, name: &str, request: &StageRequest) -> Result<(), InitError> {
    let found = state_location::locate(dir, name, request).map_err(InitError::Configuration)?;
    let folder = store_location::of_place(dir, name, &found.place).await;
    if !store_location::file(&folder).exists() {
        return Ok(());
    }
    let opened = tokio::task::spawn_blocking(move || Store::open(folder, Access::ReadWrite));
    let store = opened
        .await
        .map_err(|e| StateError::Task(Arc::new(e)))?
        .map_err(StateError::from)?;
    let forgotten = store.replace_with_backend(State::default(), BackendVersion::default());
    Ok(forgotten.await.map_err(StateError::from)?)
}

fn has_objects(text: &[u8]) -> bool {
    match statefile::StateFile::read(text) {
        Ok(Some(state)) => state.resources.iter().any(|r| !r.instances.is_empty()),
        Ok(None) => false,
        // A state that cannot be read may have objects.
        Err(_) => true,
    }
}

/// Selects a workspace for every program in this directory.
///
/// # Errors
/// The name is invalid, or the selection cannot be written.
pub fn select(dir: &Path, name: &str) -> Result<(), InitError> {
    state_location::checked(name, "the arguments")
        .map_err(|e| InitError::Refused(e.to_string()))?;
    let file = state_location::data(dir).join("environment");
    file.replace(name.as_bytes(), 0o644)
        .map_err(|e| InitError::Refused(format!("cannot write {}: {e}", file.path().display())))
}

/// Checks that a selection has an effect: `TF_WORKSPACE` takes precedence.
///
/// # Errors
/// `TF_WORKSPACE` is set.
pub fn check_selectable() -> Result<(), InitError> {
    match std::env::var_os("TF_WORKSPACE").filter(|name| !name.is_empty()) {
        None => Ok(()),
        Some(name) => Err(InitError::Refused(format!(
            "TF_WORKSPACE is {:?} and overrides the selected workspace; unset it first",
            name.to_string_lossy()
        ))),
    }
}

/// Removes the lock with this id from a workspace's state.
///
/// # Errors
/// There is no lock, its id differs, or the backend cannot remove it.
pub async fn force_unlock(
    dir: &Path,
    named: &str,
    id: &str,
    request: &StageRequest,
) -> Result<(), InitError> {
    let manager = backend(dir, request, true)
        .await?
        .state_manager(inner(named))?;
    Ok(manager.force_unlock(id).await?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;
    use std::fs;

    fn all() -> StageRequest {
        StageRequest::default()
    }

    fn words<T: std::fmt::Debug>(result: Result<T, InitError>) -> String {
        result.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn local_workspaces_are_created_listed_selected_and_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert_eq!(list(dir, &all()).await.unwrap(), ["default"]);
        for name in ["prod", "dev"] {
            create(dir, name, &all(), &Locking::default())
                .await
                .unwrap();
        }
        assert_eq!(list(dir, &all()).await.unwrap(), ["default", "dev", "prod"]);
        assert!(dir.join("terraform.tfstate.d/dev").is_dir());
        for (name, word) in [
            ("dev", "already"),
            ("..", "not only dots"),
            ("a/b", "invalid workspace name"),
        ] {
            let said = words(create(dir, name, &all(), &Locking::default()).await);
            assert!(said.contains(word), "{name}: {said}");
        }
        select(dir, "dev").unwrap();
        let file = fs::read_to_string(dir.join(".terraform/environment")).unwrap();
        assert_eq!(file, "dev");
        let state = r#"{"version":4,"terraform_version":"1.12.6","serial":3,"lineage":"l","outputs":{},"resources":[{"mode":"managed","type":"terraform_data","name":"a","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"x"},"sensitive_attributes":[]}]}],"check_results":null}"#;
        let prod = dir.join("terraform.tfstate.d/prod/terraform.tfstate");
        fs::write(&prod, state).unwrap();
        for (name, word) in [
            ("default", "cannot be deleted"),
            ("dev", "is selected"),
            ("prod", "has objects"),
            ("test", "no workspace"),
        ] {
            let said = words(delete(dir, name, false, &all(), &Locking::default()).await);
            assert!(said.contains(word), "{name}: {said}");
        }
        delete(dir, "prod", true, &all(), &Locking::default())
            .await
            .unwrap();
        assert_eq!(list(dir, &all()).await.unwrap(), ["default", "dev"]);
        assert!(!prod.exists());
    }

    #[tokio::test]
    async fn file_lock_ends_with_its_process_and_cannot_be_force_unlocked() {
        let dir = tempfile::tempdir().unwrap();
        let said = words(force_unlock(dir.path(), "", "1", &all()).await);
        assert!(said.contains("the state is not locked"), "{said}");
        let settings = Settings::new(BackendKind::Local);
        let manager = settings
            .open(dir.path(), true)
            .unwrap()
            .state_manager("")
            .unwrap();
        manager.lock(info("x")).await.unwrap();
        let said = words(force_unlock(dir.path(), "", "1", &all()).await);
        assert!(said.contains("end that process"), "{said}");
        manager.unlock().await.unwrap();
    }
}
