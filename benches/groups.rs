//! Costs of a group: planning one of 1,000 members, and rolling 300 members in batches of 10, each
//! beside the same resource without a group; one run of the reconcile loop; and one look at 10,000
//! objects. Targets: the whole stage of 1,000 members in less than a second; looks every ten
//! minutes in less than 3 % of a core.
//!
//! ```text
//! cargo bench --bench groups
//! ```
//!
//! The members are `terraform_data`, which needs no plugin process, so all time is flightdeck's.

#![allow(clippy::unwrap_used, reason = "a benchmark ends at its first surprise")]

#[path = "fixture/runs.rs"]
mod runs;

use engine::{Engine, Settings};
use model::{ReconcileOptions, ReconcileOutcome};
use runs::stage_and_deploy;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs per figure; the best one counts, because other processes can only add to the time.
const ROUNDS: usize = 5;

/// Time between two looks at the same objects.
const TEN_MINUTES: Duration = Duration::from_secs(600);

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    println!("{:<34} {:>9} {:>9}", "", "stage s", "deploy s");
    for (members, batch) in [(1_000, 100), (300, 10)] {
        for group in [None, Some(batch)] {
            let runs = (0..ROUNDS).map(|_| runtime.block_on(update(members, group)));
            let (stage, deploy) = runs
                .reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)))
                .unwrap_or_default();
            let name = match group {
                None => format!("{members} instances"),
                Some(batch) => format!("{members} members, batches of {batch}"),
            };
            let (stage, deploy) = (stage.as_secs_f64(), deploy.as_secs_f64());
            println!("{name:<34} {stage:>9.3} {deploy:>9.3}");
        }
    }
    let run = runtime.block_on(reconcile(1_000)).as_secs_f64();
    println!("{:<34} {run:>9.3}", "reconcile run, 1000 members");
    let (took, cpu) = runtime.block_on(look(10_000));
    let share = 100.0 * cpu.as_secs_f64() / TEN_MINUTES.as_secs_f64();
    let took = took.as_secs_f64();
    println!(
        "{:<34} {took:>9.3}   processor {:.3} s, {share:.2} % of a core at one look per 10 min",
        "look at 10000 objects",
        cpu.as_secs_f64()
    );
}

/// Measures a look at objects outside of groups: its time, and the processor time of the process.
async fn look(objects: usize) -> (Duration, Duration) {
    let dir = tempfile::tempdir().unwrap();
    write_release(dir.path(), objects, "first");
    let engine = Engine::start(Settings::new(dir.path())).await.unwrap();
    stage_and_deploy(&engine).await;
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let (began, before) = (Instant::now(), processor_time());
        let runs = engine.look_at_all().await.unwrap();
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].outcome, ReconcileOutcome::InSync);
        best = best.min((began.elapsed(), processor_time() - before));
    }
    engine.shutdown().await;
    best
}

/// Processor time of this process so far, in the kernel's ticks of 10 ms.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let fields = fields.split(' ').skip(11).take(2);
    let ticks: u64 = fields.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// Measures a run of the reconcile loop over a group without drift.
async fn reconcile(members: usize) -> Duration {
    let dir = tempfile::tempdir().unwrap();
    write_group(dir.path(), 100);
    write_release(dir.path(), members, "first");
    let engine = Engine::start(Settings::new(dir.path())).await.unwrap();
    stage_and_deploy(&engine).await;
    let options = ReconcileOptions {
        once: true,
        ..ReconcileOptions::default()
    };
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        engine.reconcile(options.clone()).await.unwrap();
        best = best.min(began.elapsed());
    }
    engine.shutdown().await;
    best
}

/// Creates the instances, and measures the stage and the deploy that update all of them.
async fn update(members: usize, batch: Option<usize>) -> (Duration, Duration) {
    let dir = tempfile::tempdir().unwrap();
    if let Some(batch) = batch {
        write_group(dir.path(), batch);
    }
    write_release(dir.path(), members, "first");
    let engine = Engine::start(Settings::new(dir.path())).await.unwrap();
    stage_and_deploy(&engine).await;
    write_release(dir.path(), members, "second");
    let took = stage_and_deploy(&engine).await;
    engine.shutdown().await;
    took
}

fn write_release(dir: &Path, members: usize, release: &str) {
    let text = format!(
        "resource \"terraform_data\" \"member\" {{\n  count = {members}\n  input = \"{release}-${{count.index}}\"\n}}\n"
    );
    std::fs::write(dir.join("main.tf"), text).unwrap();
}

/// Writes a group whose members are healthy as soon as they have changed.
fn write_group(dir: &Path, batch: usize) {
    let text = format!(
        "group \"members\" {{\n  instance = terraform_data.member\n  update {{\n    batch = {batch}\n    health {{\n      ready = self.output == self.input\n    }}\n  }}\n}}\n"
    );
    std::fs::write(dir.join("members.flightdeck.hcl"), text).unwrap();
}
