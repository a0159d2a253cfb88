//! Small web server: a program that demos and tests run as a `local_process`. Its release decides
//! about its health.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Maximum number of concurrent connections; others wait.
const MAX_CONNECTIONS: usize = 64;
/// Timeout of one connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause after a failed accept, such as for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Options of the server.
#[derive(Debug, Clone)]
pub struct Web {
    /// Port on the loopback address.
    pub port: u16,
    /// Release that it serves. One with `broken` in its name is never ready.
    pub release: String,
    /// File whose lock another process holds; the server ends when that lock is released.
    pub until_unlocked: Option<PathBuf>,
}

impl Web {
    /// Serves until SIGTERM, or until the lock is released. Returns the exit code.
    pub fn main(self) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let served = runtime.and_then(|runtime| {
            let served = runtime.block_on(self.serve());
            // The thread that waits for the lock must not keep the process alive.
            runtime.shutdown_background();
            served
        });
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                log(&format!("error: {error}"));
                ExitCode::FAILURE
            }
        }
    }

    async fn serve(self) -> io::Result<()> {
        let mut terminated = signal(SignalKind::terminate())?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await?;
        log(&format!("release {} on port {}", self.release, self.port));
        let unlocked = unlocked(self.until_unlocked.clone());
        tokio::select! {
            _ = terminated.recv() => log("ended by SIGTERM"),
            ended = unlocked => {
                ended?;
                log("ended because the lock was released");
            }
            () = accept(listener, self.release.into()) => {}
        }
        Ok(())
    }
}

/// Waits until the lock on a file can be taken; forever without a file. The kernel releases the
/// lock of a killed process.
async fn unlocked(file: Option<PathBuf>) -> io::Result<()> {
    let Some(file) = file else {
        return std::future::pending().await;
    };
    let waited = tokio::task::spawn_blocking(move || lock(&file)).await;
    waited.map_err(io::Error::other)?
}

fn lock(path: &Path) -> io::Result<()> {
    let text = |error| io::Error::other(format!("cannot lock {}: {error}", path.display()));
    let file = File::open(path).map_err(text)?;
    file.lock_shared().map_err(text)
}

async fn accept(listener: TcpListener, release: Arc<str>) {
    let (places, tasks) = (
        Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        TaskTracker::new(),
    );
    while let Ok(place) = places.clone().acquire_owned().await {
        match listener.accept().await {
            Ok((stream, _)) => {
                let one = serve_connection(stream, release.clone());
                tasks.spawn(async move {
                    // A slow client loses its connection, which needs no report.
                    tokio::time::timeout(CONNECTION_TIMEOUT, one).await.ok();
                    drop(place);
                });
            }
            Err(error) => {
                log(&format!("failed to accept a connection: {error}"));
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, release: Arc<str>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let (status, text) = respond(request.uri().path(), &release);
        let (method, path) = (request.method(), request.uri().path());
        log(&format!("{method} {path} {}", status.as_u16()));
        let mut answer = Response::new(Full::new(Bytes::from(text)));
        *answer.status_mut() = status;
        async move { Ok::<_, Infallible>(answer) }
    });
    let served = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(CONNECTION_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer)
        .await;
    if let Err(error) = served {
        log(&format!("failed to answer a request: {error}"));
    }
}

fn respond(path: &str, release: &str) -> (StatusCode, String) {
    match path {
        "/" => (StatusCode::OK, format!("release {release}\n")),
        "/ready" if release.contains("broken") => {
            let text = format!("release {release} is broken\n");
            (StatusCode::SERVICE_UNAVAILABLE, text)
        }
        "/ready" => (StatusCode::OK, "ready\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "not found\n".to_owned()),
    }
}

/// Writes a line to standard output, which is the log file.
fn log(line: &str) {
    // A full disk must not end the server.
    writeln!(io::stdout().lock(), "{line}").ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_decides_about_readiness() {
        let status = |path, release| respond(path, release).0.as_u16();
        assert_eq!(status("/ready", "v1"), 200);
        assert_eq!(status("/ready", "v2-broken"), 503);
        assert_eq!(status("/", "v2-broken"), 200);
        assert_eq!(status("/other", "v1"), 404);
    }
}
