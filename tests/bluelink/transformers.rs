//! Transformers: launched, supervised and shown as plugins are; no configuration can use one, and so
//! none is ever in anybody's way.

use crate::bench::{Bench, HEAD};
use crate::launches::{attempts, logs, phases};
use crate::support::Run;
use flightdeck::engine::Engine;
use flightdeck::engine::settings::{Access, Settings};
use flightdeck::engine::view::PluginView;
use flightdeck::engine::words::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::time::timeout;

const PLACE: &str = "transformers/bluelink/run/1.0.0";
const ID: &str = "bluelink/run";
const BOX: &str = "resource \"fake_box\" \"a\" {\n  name = \"a\"\n}\n";
const UNUSABLE: &str = "a configuration cannot use transformers";

/// How long anything may take to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// With a provider that the configuration uses, and a transformer beside it.
fn bench() -> Bench {
    let bench = Bench::new(BOX);
    add(&bench, PLACE, "bluelink/run");
    bench
}

fn add(bench: &Bench, place: &str, id: &str) {
    bench.install(place);
    std::fs::write(bench.root().join(place).join("id"), id).unwrap();
}

fn file(bench: &Bench, name: &str) -> PathBuf {
    bench.root().join(PLACE).join(name)
}

fn tell(bench: &Bench, name: &str, text: &str) {
    std::fs::write(file(bench, name), text).unwrap();
}

/// The transformer, as `plugins --json` tells it.
fn transformer(bench: &Bench) -> (Run, Value) {
    let run = bench.run(&["plugins", "--json"]);
    let result = run.result();
    let all = result["plugins"].as_array().unwrap();
    let it = all.iter().find(|p| p["id"] == ID).cloned();
    (run, it.unwrap_or_default())
}

fn is_gone(pid: u64) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_transformer_is_launched_shown_with_its_name_and_asked_to_end_as_every_plugin_is() {
    let bench = bench();
    let (run, it) = transformer(&bench);
    run.expect(0);
    assert_eq!(it["found"]["kind"], "transformer");
    assert_eq!(it["found"]["transform"], "fake-2024-11-20");
    assert_eq!(it["found"]["dialect"], "bluelink1.0");
    assert_eq!(it["note"], UNUSABLE);
    assert_eq!(it["schema"], Value::Null);
    let [attempt] = &attempts(&it)[..] else {
        panic!("{it:#}")
    };
    assert_eq!(
        phases(attempt),
        ["exec", "registered", "transform_name_answered"]
    );
    assert_eq!(attempt["verdict"]["kind"], "ready");
    let pid = attempt["pid"].as_u64().unwrap();
    assert!(is_gone(pid), "it is still there");
    let log = bench.run(&["logs", ID]).expect(0).stdout;
    assert!(log.contains("ended when it was asked to"), "{log}");
    // It was asked again until it knew its host, and for nothing else.
    let calls = std::fs::read_to_string(file(&bench, "calls")).unwrap();
    assert_eq!(calls.trim(), "{\"method\":\"GetTransformName\"}");
    let shown = bench.run(&["plugins"]).expect(0).stdout;
    for line in [
        "bluelink/run  ready  1.0.0  bluelink1.0, launches 1",
        "    transformer, \"fake-2024-11-20\" in blueprints; a configuration cannot use transformers",
        "    transformer bluelink/run 1.0.0: launched; a configuration cannot use transformers",
    ] {
        assert!(shown.contains(line), "{line}\nis not in\n{shown}");
    }
    assert!(!shown.contains("of no use"), "{shown}");
}

#[test]
fn one_that_gives_up_is_shown_with_its_reason_and_is_in_nobodys_way() {
    let bench = bench();
    tell(&bench, "faults", &"exits\n".repeat(99));
    let (run, it) = transformer(&bench);
    run.expect(0);
    assert_eq!(it["state"]["state"], "gave_up");
    assert_eq!(attempts(&it).len(), 5, "five launches in all");
    let why = it["state"]["why"].as_str().unwrap();
    let words = "the process ended before its registration: exit code 3; its last words: no licence was found";
    assert!(why.contains(words), "{why}");
    let kept = bench.run(&["doctor", "--json"]);
    let told = "bluelink/run did not come up when it was launched last (5 attempts)";
    assert!(kept.stdout.contains(told), "{}", kept.stdout);
    let shown = bench.run(&["plugins", "run"]).expect(0).stdout;
    assert!(shown.contains("bluelink/run  gave up"), "{shown}");
    assert!(shown.contains("launch 5 of 5"), "{shown}");
    for command in [&["validate"][..], &["stage"], &["deploy", "--auto-approve"]] {
        bench.run(command).expect(0);
    }
    assert_eq!(bench.world().len(), 1);
    let left = std::fs::read_to_string(file(&bench, "faults")).unwrap();
    assert_eq!(
        left.lines().count(),
        99 - 10,
        "what needs no transformer launches none"
    );
}

#[test]
fn the_wrong_kind_and_a_missing_name_are_refused_in_words_and_other_tries_are_made_where_they_help()
{
    let table = [
        (
            "faults",
            "provider\n",
            ("incompatible", "plugin_type", 1),
            "installed as a transformer, it registers as a provider; put it where it belongs, or install a transformer there",
        ),
        (
            "faults",
            "wrong-id\n",
            ("incompatible", "registered_as_another", 1),
            "installed as bluelink/run, it calls itself somebody/else",
        ),
        (
            "transform",
            "",
            ("gave_up", "transform_name", 5),
            "asked for its transform name, it refused: an answer with nothing in it",
        ),
        (
            "troubles",
            "GetTransformName unexpected 9\n",
            ("gave_up", "transform_name", 5),
            "asked for its transform name, it refused: the cloud is on fire",
        ),
    ];
    for (name, text, (state, kind, launches), words) in table {
        let bench = bench();
        tell(&bench, name, text);
        let (run, it) = transformer(&bench);
        run.expect(0);
        assert_eq!(it["state"]["state"], state, "{text}: {it:#}");
        assert_eq!(attempts(&it).len(), launches, "{text}");
        let verdict = &attempts(&it)[0]["verdict"];
        assert_eq!(verdict["kind"], kind);
        let said = verdict["text"].as_str().unwrap();
        assert!(said.starts_with(words), "{text}: {said}");
    }
}

#[test]
fn a_configuration_that_names_one_is_told_that_it_is_a_transformer() {
    let head = HEAD.replace(
        "fake = {",
        "run = { source = \"bluelink/run\" }\n    fake = {",
    );
    let bench = Bench::empty(&format!("{head}{BOX}resource \"run_thing\" \"t\" {{\n}}\n"));
    bench.install(crate::bench::USUAL);
    add(&bench, PLACE, "bluelink/run");
    let path = file(&bench, "plugin").display().to_string();
    let words = format!(
        "the provider bluelink/run (any version) was not found: what has this id is a transformer, {path}, and {UNUSABLE}; take it out of required_providers"
    );
    let staged = bench.run(&["stage"]).expect(3);
    let told = staged.stderr.replace('\n', " ");
    assert!(told.contains(&words), "{told}");
    assert!(!told.contains("flightdeck init"), "{told}");
    let all = bench.run(&["plugins", "--json"]).expect(3).result();
    let all = all["plugins"].as_array().unwrap().clone();
    let of = |id: &str| all.iter().find(|p| p["id"] == id).cloned().unwrap();
    assert_eq!(of(ID)["found"]["kind"], "transformer");
    let provider = of("registry.opentofu.org/bluelink/run");
    assert_eq!(provider["state"]["state"], "rejected");
    // There is no registry to be had: what it would say comes first.
    let mut bench = bench;
    bench.set("TF_CLI_CONFIG_FILE", &mirror(&bench));
    let init = bench.run(&["init"]).expect(1);
    let told = init.stderr.replace('\n', " ");
    let words =
        format!("What has this id on the plugin path is a transformer, {path}: {UNUSABLE}.");
    assert!(told.contains(&words), "{told}");
    bench.unset("TF_CLI_CONFIG_FILE");
    // Without a word of which provider it is, the name may be that of any other.
    bench.workspace.write(
        "main.tf",
        &format!("{HEAD}resource \"run_thing\" \"t\" {{\n}}\n"),
    );
    let staged = bench.run(&["stage"]).expect(3);
    let told = staged.stderr.replace('\n', " ");
    let words = format!("bluelink/run is a transformer, {path}; {UNUSABLE}");
    assert!(told.contains(&words), "{told}");
    assert!(told.contains("flightdeck init"), "{told}");
}

#[test]
fn a_provider_and_a_transformer_of_one_id_are_two_plugins() {
    let bench = bench();
    add(&bench, "transformers/bluelink/fake/2.0.0", "bluelink/fake");
    let result = bench.run(&["plugins", "--json"]).expect(0).result();
    let all = result["plugins"].as_array().unwrap().iter();
    let all = all.map(|p| (p["id"].as_str(), p["found"]["kind"].as_str()));
    assert_eq!(
        all.collect::<Vec<_>>(),
        [
            (Some("bluelink/fake"), Some("provider")),
            (Some(ID), Some("transformer")),
            (Some("transformer/bluelink/fake"), Some("transformer")),
        ]
    );
}

/// `plugins --json` with one transformer that is up and one that never registers, and their processes.
fn while_one_is_late(bench: &Bench) -> (std::process::Child, Vec<u64>) {
    add(bench, "transformers/bluelink/late/1.0.0", "bluelink/late");
    let faults = "transformers/bluelink/late/1.0.0/faults";
    std::fs::write(bench.root().join(faults), "late\n").unwrap();
    let mut command = bench.command(&["plugins", "--json"]);
    command.stdout(std::process::Stdio::piped());
    let mut host = command.spawn().unwrap();
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let (mut pids, mut up) = (BTreeMap::new(), false);
    // Ends with the host, which its launches' deadline ends.
    for line in lines.map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).unwrap();
        if let Some(pid) = event["attempt"]["pid"].as_u64() {
            pids.insert(event["plugin"].to_string(), pid);
        }
        up |= event["plugin"] == ID && event["state"]["state"] == "ready";
        if up && pids.len() == 3 {
            break;
        }
    }
    (host, pids.into_values().collect())
}

#[test]
fn none_outlives_a_host_that_is_killed() {
    let bench = bench();
    let (mut host, pids) = while_one_is_late(&bench);
    host.kill().unwrap();
    host.wait().unwrap();
    let until = Instant::now() + PATIENCE;
    // The system ends them; nobody is told when.
    while !pids.iter().all(|pid| is_gone(*pid)) && Instant::now() < until {
        std::thread::yield_now();
    }
    assert!(pids.iter().all(|pid| is_gone(*pid)), "{pids:?}");
}

#[test]
fn whoever_waits_for_one_may_give_up() {
    let bench = bench();
    let (mut host, pids) = while_one_is_late(&bench);
    let pid = rustix::process::Pid::from_child(&host);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(host.wait().unwrap().code(), Some(130));
    assert!(pids.iter().all(|pid| is_gone(*pid)), "{pids:?}");
}

/// A CLI configuration that knows no place but an empty folder.
fn mirror(bench: &Bench) -> String {
    let folder = bench.root().join("mirror");
    std::fs::create_dir(&folder).unwrap();
    let file = bench.root().join("mirror.rc");
    let folder = folder.display();
    let text = format!(
        "provider_installation {{\n  filesystem_mirror {{\n    path = \"{folder}\"\n  }}\n}}\n"
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

async fn engine(bench: &Bench) -> Engine {
    let mut settings = Settings::new(bench.workspace.path());
    settings.access = Access::ReadWrite;
    settings.plugin_path = Some(bench.root());
    settings.launch.backoff = vec![Duration::from_millis(5)];
    Engine::start(settings).await.expect("an engine")
}

/// The transformer, as soon as it is so.
async fn seen(engine: &Engine, what: &str, is_it: impl Fn(&PluginView) -> bool) -> PluginView {
    let (view, mut events) = engine.subscribe();
    let mut seen = view.plugins.get(&PluginId(ID.to_owned())).cloned();
    let waited = timeout(PATIENCE, async {
        // Ends with the patience.
        while !seen.as_ref().is_some_and(&is_it) {
            events.recv().await.expect("the engine goes on");
            let view = engine.subscribe().0;
            seen = view.plugins.get(&PluginId(ID.to_owned())).cloned();
        }
    });
    waited.await.unwrap_or_else(|_| panic!("{what}"));
    seen.unwrap()
}

fn is_ready(plugin: &PluginView) -> bool {
    matches!(plugin.state, PluginState::Ready { .. })
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_dies_is_an_incident_and_launched_again_while_others_work() {
    let bench = bench();
    let engine = engine(&bench).await;
    engine.launch_transformers().await.unwrap();
    let first = seen(&engine, "it comes up", is_ready).await;
    kill(first.pid.unwrap());
    let again = seen(&engine, "it comes up again", |p| {
        is_ready(p) && p.pid != first.pid
    })
    .await;
    assert_eq!((again.restarts, again.crashes.len()), (1, 1));
    assert!(
        again.crashes[0].text.contains("killed by SIGKILL (9)"),
        "{}",
        again.crashes[0].text
    );
    // One that runs is not launched a second time.
    engine.launch_transformers().await.unwrap();
    engine.stage(StageRequest::default()).await.expect("staged");
    let still = seen(&engine, "it runs", is_ready).await;
    assert_eq!(still.attempts.len(), 2);
    engine.shutdown().await;
    assert!(is_gone(still.pid.unwrap().into()), "it is left behind");
    assert!(logs(&bench).contains("ended when it was asked to"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_stops_starts_and_restarts_it_and_a_stage_does_not_wait_for_it() {
    let bench = bench();
    // It never registers: whoever waited for it would wait for a minute.
    tell(&bench, "faults", "late\n");
    let engine = engine(&bench).await;
    let id = PluginId(ID.to_owned());
    engine.launch_transformers().await.unwrap();
    let coming = |p: &PluginView| matches!(p.state, PluginState::Registering { .. });
    let first = seen(&engine, "it is on its way up", coming).await;
    let staged = engine.stage(StageRequest::default()).await;
    staged.expect("staged");
    let still = seen(&engine, "it is there", |_| true).await;
    assert!(coming(&still), "{:?}", still.state);
    engine.plugin(&id, PluginCommand::Stop).await.unwrap();
    assert!(is_gone(first.pid.unwrap().into()));
    engine.plugin(&id, PluginCommand::Start).await.unwrap();
    let up = seen(&engine, "it is started", is_ready).await;
    engine.plugin(&id, PluginCommand::Restart).await.unwrap();
    let again = seen(&engine, "it is restarted", is_ready).await;
    assert_ne!(up.pid, again.pid);
    engine.plugin(&id, PluginCommand::Disable).await.unwrap();
    engine.launch_transformers().await.unwrap();
    let off = seen(&engine, "it is disabled", |_| true).await;
    assert_eq!(off.state, PluginState::Disabled);
    let schema = engine.schema(&id).await.unwrap_err().to_string();
    assert!(schema.contains(UNUSABLE), "{schema}");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_deregisters_is_launched_again_and_a_newer_version_takes_its_place() {
    let bench = bench();
    tell(&bench, "faults", "deregisters\n");
    let engine = engine(&bench).await;
    engine.launch_transformers().await.unwrap();
    let again = seen(&engine, "it comes up again", |p| {
        is_ready(p) && p.attempts.len() == 2
    })
    .await;
    assert_eq!(again.crashes.len(), 1, "{:#?}", again.crashes);
    add(&bench, "transformers/bluelink/run/1.1.0", "bluelink/run");
    engine.launch_transformers().await.unwrap();
    let newer = seen(&engine, "the newer one comes up", |p| {
        is_ready(p) && p.pid != again.pid
    })
    .await;
    let found = newer.found.unwrap();
    assert_eq!(found.version.as_deref(), Some("1.1.0"));
    assert!(
        found.why.starts_with("newest of 2 versions"),
        "{}",
        found.why
    );
    assert!(is_gone(again.pid.unwrap().into()), "the older one is left");
    engine.shutdown().await;
    assert!(
        logs(&bench).contains("it has deregistered: it is not called any more"),
        "its log says so"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_called_for_one_and_the_rest_it_is_refused_in_words() {
    let bench = bench();
    tell(&bench, "faults", "asks\n");
    let engine = engine(&bench).await;
    engine.stage(StageRequest::default()).await.expect("staged");
    engine.launch_transformers().await.unwrap();
    let said = |p: &PluginView| {
        let line = p.last_line.as_deref();
        line.is_some_and(|l| l.starts_with("looked up: "))
    };
    let it = seen(&engine, "it is answered", said).await;
    let line = it.last_line.unwrap();
    let words =
        "no call of the transformer bluelink/run that deploys or destroys something is under way";
    assert!(line.contains(words), "{line}");
    engine.shutdown().await;
    let log = logs(&bench);
    assert!(log.contains("a function says Ok(String(\"aa\"))"), "{log}");
}
