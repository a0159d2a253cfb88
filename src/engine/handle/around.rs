//! Engine methods for the workspace as a whole: installation, and switching between the workspaces
//! of its directory.

use super::Engine;
use crate::engine::bus::Bus;
use crate::engine::error::{EngineError, NotThere};
use crate::engine::install::unprepared;
use crate::engine::settings::Settings;
use crate::engine::state::Locking;
use crate::engine::state::Place;
use crate::engine::words::{Absent, Bring, EventKind, StageRequest};
use crate::engine::workspace::{home, named};

impl Engine {
    /// Installs modules and providers and initializes the backend; progress is reported by events.
    /// Restart an engine that is already in use afterwards.
    ///
    /// # Errors
    /// A download failed, the configuration is wrong, cancellation. [`EngineError::StatesToBring`]
    /// if the backend changed, there are states at the old location, and `bring` does not decide
    /// about them.
    pub async fn install(&self, bring: Bring) -> Result<(), EngineError> {
        Box::pin(self.shared.work.install(bring)).await
    }

    /// Name of this engine's workspace, for operators.
    pub fn workspace_name(&self) -> &str {
        match self.shared.settings.named.as_str() {
            "" => named::DEFAULT,
            name => name,
        }
    }

    /// Names of the directory's workspaces, the default one first.
    ///
    /// # Errors
    /// The backend cannot be located or listed.
    pub async fn workspaces(&self) -> Result<Vec<String>, EngineError> {
        let dir = &self.shared.settings.workspace;
        let names = named::list(dir, &StageRequest::default()).await;
        names.map_err(unprepared)
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
            named::selectable().map_err(unprepared)?;
        }
        if create {
            let made = named::create(dir, name, &asked, &Locking::default()).await;
            made.map_err(unprepared)?;
        } else if name != self.workspace_name()
            && !named::exists(dir, name, &asked).await.map_err(unprepared)?
        {
            return Err(NotThere::Workspace(name.to_owned()).into());
        }
        let settings = Settings {
            named: if name == named::DEFAULT { "" } else { name }.to_owned(),
            ..self.shared.settings.clone()
        };
        // Started before it is selected: after an error nothing has changed.
        let other = Box::pin(Self::start(settings)).await?;
        if name != self.workspace_name() {
            named::select(dir, name).map_err(unprepared)?;
        }
        Ok(other)
    }
}

/// Location of the state by the configuration. Errors are reported when the state is first used.
pub(super) fn said_of_home(settings: &Settings, bus: &Bus) -> home::Whereabouts {
    let asked = StageRequest::with_variables(settings.variables.clone());
    let found = home::of(&settings.workspace, &settings.named, &asked);
    let mut found = found.unwrap_or_else(|error| {
        let mut unsaid = home::unsaid(&settings.named);
        if let Some(why) = error.refused {
            let why = why.to_string();
            let backend = Some(why.clone());
            let lacks = Absent {
                backend,
                ..Absent::default()
            };
            // The console then offers to initialize the backend.
            bus.emit(EventKind::Absent(lacks));
            unsaid.place = Place::Refused(why);
        }
        unsaid
    });
    found.place = home::with_files(&settings.workspace, found.place, &settings.state_files);
    found
}
