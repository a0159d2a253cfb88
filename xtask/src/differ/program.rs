//! The two programs, each asked in its own words; what they answer is brought into one form.

use super::Options;
use color_eyre::eyre::{Result, WrapErr as _, bail, eyre};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Errors by their place (`main.tf:3`), `-` where there is none; each with its words.
pub type Places = BTreeMap<String, Vec<String>>;

/// What a program made of a configuration.
pub enum Answer {
    /// Its errors; none where it accepts it.
    Judged(Places),
    /// It could not be asked: a provider or module that is not to be had.
    Cannot(String),
}

/// What a program planned, or its errors.
pub type Planned = Result<Value, Places>;

/// What became of a configuration that a program applied, planned again and destroyed.
pub struct Made {
    pub planned: Value,
    /// As state version 4, like `left`, which is the state in the end.
    pub state: Value,
    pub again: Value,
    pub left: Value,
}

/// The same, or the first words of what failed.
pub type Applied = Result<Made, Vec<String>>;

pub struct Programs {
    tofu: PathBuf,
    flightdeck: PathBuf,
    /// The configuration of the command line of both: where providers are.
    cli: tempfile::NamedTempFile,
    /// What makes the world anew.
    world: Option<String>,
}

/// A copy of a tree without what tools leave in it.
pub struct Copy(tempfile::TempDir);

impl Copy {
    pub fn of(tree: &Path) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        copy(tree, dir.path())?;
        Ok(Self(dir))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    const LEFT: [&str; 4] = [".git", ".terraform", ".terraform.lock.hcl", ".flightdeck"];
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        match () {
            () if LEFT.iter().any(|l| entry.file_name() == *l) => {}
            () if kind.is_dir() => {
                std::fs::create_dir(&target)?;
                copy(&entry.path(), &target)?;
            }
            () if kind.is_symlink() => {
                std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, &target)?
            }
            () if kind.is_file() => drop(std::fs::copy(entry.path(), &target)?),
            () => {}
        }
    }
    Ok(())
}

/// What a process printed, and how it ended.
struct Ran {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

impl Programs {
    pub fn new(options: &Options) -> Result<Self> {
        let tofu = options
            .tofu
            .canonicalize()
            .wrap_err_with(|| format!("there is no {}", options.tofu.display()))?;
        let flightdeck = match &options.bin {
            Some(bin) => bin
                .canonicalize()
                .wrap_err_with(|| format!("there is no {}", bin.display()))?,
            None => built()?,
        };
        let cli = tempfile::NamedTempFile::new()?;
        // Nothing is fetched: what is compared is to depend on this machine alone.
        let mirror = options
            .mirror
            .as_ref()
            .map(|m| m.canonicalize())
            .transpose()?
            .unwrap_or_else(|| PathBuf::from("/nonexistent"));
        let text = format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = {:?}\n  }}\n}}\n",
            mirror.display().to_string()
        );
        std::fs::write(cli.path(), text)?;
        Ok(Self {
            tofu,
            flightdeck,
            cli,
            world: options.world.clone(),
        })
    }

    /// The world as it was before anybody applied anything, where there is a command for that.
    pub fn world_anew(&self, within: Duration) -> Result<()> {
        let Some(command) = &self.world else {
            return Ok(());
        };
        let ran = self.run(Path::new("sh"), &["-c", command], Path::new("."), within)?;
        if ran.code != Some(0) {
            let how = ran
                .code
                .map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            bail!(
                "`{command}` ended with {how}: {}",
                ran.stderr.lines().next().unwrap_or("")
            );
        }
        Ok(())
    }

    fn run(&self, program: &Path, words: &[&str], dir: &Path, within: Duration) -> Result<Ran> {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(dir)
            .env("TF_CLI_CONFIG_FILE", self.cli.path())
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_INPUT", "0");
        // A group of its own: what the program has started ends with it, and holds no pipe open
        // after that.
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let group = i32::try_from(child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let end_all = || {
            group.map(|group| {
                rustix::process::kill_process_group(group, rustix::process::Signal::KILL)
            })
        };
        let (mut out, mut err) = (
            child.stdout.take().ok_or_else(|| eyre!("no stdout"))?,
            child.stderr.take().ok_or_else(|| eyre!("no stderr"))?,
        );
        std::thread::scope(|scope| {
            let stdout = scope.spawn(move || read(&mut out));
            let stderr = scope.spawn(move || read(&mut err));
            let began = Instant::now();
            let code = loop {
                if let Some(status) = child.try_wait()? {
                    end_all();
                    break status.code();
                }
                if began.elapsed() > within {
                    end_all();
                    child.wait()?;
                    bail!(
                        "{} {} did not end within {} s",
                        program.display(),
                        words.join(" "),
                        within.as_secs()
                    );
                }
                std::thread::sleep(Duration::from_millis(20));
            };
            let joined = |text: std::thread::Result<String>| text.unwrap_or_default();
            Ok(Ran {
                stdout: joined(stdout.join()),
                stderr: joined(stderr.join()),
                code,
            })
        })
    }

    /// Fetches what the configuration needs; an answer where that is all that becomes of it.
    pub fn tofu_prepares(&self, dir: &Path, within: Duration) -> Result<Option<Answer>> {
        let init = self.run(
            &self.tofu,
            &["init", "-backend=false", "-input=false", "-json"],
            dir,
            within,
        )?;
        if init.code != Some(0) {
            let places = places(lines(&init.stdout).filter_map(|l| l.get("diagnostic").cloned()));
            return Ok(Some(
                match places
                    .values()
                    .flatten()
                    .find(|words| is_of_fetching(words))
                {
                    Some(words) => Answer::Cannot(words.clone()),
                    None if places.is_empty() => Answer::Cannot(
                        init.stderr
                            .lines()
                            .next()
                            .unwrap_or("tofu init failed without words")
                            .to_owned(),
                    ),
                    None => Answer::Judged(places),
                },
            ));
        }
        Ok(None)
    }

    pub fn tofu_validates(&self, dir: &Path, within: Duration) -> Result<Places> {
        let ran = self.run(&self.tofu, &["validate", "-json"], dir, within)?;
        let said: Value =
            serde_json::from_str(&ran.stdout).wrap_err("tofu validate printed no JSON")?;
        Ok(places(
            said["diagnostics"]
                .as_array()
                .cloned()
                .unwrap_or_default()
                .into_iter(),
        ))
    }

    pub fn flightdeck_validates(&self, dir: &Path, within: Duration) -> Result<Places> {
        let ran = self.run(&self.flightdeck, &["validate", "--json"], dir, within)?;
        let found = places(lines(&ran.stdout).filter(|l| l["type"] == "diagnostic"));
        if found.is_empty() != (ran.code == Some(0)) {
            bail!(
                "flightdeck validate ended with {:?} and {} places: {}",
                ran.code,
                found.len(),
                ran.stderr.lines().next().unwrap_or("")
            );
        }
        Ok(found)
    }

    pub fn tofu_plans(&self, dir: &Path, within: Duration) -> Result<Planned> {
        let ran = self.run(
            &self.tofu,
            &[
                "plan",
                "-input=false",
                "-lock=false",
                "-json",
                "-out=differ.plan",
            ],
            dir,
            within,
        )?;
        if ran.code != Some(0) {
            return Ok(Err(places(
                lines(&ran.stdout).filter_map(|l| l.get("diagnostic").cloned()),
            )));
        }
        self.shown(dir, within).map(Ok)
    }

    pub fn flightdeck_plans(&self, dir: &Path, within: Duration) -> Result<Planned> {
        let ran = self.run(
            &self.flightdeck,
            &["stage", "--json", "--plan-json", "differ.json"],
            dir,
            within,
        )?;
        if ran.code != Some(0) {
            return Ok(Err(places(
                lines(&ran.stdout).filter(|l| l["type"] == "diagnostic"),
            )));
        }
        Ok(Ok(serde_json::from_slice(&std::fs::read(
            dir.join("differ.json"),
        )?)?))
    }
}

impl Programs {
    /// Applies what `tofu_plans` planned last, which is `planned`.
    pub fn tofu_applies(&self, dir: &Path, planned: Value, within: Duration) -> Result<Applied> {
        let state = || -> Result<Value> {
            let file = dir.join("terraform.tfstate");
            Ok(if file.exists() {
                serde_json::from_slice(&std::fs::read(file)?)?
            } else {
                Value::Null
            })
        };
        let destroy = [
            "destroy",
            "-auto-approve",
            "-input=false",
            "-lock=false",
            "-json",
        ];
        let ran = self.run(
            &self.tofu,
            &[
                "apply",
                "-input=false",
                "-lock=false",
                "-json",
                "differ.plan",
            ],
            dir,
            within,
        )?;
        if ran.code != Some(0) {
            // What was made is not left beside the next configuration.
            self.run(&self.tofu, &destroy, dir, within)?;
            return Ok(Err(failed("apply", &ran)));
        }
        let made = state()?;
        let again = self.tofu_plans(dir, within)?;
        let ran = self.run(&self.tofu, &destroy, dir, within)?;
        Ok(match again {
            Err(places) => Err(places
                .into_values()
                .flatten()
                .map(|w| format!("plan again: {w}"))
                .collect()),
            Ok(_) if ran.code != Some(0) => Err(failed("destroy", &ran)),
            Ok(again) => Ok(Made {
                planned,
                state: made,
                again,
                left: state()?,
            }),
        })
    }

    fn shown(&self, dir: &Path, within: Duration) -> Result<Value> {
        let shown = self.run(&self.tofu, &["show", "-json", "differ.plan"], dir, within)?;
        serde_json::from_str(&shown.stdout).wrap_err("tofu show printed no JSON")
    }

    pub fn flightdeck_applies(&self, dir: &Path, within: Duration) -> Result<Applied> {
        let state = || -> Result<Value> {
            let ran = self.run(&self.flightdeck, &["state", "export"], dir, within)?;
            serde_json::from_str(&ran.stdout)
                .wrap_err_with(|| format!("state export printed no JSON: {}", ran.stderr))
        };
        let destroy = ["destroy", "--auto-approve", "--json"];
        let ran = self.run(
            &self.flightdeck,
            &["deploy", "--auto-approve", "--json"],
            dir,
            within,
        )?;
        if ran.code != Some(0) {
            self.run(&self.flightdeck, &destroy, dir, within)?;
            return Ok(Err(failed("deploy", &ran)));
        }
        let made = state()?;
        let again = self.flightdeck_plans(dir, within)?;
        let ran = self.run(&self.flightdeck, &destroy, dir, within)?;
        Ok(match again {
            Err(places) => Err(places
                .into_values()
                .flatten()
                .map(|w| format!("stage again: {w}"))
                .collect()),
            Ok(_) if ran.code != Some(0) => Err(failed("destroy", &ran)),
            Ok(again) => Ok(Made {
                planned: Value::Null,
                state: made,
                again,
                left: state()?,
            }),
        })
    }
}

/// The errors of a run that failed, each with what was being done.
fn failed(doing: &str, ran: &Ran) -> Vec<String> {
    let diagnostics = lines(&ran.stdout).filter_map(|l| {
        if l["type"] == "diagnostic" && !l["diagnostic"].is_object() {
            Some(l)
        } else {
            l.get("diagnostic").cloned()
        }
    });
    let said: Vec<String> = places(diagnostics)
        .into_values()
        .flatten()
        .map(|w| format!("{doing}: {w}"))
        .collect();
    let rest = || {
        ran.stderr
            .lines()
            .take(6)
            .map(|l| format!("{doing}: {l}"))
            .collect()
    };
    if said.is_empty() { rest() } else { said }
}

fn read(from: &mut impl std::io::Read) -> String {
    let mut bytes = Vec::new();
    // What was read before an error is what there is.
    let _ = from.take(256 << 20).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().filter_map(|l| serde_json::from_str(l).ok())
}

/// Whether an error says that something is not to be had, rather than that the configuration is
/// wrong.
fn is_of_fetching(words: &str) -> bool {
    const SUMMARIES: [&str; 8] = [
        "Failed to query available provider packages",
        "Failed to resolve provider packages",
        "Failed to install provider",
        "Could not retrieve the list of available versions",
        "Failed to download module",
        "Could not download module",
        "Error accessing remote module registry",
        "Module not found",
    ];
    SUMMARIES.iter().any(|summary| words.starts_with(summary))
}

/// The errors among diagnostics, which both programs write alike.
fn places(diagnostics: impl Iterator<Item = Value>) -> Places {
    let mut places = Places::new();
    for d in diagnostics.filter(|d| d["severity"] == "error") {
        let place = match (
            d["range"]["filename"].as_str(),
            d["range"]["start"]["line"].as_u64(),
        ) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => "-".to_owned(),
        };
        let words = |name: &str| d[name].as_str().unwrap_or("").replace('\n', " ");
        places
            .entry(place)
            .or_default()
            .push(format!("{}: {}", words("summary"), words("detail")));
    }
    places
}

fn built() -> Result<PathBuf> {
    let status = Command::new("cargo")
        .args(["build", "--release", "--locked", "--bin", "flightdeck"])
        .status()?;
    if !status.success() {
        bail!("flightdeck could not be built");
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(target.join("release/flightdeck").canonicalize()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_has_started_others_ends_in_its_time_and_they_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs {
            tofu: PathBuf::new(),
            flightdeck: PathBuf::new(),
            cli: tempfile::NamedTempFile::new().unwrap(),
            world: None,
        };
        let began = Instant::now();
        let run = |script: &str| {
            programs.run(
                Path::new("sh"),
                &["-c", script],
                dir.path(),
                Duration::from_millis(300),
            )
        };
        let why = run("sleep 600 & wait")
            .err()
            .map(|e| e.to_string())
            .unwrap();
        assert_eq!(why, "sh -c sleep 600 & wait did not end within 0 s");
        assert_eq!(
            run("sleep 600 & echo left behind").unwrap().stdout,
            "left behind\n"
        );
        assert!(began.elapsed() < Duration::from_secs(300));
    }

    #[test]
    fn a_world_that_cannot_be_made_anew_is_said_with_its_command() {
        let dir = tempfile::tempdir().unwrap();
        let made = dir.path().join("made");
        let programs = |world: Option<String>| Programs {
            tofu: PathBuf::new(),
            flightdeck: PathBuf::new(),
            cli: tempfile::NamedTempFile::new().unwrap(),
            world,
        };
        let within = Duration::from_secs(60);
        programs(None).world_anew(within).unwrap();
        programs(Some(format!("touch '{}'", made.display())))
            .world_anew(within)
            .unwrap();
        assert!(made.exists());
        let why = programs(Some("echo no cloud >&2; exit 3".to_owned()))
            .world_anew(within)
            .unwrap_err()
            .to_string();
        assert_eq!(
            why,
            "`echo no cloud >&2; exit 3` ended with code 3: no cloud"
        );
    }
}
