//! Bundled provider as a child process, started as a host starts it.
#![allow(dead_code, clippy::unwrap_used)]

#[path = "../../../sdk/tests/common/mod.rs"]
pub mod common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::Host;
use serde_json::json;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_bundled-plugin");

/// Child process; killed on drop.
pub struct Plugin {
    pub child: Child,
    pub host: Host,
    pub sockets: tempfile::TempDir,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

/// Returns a command with the environment of a host; the third value is the socket directory.
pub fn command(name: &str, lab: &Path, identity: &wire::Identity) -> (Command, tempfile::TempDir) {
    let sockets = tempfile::tempdir().unwrap();
    let mut command = Command::new(PROGRAM);
    command
        .arg(name)
        .env(wire::env::MAGIC_COOKIE_KEY, wire::env::MAGIC_COOKIE_VALUE)
        .env(wire::env::PROTOCOL_VERSIONS, "5,6")
        .env(wire::env::CLIENT_CERT, identity.pem())
        .env(wire::env::UNIX_SOCKET_DIR, sockets.path())
        .env("FLIGHTDECK_LAB_DIR", lab)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    (command, sockets)
}

impl Plugin {
    pub async fn start(name: &str, lab: &Path) -> Plugin {
        let identity = wire::Identity::generate().unwrap();
        let (mut command, sockets) = command(name, lab, &identity);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (sink, mut stderr) = (said.clone(), BufReader::new(child.stderr.take().unwrap()));
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            while stderr.read_line(&mut text).is_ok_and(|read| read > 0) {
                sink.lock().unwrap().push_str(&std::mem::take(&mut text));
            }
        });
        let channel = common::connect(line.trim_end(), Some(&identity))
            .await
            .unwrap();
        Plugin {
            child,
            host: Host::new(channel).await,
            sockets,
            said,
            reader: Some(reader),
        }
    }

    /// Configures a lab with its file in a directory, and the given settings.
    pub async fn lab(folder: &Path, mut config: serde_json::Value) -> Plugin {
        let mut plugin = Plugin::start("lab", folder).await;
        config["file"] = json!(folder.join("lab.json"));
        assert_eq!(plugin.host.configure(config).await, []);
        plugin
    }

    /// Waits for the process to end; returns its exit status and output.
    pub fn ended(&mut self) -> (ExitStatus, String) {
        let status = wait(&mut self.child);
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        (status, self.said.lock().unwrap().clone())
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Waits for a process, with a deadline for slow machines.
pub fn wait(child: &mut Child) -> ExitStatus {
    let deadline = Instant::now() + Duration::from_secs(240);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "the process goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a process that ends by itself; returns exit code, standard output and standard error.
pub fn run(mut command: Command) -> (i32, String, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    (wait(&mut child).code().unwrap(), out, err)
}
