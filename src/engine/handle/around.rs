//! The verbs around a workspace: what it needs is fetched, its directory's other workspaces.

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
    /// Fetches the modules and providers that the configuration needs, and makes its backend ready;
    /// how it goes is in the events. An engine that has begun before is to be begun anew then.
    ///
    /// # Errors
    /// Something is not to be had, the configuration is wrong, cancellation.
    /// [`EngineError::StatesToBring`] where there are states at the place that the backend was
    /// before and `bring` does not say what becomes of them.
    pub async fn install(&self, bring: Bring) -> Result<(), EngineError> {
        Box::pin(self.shared.work.install(bring)).await
    }

    /// The name of the workspace that this engine works on, as operators know it.
    pub fn workspace_name(&self) -> &str {
        match self.shared.settings.named.as_str() {
            "" => named::DEFAULT,
            name => name,
        }
    }

    /// The names of the directory's workspaces, the default one first.
    ///
    /// # Errors
    /// It is not known where they are, or they cannot be told.
    pub async fn workspaces(&self) -> Result<Vec<String>, EngineError> {
        let dir = &self.shared.settings.workspace;
        let names = named::list(dir, &StageRequest::default()).await;
        names.map_err(unprepared)
    }

    /// An engine on another workspace of the same directory, which is made first where `create`
    /// says so, and is selected for every program that works there. This one goes on: it is for the
    /// caller to shut it down, and before the other one takes the lock where both are on the same
    /// workspace.
    ///
    /// # Errors
    /// There is no such workspace, or one already; its store cannot be opened. Nothing is selected
    /// then.
    pub async fn on_workspace(&self, name: &str, create: bool) -> Result<Self, EngineError> {
        let (dir, asked) = (&self.shared.settings.workspace, StageRequest::default());
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
        let other = Box::pin(Self::start(settings)).await?;
        if name != self.workspace_name() {
            named::select(dir, name).map_err(unprepared)?;
        }
        Ok(other)
    }
}

/// What the configuration says of the state's home. One that cannot be read is told when something
/// is to be done with it.
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
            bus.emit(EventKind::Absent(lacks));
            unsaid.place = Place::Refused(why);
        }
        unsaid
    });
    found.place = home::with_files(&settings.workspace, found.place, &settings.state_files);
    found
}
