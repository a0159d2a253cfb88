//! A call that is made again where it failed for a moment: its attempts, one after the other, with
//! a pause between them. Each is a call of its own on the board. Lives as long as the call; what is
//! worth another attempt is for its dialect to say.

use super::lane::Whose;
use super::{Answer, CallContext, Lane, Method, ProviderError};
use crate::engine::settings::RetrySettings;
use crate::engine::words::{Pause, Retry};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Who is to know of attempts, and what ends the waiting for another one.
#[derive(Clone, Default)]
pub struct Retrying {
    /// Told before each pause what comes after it, and of nothing once the attempts are over.
    pub told: Option<Arc<dyn Fn(Option<Pause>) + Send + Sync>>,
    /// Once cancelled, no other attempt is made.
    pub until: CancellationToken,
    /// Once cancelled, a wait for an object to become stable ends. The wait belongs to an operation
    /// that has begun, so that it goes on where nothing more is to start.
    pub stop: CancellationToken,
}

impl Retrying {
    /// Tells of a pause, or of its end.
    pub fn tell(&self, pause: Option<Pause>) {
        if let Some(told) = &self.told {
            told(pause);
        }
    }
}

impl std::fmt::Debug for Retrying {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retrying")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

/// The attempts at one call.
pub struct Attempts<'c> {
    lane: &'c Arc<Lane>,
    method: Method,
    ctx: &'c CallContext,
    settings: RetrySettings,
    made: u32,
}

impl<'c> Attempts<'c> {
    /// None yet.
    pub fn at(lane: &'c Arc<Lane>, method: Method, ctx: &'c CallContext) -> Self {
        Self {
            lane,
            method,
            ctx,
            settings: lane.retries(),
            made: 0,
        }
    }

    /// Makes the next one. `None` where another one is to follow, after the pause that is over
    /// then.
    pub async fn next<T, F>(
        &mut self,
        is_transient: impl Fn(&ProviderError) -> bool,
        call: F,
    ) -> Option<Result<T, ProviderError>>
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        self.made += 1;
        let (made, attempts) = (self.made, self.settings.attempts);
        let pause = self.settings.pause_after(made);
        let again = |error: &ProviderError| made < attempts && is_transient(error);
        let stopped = || self.ctx.cancel.is_cancelled() || self.ctx.retrying.until.is_cancelled();
        let judge = |error: &ProviderError| {
            (again(error) && !stopped())
                .then(|| Retry::after(made, attempts, pause).because(&error.to_string()))
        };
        let attempt = self
            .lane
            .attempt(Whose::Any, self.method, self.ctx, judge, call);
        let (result, retry) = attempt.await;
        let Some(retry) = retry else {
            if made > 1 {
                self.tell(None);
            }
            return Some(match result {
                // The same answer, whether the end was asked for in the call or in the pause.
                Err(error) if again(&error) && stopped() => Err(self.given_up()),
                result => result.map_err(|error| error.tried(made)),
            });
        };
        self.tell(Some(Pause::Retry(retry)));
        if self.wait(pause).await {
            return None;
        }
        self.tell(None);
        Some(Err(self.given_up()))
    }

    fn given_up(&self) -> ProviderError {
        ProviderError::Cancelled {
            plugin: self.lane.plugin().clone(),
            method: self.method,
            sent: false,
        }
    }

    /// Whether the pause came to its end.
    async fn wait(&self, pause: Duration) -> bool {
        tokio::select! { biased; // an end that is asked for goes before what it makes useless
            () = self.ctx.cancel.cancelled() => false,
            () = self.ctx.retrying.until.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    fn tell(&self, pause: Option<Pause>) {
        self.ctx.retrying.tell(pause);
    }
}
