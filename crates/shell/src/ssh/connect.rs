//! Connects with retries: a machine that was just created is not reachable at once, and may not
//! have its users yet.

use super::Target;
use super::connection::SshConnection;
use super::error::{SshError, shown};
use super::keys::Keys;
use russh::Channel;
use russh::client::Msg;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Pause after the first failed attempt; doubled with each further one, up to the maximum.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(20);

/// Connected machine.
pub struct Remote<'t> {
    pub(super) target: &'t Target,
    keys: Keys,
    bastion: Option<Keys>,
    connection: Option<SshConnection>,
}

impl<'t> Remote<'t> {
    /// Connects, with retries until the target's timeout or `cancel`; reports each failure.
    pub async fn connect(
        target: &'t Target,
        say: &(dyn Fn(&str) + Sync),
        cancel: &CancellationToken,
    ) -> Result<Self, SshError> {
        let to = Keys::of(&target.endpoint)?;
        let bastion = target.bastion.as_ref().map(Keys::of).transpose()?;
        let ends = Instant::now() + target.timeout;
        let (mut pause, mut last) = (Duration::ZERO, None);
        loop {
            let attempt = async {
                tokio::time::sleep(pause).await;
                SshConnection::open(target, &to, bastion.as_ref()).await
            };
            let outcome = tokio::select! { biased;
                () = cancel.cancelled() => return Err(SshError::Interrupted(last)),
                outcome = tokio::time::timeout_at(ends, Box::pin(attempt)) => outcome,
            };
            match outcome {
                Err(_) => return Err(SshError::Timeout(target.timeout, last)),
                Ok(Ok(line)) => {
                    return Ok(Self {
                        target,
                        keys: to,
                        bastion,
                        connection: Some(line),
                    });
                }
                // Local errors, such as an unreadable key, do not disappear.
                Ok(Err(error)) if error.is_final() => return Err(error),
                Ok(Err(error)) => {
                    pause = (pause * 2).clamp(PAUSE, MAX_PAUSE);
                    say(&format!(
                        "no connection yet: {error}; next attempt in {}",
                        shown(pause)
                    ));
                    last = Some(Box::new(error));
                }
            }
        }
    }

    /// Opens a channel for one command, reconnecting if the connection was lost in the meantime.
    pub(super) async fn channel(&mut self) -> Result<Channel<Msg>, SshError> {
        if let Some(line) = &self.connection
            && let Ok(channel) = line.channel().await
        {
            return Ok(channel);
        }
        let line = Box::pin(SshConnection::open(
            self.target,
            &self.keys,
            self.bastion.as_ref(),
        ))
        .await?;
        let channel = line.channel().await.map_err(|e| self.lost_error(e));
        // Close the old connection, or its keepalives would continue.
        if let Some(old) = self.connection.replace(line) {
            old.close().await;
        }
        channel
    }

    pub(super) fn lost_error(&self, why: impl ToString) -> SshError {
        SshError::Broken(self.target.endpoint.address(), why.to_string())
    }

    pub async fn close(mut self) {
        if let Some(line) = self.connection.take() {
            line.close().await;
        }
    }
}
