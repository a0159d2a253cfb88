//! Decodes a stage from its record.

use super::error::{DecodeError, StageCodecError};
use super::{Detail, KeptChange, KeptDrift, KeptMark, KeptOutput, LAYOUT, StoredValue};
use crate::stage::change::{
    Act, Change, Configured, Details, Digests, Drift, Object, OutputChange, Recorded, Stage,
};
use crate::stage::sealing::{RecordedSecrets, SealError, Sealer, StageSecrets, text_bytes};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cty::schema::Schema;
use cty::{Mark, Marks, Path, Type, Value};
use lang::addr::{AbsInstance, ModulePath, Resource};
use lang::config::Overridden;
use model::secrets::MASK;
use model::{ConfigKey, StageRequest};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::records::StageRecord;

/// Decodes the stage of a record. `schemas` returns the schema of a resource (by provider address
/// and resource) if the provider is loaded; values are converted to it. Without the `sealer` of its
/// secrets, sensitive values are unknown.
///
/// # Errors
/// If the record cannot be decoded or does not fit the current schemas.
pub fn restore(
    record: &StageRecord,
    sealer: Option<Arc<Sealer>>,
    schemas: impl Fn(&str, &Resource) -> Option<Schema>,
) -> Result<Stage, StageCodecError> {
    let sealed = sealer.map_or(Sealed::Unknown, Sealed::Opened);
    read(record, sealed, &schemas).map_err(|source| StageCodecError::Decode {
        stage: record.id,
        source,
    })
}

/// Decodes the stage of a record for display without providers and secrets. Encrypted texts are
/// masked; other encrypted values are unknown.
///
/// # Errors
/// The record cannot be decoded.
pub fn restore_to_show(record: &StageRecord) -> Result<Stage, StageCodecError> {
    read(record, Sealed::Masked, &|_, _| None).map_err(|source| StageCodecError::Decode {
        stage: record.id,
        source,
    })
}

/// Result of decoding an encrypted value.
enum Sealed {
    Opened(Arc<Sealer>),
    Unknown,
    Masked,
}

impl Sealed {
    fn sealer(&self) -> Option<&Sealer> {
        match self {
            Self::Opened(sealer) => Some(sealer),
            _ => None,
        }
    }
}

fn modules(paths: Vec<Vec<String>>) -> BTreeSet<ModulePath> {
    let path = |names: Vec<String>| ModulePath(names.into_iter().map(Into::into).collect());
    paths.into_iter().map(path).collect()
}

fn read(
    record: &StageRecord,
    sealed: Sealed,
    schemas: &dyn Fn(&str, &Resource) -> Option<Schema>,
) -> Result<Stage, DecodeError> {
    let text = record.detail.text().map_err(serde_json::Error::io)?;
    // The layout is checked alone first: another layout need not have the same fields.
    check_layout(&text)?;
    let detail: Detail = serde_json::from_str(&text)?;
    // Values refer to their types by number, so the types are decoded first.
    let mut finder = Finder {
        types: types(&detail.types)?,
        sealed: &sealed,
        schemas,
        known: HashMap::new(),
    };
    Ok(Stage {
        id: record.id,
        request: detail.request,
        at: record.at,
        took_ms: detail.took_ms,
        digests: Digests {
            config: record.config_digest.clone(),
            plugins: record.plugins_digest.clone(),
        },
        external_inputs: detail
            .sights
            .into_iter()
            .map(|(look, sight)| Ok((look.parse().map_err(DecodeError::ExternalInput)?, sight)))
            .collect::<Result<_, DecodeError>>()?,
        origin: detail.origin,
        state_serial: record.state_serial,
        changes: detail
            .changes
            .into_iter()
            .map(|c| finder.change(c))
            .collect::<Result<_, _>>()?,
        deselected: record.left.clone(),
        outputs: detail
            .outputs
            .into_iter()
            .map(|o| finder.output(o))
            .collect::<Result<_, _>>()?,
        drift: detail
            .drift
            .into_iter()
            .map(|d| finder.drift(d))
            .collect::<Result<_, _>>()?,
        reads: Vec::new(),
        groups: detail.groups,
        edits: match (detail.sealed_edits, sealed.sealer()) {
            (Some(text), Some(sealer)) => serde_json::from_str(&sealer.open_text(&text)?)?,
            _ => detail.edits,
        },
        statuses: detail.statuses,
        checked: detail.checked,
        connected_modules: modules(detail.connected_modules),
        relevant: detail.relevant,
        variables: finder.variables(&detail.variables)?,
        overridden: finder.overridden(&detail.overridden)?,
        secrets: StageSecrets {
            recorded: detail.secrets,
            sealer: match sealed {
                Sealed::Opened(sealer) => Some(sealer),
                _ => None,
            },
        },
    })
}

/// Request of a recorded stage.
pub struct StoredRequest {
    pub request: StageRequest,
    /// Ephemeral variables whose values were given; the request does not contain these.
    pub withheld: Vec<String>,
    /// Values of the other variables.
    pub variables: BTreeMap<Arc<str>, Value>,
    pub overridden: Overridden,
    /// References to the values of further variables.
    pub secrets: RecordedSecrets,
}

/// Decodes the request of a recorded stage.
///
/// # Errors
/// If the record cannot be decoded.
pub fn stored_request(record: &StageRecord) -> Result<StoredRequest, StageCodecError> {
    decode_request(record).map_err(|source| StageCodecError::Decode {
        stage: record.id,
        source,
    })
}

fn decode_request(record: &StageRecord) -> Result<StoredRequest, DecodeError> {
    #[derive(Deserialize)]
    struct Part {
        request: StageRequest,
        withheld: Vec<String>,
        types: Vec<serde_json::Value>,
        variables: BTreeMap<String, StoredValue>,
        overridden: BTreeMap<String, Vec<StoredValue>>,
        #[serde(default)]
        secrets: RecordedSecrets,
    }
    let text = record.detail.text().map_err(serde_json::Error::io)?;
    // As in `read`, other layouts may have other fields.
    check_layout(&text)?;
    let part: Part = serde_json::from_str(&text)?;
    let finder = Finder {
        types: types(&part.types)?,
        sealed: &Sealed::Unknown,
        // Variables have types of their own, so no provider needs to be loaded.
        schemas: &|_, _| None,
        known: HashMap::new(),
    };
    Ok(StoredRequest {
        variables: finder.variables(&part.variables)?,
        overridden: finder.overridden(&part.overridden)?,
        request: part.request,
        withheld: part.withheld,
        secrets: part.secrets,
    })
}

/// Returns an error if the record has the layout of another version.
fn check_layout(text: &str) -> Result<(), DecodeError> {
    #[derive(Deserialize)]
    struct Version {
        layout: u32,
    }
    match serde_json::from_str::<Version>(text)?.layout {
        LAYOUT => Ok(()),
        found => Err(DecodeError::Layout {
            found,
            known: LAYOUT,
        }),
    }
}

fn types(kept: &[serde_json::Value]) -> Result<Vec<Type>, DecodeError> {
    let types = kept.iter().map(Type::from_json_value);
    Ok(types.collect::<Result<_, _>>()?)
}

/// Decoder; looks up the schema of each resource once.
struct Finder<'a> {
    types: Vec<Type>,
    sealed: &'a Sealed,
    schemas: &'a dyn Fn(&str, &Resource) -> Option<Schema>,
    known: HashMap<(String, String), Option<Type>>,
}

impl Finder<'_> {
    fn overridden(
        &self,
        kept: &BTreeMap<String, Vec<StoredValue>>,
    ) -> Result<Overridden, DecodeError> {
        let values = |all: &Vec<StoredValue>| {
            let values = all.iter().map(|v| self.value(v));
            values.collect::<Result<_, DecodeError>>()
        };
        kept.iter()
            .map(|(name, all)| Ok((name.as_str().into(), values(all)?)))
            .collect()
    }

    fn variables(
        &self,
        kept: &BTreeMap<String, StoredValue>,
    ) -> Result<BTreeMap<Arc<str>, Value>, DecodeError> {
        kept.iter()
            .map(|(name, v)| Ok((name.as_str().into(), self.value(v)?)))
            .collect()
    }

    fn value(&self, kept: &StoredValue) -> Result<Value, DecodeError> {
        let ty = self.types.get(kept.0).ok_or(DecodeError::NoType(kept.0))?;
        let bytes = STANDARD.decode(&kept.1)?;
        let mut value = cty::msgpack::decode(&bytes, ty)?;
        // The msgpack form has no marks, so they are stored by path.
        let mut marks = Vec::with_capacity(kept.2.len());
        for (path, names) in &kept.2 {
            let path = Path::from_json_value(path)?;
            if let [KeptMark::Sealed(text)] = &names[..] {
                value = match self.sealed {
                    Sealed::Opened(sealer) => opened(&value, &path, text, sealer)?,
                    Sealed::Unknown => value,
                    Sealed::Masked => masked(value, &path),
                };
            }
            marks.push((path, names.iter().filter_map(mark).collect::<Marks>()));
        }
        Ok(value.mark_with_paths(&marks))
    }

    /// Decodes a resource's value, converted to the current schema.
    fn object(
        &mut self,
        kept: &StoredValue,
        provider: &ConfigKey,
        address: &AbsInstance,
    ) -> Result<Value, DecodeError> {
        let value = self.value(kept)?;
        let key = (provider.address.to_string(), address.resource.to_string());
        let schemas = self.schemas;
        // Providers may have been upgraded since the stage was recorded.
        let ty = self.known.entry(key).or_insert_with(|| {
            Some(
                schemas(&provider.address, &address.resource)?
                    .implied_type()
                    .clone(),
            )
        });
        match ty {
            Some(ty) if value.ty() != ty => {
                value.convert(ty).map_err(|source| DecodeError::Misfit {
                    address: address.to_string(),
                    source,
                })
            }
            _ => Ok(value),
        }
    }

    fn change(&mut self, kept: KeptChange) -> Result<Change, DecodeError> {
        let address = instance(&kept.address)?;
        let provider = provider(&kept.provider)?;
        let before = self.object(&kept.before, &provider, &address)?;
        let after = match &kept.after {
            Some(after) => self.object(after, &provider, &address)?,
            // Unchanged objects are stored once.
            None => before.clone(),
        };
        let config = kept.config.as_ref();
        let config = config.map(|c| self.object(c, &provider, &address));
        let paths = kept.replace_paths.iter().map(Path::from_json_value);
        let details = Details {
            by: Configured {
                config: config.transpose()?,
                create_first: kept.create_before_destroy,
                forgets: kept.skip_destroy,
            },
            importing: kept.importing,
            replace_paths: paths.collect::<Result<_, _>>()?,
            commands: kept.commands,
        };
        let identity =
            |kept: &Option<StoredValue>| kept.as_ref().map(|v| self.value(v)).transpose();
        Ok(Change {
            deposed: kept.deposed,
            previous: kept.previous.as_deref().map(instance).transpose()?,
            act: Act::of(kept.action, details),
            reason: kept.reason,
            before: Object {
                value: before,
                private: text_bytes(&kept.prior_private, self.sealed.sealer())?,
                identity: identity(&kept.identity_before)?,
            },
            after: Object {
                value: after,
                private: text_bytes(&kept.private, self.sealed.sealer())?,
                identity: identity(&kept.identity_after)?,
            },
            schema_version: kept.schema_version,
            dependencies: kept.dependencies,
            needs: kept.needs,
            recorded: Recorded {
                dependencies: kept.prior_dependencies,
                needs: kept.prior_needs,
                tainted: kept.tainted,
            },
            drifted: kept.drifted,
            address,
            provider,
        })
    }

    fn output(&self, kept: KeptOutput) -> Result<OutputChange, DecodeError> {
        Ok(OutputChange {
            name: kept.name.into(),
            action: kept.action,
            before: kept.before.as_ref().map(|v| self.value(v)).transpose()?,
            after: kept.after.as_ref().map(|v| self.value(v)).transpose()?,
            null: kept.null,
            sensitive: kept.sensitive,
            needs: kept.needs,
        })
    }

    fn drift(&mut self, kept: KeptDrift) -> Result<Drift, DecodeError> {
        let address = instance(&kept.address)?;
        let provider = provider(&kept.provider)?;
        Ok(Drift {
            deposed: kept.deposed,
            previous: kept.previous.as_deref().map(instance).transpose()?,
            action: kept.action,
            before: self.object(&kept.before, &provider, &address)?,
            after: self.object(&kept.after, &provider, &address)?,
            aspects: kept.aspects,
            address,
            provider,
        })
    }
}

fn instance(text: &str) -> Result<AbsInstance, DecodeError> {
    text.parse().map_err(|source| DecodeError::Address {
        text: text.to_owned(),
        source,
    })
}

fn provider(text: &str) -> Result<ConfigKey, DecodeError> {
    ConfigKey::parse(text).ok_or_else(|| DecodeError::Provider(text.to_owned()))
}

/// Returns a value with its encrypted part at a path.
fn opened(value: &Value, path: &Path, sealed: &str, sealer: &Sealer) -> Result<Value, DecodeError> {
    let damaged = DecodeError::Seal(SealError::Damaged);
    let Ok(part) = path.apply(value) else {
        return Err(damaged);
    };
    let part = sealer.open(sealed, part.ty())?;
    value.with_at(path, part).ok_or(damaged)
}

/// Returns a value with a mask for an encrypted text. A mask of another type would be a wrong
/// value.
fn masked(value: Value, path: &Path) -> Value {
    let is_text = path
        .apply(&value)
        .is_ok_and(|part| *part.ty() == Type::String);
    let mask = || value.with_at(path, Value::string(MASK));
    is_text.then(mask).flatten().unwrap_or(value)
}

fn mark(kept: &KeptMark) -> Option<Mark> {
    Some(match kept {
        KeptMark::Sensitive => Mark::Sensitive,
        KeptMark::Ephemeral => Mark::Ephemeral,
        KeptMark::Deprecated(text) => Mark::Deprecated(text.as_str().into()),
        KeptMark::Custom(n) => Mark::Custom(*n),
        KeptMark::Named(name) => Mark::Named(name.as_str().into()),
        KeptMark::Sealed(_) => return None,
    })
}
