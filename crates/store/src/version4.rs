//! Conversion between the store's records and state version 4.

use super::records::{State, StateObject, StateOutput};
use lang::addr::{AbsInstance, AddrError, InstanceKey, Mode};
use model::cores;
use model::{ConfigKey, TERRAFORM_VERSION};
use serde::{Deserialize, Serialize};
use statefile::{Fields, Instance, Key, Output, Resource, StateFile};
use std::collections::BTreeMap;

/// Reasons why a readable state file cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Version4Error {
    #[error("{address} is not a valid address: {}", .source.why)]
    Address {
        address: String,
        source: Box<AddrError>,
    },
    #[error("{address} has the provider {provider:?}, which is not a valid provider address")]
    Provider { address: String, provider: String },
    #[error("its serial {0} is too large for a 64-bit signed number")]
    Serial(u64),
    #[error(
        "{0} has its attributes as a flat map, the format before version 0.12; run \"terraform apply\" of version 0.12 or 0.13 to upgrade it"
    )]
    Flat(String),
    #[error("{address} depends on {on:?}, which is not a valid address: {}", .source.why)]
    Dependency {
        address: String,
        on: String,
        source: Box<AddrError>,
    },
    #[error("its terraform_version is {0:?}, which is not a valid version")]
    Writer(String),
    #[error("the type of output {name:?} is invalid: {source}")]
    OutputType {
        name: String,
        source: cty::TypeJsonError,
    },
    #[error("the value of output {name:?} is invalid: {source}")]
    OutputValue {
        name: String,
        source: cty::CodecError,
    },
    #[error("the check result of {kind} {address:?} has no valid address")]
    Check { kind: String, address: String },
}

/// Checked fields of a check result.
#[derive(Deserialize)]
struct CheckResult {
    object_kind: String,
    config_addr: String,
    #[serde(default)]
    objects: Option<Vec<CheckedObject>>,
}

#[derive(Deserialize)]
struct CheckedObject {
    object_addr: String,
}

/// Unknown fields that a record preserves.
#[derive(Default, Serialize, Deserialize)]
struct Unknown {
    #[serde(default)]
    resource: Fields,
    #[serde(default)]
    instance: Fields,
}

/// Converts to state version 4. Skips objects with an invalid address, which a store cannot have.
pub fn version4(state: &State) -> StateFile {
    let mut resources: BTreeMap<(String, Mode, String, String, String), Resource> = BTreeMap::new();
    for object in &state.objects {
        let Ok(address) = object.address.parse::<AbsInstance>() else {
            continue;
        };
        // Grouped by provider too: a half-finished change can leave instances of one resource with
        // different providers.
        let provider = ConfigKey::parse(&object.provider)
            .map_or_else(|| object.provider.clone(), |key| key.block().to_string());
        let key = (
            address.module.to_string(),
            address.resource.mode,
            address.resource.kind.to_string(),
            address.resource.name.to_string(),
            provider,
        );
        let unknown: Unknown = parsed(&object.rest);
        let resource = resources.entry(key).or_insert_with_key(|key| Resource {
            module: key.0.clone(),
            mode: match key.1 {
                Mode::Managed => statefile::Mode::Managed,
                _ => statefile::Mode::Data,
            },
            kind: key.2.clone(),
            name: key.3.clone(),
            provider: Some(key.4.clone()),
            instances: Vec::new(),
            unknown_fields: unknown.resource,
        });
        let instance = instance(&address.key, object, unknown.instance);
        resource.instances.push(instance);
    }
    let mut file = StateFile {
        terraform_version: TERRAFORM_VERSION.to_owned(),
        serial: u64::try_from(state.serial).unwrap_or_default(),
        lineage: state.lineage.clone(),
        outputs: state.outputs.iter().map(output).collect(),
        resources: resources.into_values().map(with_one_provider).collect(),
        check_results: state.check_results.clone(),
        unknown_fields: parsed(&state.rest),
    };
    file.sort();
    file
}

/// Writes the provider at each instance if they differ, as instances of a provider can; else once
/// at the resource.
fn with_one_provider(mut resource: Resource) -> Resource {
    let each = resource
        .instances
        .iter()
        .any(|instance| instance.provider != resource.provider);
    if each {
        resource.provider = None;
    } else {
        resource
            .instances
            .iter_mut()
            .for_each(|i| i.provider = None);
    }
    resource
}

fn output(output: &StateOutput) -> Output {
    Output {
        name: output.name.clone(),
        value: output.value.clone(),
        ty: output.ty.clone(),
        sensitive: output.sensitive,
        unknown_fields: parsed(&output.rest),
    }
}

fn instance(key: &InstanceKey, object: &StateObject, rest: Fields) -> Instance {
    Instance {
        key: match key {
            InstanceKey::None => Key::None,
            InstanceKey::Int(number) => Key::Number(*number),
            InstanceKey::Str(name) => Key::Name(name.to_string()),
        },
        tainted: object.tainted,
        deposed: object.deposed.clone(),
        provider: Some(object.provider.clone()),
        schema_version: u64::try_from(object.schema_version).unwrap_or_default(),
        attributes: object.attributes.clone(),
        sensitive: object.sensitive.clone(),
        private: object.private.clone(),
        dependencies: object.dependencies.clone(),
        create_before_destroy: object.create_before_destroy,
        skip_destroy: object.skip_destroy,
        identity: object.identity.clone(),
        identity_version: object
            .identity
            .as_ref()
            .map(|_| u64::try_from(object.identity_version).unwrap_or_default()),
        unknown_fields: rest,
    }
}

/// Converts a state file to the store's records.
///
/// # Errors
/// The file has content that cannot be used.
pub fn from_version4(file: StateFile) -> Result<State, Version4Error> {
    let writer = &file.terraform_version;
    if !writer.is_empty() && writer.parse::<dependency::Version>().is_err() {
        return Err(Version4Error::Writer(writer.clone()));
    }
    if let Some(text) = &file.check_results {
        checks(text)?;
    }
    let mut resources = file.resources;
    // Taken out of the resources, to be converted in parallel.
    let instances: Vec<Vec<Instance>> = resources
        .iter_mut()
        .map(|resource| std::mem::take(&mut resource.instances))
        .collect();
    let found = resources
        .iter()
        .zip(instances)
        .flat_map(|(resource, all)| all.into_iter().map(move |instance| (resource, instance)))
        .collect();
    let objects = cores::each(found, |(resource, instance)| object(resource, instance));
    let mut objects: Vec<StateObject> = objects.into_iter().collect::<Result<_, _>>()?;
    objects.sort_by(|a, b| (&a.address, &a.deposed).cmp(&(&b.address, &b.deposed)));
    let outputs = file.outputs.into_iter().map(read_output);
    let mut outputs: Vec<StateOutput> = outputs.collect::<Result<_, _>>()?;
    outputs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(State {
        serial: i64::try_from(file.serial).map_err(|_| Version4Error::Serial(file.serial))?,
        lineage: file.lineage,
        objects,
        outputs,
        // OpenTofu writes null for a state without check results.
        check_results: file.check_results.filter(|text| text != "null"),
        rest: text(&file.unknown_fields, file.unknown_fields.is_empty()),
    })
}

/// Reads an output and checks that its value has its type.
fn read_output(output: Output) -> Result<StateOutput, Version4Error> {
    let name = output.name;
    let ty =
        cty::Type::from_json(output.ty.as_bytes()).map_err(|source| Version4Error::OutputType {
            name: name.clone(),
            source,
        })?;
    cty::json::decode(output.value.as_bytes(), &ty).map_err(|source| {
        Version4Error::OutputValue {
            name: name.clone(),
            source,
        }
    })?;
    Ok(StateOutput {
        name,
        value: statefile::compact(&output.value),
        ty: statefile::compact(&output.ty),
        sensitive: output.sensitive,
        rest: text(&output.unknown_fields, output.unknown_fields.is_empty()),
    })
}

/// Checks that check results have valid addresses. Results of unknown kinds are accepted.
fn checks(text: &str) -> Result<(), Version4Error> {
    let wrong = |kind: &str, address: &str| Version4Error::Check {
        kind: kind.to_owned(),
        address: address.to_owned(),
    };
    let all: Option<Vec<CheckResult>> =
        serde_json::from_str(text).map_err(|_| wrong("something", text))?;
    for result in all.unwrap_or_default() {
        let kind = result.object_kind.as_str();
        let word = match kind {
            "resource" => None,
            "output" | "check" | "var" => Some(kind),
            _ => continue,
        };
        // Addresses of the configuration have no instance keys.
        let known = |address: &str, instance: bool| {
            address.parse::<AbsInstance>().is_ok_and(|found| {
                let keyed = found.key != InstanceKey::None
                    || found
                        .module
                        .0
                        .iter()
                        .any(|(_, key)| *key != InstanceKey::None);
                word.is_none_or(|word| *found.resource.kind == *word) && (instance || !keyed)
            })
        };
        if !known(&result.config_addr, false) {
            return Err(wrong(kind, &result.config_addr));
        }
        for object in result.objects.unwrap_or_default() {
            if !known(&object.object_addr, true) {
                return Err(wrong(kind, &object.object_addr));
            }
        }
    }
    Ok(())
}

/// Converts an address of a provider configuration to the form of version 4. Old files have
/// provider names, `module.a.provider.null.west`.
fn provider_address(text: &str) -> Option<String> {
    if ConfigKey::parse(text).is_some() {
        return Some(text.to_owned());
    }
    let (module, rest) = match text.strip_prefix("provider.") {
        Some(rest) => ("", rest),
        None => {
            let at = text.find(".provider.")?;
            (&text[..=at], &text[at + ".provider.".len()..])
        }
    };
    let (name, alias) = match rest.split_once('.') {
        Some((name, alias)) => (name, format!(".{alias}")),
        None => (rest, String::new()),
    };
    // Old addresses have no namespace; `-` stands for it.
    let address = match name {
        "terraform" => dependency::BUILTIN_PROVIDER.to_owned(),
        name => format!("{}/-/{name}", dependency::DEFAULT_HOST),
    };
    let whole = format!("{module}provider[\"{address}\"]{alias}");
    ConfigKey::parse(&whole).map(|_| whole)
}

fn object(resource: &Resource, instance: Instance) -> Result<StateObject, Version4Error> {
    let key = match instance.key {
        Key::None => InstanceKey::None,
        Key::Number(number) => InstanceKey::Int(number),
        Key::Name(name) => InstanceKey::Str(name.into()),
    };
    let written = format!("{resource}{key}");
    let address: AbsInstance = written.parse().map_err(|source| Version4Error::Address {
        address: written.clone(),
        source: Box::new(source),
    })?;
    let provider = instance.provider.or_else(|| resource.provider.clone());
    let provider = provider.unwrap_or_default();
    let Some(provider) = provider_address(&provider) else {
        return Err(Version4Error::Provider {
            address: written,
            provider,
        });
    };
    for on in &instance.dependencies {
        on.parse::<AbsInstance>()
            .map_err(|source| Version4Error::Dependency {
                address: written.clone(),
                on: on.clone(),
                source: Box::new(source),
            })?;
    }
    if instance
        .unknown_fields
        .0
        .iter()
        .any(|(name, _)| name == "attributes_flat")
    {
        return Err(Version4Error::Flat(written));
    }
    let unknown = Unknown {
        resource: resource.unknown_fields.clone(),
        instance: instance.unknown_fields,
    };
    let nothing = unknown.resource.is_empty() && unknown.instance.is_empty();
    Ok(StateObject {
        address: address.to_string(),
        deposed: instance.deposed,
        provider,
        schema_version: i64::try_from(instance.schema_version).unwrap_or(i64::MAX),
        attributes: statefile::compact(&instance.attributes),
        sensitive: statefile::compact(&instance.sensitive),
        private: instance.private,
        tainted: instance.tainted,
        create_before_destroy: instance.create_before_destroy,
        skip_destroy: instance.skip_destroy,
        dependencies: instance.dependencies,
        needs: Vec::new(),
        identity: instance.identity.as_deref().map(statefile::compact),
        identity_version: instance
            .identity_version
            .and_then(|version| i64::try_from(version).ok())
            .unwrap_or_default(),
        rest: text(&unknown, nothing),
    })
}

/// JSON text of preserved fields; empty if there are none.
fn text(of: &impl Serialize, nothing: bool) -> String {
    if nothing {
        return String::new();
    }
    // Maps with string keys always serialize.
    serde_json::to_string(of).unwrap_or_default()
}

fn parsed<T: Default + for<'a> Deserialize<'a>>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_default()
}
