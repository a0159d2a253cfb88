//! Queries on the installation of the workspace: missing modules, an uninitialized backend, a
//! running installation.

use super::State;
use model::InstallEnd;

impl State {
    /// Returns true if modules or an initialized backend are missing, so that the configuration
    /// cannot be read.
    pub fn cannot_be_read(&self) -> bool {
        let absent = &self.view.absent;
        !absent.modules.is_empty() || absent.backend.is_some()
    }

    /// Returns true if the last installation needs a decision about states in the previous backend.
    pub fn needs_migration_decision(&self) -> bool {
        let end = self.view.install.as_ref().and_then(|i| i.end.as_ref());
        matches!(end, Some(InstallEnd::Asks { .. }))
    }

    /// Returns true while an installation runs.
    pub fn installing(&self) -> bool {
        self.view.install.as_ref().is_some_and(|i| i.end.is_none())
    }
}
