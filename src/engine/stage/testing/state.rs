//! State of a test from one line for each object.
//!
//! `lab_thing.a name=x size=3 <lab_thing.b !tainted` is an object with two attributes and a
//! recorded dependency. Its id is its address. Further words: `!deposed=KEY`, `!create_first`,
//! `!skip_destroy`, `!version=N`, `!by=PROVIDER`; `!gone` and `~name=y` are what a read finds.
//! `output.x=1` is an output, and `remote ID ~name=y` an object that only a read finds.

use super::lab::{Lab, address};
use crate::stage::objects::{RecordContext, record};
use lang::addr::{AbsInstance, Mode};
use model::ConfigKey;
use provider::LINK;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeSet, HashMap};
use store::records::{State, StateObject, StateOutput};

/// Builds the state, and what a read finds in its stead, by id.
pub fn state(lines: &[&str]) -> (State, HashMap<String, Json>) {
    let (mut state, mut remote) = (State::default(), HashMap::new());
    state.serial = 1;
    for line in lines {
        if let Some(rest) = line.strip_prefix("output.") {
            state.outputs.push(output(rest));
        } else if let Some(rest) = line.strip_prefix("remote ") {
            let (id, words) = rest.split_once(' ').expect("an id, then words");
            object(&format!("lab_thing.x id={id} {words}"), &mut remote);
        } else {
            state.objects.push(object(line, &mut remote));
        }
    }
    (state, remote)
}

fn output(line: &str) -> StateOutput {
    let (name, value) = line.split_once('=').expect("name=value");
    let value = json(value);
    StateOutput {
        name: name.to_owned(),
        value: value.to_string(),
        ty: cty::json::implied_type(&value).to_json(),
        sensitive: false,
        rest: String::new(),
    }
}

/// Text that is no JSON is a string.
fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn object(line: &str, remote: &mut HashMap<String, Json>) -> StateObject {
    let mut words = line.split(' ');
    let at = words.next().expect("an address");
    let instance: AbsInstance = at.parse().expect("an address");
    let (mut attributes, mut changed) = (Map::new(), Map::new());
    let mut needs: BTreeSet<String> = BTreeSet::new();
    let mut flags: HashMap<&str, &str> = HashMap::new();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name.split_at(1) {
            ("<", _) => drop(needs.insert(word[1..].to_owned())),
            ("!", flag) => drop(flags.insert(flag, value)),
            ("~", attribute) => drop(changed.insert(attribute.to_owned(), json(value))),
            _ => drop(attributes.insert(name.to_owned(), json(value))),
        }
    }
    if instance.resource.mode == Mode::Managed {
        let id = attributes.entry("id").or_insert_with(|| at.into());
        let id = id.as_str().expect("a text").to_owned();
        // A read finds an empty list of blocks, not null. A link has none.
        if *instance.resource.kind != *LINK {
            let none = Json::Array(Vec::new());
            attributes.entry("rule").or_insert(none);
        }
        match flags.contains_key("gone") {
            true => drop(remote.insert(id, Json::Null)),
            false if !changed.is_empty() => drop(remote.insert(id, Json::Object(changed))),
            false => {}
        }
    }
    let provider = flags.get("by").map(|key| (*key).to_owned());
    let provider = provider.unwrap_or_else(|| format!("provider[\"{}\"]", address()));
    let version: Option<i64> = flags.get("version").map(|n| n.parse().expect("a number"));
    let lab = Lab::new(HashMap::new()).schemas();
    let all = match instance.resource.mode {
        Mode::Data => &lab.data_sources,
        _ => &lab.resources,
    };
    let raw = Json::Object(attributes);
    let known = all
        .get(&instance.resource.kind)
        .filter(|_| version.is_none());
    let schema = known.cloned().unwrap_or_default();
    let key = ConfigKey::parse(&provider).expect("a provider");
    let around = RecordContext {
        address: &instance,
        deposed: flags.get("deposed").unwrap_or(&""),
        provider: &key,
        tainted: flags.contains_key("tainted"),
        create_before_destroy: flags.contains_key("create_first"),
        skip_destroy: flags.contains_key("skip_destroy"),
        // Dependencies name resources, needs name instances.
        dependencies: &needs.iter().map(|need| config_address(need)).collect(),
        needs: &needs,
        identity: None,
    };
    // An object of a type or version without a schema keeps its attributes as written.
    let value = match known {
        Some(schema) => cty::json::decode_value(&raw, schema.implied_type()).expect("attributes"),
        None => cty::Value::empty_object(),
    };
    let mut object = record(&around, &schema, &value, &[]).expect("a record");
    if known.is_none() {
        object.attributes = raw.to_string();
        object.schema_version = version.unwrap_or_default();
    }
    object
}

fn config_address(instance: &str) -> String {
    let parsed: AbsInstance = instance.parse().expect("an address");
    parsed.config().to_string()
}
