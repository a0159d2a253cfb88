//! Costs under load: the overhead of a call, and the time from a key press to the screen.
//!
//! The loads: 10,000 calls wait for ten slots; a plugin writes 100,000 lines per second; a group of
//! 300 members is updated in batches of 10, on Deploy and Groups; 10,000 objects are read again and
//! again, on State; and on each screen a deploy of 5,000 operations with 200 plugins, one of which
//! writes 100,000 lines per second. The console's own loop runs on a real bus; only its terminal
//! discards its output.
//!
//! ```text
//! cargo bench --bench crowd
//! ```
//!
//! Targets: less than 20 µs overhead per call; a key on the screen within one frame (33 ms), beside
//! the large deploy within 16 ms and 120 MB; memory that does not grow with the load.

#![allow(clippy::unwrap_used, reason = "a benchmark ends at its first surprise")]

mod console;
mod deploy;
#[path = "../fixture/rows.rs"]
mod rows;
#[path = "../fixture/runs.rs"]
mod runs;

use calls::{CallContext, Calls, Checked, Deadlines, Lane, Method};
use console::console;
use engine::{Engine, Settings};
use flightdeck::app::msg::Answer;
use model::bus::{Bus, Listener};
use model::*;
use plugin::{PluginSettings, Plugins, SpawnSpec, Start};
use provider::tfplugin::TfLifecycle;
use runs::stage_and_deploy;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const CALLS: u32 = 100_000;
const WAITING: usize = 10_000;
const LINES_A_SECOND: u32 = 100_000;
/// Interval of the frames of events, and the longest time that a key may take beside a large
/// deploy.
const FRAME: Duration = Duration::from_millis(33);
const KEY: Duration = Duration::from_millis(16);

fn main() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    runtime().block_on(one_call());
    runtime().block_on(ten_thousand_wait());
    runtime().block_on(a_flood_of_lines());
    runtime().block_on(a_rollout_of_300('4', "Deploy"));
    runtime().block_on(a_rollout_of_300('8', "Groups"));
    runtime().block_on(looks_at_10_000_objects());
    for (screen, title) in deploy::SCREENS {
        runtime().block_on(deploy::large(screen, title));
    }
}

/// Returns the resident memory of this process in megabytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
    let kb: u64 = line
        .and_then(|l| l.split_whitespace().next())
        .unwrap()
        .parse()
        .unwrap();
    kb / 1_024
}

fn lane(bus: &Bus) -> Arc<Lane> {
    let calls = Calls::new(Arc::new(bus.clone()), Deadlines::default(), Vec::new());
    calls.lane(&PluginId("bench/plugin".into()), 10)
}

/// Measures calls that return at once, so that only the overhead remains.
async fn one_call() {
    let bus = Bus::default();
    let lane = lane(&bus);
    let ctx = CallContext {
        resource: Some("aws_security_group_rule.allow[7]".into()),
        ..CallContext::default()
    };
    let began = Instant::now();
    for _ in 0..CALLS {
        let answer = async { Ok(Checked::default()) };
        lane.run(Method::ValidateResource, &ctx, answer)
            .await
            .unwrap();
    }
    let each = began.elapsed() / CALLS;
    println!("overhead of one call                     {each:?} (target 20 µs)");
}

/// Keeps 10,000 calls waiting, each of 20 ms: a task that got a response calls again.
async fn ten_thousand_wait() {
    let bus = Bus::default();
    let lane = lane(&bus);
    let (over, tasks) = (CancellationToken::new(), TaskTracker::new());
    for n in 0..WAITING {
        let (lane, over) = (lane.clone(), over.clone());
        tasks.spawn(async move {
            let ctx =
                CallContext::for_resource(format!("aws_security_group_rule.allow[{n}]"), &over);
            while !over.is_cancelled() {
                let answer = async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Ok(Checked::default())
                };
                // Cancelled at the end.
                drop(lane.run(Method::Apply, &ctx, answer).await);
            }
        });
    }
    // Measured only once the queue is full.
    while bus.with_view(|v| v.calls.len()) < WAITING {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let seen = console(bus.subscribe(), '2', Vec::new()).await;
    // Counted again, to show that the queue was still full at the end.
    let waiting = bus.with_view(|v| v.calls.len());
    seen.print(&format!("{waiting} calls wait for 10 slots"), FRAME);
    over.cancel();
    tasks.close();
    tasks.wait().await;
}

async fn a_flood_of_lines() {
    let bus = Bus::default();
    let flood = Flood::start(&bus);
    let seen = console(bus.subscribe(), '7', Vec::new()).await;
    let lines = flood.end().await;
    seen.print(&format!("a plugin writes {lines:.0} lines a second"), FRAME);
}

/// Process that writes blocks of lines, at least 40 per second. Single lines would be too slow,
/// because the shell starts two processes for each write.
struct Flood {
    _folder: TempDir,
    heard: Arc<Heard>,
    began: Instant,
    plugins: Plugins,
    tasks: TaskTracker,
}

impl Flood {
    fn start(bus: &Bus) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let line = "2026-11-23T10:00:00.000Z [DEBUG] provider: still creating, 10s elapsed\n";
        let block = line.repeat(LINES_A_SECOND as usize / 40);
        let file = folder.path().join("block");
        std::fs::write(&file, block).unwrap();
        let script = "while :; do cat \"$1\" >&2; sleep 0.0095; done";
        let args = ["-c", script, "plugin"].map(Into::into);
        let args = args.into_iter().chain([file.into()]).collect();
        let heard = Arc::new(Heard::default());
        bus.listen(heard.clone());
        let began = Instant::now();
        let plugins = Plugins::start(PluginSettings::default(), Arc::new(bus.clone()));
        let found = PluginFound {
            address: "registry.terraform.io/bench/plugin".into(),
            version: None,
            dialect: None,
            executable: None,
            source: "the benchmark".into(),
            why: "the benchmark wants it".into(),
            ..PluginFound::default()
        };
        let start = Start::Spawn(SpawnSpec {
            executable: "/bin/sh".into(),
            args,
            ..SpawnSpec::default()
        });
        let id = PluginId("bench/plugin".into());
        let plugin = plugins.add(id, found, start, Arc::new(TfLifecycle::default()));
        let tasks = TaskTracker::new();
        tasks.spawn(async move { plugin.ready().await.is_ok() });
        Self {
            _folder: folder,
            heard,
            began,
            plugins,
            tasks,
        }
    }

    /// Ends the process. Returns the number of lines that were read in a second.
    async fn end(self) -> f64 {
        let lines = self.heard.0.load(Ordering::Relaxed) as f64;
        let a_second = lines / self.began.elapsed().as_secs_f64();
        self.plugins.shutdown().await;
        self.tasks.close();
        self.tasks.wait().await;
        a_second
    }
}

/// Updates the members of a group. The pauses between its batches take as long as the measurement.
async fn a_rollout_of_300(screen: char, title: &str) {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
    let release = |name: &str| {
        let resource = "resource \"terraform_data\" \"member\" {\n  count = 300\n";
        write("main.tf", &format!("{resource}  input = \"{name}\"\n}}\n"));
    };
    let update = "  update {\n    batch = 10\n    pause_between = \"100ms\"\n  }\n";
    let group = format!("group \"members\" {{\n  instance = terraform_data.member\n{update}}}\n");
    write("members.flightdeck.hcl", &group);
    let engine = Engine::start(Settings::new(dir.path())).await.unwrap();
    release("first");
    stage_and_deploy(&engine).await;
    release("second");
    let seen = {
        let rollout = stage_and_deploy(&engine);
        let console = console(engine.subscribe(), screen, Vec::new());
        tokio::join!(rollout, console).1
    };
    seen.print(
        &format!("300 members roll in batches of 10, {title}"),
        FRAME,
    );
    engine.shutdown().await;
}

/// Reads all objects outside of groups without a pause, many times as often as a schedule does.
async fn looks_at_10_000_objects() {
    let dir = tempfile::tempdir().unwrap();
    let resource = "resource \"terraform_data\" \"object\" {\n  count = 10000\n}\n";
    std::fs::write(dir.path().join("main.tf"), resource).unwrap();
    let engine = Engine::start(Settings::new(dir.path())).await.unwrap();
    stage_and_deploy(&engine).await;
    let state = Answer::State(engine.state_rows().await.unwrap());
    let console = console(engine.subscribe(), '6', vec![state]);
    // On other threads than the console, as in the real program.
    let (over, tasks) = (CancellationToken::new(), TaskTracker::new());
    let (looking, until) = (engine.clone(), over.clone());
    tasks.spawn(async move {
        while !until.is_cancelled() {
            looking.look_at_all().await.unwrap();
        }
    });
    let seen = console.await;
    over.cancel();
    tasks.close();
    tasks.wait().await;
    seen.print("10000 objects are read without a pause", FRAME);
    engine.shutdown().await;
}

/// Number of lines read: forwarded ones, and dropped ones that were counted.
#[derive(Default)]
struct Heard(AtomicU64);

impl Listener for Heard {
    fn on_event(&self, event: &Event) {
        // Dropped lines were read too; an event reports their number.
        let lines = match &event.kind {
            EventKind::Plugin(PluginEvent::Log { .. }) => 1,
            EventKind::Plugin(PluginEvent::LinesLeftOut { lines, .. }) => *lines,
            _ => 0,
        };
        self.0.fetch_add(lines, Ordering::Relaxed);
    }
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
