//! Configurations of earlier deploys: reads them from the store and compares them with the files on
//! disk. A stage of one is like any other, except that no file on disk can make it stale.

use super::command::Operations;
use crate::error::EngineError;
use crate::stage::change::Stage;
use crate::stage::encoding::{self, StoredRequest};
use crate::stage::external_inputs::unstored_inputs;
use lang::diag::{Diagnostic, Diagnostics};
use model::*;
use std::sync::Arc;

/// Reasons why the configuration of a deploy cannot be staged.
#[derive(Debug, thiserror::Error)]
enum EarlierError {
    /// A deploy without a configuration destroyed everything.
    #[error(
        "deploy #{0} has no configuration files: it destroyed everything from a directory without a configuration; \
         run `flightdeck history` to choose another deploy"
    )]
    Empty(DeployId),
    #[error(
        "the configuration of deploy #{0} is not stored; check it out with your version control system, and stage it \
         from there"
    )]
    NotStored(DeployId),
}

impl From<EarlierError> for EngineError {
    fn from(error: EarlierError) -> Self {
        Self::refused(error)
    }
}

impl Operations {
    /// Reads the configuration of the deploy that a request names; other requests are unchanged.
    ///
    /// # Errors
    /// There is no such deploy, or its configuration is not stored.
    pub(super) async fn with_configuration(
        &self,
        request: StageRequest,
    ) -> Result<StageRequest, EngineError> {
        let Some(deploy) = request.configuration_of else {
            return Ok(request);
        };
        let store = self.memory.store();
        let (stage, files) = self.configuration_files(deploy).await?;
        // The newest stages have the values of all variables; of older ones, sensitive values are
        // deleted, and one of another version may be unreadable.
        let whole = store.stage(stage).await?;
        let asked = whole.and_then(|record| encoding::stored_request(&record).ok());
        let values = asked.map(
            |StoredRequest {
                 variables,
                 withheld,
                 ..
             }| {
                let values = variables.into_iter();
                let known = values.map(|(name, value)| (name, Some(value.unmark_deep().0)));
                known
                    .chain(withheld.into_iter().map(|name| (name.into(), None)))
                    .collect()
            },
        );
        let inputs = store.stage_inputs(stage).await?;
        let values = values.unwrap_or_default();
        let stored = encoding::stored_configuration(deploy, &files, inputs.as_ref(), values)?;
        Ok(StageRequest {
            stored: Some(Arc::new(stored)),
            ..request
        })
    }

    /// Stage of a deploy, and its configuration files.
    async fn configuration_files(
        &self,
        deploy: DeployId,
    ) -> Result<(StageId, Vec<(String, String)>), EngineError> {
        let summary = self.memory.deploy_record(deploy).await?.summary;
        let files = self.memory.store().snapshot(&summary.config_digest).await?;
        match files {
            None => Err(EarlierError::NotStored(deploy).into()),
            Some(files) if files.is_empty() => Err(EarlierError::Empty(deploy).into()),
            Some(files) => Ok((summary.stage, files)),
        }
    }

    /// Configuration files that differ between the disk and a deploy; `None` if those on disk have
    /// errors and cannot be compared.
    ///
    /// # Errors
    /// There is no such deploy, or its configuration is not stored.
    pub async fn configuration_difference(
        &self,
        deploy: DeployId,
    ) -> Result<Option<Vec<FileDifference>>, EngineError> {
        let (_, then) = self.configuration_files(deploy).await?;
        let now = self.load(&self.backend_request(), false).await?;
        Ok(now
            .ok()
            .map(|(now, _)| differing_files(&now.snapshot, &then)))
    }
}

/// Warning about files that functions have read from the disk for a stored configuration.
pub(super) fn unstored_files(stage: &Stage) -> Diagnostics {
    let Some(stored) = &stage.request.stored else {
        return Diagnostics::new();
    };
    let names = unstored_inputs(&stage.external_inputs, stored);
    if names.is_empty() {
        return Diagnostics::new();
    }
    let detail = format!(
        "The configuration of {} is staged with the present content of {}, because the store has no \
         content of that time.",
        stored.origin,
        names.join(", ")
    );
    Diagnostic::warning("Files of today are used", detail).into()
}
