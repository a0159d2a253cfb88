//! Encodes a stage into its record.

use super::error::StageCodecError;
use super::{KeptChange, KeptDrift, KeptMark, KeptOutput, LAYOUT, StoredValue};
use crate::stage::change::{Act, Change, Drift, OutputChange, Stage, StateOrigin};
use crate::stage::checked::Checked;
use crate::stage::conditions::Statuses;
use crate::stage::external_inputs::InputDigest;
use crate::stage::relevant::Relevant;
use crate::stage::sealing::{RecordedSecrets, Sealer, bytes_text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cty::{Mark, Marks, Path, Type, Value};
use model::{GroupPlan, StageRequest, StageSummary, VariableFlag};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use store::records::{CompressedJson, StageRecord, StateEdit};

/// Serialized form of [`super::Detail`]. Changes are encoded one by one during serialization,
/// because all of them at once take much memory.
#[derive(Serialize)]
struct Written<'a> {
    layout: u32,
    request: StageRequest,
    /// Ephemeral variables whose values were given; the request does not contain these.
    withheld: Vec<String>,
    origin: &'a StateOrigin,
    took_ms: u64,
    changes: OneByOne<'a>,
    outputs: Vec<KeptOutput>,
    drift: Vec<KeptDrift>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [GroupPlan],
    edits: &'a [StateEdit],
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed_edits: Option<String>,
    #[serde(skip_serializing_if = "RecordedSecrets::is_empty")]
    secrets: &'a RecordedSecrets,
    statuses: &'a Statuses,
    checked: &'a Checked,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connected_modules: Vec<Vec<&'a str>>,
    relevant: &'a [Relevant],
    variables: BTreeMap<String, StoredValue>,
    overridden: BTreeMap<String, Vec<StoredValue>>,
    sights: BTreeMap<String, &'a InputDigest>,
    /// Serialized last, because all values before it collect their types here.
    types: Collected<'a>,
}

struct OneByOne<'a>(&'a [Change], &'a RefCell<Keeper<'a>>);

impl Serialize for OneByOne<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.0.len()))?;
        for change in self.0 {
            let kept = self
                .1
                .borrow_mut()
                .change(change)
                .map_err(S::Error::custom)?;
            all.serialize_element(&kept)?;
        }
        all.end()
    }
}

struct Collected<'a>(&'a RefCell<Keeper<'a>>);

impl Serialize for Collected<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.borrow().types.serialize(serializer)
    }
}

/// Encodes a stage, while `show` builds its summary in another thread. `snapshot` is the
/// configuration as read: relative file names and contents.
///
/// # Errors
/// If a value cannot be encoded.
pub fn record(
    stage: &Stage,
    show: impl FnOnce() -> StageSummary + Send,
    snapshot: Vec<(String, String)>,
    name: Option<String>,
) -> Result<(StageRecord, StageSummary), StageCodecError> {
    // Both encodings are independent and slow for a large stage, so they run in parallel.
    let (detail, (summary, shown)) = std::thread::scope(|scope| {
        let shown = scope.spawn(|| {
            let summary = show();
            let packed = compress_json("summary", &summary);
            (summary, packed)
        });
        (
            detail(stage),
            shown
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    });
    let record = StageRecord {
        id: stage.id,
        name,
        at: stage.at,
        mode: stage.request.mode,
        config_digest: stage.digests.config.clone(),
        plugins_digest: stage.digests.plugins.clone(),
        state_serial: stage.state_serial,
        counts: summary.counts,
        summary: shown?,
        detail: detail?,
        left: stage.deselected.clone(),
        snapshot,
        inputs: None,
    };
    Ok((record, summary))
}

fn compress_json(
    what: &'static str,
    json: &impl Serialize,
) -> Result<CompressedJson, StageCodecError> {
    CompressedJson::compress(json).map_err(|source| StageCodecError::text(what, source))
}

fn detail(stage: &Stage) -> Result<CompressedJson, StageCodecError> {
    let mut keeper = Keeper::default();
    // Ephemeral values are never stored; the deploy must be given them again.
    let lasting = stage
        .variables
        .iter()
        .filter(|(_, v)| !v.contains_mark(&Mark::Ephemeral));
    let variables = lasting
        .map(|(name, v)| Ok((name.to_string(), keeper.value(v, &format!("var.{name}"))?)))
        .collect::<Result<_, StageCodecError>>()?;
    // Overridden values of ephemeral variables are as ephemeral as the values in use.
    let of_lasting = stage.overridden.iter().filter(|(name, _)| {
        let value = stage.variables.get(*name);
        value.is_some_and(|v| !v.contains_mark(&Mark::Ephemeral))
    });
    let overridden = of_lasting
        .map(|(name, values)| {
            let kept = values
                .iter()
                .map(|v| keeper.value(v, &format!("var.{name}")));
            Ok((name.to_string(), kept.collect::<Result<_, _>>()?))
        })
        .collect::<Result<_, StageCodecError>>()?;
    // Values of variables that have no reference are kept as they were given.
    let sealer = stage.secrets.sealer.as_deref();
    keeper.sealer = sealer;
    let outputs = stage
        .outputs
        .iter()
        .map(|o| keeper.output(o))
        .collect::<Result<_, _>>()?;
    let drift = stage
        .drift
        .iter()
        .map(|d| keeper.drift(d))
        .collect::<Result<_, _>>()?;
    let (request, withheld) = request_to_store(stage);
    let (edits, sealed_edits) = edits(stage)?;
    let keeper = RefCell::new(keeper);
    let written = Written {
        layout: LAYOUT,
        request,
        withheld,
        origin: &stage.origin,
        took_ms: stage.took_ms,
        changes: OneByOne(&stage.changes, &keeper),
        outputs,
        drift,
        groups: &stage.groups,
        sights: stage
            .external_inputs
            .iter()
            .map(|(look, sight)| (look.to_string(), sight))
            .collect(),
        edits,
        sealed_edits,
        secrets: &stage.secrets.recorded,
        statuses: &stage.statuses,
        checked: &stage.checked,
        connected_modules: stage
            .connected_modules
            .iter()
            .map(|module| module.0.iter().map(AsRef::as_ref).collect())
            .collect(),
        relevant: &stage.relevant,
        variables,
        overridden,
        types: Collected(&keeper),
    };
    compress_json("detail", &written)
}

/// Returns the edits, or their encrypted form if a secret is in them.
fn edits(stage: &Stage) -> Result<(&[StateEdit], Option<String>), StageCodecError> {
    let Some(sealer) = &stage.secrets.sealer else {
        return Ok((&stage.edits, None));
    };
    let text = serde_json::to_string(&stage.edits);
    let text = text.map_err(|e| StageCodecError::text("edits", e))?;
    Ok(match sealer.seal_text(&text)? {
        Some(sealed) => (&[], Some(sealed)),
        None => (&stage.edits, None),
    })
}

/// Returns the request without values of ephemeral variables, and the names of these variables:
/// they must be given again for the deploy.
fn request_to_store(stage: &Stage) -> (StageRequest, Vec<String>) {
    let mut request = stage.request.clone();
    let fleeting = |name: &str| {
        stage
            .variables
            .get(name)
            .is_some_and(|v| v.contains_mark(&Mark::Ephemeral))
    };
    let mut withheld = Vec::new();
    request.variables.retain(|flag| match flag {
        VariableFlag::Value { name, .. } if fleeting(name) => {
            withheld.push(name.clone());
            false
        }
        _ => true,
    });
    (request, withheld)
}

/// Encoder; collects types.
#[derive(Default)]
struct Keeper<'a> {
    /// Encrypts sensitive values, if the stage uses secrets.
    sealer: Option<&'a Sealer>,
    types: Vec<Json>,
    numbers: HashMap<Type, usize>,
    /// Type of the previous value. Values of one resource type follow each other, and hashing a
    /// type takes longer than encoding a value.
    last: Option<(Type, usize)>,
}

impl Keeper<'_> {
    fn value(&mut self, value: &Value, of: &str) -> Result<StoredValue, StageCodecError> {
        let (plain, marks) = value.clone().unmark_deep_with_paths();
        let (plain, sealed) = match self.sealer {
            Some(sealer) => sealer.seal(plain, &marks)?,
            None => (plain, Vec::new()),
        };
        let sealed = sealed
            .into_iter()
            .map(|(path, text)| (path_json(&path), vec![KeptMark::Sealed(text)]));
        let bytes =
            cty::msgpack::encode(&plain, plain.ty()).map_err(|source| StageCodecError::Value {
                of: of.to_owned(),
                source,
            })?;
        Ok(StoredValue(
            self.number(plain.ty()),
            STANDARD.encode(bytes),
            marks
                .iter()
                .map(|(path, marks)| (path_json(path), encode_marks(marks)))
                .chain(sealed)
                .collect(),
        ))
    }

    fn number(&mut self, ty: &Type) -> usize {
        match &self.last {
            Some((last, number)) if last == ty => return *number,
            _ => {}
        }
        let next = self.types.len();
        // The index of the type in `types` is its number in the record.
        let number = *self.numbers.entry(ty.clone()).or_insert(next);
        if number == next {
            self.types.push(ty.to_json_value());
        }
        self.last = Some((ty.clone(), number));
        number
    }

    fn change(&mut self, change: &Change) -> Result<KeptChange, StageCodecError> {
        let id = change.id();
        let (before, after) = (&change.before, &change.after);
        let recorded = &change.recorded;
        // An unchanged object is stored once.
        let planned = (!after.value.raw_equals(&before.value)).then_some(&after.value);
        let config = change
            .config()
            // Omitted, and evaluated again by the deploy: an ephemeral value must not outlive the
            // run.
            .filter(|c| !c.contains_mark(&Mark::Ephemeral));
        Ok(KeptChange {
            address: change.address.to_string(),
            deposed: change.deposed.clone(),
            previous: change.previous.as_ref().map(ToString::to_string),
            provider: change.provider.to_string(),
            action: change.action(),
            reason: change.reason,
            before: self.value(&before.value, &id)?,
            after: planned.map(|v| self.value(v, &id)).transpose()?,
            config: config.map(|c| self.value(c, &id)).transpose()?,
            private: bytes_text(&after.private, self.sealer)?,
            prior_private: bytes_text(&before.private, self.sealer)?,
            replace_paths: change.replace_paths().iter().map(path_json).collect(),
            schema_version: change.schema_version,
            dependencies: change.dependencies.clone(),
            prior_dependencies: recorded.dependencies.clone(),
            needs: change.needs.clone(),
            prior_needs: recorded.needs.clone(),
            create_before_destroy: change.create_first(),
            skip_destroy: change.skips_destroy(),
            tainted: recorded.tainted,
            importing: change.importing().cloned(),
            identity_before: before
                .identity
                .as_ref()
                .map(|v| self.value(v, &id))
                .transpose()?,
            identity_after: after
                .identity
                .as_ref()
                .map(|v| self.value(v, &id))
                .transpose()?,
            drifted: change.drifted,
            deferred_read: matches!(change.act, Act::Read),
            commands: change.commands().to_vec(),
        })
    }

    fn output(&mut self, change: &OutputChange) -> Result<KeptOutput, StageCodecError> {
        let of = format!("output.{}", change.name);
        Ok(KeptOutput {
            name: change.name.to_string(),
            action: change.action,
            before: change
                .before
                .as_ref()
                .map(|v| self.value(v, &of))
                .transpose()?,
            after: change
                .after
                .as_ref()
                .map(|v| self.value(v, &of))
                .transpose()?,
            null: change.null,
            sensitive: change.sensitive,
            needs: change.needs.clone(),
        })
    }

    fn drift(&mut self, drift: &Drift) -> Result<KeptDrift, StageCodecError> {
        let of = drift.address.to_string();
        Ok(KeptDrift {
            deposed: drift.deposed.clone(),
            previous: drift.previous.as_ref().map(ToString::to_string),
            provider: drift.provider.to_string(),
            action: drift.action,
            before: self.value(&drift.before, &of)?,
            after: self.value(&drift.after, &of)?,
            aspects: drift.aspects.clone(),
            address: of,
        })
    }
}

/// Encodes a path. A path into a set ends at the set, like the marks in it.
fn path_json(path: &Path) -> Json {
    let mut path = path.clone();
    loop {
        match path.to_json_value() {
            Ok(json) => return json,
            Err(_) if path.pop().is_some() => {}
            Err(_) => return Json::Array(Vec::new()),
        }
    }
}

fn encode_marks(marks: &Marks) -> Vec<KeptMark> {
    let kept = |mark: &Mark| match mark {
        Mark::Sensitive => KeptMark::Sensitive,
        Mark::Ephemeral => KeptMark::Ephemeral,
        Mark::Deprecated(text) => KeptMark::Deprecated(text.to_string()),
        Mark::Custom(n) => KeptMark::Custom(*n),
        Mark::Named(name) => KeptMark::Named(name.to_string()),
    };
    marks.iter().map(kept).collect()
}
