//! Trust by what runs: a hook whose file changes, and a command that is new in the reconcile loop,
//! need a new decision.

use crate::Lab;
use crate::groups::{SERVERS, group};
use crate::support::Workspace;
use std::os::unix::fs::PermissionsExt as _;

/// Writes a script that appends its word to `ran`, beside the workspace.
fn script(lab: &Lab, name: &str, word: &str) {
    let ran = lab.workspace.path().parent().unwrap().join("ran");
    let text = format!("#!/bin/sh\necho {word} >> '{}'\n", ran.display());
    lab.workspace.write(name, &text);
    let path = lab.workspace.path().join(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn take_ran(lab: &Lab) -> String {
    let ran = lab.workspace.path().parent().unwrap().join("ran");
    let text = std::fs::read_to_string(&ran).unwrap_or_default();
    std::fs::remove_file(&ran).ok();
    text
}

fn deploy(lab: &Lab, kind: &str, more: &[&str]) -> crate::support::Run {
    let kind = format!("kind={kind}");
    let args = ["deploy", "--auto-approve", "--var", &kind];
    lab.workspace.run(&[&args[..], more].concat())
}

#[test]
fn hook_whose_file_changes_needs_a_new_decision() {
    let lab = Lab::new(&SERVERS.replace("= 3", "= 1"));
    lab.workspace
        .write("local.tf", "locals {\n  script = \"drain.sh\"\n}\n");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let table = [
        ("[\"./drain.sh\"]", "drain.sh"),
        ("[\"${path.module}/drain.sh\"]", "drain.sh"),
        ("[\"sh\", \"${path.root}/drain.sh\"]", "drain.sh"),
        ("[\"./${local.script}\"]", "drain.sh"),
        ("[\"./${member.key}.sh\"]", "0.sh"),
        ("[\"./hooks/${group.name}.sh\"]", "hooks/web.sh"),
        ("[format(\"./%s.sh\", \"drain\")]", "drain.sh"),
        ("[\"./dr\\u0061in.sh\"]", "drain.sh"),
        ("[\"./my drain.sh\"]", "my drain.sh"),
        ("[\"./a=b.sh\"]", "a=b.sh"),
        ("concat([\"sh\"], [abspath(\"drain.sh\")])", "drain.sh"),
        ("[\"sh\", \"-c\", \"./drain.sh ${self.id}\"]", "drain.sh"),
        ("[\"./drain.sh\", self.id, timestamp()]", "drain.sh"),
    ];
    for (n, (command, file)) in table.into_iter().enumerate() {
        script(&lab, file, "one");
        let drain = format!("    drain {{\n      command = {command}\n    }}");
        lab.workspace.write("web.flightdeck.hcl", &group(&drain));
        deploy(&lab, &format!("a{n}"), &["--trust-workspace"]).expect(0);
        assert_eq!(take_ran(&lab), "one\n", "{command}");
        deploy(&lab, &format!("b{n}"), &[]).expect(0);
        assert_eq!(take_ran(&lab), "one\n", "{command} does not change");
        script(&lab, file, "two");
        let run = deploy(&lab, &format!("c{n}"), &[]).expect(3);
        assert!(
            run.stderr.contains("has changed since"),
            "{command}: {run:?}"
        );
        assert_eq!(take_ran(&lab), "", "{command}");
    }
}

#[test]
fn hook_that_is_swapped_during_a_rollout_does_not_run() {
    let lab = Lab::new(&SERVERS.replace("= 3", "= 2"));
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    // The first drain replaces the script of the second.
    let ran = lab.workspace.path().parent().unwrap().join("ran");
    let text = format!(
        "#!/bin/sh\necho one >> '{0}'\nprintf '#!/bin/sh\\necho swapped >> \"{0}\"\\n' > drain.new\nchmod +x drain.new\nmv drain.new drain.sh\n",
        ran.display()
    );
    script(&lab, "drain.sh", "one");
    lab.workspace.write("drain.sh", &text);
    let drain = "    drain {\n      command = [\"./drain.sh\"]\n    }";
    lab.workspace.write("web.flightdeck.hcl", &group(drain));
    // Trusted by a stage of one member that does not run it.
    let trusted = deploy(
        &lab,
        "v2",
        &["--trust-workspace", "--target", "lab_thing.web[0]"],
    );
    trusted.expect(0);
    assert_eq!(take_ran(&lab), "one\n");
    lab.workspace.write("drain.sh", &text);
    let run = deploy(&lab, "v3", &[]);
    assert_ne!(run.code, Some(0), "{run:?}");
    assert_eq!(take_ran(&lab), "one\n", "{run:?}");
}

#[test]
fn untrusted_health_command_ends_the_wait_at_once() {
    for reaction in ["pause", "continue"] {
        let lab = Lab::new(&SERVERS.replace("= 3", "= 1"));
        lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
        let ran = lab.workspace.path().parent().unwrap().join("ran");
        // With the marker, the first poll replaces the script that the second one would run.
        let text = format!(
            "#!/bin/sh\n[ -e ../marker ] || exit 0\necho one >> '{0}'\nprintf '#!/bin/sh\\necho swapped >> \"{0}\"\\n' > new\nchmod +x new\nmv new health.sh\nexit 1\n",
            ran.display()
        );
        script(&lab, "health.sh", "one");
        lab.workspace.write("health.sh", &text);
        let health = format!(
            "    on_unhealthy = \"{reaction}\"\n    health {{\n      command = [\"./health.sh\"]\n      interval = \"50ms\"\n      timeout = \"10m\"\n    }}"
        );
        lab.workspace.write("web.flightdeck.hcl", &group(&health));
        deploy(&lab, "v2", &["--trust-workspace"]).expect(0);
        std::fs::write(ran.with_file_name("marker"), "").unwrap();
        let began = std::time::Instant::now();
        let run = deploy(&lab, "v3", &[]);
        let took = began.elapsed();
        assert!(took < std::time::Duration::from_secs(60), "{run:?}");
        assert_eq!(run.code, Some(3), "{run:?}");
        for part in ["./health.sh", "--trust-workspace", "is not trusted"] {
            assert!(run.stderr.contains(part), "{part}: {run:?}");
        }
        assert_eq!(take_ran(&lab), "one\n", "{run:?}");
    }
}

#[test]
fn loop_runs_no_command_that_a_later_version_adds() {
    let thing = |body: &str| {
        format!(
            "locals {{\n  tool = \"one\"\n}}\nresource \"lab_thing\" \"web\" {{\n  count = 2\n  name  = \"web-${{count.index}}\"\n{body}}}\n"
        )
    };
    let provisioner = |command: &str| {
        format!("  provisioner \"local-exec\" {{\n    command = \"{command}\"\n  }}\n")
    };
    let lab = Lab::new(&thing(""));
    script(&lab, "tool.sh", "tool");
    let group = "group \"web\" {\n  instance = lab_thing.web\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";
    lab.workspace.write("web.flightdeck.hcl", group);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let run = |more: &[&str]| {
        let words = [&["reconcile", "--once", "--json"], more].concat();
        let run = lab.workspace.run(&words).expect(0);
        let found = run.lines().into_iter().find(|e| e["type"] == "reconcile");
        (found.unwrap(), run.stderr + &run.stdout)
    };
    let delete = || {
        let id = crate::reconcile::id(&lab, "web-1");
        bundled::lab::control::delete_object(&lab.file(), &id).unwrap();
    };
    let trusted = provisioner("sh ./tool.sh ${self.id}");
    lab.configure(&thing(&trusted));
    delete();
    let (found, stderr) = run(&["--trust-workspace"]);
    assert_eq!(found["outcome"], "repaired", "{found}");
    assert!(stderr.contains("local-exec of lab_thing.web: "), "{stderr}");
    assert_eq!(take_ran(&lab), "tool\n");
    delete();
    assert_eq!(run(&[]).0["outcome"], "repaired");
    assert_eq!(take_ran(&lab), "tool\n");
    delete();
    let at_destroy = provisioner("touch ../ran").replace("command", "when = destroy\n    command");
    for changed in [
        thing(&provisioner("sh ./tool.sh ${self.id}; touch ../ran")),
        thing(&format!("{trusted}{}", provisioner("touch ../ran"))),
        thing(&format!("{trusted}{at_destroy}")),
        thing(&provisioner("${self.id}")),
        thing(&trusted.replace(
            "command",
            "interpreter = [\"/bin/bash\", \"-c\"]\n    command",
        )),
    ] {
        lab.configure(&changed);
        let (found, _) = run(&[]);
        assert_eq!(found["outcome"], "drifted", "{changed}: {found}");
        assert_eq!(take_ran(&lab), "", "{changed}");
    }
    // The same text, and other contents.
    lab.configure(&thing(&trusted));
    script(&lab, "tool.sh", "changed");
    assert_eq!(run(&[]).0["outcome"], "drifted");
    script(&lab, "tool.sh", "tool");
    assert_eq!(run(&[]).0["outcome"], "repaired");
    take_ran(&lab);
    // A value of an object that becomes a command, in a text that is the same.
    let kind = |kind: &str| {
        let text = provisioner("echo ${self.kind} >> ../ran");
        thing(&format!("  kind = {kind:?}\n{text}"))
    };
    delete();
    lab.configure(&kind("a-1"));
    assert_eq!(run(&["--trust-workspace"]).0["outcome"], "repaired");
    assert_eq!(take_ran(&lab), "a-1\n");
    delete();
    lab.configure(&kind("a; touch ../evil"));
    let (found, output) = run(&[]);
    assert_eq!(found["outcome"], "failed", "{found}");
    assert!(output.contains("Command is not trusted"), "{output}");
    assert!(!lab.workspace.path().join("../evil").exists());
    assert_eq!(take_ran(&lab), "");
}

#[test]
fn loop_starts_no_process_that_a_later_version_names() {
    let process = |count: u32, more: &str| {
        format!(
            "terraform {{\n  required_providers {{\n    local = {{ source = \"flightdeck.internal/bundled/local\" }}\n  }}\n}}\nresource \"local_process\" \"web\" {{\n  count    = {count}\n  command  = [\"sh\", \"${{[\"good.sh\", \"evil.sh\"][count.index]}}\"]\n  log_file = \"log${{count.index}}\"\n{more}}}\n"
        )
    };
    let group = "group \"web\" {\n  instance = local_process.web\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";
    let w = Workspace::new(&[
        ("main.tf", &process(1, "")),
        ("web.flightdeck.hcl", group),
        ("good.sh", "echo good >> ran\nexec sleep 600\n"),
        ("evil.sh", "echo evil >> ran\nexec sleep 600\n"),
    ]);
    let run = |more: &[&str]| {
        let words = [&["reconcile", "--once", "--json"], more].concat();
        let run = w.run(&words).expect(0);
        let found = run.lines().into_iter().find(|e| e["type"] == "reconcile");
        found.unwrap()["outcome"].as_str().unwrap().to_owned()
    };
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let kill = || {
        let state: serde_json::Value = serde_json::from_str(&w.read("terraform.tfstate")).unwrap();
        let pid = &state["resources"][0]["instances"][0]["attributes"]["pid"];
        let pid = rustix::process::Pid::from_raw(pid.as_i64().unwrap() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    };
    kill();
    assert_eq!(run(&["--trust-workspace"]), "repaired");
    kill();
    assert_eq!(run(&[]), "repaired", "its command is the trusted one");
    let bash = "  environment = { BASH_ENV = \"evil.sh\" }\n";
    for (count, more) in [(2, ""), (1, bash)] {
        w.write("main.tf", &process(count, more));
        assert_eq!(run(&[]), "drifted", "{count} {more}");
    }
    w.write("main.tf", &process(1, ""));
    w.write("good.sh", "echo evil >> ran\n");
    kill();
    assert_eq!(run(&[]), "drifted", "its script has another content");
    let ran = w.read("ran");
    w.write("main.tf", &process(1, ""));
    w.run(&["destroy", "--auto-approve"]).expect(0);
    assert_eq!(ran, "good\ngood\ngood\n");
}

#[test]
fn linked_file_and_module_beside_the_workspace_belong_to_it() {
    let lab = Lab::new(SERVERS);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    let here = lab.workspace.path();
    let outside = here.parent().unwrap();
    let drain = "    drain {\n      command = [\"touch\", \"../ran\"]\n    }";
    std::fs::write(outside.join("shared.hcl"), group(drain)).unwrap();
    let link = lab.workspace.path().join("web.flightdeck.hcl");
    std::os::unix::fs::symlink("../shared.hcl", &link).unwrap();
    deploy(&lab, "v2", &[]).expect(3);
    assert_eq!(take_ran(&lab), "");
    // A policy in a called module outside of the workspace.
    std::fs::remove_file(&link).unwrap();
    std::fs::create_dir(outside.join("module")).unwrap();
    std::fs::write(outside.join("module/main.tf"), "").unwrap();
    let policy = "type \"lab_thing\" {\n  reconcile {\n    mode = \"enforce\"\n  }\n}\n";
    std::fs::write(outside.join("module/t.flightdeck.hcl"), policy).unwrap();
    lab.configure(&format!(
        "{SERVERS}module \"m\" {{\n  source = \"../module\"\n}}\n"
    ));
    lab.workspace.run(&["init"]).expect(0);
    let id = crate::reconcile::id(&lab, "web-1");
    bundled::lab::control::delete_object(&lab.file(), &id).unwrap();
    let run = lab
        .workspace
        .run(&["reconcile", "--once", "--json"])
        .expect(0);
    assert!(run.stdout.contains("needs your trust"), "{run:?}");
    assert_eq!(crate::reconcile::names(&lab), ["web-0", "web-2"]);
}
