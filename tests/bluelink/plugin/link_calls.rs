//! Calls that create, update, remove and read links of the fake provider.

use crate::fault_files::file;
use crate::host_requests;
use crate::links::{
    MODE, Refusal, Said, end, file_exists, object, provider_context, recorded_request,
};
use crate::mapping_node::{json, node};
use crate::object_store;
use crate::resource_calls::{Fake, unexpected};
use proto::bluelink::providerserverv1::*;
use proto::bluelink::sharedtypesv1::DeployResourceRequest;
use serde_json::json;
use std::collections::HashMap;

impl Fake {
    async fn enter_end(&self, method: &str, request: &UpdateLinkResourceRequest) -> Said<()> {
        let what = recorded_request(
            request.update_type,
            &request.current_link_state,
            &request.changes,
        );
        Ok(self.begin_call(method, &request.host_id, what).await?)
    }

    pub async fn link_a(
        &self,
        request: UpdateLinkResourceRequest,
    ) -> Said<UpdateLinkResourceCompleteResponse> {
        self.enter_end("UpdateLinkResourceA", &request).await?;
        let mut object_a = object(&request.resource_info)?;
        let to = object(&request.other_resource_info)?["id"].clone();
        let from = end(request.resource_info.clone())?;
        let id = object_a["id"].as_str().unwrap().to_owned();
        if request.update_type() == LinkUpdateType::Destroy {
            object_a["labels"]
                .as_object_mut()
                .map(|all| all.remove("linked"));
            object_store::write(&id, &object_a);
            return Ok(UpdateLinkResourceCompleteResponse::default());
        }
        object_a["labels"]["linked"] = to.clone();
        object_store::write(&id, &object_a);
        let mut own = json!({"label": to, "mode": from.annotations[MODE]});
        let field = |field: &str| format!("{}::spec.{field}", from.name);
        let mut mappings: HashMap<String, String> =
            [(field("labels.linked"), format!("{}.label", from.name))].into();
        if !from.spec["secret"].is_null() {
            own["secret"] = from.spec["secret"].clone();
            mappings.insert(field("secret"), format!("{}.secret", from.name));
        }
        Ok(UpdateLinkResourceCompleteResponse {
            link_data: Some(node(&json!({from.name: own}))),
            resource_data_mappings: mappings,
        })
    }

    pub async fn link_b(
        &self,
        request: UpdateLinkResourceRequest,
    ) -> Said<UpdateLinkResourceCompleteResponse> {
        self.enter_end("UpdateLinkResourceB", &request).await?;
        let by = object(&request.other_resource_info)?["id"].clone();
        object(&request.resource_info)?;
        let to = end(request.resource_info)?;
        Ok(UpdateLinkResourceCompleteResponse {
            link_data: Some(node(&json!({to.name: {"by": by}}))),
            resource_data_mappings: HashMap::new(),
        })
    }

    pub async fn update_intermediaries(
        &self,
        request: UpdateLinkIntermediaryResourcesRequest,
    ) -> Said<UpdateLinkIntermediaryResourcesCompleteResponse> {
        let what = recorded_request(
            request.update_type,
            &request.current_link_state,
            &request.changes,
        );
        self.begin_call("UpdateLinkIntermediaryResources", &request.host_id, what)
            .await?;
        let state = request.current_link_state.clone().unwrap_or_default();
        let made = state.intermediary_resource_states.first();
        let by_host = std::fs::read_to_string(file("between")).ok();
        let kind = by_host.as_deref().map_or("fake/box", str::trim);
        let instance = request
            .resource_a_info
            .as_ref()
            .unwrap()
            .instance_id
            .clone();
        let context = provider_context(&request.context);
        if file_exists("locks") {
            let name = &request.resource_a_info.as_ref().unwrap().resource_name;
            let locked = host_requests::lock(
                instance.clone(),
                name,
                &request.link_id,
                Some(context.clone()),
            );
            locked.await.map_err(unexpected)?;
        }
        let asked = DeployResourceRequest {
            instance_id: instance.clone(),
            context: Some(context),
            ..DeployResourceRequest::default()
        };
        if request.update_type() == LinkUpdateType::Destroy {
            if let Some(made) = made {
                match by_host {
                    Some(_) => {
                        let gone = host_requests::destroy(kind, &made.resource_id, &asked).await;
                        gone.map_err(unexpected)?;
                    }
                    None => object_store::remove(&made.resource_id),
                }
            }
            return Ok(Default::default());
        }
        let before = made.and_then(|m| json(m.resource_spec_data.as_ref()?).ok());
        let name = format!(
            "between-{}",
            end(request.resource_a_info.clone())?.spec["name"]
                .as_str()
                .unwrap()
        );
        let id = match (&by_host, &before) {
            (Some(_), None) => {
                let set =
                    host_requests::deploy(host_requests::deployment(kind, &name, &asked), false)
                        .await;
                set.map_err(unexpected)?["spec.id"].clone()
            }
            (Some(_), Some(before)) => before["id"].clone(),
            (None, before) => {
                let spec = json!({"name": name, "colour": "green"});
                object_store::store_object("fake/box", before.as_ref(), spec, None)["spec.id"]
                    .clone()
            }
        };
        let id = id.as_str().unwrap().to_owned();
        let made = LinkIntermediaryResourceState {
            resource_id: id.clone(),
            resource_type: kind.to_owned(),
            instance_id: instance,
            resource_spec_data: Some(node(&json!({"id": id, "name": name, "colour": "green"}))),
            ..LinkIntermediaryResourceState::default()
        };
        Ok(UpdateLinkIntermediaryResourcesCompleteResponse {
            intermediary_resource_states: vec![made],
            link_data: Some(node(&json!({"between": {"id": id}}))),
            resource_data_mappings: HashMap::new(),
        })
    }

    pub async fn read_intermediaries(
        &self,
        request: GetLinkIntermediaryExternalStateRequest,
    ) -> Said<GetLinkIntermediaryExternalStateCompleteResponse> {
        if file_exists("old-links") {
            return Err(Refusal::Old);
        }
        let ids = request.intermediary_resource_ids;
        let what = json!({"ids": ids});
        let entered = self.begin_call("GetLinkIntermediaryExternalState", &request.host_id, what);
        entered.await?;
        let one = |id: String| {
            let object = object_store::read(&id);
            let state = IntermediaryExternalState {
                resource_id: id.clone(),
                resource_type: "fake/box".to_owned(),
                exists: object.is_some(),
                spec_data: object.map(|o| node(&o)),
            };
            (id, state)
        };
        // An intermediary that the host created belongs to another provider.
        let own = ids.into_iter().filter(|_| !file_exists("between"));
        let intermediary_states = own.map(one).collect();
        Ok(GetLinkIntermediaryExternalStateCompleteResponse {
            intermediary_states,
        })
    }
}
