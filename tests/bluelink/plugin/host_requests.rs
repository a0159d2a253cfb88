//! Requests of the fake provider to its host during the deploy of a box. The file `asks` has a line
//! for each request: NAME REQUEST ARGUMENTS, for the box of that name. The answers are recorded in
//! `calls` as `Asked`. The first error becomes the error of the deploy, except for lines that begin
//! with `try`.

use crate::PORTS;
use crate::fault_files::{file, record_call};
use crate::mapping_node::{json, node};
use crate::ping_client;
use crate::resource_calls::unexpected;
use proto::bluelink::pluginservicev1::acquire_resource_lock_response::Response as Locked;
use proto::bluelink::pluginservicev1::lookup_resource_in_state_response::Response as Found;
use proto::bluelink::pluginservicev1::service_client::ServiceClient;
use proto::bluelink::pluginservicev1::{
    AcquireResourceLockRequest, DeployResourceServiceRequest, LookupResourceInStateRequest,
};
use proto::bluelink::sharedtypesv1::deploy_resource_response::Response as Deployed;
use proto::bluelink::sharedtypesv1::destroy_resource_response::Response as Destroyed;
use proto::bluelink::sharedtypesv1::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tonic::transport::Channel;

/// Longest wait for a condition that a test must meet.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends all requests of the box that is being deployed.
pub async fn send_requests(
    box_name: &str,
    request: &DeployResourceRequest,
) -> Result<(), ErrorResponse> {
    let text = std::fs::read_to_string(file("asks")).unwrap_or_default();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (tries, words) = match words[..] {
            ["try", ref rest @ ..] => (true, rest),
            ref all => (false, all),
        };
        if words[0] != box_name {
            continue;
        }
        if words[1] == "later" {
            let (own, request) = (box_name.to_owned(), request.clone());
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            tokio::spawn(async move {
                wait_for("later-now", &[]).await;
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                send_and_record(&own, &words[2..], &request).await.ok();
            });
            continue;
        }
        let answer = send_and_record(box_name, &words[1..], request).await;
        if let (Err(error), false) = (answer, tries) {
            return Err(unexpected(format!("the host says: {error}")));
        }
    }
    Ok(())
}

/// Sends one request and records the answer.
async fn send_and_record(
    own: &str,
    words: &[&str],
    request: &DeployResourceRequest,
) -> Result<Value, String> {
    let answer = send_request(own, words, request).await;
    let said = match &answer {
        Ok(good) => json!({"box": own, "asked": words, "ok": good}),
        Err(error) => json!({"box": own, "asked": words, "error": error}),
    };
    record_call("Asked", said);
    answer
}

pub async fn service() -> ServiceClient<Channel> {
    let port = std::env::var(PORTS[0]).unwrap();
    ServiceClient::connect(format!("http://127.0.0.1:{port}"))
        .await
        .unwrap()
}

async fn send_request(
    own: &str,
    words: &[&str],
    request: &DeployResourceRequest,
) -> Result<Value, String> {
    let context = request.context.clone();
    let instance = request.instance_id.clone();
    match *words {
        ["deploy", kind, name] => deploy(deployment(kind, name, request), false).await,
        ["update", kind, name] => {
            let mut all = deployment(kind, name, request);
            let info = all.changes.as_mut().unwrap().applied_resource_info.as_mut();
            info.unwrap().current_resource_state = Some(state(kind, &format!("{name}-1")));
            deploy(all, false).await
        }
        ["deploy-stable", kind, name] => deploy(deployment(kind, name, request), true).await,
        // Omits the call context.
        ["deploy-bare", kind, name] => {
            let all = deployment(kind, name, request);
            deploy(
                DeployResourceRequest {
                    context: None,
                    ..all
                },
                false,
            )
            .await
        }
        // The process exits before the answer arrives.
        ["deploy-and-exit", kind, name] => {
            let all = deployment(kind, name, request);
            tokio::spawn(deploy(all, false));
            wait_for("exit-now", &[]).await;
            std::process::exit(9)
        }
        ["destroy", kind, id] => destroy(kind, id, request).await,
        ["lookup", kind, id] => lookup(instance, kind, id, context).await,
        // Sends the lookup several times over one connection; records microseconds per lookup.
        ["lookup-often", kind, id, times] => {
            repeat_lookup(instance, kind, id, context, times).await
        }
        ["lookup-elsewhere", kind, id] => lookup("elsewhere".into(), kind, id, context).await,
        ["lock", name] => lock(instance, name, "", context).await,
        ["lock", name, by] => lock(instance, name, by, context).await,
        ["exit"] => std::process::exit(9),
        // Continues once all named boxes have arrived here.
        ["meet", ref others @ ..] => {
            std::fs::write(file(&format!("met-{own}")), "").unwrap();
            wait_for("", others).await;
            Ok(json!("met"))
        }
        ["wait", name] => {
            wait_for(name, &[]).await;
            Ok(json!("there"))
        }
        _ => panic!("no such thing to ask: {words:?}"),
    }
}

/// Waits for a file, and for other boxes to arrive.
async fn wait_for(name: &str, others: &[&str]) {
    let began = Instant::now();
    let there = || {
        let named = name.is_empty() || file(name).exists();
        named && others.iter().all(|o| file(&format!("met-{o}")).exists())
    };
    while !there() {
        assert!(began.elapsed() < PATIENCE, "nobody came: {name} {others:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn of(kind: &str) -> Option<ResourceType> {
    Some(ResourceType {
        r#type: kind.to_owned(),
    })
}

fn state(kind: &str, id: &str) -> ResourceState {
    ResourceState {
        id: "intermediary".to_owned(),
        name: id.to_owned(),
        r#type: kind.to_owned(),
        spec_data: Some(node(&json!({"id": id, "name": id}))),
        ..ResourceState::default()
    }
}

pub fn deployment(
    kind: &str,
    name: &str,
    request: &DeployResourceRequest,
) -> DeployResourceRequest {
    let mut spec = json!({"name": name});
    if kind.ends_with("slow/thing") {
        spec["looks"] = 2.into();
    }
    let info = ResourceInfo {
        resource_id: "intermediary".to_owned(),
        resource_name: name.to_owned(),
        instance_id: request.instance_id.clone(),
        current_resource_state: None,
        resource_with_resolved_subs: Some(ResolvedResource {
            r#type: of(kind),
            spec: Some(node(&spec)),
            ..ResolvedResource::default()
        }),
    };
    DeployResourceRequest {
        resource_type: of(kind),
        host_id: String::new(),
        instance_id: request.instance_id.clone(),
        instance_name: request.instance_name.clone(),
        resource_id: "intermediary".to_owned(),
        changes: Some(Changes {
            applied_resource_info: Some(info),
            ..Changes::default()
        }),
        context: request.context.clone(),
    }
}

pub async fn deploy(
    request: DeployResourceRequest,
    wait_until_stable: bool,
) -> Result<Value, String> {
    let request = DeployResourceServiceRequest {
        deploy_request: Some(request),
        wait_until_stable,
    };
    let answer = service().await.deploy_resource(request).await;
    match answer.map_err(|e| e.to_string())?.into_inner().response {
        Some(Deployed::CompleteResponse(set)) => {
            let set = set.computed_field_values.iter();
            let set = set.map(|(path, value)| (path.clone(), json(value).unwrap()));
            Ok(Value::Object(set.collect()))
        }
        Some(Deployed::ErrorResponse(error)) => Err(error.message),
        None => Err("no answer".to_owned()),
    }
}

pub async fn destroy(
    kind: &str,
    id: &str,
    request: &DeployResourceRequest,
) -> Result<Value, String> {
    let request = DestroyResourceRequest {
        resource_type: of(kind),
        host_id: String::new(),
        instance_id: request.instance_id.clone(),
        instance_name: request.instance_name.clone(),
        resource_id: "intermediary".to_owned(),
        resource_state: Some(state(kind, id)),
        context: request.context.clone(),
    };
    let answer = service().await.destroy_resource(request).await;
    match answer.map_err(|e| e.to_string())?.into_inner().response {
        Some(Destroyed::Result(result)) => Ok(json!(result.destroyed)),
        Some(Destroyed::ErrorResponse(error)) => Err(error.message),
        None => Err("no answer".to_owned()),
    }
}

pub async fn lookup(
    instance_id: String,
    kind: &str,
    id: &str,
    context: Option<ProviderContext>,
) -> Result<Value, String> {
    let request = LookupResourceInStateRequest {
        instance_id,
        resource_type: kind.to_owned(),
        external_id: id.to_owned(),
        context,
    };
    let answer = service().await.lookup_resource_in_state(request).await;
    match answer.map_err(|e| e.to_string())?.into_inner().response {
        Some(Found::Resource(state)) => Ok(json!({
            "name": state.name, "type": state.r#type, "id": state.id,
            "spec": json(&state.spec_data.unwrap_or_default())?,
        })),
        Some(Found::ErrorResponse(error)) => Err(error.message),
        None => Err("no answer".to_owned()),
    }
}

async fn repeat_lookup(
    instance_id: String,
    kind: &str,
    id: &str,
    context: Option<ProviderContext>,
    times: &str,
) -> Result<Value, String> {
    let request = LookupResourceInStateRequest {
        instance_id,
        resource_type: kind.to_owned(),
        external_id: id.to_owned(),
        context,
    };
    let one = ping_client::lookups(&request, times.parse().unwrap()).await;
    Ok(json!(u64::try_from(one.as_micros()).unwrap()))
}

pub async fn lock(
    instance_id: String,
    name: &str,
    by: &str,
    context: Option<ProviderContext>,
) -> Result<Value, String> {
    let request = AcquireResourceLockRequest {
        instance_id,
        resource_name: name.to_owned(),
        acquired_by: by.to_owned(),
        context,
    };
    let answer = service().await.acquire_resource_lock(request).await;
    match answer.map_err(|e| e.to_string())?.into_inner().response {
        Some(Locked::Result(result)) => Ok(json!(result.acquired)),
        Some(Locked::ErrorResponse(error)) => Err(error.message),
        None => Err("no answer".to_owned()),
    }
}
