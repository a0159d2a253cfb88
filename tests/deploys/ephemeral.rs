//! Ephemeral resources: opened while staging and again while deploying, renewed meanwhile, closed
//! however it ends, and kept nowhere.

use crate::support::Run;
use crate::{HEAD, Lab};
use providers::lab::control::{Fault, Kind, On};
use providers::lab::sessions;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};

/// A session, and a provider configured with its token.
const SESSION: &str = r#"
ephemeral "lab_session" "s" {
  name = "s"
}
provider "lab" {
  alias  = "inside"
  file   = "lab.json"
  region = startswith(ephemeral.lab_session.s.token, "token-of-") ? "inside" : "outside"
}
"#;

const THING: &str = r#"
resource "lab_thing" "a" {
  provider = lab.inside
  name     = "a"
}
"#;

/// The session with another body.
fn session(body: &str) -> String {
    SESSION.replace("  name = \"s\"\n", body)
}

fn with_thing(more: &str) -> Lab {
    Lab::new(&format!("{SESSION}{THING}{more}"))
}

/// What happened to sessions since this was last asked.
fn log(lab: &Lab) -> Vec<String> {
    let path = sessions(&lab.file());
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    text.lines().map(str::to_owned).collect()
}

fn errors(run: &Run) -> Vec<Value> {
    run.diagnostics()
        .into_iter()
        .filter(|d| d["severity"] == "error")
        .collect()
}

fn line(text: &str) -> u64 {
    text.lines().count() as u64
}

/// Runs the binary, and interrupts it at each line of its output that has one of these words, one
/// after the other.
fn interrupted(lab: &Lab, args: &[&str], words: &[&str]) -> Run {
    let mut child = lab.workspace.command(args).spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let (mut stdout, mut left) = (String::new(), words.iter());
    let mut next = left.next();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if next.is_some_and(|word| line.contains(word)) {
            kill_process(pid, Signal::INT).unwrap();
            next = left.next();
        }
        stdout.push_str(&line);
        stdout.push('\n');
    }
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    let run = Run {
        code: child.wait().unwrap().code(),
        stdout,
        stderr,
    };
    assert!(
        next.is_none() && !run.stderr.contains("panicked"),
        "{next:?}: {run:#?}"
    );
    run
}

#[test]
fn it_is_open_while_something_needs_it_and_kept_nowhere() {
    let lab = with_thing("");
    let plan = lab.workspace.path().join("plan.json");
    let run = lab
        .workspace
        .run(&["stage", "--json", "--plan-json", plan.to_str().unwrap()])
        .expect(0);
    assert_eq!(log(&lab), ["opened s", "closed s"]);
    assert_eq!(run.result()["changes"]["create"], 1);
    let mut texts = vec![run.stdout, std::fs::read_to_string(plan).unwrap()];
    let run = lab
        .workspace
        .run(&["deploy", "1", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(log(&lab), ["opened s", "closed s"], "it is opened anew");
    // The whole of it is shown as calls of the plugin.
    for method in [
        "ValidateEphemeralResourceConfig",
        "OpenEphemeralResource",
        "CloseEphemeralResource",
    ] {
        assert!(
            run.stdout.contains(&format!(
                "\"method\":\"{method}\",\"resource\":\"ephemeral.lab_session.s\""
            )),
            "{method}: {run:#?}"
        );
    }
    texts.push(run.stdout);
    texts.push(lab.workspace.run(&["state", "export"]).expect(0).stdout);
    for folder in [lab.workspace.path().join(".flightdeck")] {
        for file in std::fs::read_dir(folder)
            .unwrap()
            .flatten()
            .filter(|f| f.path().is_file())
        {
            texts.push(String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned());
        }
    }
    assert!(texts.iter().all(|text| !text.contains("token-of-s")));
    assert_eq!(lab.state(), ["lab_thing.a"]);
    // Where nothing is to be done, a deploy needs nothing.
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    assert_eq!(log(&lab), ["opened s", "closed s"]);
}

#[test]
fn it_is_closed_after_a_deploy_that_failed() {
    let lab = with_thing("");
    lab.break_it(Fault {
        on: On::Create,
        name: Some("a".to_owned()),
        ..Fault::new(Kind::Permanent)
    });
    lab.workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(5);
    assert_eq!(log(&lab), ["opened s", "closed s", "opened s", "closed s"]);
}

#[test]
fn it_is_closed_when_the_plan_fails() {
    let lab = with_thing(
        r#"
resource "lab_thing" "b" {
  name = "b"
  lifecycle {
    precondition {
      condition     = ephemeral.lab_session.s.token == "another"
      error_message = "not that one"
    }
  }
}
"#,
    );
    let run = lab.workspace.run(&["stage", "--json"]).expect(1);
    assert_eq!(errors(&run)[0]["detail"], "not that one");
    assert_eq!(log(&lab), ["opened s", "closed s"]);
}

#[test]
fn it_is_closed_when_the_deploy_is_interrupted() {
    let lab = with_thing("");
    lab.break_it(Fault {
        on: On::Create,
        name: Some("a".to_owned()),
        ..Fault::new(Kind::Hang)
    });
    let run = interrupted(
        &lab,
        &["deploy", "--auto-approve", "--json"],
        &["\"creating\""],
    );
    assert_ne!(run.code, Some(0), "{run:#?}");
    assert_eq!(
        log(&lab),
        ["opened s", "closed s", "opened s", "closed s"],
        "{run:#?}"
    );
}

#[test]
fn it_is_closed_when_staging_is_interrupted() {
    let lab = with_thing("");
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    log(&lab);
    lab.break_it(Fault {
        on: On::Read,
        name: Some("a".to_owned()),
        ..Fault::new(Kind::Hang)
    });
    // The session is open by the time that the thing is read.
    let mut child = lab.workspace.command(&["stage", "--json"]).spawn().unwrap();
    let began = std::time::Instant::now();
    while !sessions(&lab.file()).exists() {
        assert!(
            began.elapsed().as_secs() < 300 && child.try_wait().unwrap().is_none(),
            "it is never opened"
        );
        std::thread::yield_now();
    }
    kill_process(
        Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap(),
        Signal::INT,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(log(&lab), ["opened s", "closed s"]);
}

#[test]
fn it_is_renewed_for_as_long_as_something_needs_it() {
    let lab = Lab::new(&format!(
        "{}{THING}",
        session("  name     = \"s\"\n  renew_ms = 200\n")
    ));
    lab.break_it(Fault {
        on: On::Create,
        ms: Some(2000),
        ..Fault::new(Kind::Latency)
    });
    lab.workspace.run(&["stage"]).expect(0);
    log(&lab);
    lab.workspace
        .run(&["deploy", "1", "--auto-approve"])
        .expect(0);
    let log = log(&lab);
    assert_eq!(
        (log[0].as_str(), log.last().unwrap().as_str()),
        ("opened s", "closed s"),
        "{log:?}"
    );
    let renewed = log.iter().filter(|l| *l == "renewed s").count();
    assert!(renewed >= 3 && renewed == log.len() - 2, "{log:?}");
}

#[test]
fn one_that_cannot_be_renewed_or_closed_is_a_warning_and_one_that_cannot_be_opened_an_error() {
    for (call, words) in [
        ("renew", "could not be renewed"),
        ("close", "could not be closed"),
    ] {
        let session = session(&format!(
            "  name     = \"s\"\n  renew_ms = 100\n  fails    = \"{call}\"\n"
        ));
        let lab = Lab::new(&format!("{session}{THING}"));
        lab.break_it(Fault {
            on: On::Create,
            ms: Some(1000),
            ..Fault::new(Kind::Latency)
        });
        let run = lab
            .workspace
            .run(&["deploy", "--auto-approve", "--json"])
            .expect(0);
        let told = run.diagnostics();
        let warning = told
            .iter()
            .find(|d| d["summary"].as_str().unwrap().contains(words))
            .unwrap_or_else(|| panic!("{told:#?}"));
        assert_eq!(warning["severity"], "warning");
        assert_eq!(warning["address"], "ephemeral.lab_session.s");
        assert_eq!(lab.objects(), ["lab_thing.a"]);
    }
    let lab = Lab::new(&format!(
        "{}{THING}",
        session("  name  = \"s\"\n  fails = \"open\"\n")
    ));
    let run = lab.workspace.run(&["stage", "--json"]).expect(1);
    let errors = errors(&run);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_eq!(errors[0]["address"], "ephemeral.lab_session.s");
    assert_eq!(errors[0]["range"]["start"]["line"], line(HEAD) + 2);
    assert_eq!(log(&lab), Vec::<String>::new());
}

#[test]
fn one_that_needs_what_is_to_be_made_is_opened_with_the_deploy() {
    let waiting = session("  name = lab_thing.base.name == \"base\" ? \"s\" : \"t\"\n");
    let lab = Lab::new(&format!(
        "resource \"lab_thing\" \"base\" {{ name = \"base\" }}\n{waiting}{THING}"
    ));
    lab.workspace.run(&["stage"]).expect(0);
    assert_eq!(
        log(&lab),
        Vec::<String>::new(),
        "its name is known, and yet it waits"
    );
    lab.workspace
        .run(&["deploy", "1", "--auto-approve"])
        .expect(0);
    assert_eq!(log(&lab), ["opened s", "closed s"]);
    lab.workspace.run(&["stage"]).expect(0);
    assert_eq!(
        log(&lab),
        ["opened s", "closed s"],
        "nothing is pending any more"
    );
    lab.workspace
        .run(&["deploy", "--destroy", "--auto-approve"])
        .expect(0);
    let log = log(&lab);
    assert_eq!(
        log,
        ["opened s", "closed s", "opened s", "closed s"],
        "the provider needs it for destroying"
    );
    assert_eq!(lab.objects(), Vec::<String>::new());
}

#[test]
fn one_that_another_one_needs_is_closed_after_it() {
    let lab = with_thing(
        r#"
ephemeral "lab_session" "inner" {
  provider = lab.inside
  count    = 2
  name     = "inner${count.index}"
}
ephemeral "lab_session" "each" {
  for_each   = toset(["x"])
  name       = "${each.key}-${length(ephemeral.lab_session.inner)}"
  depends_on = [ephemeral.lab_session.inner]
}
resource "lab_thing" "b" {
  name = "b"
  lifecycle {
    precondition {
      condition     = ephemeral.lab_session.inner[1].token == "token-of-inner1" && ephemeral.lab_session.each["x"].name == "x-2"
      error_message = "no"
    }
  }
}
"#,
    );
    lab.workspace.run(&["stage"]).expect(0);
    let log = log(&lab);
    let at = |text: &str| {
        log.iter()
            .position(|l| l == text)
            .unwrap_or_else(|| panic!("{text}: {log:?}"))
    };
    assert_eq!(log.len(), 8, "{log:?}");
    assert!(
        at("opened s") < at("opened inner0") && at("opened inner1") < at("opened x-2"),
        "{log:?}"
    );
    assert!(
        at("closed x-2") < at("closed inner0") && at("closed x-2") < at("closed inner1"),
        "{log:?}"
    );
    assert_eq!(at("closed s"), 7, "{log:?}");
}

#[test]
fn targets_open_what_they_need_alone() {
    let lab = with_thing(
        "ephemeral \"lab_session\" \"t\" { name = \"t\" }\nresource \"lab_thing\" \"b\" { name = \"b\" }\n",
    );
    lab.workspace
        .run(&["stage", "--target", "lab_thing.b"])
        .expect(0);
    assert_eq!(log(&lab), Vec::<String>::new());
    lab.workspace
        .run(&["stage", "--target", "lab_thing.a"])
        .expect(0);
    assert_eq!(log(&lab), ["opened s", "closed s"]);
    let run = lab
        .workspace
        .run(&["stage", "--exclude", "ephemeral.lab_session.s", "--json"])
        .expect(0);
    assert_eq!(
        log(&lab),
        ["opened t", "closed t"],
        "what needs the other one is left out"
    );
    assert_eq!(run.result()["changes"]["create"], 1);
    lab.workspace.run(&["deploy", "--auto-approve"]).expect(0);
    log(&lab);
    lab.workspace
        .run(&[
            "deploy",
            "--destroy",
            "--auto-approve",
            "--target",
            "lab_thing.a",
        ])
        .expect(0);
    assert_eq!(log(&lab), ["opened s", "closed s", "opened s", "closed s"]);
    assert_eq!(lab.objects(), ["lab_thing.b"]);
}

#[test]
fn its_conditions_are_asked_before_and_after_it_is_opened() {
    let with = |block: &str| {
        format!(
            "ephemeral \"lab_session\" \"s\" {{\n  name = \"s\"\n  lifecycle {{\n    {block} {{\n      condition = "
        )
    };
    for (block, condition, opened) in [
        ("precondition", "var.no", false),
        ("postcondition", "self.token == \"x\" || var.no", true),
    ] {
        let lab = Lab::new("");
        let head = with(block);
        lab.configure(&format!(
            "variable \"no\" {{ default = false }}\n{head}{condition}\n      error_message = \"not so\"\n    }}\n  }}\n}}\n"
        ));
        let run = lab.workspace.run(&["stage", "--json"]).expect(1);
        let errors = errors(&run);
        assert_eq!(
            (errors.len(), &errors[0]["detail"]),
            (1, &Value::from("not so")),
            "{errors:#?}"
        );
        assert_eq!(
            log(&lab),
            if opened {
                vec!["opened s", "closed s"]
            } else {
                vec![]
            },
            "{block}"
        );
    }
}

#[test]
fn its_values_flow_through_what_is_ephemeral_and_are_refused_elsewhere() {
    let module = "variable \"token\" { ephemeral = true }\noutput \"token\" {\n  value = \"<${var.token}>\"\n  ephemeral = true\n}\n";
    let flow = r#"
locals { token = ephemeral.lab_session.s.token }
module "m" {
  source = "./m"
  token  = local.token
}
resource "lab_thing" "b" {
  name = "b"
  note = local.token
  provisioner "local-exec" {
    command     = "printf '%s' \"$TOKEN\" > seen"
    environment = { TOKEN = module.m.token }
  }
}
output "nothing" {
  value     = ephemeralasnull(module.m.token)
  sensitive = true
}
"#;
    let lab = with_thing(flow);
    lab.workspace.write("m/main.tf", module);
    let run = lab
        .workspace
        .run(&["deploy", "--auto-approve", "--json"])
        .expect(0);
    assert_eq!(
        std::fs::read_to_string(lab.workspace.path().join("seen")).unwrap(),
        "<token-of-s>"
    );
    assert!(!run.stdout.contains("token-of-s"), "{run:#?}");
    let refused = [
        (
            "resource \"lab_thing\" \"b\" {\n  name = ephemeral.lab_session.s.token\n}\n",
            2,
        ),
        (
            "data \"lab_image\" \"i\" {\n  family = ephemeral.lab_session.s.token\n}\n",
            2,
        ),
        (
            "output \"o\" {\n  value = ephemeral.lab_session.s.name\n}\n",
            2,
        ),
        (
            "module \"m\" {\n  source = \"./n\"\n  token  = ephemeral.lab_session.s.token\n}\n",
            3,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name  = \"b\"\n  count = length(ephemeral.lab_session.s.token)\n}\n",
            3,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name     = each.key\n  for_each = toset([ephemeral.lab_session.s.token])\n}\n",
            3,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name = ephemeral.lab_session.s.tokn\n}\n",
            2,
        ),
        (
            "resource \"lab_thing\" \"b\" {\n  name = ephemeral.lab_session.t.token\n}\n",
            2,
        ),
        ("ephemeral \"lab_session\" \"t\" {\n  nam = \"t\"\n}\n", 2),
        (
            "ephemeral \"lab_session\" \"t\" {\n  name  = \"t\"\n  count = length(ephemeral.lab_session.s.token)\n}\n",
            3,
        ),
    ];
    for (text, at) in refused {
        let lab = with_thing(text);
        lab.workspace.write("n/main.tf", "variable \"token\" {}\n");
        for command in [&["validate", "--json"][..], &["stage", "--json"]] {
            let errors = errors(&lab.workspace.run(command).expect(1));
            let lines: Vec<&Value> = errors
                .iter()
                .map(|e| &e["range"]["start"]["line"])
                .collect();
            let wanted = Value::from(line(HEAD) + line(SESSION) + line(THING) + at);
            assert!(lines.contains(&&wanted), "{text}: {errors:#?}");
        }
        assert_eq!(log(&lab), Vec::<String>::new(), "{text}");
    }
}
