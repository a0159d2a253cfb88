//! One SSH connection: dialling, host key check, authentication, agent forwarding.

use super::error::SshError;
use super::keys::{self, Keys};
use super::{Target, address, auth, proxy};
use russh::client::{Handle, Handler, Msg};
use russh::keys::PublicKeyOrCertificate;
use russh::keys::ssh_key::{Algorithm, PublicKey};
use russh::{Channel, ChannelMsg, Disconnect};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Timeout of a connection attempt, and of opening a channel.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval of keepalive messages, and the number that may stay unanswered.
const KEEPALIVE: Duration = Duration::from_secs(2);
const KEEPALIVES: usize = 60;
/// Timeout of closing a connection.
const CLOSE: Duration = Duration::from_secs(2);

/// Connection, with the one to its bastion if there is one.
pub(super) struct SshConnection {
    handle: Handle<Ours>,
    bastion: Option<Handle<Ours>>,
    forwards: TaskTracker,
    /// Ends the forwarding when dropped.
    end: DropGuard,
}

impl SshConnection {
    /// Makes one attempt to connect.
    pub(super) async fn open(
        target: &Target,
        to: &Keys,
        bastion: Option<&Keys>,
    ) -> Result<Self, SshError> {
        let (forwards, end) = (TaskTracker::new(), CancellationToken::new());
        let (endpoint, agent) = (&target.endpoint, target.agent.as_ref());
        let first = target.bastion.as_ref().unwrap_or(endpoint);
        let stream = match &target.proxy {
            Some(proxy) => proxy::connect_through(proxy, &first.host, first.port).await?,
            None => dial(&first.host, first.port).await?,
        };
        let mut through = None;
        let ours = |keys: &Keys, host: &str| Ours {
            expected: keys.host.clone(),
            host: host.to_owned(),
            rejected_fingerprint: Arc::default(),
            agent: agent.map(|a| a.socket.clone()),
            forwards: forwards.clone(),
            end: end.clone(),
        };
        // From here on, a failed attempt ends the forwarding tasks too.
        let guard = end.clone().drop_guard();
        let handle = match (&target.bastion, bastion) {
            (Some(at), Some(keys)) => {
                let handle = handshake(stream, &at.address(), ours(keys, &at.host)).await?;
                let mut handle = handle;
                auth::authenticate(&mut handle, at, keys, agent).await?;
                let refused =
                    |why: String| SshError::Bastion(at.address(), endpoint.address(), why);
                let port = u32::from(endpoint.port);
                let asked = handle.channel_open_direct_tcpip(&endpoint.host, port, "127.0.0.1", 0);
                let channel = tokio::time::timeout(CONNECT_TIMEOUT, asked)
                    .await
                    .map_err(|_| refused("no answer".to_owned()))?;
                let channel = channel.map_err(|e| refused(e.to_string()))?;
                through = Some(handle);
                let ours = ours(to, &endpoint.host);
                handshake(channel.into_stream(), &endpoint.address(), ours).await?
            }
            _ => handshake(stream, &endpoint.address(), ours(to, &endpoint.host)).await?,
        };
        let mut connection = Self {
            handle,
            bastion: through,
            forwards: forwards.clone(),
            end: guard,
        };
        auth::authenticate(&mut connection.handle, endpoint, to, agent).await?;
        if agent.is_some() {
            // Commands that do not need the agent still work.
            connection.offer_agent().await.ok();
        }
        Ok(connection)
    }

    /// Opens a channel for one command.
    pub(super) async fn channel(&self) -> Result<Channel<Msg>, russh::Error> {
        tokio::time::timeout(CONNECT_TIMEOUT, self.handle.channel_open_session()).await?
    }

    /// Offers agent forwarding to the server. A refusal is no error for the connection.
    async fn offer_agent(&self) -> Result<(), russh::Error> {
        let mut channel = self.channel().await?;
        channel.agent_forward(true).await?;
        let answered = async {
            while !matches!(
                channel.wait().await,
                Some(ChannelMsg::Success | ChannelMsg::Failure) | None
            ) {}
        };
        tokio::time::timeout(CONNECT_TIMEOUT, answered).await?;
        channel.close().await
    }

    /// Closes the connection gracefully, within a time limit.
    pub(super) async fn close(self) {
        // End the forwarding first: its channels keep the connection busy.
        drop(self.end);
        for handle in [Some(self.handle), self.bastion].into_iter().flatten() {
            let closed = async {
                handle
                    .disconnect(Disconnect::ByApplication, "", "")
                    .await
                    .ok();
                handle.await.ok();
            };
            tokio::time::timeout(CLOSE, closed).await.ok();
        }
        self.forwards.close();
        tokio::time::timeout(CLOSE, self.forwards.wait()).await.ok();
    }
}

/// Callbacks of the SSH library for one connection.
pub(super) struct Ours {
    expected: Option<PublicKey>,
    host: String,
    /// Fingerprint of a host key that was not the expected one.
    rejected_fingerprint: Arc<OnceLock<String>>,
    agent: Option<PathBuf>,
    forwards: TaskTracker,
    end: CancellationToken,
}

impl Handler for Ours {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, russh::Error> {
        let good = self
            .expected
            .as_ref()
            .is_none_or(|expected| keys::is_expected(expected, &self.host, shown));
        if !good {
            self.rejected_fingerprint.set(keys::fingerprint(shown)).ok();
        }
        Ok(good)
    }

    async fn server_channel_open_agent_forward(
        &mut self,
        channel: Channel<Msg>,
        reply: russh::client::ChannelOpenHandle,
        _session: &mut russh::client::Session,
    ) -> Result<(), russh::Error> {
        // Dropping the reply rejects the channel.
        if let Some(socket) = self.agent.clone() {
            reply.accept().await;
            let end = self.end.clone();
            self.forwards.spawn(async move {
                end.run_until_cancelled(super::agent::forward(channel, socket))
                    .await
            });
        }
        Ok(())
    }
}

/// Opens a TCP connection, trying each address of the host in turn.
pub(super) async fn dial(host: &str, port: u16) -> Result<TcpStream, SshError> {
    let unreachable = |e| SshError::Unreachable(address(host, port), e);
    let dialled = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect((host, port))).await;
    let stream = dialled
        .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
        .map_err(unreachable)?;
    stream.set_nodelay(true).ok();
    Ok(stream)
}

/// Performs the SSH handshake, including the host key check.
async fn handshake<S>(stream: S, address: &str, ours: Ours) -> Result<Handle<Ours>, SshError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shown = ours.rejected_fingerprint.clone();
    let config = config(ours.expected.as_ref());
    russh::client::connect_stream(Arc::new(config), stream, ours)
        .await
        .map_err(|error| match (error, shown.get()) {
            // The library reports a rejected key as a generic error.
            (_, Some(shown)) => SshError::HostKey(address.to_owned(), shown.clone()),
            (russh::Error::IO(error), None) => {
                SshError::NotSsh(address.to_owned(), error.to_string())
            }
            (error, None) => SshError::NotSsh(address.to_owned(), error.to_string()),
        })
}

/// Returns the client configuration. If a host key is expected, its algorithm and certificates are
/// preferred, because a server may have several keys.
fn config(expected: Option<&PublicKey>) -> russh::client::Config {
    let mut config = russh::client::Config {
        keepalive_interval: Some(KEEPALIVE),
        keepalive_max: KEEPALIVES,
        ..russh::client::Config::default()
    };
    if let Some(expected) = expected {
        let same = |a: &Algorithm| {
            std::mem::discriminant(a) == std::mem::discriminant(&expected.algorithm())
                && curve(a) == curve(&expected.algorithm())
        };
        let mut all = config.preferred.key.to_vec();
        all.sort_by_key(|a| !same(a));
        config.preferred.host_key_certificates = Cow::Owned(
            all.iter()
                // SHA-1 signatures are obsolete for certificates.
                .filter(|a| !matches!(a, Algorithm::Rsa { hash: None }))
                .cloned()
                .collect(),
        );
        config.preferred.key = Cow::Owned(all);
    }
    config
}

fn curve(a: &Algorithm) -> Option<russh::keys::ssh_key::EcdsaCurve> {
    match a {
        Algorithm::Ecdsa { curve } => Some(*curve),
        _ => None,
    }
}
