//! Tests of `plugin dev` with a provider whose build is a copy.

use crate::support::Workspace;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const MAIN: &str = r#"
terraform {
  required_providers {
    fake = { source = "acme/fake" }
  }
}
resource "fake_thing" "a" {
  name = "first"
}
"#;

/// Script that has a mistake unless it is an `exec`.
const BUILD: &str = "grep -q exec provider.sh && cp provider.sh terraform-provider-fake && chmod +x terraform-provider-fake";

fn source(w: &Workspace, behaviour: &str) {
    let script = format!(
        "#!/bin/sh\nexec {:?} {behaviour}\n",
        env!("CARGO_BIN_EXE_fake-plugin")
    );
    w.write("provider/provider.sh", &script);
}

/// Running `plugin dev`, which is killed at the end of the test.
struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        // The process may have ended.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

const WORDS: [&str; 7] = [
    "plugin",
    "dev",
    "provider",
    "--build",
    BUILD,
    "--binary",
    "terraform-provider-fake",
];

#[track_caller]
fn wait_for(path: &Path, text: &str) {
    let until = Instant::now() + Duration::from_secs(240);
    loop {
        let shown = std::fs::read_to_string(path).unwrap();
        if shown.contains(text) {
            return;
        }
        assert!(Instant::now() < until, "no {text:?} in\n{shown}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn provider_is_built_and_staged_again_after_each_change() {
    let w = Workspace::new(&[("provider/example/main.tf", MAIN)]);
    source(&w, "good");
    let shown = w.path().join("shown");
    let file = || {
        std::fs::File::options()
            .append(true)
            .create(true)
            .open(&shown)
            .unwrap()
    };
    let mut command = w.command(&WORDS);
    command.stdout(file()).stderr(Stdio::from(file()));
    command.env("FAKE_PLUGIN_DIR", w.path());
    let mut dev = Dev(command.spawn().unwrap());
    wait_for(&shown, "fake_thing.a");
    wait_for(&shown, "waiting for a change");
    // Another schema, which the configuration does not fit.
    source(&w, "answers");
    wait_for(
        &shown,
        "+ resource fake_thing: require_new (string, required)",
    );
    wait_for(&shown, "- resource fake_thing: note");
    wait_for(&shown, "require_new");
    let fitting = MAIN.replace("\"first\"\n", "\"first\"\n  require_new = \"x\"\n");
    w.write("provider/example/main.tf", &fitting);
    wait_for(&shown, "require_new = \"x\"");
    // A failed build ends nothing.
    w.write("provider/provider.sh", "mistake");
    wait_for(&shown, "failed: exit status: 1");
    source(&w, "answers");
    wait_for(&shown, "the stage is the same as before (1 change)");
    let text = std::fs::read_to_string(&shown).unwrap();
    let same = text.matches("the stage is the same as before").count();
    assert_eq!(same, 1, "nothing else has changed\n{text}");
    let pid = rustix::process::Pid::from_child(&dev.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(dev.0.wait().unwrap().code(), Some(0));
}

#[test]
fn workspace_that_does_not_use_the_provider_is_an_error() {
    let w = Workspace::new(&[("provider/example/main.tf", "terraform {}\n")]);
    source(&w, "good");
    let run = w.run(&[&WORDS[..], &["--once"]].concat()).expect(1);
    let said = "uses no provider named \"fake\"";
    assert!(run.stderr.contains(said), "{run:#?}");
    // A failed build ends the command too.
    w.write("provider/provider.sh", "mistake");
    let run = w.run(&[&WORDS[..], &["--once"]].concat()).expect(1);
    assert!(run.stderr.contains("failed: exit status: 1"), "{run:#?}");
}
