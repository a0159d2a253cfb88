//! gRPC server of the plugin: the services of every plugin, and the provider service, whose
//! messages pass as bytes so that they can be invalid.

use crate::provider;
use crate::socket::ListeningSocket;
use futures_util::future::BoxFuture;
use proto::Bytes;
use proto::health::health_server::{Health, HealthServer};
use proto::health::{HealthCheckRequest, HealthCheckResponse};
use proto::plugin::grpc_controller_server::{GrpcController, GrpcControllerServer};
use proto::plugin::grpc_stdio_server::{GrpcStdio, GrpcStdioServer};
use proto::plugin::{Empty, StdioData, stdio_data::Channel};
use std::convert::Infallible;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::{Service, http};
use tonic::server::{Grpc, UnaryService};
use tonic::{Request, Response, Status};

/// Number of lines sent over the stdio stream of the protocol instead of a pipe.
const SAID: usize = 200_000;

/// State that all services share.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) name: Arc<str>,
    /// Ends the process.
    end: CancellationToken,
    /// Cuts the connections while the process continues.
    pub(crate) cut: CancellationToken,
    /// Set by a request to stop the current work.
    pub(crate) stop: CancellationToken,
}

/// Listens, announces itself and serves until it is asked to end, unless the fault ignores that.
pub(crate) fn run(name: &str) -> ExitCode {
    let made = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let ended = made.and_then(|runtime| {
        let ended = runtime.block_on(serve(name));
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(code) => code,
        Err(error) => {
            eprintln!("[ERROR] the fake cannot serve: {error}");
            ExitCode::from(70)
        }
    }
}

async fn serve(name: &str) -> std::io::Result<ExitCode> {
    let mut terminate = signal(SignalKind::terminate())?;
    let door = ListeningSocket::open(name).await?;
    println!("{}", door.line);
    match name {
        "vanishes" => {
            eprintln!("[ERROR] nothing to serve");
            return Ok(ExitCode::from(7));
        }
        "stdout-closed-later" => crate::launch_faults::close_stdout(),
        _ => {}
    }
    let fake = Fake {
        name: name.into(),
        end: CancellationToken::new(),
        cut: CancellationToken::new(),
        stop: CancellationToken::new(),
    };
    let (sender, connections) = tokio::sync::mpsc::channel(8);
    let tasks = TaskTracker::new();
    let host = fake.clone();
    tasks.spawn(async move {
        while let Some(connection) = match door.next(&host.name, &host.cut).await {
            Ok(connection) => Some(Ok::<_, std::io::Error>(connection)),
            Err(error) => {
                eprintln!("[WARN] a connection was lost: {error}");
                Some(Err(error))
            }
        } {
            // The server only gets connections that were accepted.
            if connection.is_ok() && sender.send(connection).await.is_err() {
                break;
            }
        }
    });
    let server = tonic::transport::Server::builder()
        .initial_connection_window_size(16 << 20)
        .initial_stream_window_size(16 << 20)
        .serve_with_incoming(fake.clone(), ReceiverStream::new(connections));
    let stubborn = name == "stubborn";
    let told = async {
        tokio::select! {
            biased; // either will do
            () = fake.end.cancelled() => {}
            _ = terminate.recv(), if !stubborn => {}
        }
        // The call that requested the cut is answered first.
        tokio::time::sleep(Duration::from_millis(30)).await;
    };
    tokio::select! {
        biased; // the end first
        () = told => Ok(ExitCode::SUCCESS),
        served = server => served.map(|()| ExitCode::SUCCESS).map_err(std::io::Error::other),
    }
}

impl Service<http::Request<Body>> for Fake {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let path = request.uri().path().to_owned();
        let mut parts = path.split('/').skip(1);
        match (parts.next(), parts.next()) {
            (Some("plugin.GRPCController"), _) => {
                GrpcControllerServer::new(self.clone()).call(request)
            }
            (Some("plugin.GRPCStdio"), _) => GrpcStdioServer::new(self.clone()).call(request),
            (Some("grpc.health.v1.Health"), _) => HealthServer::new(self.clone()).call(request),
            (Some("tfplugin5.Provider" | "tfplugin6.Provider"), Some(method))
                if &*self.name != "provisioner" =>
            {
                let answer = Call {
                    fake: self.clone(),
                    method: method.to_owned(),
                };
                Box::pin(async move {
                    let grpc = Grpc::new(Raw).max_decoding_message_size(256 << 20);
                    let mut grpc = grpc.max_encoding_message_size(usize::MAX);
                    Ok(grpc.unary(answer, request).await)
                })
            }
            (service, _) => {
                let unknown = format!("unknown service {}", service.unwrap_or_default());
                Box::pin(async { Ok(Status::unimplemented(unknown).into_http()) })
            }
        }
    }
}

/// One call of the provider service.
struct Call {
    fake: Fake,
    method: String,
}

impl UnaryService<Bytes> for Call {
    type Response = Bytes;
    type Future = BoxFuture<'static, Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let (fake, method) = (self.fake.clone(), self.method.clone());
        Box::pin(async move {
            provider::answer(&fake, &method, request.into_inner())
                .await
                .map(Response::new)
        })
    }
}

/// Codec that passes messages as bytes.
#[derive(Clone, Copy)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;
    fn encoder(&mut self) -> Self {
        Self
    }
    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        use prost::bytes::BufMut as _;
        out.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;
    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        use prost::bytes::Buf as _;
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

#[tonic::async_trait]
impl GrpcController for Fake {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        if &*self.name != "stubborn" {
            self.end.cancel();
        }
        Ok(Response::new(Empty {}))
    }
}

#[tonic::async_trait]
impl GrpcStdio for Fake {
    type StreamStdioStream = Pin<Box<dyn Stream<Item = Result<StdioData, Status>> + Send>>;

    async fn stream_stdio(
        &self,
        _: Request<()>,
    ) -> Result<Response<Self::StreamStdioStream>, Status> {
        let said = match &*self.name {
            "floods-by-stream" => SAID,
            _ => 0,
        };
        let line = Bytes::from(format!("[DEBUG] {}\n", "0123456789".repeat(9)));
        let lines = (0..said).map(move |_| {
            Ok(StdioData {
                channel: Channel::Stderr.into(),
                data: line.clone(),
            })
        });
        let open = futures_util::stream::pending();
        Ok(Response::new(Box::pin(
            tokio_stream::iter(lines).chain(open),
        )))
    }
}

#[tonic::async_trait]
impl Health for Fake {
    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse { status: 1 }))
    }
    type WatchStream = tokio_stream::Empty<Result<HealthCheckResponse, Status>>;
    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("not needed"))
    }
}
