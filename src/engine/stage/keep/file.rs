//! A stage in a file of its own, to be looked at and applied later.

use super::error::{BackError, KeepError};
use crate::engine::store::model::{Packed, StageRecord};
use crate::engine::words::{StageId, StageSummary};
use serde::{Deserialize, Serialize};

/// What such a file says it is.
const FORMAT: &str = "flightdeck stage";
/// How it is laid out.
const LAYOUT: u32 = 2;

/// What such a file holds: the stage as it is on record, sensitive values included, and its plan
/// representation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageFile {
    format: String,
    layout: u32,
    /// Text of the plan representation.
    pub plan: String,
    stage: StageRecord,
}

impl StageFile {
    /// Of a stage on record.
    pub fn new(stage: StageRecord, plan: &serde_json::Value) -> Self {
        Self {
            format: FORMAT.to_owned(),
            layout: LAYOUT,
            plan: statefile::compact(&plan.to_string()),
            stage,
        }
    }

    /// Its text.
    ///
    /// # Errors
    /// It has no form as JSON.
    pub fn text(&self) -> Result<String, KeepError> {
        serde_json::to_string(self).map_err(|e| KeepError::text("file", e))
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// It is no such file, or one that a later flightdeck wrote.
    pub fn read(text: &str) -> Result<Self, KeepError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            layout: u32,
        }
        let head: Head = serde_json::from_str(text).map_err(|_| KeepError::NoStageFile)?;
        if head.format != FORMAT {
            return Err(KeepError::NoStageFile);
        }
        if head.layout != LAYOUT {
            return Err(KeepError::FileLayout {
                found: head.layout,
                known: LAYOUT,
            });
        }
        serde_json::from_str(text).map_err(|e| KeepError::text("file", e))
    }

    /// The stage as it is shown.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn summary(&self) -> Result<StageSummary, KeepError> {
        let read = self.stage.summary.read();
        let mut summary: StageSummary = read.map_err(|e: serde_json::Error| KeepError::Back {
            stage: self.stage.id,
            source: BackError::from(e),
        })?;
        summary.left.clone_from(&self.stage.left);
        Ok(summary)
    }

    /// The stage as it would be on record under another number.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn record(self, id: StageId) -> Result<StageRecord, KeepError> {
        let mut summary = self.summary()?;
        summary.stage = id;
        Ok(StageRecord {
            id,
            name: None,
            summary: Packed::of(&summary).map_err(|e| KeepError::text("summary", e))?,
            ..self.stage
        })
    }

    /// Whether it holds this very stage.
    pub fn holds(&self, record: &StageRecord) -> bool {
        (self.stage.at, &self.stage.detail) == (record.at, &record.detail)
    }

    /// The number that it had where it was worked out.
    pub fn id(&self) -> StageId {
        self.stage.id
    }
}
