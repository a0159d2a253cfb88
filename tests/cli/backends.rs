//! Tests of states in an http backend, from the command line, on a server of the tests.

use crate::lab_deploys::{Lab, Running, has_ended};
use crate::server::{Server, Trouble};
use crate::support::Workspace;

fn configuration(server: &Server, input: &str) -> String {
    format!(
        "terraform {{\n  backend \"http\" {{\n    address = {:?}\n    lock_address = {:?}\n    unlock_address = {:?}\n    retry_max = 0\n  }}\n}}\nresource \"terraform_data\" \"a\" {{ input = {input:?} }}\noutput \"o\" {{ value = terraform_data.a.output }}\n",
        server.url("/s"),
        server.url("/s"),
        server.url("/s"),
    )
}

fn text(server: &Server) -> String {
    String::from_utf8(server.state().unwrap_or_default()).unwrap()
}

const HOLDER: &str = r#"{"ID":"7-8","Operation":"OperationTypeApply","Info":"","Who":"root@vm","Version":"1.12.6","Created":"2026-11-21T23:17:44.10290803Z","Path":""}"#;

#[test]
fn deploy_writes_the_state_to_an_http_backend_and_initializes_the_directory() {
    let server = Server::start();
    let w = Workspace::new(&[("main.tf", configuration(&server, "one").as_str())]);
    let run = w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(
        run.stderr
            .contains("initialized this directory for the backend \"http\""),
        "{run:?}"
    );
    let state = text(&server);
    assert!(state.contains("\"one\""), "{state}");
    assert_eq!(server.lock(), None);
    assert!(!w.path().join("terraform.tfstate").exists());
    let record = w.read(".terraform/terraform.tfstate");
    assert!(record.contains("\"type\": \"http\""), "{record}");
    let run = w.run(&["stage"]).expect(0);
    assert!(run.stdout.contains("no changes"), "{run:?}");
    assert!(!run.stderr.contains("initialized"), "once: {run:?}");
    // Another address is another backend, and nothing is migrated without a flag.
    let other = configuration(&server, "one").replace("/s\"", "/t\"");
    w.write("main.tf", &other);
    let run = w.run(&["stage"]).expect(1);
    assert!(
        run.stderr.contains("changed since this directory"),
        "{run:?}"
    );
    assert!(
        w.run(&["state", "list"])
            .expect(1)
            .stderr
            .contains("changed since")
    );
}

#[test]
fn foreign_lock_exits_with_4_unless_waited_for() {
    let server = Server::start();
    let w = Workspace::new(&[("main.tf", configuration(&server, "one").as_str())]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    server.set_lock(HOLDER);
    let run = w.run(&["stage"]).expect(4);
    for part in ["root@vm", "version 1.12.6", "since 2026-11-21", "lock 7-8"] {
        assert!(run.stderr.contains(part), "{part}: {run:?}");
    }
    // Release the lock after two attempts to take it.
    std::thread::scope(|scope| {
        let asked = server.methods().len();
        let waiting = scope.spawn(|| w.run(&["stage", "--lock-timeout", "10m"]));
        while server.methods().len() < asked + 2 {
            std::thread::yield_now();
        }
        server.unlock();
        let run = waiting.join().unwrap().expect(0);
        assert!(run.stderr.contains("waiting up to"), "{run:?}");
    });
    let run = w.run(&["stage", "--lock-timeout", "soon"]).expect(1);
    assert!(run.stderr.contains("expected a duration"), "{run:?}");
}

#[test]
fn state_refused_by_the_server_is_recorded_and_written_by_the_next_command() {
    let server = Server::start();
    let w = Workspace::new(&[("main.tf", configuration(&server, "one").as_str())]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let before = text(&server);
    w.write("main.tf", &configuration(&server, "two"));
    // The server rejects writes after it has granted the lock.
    server.trouble("POST", &[Trouble::Code(403); 8]);
    let run = w.run(&["deploy", "--auto-approve"]).expect(5);
    assert!(
        run.stderr
            .contains("denies access with these credentials (code 403)"),
        "{run:?}"
    );
    assert!(run.stderr.contains("The store has all results"), "{run:?}");
    assert_eq!(text(&server), before);
    assert_eq!(server.lock(), None, "the lock is given back all the same");
    server.at_ease();
    let run = w.run(&["stage"]).expect(0);
    assert!(
        run.stderr.contains("had not been written to http://"),
        "{run:?}"
    );
    assert!(run.stdout.contains("no changes"), "{run:?}");
    assert!(text(&server).contains("\"two\""));
}

#[test]
fn outputs_of_another_state_are_read_from_its_backend() {
    let server = Server::start();
    let up = Workspace::new(&[("main.tf", configuration(&server, "one").as_str())]);
    up.run(&["deploy", "--auto-approve"]).expect(0);
    let down = format!(
        "data \"terraform_remote_state\" \"up\" {{\n  backend = \"http\"\n  config  = {{ address = {:?} }}\n}}\noutput \"got\" {{ value = data.terraform_remote_state.up.outputs.o }}\n",
        server.url("/s")
    );
    let w = Workspace::new(&[("main.tf", down.as_str())]);
    let run = w.run(&["stage"]).expect(0);
    assert!(run.stdout.contains("+ output got = \"one\""), "{run:?}");
    server.trouble("GET", &[Trouble::Code(403)]);
    let run = w.run(&["stage"]).expect(1);
    assert!(
        run.stderr
            .contains("denies access with these credentials (code 403)"),
        "{run:?}"
    );
}

#[test]
fn next_command_after_a_kill_takes_over_the_lock_and_writes_the_state() {
    let server = Server::start();
    let slow = "resource \"terraform_data\" \"b\" {\n  input = terraform_data.a.output\n  provisioner \"local-exec\" {\n    command = \"touch begun; sleep 900\"\n  }\n}\n";
    let text_of = configuration(&server, "one") + slow;
    let w = Workspace::new(&[("main.tf", text_of.as_str())]);
    let mut deploy = w.command(&["deploy", "--auto-approve"]).spawn().unwrap();
    let begun = w.path().join("begun");
    while !begun.exists() {
        assert!(deploy.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    deploy.kill().unwrap();
    deploy.wait().unwrap();
    assert!(server.lock().is_some(), "the lock is there still");
    let run = w.run(&["stage"]);
    assert!(run.stderr.contains("removed the stale lock"), "{run:?}");
    assert!(text(&server).contains("\"name\":\"a\""), "{run:?}");
    assert_eq!(server.lock(), None);
}

#[test]
fn unused_plugin_ends_while_the_state_is_written() {
    let server = Server::start();
    let lab = Lab::new("resource \"lab_bucket\" \"a\" {\n  name = \"a\"\n}\n");
    let backend = configuration(&server, "one");
    lab.workspace.write("backend.tf", &backend);
    server.trouble("POST", &[Trouble::DoAndHang; 8]);
    let mut running = Running::start(&lab);
    let plugin = running.until_applying();
    assert!(has_ended(plugin), "the plugin is there still");
    assert!(server.lock().is_some(), "the deploy has not ended");
    running.signal(rustix::process::Signal::KILL);
    running.end();
}
