//! Plan file: a recorded stage for a later `show` or `apply`. It has two lines, title and
//! signature, and then the content: JSON, compressed with zlib (RFC 1950), in base64.
//!
//! Everything that is shown of a plan file is made from the operations that it has, so that an
//! edited file cannot show one plan and make another. What the operations do not have is in
//! [`Surroundings`], which the deploy compares with its own.

use super::error::StageCodecError;
use super::read::restore_to_show;
use crate::stage::change::{Change, Stage};
use crate::stage::plan_json::Surroundings;
use crate::stage::show::redacted_summary;
use crate::stage::steps;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::secrets::Secrets;
use model::{Action, Diagnostic, Severity, StageId, StageMode, StageSummary};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use store::records::{CompressedJson, StageRecord};
use trust::plan_key::PlanKeys;
use workspace::load::config_digest;

/// Title of a plan file, before the version of its layout.
const TITLE: &str = "flightdeck plan ";
/// Version of the file's layout.
const LAYOUT: u32 = 3;
/// Version of the layout that was one JSON text.
const JSON_LAYOUT: u32 = 2;
/// A small file may have this many bytes of content, and a larger one this many for each of its
/// own.
const MIN_LIMIT: u64 = 16 << 20;
const MAX_RATIO: u64 = 200;
/// Maximum size of the content, in bytes, so that a small file cannot fill the memory.
const MAX_CONTENT: u64 = 1 << 30;

/// Content of a plan file, with sensitive values.
#[derive(Debug, Clone)]
pub struct StageFile {
    record: StageRecord,
    /// The record's stage, without the values that need its secrets.
    stage: Stage,
    surroundings: Surroundings,
    summary: StageSummary,
    is_signed: bool,
}

#[derive(Serialize, Deserialize)]
struct Content {
    stage: StageRecord,
    surroundings: Surroundings,
}

impl StageFile {
    /// Encodes and signs the plan file of a recorded stage.
    ///
    /// # Errors
    /// It cannot be encoded as JSON, or the user's key cannot be created.
    pub fn encode(
        stage: StageRecord,
        surroundings: Surroundings,
        keys: &PlanKeys,
    ) -> Result<String, StageCodecError> {
        let nothing = CompressedJson::compress(&());
        let content = Content {
            stage: StageRecord {
                // Made from the operations when the file is read.
                summary: nothing.map_err(|e| StageCodecError::text("summary", e))?,
                name: None,
                ..stage
            },
            surroundings,
        };
        let mut to = ZlibEncoder::new(Vec::new(), Compression::best());
        let written = serde_json::to_writer(&mut to, &content);
        written.map_err(|e| StageCodecError::text("file", e))?;
        let packed = to.finish().map_err(serde_json::Error::io);
        let packed = packed.map_err(|e| StageCodecError::text("file", e))?;
        let body = STANDARD.encode(packed);
        let signature = keys.sign(signed(&body).as_bytes())?;
        Ok(format!("{TITLE}{LAYOUT}\n{signature}\n{body}\n"))
    }

    /// Reads a plan file.
    ///
    /// # Errors
    /// It is not a plan file, has another layout, or was changed after it was written.
    pub fn read(text: &str, keys: &PlanKeys) -> Result<Self, StageCodecError> {
        let mut lines = text.lines();
        let title = lines.next().unwrap_or_default();
        let found = title.strip_prefix(TITLE).and_then(|n| n.parse().ok());
        match found {
            Some(LAYOUT) => {}
            Some(found) => return Err(layout(found)),
            None if is_json_layout(text) => return Err(layout(JSON_LAYOUT)),
            None => return Err(StageCodecError::NoStageFile),
        }
        let (signature, body) = (lines.next(), lines.next());
        let (Some(signature), Some(body), None) = (signature, body, lines.next()) else {
            return Err(StageCodecError::DamagedFile);
        };
        let is_signed = keys.check(signed(body).as_bytes(), signature)?;
        let packed = STANDARD.decode(body);
        let packed = packed.map_err(|_| StageCodecError::DamagedFile)?;
        let limit = MIN_LIMIT
            .max(MAX_RATIO * packed.len() as u64)
            .min(MAX_CONTENT);
        let unpacking = ZlibDecoder::new(packed.as_slice()).take(limit);
        let content = serde_json::from_reader(std::io::BufReader::new(unpacking));
        Self::new(
            content.map_err(|_| StageCodecError::DamagedFile)?,
            is_signed,
        )
    }

    fn new(content: Content, is_signed: bool) -> Result<Self, StageCodecError> {
        let mut record = content.stage;
        if config_digest(&record.snapshot) != record.config_digest {
            return Err(StageCodecError::Contradiction("configuration files"));
        }
        let stage = restore_to_show(&record)?;
        check_operations(&stage)?;
        // Otherwise the file would bring the configuration that is compared with it.
        if stage.request.configuration_of.is_some() && !is_signed {
            return Err(StageCodecError::UnsignedConfiguration);
        }
        let summary = redacted_summary(&stage, &sensitive_values(&stage));
        record.mode = stage.request.mode;
        record.counts = summary.counts;
        Ok(Self {
            record,
            stage,
            surroundings: content.surroundings,
            summary,
            is_signed,
        })
    }

    /// Returns false if no key of this process signed the file, so that parts of it which are only
    /// shown may be edited.
    pub fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// Returns the warning about a file that is not signed. It has the values of variables, because
    /// the deploy uses them and nothing else that is shown has them all.
    pub fn unsigned_warning(&self) -> Option<Diagnostic> {
        if self.is_signed {
            return None;
        }
        let given = self.surroundings.given_variables(&self.stage);
        let given = match given.is_empty() {
            true => String::new(),
            false => format!(". Values of variables in it:\n{}", given.join("\n")),
        };
        Some(Diagnostic {
            severity: Severity::Warning,
            summary: "The plan file is not signed".to_owned(),
            detail: format!(
                "No key that is known here signed it. Its operations are possible with its \
                 configuration and state, but somebody may have edited them, the values of \
                 variables, or parts that are only shown, such as commands, reasons and former \
                 values. Give both jobs the same FLIGHTDECK_PLAN_KEY, or apply with --digest{given}"
            ),
            address: None,
            range: None,
            snippet: None,
            intent: None,
            further: None,
        })
    }

    /// Returns the summary for display.
    pub fn summary(&self) -> &StageSummary {
        &self.summary
    }

    /// Returns the plan representation.
    pub fn plan(&self) -> serde_json::Value {
        self.surroundings.plan_json(&self.stage)
    }

    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Returns the stage record under another number.
    ///
    /// # Errors
    /// The summary cannot be encoded.
    pub fn record(&self, id: StageId) -> Result<StageRecord, StageCodecError> {
        // The summary repeats the number, which belongs to another store.
        let summary = StageSummary {
            stage: id,
            ..self.summary.clone()
        };
        let summary = CompressedJson::compress(&summary);
        Ok(StageRecord {
            id,
            summary: summary.map_err(|e| StageCodecError::text("summary", e))?,
            ..self.record.clone()
        })
    }

    /// Returns true if the store's stage of the same number is the one of this file, with the same
    /// selection.
    ///
    /// # Errors
    /// It is that stage, but with other operations: the file was changed.
    pub fn is_same_stage(&self, here: &StageRecord) -> Result<bool, StageCodecError> {
        if self.record.at != here.at {
            return Ok(false);
        }
        match self.record.detail == here.detail {
            true => Ok(self.record.left == here.left),
            false => Err(StageCodecError::Differs(here.id)),
        }
    }

    /// Returns the stage's number in the store that planned it.
    pub fn id(&self) -> StageId {
        self.record.id
    }
}

/// Refuses operations that no planning makes.
fn check_operations(stage: &Stage) -> Result<(), StageCodecError> {
    let mut ids = BTreeSet::new();
    if !stage.changes.iter().all(|change| ids.insert(change.id())) {
        return Err(StageCodecError::Contradiction("list of changes"));
    }
    let has_effect = stage.changes.iter().any(steps::has_effect);
    if stage.request.mode == StageMode::RefreshOnly && has_effect {
        return Err(StageCodecError::Contradiction("mode"));
    }
    if !stage.changes.iter().all(has_sides_of_action) {
        return Err(StageCodecError::Contradiction("list of planned objects"));
    }
    Ok(())
}

/// Returns true if the former and the planned object of a change are those of its action. The plan
/// representation shows both, so a destroy must not show an object that remains.
fn has_sides_of_action(change: &Change) -> bool {
    let (before, after) = (&change.before.value, &change.after.value);
    match change.action() {
        Action::Create => before.is_null() && !after.is_null(),
        Action::Update | Action::Replace | Action::ReplaceCreateFirst => {
            !before.is_null() && !after.is_null()
        }
        Action::Destroy => !before.is_null() && after.is_null(),
        Action::NoOp => before.clone().unmark_deep().0 == after.clone().unmark_deep().0,
        Action::Read | Action::Forget => true,
    }
}

/// Reads the keys of this process' user.
///
/// # Errors
/// The shared key is too short, or the user's key cannot be read.
pub fn plan_keys(workspace: &Path) -> Result<PlanKeys, StageCodecError> {
    Ok(PlanKeys::load(workspace, |name| std::env::var(name).ok())?)
}

/// Returns the digest of a plan file as written, `sha256:` and 64 hexadecimal digits.
pub fn plan_digest(text: &str) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(text)))
}

/// Returns the text that the signature is about.
fn signed(body: &str) -> String {
    format!("{TITLE}{LAYOUT}\n{body}")
}

fn layout(found: u32) -> StageCodecError {
    let known = LAYOUT;
    StageCodecError::FileLayout { found, known }
}

fn is_json_layout(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Head {
        format: String,
    }
    serde_json::from_str::<Head>(text).is_ok_and(|head| head.format == "flightdeck stage")
}

/// Returns the sensitive values of a stage, which texts of other values may repeat.
fn sensitive_values(stage: &Stage) -> Secrets {
    let secrets = Secrets::default();
    let changes = stage.changes.iter();
    let objects = changes.flat_map(|c| [&c.before.value, &c.after.value]);
    let outputs = stage.outputs.iter();
    let outputs = outputs.flat_map(|o| [&o.before, &o.after]).flatten();
    let all = objects.chain(outputs).chain(stage.variables.values());
    all.for_each(|value| secrets.register(value));
    secrets
}
