//! Service of a transformer: it answers its name, and receives no other call.

use crate::fault_files::file;
use crate::resource_calls::Fake;
use proto::bluelink::transformerserverv1::transform_name_response::Response as Said;
use proto::bluelink::transformerserverv1::transformer_server::Transformer;
use proto::bluelink::transformerserverv1::*;
use serde_json::json;
use tonic::{Request, Response, Status};

#[tonic::async_trait]
impl Transformer for Fake {
    async fn get_transform_name(
        &self,
        request: Request<TransformerRequest>,
    ) -> Result<Response<TransformNameResponse>, Status> {
        let host_id = request.into_inner().host_id;
        let entered = self
            .begin_call("GetTransformName", &host_id, json!({}))
            .await;
        let name = std::fs::read_to_string(file("transform"));
        let name = TransformNameInfo {
            transform_name: name.unwrap_or_else(|_| "fake-2024-11-20".to_owned()),
        };
        let said = entered.map_or_else(Said::ErrorResponse, |()| Said::NameInfo(name));
        Ok(Response::new(TransformNameResponse {
            response: Some(said),
        }))
    }
}
