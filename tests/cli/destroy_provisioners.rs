//! Tests of destroy-time provisioners of an interrupted destroy: success is recorded, and the
//! command is not run a second time for the same object.

use crate::lab_deploys::{Lab, Running};
use crate::server::Server;
use crate::support::Run;
use bundled::lab::control::{self, Fault, Kind, On};

/// Destroy-time command that records its run, and then runs `more`.
fn command(word: &str, more: &str) -> String {
    format!(
        "  provisioner \"local-exec\" {{\n    when    = destroy\n    command = \"echo {word} >> calls{more}\"\n  }}\n"
    )
}

fn thing(arguments: &str, provisioners: &str) -> String {
    format!("resource \"lab_thing\" \"a\" {{\n  name = \"a\"\n{arguments}\n{provisioners}}}\n")
}

/// Lab with one deployed object that has these provisioners.
fn deployed(text: &str) -> Lab {
    let lab = Lab::new(text);
    lab.deploy().expect(0);
    lab
}

/// Makes deletes slower than any test.
fn slow_delete(lab: &Lab) {
    lab.set_fault(Fault {
        on: On::Delete,
        ms: Some(3_600_000),
        ..Fault::new(Kind::Latency)
    });
}

const DESTROY: [&str; 3] = ["destroy", "--auto-approve", "--json"];

/// Kills a run during its delete, after the destroy-time commands have ended.
fn killed_in_the_delete(lab: &Lab, words: &[&str]) {
    slow_delete(lab);
    let mut running = Running::run(lab, words);
    running.until_applying();
    running.signal(rustix::process::Signal::KILL);
    running.end();
    control::clear_all(&lab.file()).unwrap();
}

fn calls(lab: &Lab) -> Vec<String> {
    let text = std::fs::read_to_string(lab.workspace.path().join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn destroy(lab: &Lab) -> Run {
    lab.run(&["destroy", "--auto-approve"])
}

fn output_text(run: &Run) -> String {
    format!("{}{}", run.stdout, run.stderr)
}

#[test]
fn successful_command_before_a_kill_is_not_run_again_and_is_reported() {
    let lab = deployed(&thing("", &command("drained", "")));
    killed_in_the_delete(&lab, &DESTROY);
    let run = destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["drained"]);
    assert!(
        output_text(&run).contains("the local-exec provisioner 1 of lab_thing.a does not run again: it succeeded in deploy #2 at 20"),
        "{run:?}"
    );
    let logs = lab.run(&["logs", "lab_thing.a"]).expect(0).stdout;
    assert!(logs.contains("does not run again"), "{logs}");
    assert!(control::objects(&lab.file()).unwrap().is_empty());
    // A new object at the same address runs its commands again, even with the same content.
    lab.deploy().expect(0);
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["drained", "drained"]);
}

#[test]
fn only_unfinished_commands_of_several_are_run_again() {
    let slow = "; [ -e quick ] || sleep 3600";
    let blocks = command("first", "") + &command("second", slow) + &command("third", "");
    let lab = deployed(&thing("", &blocks));
    let mut running = Running::run(&lab, &DESTROY);
    running.read_until(|e| e["type"] == "plugin_log" || calls(&lab).len() == 2);
    while calls(&lab).len() < 2 {
        std::thread::yield_now();
    }
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let listed = output_text(&lab.run(&["state", "list"]).expect(0));
    assert!(
        listed.contains(
            "The local-exec provisioner 2 of lab_thing.a in deploy #2 has no recorded outcome"
        ) && listed.contains("The next destroy of the object runs this provisioner again")
            && listed.contains("flightdeck state untaint lab_thing.a"),
        "{listed}"
    );
    lab.workspace.write("quick", "");
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["first", "second", "second", "third"]);
    assert!(!output_text(&lab.run(&["history"]).expect(0)).contains("provisioner 2"));
}

#[test]
fn operator_can_mark_an_unknown_command_as_done() {
    let lab = deployed(&thing("", &command("begun", "; sleep 3600")));
    let mut running = Running::run(&lab, &DESTROY);
    running.read_until(|_| !calls(&lab).is_empty());
    running.signal(rustix::process::Signal::KILL);
    running.end();
    let run = lab
        .run(&["state", "untaint", "lab_thing.a", "--json"])
        .expect(0);
    assert_eq!(
        run.result()["state_changes"][0]["settled"][0],
        "local-exec provisioner 1 in deploy #2"
    );
    let again = lab.run(&["state", "untaint", "lab_thing.a"]).expect(1);
    assert!(again.stderr.contains("not tainted"), "{again:?}");
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["begun"]);
}

#[test]
fn destroy_half_of_a_replacement_continues_after_its_commands() {
    let block = command("drained", "");
    let lab = deployed(&thing("  triggers = { v = \"1\" }", &block));
    lab.workspace
        .write("main.tf", &thing("  triggers = { v = \"2\" }", &block));
    killed_in_the_delete(&lab, &["deploy", "--auto-approve", "--json"]);
    lab.deploy().expect(0);
    assert_eq!(calls(&lab), ["drained"]);
    destroy(&lab).expect(0);
    assert_eq!(
        calls(&lab),
        ["drained", "drained"],
        "the new object has its own"
    );
}

#[test]
fn create_before_destroy_runs_no_command_for_the_old_object() {
    let block = command("drained", "") + "  lifecycle {\n    create_before_destroy = true\n  }\n";
    let lab = deployed(&thing("  triggers = { v = \"1\" }", &block));
    killed_in_the_delete(&lab, &DESTROY);
    assert_eq!(calls(&lab), ["drained"]);
    lab.workspace
        .write("main.tf", &thing("  triggers = { v = \"2\" }", &block));
    lab.deploy().expect(0);
    assert_eq!(
        calls(&lab),
        ["drained"],
        "the reference engine runs none here"
    );
    destroy(&lab).expect(0);
    assert_eq!(
        calls(&lab),
        ["drained", "drained"],
        "what ran for the old object says nothing of the new one"
    );
}

#[test]
fn failed_destroy_runs_all_its_commands_again() {
    let blocks = command("first", "") + &command("second", "; test -e allowed");
    let lab = deployed(&thing("", &blocks));
    destroy(&lab).expect(5);
    lab.workspace.write("allowed", "");
    lab.set_fault(Fault {
        on: On::Delete,
        ..Fault::new(Kind::Permanent)
    });
    destroy(&lab).expect(5);
    control::clear_all(&lab.file()).unwrap();
    destroy(&lab).expect(0);
    assert_eq!(
        calls(&lab),
        ["first", "second", "first", "second", "first", "second"]
    );
}

#[test]
fn plugin_crash_and_second_signal_interrupt_a_destroy() {
    let blocks = command("first", "") + &command("second", "; [ -e quick ] || sleep 3600");
    let lab = deployed(&thing("", &blocks));
    let mut running = Running::run(&lab, &DESTROY);
    running.read_until(|_| calls(&lab).len() == 2);
    running.signal(rustix::process::Signal::INT);
    running.signal(rustix::process::Signal::TERM);
    assert_eq!(running.end().0, Some(130));
    lab.workspace.write("quick", "");
    lab.set_fault(Fault {
        on: On::Delete,
        ..Fault::new(Kind::Crash)
    });
    destroy(&lab).expect(5);
    control::clear_all(&lab.file()).unwrap();
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["first", "second", "second"]);
}

#[test]
fn updated_object_and_changed_command_run_again() {
    let blocks = command("same", "") + &command("old", "");
    let lab = deployed(&thing("", &blocks));
    killed_in_the_delete(&lab, &DESTROY);
    let blocks = command("new", "") + &command("same", "");
    lab.workspace.write("main.tf", &thing("", &blocks));
    killed_in_the_delete(&lab, &DESTROY);
    assert_eq!(calls(&lab), ["same", "old", "new"], "in whichever place");
    for kind in ["one", "two"] {
        let kind = format!("  kind = \"{kind}\"");
        lab.workspace.write("main.tf", &thing(&kind, &blocks));
        lab.deploy().expect(0);
    }
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["same", "old", "new", "new", "same"]);
}

#[test]
fn ignored_failure_and_moved_object_do_not_run_again() {
    let block = "  provisioner \"local-exec\" {\n    when       = destroy\n    on_failure = continue\n    command    = \"echo once >> calls; exit 3\"\n  }\n";
    let lab = deployed(&thing("", block));
    killed_in_the_delete(&lab, &DESTROY);
    let moved = thing("", block).replace("\"a\" {", "\"b\" {")
        + "moved {\n  from = lab_thing.a\n  to   = lab_thing.b\n}\n";
    lab.workspace.write("main.tf", &moved);
    lab.deploy().expect(0);
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["once"]);
}

#[test]
fn command_runs_once_with_a_backend_unless_others_changed_the_state() {
    let server = Server::start();
    let lab = Lab::new("");
    let url = server.url("/s");
    let backend = format!(
        "terraform {{\n  backend \"http\" {{\n    address = {url:?}\n    lock_address = {url:?}\n    unlock_address = {url:?}\n    retry_max = 0\n  }}\n}}\n"
    );
    lab.workspace.write("backend.tf", &backend);
    lab.workspace
        .write("main.tf", &thing("", &command("drained", "")));
    lab.deploy().expect(0);
    killed_in_the_delete(&lab, &DESTROY);
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["drained"]);
    lab.deploy().expect(0);
    killed_in_the_delete(&lab, &DESTROY);
    lab.run(&["state", "list"]).expect(0);
    let text = String::from_utf8(server.state().unwrap()).unwrap();
    let serial = serde_json::from_str::<serde_json::Value>(&text).unwrap()["serial"].clone();
    let later = text.replace(
        &format!("\"serial\":{serial}"),
        &format!("\"serial\":{}", serial.as_i64().unwrap() + 5),
    );
    assert_ne!(later, text, "it is another state now");
    server.set_state(&later);
    destroy(&lab).expect(0);
    assert_eq!(calls(&lab), ["drained", "drained", "drained"]);
}
