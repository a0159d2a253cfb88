//! Engine methods for the workspace as a whole: installation, and switching between the workspaces
//! of its directory.

use super::Engine;
use crate::error::{EngineError, NotFound};
use crate::install::convert_init_error;
use crate::workspace_store::LocatedState;
use model::bus::Bus;
use model::settings::Settings;
use model::{Absent, DEFAULT_WORKSPACE, EventKind, StageRequest, StateMigration};
use provider::builtin::RemoteStates;
use state::{FileEncryption, Locking, StatePlace};
use workspace::{state_location, workspaces};

impl Engine {
    /// Installs modules and providers and initializes the backend; progress is reported by events.
    /// Restart an engine that is already in use afterwards.
    ///
    /// # Errors A download failed, the configuration is wrong, cancellation.
    /// [`EngineError::StatesToMigrate`] if the backend changed, there are states at the old
    /// location, and `bring` does not decide about them.
    pub async fn install(&self, bring: StateMigration) -> Result<(), EngineError> {
        Box::pin(self.shared.operations.install(bring)).await
    }

    /// Name of this engine's workspace, for operators.
    pub fn workspace_name(&self) -> &str {
        match self.shared.settings.workspace_name.as_str() {
            "" => DEFAULT_WORKSPACE,
            name => name,
        }
    }

    /// Names of the directory's workspaces, the default one first.
    ///
    /// # Errors
    /// The backend cannot be located or listed.
    pub async fn workspaces(&self) -> Result<Vec<String>, EngineError> {
        let dir = &self.shared.settings.workspace;
        let names = workspaces::list(dir, &StageRequest::default()).await;
        names.map_err(convert_init_error)
    }

    /// Starts an engine on another workspace of the same directory, created first with `create`,
    /// and selects that workspace. This engine keeps running. Shut it down before the new one takes
    /// the lock if both use the same workspace.
    ///
    /// # Errors
    /// The workspace does not exist, or exists already with `create`; its store cannot be opened.
    /// Nothing is selected then.
    pub async fn on_workspace(&self, name: &str, create: bool) -> Result<Self, EngineError> {
        let (dir, asked) = (&self.shared.settings.workspace, StageRequest::default());
        // Without this check, `TF_WORKSPACE` would silently override the new selection.
        if name != self.workspace_name() {
            workspaces::check_selectable().map_err(convert_init_error)?;
        }
        if create {
            let made = workspaces::create(dir, name, &asked, &Locking::default()).await;
            made.map_err(convert_init_error)?;
        } else if name != self.workspace_name()
            && !workspaces::exists(dir, name, &asked)
                .await
                .map_err(convert_init_error)?
        {
            return Err(NotFound::Workspace(name.to_owned()).into());
        }
        let settings = Settings {
            workspace_name: if name == DEFAULT_WORKSPACE { "" } else { name }.to_owned(),
            ..self.shared.settings.clone()
        };
        // Started before it is selected: after an error nothing has changed.
        let other = Box::pin(Self::start(settings)).await?;
        if name != self.workspace_name() {
            workspaces::select(dir, name).map_err(convert_init_error)?;
        }
        Ok(other)
    }
}

/// State by the configuration, with the encryption of plan files and of remote states. Errors are
/// reported when the state is first used.
pub(super) fn configured_state(
    settings: &Settings,
    bus: &Bus,
) -> (LocatedState, FileEncryption, RemoteStates) {
    let asked = StageRequest::with_variables(settings.variables.clone());
    let found = state_location::locate(&settings.workspace, &settings.workspace_name, &asked);
    let is_located = found.is_ok();
    let mut found = found.unwrap_or_else(|error| {
        let mut unsaid = state_location::default_location(&settings.workspace_name);
        if let Some(why) = error.refused {
            let why = why.to_string();
            let backend = Some(why.clone());
            let lacks = Absent {
                backend,
                ..Absent::default()
            };
            // The console then offers to initialize the backend.
            bus.emit(EventKind::Absent(lacks));
            unsaid.place = StatePlace::Refused(why);
        }
        unsaid
    });
    found.place =
        state_location::with_files(&settings.workspace, found.place, &settings.state_files);
    let state = LocatedState {
        place: found.place,
        encryption: found.encryption,
        is_located,
    };
    (state, found.plans, found.remote_states)
}
