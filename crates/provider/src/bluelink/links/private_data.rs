//! Private data that the engine stores with a link: its id, names, mapped fields and deployed
//! intermediary resources; in a plan also the staged changes. Pure.

use super::ends::{Side, name_of};
use super::record::{PhaseResult, Record};
use crate::Bytes;
use cty::Value;
use lang::config::LINK_ENDS;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::schema::scalar_value::Value as Scalar;
use proto::bluelink::sharedtypesv1::{FieldChange, LinkChanges};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

use crate::bluelink::convert::{member_of, scalar};

/// Private data of a link.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LinkPrivate {
    pub(super) link_id: String,
    /// Names by which the plugin knows its resources, from and to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    names: Option<[String; 2]>,
    /// `{resource}::{field}` → path in the link data.
    #[serde(default)]
    pub(super) mappings: BTreeMap<String, String>,
    /// Sensitive paths in the link data.
    #[serde(default)]
    pub(super) sensitive: BTreeSet<String>,
    /// Intermediaries after the last deploy.
    #[serde(default)]
    deployed: BTreeMap<String, (String, Json)>,
    /// Only in a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    staged: Option<Staged>,
}

/// Staged changes in a canonical form, equal for equal changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Staged {
    modified: Vec<Field>,
    new: Vec<Field>,
    removed: Vec<String>,
    unchanged: Vec<String>,
    known_on_deploy: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Field {
    path: String,
    from: Option<Json>,
    to: Option<Json>,
    must_recreate: bool,
    sensitive: bool,
}

impl LinkPrivate {
    /// Parses private data; creates an id for a new link.
    pub(super) fn decode(private: &[u8]) -> Self {
        serde_json::from_slice(private).unwrap_or_else(|_| Self {
            link_id: uuid::Uuid::new_v4().to_string(),
            ..Self::default()
        })
    }

    /// Returns the same link without data.
    pub(super) fn without_objects(self) -> Self {
        Self {
            link_id: self.link_id,
            ..Self::default()
        }
    }

    /// Returns the name by which the plugin knows a resource of the link: as sent when the link was
    /// created, even if the resource has moved since.
    pub(super) fn name(&self, link: &Value, end: usize, address: &str) -> String {
        let is_same = member_of(link, LINK_ENDS[end]).as_str() == Some(address);
        let told = self.names.as_ref().filter(|_| is_same);
        told.map_or_else(|| name_of(address), |names| names[end].clone())
    }

    /// Stores the names sent to the plugin.
    pub(super) fn set_reported(&mut self, sides: &[Side; 2]) {
        self.names = Some([sides[0].name.clone(), sides[1].name.clone()]);
    }

    pub(super) fn bytes(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// Adds the staged changes.
    pub(super) fn with_staged(mut self, changes: &LinkChanges) -> Self {
        let field = |change: &FieldChange| Field {
            path: change.field_path.clone(),
            from: change.prev_value.as_ref().map(json),
            to: change.new_value.as_ref().map(json),
            must_recreate: change.must_recreate,
            sensitive: change.sensitive,
        };
        // Sorted, because a plan with another order would count as a different one.
        let fields = |all: &[FieldChange]| {
            let mut all: Vec<Field> = all.iter().map(field).collect();
            all.sort_by(|a, b| a.path.cmp(&b.path));
            all
        };
        let names = |all: &[String]| {
            let mut all = all.to_vec();
            all.sort();
            all
        };
        self.staged = Some(Staged {
            modified: fields(&changes.modified_fields),
            new: fields(&changes.new_fields),
            removed: names(&changes.removed_fields),
            unchanged: names(&changes.unchanged_fields),
            known_on_deploy: names(&changes.field_changes_known_on_deploy),
        });
        self
    }

    /// Removes and returns the staged changes.
    pub(super) fn take_staged(&mut self) -> LinkChanges {
        let staged = self.staged.take().unwrap_or_default();
        let field = |field: Field| FieldChange {
            field_path: field.path,
            prev_value: field.from.as_ref().map(node),
            new_value: field.to.as_ref().map(node),
            must_recreate: field.must_recreate,
            sensitive: field.sensitive,
        };
        LinkChanges {
            modified_fields: staged.modified.into_iter().map(field).collect(),
            new_fields: staged.new.into_iter().map(field).collect(),
            removed_fields: staged.removed,
            unchanged_fields: staged.unchanged,
            field_changes_known_on_deploy: staged.known_on_deploy,
        }
    }

    /// Stores the intermediaries after a deploy.
    pub(super) fn set_left(&mut self, record: &Record) {
        let one = |(id, made): (&String, &PhaseResult)| {
            (id.clone(), (made.kind.clone(), json(&made.spec)))
        };
        self.deployed = record.intermediaries.iter().map(one).collect();
    }

    /// Returns the intermediaries after the last deploy.
    pub(super) fn left_intermediaries(&self) -> BTreeMap<String, PhaseResult> {
        let one = |(id, (kind, spec)): (&String, &(String, Json))| {
            let made = PhaseResult {
                kind: kind.clone(),
                spec: node(spec),
            };
            (id.clone(), made)
        };
        self.deployed.iter().map(one).collect()
    }
}

/// Converts a value to JSON; floats stay floats.
fn json(node: &MappingNode) -> Json {
    if let Some(scalar) = node.scalar.as_ref().and_then(|s| s.value.as_ref()) {
        return match scalar {
            Scalar::IntValue(n) => Json::from(*n),
            Scalar::BoolValue(b) => Json::from(*b),
            Scalar::FloatValue(f) => Json::from(*f),
            Scalar::StringValue(text) => Json::from(text.as_str()),
            Scalar::BytesValue(_) | Scalar::NoneValue(_) => Json::Null,
        };
    }
    if !node.fields.is_empty() {
        let fields: BTreeMap<&String, Json> =
            node.fields.iter().map(|(k, v)| (k, json(v))).collect();
        let fields = fields.into_iter().map(|(k, v)| (k.clone(), v));
        return Json::Object(fields.collect::<Map<_, _>>());
    }
    match node.items.is_empty() {
        true => Json::Null,
        false => Json::Array(node.items.iter().map(json).collect()),
    }
}

fn node(json: &Json) -> MappingNode {
    match json {
        Json::Null => MappingNode::default(),
        Json::Bool(b) => scalar(Scalar::BoolValue(*b)),
        Json::String(text) => scalar(Scalar::StringValue(text.clone())),
        Json::Number(n) => scalar(match n.as_i64() {
            Some(whole) => Scalar::IntValue(whole),
            None => Scalar::FloatValue(n.as_f64().unwrap_or_default()),
        }),
        Json::Array(items) => MappingNode {
            items: items.iter().map(node).collect(),
            ..MappingNode::default()
        },
        Json::Object(fields) => MappingNode {
            fields: fields.iter().map(|(k, v)| (k.clone(), node(v))).collect(),
            ..MappingNode::default()
        },
    }
}
