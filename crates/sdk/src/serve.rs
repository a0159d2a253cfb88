//! Serves a provider process. Selects the protocol from the host's environment; for protocol 6 it
//! binds a socket, prints the handshake line, and serves until Shutdown or SIGTERM.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use proto::health::health_server::HealthServer;
use proto::plugin::grpc_broker_server::GrpcBrokerServer;
use proto::plugin::grpc_controller_server::GrpcControllerServer;
use proto::plugin::grpc_stdio_server::GrpcStdioServer;
use proto::tfplugin6::provider_server::ProviderServer;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::env;

use crate::provider::Provider;
use crate::service::Service;
use crate::services::{Broker, Controller, Healthy, Stdio};
use crate::transport;
use crate::validate::SchemaError;

/// Provider protocol version.
const PROTOCOL: u32 = 6;
/// Maximum size of a message in either direction, in bytes.
pub(crate) const MESSAGE_LIMIT: usize = 256 << 20;
/// Flow control windows, large enough for a schema of several megabytes in one piece.
const WINDOW: u32 = 16 << 20;
/// Time that running calls get after Shutdown; hosts kill after two seconds.
pub(crate) const GRACE: Duration = Duration::from_millis(1500);

/// Failure to serve a provider.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Started by hand; the text addresses the user.
    #[error(
        "this program is a plugin: it is started by the program that uses it, and does nothing when started by hand\n\
         put it where flightdeck finds providers, name it in required_providers, and run `flightdeck plugins`"
    )]
    StartedByHand,
    /// The socket cannot be created.
    #[error("cannot create the socket at {}: {source}", path.display())]
    Socket {
        /// Path of the socket.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The path exceeds the kernel's limit.
    #[error("the socket's path is too long ({} bytes, at most {}): {}; set the environment variable {} to a shorter directory path", path.as_os_str().len(), env::SUN_PATH_LIMIT - 1, path.display(), env::UNIX_SOCKET_DIR)]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// The certificate cannot be generated.
    #[error("the connection with the plugin host has no usable certificate: {0}")]
    Certificate(#[from] wire::CertificateError),
    /// The host's certificate is unusable.
    #[error("the connection with the plugin host cannot be encrypted: {0}")]
    Tls(#[from] wire::TlsError),
    /// The handshake line cannot be printed.
    #[error("cannot write the handshake line to stdout: {0}")]
    Announce(#[source] io::Error),
    /// The port of a Bluelink host is invalid.
    #[error("the environment variable {name} is {0:?}, which is not a port; the plugin host that starts this plugin must set it", name = env::HOST_PORTS[0])]
    HostPort(String),
    /// The Bluelink host cannot be reached.
    #[error(
        "cannot reach the registration server of the plugin host at port {port} of this machine: {reason}"
    )]
    Host {
        /// Port of its registration server.
        port: u16,
        /// Cause.
        reason: String,
    },
    /// The Bluelink host refused the registration.
    #[error("the plugin host refused the registration: {0}")]
    Refused(String),
    /// No local port can be bound.
    #[error("the plugin cannot listen on a port of this machine: {0}")]
    Listen(#[source] io::Error),
    /// The schema is invalid.
    #[error("the provider's schema is not valid: {0}")]
    Schema(#[from] SchemaError),
    /// The server failed.
    #[error("the plugin's gRPC server failed: {0}")]
    Server(#[from] tonic::transport::Error),
    /// The runtime or its signal handlers cannot be set up.
    #[error("cannot start the plugin's runtime: {0}")]
    Setup(#[source] io::Error),
}

/// Settings that a host passes through the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Magic cookie; a missing or wrong one means a start by hand.
    pub cookie: Option<String>,
    /// Certificate of the host as PEM; enables mutual TLS.
    pub client_cert: Option<String>,
    /// Directory of the socket; by default a private directory in the system's temporary directory.
    pub socket_dir: Option<PathBuf>,
    /// Local port of a Bluelink host's registration server; used only without a magic cookie.
    pub host_port: Option<String>,
}

impl Options {
    /// Reads the settings from the environment of this process.
    pub fn from_env() -> Options {
        let text = |key: &str| std::env::var(key).ok().filter(|value| !value.is_empty());
        Options {
            cookie: text(env::MAGIC_COOKIE_KEY),
            client_cert: text(env::CLIENT_CERT),
            socket_dir: std::env::var_os(env::UNIX_SOCKET_DIR)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from),
            host_port: env::HOST_PORTS.into_iter().find_map(text),
        }
    }
}

impl Options {
    /// Returns true if a host started this process, by its magic cookie or the registration port.
    pub fn started_by_host(&self) -> bool {
        self.has_cookie() || self.host_port.is_some()
    }

    fn has_cookie(&self) -> bool {
        self.cookie.as_deref() == Some(env::MAGIC_COOKIE_VALUE)
    }
}

/// Runs a provider as the `main` of its program: serves, prints errors, and returns the exit code.
pub fn main(provider: impl Provider) -> ExitCode {
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Setup)
        .and_then(|runtime| {
            let served = runtime.block_on(serve(provider));
            // Blocking work of the provider that hangs must not keep the process alive.
            runtime.shutdown_timeout(Duration::from_millis(100));
            served
        });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(1)
        }
    }
}

/// Serves a provider to the host that started this process, until the host ends it.
///
/// # Errors
/// The process was started by hand, or cannot serve. The text is for standard error, and the exit
/// code is 1.
pub async fn serve(provider: impl Provider) -> Result<(), ServeError> {
    let options = Options::from_env();
    let end = CancellationToken::new();
    let tasks = TaskTracker::new();
    // Ctrl-C in a terminal reaches the whole process group, but the host decides how a plugin
    // reacts.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Setup)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Setup)?;
    let asked = end.clone();
    tasks.spawn(async move {
        loop {
            tokio::select! {
                biased; // the end has priority
                () = asked.cancelled() => return,
                _ = terminate.recv() => asked.cancel(),
                _ = interrupt.recv() => {}
            }
        }
    });
    report_panics();
    serve_with(Arc::new(provider), options, end, |line| {
        let mut out = io::stdout().lock();
        // Flushed, because the host waits for the line and standard output is a pipe.
        writeln!(out, "{line}")?;
        out.flush()
    })
    .await
}

/// Serves with explicit options in this process, for tests and embedding hosts. `announce` receives
/// the handshake line of protocol 6. The server ends when `end` is cancelled or the host calls
/// Shutdown.
///
/// # Errors
/// As [`serve`].
pub async fn serve_with(
    provider: Arc<dyn Provider>,
    options: Options,
    end: CancellationToken,
    announce: impl FnOnce(&str) -> io::Result<()>,
) -> Result<(), ServeError> {
    crate::log::set_module(provider.name());
    // The registration port can be inherited from another host, so the cookie has priority.
    match &options.host_port {
        _ if options.has_cookie() => serve_protocol_6(provider, options, end, announce).await,
        Some(port) => crate::bluelink::serve(provider, port, end).await,
        None => Err(ServeError::StartedByHand),
    }
}

async fn serve_protocol_6(
    provider: Arc<dyn Provider>,
    options: Options,
    end: CancellationToken,
    announce: impl FnOnce(&str) -> io::Result<()>,
) -> Result<(), ServeError> {
    let tls = match &options.client_cert {
        None => None,
        Some(pem) => {
            // Mutual TLS: the handshake line carries our certificate, the environment that of the
            // host.
            let identity = wire::Identity::generate()?;
            Some((
                wire::tls::server_config(&identity, pem)?,
                identity.der().to_vec(),
            ))
        }
    };
    let (config, certificate) = tls.unzip();
    let tasks = TaskTracker::new();
    // An invalid schema fails here, before the handshake line tells the host to connect.
    let service = Service::new(provider, tasks.clone(), end.clone())?;
    let socket = Socket::bind(options.socket_dir.as_deref())?;
    let handshake = wire::Handshake {
        protocol: PROTOCOL,
        address: wire::Address::Unix(socket.path.clone()),
        certificate,
        multiplexed: false,
    };
    // Accepting starts before the announcement, because the host connects at once.
    let connections = transport::accept(socket.listener, config, &tasks, end.clone());
    announce(&handshake.to_string()).map_err(ServeError::Announce)?;

    let server = tonic::transport::Server::builder()
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .add_service(
            ProviderServer::new(service)
                .max_decoding_message_size(MESSAGE_LIMIT)
                .max_encoding_message_size(MESSAGE_LIMIT),
        )
        .add_service(GrpcControllerServer::new(Controller(end.clone())))
        .add_service(GrpcStdioServer::new(Stdio(end.clone())))
        .add_service(GrpcBrokerServer::new(Broker(end.clone())))
        .add_service(HealthServer::new(Healthy(end.clone())))
        .serve_with_incoming_shutdown(
            ReceiverStream::new(connections),
            end.clone().cancelled_owned(),
        );
    // Bounds the graceful shutdown, which otherwise waits for running calls without limit.
    let overtime = async {
        end.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let served = tokio::select! {
        biased; // a finished server has priority over an expired deadline
        served = server => served,
        () = overtime => Ok(()),
    };
    // Ends the accept loop and open streams if the server itself failed.
    end.cancel();
    // Removed even if the server failed, so that no socket files remain.
    drop(socket.cleanup);
    Ok(served?)
}

/// Logs panics as one line. The call itself is isolated and responds with a diagnostic.
fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        crate::log::error(
            "the provider panicked",
            &[
                ("text", &crate::service::panic_text(info.payload())),
                ("place", &place),
            ],
        );
    }));
}

/// Bound socket with its cleanup.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
    cleanup: Cleanup,
}

/// Removes the socket file, and its directory if this process created it.
struct Cleanup {
    socket: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        // The host may already have removed the directory.
        let _gone_already = std::fs::remove_file(&self.socket);
    }
}

impl Socket {
    fn bind(folder: Option<&Path>) -> Result<Socket, ServeError> {
        let (folder, own) = match folder {
            Some(folder) => (folder.to_owned(), None),
            // Created with mode 0700, because access to the socket is access to the provider.
            None => match tempfile::Builder::new().prefix("plugin-").tempdir() {
                Ok(own) => (own.path().to_owned(), Some(own)),
                Err(source) => {
                    return Err(ServeError::Socket {
                        path: std::env::temp_dir(),
                        source,
                    });
                }
            },
        };
        // The process id distinguishes processes; the number distinguishes servers of one process
        // (tests).
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = folder.join(format!("plugin{}-{number}", std::process::id()));
        if path.as_os_str().len() >= env::SUN_PATH_LIMIT {
            return Err(ServeError::PathTooLong { path });
        }
        // A killed process with the same id can have left its socket.
        let _nothing_there = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|source| ServeError::Socket {
            path: path.clone(),
            source,
        })?;
        Ok(Socket {
            listener,
            cleanup: Cleanup {
                socket: path.clone(),
                _folder: own,
            },
            path,
        })
    }
}
