//! Engine methods that read the state or change it manually.

use super::Engine;
use crate::error::EngineError;
use model::*;
use state::ConflictChoice;

impl Engine {
    /// Imports an existing object into the state. Settles the unknown outcomes of the address.
    ///
    /// # Errors
    /// The address is not in the configuration or already has an object, the provider does not find
    /// the object, or a lock is held.
    pub async fn import(&self, object: ImportObject) -> Result<StateChange, EngineError> {
        Box::pin(self.shared.operations.import(object)).await
    }

    /// Removes objects from the state without destroying them: instances, resources, modules, or
    /// deposed objects by their listed names. Settles their unknown outcomes.
    ///
    /// # Errors
    /// An address does not exist, which keeps all of them; a lock is held.
    pub async fn forget(
        &self,
        addresses: Vec<String>,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        self.shared.operations.forget(addresses, dry_run).await
    }

    /// Taints the current object of an instance, or untaints it, which settles the unknown outcomes
    /// of its provisioners.
    ///
    /// # Errors
    /// There is no such object, or it is already in that condition; a lock is held.
    pub async fn taint(&self, address: String, tainted: bool) -> Result<StateChange, EngineError> {
        self.shared.operations.taint(address, tainted).await
    }

    /// Moves an instance, a resource or a module to another address. With `dry_run` nothing is
    /// changed.
    ///
    /// # Errors
    /// The object does not exist, the new address is taken, the addresses are of different kinds; a
    /// lock is held.
    pub async fn rename(
        &self,
        from: String,
        to: String,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        self.shared.operations.rename(from, to, dry_run).await
    }

    /// Assigns all objects of one provider to another. With `dry_run` nothing is changed.
    ///
    /// # Errors
    /// An address is not a provider's; a lock is held.
    pub async fn replace_provider(
        &self,
        from: String,
        to: String,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        self.shared
            .operations
            .replace_provider(from, to, dry_run)
            .await
    }

    /// Replaces the state with a state file's text; `None` if it was equal. With `force`, accepts
    /// an older state or one of another lineage.
    ///
    /// # Errors
    /// The text is not a state or is refused; a lock is held.
    pub async fn push_state(
        &self,
        text: Vec<u8>,
        force: bool,
    ) -> Result<Option<StateChange>, EngineError> {
        self.shared.operations.push_state(text, force).await
    }

    /// Outputs of the state, by name.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn outputs(&self) -> Result<Vec<OutputValue>, EngineError> {
        self.shared.memory.outputs().await
    }

    /// Outputs of the state for display, with sensitive values masked.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn output_rows(&self) -> Result<Vec<OutputRow>, EngineError> {
        self.shared.memory.output_rows().await
    }

    /// One sensitive value of the newest stage or of the state, for the operator's screen. It
    /// appears in no event and in no record.
    ///
    /// # Errors
    /// The value is unknown or no longer available, or the state cannot be read.
    pub async fn reveal(&self, place: &SensitivePlace) -> Result<Revealed, EngineError> {
        self.shared.operations.reveal(place).await
    }

    /// Manual changes of the state, newest first; all stored ones for a `limit` of 0.
    pub async fn state_changes(&self, limit: u32) -> Result<Vec<StateChange>, EngineError> {
        Ok(self.shared.memory.store().state_changes(limit).await?)
    }

    /// State for display.
    pub async fn state_rows(&self) -> Result<Vec<StateRow>, EngineError> {
        self.shared.operations.state_rows().await
    }

    /// Changes of existence, readiness and drift of the objects of an address, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn observation_history(
        &self,
        address: &str,
        limit: u32,
    ) -> Result<Vec<ObservationChange>, EngineError> {
        let store = self.shared.memory.store();
        Ok(store.observation_history(address, limit).await?)
    }

    /// Continues with one of two conflicting states. Returns the file with the other, if there was
    /// anything to save.
    ///
    /// # Errors
    /// The workspace or the state is locked, or the state cannot be read or written.
    pub async fn use_state(
        &self,
        with: ConflictChoice,
    ) -> Result<Option<std::path::PathBuf>, EngineError> {
        self.shared.operations.use_state(with).await
    }

    /// State as state version 4.
    pub async fn export_state(&self) -> Result<statefile::StateFile, EngineError> {
        self.shared.memory.export_state().await
    }

    /// State in OpenTofu's JSON format (`format_version` 1.0), including sensitive values.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn state_json(&self) -> Result<serde_json::Value, EngineError> {
        self.shared.operations.state_json().await
    }
}
