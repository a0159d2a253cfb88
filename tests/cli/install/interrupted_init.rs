//! Test of an interrupted installation, which must leave no partial files.

use super::https_server::{Reply, Server};
use crate::support::Workspace;
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn signal_ends_the_installation_without_partial_files() {
    let server = Server::start();
    server.answer("/slow.zip", Reply::unanswered());
    let source = server.url("/slow.zip");
    let text = format!("module \"m\" {{\n  source = \"{source}\"\n}}\n");
    let w = Workspace::new(&[("main.tf", &text)]);
    let mut command = w.command(&["init"]);
    command.env("SSL_CERT_FILE", server.certificate());
    let running = command.spawn().unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_secs(300);
    while server.requested_paths().is_empty() {
        assert!(std::time::Instant::now() < until, "nothing was asked for");
        std::thread::yield_now();
    }
    let pid = Pid::from_raw(i32::try_from(running.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let folder = w.path().join(".terraform/modules");
    let left: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
