//! Backend part of `init`: merges block and `-backend-config`, writes the backend metadata and
//! migrates states.

use super::backend_check::has_content;
use super::encryption;
use super::load::inputs;
use super::state_location::{self, Unlocated};
use super::store_location;
use cty::Value;
use fsroot::RootedPath;
use lang::config::backend_of;
use lang::diag::Diagnostics;
use lang::source::SourceMap;
use model::settings::Access;
use model::{StageRequest, VariableFlag};
use state::backend::{Backend, BackendKind, BackendMetadata, Settings, SettingsError};
use state::{Locking, StateError, StateOfRecord, StatePlace, lock_info as info};
use statefile::encryption::Encryption;
use std::path::Path;
use std::sync::Arc;
use store::Store;

/// Options of `init` for the backend.
#[derive(Debug, Clone, Default)]
pub struct InitBackend {
    /// `-backend-config=…` in order: `NAME=TEXT`, or a file with arguments.
    pub config: Vec<String>,
    /// Use the new location and ignore the old one.
    pub reconfigure: bool,
    /// Migrate the states to the new location.
    pub migrate: bool,
    /// Skip all confirmations.
    pub force_copy: bool,
    /// `-backend=false`: use the metadata, change nothing.
    pub without_backend: bool,
    /// Options of the state locks.
    pub locking: Locking,
    pub variables: Vec<VariableFlag>,
}

/// Result of the initialization.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Initialized {
    /// Type of the backend; `None` without a backend.
    pub backend: Option<String>,
    /// Messages about the changes.
    pub messages: Vec<String>,
}

/// Reasons why the initialization failed.
#[derive(thiserror::Error)]
pub enum InitError {
    #[error("the configuration cannot be read")]
    Configuration(Unlocated),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("{0}")]
    Refused(String),
    /// There are states to migrate and there is no confirmation: ask, and call again with
    /// `force_copy`.
    #[error(
        "{from} has a state, but the backend is now {to}; use -migrate-state with -force-copy to copy the state to {to}, or -reconfigure to leave it in {from}"
    )]
    ConfirmationNeeded { from: String, to: String },
}

impl std::fmt::Debug for InitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Initializes the backend of a directory.
///
/// # Errors
/// The options are invalid, a location cannot be reached, or a confirmation is needed.
pub async fn init_backend(
    dir: &Path,
    named: &str,
    options: &InitBackend,
) -> Result<Initialized, InitError> {
    let data = state_location::data(dir);
    let recorded = BackendMetadata::read(&data.path())?;
    if options.without_backend {
        let backend = recorded.map(|record| record.kind);
        return Ok(Initialized {
            backend,
            ..Initialized::default()
        });
    }
    let said = configured_backend(dir, named, options)?;
    let (written, merged) = (said.written, said.merged);
    // With `-reconfigure` the recorded backend does not matter.
    let before = match &recorded {
        Some(record) if !options.reconfigure => {
            Some(Settings::recorded(&record.kind, &record.config)?)
        }
        _ => None,
    };
    let kind = merged.as_ref().map(|settings| settings.kind().to_string());
    let record = merged
        .as_ref()
        .zip(written.as_ref())
        .map(|(merged, written)| BackendMetadata::from_settings(merged, written.hash()));
    let mut done = Initialized {
        backend: kind,
        messages: Vec::new(),
    };
    if recorded.is_some() && before == merged && record.is_some() {
        // The block's text may differ although its meaning is the same.
        BackendMetadata::write(record.as_ref(), &data)?;
        return Ok(done);
    }
    // No backend block means local files.
    let local = || Settings::new(BackendKind::Local);
    let from = before.clone().unwrap_or_else(local);
    let to = merged.clone().unwrap_or_else(local);
    if let Some(before) = &before
        && !options.migrate
        && !options.reconfigure
    {
        return Err(changed(before.kind(), to.kind()));
    }
    if !options.reconfigure && from != to {
        let moving = Migration {
            dir,
            from: &from,
            to: &to,
            implicit: before.is_none(),
            encryption: said.encryption,
            locking: options.locking,
        };
        done.messages = moving.migrate_all(named, options.force_copy).await?;
    }
    match record {
        Some(record) => {
            // Opened before it is recorded, to find errors in the arguments.
            to.open(dir, true)?;
            BackendMetadata::write(Some(&record), &data)?;
            done.messages
                .push(format!("configured the backend {:?}", to.kind().name()));
        }
        // Metadata without a backend replaces earlier metadata only.
        None if recorded.is_some() => BackendMetadata::write(None, &data)?,
        None => {}
    }
    Ok(done)
}

fn changed(from: BackendKind, to: BackendKind) -> InitError {
    InitError::Refused(format!(
        "the backend configuration changed from {from} to {to}; use -migrate-state to migrate the states, or -reconfigure to use the states at the new location as they are"
    ))
}

/// Backend and encryption of the configuration.
struct ConfiguredBackend {
    /// The backend block as written.
    written: Option<Settings>,
    /// The block merged with `-backend-config`.
    merged: Option<Settings>,
    /// Encryption of the state; `None` if a method is not supported.
    encryption: Option<Encryption>,
}

fn configured_backend(
    dir: &Path,
    named: &str,
    options: &InitBackend,
) -> Result<ConfiguredBackend, InitError> {
    let sources = SourceMap::new();
    let request = StageRequest::with_variables(options.variables.clone());
    let (backend, encrypted, mut diags) = backend_of(dir, &sources, &inputs(&request, named));
    // An unsupported method is an error only if a state must be encrypted.
    let mut unknown = Diagnostics::new();
    let encryption = encryption::state(&encrypted, &mut unknown);
    let encryption = (!unknown.has_errors()).then_some(encryption);
    let written = backend
        .as_ref()
        .and_then(|backend| state_location::settings(backend, &mut diags));
    if diags.has_errors() {
        return Err(InitError::Configuration(Unlocated {
            sources,
            diags,
            refused: None,
        }));
    }
    let Some(written) = written else {
        if options.config.is_empty() {
            return Ok(ConfiguredBackend {
                written: None,
                merged: None,
                encryption,
            });
        }
        return Err(InitError::Refused(
            "-backend-config requires a backend block, and the configuration has none; add one, such as `backend \"s3\" {}`".to_owned(),
        ));
    };
    let mut merged = written.clone();
    // Later arguments override earlier ones.
    for one in &options.config {
        merge_backend_config(dir, one, &mut merged)?;
    }
    Ok(ConfiguredBackend {
        written: Some(written),
        merged: Some(merged),
        encryption,
    })
}

/// Merges one `-backend-config` argument.
fn merge_backend_config(dir: &Path, text: &str, settings: &mut Settings) -> Result<(), InitError> {
    // A file may have an equals sign in its name.
    if let Some((name, value)) = text.split_once('=')
        && !dir.join(text).is_file()
    {
        settings.set(name.trim(), &Value::string(value))?;
        return Ok(());
    }
    let sources = SourceMap::new();
    let (values, diags) = lang::config::read_tfvars(&dir.join(text), &sources);
    if diags.has_errors() {
        return Err(InitError::Configuration(Unlocated {
            sources,
            diags,
            refused: None,
        }));
    }
    for (name, value) in values {
        settings.set(&name, &value)?;
    }
    Ok(())
}

/// Migration of states between two backends.
struct Migration<'a> {
    dir: &'a Path,
    from: &'a Settings,
    to: &'a Settings,
    /// The old location was the default: its files are emptied.
    implicit: bool,
    encryption: Option<Encryption>,
    locking: Locking,
}

impl Migration<'_> {
    fn open(&self, settings: &Settings) -> Result<Arc<dyn Backend>, StateError> {
        settings.open(self.dir, self.locking.is_enabled)
    }

    /// Migrates the states of all workspaces.
    async fn migrate_all(&self, named: &str, yes: bool) -> Result<Vec<String>, InitError> {
        let (old, new) = (self.open(self.from)?, self.open(self.to)?);
        // The default workspace has an empty name, and backends do not list it.
        let mut names = vec![String::new()];
        names.extend(old.workspaces().await?);
        let mut todo = Vec::new();
        for name in names {
            let from = old.state_manager(&name)?;
            let text = from.read().await?;
            let store = self.store_of(self.from, &name).await;
            // Changes that only the store has are written during the migration.
            let record = store_location::file(&store).is_file().then_some(store);
            let is_ahead = match &record {
                Some(at) => unwritten(at).await?.is_some(),
                None => false,
            };
            if has_content(&text) || is_ahead || (record.is_some() && !text.is_empty()) {
                todo.push((name, from.place(), record));
            }
        }
        if todo.is_empty() {
            return Ok(Vec::new());
        }
        // One confirmation covers all states.
        if !yes {
            let to = new
                .state_manager(named)
                .map_or_else(|_| self.to.kind().to_string(), |manager| manager.place());
            return Err(InitError::ConfirmationNeeded {
                from: todo[0].1.clone(),
                to,
            });
        }
        let mut told = Vec::new();
        for (name, _, record) in todo {
            // A held lock is awaited as long as `-lock-timeout` allows.
            let mut waits = self.locking.new_wait();
            loop {
                let brought = self.migrate_workspace(&name, record.as_ref()).await;
                let is_locked = matches!(brought, Err(InitError::State(StateError::Locked { .. })));
                if !is_locked || !waits.next().await {
                    told.push(brought?);
                    break;
                }
            }
        }
        Ok(told)
    }

    /// Directory of the store of a workspace's state in a backend.
    async fn store_of(&self, backend: &Settings, name: &str) -> RootedPath {
        let place = state_location::state_place(backend.clone(), name);
        store_location::of_place(self.dir, name, &place).await
    }

    /// Store of the new location, which the migrated one replaces.
    async fn replaced_store(
        &self,
        name: &str,
        record: &RootedPath,
    ) -> Result<Option<Store>, InitError> {
        let at = self.store_of(self.to, name).await;
        if at == *record || !store_location::file(&at).is_file() {
            return Ok(None);
        }
        if let Some(what) = unwritten(&at).await? {
            return Err(InitError::Refused(format!(
                "cannot migrate the state to {}: the store has {what} for it. Run `flightdeck init -reconfigure` and `flightdeck stage` to work on that state first, then migrate again",
                self.to.kind()
            )));
        }
        Ok(Some(open_store(&at, Access::ReadWrite).await?))
    }

    async fn migrate_workspace(
        &self,
        name: &str,
        record: Option<&RootedPath>,
    ) -> Result<String, InitError> {
        let (from, to) = (
            self.open(self.from)?.state_manager(name)?,
            self.open(self.to)?.state_manager(name)?,
        );
        // Through the store, so that its unwritten changes are not lost.
        if let Some(record) = record {
            let replaced = self.replaced_store(name, record).await?;
            let store = open_store(record, Access::ReadWrite).await?;
            let old = state_location::state_place(self.from.clone(), name);
            let encryption = self.encryption.clone().ok_or_else(|| {
                InitError::Refused(
                    "cannot migrate the state: its encryption method is not supported, and the copy would be plain text".to_owned(),
                )
            })?;
            let mut state = StateOfRecord::new(self.dir, &store, old, encryption);
            if !self.locking.is_enabled {
                state = state.without_lock();
            }
            let new = state_location::state_place(self.to.clone(), name);
            state.migrate(new, info("migration source state")).await?;
            if let Some(replaced) = replaced {
                let known = replaced.backend_version().await.map_err(StateError::from)?;
                let unbound = replaced.rebind_place(REPLACED, known).await;
                unbound.map_err(StateError::from)?;
            }
        } else {
            from.lock(info("migration source state")).await?;
            let copied = copy(&*from, &*to).await;
            StateError::combine_with_unlock(copied, from.unlock().await)?;
        }
        // Emptied as OpenTofu does, so that the old state is not used by mistake.
        if self.implicit
            && let StatePlace::File(file) = state_location::state_place(self.from.clone(), name)
            && self.to.kind() != BackendKind::Local
        {
            empty_with_backup(self.dir, &file)?;
        }
        let subject = if name.is_empty() {
            "the state".to_owned()
        } else {
            format!("the state of the workspace {name}")
        };
        Ok(format!(
            "migrated {subject} from {} to {}",
            from.place(),
            to.place()
        ))
    }
}

/// Place of a store whose state was replaced by a migrated one. No state has it.
const REPLACED: &str = "(replaced by a migrated state)";

async fn open_store(at: &RootedPath, access: Access) -> Result<Store, StateError> {
    let at = at.clone();
    let opened = tokio::task::spawn_blocking(move || Store::open(at, access)).await;
    Ok(opened.map_err(|e| StateError::Task(Arc::new(e)))??)
}

/// Describes what only the store in a directory has; `None` if its backend has everything.
async fn unwritten(at: &RootedPath) -> Result<Option<&'static str>, StateError> {
    let store = open_store(at, Access::ReadOnly).await?;
    let (state, known) = (store.state().await?, store.backend_version().await?);
    let is_blank = state.objects.is_empty() && state.outputs.is_empty();
    let is_ahead = match known.place.is_empty() {
        true => !is_blank,
        false => known.writing || known.serial != state.serial,
    };
    Ok(match store.unknown_outcomes().await?.is_empty() {
        _ if is_ahead => Some("outcomes that are not written"),
        false => Some("operations without a recorded outcome"),
        true => None,
    })
}

/// Copies a state to a location with no state or an equal one.
async fn copy(
    from: &dyn state::StateManager,
    to: &dyn state::StateManager,
) -> Result<(), StateError> {
    to.lock(info("migration destination state")).await?;
    let copied = async {
        let text = from.read().await?;
        let there = to.read().await?;
        // An interrupted migration may already have written an equal state.
        if has_content(&there) && there != text {
            return Err(StateError::Occupied {
                place: to.place(),
                differ: None,
            });
        }
        to.write(state::convert_layout(&text, to.layout())).await
    };
    StateError::combine_with_unlock(copied.await, to.unlock().await)
}

/// Empties the file of a default location after a copy to `.backup`.
fn empty_with_backup(dir: &Path, file: &Path) -> Result<(), StateError> {
    let mut backup = file.as_os_str().to_owned();
    backup.push(".backup");
    let (state, backup) = (
        RootedPath::from_workspace(dir, file),
        RootedPath::from_workspace(dir, Path::new(&backup)),
    );
    let empty = || {
        let open = state.open_in_place()?.ok_or(std::io::ErrorKind::NotFound)?;
        // The backup is complete before the file is emptied.
        backup.replace(&state.read()?, 0o600)?;
        open.set_len(0)?;
        open.sync_all()
    };
    empty().map_err(|source| StateError::NotEmptied {
        path: dir.join(file),
        source: Arc::new(source),
    })
}

#[cfg(test)]
#[path = "initialize_tests.rs"]
mod tests;
