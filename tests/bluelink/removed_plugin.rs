//! Test of a plugin that leaves the configuration while the engine runs.

use crate::workspace::TestWorkspace;
use engine::Engine;
use model::settings::{Access, Settings};
use model::*;

const BOTH: &str = "resource \"fake_box\" \"kept\" {\n  name = \"kept\"\n}\n
resource \"other_box\" \"removed\" {\n  name = \"removed\"\n}\n";

/// Plugins of the view with a process, each with its pid.
fn plugins(engine: &Engine) -> Vec<(String, Option<u32>)> {
    let (view, _) = engine.subscribe();
    let all = view.plugins.values().filter(|p| !p.is_builtin());
    all.map(|p| (p.id.0.to_string(), p.pid)).collect()
}

fn names(engine: &Engine) -> Vec<String> {
    plugins(engine).into_iter().map(|(name, _)| name).collect()
}

async fn stage_and_deploy(engine: &Engine) {
    let stage = engine.stage(StageRequest::default()).await.expect("staged");
    let request = DeployRequest {
        stage: stage.stage,
        only: None,
        parallelism: 2,
        variables: Vec::new(),
    };
    let deploy = engine.deploy(request).await.expect("deployed");
    assert_eq!(deploy.outcome, DeployOutcome::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_that_nothing_requires_any_more_is_stopped_and_not_listed() {
    let bench = TestWorkspace::with_two_plugins(BOTH);
    let mut settings = Settings::new(bench.workspace.path());
    settings.access = Access::ReadWrite;
    settings.plugin_path = Some(bench.plugin_path());
    let engine = Engine::start(settings).await.expect("an engine");
    stage_and_deploy(&engine).await;
    assert_eq!(names(&engine), ["bluelink/fake", "bluelink/other"]);

    // The object in the state still needs its plugin, which destroys it.
    bench.main("resource \"fake_box\" \"kept\" {\n  name = \"kept\"\n}\n");
    stage_and_deploy(&engine).await;
    let before = plugins(&engine);
    assert_eq!(names(&engine), ["bluelink/fake", "bluelink/other"]);

    engine.stage(StageRequest::default()).await.expect("staged");
    assert_eq!(
        plugins(&engine),
        before[..1],
        "the other one keeps its process"
    );
    let pid = before[1].1.expect("a process");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());

    // A plugin that is required again is launched again.
    let both = std::fs::read_to_string(bench.workspace.path().join("main.tf")).unwrap();
    let other =
        "    fake = { source = \"bluelink/fake\" }\n    other = { source = \"bluelink/other\" }";
    let both = both.replace("    fake = { source = \"bluelink/fake\" }", other);
    let declared = "resource \"other_box\" \"again\" {\n  name = \"again\"\n}\n";
    bench
        .workspace
        .write("main.tf", &format!("{both}{declared}"));
    stage_and_deploy(&engine).await;
    assert_eq!(names(&engine), ["bluelink/fake", "bluelink/other"]);
    assert_eq!(bench.other_plugin_objects().len(), 1);
    engine.shutdown().await;
}
