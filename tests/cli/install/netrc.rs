//! Tests of the netrc file: the hosts that receive its credentials.

use super::archives::zip;
use super::https_server::{Reply, Server};
use super::modules::{LEAF, registry};
use super::run_with;
use crate::support::Workspace;

#[test]
fn netrc_credentials_are_sent_to_archive_hosts_but_not_to_registries() {
    let server = Server::start();
    registry(&server);
    server.answer("/net.zip", Reply::bytes(zip(&[("main.tf", LEAF)])));
    let call = |server: &Server| {
        format!(
            "module \"net\" {{\n  source = \"{}\"\n}}\nmodule \"app\" {{\n  source = \"{}/acme/app/lab\"\n}}\n",
            server.url("/net.zip"),
            server.host
        )
    };
    let w = Workspace::new(&[("main.tf", call(&server).as_str())]);
    let netrc = format!("machine {} login me password sesame\n", server.host);
    w.write("logins", &netrc);
    let logins = w.path().join("logins");
    let variables = [("NETRC", logins.to_str().unwrap())];
    run_with(&w, &server, &["init"], &variables).expect(0);
    let shown = |path: &str| server.headers(path, "authorization");
    let basic = "Basic bWU6c2VzYW1l";
    assert_eq!(shown("/net.zip"), [basic]);
    assert_eq!(shown("/archives/1.2.0.tgz"), [basic]);
    assert_eq!(shown("/modules/acme/app/lab/versions"), [""]);
    // Without `NETRC` the file in the home directory is used. It has no entry for this host, so no
    // credentials are sent.
    let home = w.path().join("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(
        home.join(".netrc"),
        "machine other.example login a password b\n",
    )
    .unwrap();
    let variables = [("HOME", home.to_str().unwrap())];
    run_with(&w, &server, &["get", "-update"], &variables).expect(0);
    assert_eq!(shown("/net.zip"), [basic, ""]);
    // The error of an invalid file names the line and shows none of the contents.
    w.write("logins", "machine a\nsesame\n");
    let variables = [("NETRC", logins.to_str().unwrap())];
    let refused = run_with(&w, &server, &["get", "-update"], &variables).expect(1);
    assert!(
        refused.stderr.contains("line 2") && !refused.stderr.contains("sesame"),
        "{refused:#?}"
    );
}
