//! The two resources of a link in the form of the protocol, each with the schema of its own
//! provider. Their names are addresses with only those characters that paths allow.

use super::kinds::LinkKind;
use super::private_data::LinkPrivate;
use super::record::{Record, steps};
use super::schema::INTERMEDIARIES;
use crate::bluelink::adapter::BluelinkProvider;
use crate::bluelink::changes::changes;
use crate::bluelink::convert::{Unknown, element_of, encode, is_null_or_empty, member_of};
use crate::bluelink::cross_plugin_calls::RunningPlugin;
use crate::bluelink::host_requests::{external_id, read};
use crate::bluelink::paths::{ROOT, Step, element, member, parse};
use crate::bluelink::schema::{Definition, ty};
use crate::bluelink::state::PrivateState as KeptObject;
use calls::{CallContext, LinkEnd, ProviderDiagnostic};
use cty::{Type, Value};
use proto::bluelink::providerserverv1::{LinkContext, LinkType};
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::*;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Resource at one end of a link.
pub(super) struct Side {
    /// Address with other characters replaced.
    pub(super) name: String,
    pub(super) address: String,
    plugin: Arc<RunningPlugin>,
    kind: String,
    resource_id: String,
    /// Null if it is new.
    pub(super) before: Value,
    /// Planned value, possibly with unknown parts.
    pub(super) after: Value,
}

/// Converts an address to a name for paths.
pub(super) fn name_of(address: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = address
        .chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    name.trim_end_matches('_').to_owned()
}

impl BluelinkProvider {
    /// Returns the kind and both ends of the link of a call. An existing link keeps the names that
    /// it was created with.
    pub(super) fn sides(
        &self,
        ctx: &CallContext,
        (link, kept): (&Value, &LinkPrivate),
    ) -> Result<(&LinkKind, [Side; 2]), ProviderDiagnostic> {
        let ends = ctx.linked.as_ref().and_then(|linked| linked.ends.as_ref());
        let Some([from, to]) = ends else {
            let detail = "The resources at its ends are neither in the configuration nor in the state. Run `flightdeck state rm` to remove a link whose ends no longer exist.";
            return Err(ProviderDiagnostic::error("Unknown link ends", detail));
        };
        let pair = [from.kind.clone(), to.kind.clone()];
        let Some(kind) = self.links.kinds.get(&pair).filter(|_| !self.links.too_old) else {
            let detail = format!(
                "{} has no link from {} to {}.",
                self.info.plugin, pair[0], pair[1]
            );
            return Err(ProviderDiagnostic::error("Unsupported link", detail));
        };
        let [a, b] = [(0, from), (1, to)].map(|(i, end)| kept.name(link, i, &end.address));
        Ok((kind, [self.side(from, a)?, self.side(to, b)?]))
    }

    fn side(&self, end: &LinkEnd, name: String) -> Result<Side, ProviderDiagnostic> {
        let who = self.running_plugins.by_address(&end.provider);
        // The other end may belong to another plugin, which must be in use for its schema.
        let Some(who) = who.filter(|who| who.definitions.contains_key(&end.kind)) else {
            let detail = format!(
                "No running plugin of {} has the resource type {} of {}.",
                end.provider, end.kind, end.address
            );
            return Err(ProviderDiagnostic::error("Unavailable link end", detail));
        };
        let of = &who.definitions[&end.kind];
        let held = end.state_entry.as_ref().and_then(|held| read(of, held));
        let null = || Value::null(ty(&of.node));
        let resource_id = end
            .state_entry
            .as_ref()
            .map(|held| KeptObject::decode(&held.private.clone().into()).resource_id);
        let now = held.unwrap_or_else(null);
        // Lock requests name the resource as the plugin knows it.
        self.active_calls.register_name(&name, &end.address);
        Ok(Side {
            name,
            address: end.address.clone(),
            kind: end.kind.clone(),
            resource_id: resource_id.unwrap_or_default(),
            before: end.before.clone().unwrap_or_else(|| now.clone()),
            after: match &end.after {
                Some(after) => after.clone(),
                // Neither planned nor existing: another stage will create it.
                None if now.is_null() => Value::unknown(ty(&of.node)),
                None => now,
            },
            plugin: who,
        })
    }

    /// Returns the context of a call about a link.
    pub(super) fn link_context(&self, ctx: &CallContext) -> LinkContext {
        let context = self.caller.context(ctx);
        let id = &self.caller.plugin_id;
        // In link contexts each variable has the namespace of its provider as a prefix.
        let namespace = id.rsplit('/').next().unwrap_or(id);
        let variables = context.provider_config_variables.into_iter();
        LinkContext {
            provider_config_variables: variables
                .map(|(name, value)| (format!("{namespace}::{name}"), value))
                .collect(),
            context_variables: context.context_variables,
        }
    }

    /// Returns the paths in the link data that are sensitive, because the fields they are mapped to
    /// are.
    pub(super) fn sensitive_in(
        &self,
        sides: &[Side; 2],
        mappings: &std::collections::BTreeMap<String, String>,
        record: &Record,
    ) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        for (field, path) in mappings {
            let Some((name, field)) = field.split_once("::") else {
                continue;
            };
            let side = sides.iter().find(|side| side.name == name);
            let steps = parse(field);
            if let (Some(side), Some(steps)) = (side, steps)
                && is_sensitive(&side.definition().node, &steps)
            {
                all.insert(path.clone());
            }
        }
        for (id, made) in &record.intermediaries {
            let of = self.running_plugins.definition_of(&made.kind);
            if let Some(of) = of {
                let at = format!("{}.spec", member(INTERMEDIARIES, id));
                sensitive_fields(&of.node, &made.spec, &at, &mut all);
            }
        }
        // A text that is not a path cannot be hidden.
        all.retain(|path| steps(path).is_some());
        all
    }
}

/// Returns true if a field or one of its parents is sensitive.
fn is_sensitive(node: &ResourceDefinitionsSchema, steps: &[Step]) -> bool {
    if node.sensitive {
        return true;
    }
    let Some((step, rest)) = steps.split_first() else {
        return false;
    };
    let next = match step {
        Step::Name(name) => node.attributes.get(name).or(node.map_values.as_deref()),
        Step::Index(_) => node.items.as_deref(),
    };
    next.is_some_and(|next| is_sensitive(next, rest))
}

fn sensitive_fields(
    schema: &ResourceDefinitionsSchema,
    node: &MappingNode,
    at: &str,
    found: &mut BTreeSet<String>,
) {
    if schema.sensitive {
        found.insert(at.to_owned());
        return;
    }
    for (name, child) in &node.fields {
        let of = schema.attributes.get(name).or(schema.map_values.as_deref());
        if let Some(of) = of {
            sensitive_fields(of, child, &member(at, name), found);
        }
    }
}

pub(super) fn link_type(kind: &LinkKind) -> Option<LinkType> {
    Some(LinkType {
        r#type: kind.wire.clone(),
    })
}

/// Returns the name of a link: `{resource A}::{resource B}`.
pub(super) fn link_name(sides: &[Side; 2]) -> String {
    format!("{}::{}", sides[0].name, sides[1].name)
}

impl Side {
    pub(super) fn definition(&self) -> &Definition {
        &self.plugin.definitions[&self.kind]
    }

    pub(super) fn kind(&self) -> Option<ResourceType> {
        Some(ResourceType {
            r#type: self.definition().wire.clone(),
        })
    }

    /// Returns the external id of the resource; unknown before it is created.
    pub(super) fn id(&self) -> Value {
        let of = self.definition();
        if !self.after.is_known() || !member_of(&self.after, &of.id_field).is_known() {
            return Value::unknown(Type::String);
        }
        match external_id(of, &self.after) {
            Some(id) => Value::string(&id),
            None => Value::null(Type::String),
        }
    }

    /// Returns true if the resource changes in this plan.
    pub(super) fn changes(&self) -> bool {
        !self.after.raw_equals(&self.before)
    }

    /// Returns the changes of the resource for the plugin. Known values are included, even of
    /// computed fields.
    pub(super) fn reported_changes(&self, instance_id: &str, annotations: &MappingNode) -> Changes {
        let of = self.definition();
        let mut unknown = Vec::new();
        unknown_paths(&self.after, ROOT, &mut unknown);
        Changes {
            applied_resource_info: Some(self.info(&self.before, instance_id, annotations)),
            computed_fields: unknown.clone(),
            field_changes_known_on_deploy: unknown,
            ..changes(of, &self.before, &self.after)
        }
    }

    /// Returns the resource with `current` as its existing state.
    pub(super) fn info(
        &self,
        current: &Value,
        instance_id: &str,
        annotations: &MappingNode,
    ) -> ResourceInfo {
        let of = self.definition();
        let node = |value: &Value| encode(value, Some(&of.node), Unknown::Omitted);
        let there = !is_null_or_empty(current) && current.is_known();
        ResourceInfo {
            resource_id: self.resource_id.clone(),
            resource_name: self.name.clone(),
            instance_id: instance_id.to_owned(),
            current_resource_state: there.then(|| ResourceState {
                id: self.resource_id.clone(),
                name: self.name.clone(),
                r#type: of.wire.clone(),
                instance_id: instance_id.to_owned(),
                status: ResourceStatus::Created.into(),
                precise_status: PreciseResourceStatus::Created.into(),
                spec_data: node(current),
                metadata: Some(ResourceMetadataState {
                    annotations: annotations.fields.clone(),
                    ..ResourceMetadataState::default()
                }),
                ..ResourceState::default()
            }),
            resource_with_resolved_subs: Some(ResolvedResource {
                r#type: self.kind(),
                metadata: Some(ResolvedResourceMetadata {
                    annotations: Some(annotations.clone()),
                }),
                spec: node(&self.after),
            }),
        }
    }
}

/// Collects the paths of unknown values.
fn unknown_paths(value: &Value, at: &str, found: &mut Vec<String>) {
    if !value.is_known() {
        found.push(at.to_owned());
        return;
    }
    if value.is_null() {
        return;
    }
    for name in value
        .as_map()
        .into_iter()
        .flat_map(|all| all.keys().cloned())
    {
        unknown_paths(&member_of(value, &name), &member(at, &name), found);
    }
    for index in 0..value.as_slice().map_or(0, <[Value]>::len) {
        unknown_paths(&element_of(value, index), &element(at, index), found);
    }
}
