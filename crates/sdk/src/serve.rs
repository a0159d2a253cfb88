//! A provider as a process of its own: the host's environment read, which says what is spoken; for
//! protocol 6: socket bound, handshake line printed, services served until the host says Shutdown
//! (or SIGTERM comes), socket removed.

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
use crate::wire_schema::SchemaError;

/// The protocol that is spoken here.
const PROTOCOL: u32 = 6;
/// Longest message in either direction.
pub(crate) const MESSAGE_LIMIT: usize = 256 << 20;
/// Flow control windows: a schema of several megabytes comes in one go.
const WINDOW: u32 = 16 << 20;
/// How long calls may go on once Shutdown was asked for; hosts kill after two seconds.
pub(crate) const GRACE: Duration = Duration::from_millis(1500);

/// Why a provider could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Started by hand; the text is for the person who did.
    #[error(
        "this program is a plugin: it is started by the program that uses it, and does nothing when started by hand\n\
         put it where flightdeck finds providers, name it in required_providers, and run `flightdeck plugins`"
    )]
    StartedByHand,
    /// There is no place for the socket.
    #[error("the socket cannot be made at {}: {source}", path.display())]
    Socket {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A path that the kernel does not take.
    #[error("the socket's path is too long ({} bytes, at most {}): {}; set {} to a shorter folder", path.as_os_str().len(), env::SUN_PATH_LIMIT - 1, path.display(), env::UNIX_SOCKET_DIR)]
    PathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// The certificate could not be made.
    #[error("no certificate for the connection with the host: {0}")]
    Certificate(#[from] wire::CertificateError),
    /// The host's certificate is unusable.
    #[error("the connection with the host cannot be protected: {0}")]
    Tls(#[from] wire::TlsError),
    /// The handshake line could not be printed.
    #[error("the handshake line cannot be printed: {0}")]
    Announce(#[source] io::Error),
    /// The port of a host of Bluelink's kind is none.
    #[error("{name} is {0:?}, which is no port; the program that starts this plugin sets it", name = env::HOST_PORTS[0])]
    HostPort(String),
    /// Such a host cannot be reached.
    #[error(
        "the host that takes registrations at port {port} of this machine cannot be reached: {reason}"
    )]
    Host {
        /// Where it should listen.
        port: u16,
        /// Why not.
        reason: String,
    },
    /// Such a host does not take this plugin.
    #[error("the host refused the registration: {0}")]
    Refused(String),
    /// No port of this machine can be listened at.
    #[error("no port of this machine can be listened at: {0}")]
    Listen(#[source] io::Error),
    /// The provider's schema cannot be told to a host.
    #[error("the provider's schema is wrong: {0}")]
    Schema(#[from] SchemaError),
    /// The server failed.
    #[error("the server failed: {0}")]
    Server(#[from] tonic::transport::Error),
    /// The runtime or its signals could not be set up.
    #[error("the process cannot be set up: {0}")]
    Setup(#[source] io::Error),
}

/// What a host tells a plugin through the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The magic cookie; a wrong or missing one means a start by hand.
    pub cookie: Option<String>,
    /// The host's certificate (PEM); with it the connection is protected both ways.
    pub client_cert: Option<String>,
    /// Where the socket goes; without it: a private folder of the system's temporary folder.
    pub socket_dir: Option<PathBuf>,
    /// At which port of this machine a host of Bluelink's kind takes registrations; counts where
    /// there is no magic cookie.
    pub host_port: Option<String>,
}

impl Options {
    /// From this process's environment.
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
    /// Whether a host started this process: by its magic cookie, or by the port for registrations.
    pub fn started_by_host(&self) -> bool {
        self.has_cookie() || self.host_port.is_some()
    }

    fn has_cookie(&self) -> bool {
        self.cookie.as_deref() == Some(env::MAGIC_COOKIE_VALUE)
    }
}

/// The whole `main` of a provider's program: serves, prints why not, and says with which code to
/// exit.
pub fn main(provider: impl Provider) -> ExitCode {
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Setup)
        .and_then(|runtime| {
            let served = runtime.block_on(serve(provider));
            // a provider's blocking work that hangs must not keep the process alive
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
/// When it was started by hand, or cannot be served; the text is for standard error, the exit code
/// is 1.
pub async fn serve(provider: impl Provider) -> Result<(), ServeError> {
    let options = Options::from_env();
    let end = CancellationToken::new();
    let tasks = TaskTracker::new();
    // Ctrl-C in a terminal reaches the whole group; it is the host that decides what it means for a
    // plugin.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Setup)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Setup)?;
    let asked = end.clone();
    tasks.spawn(async move {
        loop {
            tokio::select! {
                biased; // the end first
                () = asked.cancelled() => return,
                _ = terminate.recv() => asked.cancel(),
                _ = interrupt.recv() => {}
            }
        }
    });
    report_panics();
    serve_with(Arc::new(provider), options, end, |line| {
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()
    })
    .await
}

/// Serves with options given, in this process: for tests and for hosts of their own. `announce`
/// gets the handshake line, where what is spoken has one; the server ends when `end` is cancelled
/// or the host says Shutdown.
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
    // A variable for registrations may be left over from elsewhere; the cookie says what is meant.
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
            let identity = wire::Identity::generate()?;
            Some((
                wire::tls::server_config(&identity, pem)?,
                identity.der().to_vec(),
            ))
        }
    };
    let (config, certificate) = tls.unzip();
    let tasks = TaskTracker::new();
    let service = Service::new(provider, tasks.clone(), end.clone())?;
    let socket = Socket::bind(options.socket_dir.as_deref())?;
    let handshake = wire::Handshake {
        protocol: PROTOCOL,
        address: wire::Address::Unix(socket.path.clone()),
        certificate,
        multiplexed: false,
    };
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
    let overtime = async {
        end.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    let served = tokio::select! {
        biased; // a server that has ended is worth more than a clock that has run out
        served = server => served,
        () = overtime => Ok(()),
    };
    end.cancel();
    drop(socket.cleanup);
    Ok(served?)
}

/// A panic in a call is contained and answered with a diagnostic; here it only gets into the log,
/// as one line.
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

/// The bound socket, and what removes it.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
    cleanup: Cleanup,
}

/// Removes the socket file and, where we made one, its folder.
struct Cleanup {
    socket: PathBuf,
    _folder: Option<tempfile::TempDir>,
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        // The host may have removed the folder already.
        let _gone_already = std::fs::remove_file(&self.socket);
    }
}

impl Socket {
    fn bind(folder: Option<&Path>) -> Result<Socket, ServeError> {
        let (folder, own) = match folder {
            Some(folder) => (folder.to_owned(), None),
            // made with mode 0700: whoever can reach the socket can talk to the provider
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
        // the process id alone tells processes apart; the number, several servers of one process
        // (tests)
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = folder.join(format!("plugin{}-{number}", std::process::id()));
        if path.as_os_str().len() >= env::SUN_PATH_LIMIT {
            return Err(ServeError::PathTooLong { path });
        }
        // left behind by a killed process that had this id
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
