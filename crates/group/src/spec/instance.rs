//! Rules of instances by resource type: places of tags and of the init script, and arguments that
//! belong to the group.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::scope::FileSet;

/// Types that InfraKit knows as instances.
pub(super) const KNOWN: [&str; 6] = [
    "aws_instance",
    "azurerm_virtual_machine",
    "digitalocean_droplet",
    "google_compute_instance",
    "ibm_compute_vm_instance",
    "softlayer_virtual_guest",
];

/// Tag with the sets that are attached to an instance.
pub(super) const ATTACH: &str = "infrakit.attach";

/// Place of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagPlace {
    /// `tags = { KEY = VALUE }`.
    Map,
    /// `tags = ["key:value"]`, in lower case.
    List,
    /// A comment of the document, because the type has no arbitrary tags.
    Comment,
}

/// Place of the tags of an instance. For types that InfraKit does not know, the arguments decide.
pub(super) fn tag_place(kind: &str, body: &Map<String, Value>) -> TagPlace {
    match (kind, body.get("tags")) {
        ("aws_instance" | "azurerm_virtual_machine", _) => TagPlace::Map,
        ("ibm_compute_vm_instance" | "softlayer_virtual_guest", _) => TagPlace::List,
        // Their tags are labels of a restricted form, without dots.
        ("digitalocean_droplet" | "google_compute_instance", _) => TagPlace::Comment,
        (_, Some(Value::Object(_))) => TagPlace::Map,
        (_, Some(Value::Array(_))) => TagPlace::List,
        _ => TagPlace::Comment,
    }
}

/// Adds tags to the arguments of an instance. Returns false if their exact text belongs into a
/// comment.
pub(super) fn merge_tags(
    kind: &str,
    body: &mut Map<String, Value>,
    tags: &BTreeMap<String, String>,
) -> bool {
    match tag_place(kind, body) {
        TagPlace::Comment => return false,
        TagPlace::Map => {
            let entry = body
                .entry("tags")
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(map) = entry {
                map.extend(
                    tags.iter()
                        .map(|(k, v)| (k.clone(), Value::String(v.clone()))),
                );
            }
        }
        TagPlace::List => {
            let entry = body
                .entry("tags")
                .or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = entry {
                let own = list.iter().filter_map(Value::as_str).map(str::to_lowercase);
                let is_replaced = |tag: &String| {
                    let key = tag.split_once(':').map_or(tag.as_str(), |(key, _)| key);
                    tags.keys().any(|name| name.to_lowercase() == key)
                };
                let kept = own.filter(|tag| !is_replaced(tag));
                let added = tags.iter().map(|(key, value)| {
                    // A comma is not valid in these tags.
                    format!("{key}:{}", value.replace(',', " ")).to_lowercase()
                });
                *list = kept.chain(added).map(Value::String).collect();
            }
            return false;
        }
    }
    true
}

/// Path of the argument for the init script, or `None` if the type has no known one.
pub(super) fn init_path(kind: &str, body: &Map<String, Value>) -> Option<&'static [&'static str]> {
    const USER_DATA: &[&str] = &["user_data"];
    const USER_METADATA: &[&str] = &["user_metadata"];
    const STARTUP: &[&str] = &["metadata_startup_script"];
    const CUSTOM_DATA: &[&str] = &["os_profile", "custom_data"];
    match kind {
        "aws_instance" | "digitalocean_droplet" => Some(USER_DATA),
        "ibm_compute_vm_instance" | "softlayer_virtual_guest" => Some(USER_METADATA),
        "google_compute_instance" => Some(STARTUP),
        "azurerm_virtual_machine" => Some(CUSTOM_DATA),
        _ => [USER_DATA, USER_METADATA, STARTUP, CUSTOM_DATA]
            .into_iter()
            .find(|path| body.contains_key(path[0])),
    }
}

/// Appends the init script to the argument at the path.
pub(super) fn merge_init(body: &mut Map<String, Value>, path: &[&str], init: &str) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        let merged = match body.get(*name).and_then(Value::as_str) {
            Some(own) => format!("{own}\n{init}"),
            None => init.to_owned(),
        };
        body.insert((*name).to_owned(), Value::String(merged));
        return;
    }
    let entry = body
        .entry(*name)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(inner) = entry {
        merge_init(inner, rest, init);
    }
}

/// Sets arguments that depend on the member: the host name, and a private address from the key.
pub(super) fn set_identity(
    kind: &str,
    body: &mut Map<String, Value>,
    set: &FileSet,
    logical_id: Option<&str>,
) {
    match kind {
        "ibm_compute_vm_instance" | "softlayer_virtual_guest" => {
            let prefix = body.remove("@hostname_prefix");
            let prefix = prefix
                .as_ref()
                .and_then(Value::as_str)
                .unwrap_or_default()
                .trim();
            let name = logical_id.map_or_else(|| set.to_string(), str::to_owned);
            let name = match prefix {
                "" => name,
                prefix => format!("{prefix}-{}", name.replace("instance-", "")),
            };
            body.insert("hostname".to_owned(), Value::String(name));
        }
        "aws_instance" => {
            let placeholder = Value::String("INSTANCE_LOGICAL_ID".to_owned());
            if body.get("private_ip") == Some(&placeholder) {
                match logical_id {
                    Some(id) => body.insert("private_ip".to_owned(), Value::String(id.to_owned())),
                    None => body.remove("private_ip"),
                };
            }
        }
        _ => {}
    }
}
