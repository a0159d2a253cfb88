//! Tests of provisioners on another machine: a real `sshd` on this one, run by the tests' user,
//! with its own port and keys. Without an `sshd` the tests print that they are skipped.

mod authentication;
mod file_provisioner;
mod remote_exec;
mod stopped_deploys;

use crate::support::Workspace;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Keys, configuration and port, with or without a running server.
pub(super) struct Sshd {
    dir: TempDir,
    pub(super) port: u16,
    pub(super) user: String,
    server: Option<Child>,
}

/// Path of `sshd`, if it exists.
fn program() -> Option<PathBuf> {
    let found = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"]
        .iter()
        .map(PathBuf::from)
        .find(|p| p.exists());
    if found.is_none() {
        cty::testing::skipped("no sshd on this machine (openssh-server brings it)");
    }
    found
}

/// Listening server, or `None` without `sshd`.
pub(super) fn sshd() -> Option<Sshd> {
    let mut sshd = sshd_not_listening()?;
    sshd.listen();
    Some(sshd)
}

/// Server that does not listen yet.
pub(super) fn sshd_not_listening() -> Option<Sshd> {
    program()?;
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for name in ["host", "id", "other", "ca"] {
        keygen(&["-t", "ed25519", "-N", "", "-f"], &path(name));
    }
    std::fs::copy(path("id.pub"), path("authorized")).unwrap();
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    if user == "root" {
        // Directory for privilege separation, which a service manager creates elsewhere.
        std::fs::create_dir_all("/run/sshd").unwrap();
    }
    let at = dir.path().display();
    let text = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {at}/host\nPidFile {at}/pid\nAuthorizedKeysFile {at}/authorized\n\
         TrustedUserCAKeys {at}/ca.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin yes\nPrintMotd no\nPrintLastLog no\nMaxStartups 100\n"
    );
    std::fs::write(path("config"), text).unwrap();
    Some(Sshd {
        port,
        user,
        server: None,
        dir,
    })
}

pub(super) fn keygen(arguments: &[&str], file: &Path) {
    assert!(
        Command::new("ssh-keygen")
            .arg("-q")
            .args(arguments)
            .arg(file)
            .status()
            .unwrap()
            .success()
    );
}

impl Sshd {
    pub(super) fn listen(&mut self) {
        let mut command = Command::new(program().unwrap());
        command
            .args(["-D", "-e", "-f"])
            .arg(self.path("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap())
            .lines()
            .map_while(Result::ok);
        assert!(
            lines.any(|line| line.contains("Server listening")),
            "sshd does not listen"
        );
        // Read and discard later output, so that the server never blocks on its pipe.
        std::thread::spawn(move || lines.for_each(drop));
        self.server = Some(child);
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A `connection` block with these further lines.
    pub(super) fn connection(&self, more: &str) -> String {
        self.connection_with(&format!(
            "    private_key = file({:?})\n    agent = false\n{more}",
            self.path("id")
        ))
    }

    /// A `connection` block without any credentials.
    pub(super) fn connection_with(&self, more: &str) -> String {
        let (port, user) = (self.port, &self.user);
        let timeout = if more.contains("timeout") {
            ""
        } else {
            "    timeout = \"30s\"\n"
        };
        format!(
            "  connection {{\n    host = \"127.0.0.1\"\n    port = {port}\n    user = {user:?}\n{timeout}{more}\n  }}\n"
        )
    }

    /// Workspace with one object: its connection and provisioners.
    pub(super) fn workspace(&self, provisioners: &str) -> Workspace {
        self.workspace_with(&self.connection(""), provisioners)
    }

    pub(super) fn workspace_with(&self, connection: &str, provisioners: &str) -> Workspace {
        Workspace::new(&[(
            "main.tf",
            &format!(
                "resource \"terraform_data\" \"a\" {{\n  input = \"x\"\n{connection}{provisioners}}}\n"
            ),
        )])
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().ok();
            server.wait().ok();
        }
    }
}

/// A `remote-exec` provisioner with these lines and further arguments.
pub(super) fn remote_exec(lines: &[&str], more: &str) -> String {
    format!("  provisioner \"remote-exec\" {{\n    inline = {lines:?}\n{more}\n  }}\n")
}

/// Returns `Some(tainted)` if the object is in the state.
pub(super) fn tainted(w: &Workspace) -> Option<bool> {
    let state: serde_json::Value =
        serde_json::from_str(&w.run(&["state", "export"]).expect(0).stdout).unwrap();
    let instance = state["resources"][0]["instances"][0].clone();
    (!instance.is_null()).then(|| instance["status"] == "tainted")
}

pub(super) fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path.as_ref())
        .unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()))
}
