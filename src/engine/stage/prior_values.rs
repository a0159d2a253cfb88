//! Builds `values` of the plan representation from state records: resources in a tree of modules.

use super::change::Stage;
use super::config_json::Configuration;
use super::plan_json::object_address;
use lang::addr::{AbsInstance, Mode, ModuleInstance};
use lang::config::{Module, Output};
use model::{Action, ConfigKey, StageMode};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use store::records::{State, StateEdit, StateObject, StateOutput};
use store::sensitive::{Paths, SensitivePart};

/// Returns the state after these edits, applied as the store does.
pub fn state_after_edits(state: &State, edits: &[StateEdit]) -> State {
    let mut objects: BTreeMap<(String, String), StateObject> = state
        .objects
        .iter()
        .map(|o| ((o.address.clone(), o.deposed.clone()), o.clone()))
        .collect();
    let mut outputs: BTreeMap<String, _> = state
        .outputs
        .iter()
        .map(|o| (o.name.clone(), o.clone()))
        .collect();
    for edit in edits {
        match edit {
            StateEdit::Put(o) => {
                drop(objects.insert((o.address.clone(), o.deposed.clone()), (**o).clone()))
            }
            StateEdit::Remove { address, deposed } => {
                drop(objects.remove(&(address.clone(), deposed.clone())))
            }
            StateEdit::Move { from, to } => {
                // Deposed objects of the address move with the current one.
                let keys: Vec<(String, String)> = objects
                    .range((from.clone(), String::new())..)
                    .take_while(|((address, _), _)| address == from)
                    .map(|(k, _)| k.clone())
                    .collect();
                for key in keys {
                    let Some(object) = objects.remove(&key) else {
                        continue;
                    };
                    objects.insert(
                        (to.clone(), key.1),
                        StateObject {
                            address: to.clone(),
                            ..object
                        },
                    );
                }
            }
            StateEdit::PutOutput(o) => drop(outputs.insert(o.name.clone(), o.clone())),
            StateEdit::RemoveOutput { name } => drop(outputs.remove(name)),
            StateEdit::Depose { address, key } => rekey(&mut objects, address, "", key),
            // As in the store, an object that exists is not replaced.
            StateEdit::Restore { address, key }
                if !objects.contains_key(&(address.clone(), String::new())) =>
            {
                rekey(&mut objects, address, key, "");
            }
            StateEdit::Restore { .. } | StateEdit::Checks(_) => {}
        }
    }
    for object in objects.values_mut() {
        object.dependencies.sort();
    }
    State {
        serial: state.serial,
        lineage: state.lineage.clone(),
        objects: objects.into_values().collect(),
        outputs: outputs.into_values().collect(),
        ..State::default()
    }
}

fn rekey(
    objects: &mut BTreeMap<(String, String), StateObject>,
    address: &str,
    from: &str,
    to: &str,
) {
    if let Some(object) = objects.remove(&(address.to_owned(), from.to_owned())) {
        objects.insert(
            (address.to_owned(), to.to_owned()),
            StateObject {
                deposed: to.to_owned(),
                ..object
            },
        );
    }
}

/// Adds the outputs that are already known, like a refresh.
pub fn refresh_outputs(state: &mut State, stage: &Stage, root: &Module) {
    let destroying = stage.request.mode == StageMode::Destroy;
    for change in &stage.outputs {
        let declared = root.outputs.get(&change.name).filter(|o| !o.ephemeral);
        let Some(declared) = declared else { continue };
        // A destroy plans no values, so the refreshed ones are on the side before.
        let value = if destroying {
            change.before.as_ref()
        } else {
            change.after.as_ref()
        };
        match value.filter(|value| value.is_wholly_known()) {
            Some(value) => {
                let plain = value.clone().unmark_deep().0;
                let Ok(text) = cty::json::encode(&plain, plain.ty()) else {
                    continue;
                };
                state.outputs.retain(|o| *o.name != *change.name);
                state.outputs.push(StateOutput {
                    name: change.name.to_string(),
                    value: text,
                    ty: plain.ty().to_json(),
                    sensitive: declared.sensitive,
                    rest: extra_output_attributes(declared),
                });
            }
            None if change.null => state.outputs.retain(|o| *o.name != *change.name),
            None => {}
        }
    }
    state.outputs.sort_by(|a, b| a.name.cmp(&b.name));
}

/// Updates objects to their refreshed form: without objects that the deploy reads, with check data
/// and imports, and for a destroy with all recorded data sources. Objects without dependencies get
/// the current ones.
pub fn refresh_objects(
    prior: &mut State,
    state: &State,
    stage: &Stage,
    configuration: &Configuration<'_>,
) {
    let mut dependencies: HashMap<String, &BTreeSet<String>> = HashMap::new();
    for change in stage.changes.iter().filter(|c| c.deposed.is_none()) {
        let address = change.address.to_string();
        if change.action() == Action::Read || change.importing().is_some() {
            prior.objects.retain(|o| o.address != address);
            prior
                .objects
                .extend(configuration.read_without_record(change));
        } else if !stage.request.no_refresh {
            dependencies.insert(address, &change.dependencies);
        }
    }
    let free = |o: &&mut StateObject| o.deposed.is_empty() && o.dependencies.is_empty();
    for object in prior.objects.iter_mut().filter(free) {
        let now = dependencies.get(&object.address).copied();
        object.dependencies = now.into_iter().flatten().cloned().collect();
        object.dependencies.sort();
    }
    if stage.request.mode == StageMode::Destroy {
        let there: BTreeSet<String> = prior.objects.iter().map(|o| o.address.clone()).collect();
        let data = |o: &&StateObject| {
            let address = o.address.parse::<AbsInstance>();
            address.is_ok_and(|a| a.resource.mode == Mode::Data)
        };
        let gone = state.objects.iter().filter(data);
        let gone = gone.filter(|o| !there.contains(&o.address));
        prior.objects.extend(gone.cloned());
    }
}

/// Returns further attributes of an output's record as JSON text; empty if none.
pub fn extra_output_attributes(declared: &Output) -> String {
    let deprecated = declared.deprecated.as_ref();
    deprecated.map_or_else(String::new, |why| json!({ "deprecated": why }).to_string())
}

/// Returns the deprecation message of a stored output.
pub fn deprecated(output: &StateOutput) -> Option<String> {
    Some(parsed(&output.rest).get("deprecated")?.as_str()?.to_owned())
}

/// Builds the `values` object of a state.
pub fn values(state: &State) -> Json {
    let mut out = Map::new();
    let mut outputs = Map::new();
    for output in &state.outputs {
        let mut one = Map::new();
        one.insert("sensitive".into(), output.sensitive.into());
        if let Some(why) = deprecated(output) {
            one.insert("deprecated".into(), why.into());
        }
        one.insert("value".into(), parsed(&output.value));
        one.insert("type".into(), parsed(&output.ty));
        outputs.insert(output.name.clone(), one.into());
    }
    if !outputs.is_empty() {
        out.insert("outputs".into(), outputs.into());
    }
    let mut objects: Vec<(AbsInstance, &StateObject)> = state
        .objects
        .iter()
        .filter_map(|o| Some((o.address.parse::<AbsInstance>().ok()?, o)))
        .collect();
    objects.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.deposed.cmp(&y.deposed)));
    let mut modules: BTreeMap<ModuleInstance, Vec<Json>> = BTreeMap::new();
    for (address, object) in objects {
        modules
            .entry(address.module.clone())
            .or_default()
            .push(resource(&address, object));
    }
    out.insert("root_module".into(), module_tree(modules));
    out.into()
}

fn resource(address: &AbsInstance, object: &StateObject) -> Json {
    let mut out = object_address(address);
    let provider = ConfigKey::parse(&object.provider)
        .map_or_else(|| object.provider.clone(), |key| key.address.to_string());
    let (values, sensitive) =
        value_and_mask(&Paths::of_stored_object(object).from(&parsed(&object.attributes)));
    out.insert("provider_name".into(), provider.into());
    // The representation has version 0 for deposed objects.
    let version = match object.deposed.is_empty() {
        true => object.schema_version,
        false => 0,
    };
    out.insert("schema_version".into(), version.into());
    // OpenTofu omits empty values.
    if values.as_object().is_none_or(|all| !all.is_empty()) {
        out.insert("values".into(), values);
    }
    out.insert("sensitive_values".into(), sensitive);
    if !object.dependencies.is_empty() {
        out.insert("depends_on".into(), json!(object.dependencies));
    }
    if object.tainted {
        out.insert("tainted".into(), true.into());
    }
    if !object.deposed.is_empty() {
        out.insert("deposed_key".into(), object.deposed.as_str().into());
    }
    if let Some(identity) = &object.identity {
        out.insert("identity".into(), parsed(identity));
        out.insert(
            "identity_schema_version".into(),
            object.identity_version.into(),
        );
    }
    out.into()
}

/// Returns the values without their stored types, and the mask of sensitive parts.
fn value_and_mask(at: &SensitivePart<'_>) -> (Json, Json) {
    let hidden = at.is_all_sensitive();
    let (value, mask) = match at.value {
        Json::Object(_) => {
            let all: Vec<(&str, (Json, Json))> = at
                .members()
                .map(|(name, inner)| (name, value_and_mask(&inner)))
                .collect();
            let masks = all
                .iter()
                .filter(|(_, (_, mask))| *mask != Json::Bool(false))
                .map(|(name, (_, mask))| (*name, mask.clone()));
            let masks: Map<String, Json> =
                masks.map(|(name, mask)| (name.to_owned(), mask)).collect();
            (
                Json::Object(
                    all.into_iter()
                        .map(|(name, (value, _))| (name.to_owned(), value))
                        .collect(),
                ),
                Json::Object(masks),
            )
        }
        Json::Array(_) => {
            let (values, masks): (Vec<Json>, Vec<Json>) =
                at.elements().map(|inner| value_and_mask(&inner)).unzip();
            (values.into(), masks.into())
        }
        leaf => (leaf.clone(), false.into()),
    };
    (value, if hidden { true.into() } else { mask })
}

/// Builds the module tree.
pub fn module_tree(mut modules: BTreeMap<ModuleInstance, Vec<Json>>) -> Json {
    // Adds parents without resources of their own.
    let parents: Vec<ModuleInstance> = modules.keys().cloned().collect();
    for module in parents {
        let mut at = module.parent();
        while let Some(parent) = at {
            at = parent.parent();
            modules.entry(parent).or_default();
        }
    }
    let mut children: BTreeMap<ModuleInstance, Vec<Json>> = BTreeMap::new();
    // Children sort after their parents, so popping from the end completes all children first.
    while let Some((module, resources)) = modules.pop_last() {
        let mut one = Map::new();
        if !resources.is_empty() {
            one.insert("resources".into(), resources.into());
        }
        if !module.is_root() {
            one.insert("address".into(), module.to_string().into());
        }
        if let Some(mut inner) = children.remove(&module) {
            inner.sort_by(|a, b| a["address"].as_str().cmp(&b["address"].as_str()));
            one.insert("child_modules".into(), inner.into());
        }
        match module.parent() {
            Some(parent) => children.entry(parent).or_default().push(one.into()),
            None => return one.into(),
        }
    }
    json!({})
}

fn parsed(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or(Json::Null)
}
