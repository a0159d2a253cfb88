//! Compares flightdeck with OpenTofu on arbitrary configurations: acceptance, places of errors, and
//! plans. OpenTofu is an external program here; no part of it belongs to this project.

mod answers;
mod applied;
mod compare;
mod copy;
mod plan_json;
mod program;

use color_eyre::eyre::{Result, WrapErr as _, bail};
use compare::Verdict;
use program::{Answer, Programs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Maximum depth of the directory search.
const DEEP: usize = 12;

/// Options of the comparison.
#[derive(clap::Args)]
pub struct Options {
    /// Path of tofu
    #[arg(long)]
    tofu: PathBuf,
    /// Path of flightdeck; built with `cargo build --release` if not given
    #[arg(long)]
    bin: Option<PathBuf>,
    /// Compare plans too, if both accept the configuration
    #[arg(long)]
    plan: bool,
    /// Compare plan representations completely, including the configuration in them
    #[arg(long, requires = "plan")]
    whole: bool,
    /// Apply, plan again and destroy too, if the plans are equal: one program after the other, in
    /// the external systems that the providers' environment names, one configuration at a time
    #[arg(long, requires = "plan")]
    apply: bool,
    /// Shell command that resets the external systems before a configuration is planned and before
    /// the second program applies it
    #[arg(long, requires = "apply")]
    world: Option<String>,
    /// Also list configurations with equal results
    #[arg(long)]
    all: bool,
    /// Provider mirror directory for both programs; without it no provider can be installed
    #[arg(long)]
    mirror: Option<PathBuf>,
    /// Compare only configurations whose path contains this text
    #[arg(long, default_value = "")]
    only: String,
    /// Time limit of one step of a program, in seconds
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Number of configurations to compare at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Maximum number of differences shown per configuration
    #[arg(long, default_value_t = 12)]
    lines: usize,
    /// Directories with configurations; modules count as configurations too
    #[arg(required = true)]
    dirs: Vec<PathBuf>,
}

/// Configuration to compare: its tree, its path in it, and the part of the tree it needs.
struct Case {
    tree: PathBuf,
    inside: PathBuf,
    part: PathBuf,
}

/// Runs all comparisons and prints the table.
///
/// # Errors
/// A program is missing or a directory cannot be read. Differences are not errors.
pub fn run(options: &Options) -> Result<()> {
    let programs = Programs::new(options)?;
    let mut cases = Vec::new();
    for tree in &options.dirs {
        let tree = tree
            .canonicalize()
            .wrap_err_with(|| format!("cannot read {}", tree.display()))?;
        let mut found = Vec::new();
        configurations(&tree, Path::new(""), 0, &mut found)?;
        found.retain(|inside| inside.to_string_lossy().contains(&options.only));
        cases.extend(found.into_iter().map(|inside| Case {
            part: part(&tree, &inside),
            tree: tree.clone(),
            inside,
        }));
    }
    if cases.is_empty() {
        bail!("found no configuration (*.tf, *.tofu, also .json) in these directories");
    }
    let next = AtomicUsize::new(0);
    let table = Mutex::new(BTreeMap::<Verdict, usize>::new());
    std::thread::scope(|scope| {
        // Applied configurations share the external systems, so they run one at a time.
        for _ in 0..if options.apply {
            1
        } else {
            options.jobs.max(1)
        } {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // A failed step concerns one configuration; the others are still compared.
                    let (verdict, said) = compare_case(case, &programs, options)
                        .unwrap_or_else(|e| (Verdict::NotHeld, vec![format!("{e:#}")]));
                    let mut table = table
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    *table.entry(verdict).or_default() += 1;
                    if options.all
                        || verdict.is_difference()
                        || matches!(verdict, Verdict::NotHeld | Verdict::TofuCannotApply)
                    {
                        let name = case
                            .tree
                            .file_name()
                            .map(Path::new)
                            .unwrap_or(&case.tree)
                            .join(&case.inside);
                        println!("{}: {verdict}", name.display());
                        said.iter()
                            .take(options.lines)
                            .for_each(|line| println!("    {line}"));
                        if said.len() > options.lines {
                            println!("    and {} more", said.len() - options.lines);
                        }
                    }
                }
            });
        }
    });
    println!("\n| {} configurations | |\n|---|---|", cases.len());
    for (verdict, n) in table
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
    {
        println!("| {verdict} | {n} |");
    }
    Ok(())
}

/// Finds directories with configuration files, by their paths in the tree.
fn configurations(
    tree: &Path,
    inside: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<()> {
    const SUFFIXES: [&str; 4] = [".tf", ".tf.json", ".tofu", ".tofu.json"];
    let mut entries: Vec<_> = std::fs::read_dir(tree.join(inside))?.collect::<Result<_, _>>()?;
    // Sorted, so that two runs print the same order.
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let is_file = |e: &std::fs::DirEntry| e.file_type().is_ok_and(|t| t.is_file());
    if entries.iter().any(|e| {
        is_file(e)
            && SUFFIXES
                .iter()
                .any(|s| e.file_name().to_string_lossy().ends_with(s))
    }) {
        found.push(inside.to_path_buf());
    }
    for entry in entries {
        // Hidden directories have installed modules and providers of earlier runs.
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.file_type()?.is_dir() && !hidden && depth < DEEP {
            configurations(tree, &inside.join(entry.file_name()), depth + 1, found)?;
        }
    }
    Ok(())
}

/// Part of a tree that a configuration needs: its own directory, or a parent if it calls modules by
/// `../..`.
fn part(tree: &Path, inside: &Path) -> PathBuf {
    let mut part = inside.to_path_buf();
    while part.parent().is_some() && names_outside(&tree.join(&part), 0) {
        part.pop();
    }
    part
}

/// Returns true if a file in the directory contains `..`, or if that cannot be determined.
fn names_outside(dir: &Path, depth: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return true;
    };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => depth >= DEEP || names_outside(&entry.path(), depth + 1),
        Ok(kind) if kind.is_file() => {
            std::fs::read(entry.path()).is_ok_and(|text| text.windows(2).any(|two| two == b".."))
        }
        // A link may lead anywhere.
        _ => true,
    })
}

/// Compares one configuration, in a copy for each program because both write to it.
fn compare_case(
    case: &Case,
    programs: &Programs,
    options: &Options,
) -> Result<(Verdict, Vec<String>)> {
    let within = Duration::from_secs(options.seconds);
    let part = case.tree.join(&case.part);
    let (theirs, ours) = (copy::Copy::of(&part)?, copy::Copy::of(&part)?);
    let inside = case.inside.strip_prefix(&case.part)?;
    let (there, here) = (theirs.path().join(inside), ours.path().join(inside));
    if let Some(answer) = programs.tofu_prepares(&there, within)? {
        return match answer {
            Answer::Judged(places) => Ok(compare::places(
                &places,
                &programs.flightdeck_validates(&here, within)?,
            )),
            Answer::Cannot(why) => Ok((Verdict::NotHeld, vec![why])),
        };
    }
    let validated = || -> Result<(Verdict, Vec<String>)> {
        Ok(compare::places(
            &programs.tofu_validates(&there, within)?,
            &programs.flightdeck_validates(&here, within)?,
        ))
    };
    if !options.plan {
        return validated();
    }
    programs.world_anew(within)?;
    let (theirs, ours) = (
        programs.tofu_plans(&there, within)?,
        programs.flightdeck_plans(&here, within)?,
    );
    // A plan includes validation, so two plans mean that both accept the configuration.
    if theirs.is_err() || ours.is_err() {
        let (verdict, said) = validated()?;
        if verdict != Verdict::BothAccept {
            return Ok((verdict, said));
        }
    }
    let compared = match options.whole {
        true => plan_json::documents,
        false => compare::plans,
    };
    let (mut verdict, mut said) = compared((&theirs, &ours));
    let mut theirs = theirs;
    if verdict == Verdict::OtherPlan {
        // Values that differ between two plans of tofu itself say nothing about flightdeck.
        let again = programs.tofu_plans(&there, within)?;
        (verdict, said) = compare::without_restless(said, &compared((&theirs, &again)).1);
        theirs = again;
    }
    match theirs {
        Ok(planned) if verdict == Verdict::SamePlan && options.apply => {
            applied::held(programs, planned, &there, &here, within)
        }
        _ => Ok((verdict, said)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_tree_part_contains_the_configuration_and_its_modules() {
        let tree = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("a/main.tf", "module \"m\" {\n  source = \"./m\"\n}\n"),
            ("a/m/main.tf", "locals {}\n"),
            ("b/x/main.tf", "module \"m\" {\n  source = \"../m\"\n}\n"),
            ("b/m/main.tf", "locals {}\n"),
            (
                "c/x/main.tf",
                "module \"m\" {\n  source = \"../../b/x\"\n}\n",
            ),
        ] {
            let file = tree.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        for (inside, needed) in [
            ("a", "a"),
            ("a/m", "a/m"),
            ("b/m", "b/m"),
            ("b/x", ""),
            ("c/x", ""),
            ("", ""),
        ] {
            assert_eq!(
                part(tree.path(), Path::new(inside)),
                Path::new(needed),
                "{inside}"
            );
        }
    }
}
