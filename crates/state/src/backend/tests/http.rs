//! The http backend.

use super::super::http::Http;
use super::super::values::Values;
use super::server::{Server, Trouble};
use super::{info, settings};
use crate::lock_info::RecordedLocks;
use crate::{LockWait, StateError, StateManager, StateOfRecord, StatePlace};
use model::settings::Access;
use net::HttpOptions;
use statefile::LockInfo;
use statefile::encryption::Encryption;
use std::sync::Mutex;
use std::time::Duration;
use store::Store;
use store::records::{StateEdit, StateObject};
use store::testing::object;

pub(super) fn arguments(server: &Server) -> Vec<(&'static str, String)> {
    vec![
        ("address", server.url("/state?ref=dev")),
        ("lock_address", server.url("/lock")),
        ("unlock_address", server.url("/lock")),
        ("retry_wait_min", "0".to_owned()),
    ]
}

fn home_with(server: &Server, more: &[(&str, &str)], reach: HttpOptions) -> Http {
    let ours = arguments(server);
    let mut all: Vec<(&str, &str)> = ours.iter().map(|(n, v)| (*n, v.as_str())).collect();
    all.extend(more);
    let settings = settings("http", &all);
    Http::with_client_options(&Values::new(&settings, &|_| None), reach).unwrap()
}

pub(super) fn home(server: &Server) -> Http {
    home_with(server, &[], HttpOptions::default())
}

fn refused(arguments: &[(&str, &str)]) -> String {
    let settings = settings("http", arguments);
    let values = Values::new(&settings, &|_| None);
    Http::new(&values).err().unwrap().to_string()
}

pub(super) fn said<T: std::fmt::Debug>(result: Result<T, StateError>) -> String {
    result.unwrap_err().to_string()
}

#[tokio::test]
async fn http_state_is_locked_read_written_and_unlocked_by_protocol() {
    let server = Server::start();
    let home = home_with(
        &server,
        &[("username", "me"), ("password", "secret")],
        HttpOptions::default(),
    );
    home.lock(info("1-2")).await.unwrap();
    let word = server.lock().unwrap();
    let expected = r#"{"ID":"1-2","Operation":"OperationTypeApply","Info":"","Who":"me@here","Version":"1","Created":"2026-01-02T03:04:05.678Z","Path":""}"#;
    assert_eq!(word, expected);
    assert!(home.read().await.unwrap().is_empty());
    home.write("{}\n".into()).await.unwrap();
    assert_eq!(home.read().await.unwrap(), b"{}\n");
    home.unlock().await.unwrap();
    assert_eq!(server.lock(), None);
    let seen = server.seen();
    let methods: Vec<&str> = seen.iter().map(|r| r.method.as_str()).collect();
    assert_eq!(methods, ["LOCK", "GET", "POST", "GET", "UNLOCK"]);
    assert_eq!(seen[2].target, "/state?ref=dev&ID=1-2");
    assert_eq!(seen[2].header("content-type"), "application/json");
    assert_eq!(seen[2].header("content-md5"), "ioBVTJHZ/KisuC8CPeAvEQ==");
    assert_eq!(seen[4].body, expected.as_bytes(), "the same as was locked");
    for request in &seen {
        assert_eq!(request.header("authorization"), "Basic bWU6c2VjcmV0");
    }
    home.delete().await.unwrap();
    assert_eq!(server.state(), None);
}

#[tokio::test]
async fn lock_error_names_the_lock_owner_and_waits_up_to_the_timeout() {
    let server = Server::start();
    server.set_lock(&info("theirs").to_line());
    let home = home(&server);
    let words = said(home.lock(info("ours")).await);
    for part in ["is locked by me@here", "OperationTypeApply", "lock theirs"] {
        assert!(words.contains(part), "{words}");
    }
    // Without lock info.
    server.set_lock("taken");
    assert!(said(home.lock(info("ours")).await).contains("left no lock information"));
    server.set_lock(&info("theirs").to_line());
    let told = Mutex::new(Vec::new());
    let tell = |text: String| told.lock().unwrap().push(text);
    let patience = LockWait::new(Duration::from_secs(300), &tell);
    let records = RecordedLocks::default();
    let (locked, unlocked) = tokio::join!(
        patience.lock(&home, info("ours"), &records),
        home.force_unlock("theirs")
    );
    locked.unwrap();
    unlocked.unwrap();
    let unlock = server.seen().into_iter().find(|r| r.method == "UNLOCK");
    let body = String::from_utf8(unlock.unwrap().body).unwrap();
    let expected = r#"{"ID":"theirs","Operation":"","Info":"","Who":"","Version":"","Created":"0001-01-01T00:00:00Z","Path":""}"#;
    assert_eq!(body, expected);
    assert!(server.lock().unwrap().contains("ours"));
    let told = told.into_inner().unwrap();
    assert!(told.iter().all(|t| t.contains("waiting up to")), "{told:?}");
}

#[tokio::test]
async fn transient_http_errors_are_retried_and_permanent_ones_reported_at_once() {
    let server = Server::start();
    let home = home(&server);
    server.set_state("{}");
    server.trouble("GET", &[Trouble::Lose, Trouble::Code(503)]);
    assert_eq!(home.read().await.unwrap(), b"{}");
    assert_eq!(server.methods(), ["GET"; 3]);
    server.trouble("GET", &[Trouble::Code(500); 3]);
    let words = said(home.read().await);
    assert!(words.contains("code 500, after 3 attempts"), "{words}");
    for (code, part) in [
        (401, "set username and password"),
        (403, "denies access with these credentials (code 403)"),
        (501, "code 501"),
        (418, "code 418"),
    ] {
        let before = server.seen().len();
        server.trouble("POST", &[Trouble::Code(code)]);
        let words = said(home.write("{}".into()).await);
        assert!(words.contains(part), "{code}: {words}");
        assert!(words.contains("cannot write the state in http://"));
        assert_eq!(server.seen().len(), before + 1, "{code}");
    }
    for code in [204, 404] {
        server.trouble("GET", &[Trouble::Code(code)]);
        assert!(home.read().await.unwrap().is_empty());
    }
    server.trouble("LOCK", &[Trouble::Code(201)]);
    let words = said(home.lock(info("1")).await);
    assert!(words.contains("code 201"), "201 is no lock: {words}");
}

#[tokio::test]
async fn lock_is_acquired_when_its_response_was_lost() {
    let server = Server::start();
    let home = home(&server);
    server.trouble("LOCK", &[Trouble::DoAndLose]);
    home.lock(info("ours")).await.unwrap();
    home.unlock().await.unwrap();
    assert_eq!(server.methods(), ["LOCK", "LOCK", "UNLOCK"]);
}

#[tokio::test]
async fn lock_of_a_dead_flightdeck_process_is_taken_over_with_a_notice() {
    let server = Server::start();
    let home = home(&server);
    let owner = crate::lock_info::dead_owner();
    let of_the_dead = crate::lock_info::of_the_dead(&owner);
    server.set_lock(&of_the_dead.to_line());
    let told = Mutex::new(Vec::new());
    let tell = |text: String| told.lock().unwrap().push(text);
    let patience = LockWait::new(Duration::ZERO, &tell);
    // Another store has the records of what the process did.
    let mut records = RecordedLocks::default();
    let words = said(patience.lock(&home, info("ours"), &records).await);
    assert!(
        words.contains("no record of what that process did"),
        "{words}"
    );
    records.owners.push(owner);
    let locked = patience.lock(&home, info("ours"), &records).await;
    locked.unwrap();
    assert!(server.lock().unwrap().contains("\"ID\":\"ours\""));
    let notice = told.lock().unwrap()[0].clone();
    assert!(notice.contains("removed the stale lock"), "{notice}");
    assert_eq!(server.methods(), ["LOCK", "LOCK", "UNLOCK", "LOCK"]);
    // A plan leaves nothing behind.
    home.unlock().await.unwrap();
    let plan = LockInfo {
        operation: "OperationTypePlan".to_owned(),
        ..of_the_dead.clone()
    };
    server.set_lock(&plan.to_line());
    let nothing = RecordedLocks::default();
    patience.lock(&home, info("ours"), &nothing).await.unwrap();
    // A lock may outlive the workspace lock, and is known by its id.
    home.unlock().await.unwrap();
    server.set_lock(&of_the_dead.to_line());
    records = RecordedLocks {
        id: of_the_dead.id,
        ..RecordedLocks::default()
    };
    patience.lock(&home, info("ours"), &records).await.unwrap();
}

#[tokio::test]
async fn failed_unlock_names_the_force_unlock_command() {
    let server = Server::start();
    let home = home(&server);
    home.lock(info("4-5")).await.unwrap();
    server.trouble("UNLOCK", &[Trouble::Code(403)]);
    let words = said(home.unlock().await);
    assert!(words.contains("cannot unlock the state"), "{words}");
    assert!(words.contains("force-unlock 4-5"), "{words}");
}

#[test]
fn http_arguments_are_validated_and_default_to_the_environment() {
    for (arguments, word) in [
        (&[][..], "TF_HTTP_ADDRESS"),
        (&[("address", "ftp://x/y")], "http:// or https://"),
        (&[("address", "x")], "not a valid address"),
        (
            &[("address", "http://x"), ("update_method", "A B")],
            "not an HTTP method",
        ),
        (
            &[("address", "http://x"), ("client_certificate_pem", "x")],
            "client_private_key_pem",
        ),
        (
            &[("address", "http://x"), ("retry_max", "1.5")],
            "whole number",
        ),
    ] {
        let said = refused(arguments);
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    let said = settings("http", &[]);
    let variables = |name: &str| match name {
        "TF_HTTP_ADDRESS" => Some("http://u:p@x/y?token=secret".to_owned()),
        _ => None,
    };
    let home = Http::new(&Values::new(&said, &variables)).unwrap();
    assert!(home.place().starts_with("http://x/y?"), "{}", home.place());
    assert!(!home.place().contains("secret"), "{}", home.place());
}

/// A workspace with its state behind a server.
struct Bench {
    dir: tempfile::TempDir,
    store: Store,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Access::ReadWrite).unwrap();
        Self { dir, store }
    }

    /// State manager of a newly started process.
    fn state(&self, server: &Server) -> StateOfRecord {
        let ours = arguments(server);
        let all: Vec<(&str, &str)> = ours.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let place = StatePlace::In(settings("http", &all), String::new());
        StateOfRecord::new(self.dir.path(), &self.store, place, Encryption::default())
    }

    async fn put(&self, address: &str) {
        let one = StateObject {
            address: address.to_owned(),
            provider: "provider[\"terraform.io/builtin/terraform\"]".into(),
            ..object()
        };
        let edit = StateEdit::Put(Box::new(one));
        self.store.edit_state(vec![edit]).await.unwrap();
    }
}

async fn open(state: &StateOfRecord, id: &str) -> Vec<String> {
    state.open(info(id), &LockWait::no_wait()).await.unwrap()
}

#[tokio::test]
async fn failed_state_write_is_recorded_and_repeated_at_the_next_open() {
    let server = Server::start();
    let w = Bench::new();
    let state = w.state(&server);
    open(&state, "1").await;
    w.put("terraform_data.a").await;
    // The connection is lost for good between lock and write.
    server.trouble("POST", &[Trouble::Lose; 6]);
    assert!(said(state.write_back().await).contains("after 3 attempts"));
    assert!(said(state.close().await).contains("cannot write the state"));
    assert_eq!(server.lock(), None, "the lock was given back");
    assert_eq!(server.state(), None);
    let state = w.state(&server);
    let told = open(&state, "2").await;
    assert!(
        told[0].contains("had not been written to http://"),
        "{told:?}"
    );
    state.close().await.unwrap();
    let text = String::from_utf8(server.state().unwrap()).unwrap();
    assert!(text.contains("terraform_data") && text.lines().count() == 1);
}

#[tokio::test]
async fn write_without_response_is_not_mistaken_for_a_foreign_change() {
    let server = Server::start();
    let w = Bench::new();
    let state = w.state(&server);
    open(&state, "1").await;
    w.put("terraform_data.a").await;
    state.write_back().await.unwrap();
    w.put("terraform_data.b").await;
    server.trouble("POST", &[Trouble::DoAndLose, Trouble::Code(400)]);
    assert!(said(state.write_back().await).contains("code 400"));
    // A later write never arrived, and the process ended.
    w.put("terraform_data.c").await;
    assert!(server.state().is_some());
    drop(state);
    server.set_lock("");
    server.trouble("LOCK", &[]);
    let state = w.state(&server);
    home(&server).force_unlock("1").await.unwrap();
    let told = open(&state, "2").await;
    assert!(told[0].contains("it was written now"), "{told:?}");
    state.close().await.unwrap();
    let text = String::from_utf8(server.state().unwrap()).unwrap();
    assert!(text.contains("\"c\""), "{text}");
}

#[tokio::test]
async fn http_write_times_out_without_a_response() {
    let server = Server::start();
    let reach = HttpOptions {
        read_timeout: Duration::from_millis(300),
        ..HttpOptions::default()
    };
    let home = home_with(&server, &[("retry_max", "0")], reach);
    home.lock(info("1")).await.unwrap();
    server.trouble("POST", &[Trouble::DoAndHang]);
    let words = said(home.write("{}".into()).await);
    assert!(words.contains("cannot write the state"), "{words}");
    assert!(words.contains("time"), "{words}");
    home.unlock().await.unwrap();
}

#[tokio::test]
async fn http_backend_has_only_the_default_workspace() {
    let server = Server::start();
    let ours = arguments(&server);
    let all: Vec<(&str, &str)> = ours.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let backend = settings("http", &all)
        .open_with(std::path::Path::new("."), &|_| None)
        .unwrap();
    assert!(backend.workspaces().await.unwrap().is_empty());
    let said = backend.create("dev", LockInfo::default()).await;
    assert!(
        said.unwrap_err()
            .to_string()
            .contains("only the default workspace")
    );
}

/// Self-signed certificate for `name`, with its key.
fn certificate(name: &str) -> (String, String, rustls::pki_types::CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let key = made.signing_key.serialize_pem();
    (made.cert.pem(), key, made.cert.der().clone())
}

#[tokio::test]
async fn client_and_server_certificates_are_verified_as_configured() {
    use rustls::pki_types::{PrivateKeyDer, pem::PemObject as _};
    let (server_pem, server_key, server_der) = certificate("127.0.0.1");
    let (client_pem, client_key, client_der) = certificate("client");
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut clients = rustls::RootCertStore::empty();
    clients.add(client_der).unwrap();
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
        clients.into(),
        provider.clone(),
    );
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(
            vec![server_der],
            PrivateKeyDer::from_pem_slice(server_key.as_bytes()).unwrap(),
        )
        .unwrap();
    let server = Server::secured(config.into());
    let ours = [
        ("client_certificate_pem", client_pem.as_str()),
        ("client_private_key_pem", client_key.as_str()),
    ];
    let theirs = ("client_ca_certificate_pem", server_pem.as_str());
    let once = ("retry_max", "0");
    // Neither side trusts the other.
    for arguments in [&[once, ours[0], ours[1]][..], &[once, theirs]] {
        let home = home_with(&server, arguments, HttpOptions::default());
        assert!(home.read().await.is_err(), "{arguments:?}");
    }
    assert!(server.seen().is_empty(), "nobody was let in");
    for trust in [theirs, ("skip_cert_verification", "true")] {
        let home = home_with(
            &server,
            &[once, ours[0], ours[1], trust],
            HttpOptions::default(),
        );
        home.lock(info("1-2")).await.unwrap();
        home.write("{}\n".into()).await.unwrap();
        assert_eq!(home.read().await.unwrap(), b"{}\n");
        home.unlock().await.unwrap();
    }
}
