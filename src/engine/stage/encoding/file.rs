//! Stage file: a stage record and its plan representation in one file, for a later `show` or
//! `deploy`.

use super::error::{DecodeError, StageCodecError};
use model::{StageId, StageSummary};
use serde::{Deserialize, Serialize};
use store::records::{CompressedJson, StageRecord};

/// Format marker of a stage file.
const FORMAT: &str = "flightdeck stage";
/// Version of the file's layout.
const LAYOUT: u32 = 2;

/// Content of a stage file: the stage record, including sensitive values, and its plan
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
    /// Creates the file of a recorded stage.
    pub fn new(stage: StageRecord, plan: &serde_json::Value) -> Self {
        Self {
            format: FORMAT.to_owned(),
            layout: LAYOUT,
            plan: statefile::compact(&plan.to_string()),
            stage,
        }
    }

    /// Encodes the file.
    ///
    /// # Errors
    /// If it cannot be encoded as JSON.
    pub fn text(&self) -> Result<String, StageCodecError> {
        serde_json::to_string(self).map_err(|e| StageCodecError::text("file", e))
    }

    /// Parses a stage file.
    ///
    /// # Errors
    /// If it is not a stage file, or has another layout.
    pub fn read(text: &str) -> Result<Self, StageCodecError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            layout: u32,
        }
        // Format and layout are parsed alone first, because the rest may differ in other versions.
        let head: Head = serde_json::from_str(text).map_err(|_| StageCodecError::NoStageFile)?;
        if head.format != FORMAT {
            return Err(StageCodecError::NoStageFile);
        }
        if head.layout != LAYOUT {
            return Err(StageCodecError::FileLayout {
                found: head.layout,
                known: LAYOUT,
            });
        }
        serde_json::from_str(text).map_err(|e| StageCodecError::text("file", e))
    }

    /// Returns the summary for display.
    ///
    /// # Errors
    /// If it cannot be decoded.
    pub fn summary(&self) -> Result<StageSummary, StageCodecError> {
        let read = self.stage.summary.read();
        let mut summary: StageSummary =
            read.map_err(|e: serde_json::Error| StageCodecError::Decode {
                stage: self.stage.id,
                source: DecodeError::from(e),
            })?;
        // The selection is stored beside the summary, which has the one of the plan.
        summary.left.clone_from(&self.stage.left);
        Ok(summary)
    }

    /// Returns the stage record under another number.
    ///
    /// # Errors
    /// If it cannot be decoded.
    pub fn record(self, id: StageId) -> Result<StageRecord, StageCodecError> {
        let mut summary = self.summary()?;
        // The summary repeats the number, which belongs to another store.
        summary.stage = id;
        Ok(StageRecord {
            id,
            name: None,
            summary: CompressedJson::compress(&summary)
                .map_err(|e| StageCodecError::text("summary", e))?,
            ..self.stage
        })
    }

    /// Returns true if the file contains this same stage: time and content are equal.
    pub fn is_same_stage(&self, record: &StageRecord) -> bool {
        (self.stage.at, &self.stage.detail) == (record.at, &record.detail)
    }

    /// Returns the stage's number in the store that planned it.
    pub fn id(&self) -> StageId {
        self.stage.id
    }
}
