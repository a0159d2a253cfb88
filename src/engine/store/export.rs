//! The state as the file that other tools know: state version 4. Made from the store's records
//! alone.

use super::model::{State, StateObject};
use crate::engine::words::{ConfigKey, TERRAFORM_VERSION};
use lang::addr::{AbsInstance, InstanceKey, Mode};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// State version 4. An object whose address cannot be read is left out: there is none in a store
/// that only we write.
pub fn version4(state: &State) -> Value {
    let mut outputs = Map::new();
    for output in &state.outputs {
        let mut one = json!({ "value": parsed(&output.value), "type": parsed(&output.ty) });
        if output.sensitive {
            one["sensitive"] = true.into();
        }
        outputs.insert(output.name.clone(), one);
    }
    // Grouped by resource and provider: instances of one resource may belong to different ones
    // while a change is half done.
    let mut resources: BTreeMap<
        (String, bool, String, String, String),
        Vec<(AbsInstance, &StateObject)>,
    > = BTreeMap::new();
    for object in &state.objects {
        let Ok(address) = object.address.parse::<AbsInstance>() else {
            continue;
        };
        let key = (
            address.module.to_string(),
            address.resource.mode == Mode::Managed,
            address.resource.kind.to_string(),
            address.resource.name.to_string(),
            ConfigKey::parse(&object.provider)
                .map_or_else(|| object.provider.clone(), |key| key.block().to_string()),
        );
        resources.entry(key).or_default().push((address, object));
    }
    json!({
        "version": 4,
        "terraform_version": TERRAFORM_VERSION,
        "serial": state.serial,
        "lineage": state.lineage,
        "outputs": outputs,
        "resources": resources.into_iter().map(|(key, objects)| resource(key, objects)).collect::<Vec<_>>(),
        "check_results": null,
    })
}

fn resource(
    key: (String, bool, String, String, String),
    mut objects: Vec<(AbsInstance, &StateObject)>,
) -> Value {
    let (module, managed, kind, name, provider) = key;
    let order = |key: &InstanceKey| match key {
        InstanceKey::None => (0, 0, String::new()),
        InstanceKey::Int(n) => (1, *n, String::new()),
        InstanceKey::Str(text) => (2, 0, text.to_string()),
    };
    objects.sort_by_key(|(address, object)| (order(&address.key), object.deposed.clone()));
    let mut out = Map::new();
    if !module.is_empty() {
        out.insert("module".into(), module.into());
    }
    out.insert(
        "mode".into(),
        if managed { "managed" } else { "data" }.into(),
    );
    out.insert("type".into(), kind.into());
    out.insert("name".into(), name.into());
    // Where a provider has instances, each object says which of them is its own.
    let each = objects
        .iter()
        .any(|(_, object)| object.provider != provider);
    if !each {
        out.insert("provider".into(), provider.into());
    }
    out.insert(
        "instances".into(),
        objects
            .iter()
            .map(|(address, object)| instance(address, object, each))
            .collect(),
    );
    Value::Object(out)
}

fn instance(address: &AbsInstance, object: &StateObject, with_provider: bool) -> Value {
    use base64::Engine;
    let mut out = Map::new();
    match &address.key {
        InstanceKey::None => {}
        InstanceKey::Int(n) => drop(out.insert("index_key".into(), (*n).into())),
        InstanceKey::Str(text) => drop(out.insert("index_key".into(), text.as_ref().into())),
    }
    if object.tainted {
        out.insert("status".into(), "tainted".into());
    }
    if !object.deposed.is_empty() {
        out.insert("deposed".into(), object.deposed.clone().into());
    }
    if with_provider {
        out.insert("provider".into(), object.provider.clone().into());
    }
    out.insert("schema_version".into(), object.schema_version.into());
    out.insert("attributes".into(), parsed(&object.attributes));
    out.insert("sensitive_attributes".into(), parsed(&object.sensitive));
    if let Some(identity) = &object.identity {
        out.insert(
            "identity_schema_version".into(),
            object.identity_version.into(),
        );
        out.insert("identity".into(), parsed(identity));
    }
    if !object.private.is_empty() {
        out.insert(
            "private".into(),
            base64::engine::general_purpose::STANDARD
                .encode(&object.private)
                .into(),
        );
    }
    if !object.dependencies.is_empty() {
        out.insert("dependencies".into(), json!(object.dependencies));
    }
    if object.skip_destroy {
        out.insert("skip_destroy".into(), true.into());
    }
    if object.create_before_destroy {
        out.insert("create_before_destroy".into(), true.into());
    }
    Value::Object(out)
}

/// Numbers keep all their digits on the way.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}
