//! Policy of rolling updates: batches, order, drain, wait for health, and reaction to failures.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Number of members, absolute or relative to the group's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// A number.
    Count(u32),
    /// Percent of the members, from 1 to 100.
    Percent(u32),
}

impl Amount {
    /// Parses `3` or `25%`.
    pub fn parse(text: &str) -> Option<Amount> {
        match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse().ok().map(Amount::Percent),
            None => text.parse().ok().map(Amount::Count),
        }
    }

    /// Number of members out of `size`. A percentage rounds up to at least 1.
    pub fn of(self, size: usize) -> usize {
        match self {
            Amount::Count(count) => count as usize,
            Amount::Percent(percent) => (size * percent as usize).div_ceil(100).max(1),
        }
    }
}

/// Order of members in a rolling update. A member that is this machine always comes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Unhealthy members first, then by key: they are outdated and serve nobody.
    #[default]
    OutdatedFirst,
    /// Oldest members first, then by key.
    Oldest,
    /// By key alone.
    Key,
}

/// Reaction to a batch that does not become healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnhealthy {
    /// Pause until an operator decides.
    #[default]
    Pause,
    /// Abort the rollout and leave the other members as they are.
    Abort,
    /// Record the failure and start the next batch.
    Continue,
}

/// Limits of the drain of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainPolicy {
    /// Longest drain.
    pub timeout: Duration,
}

/// Condition that new members meet before the next batch starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Number of consecutive polls with all new members healthy.
    Consecutive(u32),
    /// Time without interruption in which all new members are healthy.
    Lasting(Duration),
}

/// Wait for the health of new members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthPolicy {
    /// Required polls or time.
    pub threshold: Threshold,
    /// Time between two polls.
    pub interval: Duration,
    /// Longest wait of a batch.
    pub timeout: Duration,
}

impl Default for HealthPolicy {
    fn default() -> Self {
        HealthPolicy {
            threshold: Threshold::Consecutive(1),
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(600),
        }
    }
}

/// Policy of rolling updates of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdatePolicy {
    /// Members of a batch.
    pub batch: Amount,
    /// Most members that may be unavailable, those of the batch and unhealthy ones together.
    pub max_unavailable: Option<Amount>,
    /// Create the new member before the old one is destroyed.
    pub surge: bool,
    /// Order of members.
    pub order: Order,
    /// Pause between two batches.
    pub pause_between: Duration,
    /// Reaction to an unhealthy batch.
    pub on_unhealthy: OnUnhealthy,
    /// Drain before a member is destroyed.
    pub drain: Option<DrainPolicy>,
    /// Wait for health after a batch.
    pub health: Option<HealthPolicy>,
    /// Most members created or destroyed at once when the size changes; 0 for no limit.
    pub max_parallel: u32,
}

impl Default for UpdatePolicy {
    fn default() -> Self {
        UpdatePolicy {
            batch: Amount::Count(1),
            max_unavailable: None,
            surge: false,
            order: Order::default(),
            pause_between: Duration::ZERO,
            on_unhealthy: OnUnhealthy::default(),
            drain: None,
            health: None,
            max_parallel: 0,
        }
    }
}

/// Reason why a policy makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument}: {problem}")]
pub struct PolicyError {
    /// Argument in the `update` block, by which callers find its place.
    pub argument: &'static str,
    /// Problem and remedy.
    pub problem: String,
}

impl UpdatePolicy {
    /// Finds combinations of arguments that make no sense.
    pub fn validate(&self) -> Vec<PolicyError> {
        let mut errors = Vec::new();
        let mut add = |argument, problem: &str| {
            errors.push(PolicyError {
                argument,
                problem: problem.to_owned(),
            });
        };
        match self.batch {
            Amount::Count(0) => add("batch", "a batch needs at least one member; use 1 or more"),
            Amount::Percent(p) if !(1..=100).contains(&p) => {
                add("batch", "a percentage is from 1% to 100%")
            }
            _ => {}
        }
        match self.max_unavailable {
            Some(Amount::Percent(p)) if !(1..=100).contains(&p) => {
                add("max_unavailable", "a percentage is from 1% to 100%")
            }
            Some(Amount::Count(0)) if !self.surge => add(
                "max_unavailable",
                "with 0, no member may ever be replaced; set it to 1 or more, or set surge = true",
            ),
            _ => {}
        }
        if self.on_unhealthy != OnUnhealthy::Pause && self.health.is_none() {
            add(
                "on_unhealthy",
                "has no effect, because no health check is declared; add a health block",
            );
        }
        if self.surge && self.on_unhealthy == OnUnhealthy::Continue {
            add(
                "on_unhealthy",
                "\"continue\" with surge destroys healthy members although their successors are \
                 unhealthy; use \"pause\" or \"abort\"",
            );
        }
        if self
            .drain
            .as_ref()
            .is_some_and(|drain| drain.timeout.is_zero())
        {
            add(
                "drain.timeout",
                "a drain needs time; use for example \"2m\"",
            );
        }
        if let Some(health) = &self.health {
            health.validate(&mut add);
        }
        errors
    }
}

impl HealthPolicy {
    fn validate(&self, add: &mut impl FnMut(&'static str, &str)) {
        if self.interval.is_zero() {
            add(
                "health.interval",
                "polls need time between them; use for example \"5s\"",
            );
        }
        if self.timeout.is_zero() {
            add(
                "health.timeout",
                "a wait needs a limit; use for example \"10m\"",
            );
        }
        match self.threshold {
            Threshold::Consecutive(0) => add(
                "health.consecutive",
                "at least one healthy poll is needed; use 1 or more",
            ),
            Threshold::Consecutive(polls) => {
                // The first poll happens at once, so that `polls` of them take one interval less.
                let needed = self.interval.saturating_mul(polls - 1);
                if needed >= self.timeout {
                    add(
                        "health.timeout",
                        "ends before the consecutive polls can take place; use more than \
                         consecutive * interval",
                    );
                }
            }
            Threshold::Lasting(time) if time >= self.timeout => add(
                "health.timeout",
                "ends before the members can be healthy for the required time; use a longer timeout",
            ),
            Threshold::Lasting(_) => {}
        }
    }
}

/// Chooses between a number of polls and a time; `None` if neither is given. A count and a time of
/// 0 count as not given.
///
/// # Errors
/// Both are given.
pub fn threshold(
    consecutive: Option<u32>,
    lasting: Option<Duration>,
) -> Result<Option<Threshold>, PolicyError> {
    let consecutive = consecutive.filter(|polls| *polls > 0);
    let lasting = lasting.filter(|time| !time.is_zero());
    match (consecutive, lasting) {
        (Some(_), Some(_)) => Err(PolicyError {
            argument: "health",
            problem: "either a number of healthy polls or a healthy time is allowed, not both; \
                      remove one of them"
                .to_owned(),
        }),
        (Some(polls), None) => Ok(Some(Threshold::Consecutive(polls))),
        (None, time) => Ok(time.map(Threshold::Lasting)),
    }
}

/// Parses a duration such as `30s`, `2m` or `1h30m`.
///
/// # Errors
/// The text is not a duration, or is negative.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let nanos = lang::functions::duration(text).map_err(|_| {
        format!("{text:?} is not a duration; write for example \"30s\" or \"1h30m\"")
    })?;
    u64::try_from(nanos)
        .map(Duration::from_nanos)
        .map_err(|_| format!("{text:?} is negative; durations are 0 or more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn amounts_round_up_to_at_least_one() {
        for (text, size, expected) in [
            ("1", 10, 1),
            ("25%", 10, 3),
            ("25%", 3, 1),
            ("1%", 0, 1),
            ("100%", 7, 7),
            ("0", 5, 0),
        ] {
            assert_eq!(
                Amount::parse(text).unwrap().of(size),
                expected,
                "{text} of {size}"
            );
        }
        for bad in ["", "%", "a", "-1", "1.5", "5 %%"] {
            assert_eq!(Amount::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_are_parsed_and_never_negative() {
        for (text, seconds) in [("30s", 30), ("2m", 120), ("1h30m", 5400), ("0", 0)] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_secs(seconds)),
                "{text}"
            );
        }
        for (text, part) in [
            ("5", "not a duration"),
            ("-1s", "negative"),
            ("soon", "not a duration"),
        ] {
            assert!(parse_duration(text).unwrap_err().contains(part), "{text}");
        }
    }

    #[test]
    #[rustfmt::skip]
    fn combinations_without_sense_are_refused() {
        let base = || UpdatePolicy {
            health: Some(HealthPolicy::default()),
            ..UpdatePolicy::default()
        };
        let health = |threshold, interval, timeout| UpdatePolicy {
            health: Some(HealthPolicy { threshold, interval, timeout }),
            ..base()
        };
        let polls = Threshold::Consecutive;
        let cases: Vec<(&str, UpdatePolicy, &[&str])> = vec![
            ("default", UpdatePolicy::default(), &[]),
            ("with health", base(), &[]),
            ("empty batch", UpdatePolicy { batch: Amount::Count(0), ..base() }, &["batch"]),
            ("more than all", UpdatePolicy { batch: Amount::Percent(101), ..base() }, &["batch"]),
            (
                "nobody may be unavailable",
                UpdatePolicy { max_unavailable: Some(Amount::Count(0)), ..base() },
                &["max_unavailable"],
            ),
            (
                "surge keeps all available",
                UpdatePolicy { max_unavailable: Some(Amount::Count(0)), surge: true, ..base() },
                &[],
            ),
            (
                "reaction without a check",
                UpdatePolicy { on_unhealthy: OnUnhealthy::Abort, health: None, ..base() },
                &["on_unhealthy"],
            ),
            (
                "surge and continue",
                UpdatePolicy { on_unhealthy: OnUnhealthy::Continue, surge: true, ..base() },
                &["on_unhealthy"],
            ),
            (
                "no time to drain",
                UpdatePolicy { drain: Some(DrainPolicy { timeout: Duration::ZERO }), ..base() },
                &["drain.timeout"],
            ),
            ("no polls", health(polls(0), SECOND, SECOND), &["health.consecutive"]),
            ("no interval", health(polls(1), Duration::ZERO, SECOND), &["health.interval"]),
            ("timeout before the polls", health(polls(3), SECOND, 2 * SECOND), &["health.timeout"]),
            ("just enough time", health(polls(3), SECOND, 3 * SECOND), &[]),
            (
                "timeout before the time",
                health(Threshold::Lasting(SECOND), SECOND, SECOND),
                &["health.timeout"],
            ),
        ];
        for (name, policy, expected) in cases {
            let found: Vec<&str> = policy.validate().iter().map(|e| e.argument).collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    /// InfraKit: ValidateMultipleUpdating.
    #[test]
    #[rustfmt::skip]
    fn count_and_duration_are_exclusive() {
        assert!(threshold(Some(2), Some(SECOND)).unwrap_err().to_string().contains("not both"));
        assert_eq!(threshold(Some(0), Some(SECOND)), Ok(Some(Threshold::Lasting(SECOND))));
        assert_eq!(threshold(Some(2), None), Ok(Some(Threshold::Consecutive(2))));
        assert_eq!(threshold(None, None), Ok(None));
    }
}
