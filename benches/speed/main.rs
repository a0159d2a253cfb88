//! Complete runs of flightdeck, compared with the lower bound of their calls, and optionally with
//! `tofu`.
//!
//! ```text
//! cargo bench --bench speed                    100 and 1,000 of each type, medians of 7 runs
//! cargo bench --bench speed -- 10000           another number, medians of 3 runs beyond 1,000
//! cargo bench --bench speed -- lab 100         only this: interop, lab, or big (a 5 MB schema)
//! FLIGHTDECK_BENCH_AGAINST=tofu cargo bench …  the same runs of this program, and the ratios
//! ```
//!
//! The interop provider is a real one that uses the official framework: run `tests/interop/build
//! DIR`, then set `FLIGHTDECK_TEST_GO_BIN=DIR`. Without it only the bundled lab is measured.

mod lower_bound;
mod minimal_client;
mod shape;
mod workspace;

use lower_bound::Floor;
use shape::Kind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use workspace::{BenchWorkspace, Plugin, Run, Subject, middle};

const FLIGHTDECK: &str = env!("CARGO_BIN_EXE_flightdeck");

fn interop() -> Subject {
    Subject {
        key: "interop",
        name: "interop",
        source: "registry.terraform.io/acme/interop",
        first: Kind {
            type_name: "interop_pet",
            named: false,
            triggers: Some("keepers"),
            needs: false,
        },
        second: Kind {
            type_name: "interop_null",
            named: false,
            triggers: Some("triggers"),
            needs: true,
        },
    }
}

fn lab() -> Subject {
    Subject {
        key: "lab",
        name: "lab",
        source: "flightdeck.internal/bundled/lab",
        first: Kind {
            type_name: "lab_thing",
            named: true,
            triggers: Some("triggers"),
            needs: false,
        },
        second: Kind {
            type_name: "lab_thing",
            named: true,
            triggers: Some("triggers"),
            needs: true,
        },
    }
}

/// Returns a subject with one resource, whose type has a schema of five megabytes.
fn big() -> Subject {
    let first = Kind {
        type_name: "interop_big",
        named: false,
        triggers: None,
        needs: false,
    };
    Subject {
        key: "big",
        first,
        ..interop()
    }
}

/// Rounds of a measurement. The median of each figure is shown, because a single run of a second is
/// not reliable.
const ROUNDS: usize = 7;

/// Rounds for more than 1,000 of each type. Several are needed, because the speed of a machine
/// varies by a tenth within minutes.
const ROUNDS_OF_MANY: usize = 3;

/// Figures of all phases of one subject at one size.
#[derive(Default)]
struct Figures {
    rows: Vec<Row>,
}

#[derive(Clone, Copy)]
struct Row {
    phase: &'static str,
    run: Run,
    floor: Duration,
    /// Run of the other program.
    other: Option<Run>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .collect();
    let sizes: Vec<usize> = args.iter().filter_map(|a| a.parse().ok()).collect();
    let sizes = if sizes.is_empty() {
        vec![100, 1_000]
    } else {
        sizes
    };
    let names: Vec<&String> = args
        .iter()
        .filter(|a| a.parse::<usize>().is_err())
        .collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for subject in [interop(), lab(), big()] {
        if !names.is_empty() && !names.iter().any(|n| *n == subject.key) {
            continue;
        }
        for &n in if subject.key == "big" {
            &[1][..]
        } else {
            &sizes
        } {
            let folder = tempfile::tempdir().expect("a folder");
            let beside = |name| plugin(&subject, &folder.path().join(name));
            let (Some(bare), Some(plugin)) = (beside("bare.json"), beside("objects.json")) else {
                println!(
                    "skipped: {}; build the providers with `tests/interop/build DIR` and set FLIGHTDECK_TEST_GO_BIN=DIR",
                    subject.key
                );
                break;
            };
            println!(
                "\n{} {} + {} {}, {} calls at a time",
                n, subject.first.type_name, n, subject.second.type_name, 10
            );
            let rounds = if n <= 1_000 { ROUNDS } else { ROUNDS_OF_MANY };
            let all: Result<Vec<Figures>, String> = (0..rounds)
                .map(|_| measure(&runtime, &subject, [&bare, &plugin], n))
                .collect();
            match all {
                Ok(all) => Figures::median(&all).print(n),
                Err(why) => {
                    eprintln!("{}: {why}", subject.key);
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// Returns the plugin to measure, which stores its objects in this file.
fn plugin(subject: &Subject, file: &Path) -> Option<Plugin> {
    let file = file.display().to_string();
    Some(match subject.name {
        "lab" => Plugin {
            program: FLIGHTDECK.into(),
            args: ["plugin", "serve", "lab"].map(str::to_owned).into(),
            env: Vec::new(),
            setting: Some(("file".into(), file)),
        },
        name => Plugin {
            program: std::fs::canonicalize(
                PathBuf::from(std::env::var_os("FLIGHTDECK_TEST_GO_BIN")?)
                    .join(format!("terraform-provider-{name}")),
            )
            .ok()?,
            args: Vec::new(),
            env: (subject.key == "big")
                .then(|| ("INTEROP_BIG_SCHEMA".into(), "1".into()))
                .into_iter()
                .collect(),
            setting: Some(("file".into(), file)),
        },
    })
}

/// Measures one round: `bare` is the plugin with the objects of the lower bound, the other one that
/// of flightdeck.
fn measure(
    runtime: &tokio::runtime::Runtime,
    subject: &Subject,
    [bare, plugin]: [&Plugin; 2],
    n: usize,
) -> Result<Figures, String> {
    let text = |e: Box<dyn std::error::Error + Send + Sync>| e.to_string();
    let floor = Floor {
        plugin: bare,
        first: &subject.first,
        second: &subject.second,
        n,
    };
    let clear = |plugin: &Plugin| {
        if let Some((_, file)) = &plugin.setting {
            // The provider's objects are in this file; each program starts without any.
            std::fs::remove_file(file).ok();
        }
    };
    clear(bare);
    clear(plugin);
    let ours = BenchWorkspace::new(subject, plugin, n).map_err(|e| e.to_string())?;
    let mut figures = Figures::default();
    // Each lower bound is measured immediately before the run to compare, because the machine's
    // speed varies.
    let mut run = |phase, args: &[&str], floor| -> Result<(), String> {
        figures.rows.push(Row {
            phase,
            run: ours.run(Path::new(FLIGHTDECK), args, plugin)?,
            floor,
            other: None,
        });
        Ok(())
    };
    let staged = runtime.block_on(floor.stage()).map_err(text)?;
    run("stage, cold", &["stage"], staged)?;
    run("stage, warm", &["stage"], staged)?;
    let (deployed, left) = runtime.block_on(floor.deploy()).map_err(text)?;
    run("deploy", &["deploy", "--auto-approve"], deployed)?;
    let unchanged = runtime.block_on(floor.unchanged(&left)).map_err(text)?;
    run("stage, no-op", &["stage"], unchanged)?;
    let destroyed = runtime.block_on(floor.destroy(&left)).map_err(text)?;
    run("destroy", &["destroy", "--auto-approve"], destroyed)?;
    // The other program starts from the same empty plugin.
    clear(plugin);
    if let Some(program) =
        std::env::var_os("FLIGHTDECK_BENCH_AGAINST").filter(|_| plugin.args.is_empty())
    {
        let theirs = BenchWorkspace::new(subject, plugin, n).map_err(|e| e.to_string())?;
        let program = Path::new(&program);
        theirs.run(program, &["init", "-input=false"], plugin)?;
        let all: [&[&str]; 5] = [
            &["plan", "-input=false", "-out=plan"],
            &["plan", "-input=false", "-out=plan"],
            &["apply", "-input=false", "-auto-approve"],
            &["plan", "-input=false"],
            &["destroy", "-input=false", "-auto-approve"],
        ];
        // Both programs run the same phases in the same order.
        for (row, args) in figures.rows.iter_mut().zip(all) {
            row.other = Some(theirs.run(program, args, plugin)?);
        }
    }
    Ok(figures)
}

impl Figures {
    fn median(all: &[Self]) -> Self {
        let mut out = Self::default();
        for at in 0..all.first().map_or(0, |first| first.rows.len()) {
            let rows: Vec<Row> = all.iter().map(|figures| figures.rows[at]).collect();
            let runs: Vec<Run> = rows.iter().map(|row| row.run).collect();
            let others: Option<Vec<Run>> = rows.iter().map(|row| row.other).collect();
            let floor = middle(rows.iter().map(|row| row.floor));
            out.rows.push(Row {
                phase: rows[0].phase,
                run: Run::median(&runs),
                floor,
                other: others.map(|o| Run::median(&o)),
            });
        }
        out
    }

    fn print(&self, n: usize) {
        println!(
            "{:<13} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9} {:>7}",
            "", "wall s", "cpu s", "us each", "peak MB", "floor s", "x floor", "other s", "share"
        );
        for Row {
            phase,
            run,
            floor,
            other,
        } in &self.rows
        {
            let took = run.took.as_secs_f64();
            // Two resource types of `n` each.
            let each = took * 1e6 / (2 * n) as f64;
            let floor = floor.as_secs_f64();
            let other = other.map_or((String::new(), String::new()), |o| {
                (
                    format!("{:.3}", o.took.as_secs_f64()),
                    format!("{:.2}", took / o.took.as_secs_f64()),
                )
            });
            println!(
                "{phase:<13} {took:>9.3} {:>9.2} {each:>9.0} {:>9.1} {floor:>9.3} {:>7.2} {:>9} {:>7}",
                run.cpu.as_secs_f64(),
                run.peak as f64 / 1e6,
                took / floor,
                other.0,
                other.1
            );
        }
    }
}
