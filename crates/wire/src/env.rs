//! Environment variables through which a host and a plugin process find each other. go-plugin
//! defines most of the names, Bluelink the last ones of this file.

/// Variable that tells a plugin that a host started it.
pub const MAGIC_COOKIE_KEY: &str = "TF_PLUGIN_MAGIC_COOKIE";
/// Value of the magic cookie for providers. A plugin that sees another value prints a message and
/// exits with code 1.
pub const MAGIC_COOKIE_VALUE: &str =
    "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
/// Messages of plugins that expect another host: of go-plugin and its ports, and of Packer and
/// programs based on it.
const REFUSALS: [&str; 2] = [
    "These are not meant to be executed directly",
    "Please do not execute plugins directly",
];

/// Returns true if a line of a plugin's output refuses the magic cookie.
#[must_use]
pub fn refuses_cookie(line: &str) -> bool {
    REFUSALS.iter().any(|refusal| line.contains(refusal))
}

/// Protocol versions of the host, comma-separated.
pub const PROTOCOL_VERSIONS: &str = "PLUGIN_PROTOCOL_VERSIONS";
/// Lowest TCP port for a plugin without Unix sockets.
pub const MIN_PORT: &str = "PLUGIN_MIN_PORT";
/// Highest TCP port for a plugin without Unix sockets.
pub const MAX_PORT: &str = "PLUGIN_MAX_PORT";
/// Certificate of the host as PEM; requests mutual TLS.
pub const CLIENT_CERT: &str = "PLUGIN_CLIENT_CERT";
/// Directory in which the plugin creates its socket.
pub const UNIX_SOCKET_DIR: &str = "PLUGIN_UNIX_SOCKET_DIR";
/// Group that owns the socket; never set by flightdeck.
pub const UNIX_SOCKET_GROUP: &str = "PLUGIN_UNIX_SOCKET_GROUP";
/// Requests several listeners over one socket. Must stay unset, because it disconnects a plain TLS
/// client.
pub const MULTIPLEX: &str = "PLUGIN_MULTIPLEX_GRPC";
/// Lets a host attach to provider processes that something else started.
pub const REATTACH: &str = "TF_REATTACH_PROVIDERS";
/// Disables the host's certificate, with any value (other hosts know it; flightdeck supports it).
pub const DISABLE_TLS: &str = "TF_DISABLE_PLUGIN_TLS";
/// Maximum length of a Unix socket path in the kernel, including the terminating zero.
pub const SUN_PATH_LIMIT: usize = 108;
/// Variables that name the port of the registration server of a Bluelink host on this machine, in
/// both families of names, the newer one first.
pub const HOST_PORTS: [&str; 2] = [
    "BLUELINK_BUILD_ENGINE_PLUGIN_SERVICE_PORT",
    "CELERITY_BUILD_ENGINE_PLUGIN_SERVICE_PORT",
];
