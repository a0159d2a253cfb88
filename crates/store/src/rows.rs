//! Rows for the display of the state: attributes flattened to leaves, sensitive ones masked.

use super::records::{State, StateObject};
use super::sensitive::{Paths, SensitivePart};
use lang::addr::{AbsInstance, Mode, ModuleInstance};
use model::cores;
use model::secrets::Secrets;
use model::{Lazy, OutputValue, StateRow};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

const MASK: &str = "(sensitive)";

/// Objects of a resource within a module instance, and those that depend on them.
#[derive(Default)]
struct Resource {
    objects: usize,
    dependents: BTreeSet<String>,
    /// Number of dependent objects.
    needed_by: usize,
}

/// Outputs of a state.
pub fn outputs(state: &State) -> Vec<OutputValue> {
    let outputs = state.outputs.iter().cloned();
    outputs
        .map(|output| OutputValue {
            name: output.name,
            value: output.value,
            ty: output.ty,
            sensitive: output.sensitive,
        })
        .collect()
}

/// One row for each object, in the state's order. Known secrets are redacted in all attributes,
/// because a provider may repeat a sensitive value in one that is not marked.
pub fn rows(state: &Arc<State>, secrets: &Secrets) -> Vec<StateRow> {
    let parsed: Vec<Option<AbsInstance>> = state
        .objects
        .iter()
        .map(|o| o.address.parse().ok())
        .collect();
    // By resource, because dependencies have no instance keys, and by enclosing module instance,
    // because objects depend on each other within it.
    let mut resources: HashMap<String, Resource> = HashMap::new();
    for (object, address) in state.objects.iter().zip(&parsed) {
        let Some(address) = address else { continue };
        for (shared, needed) in dependencies(object, address) {
            let needed = resources.entry(needed).or_default();
            let own = address.config().within(&shared).to_string();
            needed.dependents.insert(own);
            needed.needed_by += 1;
        }
        for resource in own_resources(address) {
            resources.entry(resource).or_default().objects += 1;
        }
    }
    let objects = parsed.into_iter().enumerate().collect();
    cores::each(objects, |(n, address)| {
        let attributes = object_attributes(state.clone(), n, secrets.clone());
        row(&state.objects[n], address.as_ref(), attributes, &resources)
    })
}

/// Resources that an object depends on, each with the module instance that encloses both. An object
/// that needs one in another instance of its module may depend on all instances.
fn dependencies(object: &StateObject, address: &AbsInstance) -> Vec<(ModuleInstance, String)> {
    let depth = |need: &String| {
        let need = need.parse::<AbsInstance>().ok()?.module;
        let path = address.module.shared_with(&need.path()).0.len();
        let both = address.module.0.iter().zip(&need.0);
        let instance = both.take_while(|(own, other)| own == other).count();
        (instance < path).then_some(instance)
    };
    let most = object.needs.iter().filter_map(depth).min();
    let within = |name: &String| match name.parse::<AbsInstance>() {
        Ok(needed) => {
            let needed = needed.config();
            let mut shared = address.module.shared_with(&needed.module);
            shared.0.truncate(most.unwrap_or(usize::MAX));
            let resource = needed.within(&shared).to_string();
            (shared, resource)
        }
        Err(_) => (ModuleInstance::root(), name.clone()),
    };
    object.dependencies.iter().map(within).collect()
}

/// Resource of an object in each enclosing module instance, without repetitions.
fn own_resources(address: &AbsInstance) -> BTreeSet<String> {
    let config = address.config();
    let within = address.module.enclosing();
    within
        .map(|module| config.within(&module).to_string())
        .collect()
}

/// Attributes of the `n`th object, computed when they are read.
fn object_attributes(state: Arc<State>, n: usize, secrets: Secrets) -> Lazy<Vec<(String, String)>> {
    Lazy::new(move || {
        let mut all = attributes(&state.objects[n]);
        all.iter_mut()
            .for_each(|(_, text)| secrets.redact_in_place(text));
        all
    })
}

/// Value of an object's attributes without a schema: lists and maps are tuples and objects, and
/// sensitive parts are marked.
pub fn marked_value(object: &StateObject) -> cty::Value {
    let address: Option<AbsInstance> = object.address.parse().ok();
    let resource_type = address.as_ref().map_or("", |a| &a.resource.kind);
    let json = serde_json::from_str(&object.attributes).unwrap_or_default();
    marked(&Paths::for_display(object, resource_type).from(&json))
}

fn marked(at: &SensitivePart<'_>) -> cty::Value {
    let value = match at.value {
        Value::Null => cty::Value::null(cty::Type::Dynamic),
        Value::Bool(flag) => cty::Value::bool(*flag),
        Value::String(text) => cty::Value::string(text),
        Value::Number(number) => match cty::Number::parse(&number.to_string()) {
            Ok(number) => cty::Value::number(number),
            Err(_) => cty::Value::null(cty::Type::Number),
        },
        Value::Array(_) => cty::Value::tuple(at.elements().map(|part| marked(&part)).collect()),
        Value::Object(_) => {
            cty::Value::object(at.members().map(|(name, part)| (name, marked(&part))))
        }
    };
    match at.is_all_sensitive() {
        true => value.mark(cty::Mark::Sensitive),
        false => value,
    }
}

/// As [`rows`], with sensitive values.
pub fn rows_with_sensitive(state: &Arc<State>) -> Vec<StateRow> {
    let mut all = rows(state, &Secrets::default());
    for (n, row) in all.iter_mut().enumerate() {
        let state = state.clone();
        row.attributes = Lazy::new(move || {
            let mut leaves = Vec::new();
            if let Ok(value) = serde_json::from_str::<Value>(&state.objects[n].attributes) {
                flatten(&Paths::none().from(&value), "", &mut leaves);
            }
            leaves
        });
    }
    all
}

/// Returns the leaves at and below a path of an object, in clear, with their paths. Empty if the
/// state does not have it. `id` is the address with the deposed key.
pub fn revealed(state: &State, id: &str, path: &str) -> Vec<(String, String)> {
    let is_it = |o: &&StateObject| match o.deposed.as_str() {
        "" => o.address == id,
        key => format!("{} (deposed {key})", o.address) == id,
    };
    let object = state.objects.iter().find(is_it);
    let Some(value) = object.and_then(|o| serde_json::from_str::<Value>(&o.attributes).ok()) else {
        return Vec::new();
    };
    let mut leaves = Vec::new();
    flatten(&Paths::none().from(&value), "", &mut leaves);
    let below = |leaf: &str| {
        leaf.strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    leaves.retain(|(leaf, _)| path == "*" || below(leaf));
    leaves
}

fn row(
    object: &StateObject,
    address: Option<&AbsInstance>,
    attributes: Lazy<Vec<(String, String)>>,
    resources: &HashMap<String, Resource>,
) -> StateRow {
    let own = address.map(own_resources).into_iter().flatten();
    let own: Vec<&Resource> = own.filter_map(|name| resources.get(&name)).collect();
    let dependents: BTreeSet<&String> = own.iter().flat_map(|r| &r.dependents).collect();
    let needs = address.map(|address| dependencies(object, address));
    let needs: Vec<String> = needs.into_iter().flatten().map(|(_, name)| name).collect();
    let needed = needs.iter().filter_map(|name| resources.get(name));
    StateRow {
        address: object.address.clone(),
        deposed: (!object.deposed.is_empty()).then(|| object.deposed.clone()),
        module: address.map(|a| a.module.to_string()).unwrap_or_default(),
        data: address.is_some_and(|a| a.resource.mode == Mode::Data),
        attributes,
        resource_type: address
            .map(|a| a.resource.kind.to_string())
            .unwrap_or_default(),
        name: address
            .map(|a| a.resource.name.to_string())
            .unwrap_or_default(),
        provider: object.provider.clone(),
        tainted: object.tainted,
        drift: None,
        of_type: None,
        observation: None,
        dependents: dependents.into_iter().cloned().collect(),
        dependency_count: needed.map(|r| r.objects).sum(),
        dependent_count: own.iter().map(|r| r.needed_by).sum(),
        dependencies: needs,
    }
}

/// Leaves of the attributes, without nulls.
fn attributes(object: &StateObject) -> Vec<(String, String)> {
    let address: Option<AbsInstance> = object.address.parse().ok();
    let resource_type = address.as_ref().map_or("", |a| &a.resource.kind);
    let mut out = Vec::new();
    match serde_json::from_str::<Value>(&object.attributes) {
        Ok(value) => flatten(
            &Paths::for_display(object, resource_type).from(&value),
            "",
            &mut out,
        ),
        // Attributes that cannot be parsed are masked as a whole.
        Err(_) => out.push(("*".into(), MASK.into())),
    }
    out
}

fn flatten(at: &SensitivePart<'_>, path: &str, out: &mut Vec<(String, String)>) {
    match at.value {
        Value::Null => {}
        // Checked before the members, so that nothing inside a sensitive value is shown.
        _ if at.is_all_sensitive() => out.push((
            if path.is_empty() { "*" } else { path }.to_owned(),
            MASK.into(),
        )),
        Value::Object(all) if !all.is_empty() => {
            for (key, inner) in at.members() {
                flatten(&inner, &joined(path, key), out);
            }
        }
        Value::Array(all) if !all.is_empty() => {
            for (n, inner) in at.elements().enumerate() {
                flatten(&inner, &format!("{path}[{n}]"), out);
            }
        }
        leaf => out.push((path.to_owned(), leaf.to_string())),
    }
}

fn joined(path: &str, key: &str) -> String {
    let plain = key.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    match (path.is_empty(), plain) {
        (true, _) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}[{}]", lang::addr::quote(key)),
    }
}
