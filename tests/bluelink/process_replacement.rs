//! Test of a Bluelink plugin that is replaced while it deploys: the new process registers beside
//! the old one.

use crate::workspace::TestWorkspace;
use engine::Engine;
use model::bus::Update;
use model::settings::{Access, Settings};
use model::*;
use std::time::Duration;
use tokio::time::timeout;

const MAIN: &str = r#"
resource "fake_slow_thing" "s" {
  name  = "s"
  looks = 2
}

resource "fake_box" "b" {
  name = fake_slow_thing.s.name
}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn second_registration_is_accepted_while_the_first_process_deploys() {
    let bench = TestWorkspace::with_plugin(MAIN);
    let mut settings = Settings::new(bench.workspace.path());
    settings.access = Access::ReadWrite;
    settings.plugin_path = Some(bench.plugin_path());
    settings.service.renew.age = Some(Duration::from_millis(500));
    settings.service.renew.youngest = Duration::ZERO;
    let engine = Engine::start(settings).await.expect("an engine");
    let stage = engine.stage(StageRequest::default()).await.expect("staged");
    let (_, mut events) = engine.subscribe();
    let request = DeployRequest {
        stage: stage.stage,
        only: None,
        parallelism: 2,
        variables: Vec::new(),
    };
    let deploy = engine.deploy(request).await.expect("deployed");
    assert_eq!(deploy.outcome, DeployOutcome::Succeeded);
    assert_eq!(bench.plugin_objects().len(), 2);
    engine.shutdown().await;
    let (mut replaced, mut left, mut registered) = (Vec::new(), 0, 0);
    // No relevant event follows the end of the engine.
    while let Ok(Some(update)) = timeout(Duration::from_secs(2), events.recv()).await {
        let Update::Events(all) = update else {
            panic!("too many events to be seen")
        };
        for event in all {
            match &event.kind {
                EventKind::Plugin(PluginEvent::Replaced { leaving, .. }) => {
                    replaced.push(leaving.clone())
                }
                EventKind::Plugin(PluginEvent::Left { .. }) => left += 1,
                EventKind::Plugin(PluginEvent::Attempt { attempt, .. }) if attempt.beside => {
                    let names = attempt.phases.iter().map(|p| p.name.label());
                    let ready = attempt
                        .verdict
                        .as_ref()
                        .is_some_and(|v| v.kind.word() == "ready");
                    registered +=
                        usize::from(ready && names.into_iter().any(|n| n == "registered"));
                }
                EventKind::Plugin(PluginEvent::Crash { text, .. }) => panic!("{text}"),
                _ => {}
            }
        }
    }
    assert!(!replaced.is_empty(), "while it was deploying");
    assert_eq!(registered, replaced.len());
    assert_eq!(left, replaced.len());
    assert!(replaced.iter().any(|l| l.calls > 0), "{replaced:?}");
    assert!(
        replaced[0].why.starts_with("it is older than 500 ms"),
        "{replaced:?}"
    );
    for pid in replaced.iter().filter_map(|l| l.pid) {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}
