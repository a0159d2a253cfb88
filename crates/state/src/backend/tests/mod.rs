//! Tests of backends against servers: a test server for http, and the real services or emulators
//! for the others.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

mod azurerm;
mod gcs;
mod http;
mod parts;
mod pg;
mod redirects;
mod s3;
mod server;
mod services;

use super::*;
use cty::Value;

/// Settings with text arguments.
fn settings(kind: &str, arguments: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(kind.parse().unwrap());
    for (name, value) in arguments {
        settings.set(name, &Value::string(value)).unwrap();
    }
    settings
}

fn info(id: &str) -> LockInfo {
    LockInfo {
        id: id.into(),
        operation: "OperationTypeApply".into(),
        who: "me@here".into(),
        version: "1".into(),
        created: "2026-01-02T03:04:05.678Z".into(),
        ..LockInfo::default()
    }
}
