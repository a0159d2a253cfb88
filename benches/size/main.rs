//! Large configurations: reading ten megabytes, and the growth of validate and stage with the
//! number of resources, spread over module calls of twenty each. Targets: ten megabytes within half
//! a second; constant time per resource.
//!
//! ```text
//! cargo bench --bench size                  up to 10,000 resources in 500 module calls
//! cargo bench --bench size -- 20000         up to another number
//! cargo bench --bench size -- hashicorp/aws 5,000 resources of 60 types of an installed provider
//! cargo bench --bench size -- instances     deploys of dependent objects; see `instances.rs`
//! ```
//!
//! The resources are `terraform_data`, so only the last command involves a plugin.

mod instances;
mod types;

use lang::config::{Inputs, load_root};
use lang::source::SourceMap;
use lang::syntax::parse_file;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FLIGHTDECK: &str = env!("CARGO_BIN_EXE_flightdeck");
/// Resources per module call.
const IN_A_CALL: usize = 20;
/// Runs per figure; the best one counts.
const ROUNDS: usize = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let asked = args.next();
    if let Some(source) = asked.as_ref().filter(|a| a.contains('/')) {
        return types::run(source);
    }
    if asked.as_deref() == Some("instances") {
        return instances::run();
    }
    let most = asked.and_then(|a| a.parse().ok()).unwrap_or(10_000);
    reading()?;
    println!(
        "\n{:>9} {:>6} {:>11} {:>13} {:>11} {:>13}",
        "resources", "calls", "validate s", "us a resource", "stage s", "us a resource"
    );
    // Doubling sizes show if the time per resource stays constant.
    for n in [most / 16, most / 8, most / 4, most / 2, most] {
        let dir = tempfile::tempdir()?;
        spread(dir.path(), n)?;
        let (validate, stage) = (best(dir.path(), "validate")?, best(dir.path(), "stage")?);
        let each = |took: Duration| took.as_secs_f64() * 1e6 / n as f64;
        println!(
            "{n:>9} {:>6} {:>11.3} {:>13.0} {:>11.3} {:>13.0}",
            n / IN_A_CALL,
            validate.as_secs_f64(),
            each(validate),
            stage.as_secs_f64(),
            each(stage)
        );
    }
    Ok(())
}

/// Measures ten megabytes of resources in one file, with 2,000 local values that each depend on the
/// one before.
fn reading() -> Result<(), Box<dyn Error>> {
    const BYTES: usize = 10_000_000;
    let dir = tempfile::tempdir()?;
    let mut text = String::from("locals {\n  v0 = 1\n");
    for i in 1..2_000 {
        writeln!(text, "  v{i} = local.v{} + 1", i - 1)?;
    }
    text += "}\n";
    let mut i = 0;
    while text.len() < BYTES {
        writeln!(
            text,
            "resource \"terraform_data\" \"r{i}\" {{\n  input = {{\n    name = \"name-{i}-${{local.v{}}}\"\n    list = [for n in range(3) : n + {i}]\n  }}\n}}",
            i % 2_000
        )?;
        i += 1;
    }
    std::fs::write(dir.path().join("main.tf"), &text)?;
    let (mut parsed, mut took) = (Vec::new(), Vec::new());
    // Parsing and loading are timed apart; loading includes its own parse.
    for _ in 0..ROUNDS {
        let sources = SourceMap::new();
        let file = sources.add("main.tf", text.as_str());
        let began = Instant::now();
        let tree = parse_file(&text, file);
        parsed.push(began.elapsed());
        drop(tree);
        let began = Instant::now();
        let (loaded, diags) = load_root(dir.path(), &SourceMap::new(), &Inputs::default());
        took.push(began.elapsed());
        if diags.has_errors() || loaded.root.resources.len() != i {
            return Err(
                format!("{} of {i} resources were read", loaded.root.resources.len()).into(),
            );
        }
    }
    let best = |all: Vec<Duration>| all.into_iter().min().unwrap_or_default().as_secs_f64();
    println!(
        "{:.1} MB with {i} resources: parsed in {:.3} s, read as a configuration in {:.3} s",
        text.len() as f64 / 1e6,
        best(parsed),
        best(took)
    );
    Ok(())
}

/// Writes `n` resources in calls of one module, where each call depends on the one before.
fn spread(dir: &Path, n: usize) -> Result<(), Box<dyn Error>> {
    let mut root = String::from("variable \"name\" {\n  default = \"all\"\n}\n");
    let mut module = String::from(
        "variable \"name\" {\n  type = string\n}\nvariable \"on\" {\n  default = null\n}\n",
    );
    for i in 0..IN_A_CALL {
        writeln!(
            module,
            "resource \"terraform_data\" \"r{i}\" {{\n  input = \"${{var.name}}-{i}-${{var.on == null ? \"first\" : var.on}}\"\n}}"
        )?;
    }
    module += "output \"id\" {\n  value = terraform_data.r0.id\n}\n";
    for call in 0..n / IN_A_CALL {
        let on = if call == 0 {
            "null".to_owned()
        } else {
            format!("module.m{}.id", call - 1)
        };
        writeln!(
            root,
            "module \"m{call}\" {{\n  source = \"./m\"\n  name = \"${{var.name}}-{call}\"\n  on = {on}\n}}"
        )?;
    }
    std::fs::create_dir(dir.join("m"))?;
    std::fs::write(dir.join("main.tf"), root)?;
    std::fs::write(dir.join("m/main.tf"), module)?;
    Ok(())
}

fn best(dir: &Path, command: &str) -> Result<Duration, Box<dyn Error>> {
    // The minimum, because other processes can only add to the time.
    let mut took = Duration::MAX;
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let output = Command::new(FLIGHTDECK)
            .arg(command)
            .current_dir(dir)
            .stdin(Stdio::null())
            .output()?;
        took = took.min(began.elapsed());
        if !output.status.success() {
            return Err(format!(
                "{command} ended with {}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )
            .into());
        }
    }
    Ok(took)
}
