//! The opened store and state of a workspace, and the recorder that fills the store. Owned by the
//! engine's handle; answers queries that need only stored data.

mod store_ownership;

pub use store_ownership::{store_key, unwritten_outcomes};

use super::error::{EngineError, NotFound};
use super::stage::diff;
use fsroot::RootedPath;
use model::bus::{Bus, EventSink as _};
use model::lock_owner::this_process;
use model::mutex::lock;
use model::secrets::Secrets;
use model::settings::{Access, Settings};
use model::*;
use state::{Binding, FileEncryption, StateOfRecord, StatePlace};
use statefile::encryption::Encryption;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use store::records::State;
use store::{Recorder, Store, StoreError, outputs, rows, rows_with_sensitive, sensitive, version4};
use store_ownership::Checked;
use tokio_util::task::TaskTracker;
use workspace::store_location;

/// State of a workspace as the configuration names it.
pub struct LocatedState {
    pub place: StatePlace,
    pub encryption: Encryption,
    /// The configuration could be read; otherwise the place is the default one.
    pub is_located: bool,
}

/// Store, state and recorder of a workspace.
pub struct WorkspaceStore {
    store: Store,
    dir: RootedPath,
    /// Directory with the generated secrets.
    secrets_dir: RootedPath,
    /// Reason why an existing store was not opened, if the command works without it.
    open_error: Option<StoreError>,
    /// Message about a store that is not this user's.
    owner_notice: Option<String>,
    state: StateOfRecord,
    recorder: Option<Recorder>,
    secrets: Secrets,
    /// Show sensitive values in the state's rows.
    shows_sensitive: bool,
    plans: Mutex<FileEncryption>,
}

impl WorkspaceStore {
    /// Opens the store according to the settings, and starts to record the events of `bus`.
    ///
    /// # Errors
    /// The store cannot be used; see [`store::StoreError`].
    pub async fn open(
        settings: &Settings,
        located: LocatedState,
        bus: &Bus,
        tasks: &TaskTracker,
    ) -> Result<Self, EngineError> {
        let LocatedState {
            place, encryption, ..
        } = &located;
        let (place, encryption) = (place.clone(), encryption.clone());
        let access = settings.access;
        let OpenedStore {
            store,
            dir,
            unread,
            checked,
            first_use,
        } = open_own_store(settings, &located).await?;
        let notice = checked.notice().await;
        if let Some(text) = first_use {
            bus.emit(EventKind::Notice { text });
        }
        let recorder = access
            .can_write()
            .then(|| Recorder::start(store.clone(), bus.subscribe().1, tasks));
        let state = StateOfRecord::new(&settings.workspace, &store, place, encryption);
        let mut state = state.accept_older(settings.accept_older_state);
        if !settings.lock_state {
            state = state.without_lock();
        }
        Ok(Self {
            state,
            shows_sensitive: settings.shows_sensitive,
            secrets_dir: match settings.state_files.is_default() {
                true => dir.clone(),
                // A file named by a flag is another state with the same secrets.
                false => store_location::first(&settings.workspace, &settings.workspace_name),
            },
            dir,
            store,
            open_error: unread,
            owner_notice: notice,
            recorder,
            secrets: bus.secrets(),
            plans: Mutex::default(),
        })
    }

    /// Encryption of plan files, if known.
    pub fn plans(&self) -> FileEncryption {
        lock(&self.plans).clone()
    }

    /// Sets the encryption of plan files.
    pub fn encrypts_plans(&self, how: FileEncryption) {
        *lock(&self.plans) = how;
    }

    /// Reason why an existing store was not opened, if the command works without it.
    pub fn unopened_reason(&self) -> Option<&StoreError> {
        self.open_error.as_ref()
    }

    /// Message about a store that is not this user's, and that is not used.
    pub fn owner_notice(&self) -> Option<&str> {
        self.owner_notice.as_deref()
    }

    /// Directory of the store.
    pub fn directory(&self) -> &RootedPath {
        &self.dir
    }

    /// Directory with the generated secrets of this workspace and backend.
    pub fn secrets_directory(&self) -> &RootedPath {
        &self.secrets_dir
    }

    /// The store itself.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The state of record.
    pub fn state(&self) -> &StateOfRecord {
        &self.state
    }

    /// Takes the workspace lock for this process. Returns a message about a lock taken over.
    ///
    /// # Errors
    /// [`EngineError::Locked`] if a living process has it.
    pub async fn lock(&self, reason: &str) -> Result<Option<String>, EngineError> {
        let taken = self.store.acquire_lock(this_process(reason)).await?;
        Ok(taken.former_owner.map(|h| {
            format!(
                "replaced the stale workspace lock of {} (pid {} on {}, {}), because that process no longer runs",
                h.who, h.pid, h.host, h.reason
            )
        }))
    }

    /// Releases the workspace lock.
    pub async fn unlock(&self) -> Result<(), EngineError> {
        Ok(self.store.release_lock().await?)
    }

    /// Waits until all events emitted so far are stored.
    pub async fn flush(&self) {
        if let Some(recorder) = &self.recorder {
            recorder.flush().await;
        }
    }

    /// Deploys, newest first; all for a `limit` of 0.
    pub async fn history(&self, limit: u32) -> Result<Vec<DeploySummary>, EngineError> {
        Ok(self.store.history(limit).await?)
    }

    /// One deploy with its operations and events.
    pub async fn deploy_record(&self, deploy: DeployId) -> Result<DeployRecord, EngineError> {
        // The recorder may lag behind the events.
        self.flush().await;
        let record = self.store.deploy_record(deploy).await?;
        Ok(record.ok_or(NotFound::Deploy(deploy))?)
    }

    /// Differences between two deploys. The store keeps the configurations of stages that deploys
    /// have used.
    pub async fn compare_deploys(
        &self,
        before: DeployId,
        after: DeployId,
    ) -> Result<DeployComparison, EngineError> {
        let (before, after) = (
            self.deploy_record(before).await?,
            self.deploy_record(after).await?,
        );
        let then = self.store.snapshot(&before.summary.config_digest).await?;
        let now = self.store.snapshot(&after.summary.config_digest).await?;
        Ok(DeployComparison::of(
            (before.summary, &before.operations, then.as_ref()),
            (after.summary, &after.operations, now.as_ref()),
        ))
    }

    /// Operations of a deploy, in their order.
    pub async fn operations(&self, deploy: DeployId) -> Result<Vec<Operation>, EngineError> {
        Ok(self.store.operations(deploy).await?)
    }

    /// Failures since a time, grouped.
    pub async fn failures(&self, since: Option<UnixMs>) -> Result<Vec<FailureGroup>, EngineError> {
        Ok(self.store.failures(since).await?)
    }

    /// Log lines, oldest first.
    pub async fn logs(&self, query: LogQuery) -> Result<Vec<LogRow>, EngineError> {
        // The recorder may lag behind the events.
        self.flush().await;
        Ok(self.store.logs(query).await?)
    }

    /// Rows of the state for display, with drift and the newest observations.
    pub async fn state_rows(&self) -> Result<(Vec<StateRow>, Arc<State>), EngineError> {
        let state = Arc::new(self.state.read().await?);
        let mut rows = self.display_rows(&state);
        let drift = self.drift(state.serial).await?;
        let observations = self.store.observations().await?.into_iter();
        let mut observations: HashMap<(String, Option<String>), Observation> = observations
            .map(|o| ((o.address.clone(), o.deposed.clone()), o))
            .collect();
        for row in &mut rows {
            row.drift = drift.get(&row.id()).copied();
            row.observation = observations.remove(&(row.address.clone(), row.deposed.clone()));
        }
        Ok((rows, state))
    }

    /// Rows of a state for display.
    pub fn display_rows(&self, state: &Arc<State>) -> Vec<StateRow> {
        // Sensitive attributes must be known before any row is redacted.
        sensitive::register_state(&self.secrets, state);
        match self.shows_sensitive {
            true => rows_with_sensitive(state),
            false => rows(state, &self.secrets),
        }
    }

    /// Drift by address, as the newest stage found it, if that stage is of this state.
    async fn drift(&self, serial: i64) -> Result<HashMap<String, DriftKind>, EngineError> {
        #[derive(serde::Deserialize)]
        struct OpenResult {
            drift: Vec<DriftView>,
        }
        let Some(stage) = self
            .store
            .latest_stage()
            .await?
            .filter(|s| s.state_serial == serial)
        else {
            return Ok(HashMap::new());
        };
        // Without a readable summary, the rows are shown without drift.
        let found = stage
            .summary
            .read()
            .unwrap_or(OpenResult { drift: Vec::new() });
        Ok(found
            .drift
            .into_iter()
            // A move changes only the address in the state.
            .filter(|d| d.what != DriftKind::Moved)
            .map(|d| (d.address, d.what))
            .collect())
    }

    /// Outputs of the state, by name.
    pub async fn outputs(&self) -> Result<Vec<OutputValue>, EngineError> {
        Ok(outputs(&self.state.read().await?))
    }

    /// Outputs of the state for display, with sensitive values masked.
    pub async fn output_rows(&self) -> Result<Vec<OutputRow>, EngineError> {
        let state = self.state.read().await?;
        // Sensitive attributes must be known before any text is redacted.
        sensitive::register_state(&self.secrets, &state);
        let row = |output: OutputValue| {
            let mut value = match output.sensitive {
                true => diff::SENSITIVE.to_owned(),
                false => output_text(&output),
            };
            self.secrets.redact_in_place(&mut value);
            OutputRow {
                name: output.name,
                value,
                sensitive: output.sensitive,
            }
        };
        Ok(outputs(&state).into_iter().map(row).collect())
    }

    /// State as state version 4.
    pub async fn export_state(&self) -> Result<statefile::StateFile, EngineError> {
        Ok(version4(&self.state.read().await?))
    }
}

/// Attempts to find the store of a state, while other processes bind new ones.
const MAX_ATTEMPTS: u32 = 5;

struct OpenedStore {
    store: Store,
    dir: RootedPath,
    /// Reason why an existing store was not opened.
    unread: Option<StoreError>,
    checked: Checked,
    first_use: Option<String>,
}

/// Opens the store of a state if it belongs to this user; otherwise it is set aside first.
async fn open_own_store(
    settings: &Settings,
    located: &LocatedState,
) -> Result<OpenedStore, EngineError> {
    let failed = || EngineError::task("failed to open the store");
    let own = settings.clone();
    let checked =
        tokio::task::spawn_blocking(move || store_ownership::check(&own, own.access)).await;
    let checked = checked.map_err(failed())??;
    let access = match checked.is_foreign {
        true => Access::NoStore,
        false => settings.access,
    };
    let mut attempts = 1;
    loop {
        let dir = match located.is_located && access != Access::NoStore {
            true => store_location::of_state(settings, &located.place).await,
            // It is not known which state the configuration names.
            false => store_location::first(&settings.workspace, &settings.workspace_name),
        };
        let first_use = match access.can_write() && !store_location::file(&dir).exists() {
            true => first_use_notice(settings, &dir).await,
            false => None,
        };
        let (own, at) = (settings.clone(), dir.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let opened = open_store(&at, access);
            if access.can_write() && opened.is_ok() {
                store_ownership::mark_unmarked(&own);
            }
            opened
        });
        let (store, unread) = opened.await.map_err(failed())??;
        let is_other = located.is_located
            && matches!(
                state::bind(&store, &settings.workspace, &located.place).await?,
                Binding::Other(_)
            );
        // Another process may have bound a new store to another place meanwhile.
        if !is_other || !access.can_write() || attempts == MAX_ATTEMPTS {
            return Ok(OpenedStore {
                store,
                dir,
                unread,
                checked,
                first_use,
            });
        }
        attempts += 1;
    }
}

/// Message about a new store, if the first store of the workspace has the state at another place.
async fn first_use_notice(settings: &Settings, dir: &RootedPath) -> Option<String> {
    let first = store_location::first(&settings.workspace, &settings.workspace_name);
    if *dir == first || !settings.state_files.is_default() {
        return None;
    }
    let opened = tokio::task::spawn_blocking(move || Store::open(first, Access::ReadOnly)).await;
    let store = opened.ok()?.ok()?;
    let objects = store.state().await.ok()?.objects.len();
    let place = store.bound_place().await.ok()?;
    (objects > 0).then(|| {
        format!(
            "the configuration names this place of the state for the first time; {objects} objects of the state in {place} are not used here. If the state is to move, run `flightdeck init -migrate-state`"
        )
    })
}

/// Opens the store of a workspace; returns the reason if `access` allows to continue without it.
fn open_store(dir: &RootedPath, access: Access) -> Result<(Store, Option<StoreError>), StoreError> {
    match Store::open(dir.clone(), access) {
        Err(error) if access == Access::ReadState && error.is_refusal() => {
            Ok((Store::open(dir.clone(), Access::NoStore)?, Some(error)))
        }
        opened => Ok((opened?, None)),
    }
}

/// Renders the value of an output as an expression, in clear.
pub(super) fn output_text(output: &OutputValue) -> String {
    let ty = cty::Type::from_json(output.ty.as_bytes()).ok();
    let json = serde_json::from_str(&output.value).ok();
    ty.zip(json)
        .and_then(|(ty, json)| cty::json::decode_value(&json, &ty).ok())
        // The stored text of a value of an unreadable type.
        .map_or_else(|| output.value.clone(), |value| diff::render(&value))
}
