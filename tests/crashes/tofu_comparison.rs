//! Comparison with `tofu`: if `FLIGHTDECK_TOFU` names one, its plan must find no changes in the
//! final workspace, with the same provider.

use crate::workspace::AttackedWorkspace;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

/// Returns an error unless `tofu` plans no changes on the final state.
pub(crate) fn assert_tofu_plans_no_changes(world: &AttackedWorkspace) -> Result<(), String> {
    let Some(tofu) = std::env::var_os("FLIGHTDECK_TOFU").filter(|name| !name.is_empty()) else {
        return Ok(());
    };
    let settings = provider(world);
    // `tofu` requires a manifest even for a local module, and flightdeck has not written one.
    run(&tofu, world, &settings, &["get", "-no-color"])?;
    let plan = ["plan", "-no-color", "-input=false", "-detailed-exitcode"];
    run(&tofu, world, &settings, &plan)
}

fn run(
    tofu: &OsStr,
    world: &AttackedWorkspace,
    settings: &OsStr,
    args: &[&str],
) -> Result<(), String> {
    let done = Command::new(tofu)
        .args(args)
        .current_dir(world.workspace.path())
        .env("TF_CLI_CONFIG_FILE", settings)
        .env("CHECKPOINT_DISABLE", "1")
        .output();
    let Output {
        status,
        stdout,
        stderr,
    } = done.map_err(|e| format!("tofu does not run: {e}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!(
            "tofu {args:?} ended with {:?}: {}{}",
            status.code(),
            String::from_utf8_lossy(&stdout),
            String::from_utf8_lossy(&stderr)
        )),
    }
}

/// Installs the bundled lab as a provider for `tofu` next to the workspace; returns the CLI
/// configuration.
fn provider(world: &AttackedWorkspace) -> OsString {
    let folder = world.workspace.path().join(".lab");
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("terraform-provider-lab");
    let served = env!("CARGO_BIN_EXE_flightdeck");
    std::fs::write(
        &program,
        format!("#!/bin/sh\nexec {served} plugin serve lab\n"),
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let settings = folder.join("settings.tofurc");
    let text = format!(
        "provider_installation {{\n  dev_overrides {{\n    \"flightdeck.internal/bundled/lab\" = {folder:?}\n  }}\n  direct {{}}\n}}\n"
    );
    std::fs::write(&settings, text).unwrap();
    settings.into_os_string()
}
