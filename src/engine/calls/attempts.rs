//! Retries of calls that failed temporarily, with pauses between the attempts. Each attempt is a
//! separate call in the events. The dialect decides which failures are temporary.

use super::lane::Whose;
use super::{Answer, CallContext, Lane, Method, ProviderError};
use crate::engine::settings::RetrySettings;
use crate::engine::words::{Pause, Retry};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Observer of retries, and the tokens that end them.
#[derive(Clone, Default)]
pub struct Retrying {
    /// Called before each pause with its description, and with `None` after the attempts.
    pub told: Option<Arc<dyn Fn(Option<Pause>) + Send + Sync>>,
    /// When cancelled, no further attempt is made.
    pub until: CancellationToken,
    /// When cancelled, a wait for an object to become stable ends. It is separate from `until`,
    /// because such a wait belongs to a running operation and continues when no new attempts may
    /// start.
    pub stop: CancellationToken,
}

impl Retrying {
    /// Reports a pause, or its end with `None`.
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

/// Attempts of one call.
pub struct Attempts<'c> {
    lane: &'c Arc<Lane>,
    method: Method,
    ctx: &'c CallContext,
    settings: RetrySettings,
    made: u32,
}

impl<'c> Attempts<'c> {
    /// Creates the attempts of a call, with none made.
    pub fn at(lane: &'c Arc<Lane>, method: Method, ctx: &'c CallContext) -> Self {
        Self {
            lane,
            method,
            ctx,
            settings: lane.retries(),
            made: 0,
        }
    }

    /// Makes the next attempt. Returns `None` after the pause if another attempt must follow.
    pub async fn next<T, F>(
        &mut self,
        is_transient: impl Fn(&ProviderError) -> bool,
        call: F,
    ) -> Option<Result<T, ProviderError>>
    where
        T: Answer,
        F: Future<Output = Result<T, ProviderError>>,
    {
        // Counted before the call: a dropped call counts as made.
        self.made += 1;
        let (made, attempts) = (self.made, self.settings.attempts);
        let pause = self.settings.pause_after(made);
        let again = |error: &ProviderError| made < attempts && is_transient(error);
        // No retry after a cancellation, even if the failure is temporary.
        let stopped = || self.ctx.cancel.is_cancelled() || self.ctx.retrying.until.is_cancelled();
        // Decided before the end is reported, because the event states whether a retry follows.
        let judge = |error: &ProviderError| {
            (again(error) && !stopped())
                .then(|| Retry::after(made, attempts, pause).because(&error.to_string()))
        };
        let attempt = self
            .lane
            .attempt(Whose::Any, self.method, self.ctx, judge, call);
        let (result, retry) = attempt.await;
        let Some(retry) = retry else {
            // Only retried calls have reported a pause to clear.
            if made > 1 {
                self.tell(None);
            }
            return Some(match result {
                // A cancellation gives the same error, whether it came during the call or in the
                // pause.
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

    /// Waits for the pause; returns false if it was cancelled.
    async fn wait(&self, pause: Duration) -> bool {
        // A cancellation makes the next attempt useless, so check it first.
        tokio::select! { biased;
            () = self.ctx.cancel.cancelled() => false,
            () = self.ctx.retrying.until.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    fn tell(&self, pause: Option<Pause>) {
        self.ctx.retrying.tell(pause);
    }
}
