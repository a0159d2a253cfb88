//! Other machines over ssh: connected to by themselves, through a bastion or a proxy; a command is
//! run there, files are copied there. Knows nothing of configuration, and is the one place that
//! knows the ssh library.

mod agent;
mod auth;
mod command;
mod connect;
mod error;
mod keys;
mod line;
mod proxy;
mod quote;
mod scp;

pub(in crate::engine) use command::Ended;
pub(in crate::engine) use connect::Remote;
pub(in crate::engine) use error::SshError;
pub(in crate::engine) use scp::Source;

use std::path::PathBuf;
use std::time::Duration;

/// A machine, and how to get to it.
pub(in crate::engine) struct Target {
    pub(in crate::engine) to: Endpoint,
    /// The machine from which it is reached.
    pub(in crate::engine) bastion: Option<Endpoint>,
    /// What lets through to the first of them.
    pub(in crate::engine) proxy: Option<Proxy>,
    /// The agent that has keys, and that is forwarded.
    pub(in crate::engine) agent: Option<Agent>,
    /// How long it is tried to connect.
    pub(in crate::engine) timeout: Duration,
    /// Whether it runs Windows, which has no terminals of this kind, and other quotes.
    pub(in crate::engine) windows: bool,
}

/// An ssh server, who to be there, and what proves it.
pub(in crate::engine) struct Endpoint {
    pub(in crate::engine) host: String,
    pub(in crate::engine) port: u16,
    pub(in crate::engine) user: String,
    pub(in crate::engine) password: Option<String>,
    pub(in crate::engine) private_key: Option<String>,
    pub(in crate::engine) certificate: Option<String>,
    /// The server's key, or that of the authority which signs it; any is taken where it is not
    /// given.
    pub(in crate::engine) host_key: Option<String>,
}

impl Endpoint {
    /// Where it is, as it is shown.
    pub(in crate::engine) fn address(&self) -> String {
        address(&self.host, self.port)
    }

    /// Who connects to where, and with what, as it is shown.
    pub(in crate::engine) fn text(&self, agent: bool) -> String {
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
            "nothing to prove it".to_owned()
        } else {
            ways.join(", ")
        };
        let checked = if self.host_key.is_some() {
            "its key is checked"
        } else {
            "its key is not checked"
        };
        format!("{}@{} with {ways}; {checked}", self.user, self.address())
    }
}

/// An HTTP proxy.
pub(in crate::engine) struct Proxy {
    pub(in crate::engine) host: String,
    pub(in crate::engine) port: u16,
    pub(in crate::engine) user: String,
    pub(in crate::engine) password: String,
}

/// An ssh agent.
#[derive(Clone)]
pub(in crate::engine) struct Agent {
    pub(in crate::engine) socket: PathBuf,
    /// Which of its keys is tried first: a comment, or the file of a key.
    pub(in crate::engine) identity: Option<(String, PathBuf)>,
}

fn address(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
