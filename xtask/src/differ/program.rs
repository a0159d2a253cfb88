//! Runs both programs and converts their answers to one form.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use color_eyre::eyre::{Result, WrapErr as _, bail, eyre};
use serde_json::Value;

use super::Options;
use super::answers::{built, failed, is_of_fetching, lines, places, read};

/// Errors by place (`main.tf:3`), or by `-` without one.
pub type Places = BTreeMap<String, Vec<String>>;

/// Answer of a program to a configuration.
pub enum Answer {
    /// Errors; empty if it accepts the configuration.
    Judged(Places),
    /// The comparison is impossible: a provider or module is not available.
    Cannot(String),
}

/// Plan, or its errors.
pub type Planned = Result<Value, Places>;

/// Results of applying, planning again and destroying a configuration.
pub struct ApplyResult {
    pub planned: Value,
    /// State version 4, like `left`, the state after the destroy.
    pub state: Value,
    pub again: Value,
    pub left: Value,
}

/// Results, or the first error lines of the failed step.
pub type Applied = Result<ApplyResult, Vec<String>>;

pub struct Programs {
    pub(super) tofu: PathBuf,
    pub(super) flightdeck: PathBuf,
    /// CLI configuration of both programs, which names the mirror.
    pub(super) cli: tempfile::NamedTempFile,
    /// Shell command that resets the external systems.
    pub(super) world: Option<String>,
}

/// Output and exit code of a process.
pub(super) struct Ran {
    pub(super) stdout: String,
    pub(super) stderr: String,
    code: Option<i32>,
}

impl Programs {
    pub fn new(options: &Options) -> Result<Self> {
        // Absolute paths, because the programs run in other directories.
        let tofu = options
            .tofu
            .canonicalize()
            .wrap_err_with(|| format!("cannot find {}", options.tofu.display()))?;
        let flightdeck = match &options.bin {
            Some(bin) => bin
                .canonicalize()
                .wrap_err_with(|| format!("cannot find {}", bin.display()))?,
            None => built()?,
        };
        let cli = tempfile::NamedTempFile::new()?;
        // Downloads are disabled, so that results depend on this machine alone.
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

    /// Resets the external systems, if there is a command for it.
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

    pub(super) fn run(
        &self,
        program: &Path,
        words: &[&str],
        dir: &Path,
        within: Duration,
    ) -> Result<Ran> {
        let mut command = Command::new(program);
        command
            .args(words)
            .current_dir(dir)
            // Both programs find providers in the same mirror only.
            .env("TF_CLI_CONFIG_FILE", self.cli.path())
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_INPUT", "0");
        // Runs in its own process group. Killing the group also ends child processes, which would
        // keep the pipes open.
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
            // Both pipes are read at once, because a full one would block the process.
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

    /// Installs the providers and modules. Returns an answer if that already fails.
    pub fn tofu_prepares(&self, dir: &Path, within: Duration) -> Result<Option<Answer>> {
        let init = self.run(
            &self.tofu,
            &["init", "-backend=false", "-input=false", "-json"],
            dir,
            within,
        )?;
        if init.code != Some(0) {
            // A configuration error is an answer. A missing provider prevents the comparison.
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
                            .unwrap_or("tofu init failed without a message")
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
        // An exit code that contradicts the diagnostics is a defect, and no judgement.
        if found.is_empty() != (ran.code == Some(0)) {
            bail!(
                "flightdeck validate ended with {:?} and errors at {} places: {}",
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
    /// Applies the last plan of `tofu_plans`, which is `planned`.
    pub fn tofu_applies(&self, dir: &Path, planned: Value, within: Duration) -> Result<Applied> {
        let state = || -> Result<Value> {
            // tofu may write no file if the state is empty.
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
            // Cleans up for the next configuration.
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
            Ok(again) => Ok(ApplyResult {
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
            Ok(again) => Ok(ApplyResult {
                // The comparison uses the unknown values of tofu's plan only.
                planned: Value::Null,
                state: made,
                again,
                left: state()?,
            }),
        })
    }
}

#[cfg(test)]
mod tests;
