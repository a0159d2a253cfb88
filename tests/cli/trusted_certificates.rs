//! Tests of servers with a self-signed certificate, as internal servers often have.

use crate::server::{Secured, Server};
use crate::support::{Run, Workspace};
use rustls::pki_types::PrivateKeyDer;
use std::sync::Arc;

/// Self-signed certificate for `name`, and the TLS configuration of a server with it.
fn self_signed(name: &str) -> (String, Secured) {
    let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (certificate.pem(), Arc::new(config))
}

fn workspace(server: &Server, more: &str) -> Workspace {
    let address = server.url("/s");
    let main = format!(
        "terraform {{\n  backend \"http\" {{\n    address = {address:?}\n    retry_max = 0\n{more}  }}\n}}\noutput \"o\" {{\n  value = \"one\"\n}}\n"
    );
    Workspace::new(&[("main.tf", main.as_str())])
}

/// Deploys with a variable that names the trusted certificates.
fn deploy(w: &Workspace, variable: &str, path: &str) -> Run {
    let mut command = w.command(&["deploy", "--auto-approve"]);
    command
        .env_remove("SSL_CERT_FILE")
        .env_remove("SSL_CERT_DIR")
        .env(variable, path);
    Run::from_command(&mut command)
}

#[test]
fn backend_with_a_trusted_self_signed_certificate_is_accepted() {
    for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
        let (pem, secured) = self_signed("127.0.0.1");
        let server = Server::secured(secured);
        let w = workspace(&server, "");
        // A directory of certificates has file names in OpenSSL's hash format.
        w.write("certificates/01234567.0", &pem);
        let path = match variable {
            "SSL_CERT_FILE" => "certificates/01234567.0",
            _ => "certificates",
        };
        deploy(&w, variable, path).expect(0);
        assert!(server.state().is_some());
    }
    let (pem, secured) = self_signed("127.0.0.1");
    let server = Server::secured(secured);
    let named = format!("    client_ca_certificate_pem = <<-E\n{pem}E\n");
    let w = workspace(&server, &named);
    w.run(&["deploy", "--auto-approve"]).expect(0);
    assert!(server.state().is_some());
}

#[test]
fn trusted_self_signed_certificate_must_match_name_and_bytes() {
    let (other, _) = self_signed("127.0.0.1");
    for (name, trusts_it) in [("elsewhere.internal", true), ("127.0.0.1", false)] {
        let (pem, secured) = self_signed(name);
        let server = Server::secured(secured);
        let w = workspace(&server, "");
        w.write("trusted.pem", if trusts_it { &pem } else { &other });
        let run = deploy(&w, "SSL_CERT_FILE", "trusted.pem").expect(1);
        assert!(run.stderr.contains("certificate"), "{name}: {run:#?}");
        assert!(server.seen().is_empty());
    }
}
