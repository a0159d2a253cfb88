//! Data of a link: results of its three phases, and its intermediary resources. Converted to
//! attributes for the engine and to the link's state for the plugin. Pure.

use super::private_data::LinkPrivate;
use super::schema::{IDS, INTERMEDIARIES, SECRETS, UNFINISHED};
use crate::bluelink::convert::{Unknown, decode_any, encode, member_of};
use crate::bluelink::paths::{Step, parse, remove_at, set_at};
use cty::{Type, Value};
use model::LINK_PHASES;
use proto::bluelink::providerserverv1::{LinkIntermediaryResourceState, LinkState, LinkStatus};
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::{PreciseResourceStatus, ResourceStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Parts of the link data, one for each phase.
pub(super) const PARTS: [&str; 3] = LINK_PHASES;

/// Data of a link.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Record {
    pub(super) parts: [MappingNode; 3],
    /// Intermediaries by their ids at the plugin.
    pub(super) intermediaries: BTreeMap<String, PhaseResult>,
    /// Phases that remain after a failure.
    pub(super) unfinished: Vec<String>,
}

/// Intermediary resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PhaseResult {
    /// Type name in the protocol.
    pub(super) kind: String,
    pub(super) spec: MappingNode,
}

/// Parses a path in the link data.
pub(super) fn steps(path: &str) -> Option<Vec<Step>> {
    match path.starts_with('[') {
        true => parse(&format!("spec{path}")),
        false => parse(&format!("spec.{path}")),
    }
}

/// Merges two nodes; the second one wins.
pub(super) fn merge(into: &mut MappingNode, more: &MappingNode) {
    if more.fields.is_empty() {
        if *more != MappingNode::default() {
            *into = more.clone();
        }
        return;
    }
    into.scalar = None;
    for (name, node) in &more.fields {
        merge(into.fields.entry(name.clone()).or_default(), node);
    }
}

/// Returns the node of an attribute; empty if it is missing or unknown.
fn node(object: &Value, name: &str) -> MappingNode {
    encode(&member_of(object, name), None, Unknown::Omitted).unwrap_or_default()
}

impl Record {
    /// Returns the data of a link from an object of the state.
    pub(super) fn from_object(object: &Value) -> Self {
        if object.is_null() || !object.is_known() {
            return Self::default();
        }
        // The attributes were split at sensitive paths; the parts are joined again.
        let mut secrets = node(object, SECRETS);
        let mut with_secrets = |name: &str| {
            let mut whole = node(object, name);
            if let Some(hidden) = secrets.fields.remove(name) {
                merge(&mut whole, &hidden);
            }
            whole
        };
        let parts = PARTS.map(&mut with_secrets);
        let made = with_secrets(INTERMEDIARIES)
            .fields
            .into_iter()
            .map(|(id, mut one)| {
                let kind = one.fields.remove("type").as_ref().and_then(text);
                let spec = one.fields.remove("spec").unwrap_or_default();
                let kind = kind.unwrap_or_default();
                (id, PhaseResult { kind, spec })
            });
        let unfinished = member_of(object, UNFINISHED);
        let names = unfinished.as_slice().unwrap_or_default().iter();
        Self {
            intermediaries: made.collect(),
            unfinished: names.filter_map(|n| Some(n.as_str()?.to_owned())).collect(),
            parts,
        }
    }

    /// Returns the merged data of all parts.
    pub(super) fn data(&self) -> MappingNode {
        let mut all = MappingNode::default();
        self.parts.iter().for_each(|part| merge(&mut all, part));
        all
    }

    /// Returns the intermediaries as one node.
    pub(super) fn made_node(&self) -> MappingNode {
        let one = |(id, made): (&String, &PhaseResult)| {
            let kind = encode(&Value::string(&made.kind), None, Unknown::Omitted);
            let fields = [
                ("type".to_owned(), kind.unwrap_or_default()),
                ("spec".to_owned(), made.spec.clone()),
            ];
            let node = MappingNode {
                fields: fields.into(),
                ..MappingNode::default()
            };
            (id.clone(), node)
        };
        MappingNode {
            fields: self.intermediaries.iter().map(one).collect(),
            ..MappingNode::default()
        }
    }

    /// Returns the computed attributes of the link. Values at sensitive paths move to an attribute
    /// that is sensitive as a whole.
    pub(super) fn attributes(&self, sensitive: &BTreeSet<String>) -> BTreeMap<Arc<str>, Value> {
        let mut all: BTreeMap<&str, MappingNode> = PARTS
            .into_iter()
            .zip(self.parts.iter().cloned())
            .chain([(INTERMEDIARIES, self.made_node())])
            .collect();
        // Dynamic values cannot mark single members as sensitive.
        let mut secrets = MappingNode::default();
        for path in sensitive {
            for (name, node) in &mut all {
                // Paths of intermediaries start with their attribute.
                let own = path
                    .strip_prefix(INTERMEDIARIES)
                    .filter(|_| *name == INTERMEDIARIES);
                let path = match (own, *name == INTERMEDIARIES) {
                    (Some(rest), _) => rest.trim_start_matches('.'),
                    (None, true) => continue,
                    (None, false) => path.as_str(),
                };
                let Some(steps) = steps(path) else { continue };
                if let Some(hidden) = remove_at(node, &steps) {
                    let mut at = vec![Step::Name((*name).to_owned())];
                    at.extend(steps);
                    set_at(&mut secrets, &at, hidden);
                }
            }
        }
        let names = self.unfinished.iter().map(Value::string);
        let unfinished = match self.unfinished.is_empty() {
            true => Value::null(Type::list(Type::String)),
            false => Value::list(Type::String, names.collect()),
        };
        all.into_iter()
            .map(|(name, node)| (Arc::from(name), decode_any(&node)))
            .chain([
                (Arc::from(UNFINISHED), unfinished),
                (Arc::from(SECRETS), decode_any(&secrets)),
            ])
            .collect()
    }

    /// Returns the state of an existing link for the plugin.
    pub(super) fn state(&self, kept: &LinkPrivate, name: String, instance_id: &str) -> LinkState {
        let status = match self.unfinished.is_empty() {
            true => LinkStatus::Created,
            false => LinkStatus::UpdateFailed,
        };
        let made = self
            .intermediaries
            .iter()
            .map(|(id, made)| LinkIntermediaryResourceState {
                resource_id: id.clone(),
                resource_type: made.kind.clone(),
                instance_id: instance_id.to_owned(),
                status: ResourceStatus::Created.into(),
                precise_status: PreciseResourceStatus::Created.into(),
                resource_spec_data: Some(made.spec.clone()),
            });
        LinkState {
            id: kept.link_id.clone(),
            name,
            instance_id: instance_id.to_owned(),
            status: status.into(),
            intermediary_resource_states: made.collect(),
            data: self.data().fields,
        }
    }
}

fn text(node: &MappingNode) -> Option<String> {
    decode_any(node).as_str().map(str::to_owned)
}

/// Returns the object for the state: configured attributes, ids of the ends, and link data.
pub(super) fn object(config: &Value, ids: [Value; 2], kept: BTreeMap<Arc<str>, Value>) -> Value {
    let said = ["from", "to", "annotations"];
    let mut members: BTreeMap<Arc<str>, Value> = said
        .into_iter()
        .map(|name| (Arc::from(name), member_of(config, name)))
        .collect();
    if members["annotations"].is_null() {
        members.insert("annotations".into(), Value::null(Type::map(Type::String)));
    }
    members.extend(IDS.into_iter().map(Arc::from).zip(ids));
    members.extend(kept);
    Value::object_from_map(members)
}
