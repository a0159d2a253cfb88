//! Implementation of the provider's calls, and their faults.

use crate::fault_files::{record_call, take_call_fault};
use crate::mapping_node::{json, node};
use crate::object_store;
use proto::bluelink::providerserverv1::{
    CustomValidateDataSourceCompleteResponse, CustomValidateDataSourceRequest,
    FetchDataSourceCompleteResponse, FetchDataSourceRequest, GetResourceExternalStateRequest,
};
use proto::bluelink::schema::string_or_substitution::Value as Part;
use proto::bluelink::schema::{MappingNode, ScalarValue};
use proto::bluelink::sharedtypesv1::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Id of the host that accepted the registration, once known.
#[derive(Clone, Default)]
pub struct Host(Arc<Mutex<Option<String>>>);

impl Host {
    pub fn set(&self, id: &str) {
        *self.0.lock().unwrap() = Some(id.to_owned());
    }
}

pub struct Fake {
    pub host: Host,
    pub namespace: String,
}

fn error(code: ErrorCode, message: impl Into<String>) -> ErrorResponse {
    ErrorResponse {
        code: code.into(),
        message: message.into(),
        details: None,
    }
}

pub fn unexpected(message: impl Into<String>) -> ErrorResponse {
    error(ErrorCode::Unexpected, message)
}

/// Encodes reasons as the framework does: JSON in the bytes of an `Any`.
pub fn bad_input(reasons: &[&str]) -> ErrorResponse {
    let json = json!({"failureReasons": reasons}).to_string();
    let mut value = vec![0x0a, u8::try_from(json.len()).unwrap()];
    value.extend(json.as_bytes());
    ErrorResponse {
        details: Some(prost_types::Any {
            type_url: "type.googleapis.com/google.protobuf.BytesValue".to_owned(),
            value,
        }),
        ..error(
            ErrorCode::BadInput,
            format!("bad input provided with {} input errors", reasons.len()),
        )
    }
}

impl Fake {
    /// Common start of every call: checks the host's id and applies the configured fault.
    pub async fn begin_call(
        &self,
        method: &str,
        host_id: &str,
        what: Value,
    ) -> Result<(), ErrorResponse> {
        if self.host.0.lock().unwrap().as_deref() != Some(host_id) {
            return Err(unexpected(format!("invalid host ID {host_id:?}")));
        }
        record_call(method, what);
        match take_call_fault(method).as_deref() {
            None => Ok(()),
            Some("transient") => Err(error(
                ErrorCode::Transient,
                "retryable error: throttled by the cloud",
            )),
            Some("bad-input") => Err(bad_input(&["the box is too red", "the lid is loose"])),
            Some("unexpected") => Err(unexpected("the cloud is on fire")),
            Some("crash") => {
                eprintln!("[ERROR] panic: a nil map was written to");
                std::process::exit(2);
            }
            Some("deregister") => {
                crate::deregistration::within_call(host_id).await;
                Ok(())
            }
            Some("hang") => std::future::pending().await,
            Some(other) => panic!("no such trouble: {other}"),
        }
    }
}

pub fn text(kind: Option<ResourceType>) -> String {
    kind.map(|t| t.r#type).unwrap_or_default()
}

/// Spec of a state that was sent; the framework requires one.
pub fn spec_of(state: &ResourceState) -> Result<Value, ErrorResponse> {
    let spec = state.spec_data.as_ref().filter(|n| !n.fields.is_empty());
    let spec = spec.ok_or_else(|| unexpected("required mapping node is set to nil"))?;
    json(spec).map_err(unexpected)
}

pub fn nodes(values: &Value) -> HashMap<String, MappingNode> {
    let values = values.as_object().unwrap().iter();
    values.map(|(path, v)| (path.clone(), node(v))).collect()
}

fn context(context: Option<&ProviderContext>) -> Value {
    let Some(context) = context else {
        return Value::Null;
    };
    let values = |all: &HashMap<String, ScalarValue>| {
        let one = |(name, scalar): (&String, &ScalarValue)| {
            let node = MappingNode {
                scalar: Some(scalar.clone()),
                ..MappingNode::default()
            };
            (name.clone(), json(&node).unwrap())
        };
        Value::Object(all.iter().map(one).collect())
    };
    json!({
        "config": values(&context.provider_config_variables),
        "session": context.context_variables.contains_key("bluelink.sessionId"),
    })
}

/// Request about one object, as recorded in `calls`.
fn recorded_request(request: &DeployResourceRequest) -> Value {
    let changes = request.changes.clone().unwrap_or_default();
    let info = changes.applied_resource_info.clone().unwrap_or_default();
    let change = |c: &FieldChange| {
        let value = |node: &Option<MappingNode>| {
            node.as_ref()
                .map_or(Value::Null, |n| json(n).unwrap_or_default())
        };
        json!({"path": c.field_path, "from": value(&c.prev_value), "to": value(&c.new_value),
            "must_recreate": c.must_recreate, "sensitive": c.sensitive})
    };
    let changed = |all: &[FieldChange]| all.iter().map(change).collect::<Vec<_>>();
    let spec = info.resource_with_resolved_subs.and_then(|r| r.spec);
    json!({
        "type": request.resource_type.clone().map(|t| t.r#type), "resource": request.resource_id,
        "name": info.resource_name, "instance": request.instance_name,
        "state": info.current_resource_state.is_some(), "must_recreate": changes.must_recreate,
        "new": changed(&changes.new_fields), "modified": changed(&changes.modified_fields),
        "removed": changes.removed_fields, "unchanged": changes.unchanged_fields,
        "computed": changes.computed_fields, "spec": spec.map(|s| json(&s).unwrap_or_default()),
        "context": context(request.context.as_ref()),
    })
}

/// Name of the box that is being deployed.
fn box_name(request: &DeployResourceRequest) -> String {
    let info = request.changes.as_ref();
    let info = info.and_then(|c| c.applied_resource_info.as_ref());
    let spec = info.and_then(|i| i.resource_with_resolved_subs.as_ref()?.spec.as_ref());
    let spec = spec.and_then(|spec| json(spec).ok()).unwrap_or_default();
    spec["name"].as_str().unwrap_or_default().to_owned()
}

impl Fake {
    pub async fn deploy(&self, request: DeployResourceRequest) -> Result<Value, ErrorResponse> {
        self.begin_call(
            "DeployResource",
            &request.host_id,
            recorded_request(&request),
        )
        .await?;
        let told = context(request.context.as_ref());
        crate::host_requests::send_requests(&box_name(&request), &request).await?;
        let changes = request.changes.unwrap_or_default();
        let info = changes.applied_resource_info.unwrap_or_default();
        let before = info
            .current_resource_state
            .as_ref()
            .map(spec_of)
            .transpose()?;
        let spec = info.resource_with_resolved_subs.and_then(|r| r.spec);
        let spec = spec.ok_or_else(|| unexpected("required mapping node is set to nil"))?;
        let spec = json(&spec).map_err(unexpected)?;
        let region = told["config"]["region"].as_str().map(str::to_owned);
        let kind = text(request.resource_type);
        let mut set = object_store::store_object(&kind, before.as_ref(), spec, region.as_deref());
        let answered = set.as_object_mut().unwrap();
        match take_call_fault("Answered").as_deref() {
            None => {}
            Some("nothing") => answered.clear(),
            Some("nulls") => answered.values_mut().for_each(|v| *v = Value::Null),
            Some(other) => panic!("no such trouble: {other}"),
        }
        // The work is done, but the answer never arrives.
        if take_call_fault("Deployed").is_some() {
            std::process::exit(9);
        }
        Ok(set)
    }

    pub async fn destroy(&self, request: DestroyResourceRequest) -> Result<bool, ErrorResponse> {
        let what =
            json!({"resource": request.resource_id, "state": request.resource_state.is_some()});
        self.begin_call("DestroyResource", &request.host_id, what)
            .await?;
        if take_call_fault("Destroyed").is_some() {
            return Ok(false);
        }
        let spec = spec_of(&request.resource_state.unwrap_or_default())?;
        object_store::remove(spec["id"].as_str().unwrap_or_default());
        Ok(true)
    }

    pub async fn read_object(
        &self,
        request: GetResourceExternalStateRequest,
    ) -> Result<MappingNode, ErrorResponse> {
        let spec = json(&request.current_resource_spec.unwrap_or_default()).map_err(unexpected)?;
        let what = json!({"id": spec["id"], "name": request.resource_name});
        self.begin_call("GetResourceExternalState", &request.host_id, what)
            .await?;
        let object = spec["id"].as_str().and_then(object_store::read);
        Ok(object.map(|spec| node(&spec)).unwrap_or_default())
    }

    pub async fn check_data(
        &self,
        request: CustomValidateDataSourceRequest,
    ) -> Result<CustomValidateDataSourceCompleteResponse, ErrorResponse> {
        let written = request.schema_data_source.unwrap_or_default();
        let filters = written.filter.into_iter();
        let mut search: Vec<Value> = Vec::new();
        for part in filters.flat_map(|f| f.search.unwrap_or_default().values) {
            for value in part.values {
                search.push(match value.value {
                    Some(Part::StringValue(text)) => json!(text),
                    _ => Value::Null,
                });
            }
        }
        let forbidden = search.contains(&json!("forbidden"));
        let what = json!({"type": written.r#type, "search": search});
        self.begin_call("CustomValidateDataSource", &request.host_id, what)
            .await?;
        let diagnostic = Diagnostic {
            level: DiagnosticLevel::Error.into(),
            message: "no box may be looked for by the name forbidden".to_owned(),
            context: None,
        };
        Ok(CustomValidateDataSourceCompleteResponse {
            diagnostics: forbidden.then_some(diagnostic).into_iter().collect(),
        })
    }

    pub async fn fetch(
        &self,
        request: FetchDataSourceRequest,
    ) -> Result<FetchDataSourceCompleteResponse, ErrorResponse> {
        let question = request.data_source_with_resolved_subs.unwrap_or_default();
        let filter = question.filter.first().cloned().unwrap_or_default();
        let search = filter.search.unwrap_or_default().values;
        let search = search.iter().map(json).collect::<Result<Vec<_>, _>>();
        let search = search.map_err(unexpected)?;
        let mut exports: Vec<&String> = question.exports.keys().collect();
        exports.sort();
        let what = json!({"operator": filter.operator, "search": search, "exports": exports});
        self.begin_call("FetchDataSource", &request.host_id, what)
            .await?;
        let found = object_store::all()
            .into_iter()
            .find(|o| search.contains(&o["name"]));
        let found = found.ok_or_else(|| unexpected("there is no such box"))?;
        let known = |(name, _): &(&String, &Value)| question.exports.contains_key(*name);
        let mut found = found.clone();
        if take_call_fault("Fetched").is_some() {
            found["outside"] = "odd".into();
        }
        let known = |(name, value): &(&String, &Value)| *name == "outside" || known(&(name, value));
        let fields = found.as_object().unwrap().iter().filter(known);
        Ok(FetchDataSourceCompleteResponse {
            data: fields.map(|(name, v)| (name.clone(), node(v))).collect(),
        })
    }

    pub async fn stable(
        &self,
        request: ResourceHasStabilisedRequest,
    ) -> Result<ResourceStabilisationInfo, ErrorResponse> {
        let spec = json(&request.resource_spec.unwrap_or_default()).map_err(unexpected)?;
        self.begin_call(
            "ResourceHasStabilised",
            &request.host_id,
            json!({"id": spec["id"]}),
        )
        .await?;
        let id = spec["id"].as_str().unwrap_or_default();
        let mut info = ResourceStabilisationInfo {
            stabilised: true,
            ..ResourceStabilisationInfo::default()
        };
        if let (Some(wanted), Some(mut object)) = (spec["looks"].as_u64(), object_store::read(id)) {
            let looked = object["looked"].as_u64().unwrap_or(0) + 1;
            object["looked"] = looked.into();
            object_store::write(id, &object);
            info.stabilised = looked >= wanted;
            if info.stabilised {
                info.computed_field_values =
                    nodes(&json!({"spec.endpoint": format!("https://{id}")}));
            }
        }
        Ok(info)
    }
}
