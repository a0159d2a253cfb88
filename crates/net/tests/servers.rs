//! Handshakes with a server over an in-memory pipe: accepted and rejected certificates.

#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use net::{Roots, any_server, client, verifier};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConnection, ServerConfig, ServerConnection};
use std::sync::Arc;

const NAME: &str = "server.internal";

struct Server {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn params() -> CertificateParams {
    CertificateParams::new(vec![NAME.to_owned()]).unwrap()
}

fn authority() -> CertificateParams {
    let mut params = params();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn self_signed(params: CertificateParams) -> Server {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    Server {
        certificate,
        key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
    }
}

/// Server certificate issued by a new CA, with the CA certificate.
fn issued(params: CertificateParams) -> (Server, CertificateDer<'static>) {
    let mut named = authority();
    named
        .distinguished_name
        .push(rcgen::DnType::CommonName, "issuer");
    let issuer = CertifiedIssuer::self_signed(named, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap().der().clone();
    let server = Server {
        certificate,
        key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
    };
    (server, issuer.der().clone())
}

/// Completes a handshake and returns the client's result.
fn shake(
    server: &Server,
    trust: Arc<dyn rustls::client::danger::ServerCertVerifier>,
    name: &str,
) -> Result<(), String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![server.certificate.clone()], server.key.clone_key())
        .unwrap();
    let mut there = ServerConnection::new(Arc::new(config)).unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut here = ClientConnection::new(Arc::new(client(trust, None).unwrap()), name).unwrap();
    for _ in 0..10 {
        let mut pipe = Vec::new();
        here.write_tls(&mut pipe).unwrap();
        there.read_tls(&mut pipe.as_slice()).unwrap();
        there.process_new_packets().unwrap();
        let mut pipe = Vec::new();
        there.write_tls(&mut pipe).unwrap();
        here.read_tls(&mut pipe.as_slice()).unwrap();
        here.process_new_packets().map_err(|e| e.to_string())?;
        if !here.is_handshaking() && !there.is_handshaking() {
            return Ok(());
        }
    }
    Err("the handshake did not end".to_owned())
}

fn trusting(
    certificates: &[&CertificateDer<'static>],
) -> Arc<dyn rustls::client::danger::ServerCertVerifier> {
    let certificates = certificates.iter().map(|c| (*c).clone()).collect();
    verifier(Roots::Only(certificates)).unwrap()
}

#[test]
fn trusted_certificate_needs_no_issuer() {
    for (what, server) in [
        ("its own authority", self_signed(authority())),
        ("self-signed, no authority", self_signed(params())),
        ("issued by an unknown authority", issued(params()).0),
        (
            "an authority, issued by an unknown one",
            issued(authority()).0,
        ),
    ] {
        let trust = trusting(&[&server.certificate]);
        assert_eq!(shake(&server, trust, NAME), Ok(()), "{what}");
    }
    let (server, issuer) = issued(params());
    assert_eq!(shake(&server, trusting(&[&issuer]), NAME), Ok(()));
}

#[test]
fn trusted_certificate_is_refused_for_another_name_time_or_purpose() {
    let with = |change: fn(&mut CertificateParams)| {
        let mut params = authority();
        change(&mut params);
        self_signed(params)
    };
    let expired = with(|p| p.not_after = date_time_ymd(2001, 1, 1));
    let early = with(|p| p.not_before = date_time_ymd(4000, 1, 1));
    let purpose = with(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
    let any = with(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]);
    let server = with(|p| p.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]);
    for (what, server, name, accepted) in [
        ("another name", &server, "other.internal", false),
        ("expired", &expired, NAME, false),
        ("not yet valid", &early, NAME, false),
        ("a client's", &purpose, NAME, false),
        ("for any purpose", &any, NAME, true),
        ("a server's", &server, NAME, true),
    ] {
        let shaken = shake(server, trusting(&[&server.certificate]), name);
        assert_eq!(shaken.is_ok(), accepted, "{what}: {shaken:?}");
    }
}

/// A certificate with the same name and key, but other bytes, is not trusted.
#[test]
fn untrusted_certificate_is_refused() {
    let server = self_signed(authority());
    let other = self_signed(authority());
    let shaken = shake(&server, trusting(&[&other.certificate]), NAME);
    assert!(shaken.is_err(), "{shaken:?}");
    let key = KeyPair::generate().unwrap();
    let twin = |serial: u64| {
        let mut params = authority();
        params.serial_number = Some(serial.into());
        params.self_signed(&key).unwrap().der().clone()
    };
    let server = Server {
        certificate: twin(1),
        key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
    };
    let shaken = shake(&server, trusting(&[&twin(2)]), NAME);
    assert!(shaken.is_err(), "{shaken:?}");
    assert_eq!(shake(&server, any_server(), NAME), Ok(()));
}

#[test]
fn empty_trust_store_is_an_error() {
    assert!(verifier(Roots::Only(Vec::new())).is_err());
}
