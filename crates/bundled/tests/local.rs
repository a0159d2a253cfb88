//! Tests of the provider `local`, through a real process.
#![allow(clippy::unwrap_used)]

mod plugin;

use std::os::unix::fs::PermissionsExt as _;

use plugin::Plugin;
use plugin::common::{said, text};
use serde_json::json;

#[tokio::test]
async fn local_file_is_created_read_updated_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let path = folder.path().join("deep/er/file.txt");
    let json = json!({"filename": path, "content": "hello", "file_permission": "0600"});
    let config = host.config("local_file", json.clone());
    let null = host.null("local_file");
    let plan = host.plan("local_file", &null, &config, b"").await;
    assert_eq!(
        text(&plan.planned, "id"),
        "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d",
        "known beforehand: SHA-1 of the content"
    );
    let state = host.made("local_file", json).await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(host.read("local_file", &state).await.0, state);

    std::fs::write(&path, "changed").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let (drifted, _) = host.read("local_file", &state).await;
    assert_eq!(
        (text(&drifted, "content"), text(&drifted, "file_permission")),
        ("changed".into(), "0640".into())
    );
    assert_ne!(text(&drifted, "id"), text(&state, "id"));
    let plan = host.plan("local_file", &drifted, &config, b"").await;
    assert_eq!(
        (plan.planned.clone(), plan.replace),
        (state.clone(), vec![]),
        "mended in place"
    );
    assert_eq!(
        host.apply("local_file", &drifted, &config).await.state,
        state
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");

    let moved = host.config(
        "local_file",
        json!({"filename": folder.path().join("other"), "content": "hello"}),
    );
    assert_eq!(
        host.plan("local_file", &state, &moved, b"").await.replace,
        [".filename"]
    );

    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    let (_, diagnostics) = host.read("local_file", &state).await;
    assert!(diagnostics[0].summary.contains("not UTF-8"));
    assert_eq!(host.delete("local_file", &state).await.diagnostics, []);
    assert!(!path.exists());
    assert!(host.read("local_file", &state).await.0.is_null());
    assert_eq!(host.delete("local_file", &state).await.diagnostics, []);
}

#[tokio::test]
async fn non_empty_directory_is_deleted_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let path = folder.path().join("a/b");
    let state = host.made("local_directory", json!({"path": path})).await;
    assert!(path.is_dir());
    assert_eq!(host.read("local_directory", &state).await.0, state);
    std::fs::write(path.join("x"), "").unwrap();
    let refused = host.delete("local_directory", &state).await;
    assert!(said(&refused.diagnostics)[0].0.ends_with("is not empty"));
    let config = host.config("local_directory", json!({"path": path, "force": true}));
    let state = host.apply("local_directory", &state, &config).await.state;
    assert_eq!(host.delete("local_directory", &state).await.diagnostics, []);
    assert!(!path.exists());
}

#[tokio::test]
async fn local_filesystem_errors_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::start("local", folder.path()).await;
    let host = &mut plugin.host;
    let failed = host
        .create(
            "local_file",
            json!({"filename": folder.path(), "content": "x"}),
        )
        .await;
    assert!(
        failed.diagnostics[0].detail.contains("directory"),
        "{failed:?}"
    );
    std::fs::write(folder.path().join("file"), "").unwrap();
    let failed = host
        .create(
            "local_file",
            json!({"filename": folder.path().join("file/in/it")}),
        )
        .await;
    assert!(
        said(&failed.diagnostics)[0]
            .0
            .starts_with("cannot create the directory"),
        "{failed:?}"
    );
    let config = host.config(
        "local_file",
        json!({"filename": "x", "file_permission": "rw"}),
    );
    assert_eq!(
        said(&host.validate("local_file", &config).await)[0].1,
        ".file_permission"
    );
}
