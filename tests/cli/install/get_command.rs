//! Tests of `flightdeck get`, which installs modules alone.

use super::https_server::Server;
use super::modules::{manifest, registry};
use super::run;
use crate::support::Workspace;

#[test]
fn get_installs_only_modules() {
    let server = Server::start();
    registry(&server);
    let w = Workspace::new(&[]);
    let main = |version: &str| {
        format!(
            "terraform {{\n  required_providers {{\n    lab = {{ source = \"{0}/acme/none\" }}\n  }}\n}}\nmodule \"app\" {{\n  source  = \"{0}/acme/app/lab\"\n  version = \"{version}\"\n}}\n",
            server.host
        )
    };
    w.write("main.tf", &main("1.0.0"));
    let first = run(&w, &server, &["get", "--json"]).expect(0);
    assert_eq!(first.result()["modules"], 2);
    assert_eq!(manifest(&w)["Modules"][1]["Version"], "1.0.0");
    for left in [".terraform.lock.hcl", ".terraform/providers", ".flightdeck"] {
        assert!(!w.path().join(left).exists(), "{left}");
    }
    // A matching version stays until `-update`.
    w.write("main.tf", &main("~> 1.0"));
    let again = run(&w, &server, &["get"]).expect(0);
    assert_eq!(again.stdout, "Installed: 2 modules.\n");
    assert_eq!(manifest(&w)["Modules"][1]["Version"], "1.0.0");
    run(&w, &server, &["get", "-update"]).expect(0);
    assert_eq!(manifest(&w)["Modules"][1]["Version"], "1.2.0");
    w.write("main.tf", &main("9.0.0"));
    let none = run(&w, &server, &["get"]).expect(1);
    assert!(
        none.stderr.contains("The newest version is 1.2.0"),
        "{none:?}"
    );
}
