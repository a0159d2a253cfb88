//! World of the plugin: a file for each object, with its spec as JSON.

use crate::fault_files::file;
use serde_json::{Value, json};
use std::path::PathBuf;

fn object(id: &str) -> PathBuf {
    file("world").join(format!("{id}.json"))
}

/// Next number, which no object has had before.
fn number() -> u64 {
    let text = std::fs::read_to_string(file("number")).unwrap_or_default();
    let next = text.parse::<u64>().unwrap_or(0) + 1;
    std::fs::write(file("number"), next.to_string()).unwrap();
    next
}

pub fn read(id: &str) -> Option<Value> {
    let text = std::fs::read_to_string(object(id)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

pub fn all() -> Vec<Value> {
    let files = std::fs::read_dir(file("world"))
        .into_iter()
        .flatten()
        .flatten();
    let texts = files.map(|f| std::fs::read_to_string(f.path()).unwrap());
    texts.map(|t| serde_json::from_str(&t).unwrap()).collect()
}

pub fn write(id: &str, spec: &Value) {
    std::fs::create_dir_all(file("world")).unwrap();
    std::fs::write(object(id), spec.to_string()).unwrap();
}

pub fn remove(id: &str) {
    std::fs::remove_file(object(id)).ok();
}

/// Stores an object with this spec; returns the computed values.
pub fn store_object(
    kind: &str,
    before: Option<&Value>,
    mut spec: Value,
    region: Option<&str>,
) -> Value {
    let name = spec["name"].as_str().unwrap_or_default().to_owned();
    let id = before
        .and_then(|spec| spec["id"].as_str())
        .map_or_else(|| format!("{name}-{}", number()), str::to_owned);
    let mut set = json!({"spec.id": id});
    if kind.ends_with("/box") {
        set["spec.health"] = "good".into();
        set["spec.lastSeen"] = format!("at {}", number()).into();
        if spec["zone"].is_null() {
            set["spec.zone"] = region.unwrap_or("nowhere").into();
        }
    }
    let members = set.as_object().unwrap().iter();
    for (path, value) in members {
        spec[path.trim_start_matches("spec.")] = value.clone();
    }
    write(&id, &spec);
    set
}
