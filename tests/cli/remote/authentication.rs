//! Tests of authentication methods and host key checks.

use super::{Sshd, keygen, remote_exec, sshd, sshd_not_listening, tainted};
use crate::support::{Run, Workspace};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

fn workspace_with_connection(s: &Sshd, connection: &str) -> Workspace {
    s.workspace_with(
        connection,
        &remote_exec(&[&format!("touch {}", s.path("out").display())], ""),
    )
}

/// Checks that the connection is accepted and the provisioner runs.
fn assert_connects(s: &Sshd, connection: &str) {
    workspace_with_connection(s, connection)
        .run(&["deploy", "--auto-approve"])
        .expect(0);
    std::fs::remove_file(s.path("out")).unwrap();
}

/// Checks that the connection is refused with this failure class and reason.
fn assert_refused(s: &Sshd, connection: &str, class: &str, why: &str) -> Run {
    let w = workspace_with_connection(s, connection);
    let run = w
        .run(&["deploy", "--auto-approve", "--json", "--log-level", "info"])
        .expect(5);
    let operation =
        w.run(&["history", "1", "--json"]).expect(0).result()["history"][0]["operation_list"][0]
            .clone();
    assert_eq!(operation["failure"]["class"], class, "{operation}");
    assert!(
        operation["failure"]["detail"]
            .as_str()
            .unwrap()
            .contains(why),
        "{operation}"
    );
    assert!(!s.path("out").exists());
    assert_eq!(tainted(&w), Some(true));
    run
}

#[test]
fn keys_of_all_types_and_formats_are_accepted() {
    let Some(s) = sshd() else { return };
    for (name, arguments) in [
        ("rsa", &["-t", "rsa", "-b", "2048"][..]),
        ("rsa-pem", &["-t", "rsa", "-b", "2048", "-m", "PEM"]),
        ("rsa-pkcs8", &["-t", "rsa", "-b", "2048", "-m", "PKCS8"]),
        ("ecdsa", &["-t", "ecdsa"]),
        ("ecdsa-pem", &["-t", "ecdsa", "-b", "384", "-m", "PEM"]),
    ] {
        keygen(&[arguments, &["-N", "", "-f"]].concat(), &s.path(name));
        std::fs::copy(s.path(&format!("{name}.pub")), s.path("authorized")).unwrap();
        assert_connects(
            &s,
            &s.connection_with(&format!(
                "    private_key = file({:?})\n    agent = false",
                s.path(name)
            )),
        );
    }
}

#[test]
fn wrong_key_is_retried_until_the_timeout_and_counts_as_denied() {
    let Some(s) = sshd() else { return };
    let key = |name: &str| {
        s.connection_with(&format!(
            "    private_key = file({:?})\n    agent = false\n    timeout = \"3s\"",
            s.path(name)
        ))
    };
    let run = assert_refused(&s, &key("other"), "denied", "rejected the login");
    assert!(
        run.stdout.matches("no connection yet").count() >= 2,
        "{run:?}"
    );
    // An unusable key is refused without a connection attempt.
    keygen(&["-t", "ed25519", "-N", "secret", "-f"], &s.path("locked"));
    assert_refused(&s, &key("locked"), "bad_input", "protected by a password");
    assert_refused(&s, &key("config"), "bad_input", "the text contains no key");
    assert_refused(
        &s,
        &s.connection_with("    agent = false\n    timeout = \"1s\""),
        "denied",
        "no private_key, password or ssh agent",
    );
}

#[test]
fn certificate_is_accepted_from_a_trusted_authority() {
    let Some(s) = sshd() else { return };
    let (ca, me) = (s.path("ca"), s.user.clone());
    keygen(
        &["-s", ca.to_str().unwrap(), "-I", "me", "-n", &me],
        &s.path("other.pub"),
    );
    let with = |name: &str| {
        let key = format!(
            "    private_key = file({:?})\n    certificate = file({:?})\n    agent = false",
            s.path("other"),
            s.path(name)
        );
        s.connection_with(&key)
    };
    assert_connects(&s, &with("other-cert.pub"));
    assert_refused(
        &s,
        &with("other.pub"),
        "bad_input",
        "is a plain key, not a certificate",
    );
}

#[test]
fn host_key_is_verified_if_given() {
    let Some(s) = sshd() else { return };
    let given = |name: &str| {
        s.connection(&format!(
            "    host_key = file({:?})\n    timeout = \"3s\"",
            s.path(name)
        ))
    };
    assert_connects(&s, &given("host.pub"));
    assert_refused(
        &s,
        &given("other.pub"),
        "bad_input",
        "differs from the configured host key",
    );
    assert_refused(
        &s,
        &s.connection("    host_key = \"nonsense\""),
        "bad_input",
        "configured host key of the SSH host",
    );
}

#[test]
fn host_certificate_is_verified_by_its_authority() {
    let Some(mut s) = sshd_not_listening() else {
        return;
    };
    let ca = s.path("ca");
    keygen(
        &[
            "-s",
            ca.to_str().unwrap(),
            "-I",
            "host",
            "-h",
            "-n",
            "127.0.0.1",
        ],
        &s.path("host.pub"),
    );
    let mut config = std::fs::OpenOptions::new()
        .append(true)
        .open(s.path("config"))
        .unwrap();
    writeln!(
        config,
        "HostCertificate {}",
        s.path("host-cert.pub").display()
    )
    .unwrap();
    s.listen();
    let given = |name: &str| {
        s.connection(&format!(
            "    host_key = file({:?})\n    timeout = \"3s\"",
            s.path(name)
        ))
    };
    assert_connects(&s, &given("ca.pub"));
    assert_connects(&s, &given("host.pub"));
    assert_refused(
        &s,
        &given("other.pub"),
        "bad_input",
        "differs from the configured host key",
    );
}

/// An `ssh-agent` of the test's own.
struct Agent(Child, std::path::PathBuf);

impl Agent {
    fn new(s: &Sshd, keys: &[&str]) -> Self {
        let socket = s.path("agent");
        let mut child = Command::new("ssh-agent")
            .arg("-D")
            .arg("-a")
            .arg(&socket)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        for key in keys {
            let added = Command::new("ssh-add")
                .arg("-q")
                .arg(s.path(key))
                .env("SSH_AUTH_SOCK", &socket)
                .status()
                .unwrap();
            assert!(added.success());
        }
        Self(child, socket)
    }

    fn deploys(&self, w: &Workspace) -> Run {
        let mut command = w.command(&["deploy", "--auto-approve"]);
        Run::from_command(command.env("SSH_AUTH_SOCK", &self.1))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn agent_keys_are_used_and_agent_forwarding_works() {
    let Some(s) = sshd() else { return };
    let agent = Agent::new(&s, &["other", "ca", "id"]);
    let list = format!("ssh-add -l > {}", s.path("list").display());
    for more in [
        "",
        "    agent = true",
        &format!("    agent_identity = {:?}", s.path("id")),
    ] {
        let w = s.workspace_with(&s.connection_with(more), &remote_exec(&[&list], ""));
        agent.deploys(&w).expect(0);
        assert_eq!(
            super::read(s.path("list")).lines().count(),
            3,
            "the agent has three keys"
        );
    }
    // The agent is not used with `agent = false`, or if it does not run.
    let out = agent
        .deploys(&workspace_with_connection(
            &s,
            &s.connection_with("    agent = false\n    timeout = \"1s\""),
        ))
        .expect(5);
    assert!(out.stderr.contains("rejected the login"), "{out:?}");
    let w = workspace_with_connection(&s, &s.connection_with("    agent = true"));
    let output = w
        .command(&["deploy", "--auto-approve"])
        .env_remove("SSH_AUTH_SOCK")
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("SSH_AUTH_SOCK"),
        "{output:?}"
    );
}

#[test]
fn bastion_connects_to_the_host_with_its_own_authentication() {
    let Some(s) = sshd() else { return };
    assert_connects(&s, &s.connection("    bastion_host = \"127.0.0.1\""));
    let more =
        |key: &str| format!("    bastion_host = \"127.0.0.1\"\n    timeout = \"3s\"\n    {key}");
    assert_connects(
        &s,
        &s.connection(&more(&format!(
            "bastion_host_key = file({:?})",
            s.path("host.pub")
        ))),
    );
    assert_refused(
        &s,
        &s.connection(&more(&format!(
            "bastion_host_key = file({:?})",
            s.path("other.pub")
        ))),
        "bad_input",
        "differs from the configured host key",
    );
    assert_refused(
        &s,
        &s.connection(&more(&format!(
            "bastion_private_key = file({:?})",
            s.path("other")
        ))),
        "denied",
        "rejected the login",
    );
    let closed = s.connection(&more("bastion_port = 1"));
    assert_refused(&s, &closed, "transient", "cannot connect to 127.0.0.1:1");
}

#[test]
fn connection_uses_an_http_proxy() {
    let Some(s) = sshd() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, to) = (listener.local_addr().unwrap().port(), s.port);
    let serving = std::thread::spawn(move || {
        let (mut one, _) = listener.accept().unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(one.try_clone().unwrap());
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).unwrap();
        }
        let mut other = TcpStream::connect(("127.0.0.1", to)).unwrap();
        one.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
            .unwrap();
        let (mut from, mut back) = (other.try_clone().unwrap(), one.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut back));
        std::io::copy(&mut reader.by_ref(), &mut other).ok();
        head
    });
    let proxy = format!(
        "    proxy_host = \"127.0.0.1\"\n    proxy_port = {port}\n    proxy_user_name = \"u\"\n    proxy_user_password = \"p\""
    );
    assert_connects(&s, &s.connection(&proxy));
    let head = serving.join().unwrap();
    assert!(
        head.starts_with(&format!("CONNECT 127.0.0.1:{} HTTP/1.1\r\n", s.port)),
        "{head}"
    );
    assert!(
        head.contains("Proxy-Authorization: Basic dTpw\r\n"),
        "{head}"
    );
    let socks = "    proxy_scheme = \"socks5\"\n    proxy_host = \"127.0.0.1\"\n    proxy_port = 1";
    assert_refused(
        &s,
        &s.connection(socks),
        "bad_input",
        "\"socks5\" are not supported",
    );
}

#[test]
fn connection_waits_for_a_host_that_starts_late() {
    let Some(mut s) = sshd_not_listening() else {
        return;
    };
    let w = workspace_with_connection(&s, &s.connection(""));
    let mut child = w
        .command(&["deploy", "--auto-approve", "--json", "--log-level", "info"])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    assert!(
        lines.any(|line| line.contains("no connection yet") && line.contains("cannot connect to"))
    );
    s.listen();
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(s.path("out").exists());
}

#[test]
fn unreachable_host_is_a_transient_failure() {
    let Some(s) = sshd_not_listening() else {
        return;
    };
    let connection = s.connection("    timeout = \"2s\"");
    assert_refused(&s, &connection, "transient", "cannot connect to");
}
