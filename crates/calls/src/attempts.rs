//! Retries of calls that failed temporarily, with pauses between the attempts. Each attempt is a
//! separate call in the events. The dialect decides which failures are temporary.

use super::lane::SlotsOf;
use super::{Answer, CallContext, Lane, Method, ProviderError};
use model::settings::RetrySettings;
use model::{Pause, Retry};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Observer of retries, and the tokens that end them.
#[derive(Clone, Default)]
pub struct Retrying {
    /// Called before each pause with its description, and with `None` after the attempts.
    pub on_pause: Option<Arc<dyn Fn(Option<Pause>) + Send + Sync>>,
    /// When cancelled, no further attempt is made.
    pub stop_token: CancellationToken,
    /// When cancelled, a wait for an object to become stable ends. It is separate from `until`,
    /// because such a wait belongs to a running operation and continues when no new attempts may
    /// start.
    pub stop: CancellationToken,
}

impl Retrying {
    /// Reports a pause, or its end with `None`.
    pub fn report(&self, pause: Option<Pause>) {
        if let Some(told) = &self.on_pause {
            told(pause);
        }
    }
}

impl std::fmt::Debug for Retrying {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retrying")
            .field("until", &self.stop_token)
            .finish_non_exhaustive()
    }
}

/// Attempts of one call.
pub struct Attempts<'c> {
    lane: &'c Arc<Lane>,
    method: Method,
    ctx: &'c CallContext,
    settings: RetrySettings,
    attempts_made: u32,
}

impl<'c> Attempts<'c> {
    /// Creates the attempts of a call, with none made.
    pub fn at(lane: &'c Arc<Lane>, method: Method, ctx: &'c CallContext) -> Self {
        Self {
            lane,
            method,
            ctx,
            settings: lane.retries(),
            attempts_made: 0,
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
        self.attempts_made += 1;
        let (made, attempts) = (self.attempts_made, self.settings.attempts);
        let pause = self.settings.pause_after(made);
        let again = |error: &ProviderError| made < attempts && is_transient(error);
        // No retry after a cancellation, even if the failure is temporary.
        let stopped =
            || self.ctx.cancel.is_cancelled() || self.ctx.retrying.stop_token.is_cancelled();
        // Decided before the end is reported, because the event states whether a retry follows.
        let judge = |error: &ProviderError| {
            (again(error) && !stopped())
                .then(|| Retry::after(made, attempts, pause).because(&error.to_string()))
        };
        let attempt = self
            .lane
            .attempt(SlotsOf::Any, self.method, self.ctx, judge, call);
        let (result, retry) = attempt.await;
        let Some(retry) = retry else {
            // Only retried calls have reported a pause to clear.
            if made > 1 {
                self.report(None);
            }
            return Some(match result {
                // A cancellation gives the same error, whether it came during the call or in the
                // pause.
                Err(error) if again(&error) && stopped() => Err(self.cancelled_error()),
                result => result.map_err(|error| error.with_attempts(made)),
            });
        };
        self.report(Some(Pause::Retry(retry)));
        if self.wait(pause).await {
            return None;
        }
        self.report(None);
        Some(Err(self.cancelled_error()))
    }

    fn cancelled_error(&self) -> ProviderError {
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
            () = self.ctx.retrying.stop_token.cancelled() => false,
            () = tokio::time::sleep(pause) => true,
        }
    }

    fn report(&self, pause: Option<Pause>) {
        self.ctx.retrying.report(pause);
    }
}
