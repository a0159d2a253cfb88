//! Wait for the health of new members: a counter over polls that answers wait, ready or timed out.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::UnixMs;
use crate::policy::{HealthPolicy, Threshold};

/// Result of one health check of one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// No answer, or none yet.
    #[default]
    Unknown,
    /// Passed.
    Healthy,
    /// Failed.
    Unhealthy,
}

/// Answer of a wait after a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Poll again after the interval.
    Wait,
    /// The members meet the threshold.
    Ready,
    /// The members did not meet the threshold in time.
    TimedOut,
}

/// Running wait of one batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthWait {
    threshold: Threshold,
    timeout: Duration,
    expected: usize,
    started: UnixMs,
    /// Consecutive polls with enough healthy members.
    polls: u32,
    /// Time of the first of these polls.
    healthy_since: Option<UnixMs>,
    last_poll: Option<UnixMs>,
}

/// Most dots of a progress text; with more required polls the numbers stand alone.
const MAX_DOTS: u32 = 10;

impl HealthWait {
    /// Starts to wait for `new` members of a group of `size`. A group that shrinks meanwhile never
    /// has more members than its size.
    pub fn new(policy: &HealthPolicy, new: usize, size: usize, now: UnixMs) -> HealthWait {
        HealthWait {
            threshold: policy.threshold,
            timeout: policy.timeout,
            expected: new.min(size),
            started: now,
            polls: 0,
            healthy_since: None,
            last_poll: None,
        }
    }

    /// Takes the results of one poll of the new members. Members with the old configuration are
    /// not passed, so that a broken group can be repaired.
    pub fn poll(&mut self, new_members: &[Health], now: UnixMs) -> Answer {
        if self.expected == 0 {
            return Answer::Ready;
        }
        self.last_poll = Some(now);
        if self.healthy(new_members) >= self.expected {
            self.polls += 1;
            let since = *self.healthy_since.get_or_insert(now);
            let met = match self.threshold {
                Threshold::Consecutive(needed) => self.polls >= needed,
                Threshold::Lasting(needed) => elapsed(since, now) >= needed,
            };
            if met {
                return Answer::Ready;
            }
        } else {
            self.polls = 0;
            self.healthy_since = None;
        }
        match elapsed(self.started, now) >= self.timeout {
            true => Answer::TimedOut,
            false => Answer::Wait,
        }
    }

    fn healthy(&self, members: &[Health]) -> usize {
        members
            .iter()
            .filter(|health| **health == Health::Healthy)
            .count()
    }

    /// Time until the wait times out.
    pub fn remaining(&self, now: UnixMs) -> Duration {
        self.timeout.saturating_sub(elapsed(self.started, now))
    }

    /// Progress for a table: `●●○ 2/3`, or `12/30 s` for a time.
    pub fn progress(&self) -> String {
        match self.threshold {
            Threshold::Consecutive(needed) => {
                let done = self.polls.min(needed);
                match needed {
                    0..=MAX_DOTS => format!(
                        "{}{} {done}/{needed}",
                        "●".repeat(done as usize),
                        "○".repeat((needed - done) as usize)
                    ),
                    _ => format!("{done}/{needed}"),
                }
            }
            Threshold::Lasting(needed) => {
                let done = match (self.healthy_since, self.last_poll) {
                    (Some(since), Some(last)) => elapsed(since, last).min(needed),
                    _ => Duration::ZERO,
                };
                format!("{}/{} s", done.as_secs(), needed.as_secs())
            }
        }
    }
}

/// Time between two moments; zero if the clock was set back.
fn elapsed(since: UnixMs, now: UnixMs) -> Duration {
    Duration::from_millis(u64::try_from(now.saturating_sub(since)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::Answer::{Ready, TimedOut, Wait};
    use super::*;

    fn policy(threshold: Threshold) -> HealthPolicy {
        HealthPolicy {
            threshold,
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(60),
        }
    }

    /// Parses a poll such as `hu?`: healthy, unhealthy, unknown.
    fn poll(text: &str) -> Vec<Health> {
        let one = |c| match c {
            'h' => Health::Healthy,
            'u' => Health::Unhealthy,
            _ => Health::Unknown,
        };
        text.chars().map(one).collect()
    }

    /// Polls once a second; returns the answers.
    fn answers(threshold: Threshold, new: usize, size: usize, polls: &[&str]) -> Vec<Answer> {
        let mut wait = HealthWait::new(&policy(threshold), new, size, 0);
        let polls = polls.iter().zip(0..);
        polls
            .map(|(text, second)| wait.poll(&poll(text), second * 1000))
            .collect()
    }

    /// Rows named ExceedsHealthyThreshold* are InfraKit's.
    #[test]
    #[rustfmt::skip]
    fn new_members_are_ready_when_they_meet_the_threshold() {
        let polls = Threshold::Consecutive;
        let lasting = |seconds| Threshold::Lasting(Duration::from_secs(seconds));
        let cases: Vec<(&str, Threshold, (usize, usize), &[&str], Vec<Answer>)> = vec![
            ("ExceedsHealthyThresholdNoNewInsts", polls(10), (0, 3), &[""], vec![Ready]),
            ("ExceedsHealthyThresholdDefaults", polls(1), (1, 1), &["h"], vec![Ready]),
            (
                "ExceedsHealthyThresholdCount",
                polls(3),
                (3, 3),
                &["hhh", "hhh", "hhh"],
                vec![Wait, Wait, Ready],
            ),
            (
                "ExceedsHealthyThresholdDuration: two seconds are too few, three are enough",
                lasting(3),
                (3, 3),
                &["hhh", "hhh", "hhh", "hhh"],
                vec![Wait, Wait, Wait, Ready],
            ),
            (
                "a dip resets polls",
                polls(2),
                (1, 1),
                &["h", "u", "h", "h"],
                vec![Wait, Wait, Wait, Ready],
            ),
            (
                "a dip resets time",
                lasting(1),
                (1, 1),
                &["h", "?", "h", "h"],
                vec![Wait, Wait, Wait, Ready],
            ),
            ("not more members than the size", polls(1), (5, 2), &["hh"], vec![Ready]),
            ("one of two is not enough", polls(1), (2, 2), &["hu", "hh"], vec![Wait, Ready]),
            (
                "UpdateFailsWhenInstanceIsUnhealthy (recovers)",
                polls(1),
                (1, 3),
                &["u", "h"],
                vec![Wait, Ready],
            ),
            (
                "FreeGroupWhileConverging (unknown health stalls)",
                polls(1),
                (1, 3),
                &["?", "?", "?"],
                vec![Wait, Wait, Wait],
            ),
            ("a member is missing", polls(1), (2, 3), &["h", "hh"], vec![Wait, Ready]),
        ];
        for (name, threshold, (new, size), polls, expected) in cases {
            assert_eq!(answers(threshold, new, size, polls), expected, "{name}");
        }
    }

    /// InfraKit: RollingUpdateUpdatingCount. Three members roll one by one with two polls each; the
    /// third one dips once. Each wait checks all new members.
    #[test]
    fn rolling_update_of_three_with_one_dip_takes_8_6_and_4_checks() {
        let mut checks = [0, 0, 0];
        for new in 1..=3 {
            let mut wait = HealthWait::new(&policy(Threshold::Consecutive(2)), new, 3, 0);
            for second in 0.. {
                let mut healths = vec![Health::Healthy; new];
                for count in &mut checks[..new] {
                    *count += 1;
                }
                if new == 3 && checks[2] == 2 {
                    healths[2] = Health::Unhealthy;
                }
                if wait.poll(&healths, second * 1000) == Ready {
                    break;
                }
                assert!(second < 10, "the wait ends");
            }
        }
        assert_eq!(checks, [8, 6, 4]);
    }

    /// InfraKit: RollingUpdateUpdatingDuration: 20 ms at a poll every 2 ms need at least 2 checks.
    #[test]
    fn healthy_time_needs_several_polls() {
        let threshold = Threshold::Lasting(Duration::from_millis(20));
        let mut wait = HealthWait::new(&policy(threshold), 1, 3, 0);
        let mut polls = 0;
        while wait.poll(&[Health::Healthy], polls * 2) != Ready {
            polls += 1;
        }
        assert_eq!(polls, 10);
    }

    #[test]
    fn wait_times_out() {
        let mut wait = HealthWait::new(&policy(Threshold::Consecutive(2)), 1, 1, 0);
        assert_eq!(wait.poll(&[Health::Healthy], 59_000), Wait);
        assert_eq!(wait.remaining(59_000), Duration::from_secs(1));
        assert_eq!(wait.poll(&[Health::Unhealthy], 60_000), TimedOut);
        // Members that meet the threshold with the last poll are ready.
        let mut wait = HealthWait::new(&policy(Threshold::Consecutive(1)), 1, 1, 0);
        assert_eq!(wait.poll(&[Health::Healthy], 90_000), Ready);
    }

    #[test]
    fn clock_that_is_set_back_ends_nothing() {
        let mut wait = HealthWait::new(&policy(Threshold::Consecutive(1)), 1, 1, 100_000);
        assert_eq!(wait.poll(&[Health::Unknown], 0), Wait);
    }

    #[test]
    fn progress_is_shown_as_dots_and_numbers() {
        let mut wait = HealthWait::new(&policy(Threshold::Consecutive(3)), 1, 1, 0);
        let mut seen = vec![wait.progress()];
        for text in ["h", "h", "u", "h"] {
            wait.poll(&poll(text), 0);
            seen.push(wait.progress());
        }
        assert_eq!(
            seen,
            ["○○○ 0/3", "●○○ 1/3", "●●○ 2/3", "○○○ 0/3", "●○○ 1/3"]
        );
        let long = HealthWait::new(&policy(Threshold::Consecutive(20)), 1, 1, 0);
        assert_eq!(long.progress(), "0/20");
        let thirty = Threshold::Lasting(Duration::from_secs(30));
        let mut time = HealthWait::new(&policy(thirty), 1, 1, 0);
        time.poll(&[Health::Healthy], 1_000);
        time.poll(&[Health::Healthy], 13_000);
        assert_eq!(time.progress(), "12/30 s");
    }
}
