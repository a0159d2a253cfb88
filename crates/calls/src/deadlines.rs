//! Deadlines of the methods, and of the wait for a slot.

use super::method::Method;
use model::settings::ServiceSettings;
use std::collections::BTreeMap;
use std::time::Duration;

/// Deadlines of the methods, and of the wait for a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlines {
    methods: BTreeMap<Method, Option<Duration>>,
    line: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            methods: Method::ALL
                .into_iter()
                .map(|m| (m, m.default_deadline()))
                .collect(),
            line: ServiceSettings::default().wait_timeout,
        }
    }
}

impl Deadlines {
    /// Returns the deadline of a method; `None` is no limit.
    pub fn get(&self, method: Method) -> Option<Duration> {
        self.methods.get(&method).copied().flatten()
    }

    /// Sets the deadline of a method.
    pub fn set(&mut self, method: Method, deadline: Option<Duration>) {
        self.methods.insert(method, deadline);
    }

    /// Returns the time after which waiting calls fail if no slot was released. Only a line that
    /// does not move is stuck; a long one is no problem. One hour by default.
    pub fn line(&self) -> Duration {
        self.line
    }

    /// Sets the time for which a line may not move.
    pub fn set_line(&mut self, line: Duration) {
        self.line = line;
    }
}
