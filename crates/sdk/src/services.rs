//! Auxiliary services of every plugin process: shutdown, standard streams, health, broker. Their
//! streams stay open until the process ends; their only state is the token that ends it.

use std::pin::Pin;

use futures_util::stream::{self, Stream, StreamExt as _};
use proto::health::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_server::Health,
};
use proto::plugin::grpc_broker_server::GrpcBroker;
use proto::plugin::grpc_controller_server::GrpcController;
use proto::plugin::grpc_stdio_server::GrpcStdio;
use proto::plugin::{ConnInfo, Empty, StdioData};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

/// Service name for health checks (convention of go-plugin).
const HEALTH_SERVICE: &str = "plugin";

type Open<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Ends the process when the host asks for it.
pub(crate) struct Controller(pub(crate) CancellationToken);

#[tonic::async_trait]
impl GrpcController for Controller {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.0.cancel();
        Ok(Response::new(Empty {}))
    }
}

/// Output of the process outside of its log: empty, but hosts keep the stream open during the life
/// of the process.
pub(crate) struct Stdio(pub(crate) CancellationToken);

#[tonic::async_trait]
impl GrpcStdio for Stdio {
    type StreamStdioStream = Open<StdioData>;
    async fn stream_stdio(
        &self,
        _: Request<()>,
    ) -> Result<Response<Self::StreamStdioStream>, Status> {
        Ok(Response::new(empty_stream(self.0.clone())))
    }
}

/// Broker of go-plugin. Hosts open its stream at once; providers never use it.
pub(crate) struct Broker(pub(crate) CancellationToken);

#[tonic::async_trait]
impl GrpcBroker for Broker {
    type StartStreamStream = Open<ConnInfo>;
    async fn start_stream(
        &self,
        _: Request<Streaming<ConnInfo>>,
    ) -> Result<Response<Self::StartStreamStream>, Status> {
        Ok(Response::new(empty_stream(self.0.clone())))
    }
}

/// Reports "serving" for the plugin, and for the whole process (empty name).
pub(crate) struct Healthy(pub(crate) CancellationToken);

fn serving(service: &str) -> bool {
    service == HEALTH_SERVICE || service.is_empty()
}

#[tonic::async_trait]
impl Health for Healthy {
    type WatchStream = Open<HealthCheckResponse>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        if serving(&service) {
            return Ok(Response::new(HealthCheckResponse {
                status: ServingStatus::Serving as i32,
            }));
        }
        Err(Status::not_found(format!(
            "the plugin has no service {service:?}; use {HEALTH_SERVICE:?}"
        )))
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let status = if serving(&request.into_inner().service) {
            ServingStatus::Serving
        } else {
            ServingStatus::ServiceUnknown
        };
        // The status never changes, so the stream sends it once and stays open.
        let first = stream::iter([Ok(HealthCheckResponse {
            status: status as i32,
        })]);
        Ok(Response::new(Box::pin(
            first.chain(empty_stream(self.0.clone())),
        )))
    }
}

/// Returns an empty stream that stays open until the process is asked to end.
fn empty_stream<T: Send + 'static>(end: CancellationToken) -> Open<T> {
    Box::pin(stream::once(end.cancelled_owned()).filter_map(|()| std::future::ready(None)))
}
