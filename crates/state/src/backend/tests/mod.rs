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

/// Checks the text beside the states of a backend whose workspaces are `dev` and `prod`: it is no
/// state and no workspace, and it goes with its workspace.
async fn check_text_beside(backend: &dyn Backend, lock_id: &str) {
    for name in ["", "dev"] {
        let manager = backend.state_manager(name).unwrap();
        let state = manager.read().await.unwrap();
        assert_eq!(manager.read_beside().await.unwrap(), Some(Vec::new()));
        manager.lock(info(lock_id)).await.unwrap();
        for text in [name, "second", ""] {
            manager.write_beside(text.to_owned()).await.unwrap();
            let found = manager.read_beside().await.unwrap();
            assert_eq!(found, Some(text.as_bytes().to_vec()), "{name}: {text}");
        }
        manager.write_beside("third".to_owned()).await.unwrap();
        manager.unlock().await.unwrap();
        assert_eq!(manager.read().await.unwrap(), state, "{name}");
    }
    assert_eq!(backend.workspaces().await.unwrap(), ["dev", "prod"]);
    backend.delete("dev", info(lock_id)).await.unwrap();
    assert_eq!(backend.workspaces().await.unwrap(), ["prod"]);
    let read = async |name| {
        let manager = backend.state_manager(name).unwrap();
        manager.read_beside().await.unwrap()
    };
    assert_eq!(read("dev").await, Some(Vec::new()));
    assert_eq!(read("").await, Some(b"third".to_vec()));
}
