//! Environment variables `TF_VAR_name`: values of root variables. A program may take them, and
//! others, out of its environment, where other processes could read them, and leave them here.

use std::ffi::OsString;
use std::sync::OnceLock;

/// The beginning of their names.
pub const PREFIX: &str = "TF_VAR_";

static WITHDRAWN: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();

/// Whole names and values: all that was withdrawn, or else those of the environment.
#[must_use]
pub fn variables() -> Vec<(OsString, OsString)> {
    match WITHDRAWN.get() {
        Some(withdrawn) => withdrawn.clone(),
        None => std::env::vars_os()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
            .collect(),
    }
}

/// Keeps variables that are taken out of the environment; only the first call counts.
pub fn withdraw(variables: Vec<(OsString, OsString)>) {
    // A second call could only forget what the first one kept.
    WITHDRAWN.set(variables).ok();
}
