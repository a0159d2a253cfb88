//! Tests of `remote-exec`: output, exit codes, and the state of the object.

use super::{read, remote_exec, sshd, tainted};
use serde_json::Value;

#[test]
fn remote_script_runs_with_output_and_is_removed() {
    let Some(s) = sshd() else { return };
    let out = s.path("out");
    let lines = format!(
        "echo $0 > {out}; stat -c %a $0 >> {out}",
        out = out.display()
    );
    let w = s.workspace(&remote_exec(&["echo first", "echo second >&2", &lines], ""));
    let staged = w.run(&["stage"]).expect(0).stdout;
    assert!(
        staged.contains(&format!("runs on {}@127.0.0.1: echo first\n", s.user)),
        "{staged}"
    );
    assert!(!out.exists(), "staging runs nothing");
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let said = read(&out);
    let (path, mode) = said.trim().split_once('\n').unwrap();
    let number = path
        .strip_prefix("/tmp/terraform_")
        .and_then(|p| p.strip_suffix(".sh"));
    assert!(number.is_some_and(|n| n.parse::<u32>().is_ok()), "{path}");
    assert_eq!(mode, "700", "nobody else may change what is about to run");
    assert!(!std::path::Path::new(path).exists());
    let logs = w.run(&["logs", "terraform_data.a"]).expect(0).stdout;
    assert!(
        logs.contains("first") && logs.contains("second") && logs.contains("connected"),
        "{logs}"
    );
    assert_eq!(tainted(&w), Some(false));
}

#[test]
fn failed_remote_script_shows_its_exit_code_and_output_and_taints_the_object() {
    let Some(s) = sshd() else { return };
    let path = s.path("my.sh");
    let connection = s.connection(&format!("    script_path = {path:?}"));
    let w = s.workspace_with(&connection, &remote_exec(&["echo why", "exit 3"], ""));
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stderr.contains("exit status: 3") && run.stderr.contains("why"),
        "{run:?}"
    );
    assert_eq!(tainted(&w), Some(true));
    assert!(!path.exists(), "a script that failed may have secrets too");
    let w = s.workspace(&remote_exec(&["kill -9 $$"], ""));
    assert!(
        w.run(&["deploy", "--auto-approve"])
            .expect(5)
            .stderr
            .contains("signal: KILL")
    );
}

#[test]
fn on_failure_continue_runs_the_next_script_without_taint() {
    let Some(s) = sshd() else { return };
    let out = s.path("out");
    let next = remote_exec(&[&format!("touch {}", out.display())], "");
    let w = s.workspace(&(remote_exec(&["exit 3"], "    on_failure = continue") + &next));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(out.exists());
    assert_eq!(tainted(&w), Some(false));
    let logs = w.run(&["logs", "terraform_data.a"]).expect(0).stdout;
    assert!(
        logs.contains("on_failure = continue") && logs.contains("exit status: 3"),
        "{logs}"
    );

    // `on_failure = continue` also covers errors of the connection.
    let w = s.workspace_with("", &remote_exec(&["true"], "    on_failure = continue"));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let w = s.workspace_with("", &remote_exec(&["true"], ""));
    assert!(
        w.run(&["deploy", "--auto-approve"])
            .expect(5)
            .stderr
            .contains("needs a connection block")
    );
}

#[test]
fn destroy_time_provisioner_can_use_self() {
    let Some(s) = sshd() else { return };
    let out = s.path("out");
    let w = s.workspace(&remote_exec(
        &[&format!("echo gone ${{self.input}} > {}", out.display())],
        "    when = destroy",
    ));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(!out.exists());
    let staged = w.run(&["stage", "--destroy"]).expect(0).stdout;
    assert!(
        staged.contains("127.0.0.1: before it is destroyed: echo gone x"),
        "{staged}"
    );
    w.run(&["deploy", "--destroy", "--auto-approve"]).expect(0);
    assert_eq!(read(&out), "gone x\n");
    assert_eq!(tainted(&w), None);

    let w = s.workspace(&remote_exec(&["exit 4"], "    when = destroy"));
    w.run(&["deploy", "--auto-approve"]).expect(0);
    w.run(&["deploy", "--destroy", "--auto-approve"]).expect(5);
    assert_eq!(tainted(&w), Some(false), "it is still there");
}

#[test]
fn output_of_a_remote_script_with_secrets_is_redacted_in_every_encoding() {
    let Some(s) = sshd() else { return };
    let script = remote_exec(&["echo ${var.s} | rev; echo ${var.s}; exit 3"], "");
    let w = s.workspace(&script);
    w.write(
        "variables.tf",
        "variable \"s\" {\n  sensitive = true\n  default   = \"qxz-hunter\"\n}\n",
    );
    let run = w
        .run(&["deploy", "--auto-approve", "--json", "--log-level", "trace"])
        .expect(5);
    let others =
        [&["logs"][..], &["failures"], &["history", "1"]].map(|args| w.run(args).expect(0).stdout);
    for text in others.iter().chain([&run.stdout, &run.stderr]) {
        assert!(!text.contains("qxz") && !text.contains("zxq"), "{text}");
    }
    assert!(
        others[0].contains("output redacted") && run.stdout.contains("exit status: 3"),
        "{run:?}"
    );

    // The connection's sensitive values are hidden only where they appear literally.
    let connection = s.connection("    password = var.s");
    let w = s.workspace_with(&connection, &remote_exec(&["echo to be read"], ""));
    w.write(
        "variables.tf",
        "variable \"s\" {\n  ephemeral = true\n  default   = \"qxz-hunter\"\n}\n",
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let logs = w.run(&["logs"]).expect(0).stdout;
    assert!(
        logs.contains("to be read") && !logs.contains("qxz"),
        "{logs}"
    );
}

#[test]
fn scripts_are_local_files_run_by_their_interpreter_line() {
    let Some(s) = sshd() else { return };
    let w = s.workspace(
        "  provisioner \"remote-exec\" {\n    scripts = [\"sub/plain\", \"sub/with\"]\n  }\n",
    );
    w.write(
        "sub/plain",
        &format!("echo plain $0 > {}\n", s.path("plain").display()),
    );
    w.write(
        "sub/with",
        &format!("#!/bin/cat\n{}\n", "x".repeat(200_000)),
    );
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(read(s.path("plain")).starts_with("plain /tmp/terraform_"));
    assert!(
        w.run(&["logs", "terraform_data.a"])
            .expect(0)
            .stdout
            .contains("#!/bin/cat")
    );
    for (script, why) in [
        ("none", "Cannot read the script"),
        ("empty", "Nothing to run: "),
    ] {
        let w = s.workspace(&format!(
            "  provisioner \"remote-exec\" {{\n    script = {script:?}\n  }}\n"
        ));
        w.write("empty", "");
        let run = w.run(&["deploy", "--auto-approve"]).expect(5);
        assert!(run.stderr.contains(why), "{run:?}");
    }
}

#[test]
fn remote_provisioners_are_announced_with_their_host() {
    let Some(s) = sshd() else { return };
    let copies = "  provisioner \"file\" {\n    content = var.s\n    destination = \"/tmp/${var.s}-${self.id}\"\n  }\n";
    let here = "  provisioner \"local-exec\" {\n    command = \"true\"\n  }\n";
    let w = s.workspace_with(
        "  connection {\n    host = self.output\n    user = var.s\n  }\n",
        &(remote_exec(&["echo ${var.s}", "echo ${self.input}"], "") + copies + here),
    );
    w.write(
        "variables.tf",
        "variable \"s\" {\n  sensitive = true\n  default   = \"qxz-hunter\"\n}\n",
    );
    let staged = w.run(&["stage", "--json"]).expect(0);
    assert!(!staged.stdout.contains("qxz"), "{staged:?}");
    let all = staged.result()["commands"].clone();
    let host = "(sensitive value)@a host (known after apply)";
    let parts =
        |at: usize| [&all[at]["command"], &all[at]["host"], &all[at]["copies"]].map(Clone::clone);
    assert_eq!(
        parts(0),
        [
            Value::from("echo (sensitive value)\necho x"),
            host.into(),
            Value::Null
        ]
    );
    let copy = "inline content as /tmp/(sensitive value)-(known after apply)";
    assert_eq!(parts(1), [Value::from(copy), host.into(), true.into()]);
    assert_eq!(parts(2), [Value::from("true"), Value::Null, Value::Null]);
    let text = w.run(&["stage"]).expect(0).stdout;
    assert!(
        text.contains(&format!("copies to {host}: inline content as")),
        "{text}"
    );
}
