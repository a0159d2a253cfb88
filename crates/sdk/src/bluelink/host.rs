//! Check of the caller: only the host that the registration response named may call. Its first call
//! can arrive before that response is read, and then waits for it.

use std::time::Duration;

use proto::bluelink::sharedtypesv1::ErrorResponse;
use tokio::sync::watch;

use super::error::unexpected;

/// Maximum time that a call waits for the registration response.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(10);

/// Identifier of the host, once it is known.
pub(super) struct Host(watch::Receiver<Option<String>>);

impl Host {
    /// Creates an unknown host, and the sender that sets its identifier.
    pub(super) fn unknown() -> (watch::Sender<Option<String>>, Host) {
        let (named, host) = watch::channel(None);
        (named, Host(host))
    }

    /// Checks that the caller is the registered host.
    ///
    /// # Errors
    /// The caller is another host, or no host is known in time.
    pub(super) async fn check(&self, said: &str) -> Result<(), ErrorResponse> {
        // Each call waits on its own receiver, because waiting needs exclusive access.
        let mut host = self.0.clone();
        let known = async {
            let known = host.wait_for(Option::is_some).await.ok()?;
            known.clone()
        };
        let known = tokio::time::timeout(REGISTRATION_TIMEOUT, known)
            .await
            .ok()
            .flatten();
        // Hosts recognize a rejected host id by exactly this message.
        let refused = || unexpected(format!("invalid host ID {said:?}"));
        known
            .filter(|known| known == said)
            .map(drop)
            .ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn host_check_waits_for_the_host_id_and_rejects_others() {
        let (named, host) = Host::unknown();
        let early = host.check("h-1");
        let reply = async { named.send(Some("h-1".to_owned())).unwrap() };
        assert_eq!(tokio::join!(early, reply).0, Ok(()));
        let other = host.check("h-2").await.unwrap_err();
        assert_eq!(other.message, "invalid host ID \"h-2\"");
        let (_named, nobody) = Host::unknown();
        assert!(nobody.check("h-1").await.is_err());
    }
}
