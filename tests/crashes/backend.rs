//! Backend of the attacked deploy: a file, a server behind the http backend, or a bucket. Its final
//! state is compared with the lab too.

use crate::parts::{Part, find};
use crate::server::{Server, Trouble};
use crate::support::Workspace;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Kind of backend that all workspaces of a run use.
pub(crate) enum BackendKind {
    File,
    Http,
    /// A bucket of this name on moto.
    S3(Part),
}

const BUCKET: &str = "states";

impl BackendKind {
    /// Backend from `FLIGHTDECK_TEST_HOME`; `None` if this machine has none.
    pub(crate) fn from_environment() -> Option<Self> {
        match std::env::var("FLIGHTDECK_TEST_HOME").as_deref() {
            Err(_) | Ok("" | "file") => Some(Self::File),
            Ok("http") => Some(Self::Http),
            Ok("s3") => Self::on_moto(),
            Ok(other) => panic!("FLIGHTDECK_TEST_HOME={other}: there are file, http, s3"),
        }
    }

    /// One bucket for all workspaces; `None` without moto.
    pub(crate) fn on_moto() -> Option<Self> {
        let Some(program) = find("FLIGHTDECK_TEST_MOTO", "moto_server") else {
            cty::testing::skipped(
                "there is no moto_server on the path, and FLIGHTDECK_TEST_MOTO names none",
            );
            return None;
        };
        let moto = Part::start(|_, port| {
            let mut command = Command::new(program);
            command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
            command
        });
        request(moto.port, "PUT", &format!("/{BUCKET}"));
        Some(Self::S3(moto))
    }

    /// Migrates the state of a workspace to its own place in the backend.
    pub(crate) fn migrate(&self, workspace: &Workspace) -> StateLocation {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (home, block) = match self {
            Self::File => return StateLocation::File,
            Self::Http => {
                let server = Server::start();
                let at = server.url("/s");
                let block = format!(
                    "backend \"http\" {{\n    address = {at:?}\n    lock_address = {at:?}\n    unlock_address = {at:?}\n    retry_max = 0\n  }}"
                );
                (StateLocation::Http(server), block)
            }
            Self::S3(moto) => {
                let key = format!("{}.tfstate", NEXT.fetch_add(1, Ordering::Relaxed));
                let at = format!("http://127.0.0.1:{}", moto.port);
                let block = format!(
                    "backend \"s3\" {{\n    bucket = {BUCKET:?}\n    key = {key:?}\n    region = \"us-east-1\"\n    access_key = \"AKIA\"\n    secret_key = \"s\"\n    use_lockfile = true\n    use_path_style = true\n    skip_credentials_validation = true\n    skip_requesting_account_id = true\n    endpoints = {{ s3 = {at:?} }}\n  }}"
                );
                let port = moto.port;
                (StateLocation::S3 { port, key }, block)
            }
        };
        workspace.write("backend.tf", &format!("terraform {{\n  {block}\n}}\n"));
        workspace
            .run(&["init", "-migrate-state", "-force-copy"])
            .expect(0);
        home
    }
}

/// Place of one workspace's state.
pub(crate) enum StateLocation {
    File,
    Http(Server),
    S3 { port: u16, key: String },
}

impl StateLocation {
    /// Contents of the state.
    fn text(&self, workspace: &Workspace) -> String {
        match self {
            Self::File => workspace.read("terraform.tfstate"),
            Self::Http(server) => String::from_utf8(server.state().unwrap_or_default()).unwrap(),
            Self::S3 { port, key } => request(*port, "GET", &format!("/{BUCKET}/{key}")).1,
        }
    }

    /// Lock information, if the state is locked.
    fn lock(&self) -> Option<String> {
        match self {
            // The system releases the lock with its process.
            Self::File => None,
            Self::Http(server) => server.lock(),
            Self::S3 { port, key } => {
                let (code, word) = request(*port, "GET", &format!("/{BUCKET}/{key}.tflock"));
                (code == 200).then_some(word)
            }
        }
    }

    /// Makes the server answer the next requests slowly or not at all, with or without carrying
    /// them out.
    pub(crate) fn slow_down(&self, how: u64) {
        let Self::Http(server) = self else {
            panic!("FLIGHTDECK_TEST_ATTACK=slow needs FLIGHTDECK_TEST_HOME=http");
        };
        let trouble = [Trouble::Drip, Trouble::Hang, Trouble::DoAndHang][how as usize];
        for method in ["GET", "POST", "LOCK", "UNLOCK"] {
            server.trouble(method, &[trouble; 50]);
        }
    }

    pub(crate) fn at_ease(&self) {
        if let Self::Http(server) = self {
            server.at_ease();
        }
    }

    /// Returns true if a killed process has left its lock there; the next flightdeck takes it over.
    pub(crate) fn is_locked(&self) -> bool {
        self.lock().is_some()
    }

    /// Checks that the state has exactly these objects and is not locked.
    pub(crate) fn assert_objects(
        &self,
        workspace: &Workspace,
        ids: &BTreeSet<&str>,
    ) -> Result<(), String> {
        let text = self.text(workspace);
        let state: Value =
            serde_json::from_str(&text).map_err(|e| format!("what is at home: {e}: {text}"))?;
        let resources = state["resources"].as_array().into_iter().flatten();
        let instances = resources.flat_map(|r| r["instances"].as_array().into_iter().flatten());
        let there: BTreeSet<&str> = instances
            .filter_map(|i| i["attributes"]["id"].as_str())
            .collect();
        if there != *ids {
            let other: Vec<_> = there.symmetric_difference(ids).collect();
            return Err(format!(
                "the state at home and the world differ in {other:?}"
            ));
        }
        match self.lock() {
            None => Ok(()),
            Some(word) => Err(format!("a lock is left: {word}")),
        }
    }
}

/// Any credentials: moto does not check the signature.
const WHO: &str = "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";

/// Sends a request without a body; returns status code and body.
fn request(port: u16, method: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAuthorization: {WHO}\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, body.to_owned())
}
