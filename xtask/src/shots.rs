//! Takes pictures of all screens in a real run of the demo.

use crate::picture::{Painter, bundled_font};
use crate::pty::Pty;
use crate::svg::still;
use color_eyre::Result;
use color_eyre::eyre::{WrapErr, ensure, eyre};
use portable_pty::CommandBuilder;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const SOON: Duration = Duration::from_secs(20);
pub const LONG: Duration = Duration::from_secs(120);

/// Pictures without one in the light theme, which would differ in its colours only. All pictures
/// together stay below 5 MB.
const DARK_ONLY: [&str; 3] = ["help", "palette", "plugins-starting"];

/// Pictures of one run, with the theme and the size in their names.
struct Album {
    painter: Painter,
    font: Vec<u8>,
    out: PathBuf,
    theme: &'static str,
    suffix: &'static str,
}

impl Album {
    /// Writes the screen as PNG and SVG.
    fn shot(&self, pty: &Pty, name: &str) -> Result<()> {
        if self.theme == "light" && DARK_ONLY.contains(&name) {
            return Ok(());
        }
        let path = |ending: &str| self.out.join(format!("{name}{}.{ending}", self.suffix));
        let (png, svg) = (path("png"), path("svg"));
        pty.with_screen(|s| -> Result<()> {
            self.painter.write(s, &png)?;
            fs::write(&svg, still(s, &self.font)?)
                .wrap_err_with(|| format!("cannot write {}", svg.display()))
        })?;
        println!("{}", png.display());
        Ok(())
    }

    fn demo(&self, bin: &Path, columns: u16, rows: u16) -> Result<Pty> {
        let variables = [("FLIGHTDECK_THEME", self.theme), ("COLORTERM", "truecolor")];
        demo(bin, columns, rows, &variables)
    }
}

/// Runs the demo and writes pictures: wide in the dark and the light theme, and narrow. Also
/// records a session.
pub fn run(bin: Option<PathBuf>, out: &Path) -> Result<()> {
    let bin = match bin {
        Some(bin) => bin,
        None => build()?,
    };
    let bin = fs::canonicalize(&bin).wrap_err_with(|| format!("cannot find {}", bin.display()))?;
    fs::create_dir_all(out)?;
    let album = Album {
        painter: Painter::new()?,
        font: bundled_font()?,
        out: out.to_owned(),
        theme: "dark",
        suffix: "",
    };
    tour(&bin, &album)?;
    readiness(&bin, &album)?;
    let album = Album {
        theme: "light",
        suffix: "-light",
        ..album
    };
    tour(&bin, &album)?;
    let album = Album {
        theme: "dark",
        suffix: "-80x24",
        ..album
    };
    narrow(&bin, &album)?;
    crate::recording::run(&bin, out)
}

fn build() -> Result<PathBuf> {
    let done = Command::new("cargo")
        .args(["build", "--release", "-p", "flightdeck"])
        .status()?;
    ensure!(done.success(), "`cargo build` failed");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(target.join("release").join("flightdeck"))
}

/// Starts the demo with additional environment variables.
pub fn demo(bin: &Path, columns: u16, rows: u16, variables: &[(&str, &str)]) -> Result<Pty> {
    let mut command = CommandBuilder::new(bin);
    command.arg("demo");
    // Its warnings are about the machine that takes the pictures.
    command.env_remove("TF_CLI_CONFIG_FILE");
    // Shorter pauses between launches, because the pictures show the third launch of one plugin and
    // the last of another.
    command.env("FLIGHTDECK_LAUNCH_BACKOFF_MS", "400");
    Pty::start_with(command, columns, rows, variables)
}

/// Sends Escape and waits until `gone` has disappeared. A key sent right after Escape would be read
/// as Alt with that key.
fn esc(pty: &mut Pty, gone: &str) -> Result<()> {
    pty.keys("\x1b")?;
    pty.wait_until(|s| !s.contains(gone), SOON)
        .wrap_err_with(|| format!("timed out waiting until {gone:?} disappears"))
}

fn tour(bin: &Path, album: &Album) -> Result<()> {
    let mut pty = album.demo(bin, 120, 40)?;
    pty.wait("plugins", SOON)?;
    pty.wait("retry in", SOON)?;
    album.shot(&pty, "plugins-starting")?;
    pty.wait("gave up", LONG)?;
    pty.wait("3 of 5", LONG)?;
    pty.keys("g")?;
    pty.wait("process started", SOON)?;
    album.shot(&pty, "plugins")?;
    // A Bluelink plugin, which registers at its third launch.
    pty.keys("G")?;
    pty.wait("registered", SOON)?;
    album.shot(&pty, "plugins-bluelink")?;
    // The schema browser of the lab.
    pty.keys("/lab\r")?;
    pty.wait("find: lab", SOON)?;
    pty.keys("\x1b[C\r")?;
    pty.wait("resources (", LONG)?;
    pty.keys("/lab_database\r\r")?;
    pty.wait("engine", SOON)?;
    esc(&mut pty, "find: lab_database")?;
    album.shot(&pty, "schema")?;
    esc(&mut pty, "▾ resources (")?;
    esc(&mut pty, "find: lab")?;
    pty.keys("\x1b[D")?;
    // Stage.
    pty.keys("3s")?;
    pty.wait("selected ·", LONG)?;
    pty.wait("lab_database.orders", SOON)?;
    pty.keys("/lab_database\r")?;
    pty.wait("retention_days", SOON)?;
    pty.wait("  n next", SOON)?;
    esc(&mut pty, "find:")?;
    album.shot(&pty, "stage")?;
    pty.keys(" ")?;
    pty.wait("along with", SOON)?;
    album.shot(&pty, "stage-left")?;
    pty.keys("u")?;
    pty.keys("?")?;
    pty.wait("esc close", SOON)?;
    album.shot(&pty, "help")?;
    esc(&mut pty, "esc close")?;
    pty.keys(":stage")?;
    pty.wait("stage-destroy", SOON)?;
    album.shot(&pty, "palette")?;
    esc(&mut pty, "stage-destroy")?;
    pty.keys("a")?;
    pty.wait("Apply stage #", SOON)?;
    album.shot(&pty, "apply")?;
    pty.keys("y")?;
    // The database takes 18 s. The calls come first, because the fault hits the next create.
    pty.wait("running", SOON)?;
    pty.wait("creating", SOON)?;
    pty.keys("2")?;
    pty.wait_until(|s| s.contains("SLOT") && s.contains(" 6 s"), SOON)?;
    album.shot(&pty, "calls")?;
    pty.keys("c")?;
    pty.wait("Cancel deploy #", SOON)?;
    album.shot(&pty, "cancel")?;
    esc(&mut pty, "Cancel deploy #")?;
    pty.keys("4")?;
    pty.wait("creating", SOON)?;
    album.shot(&pty, "deploy")?;
    pty.keys("B")?;
    pty.wait("Cause a fault in the demo", SOON)?;
    album.shot(&pty, "demo-breaks")?;
    pty.keys("2\r")?;
    pty.wait_until(
        |s| s.contains("is denied") && !s.contains("Cause a fault"),
        SOON,
    )?;
    pty.wait("create failed", LONG)?;
    pty.wait("failed in", LONG)?;
    pty.keys("g")?;
    album.shot(&pty, "deploy-ended")?;
    pty.keys("\r")?;
    pty.wait("esc back", SOON)?;
    album.shot(&pty, "failure")?;
    // The list has the heading again.
    pty.keys("\x1b")?;
    pty.wait("RESOURCE", SOON)?;
    // Stage and apply the remaining changes.
    pty.keys("t")?;
    pty.wait("staged in", LONG)?;
    pty.keys("a")?;
    pty.wait("Apply stage #", SOON)?;
    pty.keys("y")?;
    pty.wait("succeeded in", LONG)?;
    pty.keys("5")?;
    pty.wait("2 deploys", SOON)?;
    album.shot(&pty, "history")?;
    pty.keys("v")?;
    pty.wait("1×", SOON)?;
    album.shot(&pty, "failures")?;
    pty.keys("vG\r")?;
    pty.wait("event ", SOON)?;
    pty.keys("{")?;
    pty.wait("event 0", SOON)?;
    pty.keys("x")?;
    pty.wait("create failed", SOON)?;
    album.shot(&pty, "replay")?;
    esc(&mut pty, "event ")?;
    pty.keys("6")?;
    pty.wait("objects", SOON)?;
    pty.keys("/lab_database\r")?;
    pty.wait("  n next", SOON)?;
    esc(&mut pty, "find:")?;
    album.shot(&pty, "state")?;
    pty.keys("7")?;
    pty.wait("following", SOON)?;
    album.shot(&pty, "logs")?;
    pty.keys("0")?;
    pty.wait("to settle", SOON)?;
    album.shot(&pty, "start")?;
    rolling_update(&mut pty, album)?;
    pty.keys("q")?;
    let (code, _) = pty.end(LONG)?;
    ensure!(code == 0, "the console exited with {code}");
    Ok(())
}

/// Configuration of objects that exist before they are ready.
const SLOW: &str = r#"terraform {
  required_providers {
    lab = { source = "flightdeck.internal/bundled/lab" }
  }
}

provider "lab" {
  file = "LAB"
}

resource "lab_bucket" "backups" {
  name = "orders-backups"
}

resource "lab_thing" "search" {
  name     = "search"
  kind     = "index"
  ready_ms = 14000
}

resource "lab_thing" "api" {
  name = "api"
  kind = "searches ${lab_thing.search.name}, which is ${lab_thing.search.status}"
}
"#;

const SLOW_TYPES: &str = r#"type "lab_thing" {
  ready   = self.status == "ready"
  columns = { KIND = self.kind }
  wait {
    interval = "2s"
    timeout  = "2m"
  }
}
"#;

/// Deploys an object that takes time, and then changes it outside of flightdeck.
fn readiness(bin: &Path, album: &Album) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let workspace = dir.path().join("orders");
    let cloud = dir.path().join("cloud.json");
    fs::create_dir(&workspace)?;
    let configuration = SLOW.replace("LAB", &cloud.display().to_string());
    fs::write(workspace.join("main.tf"), configuration)?;
    fs::write(workspace.join("types.flightdeck.hcl"), SLOW_TYPES)?;
    let mut command = CommandBuilder::new(bin);
    command.arg(&workspace);
    command.env_remove("TF_CLI_CONFIG_FILE");
    let variables = [
        ("FLIGHTDECK_THEME", album.theme),
        ("COLORTERM", "truecolor"),
    ];
    let mut pty = Pty::start_with(command, 120, 40, &variables)?;
    pty.wait("● ready", SOON)?;
    pty.keys("3s")?;
    pty.wait("· 3 of 3 selected", LONG)?;
    pty.keys("a")?;
    pty.wait("Apply stage #", SOON)?;
    pty.keys("y")?;
    pty.wait("waiting until ready: 3rd look, next in", LONG)?;
    album.shot(&pty, "readiness-wait")?;
    pty.wait("succeeded in", LONG)?;
    change_outside(&cloud)?;
    pty.keys("6")?;
    pty.wait("● available", SOON)?;
    pty.keys("L")?;
    pty.wait("1 changed outside", LONG)?;
    pty.keys("/lab_thing.search\r")?;
    pty.wait("  n next", SOON)?;
    esc(&mut pty, "find:")?;
    pty.wait("drift: update needed", SOON)?;
    album.shot(&pty, "readiness")?;
    pty.keys("q")?;
    let (code, _) = pty.end(LONG)?;
    ensure!(code == 0, "the console exited with {code}");
    Ok(())
}

/// Changes an object of the lab, as somebody else would.
fn change_outside(cloud: &Path) -> Result<()> {
    let mut all: serde_json::Value = serde_json::from_slice(&fs::read(cloud)?)?;
    let objects = all.get_mut("objects").and_then(|all| all.as_object_mut());
    let mut objects = objects.into_iter().flat_map(|all| all.values_mut());
    let search = objects.find(|object| object["name"] == "search");
    let search = search.ok_or_else(|| eyre!("the lab has no object search"))?;
    search["attributes"]["kind"] = "index (edited by hand)".into();
    fs::write(cloud, serde_json::to_vec(&all)?)?;
    Ok(())
}

/// Rolls a release that is never ready, and waits until the rolling update pauses.
fn rolling_update(pty: &mut Pty, album: &Album) -> Result<()> {
    pty.keys("B")?;
    pty.wait("Cause a fault in the demo", SOON)?;
    pty.keys("9\r")?;
    pty.wait_until(
        |s| s.contains("is v2-broken") && !s.contains("Cause a fault"),
        SOON,
    )?;
    pty.keys("3s")?;
    pty.wait("rolling update of 3", LONG)?;
    pty.keys("a")?;
    pty.wait("Apply stage #", SOON)?;
    pty.keys("y")?;
    pty.wait("waiting for health", LONG)?;
    pty.keys("8")?;
    pty.wait("paused (unhealthy)", LONG)?;
    // The deploy ends soon after, and the rollout waits for the operator.
    pty.wait_until(
        |s| s.contains("✗ unhealthy") && s.contains("✗ deploy #"),
        LONG,
    )?;
    album.shot(pty, "groups")
}

fn narrow(bin: &Path, album: &Album) -> Result<()> {
    let mut pty = album.demo(bin, 80, 24)?;
    pty.wait("gave up", LONG)?;
    pty.keys("g")?;
    pty.wait("shows its log", SOON)?;
    album.shot(&pty, "plugins")?;
    pty.keys("3s")?;
    pty.wait("selected ·", LONG)?;
    album.shot(&pty, "stage")?;
    pty.keys("a")?;
    pty.wait("Apply stage #", SOON)?;
    pty.keys("y")?;
    pty.wait("creating", SOON)?;
    pty.wait("1 running", LONG)?;
    album.shot(&pty, "deploy")?;
    pty.wait("succeeded in", LONG)?;
    pty.keys("q")?;
    let (code, _) = pty.end(LONG)?;
    ensure!(code == 0, "the console exited with {code}");
    Ok(())
}
