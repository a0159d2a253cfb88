//! Redirects of the http backend.

use super::super::http::Http;
use super::super::values::Values;
use super::super::{BackendKind, Settings};
use super::http::{arguments, home, said};
use super::info;
use super::server::{Server, Trouble};
use crate::StateManager as _;
use cty::Value;

#[tokio::test]
async fn redirect_to_another_server_sends_nothing_there() {
    let (server, other) = (Server::start(), Server::start());
    let to: &'static str = Box::leak(other.url("/state").into_boxed_str());
    let mut more = Settings::new(BackendKind::Http);
    for (name, value) in arguments(&server) {
        more.set(name, &Value::string(value)).unwrap();
    }
    let token = [("X-Token", Value::string("secret"))];
    more.set("headers", &Value::map(cty::Type::String, token))
        .unwrap();
    let home = Http::new(&Values::new(&more, &|_| None)).unwrap();
    for code in [301, 302, 303, 307, 308] {
        for method in ["GET", "POST", "LOCK", "DELETE"] {
            server.trouble(method, &[Trouble::Redirect(code, to)]);
            let refused = said(match method {
                "GET" => home.read().await.map(drop),
                "POST" => home.write("{}".to_owned()).await,
                "LOCK" => home.lock(info("1")).await,
                _ => home.delete().await,
            });
            for host in [server.url(""), other.url("")] {
                assert!(refused.contains(&host), "{code} {method}: {refused}");
            }
        }
    }
    assert!(other.seen().is_empty(), "{:?}", other.seen());
    assert_eq!(server.seen().len(), 20, "each was asked once");
}

#[tokio::test]
async fn write_redirected_as_a_read_is_refused() {
    let server = Server::start();
    let home = home(&server);
    server.trouble("POST", &[Trouble::Redirect(302, "/state")]);
    let refused = said(home.write("{}".to_owned()).await);
    assert!(refused.contains("turns a write into a read"), "{refused}");
    assert_eq!(server.state(), None);
    // With the method and body preserved, it does.
    server.trouble("POST", &[Trouble::Redirect(307, "/state")]);
    home.write("{}".to_owned()).await.unwrap();
    assert_eq!(server.state().as_deref(), Some(&b"{}"[..]));
    server.trouble("GET", &[Trouble::Redirect(302, "/state")]);
    assert_eq!(home.read().await.unwrap(), b"{}");
}
