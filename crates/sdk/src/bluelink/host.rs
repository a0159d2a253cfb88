//! Who may call: the host that the registration's reply has named. It may call a moment before that
//! reply is read; such a call waits for it.

use std::time::Duration;

use proto::bluelink::sharedtypesv1::ErrorResponse;
use tokio::sync::watch;

use super::error::unexpected;

/// How long a call may be ahead of the reply to the registration.
const AHEAD: Duration = Duration::from_secs(10);

/// The host, once it is known.
pub(super) struct Host(watch::Receiver<Option<String>>);

impl Host {
    /// One that nobody has named yet, and by what it is named.
    pub(super) fn unknown() -> (watch::Sender<Option<String>>, Host) {
        let (named, host) = watch::channel(None);
        (named, Host(host))
    }

    /// Whether it is the host that calls.
    ///
    /// # Errors
    /// It is another one, or nobody is known to be the host.
    pub(super) async fn check(&self, said: &str) -> Result<(), ErrorResponse> {
        let mut host = self.0.clone();
        let known = async {
            let known = host.wait_for(Option::is_some).await.ok()?;
            known.clone()
        };
        let known = tokio::time::timeout(AHEAD, known).await.ok().flatten();
        // In these words, by which hosts know that it is about themselves.
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
    async fn a_call_before_the_reply_is_read_waits_for_it_and_others_are_refused() {
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
