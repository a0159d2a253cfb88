//! Values of root variables from environment variables `TF_VAR_name`. The program may withdraw them
//! from the environment, where other processes could read them, and store them here.

use std::ffi::OsString;
use std::sync::OnceLock;

/// Prefix of the names.
pub const PREFIX: &str = "TF_VAR_";

static WITHDRAWN: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();

/// Names and values: the withdrawn variables, or those of the environment.
#[must_use]
pub fn variables() -> Vec<(OsString, OsString)> {
    match WITHDRAWN.get() {
        Some(withdrawn) => withdrawn.clone(),
        None => std::env::vars_os()
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
            .collect(),
    }
}

/// Stores variables that were removed from the environment. Only the first call counts.
pub fn withdraw(variables: Vec<(OsString, OsString)>) {
    // A second call would only replace the variables of the first, so its error is ignored.
    WITHDRAWN.set(variables).ok();
}
