//! Tests of signals while the backend's server is slow or silent: the command ends soon, and
//! releases its lock or reports it.

use crate::evaluation_limits::wait_until_busy;
use crate::server::{Server, Trouble};
use crate::support::{Run, Workspace};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::time::{Duration, Instant};

/// Limit for the end of a command after its last signal. It takes a few seconds on an idle machine;
/// a command that waits for the server takes ten minutes.
const SOON: Duration = Duration::from_secs(45);
/// Pause after which a second signal counts.
const BETWEEN: Duration = Duration::from_millis(1500);

/// Kinds of backends on a server of the tests.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Http,
    S3,
}

impl Kind {
    fn start(self) -> (Server, Workspace) {
        let (server, backend) = match self {
            Self::Http => {
                let server = Server::start();
                let url = server.url("/s");
                let text = format!(
                    "backend \"http\" {{\n    address = {url:?}\n    lock_address = {url:?}\n    unlock_address = {url:?}\n  }}"
                );
                (server, text)
            }
            Self::S3 => {
                let server = Server::of_objects();
                let text = format!(
                    "backend \"s3\" {{\n    bucket = \"b\"\n    key = \"s\"\n    region = \"us-east-1\"\n    access_key = \"a\"\n    secret_key = \"b\"\n    use_lockfile = true\n    endpoints = {{ s3 = {:?} }}\n  }}",
                    server.url("")
                );
                (server, text)
            }
        };
        let main = format!(
            "terraform {{\n  {backend}\n}}\nresource \"terraform_data\" \"a\" {{\n  input = \"one\"\n}}\noutput \"o\" {{\n  value = terraform_data.a.output\n}}\n"
        );
        (server, Workspace::new(&[("main.tf", main.as_str())]))
    }

    /// The request that reads the state.
    fn read(self) -> &'static str {
        match self {
            Self::Http => "GET",
            Self::S3 => "GET /s",
        }
    }

    /// The requests that lock, write and unlock.
    fn requests(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Http => ("LOCK", "POST", "UNLOCK"),
            Self::S3 => ("PUT .tflock", "PUT /s", "DELETE .tflock"),
        }
    }

    fn is_locked(self, server: &Server) -> bool {
        match self {
            Self::Http => server.lock().is_some(),
            Self::S3 => server
                .objects()
                .iter()
                .any(|path| path.ends_with(".tflock")),
        }
    }
}

fn signal(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

/// Runs a command, and interrupts it once the server has received this request.
fn run_and_interrupt(
    server: &Server,
    w: &Workspace,
    args: &[&str],
    request: &str,
    signals: u32,
) -> Run {
    let mut child = start_until_request(server, w, args, request);
    signal_and_wait(&mut child, signals);
    Run::from(child.wait_with_output().unwrap())
}

/// Starts a command, and waits until the server has received this request.
fn start_until_request(server: &Server, w: &Workspace, args: &[&str], request: &str) -> Child {
    let before = count(server, request);
    let mut child = w.command(args).spawn().unwrap();
    while count(server, request) == before {
        if child.try_wait().unwrap().is_some() {
            let run = Run::from(child.wait_with_output().unwrap());
            panic!("{args:?} ended before {request}: {run:#?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

/// Sends so many signals and waits for the end of the command.
fn signal_and_wait(child: &mut Child, signals: u32) {
    for n in 0..signals {
        if n > 0 {
            std::thread::sleep(BETWEEN);
        }
        signal(child);
    }
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > SOON {
            child.kill().unwrap();
            panic!("it goes on after {signals} signals");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn count(server: &Server, request: &str) -> usize {
    server.seen().iter().filter(|seen| seen.is(request)).count()
}

/// Id of the unreleased lock that a run reports.
fn reported_lock_id(run: &Run) -> &str {
    let (_, rest) = run
        .stderr
        .split_once("flightdeck force-unlock ")
        .unwrap_or_else(|| panic!("no lock is named: {run:#?}"));
    rest.split('`').next().unwrap()
}

#[test]
fn signal_ends_a_command_that_reads_from_a_slow_server() {
    for kind in [Kind::Http, Kind::S3] {
        let (server, w) = kind.start();
        w.run(&["deploy", "--auto-approve"]).expect(0);
        let all = [
            &["state", "list"][..],
            &["output"],
            &["show"],
            &["stage"],
            &["plan", "-out=p"],
            &["deploy", "--auto-approve"],
            &["destroy", "--auto-approve"],
            &["state", "rm", "terraform_data.a"],
            &["taint", "terraform_data.a"],
            &["state", "use", "record"],
            &["plugins"],
            &["providers"],
        ];
        let mut all: Vec<_> = all.map(|args| (args, kind.read())).into();
        if kind == Kind::S3 {
            all.push((&["workspace", "list"], "GET /"));
        }
        for (args, read) in all {
            for trouble in [Trouble::Drip, Trouble::Hang] {
                server.trouble(read, &[trouble; 9]);
                let run = run_and_interrupt(&server, &w, args, read, 1);
                server.at_ease();
                let what = format!("{kind:?} {trouble:?} {args:?}: {run:#?}");
                assert_eq!(run.code, Some(130), "{what}");
                assert!(!kind.is_locked(&server), "{what}");
            }
        }
        w.run(&["stage"]).expect(0);
    }
}

#[test]
fn unanswered_lock_request_is_released_or_reported() {
    for kind in [Kind::Http, Kind::S3] {
        let (lock, _, unlock) = kind.requests();
        let (server, w) = kind.start();
        w.run(&["deploy", "--auto-approve"]).expect(0);
        server.trouble(lock, &[Trouble::DoAndHang]);
        let run = run_and_interrupt(&server, &w, &["stage"], lock, 1);
        assert_eq!(run.code, Some(130), "{kind:?}: {run:#?}");
        assert!(!kind.is_locked(&server), "{kind:?}: {run:#?}");
        // The unlock request is not answered either.
        server.trouble(lock, &[Trouble::DoAndHang; 9]);
        server.trouble(unlock, &[Trouble::Hang; 9]);
        let run = run_and_interrupt(&server, &w, &["stage"], lock, 1);
        assert_eq!(run.code, Some(130), "{kind:?}: {run:#?}");
        server.at_ease();
        let id = reported_lock_id(&run).to_owned();
        w.run(&["force-unlock", "--force", &id]).expect(0);
        assert!(!kind.is_locked(&server), "{kind:?}: {run:#?}");
    }
}

#[test]
fn foreign_lock_stays_when_a_command_is_interrupted() {
    let (server, w) = Kind::Http.start();
    let other = r#"{"ID":"7-8","Operation":"x","Info":"","Who":"root@vm","Version":"1","Created":"2026-11-21T23:17:44Z","Path":""}"#;
    server.set_lock(other);
    let run = run_and_interrupt(&server, &w, &["stage", "--lock-timeout", "10m"], "LOCK", 1);
    assert_eq!(run.code, Some(130), "{run:#?}");
    assert_eq!(server.lock().as_deref(), Some(other));
}

#[test]
fn unanswered_write_is_abandoned_at_the_second_signal_and_the_lock_released() {
    for kind in [Kind::Http, Kind::S3] {
        let (_, write, unlock) = kind.requests();
        for answers in [true, false] {
            let (server, w) = kind.start();
            server.trouble(write, &[Trouble::DoAndHang; 9]);
            let mut child = start_until_request(&server, &w, &["deploy", "--auto-approve"], write);
            if !answers {
                server.trouble(unlock, &[Trouble::Hang; 9]);
            }
            signal_and_wait(&mut child, 2);
            let run = Run::from(child.wait_with_output().unwrap());
            server.at_ease();
            assert_ne!(run.code, Some(0), "{kind:?}: {run:#?}");
            assert!(run.stderr.contains("The store has "), "{kind:?}: {run:#?}");
            if !answers {
                let id = reported_lock_id(&run).to_owned();
                w.run(&["force-unlock", "--force", &id]).expect(0);
            }
            assert!(!kind.is_locked(&server), "{kind:?}: {run:#?}");
            // The outcomes are recorded, and the next command writes them to the backend.
            let run = w.run(&["stage"]).expect(0);
            assert!(run.stdout.contains("no changes"), "{kind:?}: {run:#?}");
        }
    }
}

#[test]
fn creation_of_a_workspace_ends_at_a_signal_and_releases_its_lock() {
    let (server, w) = Kind::S3.start();
    w.run(&["stage"]).expect(0);
    server.trouble("PUT /dev/s", &[Trouble::DoAndHang; 9]);
    let run = run_and_interrupt(&server, &w, &["workspace", "new", "dev"], "PUT /dev/s", 1);
    assert_eq!(run.code, Some(130), "{run:#?}");
    assert!(!Kind::S3.is_locked(&server), "{run:#?}");
}

#[test]
fn third_signal_reports_the_remaining_lock() {
    let (server, w) = Kind::Http.start();
    server.trouble("POST", &[Trouble::Hang; 9]);
    let mut child = start_until_request(&server, &w, &["deploy", "--auto-approve"], "POST");
    server.trouble("UNLOCK", &[Trouble::Hang; 9]);
    signal_and_wait(&mut child, 3);
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130), "{run:#?}");
    let id = reported_lock_id(&run).to_owned();
    server.at_ease();
    w.run(&["force-unlock", "--force", &id]).expect(0);
    assert_eq!(server.lock(), None);
}

#[test]
fn signal_ends_the_key_derivation_of_a_state() {
    let block = "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"sixteen letters!\"\n      iterations = 200000\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    state {\n      method = method.aes_gcm.m\n    }\n  }\n}\nresource \"terraform_data\" \"a\" {}\n";
    let w = Workspace::new(&[("main.tf", block)]);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    let before = w.read("terraform.tfstate");
    let mut envelope: serde_json::Value = serde_json::from_str(&before).unwrap();
    let asks = |envelope: &mut serde_json::Value, iterations: u64, key_length: u64| {
        let how = format!(
            "{{\"salt\":\"AAAA\",\"iterations\":{iterations},\"hash_function\":\"sha512\",\"key_length\":{key_length}}}"
        );
        envelope["meta"]["key_provider.pbkdf2.k"] = STANDARD.encode(how).into();
        w.write("terraform.tfstate", &envelope.to_string());
    };
    // Key derivation that takes several minutes.
    asks(&mut envelope, 200_000_000, 32);
    for args in [&["state", "list"][..], &["stage"], &["output"]] {
        let mut child = w.command(args).spawn().unwrap();
        wait_until_busy(&child);
        signal_and_wait(&mut child, 1);
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{args:?}: {run:#?}");
    }
    asks(&mut envelope, 600_000, u64::MAX);
    for args in [&["state", "list"][..], &["stage"]] {
        let run = w.run(args).expect(1);
        assert!(run.stderr.contains("too long to derive"), "{run:#?}");
    }
}

#[test]
fn refused_write_fails_the_deploy_which_nobody_cancelled() {
    let server = Server::start();
    let url = server.url("/s");
    let object = |number: usize| {
        let after = match number {
            0 => String::new(),
            _ => format!("depends_on = [terraform_data.o{}]", number - 1),
        };
        format!(
            "resource \"terraform_data\" \"o{number}\" {{\n  {after}\n  provisioner \"local-exec\" {{\n    command = \"sleep 1\"\n  }}\n}}\n"
        )
    };
    let objects: String = (0..6).map(object).collect();
    let main = format!(
        "terraform {{\n  backend \"http\" {{\n    address = {url:?}\n    retry_max = 0\n  }}\n}}\n{objects}"
    );
    let w = Workspace::new(&[("main.tf", main.as_str())]);
    w.run(&["init"]).expect(0);
    // Also the first write is refused.
    server.trouble(
        "POST",
        &[Trouble::Code(403), Trouble::Code(403), Trouble::Code(403)],
    );
    let mut command = w.command(&["deploy", "--auto-approve"]);
    let run = Run::from_command(command.env("FLIGHTDECK_STATE_EVERY_S", "1")).expect(5);
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(shown.contains("Deploy #1 failed"), "{shown}");
    assert!(shown.contains("not attempted"), "{shown}");
}
