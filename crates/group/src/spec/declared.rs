//! Reads declared instances back from their documents.

use std::collections::BTreeMap;

use serde_json::Value;

use super::instance::ATTACH;
use crate::scope::FileSet;
use crate::{ConfigHash, MemberKey};

/// Instance of a declared file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredInstance {
    /// Number of the instance.
    pub number: u64,
    /// Resource type.
    pub kind: String,
    /// Tags.
    pub tags: BTreeMap<String, String>,
}

impl DeclaredInstance {
    /// Reads the instance `number` of a document. `None` if it has none.
    pub fn read(number: u64, document: &Value) -> Option<DeclaredInstance> {
        let name = FileSet::Instance(number).to_string();
        let kinds = document.get("resource")?.as_object()?;
        let (kind, body) = kinds
            .iter()
            .find_map(|(kind, resources)| Some((kind, resources.get(&name)?)))?;
        let mut tags = read_tags(body.get("tags"));
        // The comment has the exact text of tags that the resource has in lower case.
        tags.extend(read_tags(document.pointer("/~1~1/tags")));
        Some(DeclaredInstance {
            number,
            kind: kind.clone(),
            tags,
        })
    }

    /// Address of the instance in the workspace.
    pub fn address(&self) -> String {
        format!("{}.{}", self.kind, FileSet::Instance(self.number))
    }

    /// Returns true if the instance has all these tags.
    pub fn has_tags(&self, tags: &BTreeMap<String, String>) -> bool {
        tags.iter()
            .all(|(key, value)| self.tags.get(key) == Some(value))
    }

    /// Name of the member, for a group with names.
    pub fn logical_id(&self) -> Option<MemberKey> {
        self.tags
            .get("infrakit.logical_id")
            .map(|id| MemberKey::name(id))
    }

    /// Hash of the configuration that the instance was created from.
    pub fn hash(&self) -> Option<ConfigHash> {
        self.tags
            .get("infrakit.config.hash")
            .map(|hash| ConfigHash::from_text(hash))
    }

    /// Attached dedicated and global sets.
    pub fn attached(&self) -> Vec<FileSet> {
        let text = self.tags.get(ATTACH).map_or("", String::as_str);
        // Lists of tags allow no comma, so that they have spaces.
        text.split([',', ' ']).filter_map(FileSet::parse).collect()
    }
}

/// Tags as an object, or as a list of `key:value`.
fn read_tags(tags: Option<&Value>) -> BTreeMap<String, String> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    match tags {
        Some(Value::Object(map)) => map.iter().map(|(k, v)| (k.clone(), text(v))).collect(),
        Some(Value::Array(list)) => {
            let pair = |tag: &str| {
                tag.split_once(':')
                    .map(|(k, v)| (k.to_owned(), v.to_owned()))
            };
            list.iter()
                .filter_map(Value::as_str)
                .filter_map(pair)
                .collect()
        }
        _ => BTreeMap::new(),
    }
}
