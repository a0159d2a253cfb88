//! HTTPS server of the tests, on a real socket, with a self-signed certificate. Each answer can be
//! slow, incomplete or missing.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longest time that a connection may stay idle.
const IDLE: Duration = Duration::from_secs(60);

/// One answer.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Number of bytes of the body before the connection is closed.
    pub(crate) cut: Option<usize>,
    /// If true, no answer is sent until the server ends.
    pub(crate) silent: bool,
}

impl Reply {
    pub(crate) fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".to_owned(), kind.to_owned())],
            body: body.into(),
            cut: None,
            silent: false,
        }
    }

    pub(crate) fn json(body: &serde_json::Value) -> Self {
        Self::new(200, "application/json", body.to_string())
    }

    pub(crate) fn bytes(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "application/octet-stream", body).with("ETag", "\"one\"")
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::new(status, "text/plain", "")
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Closes the connection after so many bytes of the body.
    pub(crate) fn cut(mut self, after: usize) -> Self {
        self.cut = Some(after);
        self
    }

    pub(crate) fn unanswered() -> Self {
        let mut reply = Self::status(200);
        reply.silent = true;
        reply
    }
}

#[derive(Default)]
struct Shared {
    /// Answers by path with query, in the given order; the last one repeats.
    routes: Mutex<BTreeMap<String, Vec<Reply>>>,
    /// Received requests: path, and the headers that tests check.
    heard: Mutex<Vec<(String, BTreeMap<String, String>)>>,
    over: AtomicBool,
}

/// Running server; dropping it ends it.
pub(crate) struct Server {
    /// `127.0.0.1:PORT`
    pub(crate) host: String,
    shared: Arc<Shared>,
    folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        // Self-signed, as `openssl req -x509` makes certificates for internal registries.
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let made = params.self_signed(&key).unwrap();
        std::fs::write(folder.path().join("cert.pem"), made.pem()).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared::default());
        let (config, serves) = (Arc::new(config), shared.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serves.over.load(Ordering::Relaxed) {
                    break;
                }
                let (config, serves) = (config.clone(), serves.clone());
                // A client that disconnects early is not an error of the server.
                std::thread::spawn(move || serve(stream.unwrap(), config, &serves).ok());
            }
        });
        Self {
            host,
            shared,
            folder,
        }
    }

    /// Path of the file with the server's certificate.
    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.host)
    }

    /// Sets the answer for a path from now on.
    pub(crate) fn answer(&self, path: &str, reply: Reply) {
        self.answers(path, vec![reply]);
    }

    pub(crate) fn answers(&self, path: &str, replies: Vec<Reply>) {
        self.shared
            .routes
            .lock()
            .unwrap()
            .insert(path.to_owned(), replies);
    }

    /// Requested paths.
    pub(crate) fn requested_paths(&self) -> Vec<String> {
        let heard = self.shared.heard.lock().unwrap();
        heard.iter().map(|(path, _)| path.clone()).collect()
    }

    /// A header of each request for a path; empty if it was missing.
    pub(crate) fn headers(&self, path: &str, name: &str) -> Vec<String> {
        let heard = self.shared.heard.lock().unwrap();
        let of = heard.iter().filter(|(p, _)| p == path);
        of.map(|(_, headers)| headers.get(name).cloned().unwrap_or_default())
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections.
        drop(TcpStream::connect(&self.host));
    }
}

fn serve(
    stream: TcpStream,
    config: Arc<rustls::ServerConfig>,
    shared: &Shared,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    let connection = rustls::ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = rustls::StreamOwned::new(connection, stream);
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let mut lines = text.lines();
    let path = lines
        .next()
        .unwrap_or_default()
        .split(' ')
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    shared
        .heard
        .lock()
        .unwrap()
        .push((path.clone(), headers.clone()));
    let reply = {
        let mut routes = shared.routes.lock().unwrap();
        match routes.get_mut(&path) {
            None => Reply::status(404),
            Some(replies) if replies.len() > 1 => replies.remove(0),
            Some(replies) => replies[0].clone(),
        }
    };
    while reply.silent && !shared.over.load(Ordering::Relaxed) {
        // Wait until the client disconnects, or the test ends.
        let mut byte = [0];
        if stream.sock.peek(&mut byte).is_ok_and(|n| n == 0) {
            return Ok(());
        }
        std::thread::yield_now();
    }
    let range = headers.get("range").and_then(|r| {
        r.strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse::<usize>()
            .ok()
    });
    let begin = range.filter(|at| *at < reply.body.len()).unwrap_or(0);
    let status = if begin > 0 { 206 } else { reply.status };
    let body = &reply.body[begin..];
    let mut out = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    for (name, value) in &reply.headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{out}\r\n").as_bytes())?;
    stream.write_all(&body[..reply.cut.unwrap_or(body.len()).min(body.len())])?;
    stream.flush()?;
    if reply.cut.is_none() {
        stream.conn.send_close_notify();
        stream.flush()?;
    }
    Ok(())
}
