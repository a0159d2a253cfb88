//! Remote machines over SSH, connected directly, through a bastion or through a proxy: runs
//! commands and copies files. Independent of the configuration; the only module that uses the SSH
//! library.

mod agent;
mod auth;
mod command;
mod connect;
mod connection;
mod error;
mod keys;
mod proxy;
mod quote;
mod scp;

pub use command::RemoteExit;
pub use connect::Remote;
pub use error::SshError;
pub use scp::Source;

use std::path::PathBuf;
use std::time::Duration;

/// Remote machine, with the route to it.
pub struct Target {
    pub endpoint: Endpoint,
    /// Bastion host for the connection.
    pub bastion: Option<Endpoint>,
    /// HTTP proxy for the first connection.
    pub proxy: Option<Proxy>,
    /// SSH agent for authentication and forwarding.
    pub agent: Option<Agent>,
    /// Total time for connection attempts.
    pub timeout: Duration,
    /// True for Windows, which has no pseudo-terminals of this kind and other quoting.
    pub windows: bool,
}

/// SSH server with user and credentials.
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub private_key: Option<String>,
    pub certificate: Option<String>,
    /// Host key of the server, or of the authority that signs it; any key is accepted without one.
    pub host_key: Option<String>,
}

impl Endpoint {
    /// Formats the address for display.
    pub fn address(&self) -> String {
        address(&self.host, self.port)
    }

    /// Formats user, address and authentication methods for display.
    pub fn text(&self, agent: bool) -> String {
        let ways = [
            (
                self.private_key.is_some() && self.certificate.is_none(),
                "a private key",
            ),
            (
                self.private_key.is_some() && self.certificate.is_some(),
                "a certificate",
            ),
            (self.password.is_some(), "a password"),
            (agent, "the ssh agent"),
        ];
        let ways: Vec<&str> = ways
            .iter()
            .filter_map(|(given, word)| given.then_some(*word))
            .collect();
        let ways = if ways.is_empty() {
            "no credentials".to_owned()
        } else {
            ways.join(", ")
        };
        let checked = if self.host_key.is_some() {
            "host key verified"
        } else {
            "host key not verified"
        };
        format!("{}@{} with {ways}; {checked}", self.user, self.address())
    }
}

/// HTTP proxy.
pub struct Proxy {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
}

/// SSH agent.
#[derive(Clone)]
pub struct Agent {
    pub socket: PathBuf,
    /// Key to try first: its comment, and the file of the key.
    pub identity: Option<(String, PathBuf)>,
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
