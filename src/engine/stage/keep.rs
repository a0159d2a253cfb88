//! A stage as the store keeps it, and back. Values are kept as msgpack with their marks beside them; types are kept once.
//! Ephemeral values are never kept: a configured object that has some is worked out again when the stage is deployed.

use super::change::{Change, Digests, Drift, Importing, OutputChange, Stage};
use super::conditions::Statuses;
use super::managed::Reason;
use crate::engine::api::StageRequest;
use crate::engine::event::{Action, StageSummary};
use crate::engine::store::model::{StageRecord, StateEdit};
use crate::engine::workspace::provider_addr::ConfigKey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cty::schema::Schema;
use cty::{Mark, Marks, Path, Type, Value};
use lang::addr::{AbsInstance, Resource};
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Version of the detail's layout; another one is refused.
const LAYOUT: u32 = 1;

/// As it is read; see [`Written`].
#[derive(Deserialize)]
struct Detail {
    layout: u32,
    request: StageRequest,
    took_ms: u64,
    /// Types of values, each once.
    types: Vec<Json>,
    changes: Vec<KeptChange>,
    outputs: Vec<KeptOutput>,
    drift: Vec<KeptDrift>,
    edits: Vec<StateEdit>,
    statuses: Statuses,
    variables: BTreeMap<String, Kept>,
}

/// The same as it is written: changes are turned into text one by one, since all of them at once take much memory.
#[derive(Serialize)]
struct Written<'a> {
    layout: u32,
    request: StageRequest,
    took_ms: u64,
    changes: OneByOne<'a>,
    outputs: Vec<KeptOutput>,
    drift: Vec<KeptDrift>,
    edits: &'a [StateEdit],
    statuses: &'a Statuses,
    variables: BTreeMap<String, Kept>,
    /// Behind everything that has values.
    types: Collected<'a>,
}

struct OneByOne<'a>(&'a [Change], &'a RefCell<Keeper>);

impl Serialize for OneByOne<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_seq(Some(self.0.len()))?;
        for change in self.0 {
            let kept = self.1.borrow_mut().change(change).map_err(S::Error::custom)?;
            all.serialize_element(&kept)?;
        }
        all.end()
    }
}

struct Collected<'a>(&'a RefCell<Keeper>);

impl Serialize for Collected<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.borrow().types.serialize(serializer)
    }
}

/// A value: its type's number, base64 of its msgpack, and its marks by path.
#[derive(Serialize, Deserialize)]
struct Kept(usize, String, #[serde(default)] Vec<(Json, Vec<KeptMark>)>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KeptMark {
    Sensitive,
    Ephemeral,
    Deprecated(String),
    Custom(i64),
    Named(String),
}

#[derive(Serialize, Deserialize)]
struct KeptChange {
    address: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deposed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<String>,
    provider: String,
    action: Action,
    reason: Option<Reason>,
    before: Kept,
    /// `None` where it is as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Kept>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    config: Option<Kept>,
    private: String,
    prior_private: String,
    replace_paths: Vec<Json>,
    schema_version: i64,
    dependencies: BTreeSet<String>,
    prior_dependencies: BTreeSet<String>,
    create_before_destroy: bool,
    skip_destroy: bool,
    tainted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    importing: Option<Importing>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity_before: Option<Kept>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity_after: Option<Kept>,
    drifted: bool,
    deferred_read: bool,
}

#[derive(Serialize, Deserialize)]
struct KeptOutput {
    name: String,
    action: Action,
    before: Option<Kept>,
    after: Option<Kept>,
    sensitive: bool,
}

#[derive(Serialize, Deserialize)]
struct KeptDrift {
    address: String,
    previous: Option<String>,
    provider: String,
    action: Action,
    before: Kept,
    after: Kept,
}

/// The record of a stage, and what is shown of it, which `show` makes meanwhile. `snapshot` is the configuration as it was
/// read: relative names and texts.
///
/// # Errors
/// In words, where a value cannot be kept.
pub fn record(
    stage: &Stage,
    show: impl FnOnce() -> StageSummary + Send,
    snapshot: Vec<(String, String)>,
    name: Option<String>,
) -> Result<(StageRecord, StageSummary), String> {
    let (detail, (summary, shown)) = std::thread::scope(|scope| {
        let shown = scope.spawn(|| {
            let summary = show();
            let text = text("summary", &summary);
            (summary, text)
        });
        (detail(stage), shown.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let record = StageRecord {
        id: stage.id,
        name,
        at: stage.at,
        mode: stage.request.mode,
        config_digest: stage.digests.config.clone(),
        variables_digest: stage.digests.variables.clone(),
        plugins_digest: stage.digests.plugins.clone(),
        state_serial: stage.state_serial,
        counts: summary.counts,
        summary: shown?,
        detail: detail?,
        left: Vec::new(),
        snapshot,
    };
    Ok((record, summary))
}

fn text(what: &str, json: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(json).map_err(|e| format!("the {what} of the stage cannot be kept: {e}"))
}

fn detail(stage: &Stage) -> Result<String, String> {
    let mut keeper = Keeper::default();
    let outputs = stage.outputs.iter().map(|o| keeper.output(o)).collect::<Result<_, _>>()?;
    let drift = stage.drift.iter().map(|d| keeper.drift(d)).collect::<Result<_, _>>()?;
    let lasting = stage.variables.iter().filter(|(_, v)| !v.contains_mark(&Mark::Ephemeral));
    let variables =
        lasting.map(|(name, v)| Ok((name.to_string(), keeper.value(v, &format!("var.{name}"))?))).collect::<Result<_, String>>()?;
    let keeper = RefCell::new(keeper);
    let written = Written {
        layout: LAYOUT,
        request: kept_request(stage),
        took_ms: stage.took_ms,
        changes: OneByOne(&stage.changes, &keeper),
        outputs,
        drift,
        edits: &stage.edits,
        statuses: &stage.statuses,
        variables,
        types: Collected(&keeper),
    };
    text("detail", &written)
}

/// What was asked for, without the values of ephemeral variables: who deploys the stage gives them again.
fn kept_request(stage: &Stage) -> StageRequest {
    let mut request = stage.request.clone();
    let fleeting = |name: &str| stage.variables.get(name).is_some_and(|v| v.contains_mark(&Mark::Ephemeral));
    request.vars.retain(|(name, _)| !fleeting(name));
    request
}

/// The stage of a record. `schemas` answers the schema of a resource (by provider address and resource) where the
/// provider is at hand; values must fit it.
///
/// # Errors
/// In words, where the record cannot be read or does not fit the schemas of now.
pub fn restore(record: &StageRecord, schemas: impl Fn(&str, &Resource) -> Option<Schema>) -> Result<Stage, String> {
    let broken = |e: String| format!("stage {} cannot be read back: {e}; stage again", record.id);
    let detail: Detail = serde_json::from_str(&record.detail).map_err(|e| broken(e.to_string()))?;
    if detail.layout != LAYOUT {
        return Err(broken(format!("its layout is {}, and this flightdeck knows {LAYOUT}", detail.layout)));
    }
    let types = detail.types.iter().map(|t| Type::from_json_value(t).map_err(|e| broken(e.to_string()))).collect::<Result<_, _>>()?;
    let mut finder = Finder { types, schemas: &schemas, known: HashMap::new() };
    Ok(Stage {
        id: record.id,
        request: detail.request,
        at: record.at,
        took_ms: detail.took_ms,
        digests: Digests {
            config: record.config_digest.clone(),
            variables: record.variables_digest.clone(),
            plugins: record.plugins_digest.clone(),
        },
        state_serial: record.state_serial,
        changes: detail.changes.into_iter().map(|c| finder.change(c)).collect::<Result<_, _>>().map_err(broken)?,
        outputs: detail.outputs.into_iter().map(|o| finder.output(o)).collect::<Result<_, _>>().map_err(broken)?,
        drift: detail.drift.into_iter().map(|d| finder.drift(d)).collect::<Result<_, _>>().map_err(broken)?,
        edits: detail.edits,
        statuses: detail.statuses,
        variables: detail
            .variables
            .iter()
            .map(|(name, v)| Ok((name.as_str().into(), finder.value(v)?)))
            .collect::<Result<_, String>>()
            .map_err(broken)?,
    })
}

/// What the stage of a record was asked for.
///
/// # Errors
/// In words, where the record cannot be read.
pub fn request(record: &StageRecord) -> Result<StageRequest, String> {
    #[derive(Deserialize)]
    struct Asked {
        request: StageRequest,
    }
    let asked: Asked =
        serde_json::from_str(&record.detail).map_err(|e| format!("stage {} cannot be read back: {e}; stage again", record.id))?;
    Ok(asked.request)
}

/// Writes; collects types.
#[derive(Default)]
struct Keeper {
    types: Vec<Json>,
    numbers: HashMap<Type, usize>,
}

impl Keeper {
    fn value(&mut self, value: &Value, of: &str) -> Result<Kept, String> {
        let (plain, marks) = value.clone().unmark_deep_with_paths();
        let bytes = cty::msgpack::encode(&plain, plain.ty()).map_err(|e| format!("{of} cannot be kept: {e}"))?;
        let number = match self.numbers.get(plain.ty()) {
            Some(number) => *number,
            None => {
                self.types.push(plain.ty().to_json_value());
                self.numbers.insert(plain.ty().clone(), self.types.len() - 1);
                self.types.len() - 1
            }
        };
        Ok(Kept(number, STANDARD.encode(bytes), marks.iter().map(|(path, marks)| (path_json(path), kept_marks(marks))).collect()))
    }

    fn change(&mut self, change: &Change) -> Result<KeptChange, String> {
        let id = change.id();
        let after = (!change.after.raw_equals(&change.before)).then_some(&change.after);
        let config = change.config.as_ref().filter(|c| !c.contains_mark(&Mark::Ephemeral));
        Ok(KeptChange {
            address: change.address.to_string(),
            deposed: change.deposed.clone(),
            previous: change.previous.as_ref().map(ToString::to_string),
            provider: change.provider.to_string(),
            action: change.action,
            reason: change.reason,
            before: self.value(&change.before, &id)?,
            after: after.map(|v| self.value(v, &id)).transpose()?,
            config: config.map(|c| self.value(c, &id)).transpose()?,
            private: STANDARD.encode(&change.private),
            prior_private: STANDARD.encode(&change.prior_private),
            replace_paths: change.replace_paths.iter().map(path_json).collect(),
            schema_version: change.schema_version,
            dependencies: change.dependencies.clone(),
            prior_dependencies: change.prior_dependencies.clone(),
            create_before_destroy: change.create_before_destroy,
            skip_destroy: change.skip_destroy,
            tainted: change.tainted,
            importing: change.importing.clone(),
            identity_before: change.identity_before.as_ref().map(|v| self.value(v, &id)).transpose()?,
            identity_after: change.identity_after.as_ref().map(|v| self.value(v, &id)).transpose()?,
            drifted: change.drifted,
            deferred_read: change.deferred_read,
        })
    }

    fn output(&mut self, change: &OutputChange) -> Result<KeptOutput, String> {
        let of = format!("output.{}", change.name);
        Ok(KeptOutput {
            name: change.name.to_string(),
            action: change.action,
            before: change.before.as_ref().map(|v| self.value(v, &of)).transpose()?,
            after: change.after.as_ref().map(|v| self.value(v, &of)).transpose()?,
            sensitive: change.sensitive,
        })
    }

    fn drift(&mut self, drift: &Drift) -> Result<KeptDrift, String> {
        let of = drift.address.to_string();
        Ok(KeptDrift {
            previous: drift.previous.as_ref().map(ToString::to_string),
            provider: drift.provider.to_string(),
            action: drift.action,
            before: self.value(&drift.before, &of)?,
            after: self.value(&drift.after, &of)?,
            address: of,
        })
    }
}

/// Reads; finds schemas once for each resource.
struct Finder<'a> {
    types: Vec<Type>,
    schemas: &'a dyn Fn(&str, &Resource) -> Option<Schema>,
    known: HashMap<(String, String), Option<Type>>,
}

impl Finder<'_> {
    fn value(&self, kept: &Kept) -> Result<Value, String> {
        let ty = self.types.get(kept.0).ok_or_else(|| format!("there is no type {}", kept.0))?;
        let bytes = STANDARD.decode(&kept.1).map_err(|e| e.to_string())?;
        let value = cty::msgpack::decode(&bytes, ty).map_err(|e| e.to_string())?;
        let mut marks = Vec::with_capacity(kept.2.len());
        for (path, names) in &kept.2 {
            let path = Path::from_json_value(path).map_err(|e| e.to_string())?;
            marks.push((path, names.iter().map(mark).collect::<Marks>()));
        }
        Ok(value.mark_with_paths(&marks))
    }

    /// A value of a resource: as its schema of now has it.
    fn object(&mut self, kept: &Kept, provider: &ConfigKey, address: &AbsInstance) -> Result<Value, String> {
        let value = self.value(kept)?;
        let key = (provider.address.to_string(), address.resource.to_string());
        let schemas = self.schemas;
        let ty = self.known.entry(key).or_insert_with(|| Some(schemas(&provider.address, &address.resource)?.implied_type().clone()));
        match ty {
            Some(ty) if value.ty() != ty => {
                value.convert(ty).map_err(|e| format!("{address} does not fit the schema of its provider any more: {e}"))
            }
            _ => Ok(value),
        }
    }

    fn change(&mut self, kept: KeptChange) -> Result<Change, String> {
        let address = instance(&kept.address)?;
        let provider = provider(&kept.provider)?;
        let before = self.object(&kept.before, &provider, &address)?;
        Ok(Change {
            deposed: kept.deposed,
            previous: kept.previous.as_deref().map(instance).transpose()?,
            action: kept.action,
            reason: kept.reason,
            after: kept.after.as_ref().map_or_else(|| Ok(before.clone()), |after| self.object(after, &provider, &address))?,
            before,
            config: kept.config.as_ref().map(|c| self.object(c, &provider, &address)).transpose()?,
            private: STANDARD.decode(kept.private).map_err(|e| e.to_string())?,
            prior_private: STANDARD.decode(kept.prior_private).map_err(|e| e.to_string())?,
            replace_paths: kept
                .replace_paths
                .iter()
                .map(|p| Path::from_json_value(p).map_err(|e| e.to_string()))
                .collect::<Result<_, _>>()?,
            schema_version: kept.schema_version,
            dependencies: kept.dependencies,
            prior_dependencies: kept.prior_dependencies,
            create_before_destroy: kept.create_before_destroy,
            skip_destroy: kept.skip_destroy,
            tainted: kept.tainted,
            importing: kept.importing,
            identity_before: kept.identity_before.as_ref().map(|v| self.value(v)).transpose()?,
            identity_after: kept.identity_after.as_ref().map(|v| self.value(v)).transpose()?,
            drifted: kept.drifted,
            deferred_read: kept.deferred_read,
            address,
            provider,
        })
    }

    fn output(&self, kept: KeptOutput) -> Result<OutputChange, String> {
        Ok(OutputChange {
            name: kept.name.into(),
            action: kept.action,
            before: kept.before.as_ref().map(|v| self.value(v)).transpose()?,
            after: kept.after.as_ref().map(|v| self.value(v)).transpose()?,
            sensitive: kept.sensitive,
        })
    }

    fn drift(&mut self, kept: KeptDrift) -> Result<Drift, String> {
        let address = instance(&kept.address)?;
        let provider = provider(&kept.provider)?;
        Ok(Drift {
            previous: kept.previous.as_deref().map(instance).transpose()?,
            action: kept.action,
            before: self.object(&kept.before, &provider, &address)?,
            after: self.object(&kept.after, &provider, &address)?,
            address,
            provider,
        })
    }
}

fn instance(text: &str) -> Result<AbsInstance, String> {
    text.parse().map_err(|e: lang::addr::AddrError| format!("{text:?}: {e}"))
}

fn provider(text: &str) -> Result<ConfigKey, String> {
    ConfigKey::parse(text).ok_or_else(|| format!("{text:?} is no provider configuration"))
}

/// The path as far as it can be written: one that leads into a set ends at the set, as its marks do.
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

fn kept_marks(marks: &Marks) -> Vec<KeptMark> {
    let kept = |mark: &Mark| match mark {
        Mark::Sensitive => KeptMark::Sensitive,
        Mark::Ephemeral => KeptMark::Ephemeral,
        Mark::Deprecated(text) => KeptMark::Deprecated(text.to_string()),
        Mark::Custom(n) => KeptMark::Custom(*n),
        Mark::Named(name) => KeptMark::Named(name.to_string()),
    };
    marks.iter().map(kept).collect()
}

fn mark(kept: &KeptMark) -> Mark {
    match kept {
        KeptMark::Sensitive => Mark::Sensitive,
        KeptMark::Ephemeral => Mark::Ephemeral,
        KeptMark::Deprecated(text) => Mark::Deprecated(text.as_str().into()),
        KeptMark::Custom(n) => Mark::Custom(*n),
        KeptMark::Named(name) => Mark::Named(name.as_str().into()),
    }
}

#[cfg(test)]
#[path = "keep_tests.rs"]
mod tests;
