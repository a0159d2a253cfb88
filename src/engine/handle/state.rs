//! The verbs that look at the state, or change it by hand.

use super::Engine;
use crate::engine::error::EngineError;
use crate::engine::state::Settled;
use crate::engine::words::*;

impl Engine {
    /// Takes an object that is there into the state. What is unknown of the address is settled by
    /// it.
    ///
    /// # Errors
    /// The address is not in the configuration or has an object already, its provider knows no such
    /// object, a held lock.
    pub async fn import(&self, object: ImportObject) -> Result<StateChange, EngineError> {
        Box::pin(self.shared.work.import(object)).await
    }

    /// Takes objects out of the state without destroying them: instances, whole resources or
    /// modules, deposed objects by the name that lists show. What is unknown of them is settled by
    /// it.
    ///
    /// # Errors
    /// One of them is not there, which keeps all of them; a held lock.
    pub async fn forget(
        &self,
        addresses: Vec<String>,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        self.shared.work.forget(addresses, dry_run).await
    }

    /// Marks the current object of an instance to be replaced, or takes that mark away, which
    /// settles what is unknown of its provisioners.
    ///
    /// # Errors
    /// There is no such object, or it is so already; a held lock.
    pub async fn taint(&self, address: String, tainted: bool) -> Result<StateChange, EngineError> {
        self.shared.work.taint(address, tainted).await
    }

    /// Gives what is at an address another one: an instance, a whole resource, a module. With
    /// `dry_run` nothing is changed.
    ///
    /// # Errors
    /// It is not there, something is at the other address, they are of different kinds; a held
    /// lock.
    pub async fn rename(
        &self,
        from: String,
        to: String,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        self.shared.work.rename(from, to, dry_run).await
    }

    /// Says of all objects of one provider that they belong to another. With `dry_run` nothing is
    /// changed.
    ///
    /// # Errors
    /// One of them is no address of a provider; a held lock.
    pub async fn replace_provider(
        &self,
        from: String,
        to: String,
        dry_run: bool,
    ) -> Result<Vec<StateChange>, EngineError> {
        self.shared.work.replace_provider(from, to, dry_run).await
    }

    /// Puts a state file's text into the place of the state; `None` where it was so already. With
    /// `force` also one that is older, or of another lineage.
    ///
    /// # Errors
    /// It is no state, or may not be put there; a held lock.
    pub async fn push_state(
        &self,
        text: Vec<u8>,
        force: bool,
    ) -> Result<Option<StateChange>, EngineError> {
        self.shared.work.push_state(text, force).await
    }

    /// The outputs that the state has, by name.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn outputs(&self) -> Result<Vec<OutputValue>, EngineError> {
        self.shared.memory.outputs().await
    }

    /// Changes of the state by hand, newest first; all that are kept for a `limit` of 0.
    pub async fn state_changes(&self, limit: u32) -> Result<Vec<StateChange>, EngineError> {
        Ok(self.shared.memory.store().state_changes(limit).await?)
    }

    /// The state, for showing.
    pub async fn state_rows(&self) -> Result<Vec<StateRow>, EngineError> {
        self.shared.memory.state_rows().await
    }

    /// Goes on with one of two states that were changed apart. The answer: the file that the other
    /// is kept in, where there was anything to keep.
    ///
    /// # Errors
    /// Somebody else works on the workspace or on the state, or it cannot be read or written.
    pub async fn use_state(
        &self,
        with: Settled,
    ) -> Result<Option<std::path::PathBuf>, EngineError> {
        self.shared.work.use_state(with).await
    }

    /// The state as state version 4.
    pub async fn export_state(&self) -> Result<statefile::StateFile, EngineError> {
        self.shared.memory.export_state().await
    }

    /// The state as its representation for programs (`format_version` 1.0), sensitive values
    /// included.
    ///
    /// # Errors
    /// The state cannot be read.
    pub async fn state_json(&self) -> Result<serde_json::Value, EngineError> {
        self.shared.work.state_json().await
    }
}
