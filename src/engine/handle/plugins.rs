//! Commands for the development of plugins.

use super::{ConformRequest, Engine};
use crate::conformance::Records;
use crate::error::EngineError;
use model::PluginId;
use std::path::Path;

impl Engine {
    /// Declares the executable at a path as a provider, like a development override. Launches none.
    ///
    /// # Errors
    /// There is no such file.
    pub async fn declare_executable(&self, path: &Path) -> Result<PluginId, EngineError> {
        self.shared.operations.declare_executable(path).await
    }

    /// Reports of earlier checks in this directory, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn conform_reports(&self) -> Result<Vec<conform::Report>, EngineError> {
        self.shared.operations.conform_reports().await
    }

    /// Checks a provider against the protocol's rules, and destroys what the checks created. Failed
    /// checks are part of the report.
    ///
    /// # Errors
    /// The request names no type of the provider, or too many types.
    pub async fn conform(
        &self,
        request: &ConformRequest,
        records: &Records,
    ) -> Result<conform::Report, EngineError> {
        Box::pin(self.shared.operations.conform(request, records)).await
    }

    /// Destroys the recorded objects of an earlier check of a provider. Returns the objects that
    /// remain, or may remain.
    ///
    /// # Errors
    /// The provider cannot be started or configured.
    pub async fn clean_conform(
        &self,
        request: &ConformRequest,
        records: &Records,
    ) -> Result<Vec<conform::Leftover>, EngineError> {
        Box::pin(self.shared.operations.clean_conform(request, records)).await
    }
}
