//! One leader per workspace: decisions about a lock lease with a fencing token.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::UnixMs;

/// Lock lease as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockLease {
    /// Lock owner.
    pub owner: String,
    /// Fencing token. Each acquisition has a larger one.
    pub token: u64,
    /// End of the lease.
    pub expires: UnixMs,
}

/// Result of reading the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// Nobody holds it; `token` is the last one used, 0 if none.
    Free {
        /// Last fencing token.
        token: u64,
    },
    /// It is held, or it has expired without a release.
    Held(LockLease),
    /// It could not be read.
    Unknown,
}

/// Leadership of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// Another process leads, or none.
    NotLeader {
        /// Lock owner, if there is one.
        owner: Option<String>,
    },
    /// This process leads.
    Leader {
        /// Its fencing token.
        token: u64,
    },
    /// Unknown; groups are not managed until it is known.
    Unknown,
}

/// Action for the caller, in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaderAction {
    /// Start nothing more, and free all groups.
    StepDown,
    /// Replace the observed lease by this one, only if it is still the observed one. Then poll.
    Acquire(LockLease),
    /// Extend the own lease, only if it is still the observed one.
    Renew(LockLease),
    /// Load all groups and manage them.
    Lead,
}

/// Candidate for the leadership.
#[derive(Clone, Debug)]
pub struct Candidate {
    owner: String,
    duration: Duration,
    leadership: Leadership,
    /// Lease of another process as it was first read, with the time of that read.
    observed: Option<(LockLease, UnixMs)>,
}

impl Candidate {
    /// A candidate that does not lead. `owner` identifies this process, and differs from that of
    /// any other start of it.
    pub fn new(owner: &str, duration: Duration) -> Candidate {
        Candidate {
            owner: owner.to_owned(),
            duration,
            leadership: Leadership::NotLeader { owner: None },
            observed: None,
        }
    }

    /// Returns the text that identifies this process.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Leadership at the last poll.
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Decides after a read of the lease.
    pub fn poll(&mut self, observation: &Observation, now: UnixMs) -> Vec<LeaderAction> {
        let leads = matches!(self.leadership, Leadership::Leader { .. });
        let (leadership, actions) = match observation {
            Observation::Unknown => (Leadership::Unknown, Vec::new()),
            Observation::Free { token } => self.acquire(*token, now),
            Observation::Held(lease) if lease.expires <= now => self.acquire(lease.token, now),
            Observation::Held(lease) if lease.owner == self.owner => self.hold(lease, now),
            Observation::Held(lease) if self.is_abandoned(lease, now) => {
                self.acquire(lease.token, now)
            }
            Observation::Held(lease) => {
                let owner = Some(lease.owner.clone());
                (Leadership::NotLeader { owner }, Vec::new())
            }
        };
        let still = match (&self.leadership, &leadership) {
            // A larger token is a new leadership: the groups are loaded again.
            (Leadership::Leader { token: old }, Leadership::Leader { token: new }) => old == new,
            _ => !leads,
        };
        self.leadership = leadership;
        match still {
            true => actions,
            false => std::iter::once(LeaderAction::StepDown)
                .chain(actions)
                .collect(),
        }
    }

    /// Returns true if the lease of another process has not been renewed for its duration, as far
    /// as this process has seen. Its end may be wrong, because the clock of its owner may be ahead.
    fn is_abandoned(&mut self, lease: &LockLease, now: UnixMs) -> bool {
        match &self.observed {
            Some((known, since)) if known == lease => {
                now.saturating_sub(*since) >= self.duration_ms()
            }
            _ => {
                self.observed = Some((lease.clone(), now));
                false
            }
        }
    }

    fn duration_ms(&self) -> UnixMs {
        UnixMs::try_from(self.duration.as_millis()).unwrap_or(UnixMs::MAX)
    }

    fn lease(&self, token: u64, now: UnixMs) -> LockLease {
        LockLease {
            owner: self.owner.clone(),
            token,
            expires: now.saturating_add(self.duration_ms()),
        }
    }

    /// Tries to get the lease; only the next poll tells if this succeeded.
    fn acquire(&self, last: u64, now: UnixMs) -> (Leadership, Vec<LeaderAction>) {
        let lease = self.lease(last + 1, now);
        (
            Leadership::NotLeader { owner: None },
            vec![LeaderAction::Acquire(lease)],
        )
    }

    /// Keeps the lease, and renews it when half of its time is over.
    fn hold(&self, lease: &LockLease, now: UnixMs) -> (Leadership, Vec<LeaderAction>) {
        let mut actions = Vec::new();
        let left = lease.expires.saturating_sub(now);
        // More than the duration is left if the clock was set back; others cannot know that.
        if left <= self.duration_ms() / 2 || left > self.duration_ms() {
            actions.push(LeaderAction::Renew(self.lease(lease.token, now)));
        }
        let token = lease.token;
        if self.leadership != (Leadership::Leader { token }) {
            actions.push(LeaderAction::Lead);
        }
        (Leadership::Leader { token }, actions)
    }
}

/// Returns true if a step with this token may run: no later leader has written since.
pub fn is_current(token: u64, highest: u64) -> bool {
    token >= highest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(owner: &str, token: u64, expires: UnixMs) -> Observation {
        Observation::Held(LockLease {
            owner: owner.to_owned(),
            token,
            expires,
        })
    }

    fn text(actions: &[LeaderAction]) -> String {
        let one = |action: &LeaderAction| match action {
            LeaderAction::StepDown => "step down".to_owned(),
            LeaderAction::Acquire(lease) => {
                format!("acquire {} until {}", lease.token, lease.expires)
            }
            LeaderAction::Renew(lease) => format!("renew {} until {}", lease.token, lease.expires),
            LeaderAction::Lead => "lead".to_owned(),
        };
        actions.iter().map(one).collect::<Vec<_>>().join(", ")
    }

    /// Polls of one process at the given times. Rows are named after InfraKit's tests of the
    /// manager.
    #[test]
    fn one_process_leads() {
        use Observation::{Free, Unknown};
        let scenarios: Vec<(&str, Vec<(UnixMs, Observation, &str)>)> = vec![
            (
                "NoCallsToGroupWhenNoLeader",
                vec![
                    (0, held("other", 1, 100), ""),
                    (50, held("other", 1, 150), ""),
                    (60, Unknown, ""),
                ],
            ),
            (
                "StartOneLeader",
                vec![
                    (0, Free { token: 0 }, "acquire 1 until 100"),
                    (1, held("me", 1, 100), "lead"),
                    (2, held("me", 1, 100), ""),
                    (50, held("me", 1, 100), "renew 1 until 150"),
                    (51, held("me", 1, 150), ""),
                ],
            ),
            (
                "another process was faster",
                vec![
                    (0, Free { token: 4 }, "acquire 5 until 100"),
                    (1, held("other", 5, 100), ""),
                ],
            ),
            (
                "ChangeLeadership",
                vec![
                    (0, held("me", 1, 100), "lead"),
                    (10, held("other", 2, 110), "step down"),
                    (120, held("other", 2, 110), "acquire 3 until 220"),
                    (121, held("me", 3, 220), "lead"),
                ],
            ),
            (
                "unknown: step down, and lead again when it is known",
                vec![
                    (0, held("me", 1, 100), "lead"),
                    (10, Unknown, "step down"),
                    (20, Unknown, ""),
                    (30, held("me", 1, 100), "lead"),
                ],
            ),
            (
                "the own lease expired",
                vec![
                    (0, held("me", 1, 100), "lead"),
                    (100, held("me", 1, 100), "step down, acquire 2 until 200"),
                    (101, held("me", 2, 200), "lead"),
                ],
            ),
            (
                "the clock of a leader that ended was ahead",
                vec![
                    (0, held("other", 1, 9_000), ""),
                    (99, held("other", 1, 9_000), ""),
                    (100, held("other", 1, 9_000), "acquire 2 until 200"),
                    (101, held("me", 2, 200), "lead"),
                ],
            ),
            (
                "the clock of a living leader is ahead",
                vec![
                    (0, held("other", 1, 9_000), ""),
                    (60, held("other", 1, 9_060), ""),
                    (120, held("other", 1, 9_060), ""),
                    (130, held("other", 1, 9_120), ""),
                ],
            ),
            (
                "the own clock was set back",
                vec![
                    (1_000, held("me", 1, 1_100), "lead"),
                    (10, held("me", 1, 1_100), "renew 1 until 110"),
                ],
            ),
            (
                "a lease of an earlier acquisition",
                vec![
                    (0, held("me", 1, 100), "lead"),
                    (1, held("me", 2, 101), "step down, lead"),
                ],
            ),
        ];
        for (name, polls) in scenarios {
            let mut candidate = Candidate::new("me", Duration::from_millis(100));
            for (now, observation, expected) in polls {
                let actions = candidate.poll(&observation, now);
                assert_eq!(text(&actions), expected, "{name} at {now}");
            }
        }
    }

    #[test]
    fn owner_of_the_lease_is_known() {
        let mut candidate = Candidate::new("me", Duration::from_secs(1));
        candidate.poll(&held("other", 1, 100), 0);
        let owner = Some("other".to_owned());
        assert_eq!(*candidate.leadership(), Leadership::NotLeader { owner });
    }

    #[test]
    fn steps_of_a_former_leader_are_refused() {
        assert!(is_current(3, 3) && is_current(4, 3) && !is_current(2, 3));
    }
}
