//! Repeats calls that fail with a transient error, by the provider's retry policy. Pure, except for
//! the waits.

use super::wire::{Fault, PluginError};
use calls::{CallContext, Method, ProviderError};
use model::secrets::Secrets;
use model::{Pause, PluginId, Retry};
use proto::bluelink::providerserverv1::RetryPolicy;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Retry policy of a provider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Policy {
    /// Maximum number of attempts after the first.
    retries: u32,
    /// First pause in seconds.
    first: f64,
    /// Maximum pause in seconds; `None` without a limit.
    max_pause: Option<f64>,
    factor: f64,
    jitter: bool,
}

/// Policy of providers without one.
pub(super) const DEFAULT_POLICY: Policy = Policy {
    retries: 5,
    first: 2.0,
    max_pause: Some(300.0),
    factor: 2.0,
    jitter: true,
};

/// Policy in the format of the deploy engine's setting.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Setting {
    max_retries: i32,
    first_retry_delay: f64,
    max_delay: f64,
    backoff_factor: f64,
    jitter: bool,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            max_retries: DEFAULT_POLICY.retries.cast_signed(),
            first_retry_delay: DEFAULT_POLICY.first,
            max_delay: DEFAULT_POLICY.max_pause.unwrap_or(-1.0),
            backoff_factor: DEFAULT_POLICY.factor,
            jitter: DEFAULT_POLICY.jitter,
        }
    }
}

/// Limit of retries for every policy: each is a call and a pause.
const MAX_RETRIES: u32 = 100;
/// Limit of a pause in seconds, for policies without one.
const MAX_PAUSE_SECONDS: f64 = 3600.0;

impl Policy {
    /// Converts a provider's policy. A provider without one returns zeros, which do not mean "no
    /// retries".
    pub(super) fn of(said: &RetryPolicy, usual: Self) -> Self {
        if *said == RetryPolicy::default() {
            return usual;
        }
        Self {
            retries: u32::try_from(said.max_retries)
                .unwrap_or(0)
                .min(MAX_RETRIES),
            first: said.first_retry_delay.max(0.0),
            max_pause: (said.max_delay >= 0.0).then_some(said.max_delay),
            factor: said.backoff_factor.max(0.0),
            jitter: said.jitter,
        }
    }

    /// Parses the deploy engine's own setting: JSON with optional members.
    ///
    /// # Errors
    /// The text is not valid.
    pub(super) fn of_setting(text: &str) -> Result<Self, serde_json::Error> {
        let said: Setting = serde_json::from_str(text)?;
        Ok(Self::of(
            &RetryPolicy {
                max_retries: said.max_retries,
                first_retry_delay: said.first_retry_delay,
                max_delay: said.max_delay,
                backoff_factor: said.backoff_factor,
                jitter: said.jitter,
            },
            DEFAULT_POLICY,
        ))
    }

    /// Returns the pause after `made` attempts; `chance` in [0, 1) is the jitter.
    fn pause(&self, made: u32, chance: f64) -> Duration {
        let power = i32::try_from(made.saturating_sub(1)).unwrap_or(i32::MAX);
        let whole = self.first * self.factor.powi(power);
        let whole = whole
            .min(self.max_pause.unwrap_or(MAX_PAUSE_SECONDS))
            .min(MAX_PAUSE_SECONDS);
        let whole = if self.jitter { whole * chance } else { whole };
        Duration::from_millis((whole * 1000.0) as u64)
    }

    /// Makes a call, and repeats it while the plugin reports a transient error. Other failures are
    /// not repeated, because a call without an answer may have taken effect. `call` receives the
    /// attempt that follows a failure.
    pub(super) async fn call_with_retries<T, F>(
        &self,
        (plugin, method): (&PluginId, Method),
        secrets: &Secrets,
        ctx: &CallContext,
        mut call: impl FnMut(Option<Next>) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        let tell = |pause| ctx.retrying.report(pause);
        let stopped = || ctx.cancel.is_cancelled() || ctx.retrying.stop_token.is_cancelled();
        let mut made = 0;
        // Bounded by the policy.
        loop {
            made += 1;
            let next = (made <= self.retries && !stopped()).then(|| Next {
                attempts_made: made,
                max_attempts: self.retries + 1,
                pause: self.pause(made, random_fraction()),
            });
            let mut said = match call(next).await {
                Err(Fault::Reported(said)) if said.is_transient() => said,
                // Clears the announced retry, because this attempt is final.
                other => {
                    if made > 1 {
                        tell(None);
                    }
                    return other;
                }
            };
            said.attempts = made;
            let Some(next) = next else {
                if made > 1 {
                    tell(None);
                }
                return Err(final_fault((plugin, method), said, made <= self.retries));
            };
            // The plugin's text may contain secrets, and the reason is shown and stored.
            let mut reason = said.summary();
            secrets.redact_in_place(&mut reason);
            tell(Some(Pause::Retry(next.retry(&reason))));
            if !pause_completed(&[&ctx.cancel, &ctx.retrying.stop_token], next.pause).await {
                tell(None);
                return Err(final_fault((plugin, method), said, true));
            }
        }
    }
}

/// Returns the result after the last attempt; `stopped` if further attempts were allowed.
fn final_fault((plugin, method): (&PluginId, Method), said: PluginError, stopped: bool) -> Fault {
    match stopped && method.can_be_dropped() {
        // The plugin has answered, so the outcome is known.
        false => Fault::Reported(said),
        true => Fault::Call(ProviderError::Cancelled {
            plugin: plugin.clone(),
            method,
            sent: false,
        }),
    }
}

/// Attempt after a transient failure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next {
    attempts_made: u32,
    max_attempts: u32,
    pause: Duration,
}

impl Next {
    /// Returns the announcement of the attempt, counted from now.
    pub(super) fn retry(self, reason: &str) -> Retry {
        Retry::after(self.attempts_made, self.max_attempts, self.pause).because(reason)
    }
}

/// Returns true if the pause ended before any of the tokens was cancelled.
pub(super) async fn pause_completed(ends: &[&CancellationToken], pause: Duration) -> bool {
    let ended = ends.iter().map(|end| Box::pin(end.cancelled()));
    tokio::select! { biased; // a cancellation takes precedence
        _ = futures_util::future::select_all(ended) => false,
        () = tokio::time::sleep(pause) => true,
    }
}

/// Returns a random number in [0, 1).
fn random_fraction() -> f64 {
    let bits = uuid::Uuid::new_v4().as_u128() as u32;
    f64::from(bits) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bluelink::wire::PluginError;
    use proto::bluelink::sharedtypesv1::{ErrorCode, ErrorResponse};
    use std::cell::Cell;

    const QUICK: RetryPolicy = RetryPolicy {
        max_retries: 3,
        first_retry_delay: 0.25,
        max_delay: 0.6,
        backoff_factor: 2.0,
        jitter: false,
    };

    #[test]
    fn s2_14_all_zero_retry_policy_means_the_default() {
        assert_eq!(
            Policy::of(&RetryPolicy::default(), DEFAULT_POLICY),
            DEFAULT_POLICY
        );
        let never = RetryPolicy {
            first_retry_delay: 1.0,
            ..RetryPolicy::default()
        };
        assert_eq!(Policy::of(&never, DEFAULT_POLICY).retries, 0);
    }

    #[test]
    fn retry_setting_overrides_the_default_policy_per_field() {
        let set = Policy::of_setting(r#"{"maxRetries": 2, "jitter": false}"#).unwrap();
        let wanted = Policy {
            retries: 2,
            jitter: false,
            ..DEFAULT_POLICY
        };
        assert_eq!(set, wanted);
        assert_eq!(Policy::of(&RetryPolicy::default(), set), wanted);
        assert_eq!(Policy::of(&QUICK, set), Policy::of(&QUICK, DEFAULT_POLICY));
        let misspelt = Policy::of_setting(r#"{"backoff_factor": 2}"#);
        assert!(misspelt.unwrap_err().to_string().contains("backoff_factor"));
        assert!(Policy::of_setting("5").is_err());
    }

    #[test]
    fn retry_pauses_grow_to_the_limit_and_jitter_is_a_fraction() {
        let policy = Policy::of(&QUICK, DEFAULT_POLICY);
        let pauses = [1, 2, 3].map(|made| policy.pause(made, 0.5).as_millis());
        assert_eq!(pauses, [250, 500, 600]);
        let all = [1, 2, 3, 4, 5, 9].map(|made| DEFAULT_POLICY.pause(made, 0.5).as_secs());
        assert_eq!(all, [1, 2, 4, 8, 16, 150]);
        let unlimited = Policy::of(
            &RetryPolicy {
                max_delay: -1.0,
                ..QUICK
            },
            DEFAULT_POLICY,
        );
        assert_eq!(unlimited.pause(5, 0.0).as_millis(), 4000);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random_fraction())));
    }

    async fn attempts(code: ErrorCode, fails: u32) -> (u32, Result<(), Fault>) {
        let made = Cell::new(0);
        let ctx = CallContext::default();
        let plugin = PluginId("bluelink/fake".into());
        let call = |_| {
            made.set(made.get() + 1);
            let failed = made.get() <= fails;
            async move {
                let error = ErrorResponse {
                    code: code.into(),
                    ..ErrorResponse::default()
                };
                if failed {
                    Err(Fault::Reported(PluginError::of(error)))
                } else {
                    Ok(())
                }
            }
        };
        let policy = Policy::of(&QUICK, DEFAULT_POLICY);
        let result = policy
            .call_with_retries(
                (&plugin, Method::DeployResource),
                &Secrets::default(),
                &ctx,
                call,
            )
            .await;
        (made.get(), result)
    }

    #[tokio::test(start_paused = true)]
    async fn s2_12_only_transient_errors_are_retried_until_attempts_are_exhausted() {
        assert!(matches!(
            attempts(ErrorCode::Transient, 2).await,
            (3, Ok(()))
        ));
        let (made, failed) = attempts(ErrorCode::Transient, 99).await;
        assert!(made == 4 && matches!(failed, Err(Fault::Reported(said)) if said.attempts == 4));
        assert!(matches!(
            attempts(ErrorCode::BadInput, 99).await,
            (1, Err(_))
        ));
        assert!(matches!(
            attempts(ErrorCode::Unexpected, 99).await,
            (1, Err(_))
        ));
    }
}
