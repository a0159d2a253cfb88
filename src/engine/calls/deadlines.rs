//! How long each method may take.

use super::method::Method;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long each method may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlines(BTreeMap<Method, Option<Duration>>);

impl Default for Deadlines {
    fn default() -> Self {
        Self(
            Method::ALL
                .into_iter()
                .map(|m| (m, m.default_deadline()))
                .collect(),
        )
    }
}

impl Deadlines {
    /// The deadline of a method; `None` for as long as it takes.
    pub fn get(&self, method: Method) -> Option<Duration> {
        self.0.get(&method).copied().flatten()
    }

    /// Changes one deadline.
    pub fn set(&mut self, method: Method, deadline: Option<Duration>) {
        self.0.insert(method, deadline);
    }
}
