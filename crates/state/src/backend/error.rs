//! Argument errors common to all backends. Each backend has its own enum for the rest.

use reqwest::Url;
use std::num::ParseIntError;
use std::str::FromStr;

/// Error of parsing a URL.
pub(super) type BadUrl = <Url as FromStr>::Err;

/// Reasons why an argument, or the variable in its place, cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("the argument {name:?} is not set{}", neither(.variable.as_deref()))]
    Missing {
        name: String,
        /// Environment variable that may replace the argument.
        variable: Option<String>,
    },
    #[error("the argument {0:?}, set by an environment variable, must be true or false")]
    NoFlag(String),
    #[error("{name:?} must be a whole number, not {text:?}")]
    NoNumber {
        name: String,
        text: String,
        source: ParseIntError,
    },
    #[error("the arguments {0:?} and {1:?} cannot be used together")]
    Exclusive(&'static str, &'static str),
    #[error("the endpoint {text:?} is not a valid address: {source}")]
    Endpoint { text: String, source: BadUrl },
}

impl ArgumentError {
    /// Missing argument, with the first of the variables that may replace it.
    pub(super) fn missing(name: &str, variables: &[&str]) -> Self {
        Self::Missing {
            name: name.to_owned(),
            variable: variables.first().map(|first| (*first).to_owned()),
        }
    }
}

fn neither(variable: Option<&str>) -> String {
    variable.map_or_else(String::new, |name| {
        format!(", and neither is the environment variable {name}")
    })
}
