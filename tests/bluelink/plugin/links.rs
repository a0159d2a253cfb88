//! Links of the fake provider: from a box to another box or to a slow thing. The file `links` has a
//! kind in each line. A link labels the box at its begin, notes the linking box at the other end,
//! and creates a box between the two. More files, effective if they exist:
//!
//! - `old-links`: the plugin is older than the call for intermediaries' states,
//! - `between`: the host creates the box between (a type of another provider),
//! - `locks`: the last phase locks the resource at the link's begin,
//! - `bare`: no change is ever staged.

use crate::fault_files::file;
use crate::mapping_node::{json, node};
use crate::object_store;
use crate::resource_calls::{Fake, spec_of, unexpected};
use proto::bluelink::providerserverv1::*;
use proto::bluelink::schema::{MappingNode, ScalarValue, scalar_value::Value as Scalar};
use proto::bluelink::sharedtypesv1::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Reason for a missing answer.
pub enum Refusal {
    Said(ErrorResponse),
    /// The plugin is older than the call.
    Old,
}

impl From<ErrorResponse> for Refusal {
    fn from(error: ErrorResponse) -> Self {
        Self::Said(error)
    }
}

pub type Said<T> = Result<T, Refusal>;

/// Serves calls by methods of this file.
macro_rules! links_served {
    ($($method:ident($ask:ident) -> $answer:ident, $module:ident, $good:ident, $by:ident;)*) => {$(
        fn $method<'s, 'f>(
            &'s self,
            request: tonic::Request<$ask>,
        ) -> std::pin::Pin<Box<dyn Future<Output = Answer<$answer>> + Send + 'f>>
        where
            's: 'f,
            Self: 'f,
        {
            Box::pin(async move {
                let response = match self.$by(request.into_inner()).await {
                    Ok(good) => $module::Response::$good(good),
                    Err($crate::links::Refusal::Said(error)) => $module::Response::ErrorResponse(error),
                    Err($crate::links::Refusal::Old) => {
                        return Err(Status::unimplemented("it is older than this call"));
                    }
                };
                Ok(Response::new($answer { response: Some(response) }))
            })
        }
    )*};
}
pub(crate) use links_served;

/// Annotation that selects the mode of a link.
pub const MODE: &str = "fake.link.mode";

fn scalar(text: &str) -> ScalarValue {
    ScalarValue {
        value: Some(Scalar::StringValue(text.to_owned())),
    }
}

pub fn file_exists(name: &str) -> bool {
    file(name).exists()
}

/// Name of one end, and its current or planned spec.
pub struct End {
    pub name: String,
    pub spec: Value,
    pub annotations: Value,
}

pub fn end(info: Option<ResourceInfo>) -> Result<End, ErrorResponse> {
    let info = info.ok_or_else(|| unexpected("no resource info"))?;
    let resolved = info.resource_with_resolved_subs.unwrap_or_default();
    let spec = json(&resolved.spec.unwrap_or_default()).map_err(unexpected)?;
    let annotations = resolved.metadata.and_then(|m| m.annotations);
    Ok(End {
        name: info.resource_name,
        spec,
        annotations: annotations.map_or(Value::Null, |a| json(&a).unwrap()),
    })
}

/// Object in the plugin's world for the state that was sent.
pub fn object(info: &Option<ResourceInfo>) -> Result<Value, ErrorResponse> {
    let state = info.as_ref().and_then(|i| i.current_resource_state.clone());
    let spec = spec_of(&state.ok_or_else(|| unexpected("the resource has no state"))?)?;
    let id = spec["id"].as_str().unwrap_or_default();
    object_store::read(id).ok_or_else(|| unexpected(format!("there is no {id:?} to be linked")))
}

fn data(state: &Option<LinkState>) -> Value {
    let fields = state.iter().flat_map(|s| s.data.iter());
    let fields = fields.map(|(name, node)| (name.clone(), json(node).unwrap()));
    Value::Object(fields.collect())
}

/// Request about a link, as recorded in `calls`.
pub fn recorded_request(
    update: i32,
    state: &Option<LinkState>,
    changes: &Option<LinkChanges>,
) -> Value {
    let changes = changes.clone().unwrap_or_default();
    let fields = changes.modified_fields.iter().chain(&changes.new_fields);
    let fields: Vec<&String> = fields.map(|c| &c.field_path).collect();
    let made = state.iter().flat_map(|s| &s.intermediary_resource_states);
    let made: Vec<&String> = made.map(|m| &m.resource_id).collect();
    let update = LinkUpdateType::try_from(update).unwrap();
    json!({
        "update": format!("{update:?}").to_lowercase(),
        "link": state.as_ref().map(|s| s.id.clone()), "name": state.as_ref().map(|s| s.name.clone()),
        "data": data(state), "made": made, "changed": fields, "removed": changes.removed_fields,
    })
}

pub fn provider_context(context: &Option<LinkContext>) -> ProviderContext {
    let context = context.clone().unwrap_or_default();
    let variables = context.provider_config_variables.into_iter();
    ProviderContext {
        provider_config_variables: variables
            .filter_map(|(name, v)| Some((name.split_once("::")?.1.to_owned(), v)))
            .collect(),
        context_variables: context.context_variables,
        tagging_config: None,
    }
}

impl Fake {
    pub async fn links(&self, request: ProviderRequest) -> Said<LinkTypes> {
        if file_exists("old") {
            return Err(Refusal::Old);
        }
        let said = std::fs::read_to_string(file("links")).unwrap_or_default();
        let kind = |line: &str| LinkType {
            r#type: line.to_owned(),
        };
        let link_types = said.lines().map(kind).collect();
        let entered = self.begin_call("ListLinkTypes", &request.host_id, json!({}));
        entered.await?;
        Ok(LinkTypes { link_types })
    }

    pub async fn link_annotations(&self, request: LinkRequest) -> Said<LinkAnnotationDefinitions> {
        let definition = LinkAnnotationDefinition {
            name: MODE.to_owned(),
            default_value: Some(scalar("read")),
            allowed_values: vec![scalar("read"), scalar("write")],
            required: true,
            applies_to: 1,
            ..LinkAnnotationDefinition::default()
        };
        let definitions = [(format!("fake/box::{MODE}"), definition)].into();
        let entered = self.begin_call("GetLinkAnnotationDefinitions", &request.host_id, json!({}));
        entered.await?;
        Ok(LinkAnnotationDefinitions { definitions })
    }

    pub async fn link_kind(&self, request: LinkRequest) -> Said<LinkKindInfo> {
        let entered = self.begin_call("GetLinkKind", &request.host_id, json!({}));
        let kind = match file_exists("hard") {
            true => LinkKind::Hard,
            false => LinkKind::Soft,
        };
        entered.await?;
        Ok(LinkKindInfo { kind: kind.into() })
    }

    pub async fn link_priority(&self, request: LinkRequest) -> Said<LinkPriorityResourceInfo> {
        let entered = self.begin_call("GetLinkPriorityResource", &request.host_id, json!({}));
        let priority_resource = LinkPriorityResource::B.into();
        entered.await?;
        Ok(LinkPriorityResourceInfo { priority_resource })
    }

    pub async fn check_link(
        &self,
        request: ValidateLinkRequest,
    ) -> Said<ValidateLinkCompleteResponse> {
        let annotations: BTreeMap<String, Value> = request
            .annotations
            .iter()
            .map(|(name, value)| {
                let node = MappingNode {
                    scalar: Some(value.clone()),
                    ..MappingNode::default()
                };
                (name.clone(), json(&node).unwrap())
            })
            .collect();
        let spec = json(&request.resource_a_spec.unwrap_or_default()).unwrap();
        let what = json!({"a": request.resource_a_name, "b": request.resource_b_name, "annotations": annotations});
        let entered = self
            .begin_call("ValidateLink", &request.host_id, what)
            .await;
        let lonely = spec["name"] == "lonely";
        let diagnostic = lonely.then(|| Diagnostic {
            level: DiagnosticLevel::Error.into(),
            message: "a lonely box must not be linked".to_owned(),
            context: None,
        });
        entered?;
        Ok(ValidateLinkCompleteResponse {
            diagnostics: diagnostic.into_iter().collect(),
        })
    }

    pub async fn stage_link(
        &self,
        request: StageLinkChangesRequest,
    ) -> Said<StageLinkChangesCompleteResponse> {
        let (a, b) = (
            request.resource_a_changes.unwrap_or_default(),
            request.resource_b_changes.unwrap_or_default(),
        );
        let known = !b
            .field_changes_known_on_deploy
            .iter()
            .any(|p| p == "spec.id" || p == "spec");
        let (from, to) = (end(a.applied_resource_info)?, end(b.applied_resource_info)?);
        let now = data(&request.current_link_state);
        let what = json!({
            "from": from.name, "to": to.name, "there": request.current_link_state.is_some(), "data": now,
            "unknown": [a.field_changes_known_on_deploy, b.field_changes_known_on_deploy],
        });
        self.begin_call("StageLinkChanges", &request.host_id, what)
            .await?;
        let mut changes = LinkChanges::default();
        let wanted = [
            ("label", known.then(|| to.spec["id"].clone())),
            ("mode", Some(from.annotations[MODE].clone())),
            (
                "secret",
                Some(from.spec["secret"].clone()).filter(|s| !s.is_null()),
            ),
        ];
        for (name, value) in wanted {
            let path = format!("{}.{name}", from.name);
            let before = &now[&from.name][name];
            let value = match (name, value) {
                ("label", None) => {
                    changes.field_changes_known_on_deploy.push(path);
                    continue;
                }
                (_, None) => continue,
                (_, Some(value)) => value,
            };
            let change = FieldChange {
                field_path: path.clone(),
                prev_value: (!before.is_null()).then(|| node(before)),
                new_value: Some(node(&value)),
                must_recreate: false,
                sensitive: name == "secret",
            };
            match (before.is_null(), *before == value) {
                (true, _) => changes.new_fields.push(change),
                (false, true) => changes.unchanged_fields.push(path),
                (false, false) => changes.modified_fields.push(change),
            }
        }
        if file_exists("bare") {
            changes = LinkChanges::default();
        }
        Ok(StageLinkChangesCompleteResponse {
            changes: Some(changes),
        })
    }
}
