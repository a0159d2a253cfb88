//! Tests of unknown outcomes beside a remote state: a cancelled job leaves them, its checkout is
//! deleted, and the next job in another checkout finds them.

use crate::ci_pipeline::s3_backend;
use crate::lab_deploys::{Lab, Running};
use crate::parts::Part;
use crate::services::{moto, postgres};
use crate::support::Run;
use bundled::lab::control::{Fault, Kind, On};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::Arc;

const THINGS: &str = "resource \"lab_thing\" \"a\" {\n  name = \"first\"\n}\n\
                      resource \"lab_thing\" \"b\" {\n  name = \"second\"\n}\n";

/// Backend block without credentials, and its arguments for `init`.
struct Remote {
    block: String,
    init: Vec<String>,
    /// Runs until it is dropped.
    _service: Arc<Part>,
}

fn s3(bucket: &str) -> Option<Remote> {
    let moto = moto()?;
    Some(Remote {
        block: s3_backend(moto.port, bucket),
        init: ["access_key=AKIA", "secret_key=s"].map(argument).into(),
        _service: moto,
    })
}

fn pg(schema: &str) -> Option<Remote> {
    let server = postgres()?;
    let at = format!(
        "conn_str=postgres://me@127.0.0.1:{}/postgres?sslmode=disable",
        server.port
    );
    Some(Remote {
        block: format!(
            "terraform {{\n  backend \"pg\" {{\n    schema_name = {schema:?}\n  }}\n}}\n"
        ),
        init: vec![argument(&at)],
        _service: server,
    })
}

fn argument(text: &str) -> String {
    format!("-backend-config={text}")
}

impl Remote {
    /// Fresh checkout, as a job has it.
    fn checkout(&self) -> Lab {
        let lab = Lab::new(THINGS);
        lab.workspace.write("backend.tf", &self.block);
        let mut words = vec!["init", "-input=false"];
        words.extend(self.init.iter().map(String::as_str));
        lab.run(&words).expect(0);
        lab
    }
}

/// Cancels a job whose provider does not answer any more.
fn cancel(lab: &Lab) {
    lab.set_fault(Fault {
        on: On::Create,
        ms: Some(600_000),
        ..Fault::new(Kind::Latency)
    });
    let mut command = lab
        .workspace
        .command(&["deploy", "--auto-approve", "--json"]);
    command.env_remove("FLIGHTDECK_SHUTDOWN_TIMEOUT");
    let mut running = Running::of(command);
    let plugin = Pid::from_raw(running.until_applying()).unwrap();
    kill_process(plugin, Signal::STOP).unwrap();
    running.signal(Signal::TERM);
    let (code, result) = running.end();
    assert_eq!(code, Some(130), "{result:#}");
    assert_eq!(result["operations"]["unknown"], 2, "{result:#}");
}

fn says_unknown(run: &Run) -> bool {
    run.stderr.contains("The create of lab_thing.a")
}

#[test]
fn unknown_outcomes_of_a_deleted_checkout_are_found_by_the_next_job() {
    for remote in [s3("outcomes"), pg("outcomes")].into_iter().flatten() {
        let job = remote.checkout();
        cancel(&job);
        drop(job);

        let next = remote.checkout();
        let plan = next.run(&["plan", "-input=false"]).expect(0);
        assert!(says_unknown(&plan), "{plan:?}");
        assert!(plan.stderr.contains("left beside the state"), "{plan:?}");
        let deploy = next.run(&["deploy", "--auto-approve"]);
        assert_ne!(deploy.code, Some(0), "{deploy:?}");
        assert!(
            deploy.stderr.contains("Object may already exist"),
            "{deploy:?}"
        );
        assert!(!next.file().exists(), "nothing was created: {deploy:?}");
        let history = next.run(&["history"]).expect(0);
        assert!(history.stdout.contains("interrupted"), "{history:?}");
        let again = next.run(&["plan", "-input=false"]).expect(0);
        assert!(!again.stderr.contains("left beside"), "once: {again:?}");

        // A third checkout has read them before the second one settles them.
        let third = remote.checkout();
        assert!(says_unknown(&third.run(&["plan"]).expect(0)));
        for address in ["lab_thing.a", "lab_thing.b"] {
            next.run(&["state", "forget", address]).expect(0);
        }
        let plan = third.run(&["plan"]).expect(0);
        assert!(!says_unknown(&plan), "{plan:?}");
        third.run(&["deploy", "--auto-approve"]).expect(0);
        assert!(!says_unknown(&remote.checkout().run(&["plan"]).expect(0)));
    }
}
