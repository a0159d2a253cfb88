//! Test of a plugin shipped in the workspace: the console asks for trust before the launch.

use crate::console_workspace::*;
use crate::pty::Pty;
use portable_pty::CommandBuilder;
use std::os::unix::fs::PermissionsExt;

#[test]
fn workspace_plugin_is_launched_only_after_typed_trust() {
    let w = Workspace::new("acme/lab");
    let arch = if cfg!(target_arch = "aarch64") {
        "arm64"
    } else {
        "amd64"
    };
    let folder = w.path().join(format!(
        "terraform.d/plugins/registry.opentofu.org/acme/lab/1.0.0/linux_{arch}"
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let plugin = folder.join("terraform-provider-lab_v1.0.0");
    let launched = w.path().join("launched");
    std::fs::write(
        &plugin,
        format!("#!/bin/sh\ntouch {launched:?}\nexec {FLIGHTDECK} plugin serve lab\n"),
    )
    .unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let home = tempfile::tempdir().unwrap();
    let console = || {
        let mut command = CommandBuilder::new(FLIGHTDECK);
        command.arg(w.path());
        command.env_remove("TF_CLI_CONFIG_FILE");
        command.env("XDG_DATA_HOME", home.path());
        Pty::start(command, 120, 40).unwrap()
    };
    let mut c = console();
    c.wait("Launch the plugins shipped in this workspace?", SOON)
        .unwrap();
    c.wait("h1:", SOON).unwrap();
    c.keys("\u{1b}").unwrap();
    c.wait_until(|screen| !screen.contains("Launch the plugins"), SOON)
        .unwrap();
    // A stage needs the plugin, and the console asks again.
    c.keys("3s").unwrap();
    c.wait("Launch the plugins shipped in this workspace?", SOON)
        .unwrap();
    assert!(!launched.exists(), "nobody has said yes");
    c.keys("trust\r").unwrap();
    c.keys("1").unwrap();
    c.wait("● ready", SOON).unwrap();
    assert!(launched.exists());
    c.keys("q").unwrap();
    assert_eq!(c.end(SOON).unwrap().0, 0);

    // The decision is stored.
    let mut c = console();
    c.wait("● ready", SOON).unwrap();
    c.keys("q").unwrap();
    assert_eq!(c.end(SOON).unwrap().0, 0);
}
