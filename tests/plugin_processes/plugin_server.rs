//! Server side of a plugin in the test's own process: gRPC on a Unix socket with a plugin's TLS,
//! with the services for launch, calls and stop. Orders to the process go through a pipe.

use futures_util::future::BoxFuture;
use proto::health::health_server::{Health, HealthServer};
use proto::health::{HealthCheckRequest, HealthCheckResponse};
use proto::plugin::Empty;
use proto::plugin::grpc_controller_server::{GrpcController, GrpcControllerServer};
use proto::plugin::grpc_stdio_server::{GrpcStdio, GrpcStdioServer};
use proto::plugin::{StdioData, stdio_data};
use proto::tfplugin6::get_provider_schema;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixListener;
use tokio_stream::StreamExt as _;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::{Request, Response, Status};
use wire::{Handshake, Identity};

/// Behaviour of the server.
#[derive(Clone, Default)]
pub struct ServerBehaviour {
    pub tls: bool,
    /// Ignores the request to shut down.
    pub stubborn: bool,
    /// Messages of the stdio stream.
    pub stdio: Vec<StdioData>,
    /// Keeps the stdio stream open afterwards, as go-plugin's servers do.
    pub open_stdio: bool,
}

/// Running server.
pub struct Server {
    pub handshake: String,
    pub socket: PathBuf,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Named pipe through which a script receives orders. Opened for reading and writing, so that open
/// never blocks.
pub fn pipe(folder: &Path) -> std::fs::File {
    let path = folder.join("orders");
    if !path.exists() {
        let made = std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .expect("mkfifo");
        assert!(made.success());
    }
    std::fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("pipe")
}

pub fn send_order(folder: &Path, word: &str) {
    use std::io::Write as _;
    writeln!(pipe(folder), "{word}").expect("ordered");
}

/// End of a script, after its handshake: waits for an order and ends accordingly. It opens the pipe
/// for reading and writing first, so that an earlier order is not lost.
pub const OBEY: &str = r#"
exec 3<>"$1/orders"
read word <&3
case "$word" in
  panic) echo 'panic: assignment to entry in nil map' >&2; echo '' >&2; echo 'goroutine 1 [running]:' >&2; exit 2 ;;
  segv) kill -SEGV $$ ;;
  *) exit 0 ;;
esac
"#;

impl Server {
    pub fn start(folder: &Path, name: &str, manner: ServerBehaviour) -> Self {
        // Both ends of the pipe stay open in this process while the server runs.
        let keep = pipe(folder);
        let socket = folder.join(name);
        let listener = UnixListener::bind(&socket).expect("bind");
        let identity = Identity::generate().expect("identity");
        let handshake = Handshake {
            protocol: 6,
            address: wire::Address::Unix(socket.clone()),
            certificate: manner.tls.then(|| identity.der().to_vec()),
            multiplexed: false,
        };
        let tls = manner.tls.then(|| {
            let host = Identity::session().expect("identity");
            wire::tls::server_config(&identity, host.pem()).expect("config")
        });
        let service = Services {
            folder: folder.to_owned(),
            manner,
            _keep: Arc::new(keep),
        };
        let incoming =
            tokio_stream::wrappers::UnixListenerStream::new(listener).then(move |stream| {
                let tls = tls.clone();
                async move {
                    let stream = stream?;
                    let stream: Box<dyn Stream> = match tls {
                        Some(config) => Box::new(
                            wire::tls::accept(config, stream)
                                .await
                                .map_err(std::io::Error::other)?,
                        ),
                        None => Box::new(stream),
                    };
                    Ok::<_, std::io::Error>(Connection(stream))
                }
            });
        let serve = tonic::transport::Server::builder().serve_with_incoming(service, incoming);
        let tracker = tokio_util::task::TaskTracker::new();
        let task = tracker.spawn(async move {
            serve.await.ok();
        });
        Self {
            handshake: handshake.to_string(),
            socket,
            task,
        }
    }

    /// Script that announces this server and then waits for an order.
    pub fn script(&self) -> String {
        format!("echo '{}'\n{OBEY}", self.handshake)
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

struct Connection(Box<dyn Stream>);

impl tonic::transport::server::Connected for Connection {
    type ConnectInfo = ();
    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// All services of the server.
#[derive(Clone)]
struct Services {
    folder: PathBuf,
    manner: ServerBehaviour,
    _keep: Arc<std::fs::File>,
}

impl Service<http::Request<Body>> for Services {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let path = request.uri().path().to_owned();
        match path.split('/').nth(1) {
            Some("plugin.GRPCController") => GrpcControllerServer::new(self.clone()).call(request),
            Some("plugin.GRPCStdio") => GrpcStdioServer::new(self.clone()).call(request),
            Some("grpc.health.v1.Health") => HealthServer::new(self.clone()).call(request),
            _ if path == "/tfplugin6.Provider/GetProviderSchema" => Box::pin(async move {
                let codec = tonic_codec();
                Ok(tonic::server::Grpc::new(codec).unary(Schema, request).await)
            }),
            _ => Box::pin(async { Ok(Status::unimplemented("unknown method").into_http()) }),
        }
    }
}

fn tonic_codec()
-> tonic_prost::ProstCodec<get_provider_schema::Response, get_provider_schema::Request> {
    tonic_prost::ProstCodec::default()
}

struct Schema;

impl tonic::server::UnaryService<get_provider_schema::Request> for Schema {
    type Response = get_provider_schema::Response;
    type Future = std::future::Ready<Result<Response<Self::Response>, Status>>;

    fn call(&mut self, _: Request<get_provider_schema::Request>) -> Self::Future {
        std::future::ready(Ok(Response::new(get_provider_schema::Response::default())))
    }
}

#[tonic::async_trait]
impl GrpcController for Services {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        if !self.manner.stubborn {
            send_order(&self.folder, "end");
        }
        Ok(Response::new(Empty {}))
    }
}

#[tonic::async_trait]
impl GrpcStdio for Services {
    type StreamStdioStream =
        Pin<Box<dyn tokio_stream::Stream<Item = Result<StdioData, Status>> + Send>>;

    async fn stream_stdio(
        &self,
        _: Request<()>,
    ) -> Result<Response<Self::StreamStdioStream>, Status> {
        let printed = tokio_stream::iter(self.manner.stdio.clone()).map(Ok);
        Ok(Response::new(match self.manner.open_stdio {
            true => Box::pin(printed.chain(futures_util::stream::pending())),
            false => Box::pin(printed),
        }))
    }
}

#[tonic::async_trait]
impl Health for Services {
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

/// One message of the stdio stream.
pub fn stdio_message(channel: stdio_data::Channel, text: &str) -> StdioData {
    StdioData {
        channel: channel.into(),
        data: text.as_bytes().to_vec().into(),
    }
}
