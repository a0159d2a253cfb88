//! Tests of the connection: access, message sizes, shutdown.

use crate::common;
use crate::toy;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use proto::tfplugin6 as pb;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{options, serve, start};
use crate::common::{Host, said, text};

/// Waits for a future that must finish soon.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(240), what)
        .await
        .expect("within four minutes")
}

#[tokio::test]
async fn stop_cancels_running_calls_but_not_later_ones() {
    let mut served = serve().await;
    let mut other = Host::new(served.host.channel.clone()).await;
    let tasks = TaskTracker::new();
    let waiting =
        tasks.spawn(async move { other.create("toy_box", json!({"name": "waits"})).await });
    // Repeated until the stop reaches the call, which may not have started at the first attempt.
    soon(async {
        while !served.stopped.load(Ordering::SeqCst) {
            served.host.stop().await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(
        said(&soon(waiting).await.unwrap().diagnostics)[0].0,
        "stopped"
    );
    served.host.made("toy_box", json!({"name": "a"})).await;
}

#[tokio::test]
async fn disconnected_host_stops_its_call() {
    let mut served = serve().await;
    let mut other = Host::new(served.host.channel.clone()).await;
    let given_up = tokio::time::timeout(
        Duration::from_millis(300),
        other.create("toy_box", json!({"name": "waits"})),
    )
    .await;
    assert!(given_up.is_err());
    soon(async {
        while !served.stopped.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    served.host.made("toy_box", json!({"name": "a"})).await;
}

#[tokio::test]
async fn twenty_megabyte_message_is_accepted() {
    let mut served = serve().await;
    let value = served
        .host
        .read_data("toy_big", json!({"megabytes": 20}))
        .await
        .unwrap();
    assert_eq!(text(&value, "text").len(), 20 << 20);
}

#[tokio::test]
async fn health_is_reported_and_streams_stay_open_until_shutdown() {
    use proto::health::{
        HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
    };
    let served = serve().await;
    let mut health = HealthClient::new(served.host.channel.clone());
    let answer = health
        .check(HealthCheckRequest {
            service: "plugin".into(),
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.status(), ServingStatus::Serving);
    assert_eq!(
        health
            .check(HealthCheckRequest {
                service: "other".into()
            })
            .await
            .unwrap_err()
            .code(),
        tonic::Code::NotFound
    );
    let mut stdio =
        proto::plugin::grpc_stdio_client::GrpcStdioClient::new(served.host.channel.clone());
    let mut stream = stdio.stream_stdio(()).await.unwrap().into_inner();
    assert!(
        tokio::time::timeout(Duration::from_millis(200), stream.message())
            .await
            .is_err(),
        "open and silent"
    );
    served.host.shutdown().await;
    let end = soon(stream.message()).await;
    assert!(!matches!(end, Ok(Some(_))), "{end:?}");
    soon(served.tasks.wait()).await;
    assert_eq!(
        std::fs::read_dir(served.folder.path()).unwrap().count(),
        0,
        "the socket is gone"
    );
}

#[tokio::test]
async fn shutdown_does_not_wait_for_a_hanging_call() {
    let served = serve().await;
    let mut other = Host::new(served.host.channel.clone()).await;
    let tasks = TaskTracker::new();
    let waiting = tasks.spawn(async move {
        let config = other.config("toy_box", json!({"name": "waits"}));
        let null = other.null("toy_box");
        other.try_apply("toy_box", &null, &config).await
    });
    served.end.cancel();
    soon(served.tasks.wait()).await;
    soon(waiting).await.unwrap().ok();
}

#[tokio::test]
async fn only_the_announced_host_certificate_is_accepted() {
    let served = serve().await;
    let stranger = wire::Identity::generate().unwrap();
    let channel = common::connect(&served.line, Some(&stranger)).await;
    // With TLS 1.3 the client learns about the refusal only with its first call.
    if let Ok(channel) = channel {
        let mut client = proto::tfplugin6::provider_client::ProviderClient::new(channel);
        client
            .get_metadata(pb::get_metadata::Request {})
            .await
            .unwrap_err();
    }
    // The right client can still connect.
    let channel = common::connect(&served.line, Some(&served.identity))
        .await
        .unwrap();
    Host::new(channel).await;
}

#[tokio::test]
async fn connection_without_certificate_is_plain() {
    let folder = tempfile::tempdir().unwrap();
    let (line, end, tasks) = start(&folder, None, toy::Toy::default()).await;
    assert!(
        line.starts_with("1|6|unix|") && line.ends_with("|grpc|"),
        "{line}"
    );
    let mut host = Host::new(common::connect(&line, None).await.unwrap()).await;
    host.made("toy_box", json!({"name": "a"})).await;
    end.cancel();
    soon(tasks.wait()).await;
}

#[tokio::test]
async fn manual_start_is_explained() {
    let announce = |_: &str| -> std::io::Result<()> { panic!("nothing is announced") };
    let served = sdk::serve_with(
        Arc::new(toy::Toy::default()),
        sdk::Options::default(),
        CancellationToken::new(),
        announce,
    )
    .await;
    let text = served.unwrap_err().to_string();
    assert!(
        text.contains("this program is a plugin") && text.contains("flightdeck plugins"),
        "{text}"
    );
}

#[tokio::test]
async fn too_long_socket_path_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("x".repeat(100));
    let options = sdk::Options {
        socket_dir: Some(deep),
        ..options(&folder, None)
    };
    let served = sdk::serve_with(
        Arc::new(toy::Toy::default()),
        options,
        CancellationToken::new(),
        |_| Ok(()),
    )
    .await;
    assert!(matches!(served, Err(sdk::ServeError::PathTooLong { .. })));
}
