//! SSH agent: order of its keys, and forwarding of its socket to the remote machine.

use super::Agent;
use super::error::SshError;
use russh::Channel;
use russh::client::Msg;
use russh::keys::PublicKey;
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::UnixStream;

/// Timeout for the agent's list of keys.
const AGENT_TIMEOUT: Duration = Duration::from_secs(15);

impl Agent {
    fn error(&self, why: impl ToString) -> SshError {
        SshError::Agent(self.socket.display().to_string(), why.to_string())
    }

    pub(super) async fn connect(&self) -> Result<AgentClient<UnixStream>, SshError> {
        AgentClient::connect_uds(&self.socket)
            .await
            .map_err(|e| self.error(e))
    }

    /// Returns its keys, in the order to try them.
    pub(super) async fn keys(
        &self,
        client: &mut AgentClient<UnixStream>,
    ) -> Result<Vec<AgentIdentity>, SshError> {
        let asked = tokio::time::timeout(AGENT_TIMEOUT, client.request_identities()).await;
        let mut all = asked
            .map_err(|_| self.error("no answer"))?
            .map_err(|e| self.error(e))?;
        if let Some((name, file)) = &self.identity {
            let key = key_in(file).await;
            all.sort_by_key(|one| rank(one, name, key.as_ref()));
        }
        Ok(all)
    }
}

/// Ranks the configured key first, then keys whose comment ends with its name, because agents use
/// full paths as comments.
fn rank(one: &AgentIdentity, name: &str, key: Option<&PublicKey>) -> u8 {
    let (AgentIdentity::PublicKey { comment, .. } | AgentIdentity::Certificate { comment, .. }) =
        one;
    let same = key.is_some_and(|key| key.key_data() == one.public_key().key_data());
    match () {
        () if same || comment == name => 0,
        () if comment.ends_with(name) => 1,
        () => 2,
    }
}

/// Reads the public key of a file, or of the `.pub` file beside it.
async fn key_in(file: &Path) -> Option<PublicKey> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".pub");
    // The private key may be encrypted; its public half is enough for the comparison.
    for path in [file.to_owned(), PathBuf::from(beside)] {
        let Ok(text) = fsroot::read_named_async(&path).await else {
            continue;
        };
        let private = || {
            russh::keys::decode_secret_key(&text, None)
                .ok()
                .map(|key| key.public_key().clone())
        };
        if let Some(key) = PublicKey::from_openssh(text.trim()).ok().or_else(private) {
            return Some(key);
        }
    }
    None
}

/// Connects a channel that the remote machine opened to the agent's socket, until either ends.
pub(super) async fn forward(channel: Channel<Msg>, socket: PathBuf) {
    let Ok(mut agent) = UnixStream::connect(&socket).await else {
        return;
    };
    let mut channel = channel.into_stream();
    tokio::io::copy_bidirectional(&mut channel, &mut agent)
        .await
        .ok();
}
