//! HTTP server for the metrics: one path, a limited number of connections, each with a timeout.

use super::Measures;
use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HOST};
use http::uri::Authority;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use model::bus::Bus;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Maximum number of concurrent connections; others wait.
const MAX_CONNECTIONS: usize = 8;
/// Timeout of one connection, including request and answer.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);
/// Content type of the metrics.
const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const PLAIN: &str = "text/plain; charset=utf-8";
const MISDIRECTED: &str = "the Host header must be an IP address of this server or localhost\n";

/// Error of a server that cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve metrics at {address}: {source}; pass another address with --metrics")]
pub struct MetricsError {
    pub address: SocketAddr,
    pub source: std::io::Error,
}

/// Running metrics server; it stops on drop.
#[derive(Debug)]
pub struct Served {
    /// Listening address, with the port that the system chose if none was given.
    pub address: SocketAddr,
    _until: DropGuard,
}

/// Counts the events of the bus from now on, and serves the metrics.
///
/// # Errors
/// The address cannot be bound.
pub async fn serve(
    address: SocketAddr,
    bus: &Bus,
    tasks: &TaskTracker,
) -> Result<Served, MetricsError> {
    let failed = |source| MetricsError { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let measures = Measures::new();
    // After the bind, so that a failed start leaves no listener on the bus.
    bus.listen(measures.clone());
    let over = CancellationToken::new();
    let all = accept_connections(listener, measures, bus.clone(), tasks.clone());
    let end = over.clone();
    tasks.spawn(async move { end.run_until_cancelled(all).await });
    Ok(Served {
        address,
        _until: over.drop_guard(),
    })
}

/// Accepts connections until it is dropped; accepted ones are still answered.
async fn accept_connections(
    listener: TcpListener,
    measures: Arc<Measures>,
    bus: Bus,
    tasks: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // Taken before `accept`, so that waiting connections stay in the kernel's backlog.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let one = serve_connection(stream, measures.clone(), bus.clone());
                tasks.spawn(async move {
                    if tokio::time::timeout(CONNECTION_TIMEOUT, one).await.is_err() {
                        tracing::debug!("metrics request timed out");
                    }
                    // Moved into the task, so that the slot is held until the answer is sent.
                    drop(place);
                });
            }
            Err(error) => {
                tracing::debug!(%error, "failed to accept a metrics connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, measures: Arc<Measures>, bus: Bus) {
    let local = stream.local_addr().ok().map(|address| address.ip());
    let answer = service_fn(move |request: Request<Incoming>| {
        let answer = if is_own_host(&request, local) {
            respond(request.method(), request.uri().path(), || {
                measures.text(&bus)
            })
        } else {
            response(
                StatusCode::MISDIRECTED_REQUEST,
                PLAIN,
                MISDIRECTED.to_owned(),
            )
        };
        async move { Ok::<_, Infallible>(answer) }
    });
    // One request per connection, because an idle connection would block a slot.
    let served = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "failed to answer a metrics request");
    }
}

/// Returns true if the request's host is an address of this server. With any other name (DNS
/// rebinding), a web page in a browser could read the metrics.
fn is_own_host<B>(request: &Request<B>, local: Option<IpAddr>) -> bool {
    let mut hosts = request.headers().get_all(HOST).iter();
    // Several Host headers are ambiguous.
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let host = host.to_str().ok().and_then(|text| text.parse().ok());
    let named = |authority: &Authority| is_local(authority.host(), local);
    host.as_ref().is_some_and(named) && request.uri().authority().is_none_or(named)
}

fn is_local(host: &str, local: Option<IpAddr>) -> bool {
    // Browsers never resolve this name through DNS.
    if host.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let number = host.trim_start_matches('[').trim_end_matches(']');
    number.parse().is_ok_and(|ip: IpAddr| {
        let ip = ip.to_canonical();
        // The local address of the connection is an address of this server.
        ip.is_loopback() || local.is_some_and(|local| local.to_canonical() == ip)
    })
}

fn respond(
    method: &Method,
    path: &str,
    text: impl FnOnce() -> Result<String, std::fmt::Error>,
) -> Response<Full<Bytes>> {
    let plain = |status, words: &str| response(status, PLAIN, words.to_owned());
    match (method, path) {
        (&Method::GET | &Method::HEAD, "/metrics") => match text() {
            Ok(text) => response(StatusCode::OK, TEXT, text),
            Err(error) => {
                tracing::warn!(%error, "failed to render metrics");
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                plain(status, "failed to render metrics\n")
            }
        },
        (&Method::GET | &Method::HEAD, _) => {
            plain(StatusCode::NOT_FOUND, "the metrics are at /metrics\n")
        }
        _ => {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let mut answer = plain(status, "only GET and HEAD are supported\n");
            let methods = http::HeaderValue::from_static("GET, HEAD");
            answer.headers_mut().insert(ALLOW, methods);
            answer
        }
    }
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    *answer.status_mut() = status;
    let kind = http::HeaderValue::from_static(kind);
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

    use super::*;

    fn meant(uri: &str, hosts: &[&str]) -> bool {
        let mut request = Request::builder().uri(uri);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let local = Some("10.0.0.5".parse().unwrap());
        is_own_host(&request.body(()).unwrap(), local)
    }

    #[test]
    fn metrics_are_served_only_for_the_addresses_of_this_machine() {
        for host in [
            "localhost:9100",
            "LOCALHOST",
            "127.0.0.1:9100",
            "127.8.9.1",
            "[::1]:9100",
            "[::ffff:127.0.0.1]",
            "10.0.0.5:9100",
            "localhost:1",
        ] {
            assert!(meant("/metrics", &[host]), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:9100",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.6:9100",
            "user@evil.example",
            "",
            "[::2]",
        ] {
            assert!(!meant("/metrics", &[host]), "{host}");
        }
        assert!(!meant("/metrics", &[]));
        assert!(!meant("/metrics", &["localhost", "localhost"]));
        assert!(meant("http://localhost/metrics", &["localhost"]));
        assert!(!meant("http://evil.example/metrics", &["localhost"]));
    }
}
