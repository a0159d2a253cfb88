//! Tests of the engine as a whole, with the built-in provider.

#[path = "../../../crates/state/src/backend/tests/server.rs"]
mod server;

mod earlier_configurations;
mod observations;
mod opened_stages;

use self::server::{Server, Trouble};
use super::Engine;
use model::bus::Update;
use model::settings::{Access, Settings};
use model::{
    DeployRequest, Event, EventKind, Revealed, SensitivePlace, StageRequest, VariableFlag,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

async fn engine(dir: &Path) -> Engine {
    let settings = Settings {
        access: Access::ReadWrite,
        ..Settings::new(dir)
    };
    Engine::start(settings).await.expect("an engine")
}

const SOON: Duration = Duration::from_secs(30);

/// Runs a command until this happens in the middle of it.
async fn run_until<T>(command: impl Future<Output = T>, happened: impl Future<Output = ()>) {
    let happened = tokio::time::timeout(SOON, happened);
    tokio::select! { biased;
        happened = happened => happened.expect("in time"),
        _ = command => panic!("the command ended before"),
    }
}

/// Waits for the start of a plan.
fn stage_started(engine: &Engine) -> impl Future<Output = ()> + use<> {
    let (_, mut events) = engine.subscribe();
    async move {
        let is_started = |event: &Arc<Event>| matches!(event.kind, EventKind::StageStarted { .. });
        while let Some(Update::Events(batch)) = events.recv().await {
            if batch.iter().any(is_started) {
                break;
            }
        }
    }
}

/// Workspace with its state on a server.
fn workspace_on(server: &Server) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    let url = server.url("/s");
    let main = format!(
        "terraform {{\n  backend \"http\" {{\n    address = {url:?}\n    lock_address = {url:?}\n    unlock_address = {url:?}\n  }}\n}}\nresource \"terraform_data\" \"a\" {{\n  count = 200\n}}\n"
    );
    std::fs::write(dir.path().join("main.tf"), main).expect("written");
    dir
}

/// As after a second Ctrl-C, when a command's time is up.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_command_releases_its_locks() {
    let dir = tempfile::tempdir().expect("a directory");
    let main = "resource \"terraform_data\" \"a\" {\n  count = 200\n}\n";
    std::fs::write(dir.path().join("main.tf"), main).expect("written");
    let first = engine(dir.path()).await;
    let mut stage = Box::pin(first.stage(StageRequest::default()));
    run_until(&mut stage, stage_started(&first)).await;
    let lock_info = dir.path().join(".terraform.tfstate.lock.info");
    assert!(lock_info.exists(), "the running stage has the state lock");
    drop(stage);
    // The next command waits until the locks are released.
    first
        .stage(StageRequest::default())
        .await
        .expect("a second stage");
    assert!(!lock_info.exists(), "the state lock is released");
    let second = engine(dir.path()).await;
    let staged = second.stage(StageRequest::default()).await;
    staged.expect("the workspace lock is released");
    second.shutdown().await;
    first.shutdown().await;
}

/// Change by another engine, as the watch or the next command of this one notices it.
async fn workspace_changed(events: &mut model::bus::Subscription) -> Option<String> {
    let found = async {
        while let Some(Update::Events(batch)) = events.recv().await {
            for event in batch {
                if let EventKind::WorkspaceChanged { outdated, .. } = &event.kind {
                    return outdated.clone();
                }
            }
        }
        panic!("the engine has ended");
    };
    tokio::time::timeout(SOON, found).await.expect("in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_another_engine_is_noticed_by_watch_and_by_next_command() {
    let dir = tempfile::tempdir().expect("a directory");
    let main = "resource \"terraform_data\" \"a\" {}\n";
    std::fs::write(dir.path().join("main.tf"), main).expect("written");
    let (first, second) = (engine(dir.path()).await, engine(dir.path()).await);
    let staged = first.stage(StageRequest::default()).await.expect("a stage");
    let (_, mut events) = first.subscribe();
    let deploy = async |engine: &Engine| {
        let stage = engine.stage(StageRequest::default()).await?.stage;
        let request = DeployRequest {
            stage,
            only: None,
            parallelism: 1,
            variables: Vec::new(),
        };
        engine.deploy(request).await
    };
    deploy(&second)
        .await
        .expect("a deploy beside an idle engine");
    first.watch_workspace();
    let outdated = workspace_changed(&mut events)
        .await
        .expect("an outdated stage");
    assert!(outdated.starts_with("the state has changed"), "{outdated}");
    let (view, _) = first.subscribe();
    let shown = view.stage.map(|s| s.stage);
    assert_eq!(
        (shown, view.stage_outdated),
        (Some(staged.stage), Some(outdated))
    );
    // The other one has not looked since: its next command does.
    deploy(&first).await.expect("the first engine has its turn");
    let (_, mut events) = second.subscribe();
    second
        .stage(StageRequest::default())
        .await
        .expect("a stage");
    assert_eq!(
        workspace_changed(&mut events).await,
        None,
        "its stage was deployed"
    );
    first.shutdown().await;
    second.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_files_are_noticed_until_they_are_as_before() {
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).expect("written");
    };
    let main =
        "variable \"size\" {}\nvariable \"region\" {}\nresource \"terraform_data\" \"a\" {}\n";
    write("main.tf", main);
    write("terraform.tfvars", "size = 1\n");
    let named = dir.path().join("eu.tfvars");
    std::fs::write(&named, "region = \"eu\"\n").expect("written");
    let engine = engine(dir.path()).await;
    engine.watch_workspace();
    let flags = vec![VariableFlag::File(named.clone())];
    let stage = engine
        .stage(StageRequest::with_variables(flags))
        .await
        .expect("a stage");
    let (_, mut events) = engine.subscribe();
    let mut changed = async || {
        let found = async {
            while let Some(Update::Events(batch)) = events.recv().await {
                for event in batch {
                    if let EventKind::FilesChanged { stage, files } = &event.kind {
                        return (*stage, files.clone());
                    }
                }
            }
            panic!("the engine has ended");
        };
        tokio::time::timeout(SOON, found).await.expect("in time")
    };
    let since = |files: &[&str]| {
        let files = files.iter().map(ToString::to_string).collect::<Vec<_>>();
        (Some(stage.stage), files)
    };
    write("main.tf", "resource \"terraform_data\" \"b\" {}\n");
    assert_eq!(changed().await, since(&["main.tf"]));
    write("other.tf", "locals {\n");
    assert_eq!(changed().await, since(&["main.tf", "other.tf (new)"]));
    let (view, _) = engine.subscribe();
    let text = "main.tf, other.tf (new) changed since it was planned";
    assert_eq!(view.outdated().as_deref(), Some(text));
    std::fs::remove_file(dir.path().join("other.tf")).expect("removed");
    assert_eq!(changed().await, since(&["main.tf"]));
    write("main.tf", main);
    assert_eq!(changed().await, since(&[]));
    assert_eq!(engine.subscribe().0.outdated(), None);
    // Files with values of variables.
    write("terraform.tfvars", "size = 22\n");
    assert_eq!(changed().await, since(&["terraform.tfvars"]));
    write("b.auto.tfvars", "size = 3\n");
    let both = ["b.auto.tfvars (new)", "terraform.tfvars"];
    assert_eq!(changed().await, since(&both));
    // An error of the configuration may end the load before it reads them: they are not removed.
    write("main.tf", "resource {\n");
    let (_, files) = changed().await;
    assert_eq!(files.first().map(String::as_str), Some("main.tf"));
    assert!(!files.iter().any(|f| f.ends_with("(removed)")), "{files:?}");
    write("main.tf", main);
    assert_eq!(changed().await, since(&both));
    std::fs::remove_file(dir.path().join("b.auto.tfvars")).expect("removed");
    assert_eq!(changed().await, since(&["terraform.tfvars"]));
    write("terraform.tfvars", "size = 1\n");
    assert_eq!(changed().await, since(&[]));
    std::fs::remove_file(&named).expect("removed");
    let removed = format!("{} (removed)", named.display());
    assert_eq!(changed().await, since(&[&removed]));
    engine.shutdown().await;
}

/// Checks that the lock of a dropped command is released on the server, and that another workspace
/// can take it.
async fn check_released(engine: Engine, server: &Server, when: &str) {
    let shutdown = tokio::time::timeout(SOON, engine.shutdown()).await;
    shutdown.unwrap_or_else(|_| panic!("no end after a drop at {when}"));
    let requests = server.methods();
    let last = requests.last().map(String::as_str);
    assert_eq!(last, Some("UNLOCK"), "{when}: {requests:?}");
    assert_eq!(server.lock(), None, "{when}: {requests:?}");
    let other = workspace_on(server);
    let second = self::engine(other.path()).await;
    let staged = second.stage(StageRequest::default()).await;
    staged.unwrap_or_else(|error| panic!("locked after a drop at {when}: {error}"));
    second.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_stage_releases_its_lock_on_the_server() {
    // The server has taken the lock although its answer never arrives.
    let moments = [
        ("LOCK", Some(Trouble::DoAndHang)),
        ("GET", Some(Trouble::Hang)),
        ("the plan", None),
        ("UNLOCK", Some(Trouble::Hang)),
    ];
    for (when, trouble) in moments {
        let server = Server::start();
        let dir = workspace_on(&server);
        let engine = engine(dir.path()).await;
        server.trouble(when, trouble.as_slice());
        let (started, stage) = (
            stage_started(&engine),
            engine.stage(StageRequest::default()),
        );
        match trouble {
            Some(_) => run_until(stage, server.request(when)).await,
            None => run_until(stage, started).await,
        }
        check_released(engine, &server, when).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_deploy_releases_its_lock_on_the_server() {
    let server = Server::start();
    let dir = workspace_on(&server);
    let engine = engine(dir.path()).await;
    let stage = engine
        .stage(StageRequest::default())
        .await
        .expect("a stage");
    server.trouble("POST", &[Trouble::DoAndHang]);
    let request = DeployRequest {
        stage: stage.stage,
        only: None,
        parallelism: 4,
        variables: Vec::new(),
    };
    let written = async {
        server.request("POST").await;
        assert!(server.lock().is_some(), "the running deploy has the lock");
    };
    run_until(engine.deploy(request), written).await;
    check_released(engine, &server, "POST").await;
}

/// Sensitive value of the tests.
const SECRET: &str = "correct-horse-battery";

fn texts(revealed: &Revealed) -> Vec<(&str, &str)> {
    let texts = revealed.texts.iter();
    texts.map(|(n, t)| (n.as_str(), t.as_str())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn reveal_returns_one_value_and_no_event_contains_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let main = format!(
        r#"
variable "token" {{
  default   = "{SECRET}"
  sensitive = true
}}
resource "terraform_data" "a" {{
  input = var.token
}}
output "token" {{
  value     = var.token
  sensitive = true
}}
output "plain" {{
  value = ["open"]
}}
"#
    );
    std::fs::write(dir.path().join("main.tf"), main).expect("written");
    let engine = engine(dir.path()).await;
    let (_, mut events) = engine.subscribe();
    let stage = engine
        .stage(StageRequest::default())
        .await
        .expect("a stage");
    let quoted = format!("\"{SECRET}\"");
    let attributes = &stage.changes[0].attributes;
    let index = attributes
        .iter()
        .position(|a| a.path == "input")
        .expect("input");
    let change = |stage, index| SensitivePlace::Change {
        stage,
        address: "terraform_data.a".into(),
        index,
        path: "input".into(),
    };
    let shown = engine
        .reveal(&change(stage.stage, index))
        .await
        .expect("a value");
    assert_eq!(texts(&shown), [("after", quoted.as_str())]);
    let output = SensitivePlace::StageOutput {
        stage: stage.stage,
        name: "token".into(),
    };
    let shown = engine.reveal(&output).await.expect("a value");
    assert_eq!(texts(&shown), [("after", quoted.as_str())]);
    // Another stage, and another attribute at this place.
    for place in [
        change(stage.stage + 1, index),
        change(stage.stage, index + 1),
    ] {
        let error = engine
            .reveal(&place)
            .await
            .expect_err("no value")
            .to_string();
        assert!(
            error.contains("terraform_data.a: input is unknown, or no longer"),
            "{error}"
        );
    }
    let request = DeployRequest {
        stage: stage.stage,
        only: None,
        parallelism: 10,
        variables: Vec::new(),
    };
    engine.deploy(request).await.expect("a deploy");
    let rows = engine.output_rows().await.expect("outputs");
    let rows: Vec<_> = rows
        .iter()
        .map(|o| (o.name.as_str(), o.value.as_str()))
        .collect();
    assert_eq!(
        rows,
        [("plain", "[\"open\"]"), ("token", "(sensitive value)")]
    );
    for (place, name) in [
        (
            SensitivePlace::State {
                id: "terraform_data.a".into(),
                path: "input".into(),
            },
            "input",
        ),
        (
            SensitivePlace::StateOutput {
                name: "token".into(),
            },
            "value",
        ),
    ] {
        let shown = engine.reveal(&place).await.expect("a value");
        assert_eq!(texts(&shown), [(name, quoted.as_str())]);
    }
    let (view, _) = engine.subscribe();
    assert!(!format!("{view:?}").contains(SECRET));
    engine.shutdown().await;
    drop(engine);
    let mut all = 0;
    while let Ok(Some(update)) = tokio::time::timeout(Duration::from_secs(10), events.recv()).await
    {
        assert!(!format!("{update:?}").contains(SECRET), "{update:?}");
        all += 1;
        let ended = |e: &Arc<Event>| matches!(e.kind, EventKind::DeployFinished(_));
        if matches!(&update, Update::Events(batch) if batch.iter().any(ended)) {
            break;
        }
    }
    assert!(all > 0);
}
