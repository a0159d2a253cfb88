//! Tests of both ends against each other, over a real Unix socket.

use rustls::{ClientConfig, ServerConfig};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use wire::tls::{accept, client_config, connect, server_config};
use wire::{Identity, TlsError};

type Outcome = (Result<Vec<u8>, TlsError>, Result<(), TlsError>);

/// Connects both ends at once: the plugin sends four bytes, and the host reads them.
async fn meet(client: Arc<ClientConfig>, server: Arc<ServerConfig>) -> Outcome {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("plugin1");
    let listener = UnixListener::bind(&path).expect("bind");
    let plugin = async {
        let (stream, _) = listener.accept().await.expect("accept");
        let mut stream = accept(server, stream).await?;
        stream
            .write_all(b"ping")
            .await
            .map_err(TlsError::Handshake)?;
        stream.shutdown().await.map_err(TlsError::Handshake)
    };
    let host = async {
        let stream = UnixStream::connect(&path).await.expect("connect");
        let mut stream = connect(client, stream).await?;
        let mut read = Vec::new();
        stream
            .read_to_end(&mut read)
            .await
            .map_err(TlsError::Handshake)?;
        Ok(read)
    };
    tokio::time::timeout(std::time::Duration::from_secs(240), async {
        tokio::join!(host, plugin)
    })
    .await
    .expect("in time")
}

struct Ends {
    host: Identity,
    plugin: Identity,
}

fn ends() -> Ends {
    Ends {
        host: Identity::generate().expect("made"),
        plugin: Identity::generate().expect("made"),
    }
}

#[tokio::test]
async fn host_and_plugin_with_matching_certificates_connect() {
    let Ends { host, plugin } = ends();
    let (host, plugin) = meet(
        client_config(&host, plugin.der()).expect("client"),
        server_config(&plugin, host.pem()).expect("server"),
    )
    .await;
    assert_eq!(host.expect("host"), b"ping");
    plugin.expect("plugin");
}

#[tokio::test]
async fn tls_12_server_is_accepted() {
    let Ends { host, plugin } = ends();
    let usual = server_config(&plugin, host.pem()).expect("server");
    let mut server = ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::aws_lc_rs::default_provider(),
    ))
    .with_protocol_versions(&[&rustls::version::TLS12])
    .expect("versions")
    .with_no_client_auth()
    .with_cert_resolver(usual.cert_resolver.clone());
    server.alpn_protocols = vec![b"h2".to_vec()];
    let (host, plugin) = meet(
        client_config(&host, plugin.der()).expect("client"),
        Arc::new(server),
    )
    .await;
    assert_eq!(host.expect("host"), b"ping");
    plugin.expect("plugin");
}

#[tokio::test]
async fn host_refuses_a_plugin_with_another_certificate() {
    let Ends { host, plugin } = ends();
    let other = Identity::generate().expect("made");
    let (host, plugin) = meet(
        client_config(&host, other.der()).expect("client"),
        server_config(&plugin, host.pem()).expect("server"),
    )
    .await;
    assert!(matches!(host, Err(TlsError::WrongCertificate)), "{host:?}");
    assert!(plugin.is_err());
}

#[tokio::test]
async fn plugin_refuses_a_host_with_another_certificate() {
    let Ends { host, plugin } = ends();
    let other = Identity::generate().expect("made");
    let (host, plugin) = meet(
        client_config(&host, plugin.der()).expect("client"),
        server_config(&plugin, other.pem()).expect("server"),
    )
    .await;
    assert!(
        matches!(plugin, Err(TlsError::WrongCertificate)),
        "{plugin:?}"
    );
    assert!(host.is_err());
}

#[tokio::test]
async fn plugin_refuses_a_host_without_a_certificate() {
    let Ends { host, plugin } = ends();
    let mut client = (*client_config(&host, plugin.der()).expect("client")).clone();
    client.client_auth_cert_resolver = Arc::new(NoCertificate);
    let (host, plugin) = meet(
        Arc::new(client),
        server_config(&plugin, host.pem()).expect("server"),
    )
    .await;
    assert!(plugin.is_err());
    assert!(host.is_err());
}

#[tokio::test]
async fn connection_without_alpn_is_refused() {
    let Ends { host, plugin } = ends();
    let client = client_config(&host, plugin.der()).expect("client");
    let server = server_config(&plugin, host.pem()).expect("server");
    let mut deaf_client = (*client).clone();
    deaf_client.alpn_protocols.clear();
    assert!(matches!(
        meet(Arc::new(deaf_client.clone()), server.clone()).await.0,
        Err(TlsError::NoAlpn)
    ));
    // A host that accepts a missing ALPN, against our plugin end, which does not.
    let (near, far) = tokio::io::duplex(1 << 16);
    let name = rustls::pki_types::ServerName::try_from("localhost").expect("name");
    let connector = tokio_rustls::TlsConnector::from(Arc::new(deaf_client));
    let host_end = async {
        let mut stream = connector
            .connect(name, near)
            .await
            .expect("tls itself works");
        stream.read_to_end(&mut Vec::new()).await
    };
    let (_, plugin_end) = tokio::join!(host_end, accept(server.clone(), far));
    assert!(
        matches!(plugin_end, Err(TlsError::NoAlpn)),
        "{plugin_end:?}"
    );
    let mut deaf_server = (*server).clone();
    deaf_server.alpn_protocols.clear();
    let (host_end, _) = meet(client, Arc::new(deaf_server)).await;
    assert!(matches!(host_end, Err(TlsError::NoAlpn)), "{host_end:?}");
}

#[test]
fn malformed_certificate_is_rejected() {
    let Ends { host, .. } = ends();
    assert!(matches!(
        client_config(&host, &[7; 300]),
        Err(TlsError::Certificate(_))
    ));
    assert!(matches!(
        server_config(&host, "no pem"),
        Err(TlsError::Certificate(_))
    ));
}

#[test]
fn session_identity_is_created_once() {
    let first = Identity::session().expect("made");
    assert_eq!(first.der(), Identity::session().expect("made").der());
    assert!(first.pem().starts_with("-----BEGIN CERTIFICATE-----"));
    assert!(first.pem().len() < 2_000, "it travels in the environment");
}

/// Client without a certificate.
#[derive(Debug)]
struct NoCertificate;

impl rustls::client::ResolvesClientCert for NoCertificate {
    fn resolve(
        &self,
        _: &[&[u8]],
        _: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }
    fn has_certs(&self) -> bool {
        false
    }
}
