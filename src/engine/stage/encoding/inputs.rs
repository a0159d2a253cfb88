//! Record of the inputs of a stage beside its configuration files. With both, a later stage can use
//! the same configuration again. Unlike the other parts of a stage, it is kept with its deploy.

use super::error::StageCodecError;
use crate::stage::change::Stage;
use crate::stage::external_inputs::InputDigest;
use cty::{Mark, Value, json};
use lang::functions::ExternalInput;
use lang::stored::{StoredConfiguration, StoredInput};
use model::{DeployId, VariableFlag};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use store::records::CompressedJson;
use workspace::load::{self, Loaded};

/// Maximum size of the stored content of one file, in bytes.
const MAX_TEXT: u64 = 256 << 10;
/// Maximum size of all stored contents, in bytes.
const MAX_TEXTS: usize = 4 << 20;

#[derive(Serialize, Deserialize)]
struct Inputs {
    /// Directories of the modules, by the names of their calls joined by dots.
    modules: BTreeMap<String, String>,
    /// Results of file functions, by the text of the lookup.
    inputs: BTreeMap<String, Input>,
    /// Values of the root variables; `None` if it is sensitive or ephemeral.
    variables: BTreeMap<String, Option<Json>>,
}

#[derive(Serialize, Deserialize)]
struct Input {
    digest: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Encodes the inputs of a stage of the configuration `loaded`. Reads the files again that
/// functions have read, and stores the contents that are unchanged, small and text.
///
/// # Errors
/// If a value cannot be encoded.
pub fn input_record(stage: &Stage, loaded: &Loaded) -> Result<CompressedJson, StageCodecError> {
    let called = loaded.root.all().into_iter().skip(1);
    let modules = called.map(|module| {
        let directory = match &*module.dir_text {
            "." => String::new(),
            text => load::usual_name(text),
        };
        (module.path.0.join("."), directory)
    });
    let record = Inputs {
        modules: modules.collect(),
        inputs: inputs(stage, loaded),
        variables: variables(stage, loaded)?,
    };
    CompressedJson::compress(&record).map_err(|e| StageCodecError::text("inputs", e))
}

fn inputs(stage: &Stage, loaded: &Loaded) -> BTreeMap<String, Input> {
    let mut left = MAX_TEXTS;
    let stored = stage.request.stored.as_deref();
    let modules = loaded.root.all();
    // A record that is kept must not name a sensitive path. Providers answer anew.
    let kept = |(look, found): &(&ExternalInput, &InputDigest)| {
        !found.secret && !matches!(look, ExternalInput::Answer(_))
    };
    let all = stage.external_inputs.iter().filter(kept);
    let input = |(look, found): (&ExternalInput, &InputDigest)| {
        // The files on disk may differ from those of a stored configuration.
        let before = stored.and_then(|stored| stored.inputs.get(look));
        let text = match before {
            Some(before) => before.text.as_deref().map(str::to_owned),
            None if is_inside(look.location(), modules.iter().map(|m| &*m.dir_text)) => {
                look.current_text(&loaded.dir, MAX_TEXT, &found.digest)
            }
            None => None,
        };
        let text = text.filter(|text| text.len() <= left);
        left -= text.as_ref().map_or(0, String::len);
        let digest = found.digest.clone();
        (look.to_string(), Input { digest, text })
    };
    all.map(input).collect()
}

/// Returns true for a path in one of the directories of the configuration. Contents of others, such
/// as keys in the home directory, are not stored.
fn is_inside<'d>(path: &str, mut directories: impl Iterator<Item = &'d str>) -> bool {
    let is_elsewhere = path.starts_with('~') || path.starts_with("../") || path.starts_with('/');
    !is_elsewhere || directories.any(|dir| dir != "." && Path::new(path).starts_with(dir))
}

fn variables(
    stage: &Stage,
    loaded: &Loaded,
) -> Result<BTreeMap<String, Option<Json>>, StageCodecError> {
    let declared = &loaded.root.variables;
    let is_sensitive = |name: &str| {
        declared
            .get(name)
            .is_none_or(|v| v.sensitive || v.ephemeral)
    };
    let is_given = |name: &str| {
        let mut flags = stage.request.variables.iter();
        flags.any(|flag| matches!(flag, VariableFlag::Value { name: n, .. } if n == name))
    };
    let mut out = BTreeMap::new();
    for (name, value) in &stage.variables {
        let value = match () {
            // An ephemeral default is in the configuration.
            () if value.contains_mark(&Mark::Ephemeral) && !is_given(name) => continue,
            () if is_sensitive(name) || has_marks(value) => None,
            () => Some(json::to_json_value(value).map_err(|source| {
                let of = format!("var.{name}");
                StageCodecError::Value { of, source }
            })?),
        };
        out.insert(name.to_string(), value);
    }
    Ok(out)
}

fn has_marks(value: &Value) -> bool {
    !value.clone().unmark_deep().1.is_empty()
}

/// Configuration of a deploy from its files and the record of its other inputs, which older
/// versions did not store. `values` are values of variables that are stored elsewhere.
///
/// # Errors
/// If the record cannot be decoded.
pub fn stored_configuration(
    deploy: DeployId,
    files: &[(String, String)],
    record: Option<&CompressedJson>,
    values: BTreeMap<Arc<str>, Option<Value>>,
) -> Result<StoredConfiguration, StageCodecError> {
    let wrong = |e| StageCodecError::text("inputs", e);
    let inputs: Option<Inputs> = record
        .map(CompressedJson::read)
        .transpose()
        .map_err(wrong)?;
    let files = files.iter();
    let mut out = StoredConfiguration {
        origin: format!("deploy #{deploy}"),
        files: files
            .map(|(name, text)| (load::present_name(name), text.as_str().into()))
            .collect(),
        ..StoredConfiguration::default()
    };
    let Some(inputs) = inputs else {
        out.variables = values;
        return Ok(out);
    };
    let modules = inputs.modules.into_iter();
    out.modules = modules
        .map(|(key, dir)| (key, load::present_name(&dir)))
        .collect();
    for (look, Input { digest, text }) in inputs.inputs {
        // A lookup of another version is like one that is not stored.
        if let Ok(look) = look.parse() {
            let text = text.map(Arc::from);
            out.inputs.insert(look, StoredInput { digest, text });
        }
    }
    for (name, value) in inputs.variables {
        let decoded = value.map(|json| json::decode_value(&json, &json::implied_type(&json)));
        let decoded = decoded.transpose().map_err(|source| {
            let of = format!("var.{name}");
            StageCodecError::Value { of, source }
        })?;
        out.variables.insert(name.into(), decoded);
    }
    // These have their types, and sensitive ones are among them.
    out.variables.extend(values);
    Ok(out)
}
