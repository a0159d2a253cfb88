//! Names and values of the environment by which a host and its plugin process find each other.
//! The names are fixed by the protocols: go-plugin's, but for the last one.

/// Name of the variable that tells a plugin it was started by a host and not by hand.
pub const MAGIC_COOKIE_KEY: &str = "TF_PLUGIN_MAGIC_COOKIE";
/// Its value for providers; a plugin that sees another value prints a text for people and exits
/// with 1.
pub const MAGIC_COOKIE_VALUE: &str =
    "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
/// What plugins print that another program is to start: go-plugin and its ports, and Packer with
/// what is built on it.
const REFUSALS: [&str; 2] = [
    "These are not meant to be executed directly",
    "Please do not execute plugins directly",
];

/// Whether a line of a plugin's output says that its magic cookie is another one.
#[must_use]
pub fn is_cookie_refusal(line: &str) -> bool {
    REFUSALS.iter().any(|refusal| line.contains(refusal))
}

/// Protocol versions that the host speaks, separated by commas.
pub const PROTOCOL_VERSIONS: &str = "PLUGIN_PROTOCOL_VERSIONS";
/// First TCP port that a plugin without unix sockets may take.
pub const MIN_PORT: &str = "PLUGIN_MIN_PORT";
/// Last TCP port that a plugin without unix sockets may take.
pub const MAX_PORT: &str = "PLUGIN_MAX_PORT";
/// The host's certificate as PEM text; its presence asks for mutual TLS.
pub const CLIENT_CERT: &str = "PLUGIN_CLIENT_CERT";
/// Folder in which the plugin makes its socket.
pub const UNIX_SOCKET_DIR: &str = "PLUGIN_UNIX_SOCKET_DIR";
/// Group that shall own the socket; never set by us.
pub const UNIX_SOCKET_GROUP: &str = "PLUGIN_UNIX_SOCKET_GROUP";
/// Asks for several listeners over one socket. Must stay unset: with it a plain TLS client is cut
/// off.
pub const MULTIPLEX: &str = "PLUGIN_MULTIPLEX_GRPC";
/// Lets a host attach to provider processes that somebody else started.
pub const REATTACH: &str = "TF_REATTACH_PROVIDERS";
/// With any value the host offers no certificate (known from other hosts, heeded by ours).
pub const DISABLE_TLS: &str = "TF_DISABLE_PLUGIN_TLS";
/// Longest path of a unix socket that the kernel takes, with its closing zero.
pub const SUN_PATH_LIMIT: usize = 108;
/// Where a plugin of Bluelink's kind looks for the port of this machine at which its host takes
/// registrations: both families of names, the newer first.
pub const HOST_PORTS: [&str; 2] = [
    "BLUELINK_BUILD_ENGINE_PLUGIN_SERVICE_PORT",
    "CELERITY_BUILD_ENGINE_PLUGIN_SERVICE_PORT",
];
