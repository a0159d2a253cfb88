//! How long each method may take, and how long a line may stand.

use super::method::Method;
use crate::engine::settings::ServiceSettings;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long each method may take, and how long a line may stand.
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
            line: ServiceSettings::default().wait,
        }
    }
}

impl Deadlines {
    /// The deadline of a method; `None` for as long as it takes.
    pub fn get(&self, method: Method) -> Option<Duration> {
        self.methods.get(&method).copied().flatten()
    }

    /// Changes one deadline.
    pub fn set(&mut self, method: Method, deadline: Option<Duration>) {
        self.methods.insert(method, deadline);
    }

    /// After so long without a slot that was given back, those who wait for one give up: a line
    /// that moves is long and no harm, one that stands is stuck. An hour unless set.
    pub fn line(&self) -> Duration {
        self.line
    }

    /// Changes how long a line may stand.
    pub fn set_line(&mut self, line: Duration) {
        self.line = line;
    }
}
