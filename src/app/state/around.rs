//! What the workspace lacks, and how installing it goes.

use super::State;
use crate::engine::words::InstallEnd;

impl State {
    /// Whether the configuration cannot be read before something is installed or initialized.
    pub fn cannot_be_read(&self) -> bool {
        let absent = &self.view.absent;
        !absent.modules.is_empty() || absent.backend.is_some()
    }

    /// Whether the last installation ended with the question what becomes of states that are where
    /// the backend was before.
    pub fn asks_what_to_bring(&self) -> bool {
        let end = self.view.install.as_ref().and_then(|i| i.end.as_ref());
        matches!(end, Some(InstallEnd::Asks { .. }))
    }

    /// Whether what the configuration needs is being fetched now.
    pub fn installing(&self) -> bool {
        self.view.install.as_ref().is_some_and(|i| i.end.is_none())
    }
}
