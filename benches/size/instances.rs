//! Deploys of many dependent objects: 1,000 that each need one of 1,000 others, and a module with
//! 500 instances of ten objects in a chain. Target: no slower than before a change of the order of
//! operations.

use super::FLIGHTDECK;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Rounds; the best time of each figure counts.
const ROUNDS: usize = 2;

/// Measures stage, deploy and destroy of each shape with this build, and in turn with the program
/// that `FLIGHTDECK_BENCH_BEFORE` names.
pub fn run() -> Result<(), Box<dyn Error>> {
    let before = std::env::var("FLIGHTDECK_BENCH_BEFORE").ok();
    let programs: Vec<(&str, &str)> = [("this build", FLIGHTDECK)]
        .into_iter()
        .chain(before.as_deref().map(|path| ("before", path)))
        .collect();
    println!(
        "{:<28} {:<11} {:>9} {:>10} {:>11}",
        "shape", "program", "stage s", "deploy s", "destroy s"
    );
    for (shape, write) in [
        ("1,000 + 1,000 objects", chained as fn(&Path) -> _),
        ("500 instances of 10 objects", instances),
    ] {
        let mut best = vec![[f64::MAX; 3]; programs.len()];
        for _ in 0..ROUNDS {
            for ((_, program), best) in programs.iter().zip(&mut best) {
                let dir = tempfile::tempdir()?;
                write(dir.path())?;
                let commands: [&[&str]; 3] = [
                    &["stage"],
                    &["deploy", "--auto-approve"],
                    &["deploy", "--auto-approve", "--destroy"],
                ];
                for (best, arguments) in best.iter_mut().zip(commands) {
                    *best = best.min(seconds(program, dir.path(), arguments)?);
                }
            }
        }
        for ((name, _), [stage, deploy, destroy]) in programs.iter().zip(best) {
            println!("{shape:<28} {name:<11} {stage:>9.3} {deploy:>10.3} {destroy:>11.3}");
        }
    }
    Ok(())
}

/// Writes resources of which the second half each need one of the first half.
fn chained(dir: &Path) -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    for i in 0..1_000 {
        writeln!(text, "resource \"terraform_data\" \"a{i}\" {{\n}}")?;
        let input = format!("terraform_data.a{i}.id");
        writeln!(
            text,
            "resource \"terraform_data\" \"b{i}\" {{\n  input = {input}\n}}"
        )?;
    }
    Ok(std::fs::write(dir.join("main.tf"), text)?)
}

/// Writes a module with a chain of ten objects through a local value and an output.
fn instances(dir: &Path) -> Result<(), Box<dyn Error>> {
    let call = "module \"m\" {\n  source = \"./m\"\n  count  = 500\n  in     = count.index\n}\noutput \"last\" {\n  value = module.m[499].last\n}\n";
    let mut module = String::from(
        "variable \"in\" {}\nresource \"terraform_data\" \"r0\" {\n  input = var.in\n}\n",
    );
    for i in 1..10 {
        let before = i - 1;
        writeln!(
            module,
            "locals {{\n  l{i} = terraform_data.r{before}.id\n}}\nresource \"terraform_data\" \"r{i}\" {{\n  input = local.l{i}\n}}"
        )?;
    }
    module += "output \"last\" {\n  value = terraform_data.r9.id\n}\n";
    std::fs::create_dir(dir.join("m"))?;
    std::fs::write(dir.join("m/main.tf"), module)?;
    Ok(std::fs::write(dir.join("main.tf"), call)?)
}

fn seconds(program: &str, dir: &Path, arguments: &[&str]) -> Result<f64, Box<dyn Error>> {
    let began = Instant::now();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()?;
    let took = began.elapsed().as_secs_f64();
    match output.status.success() {
        true => Ok(took),
        false => Err(String::from_utf8_lossy(&output.stderr).into()),
    }
}
