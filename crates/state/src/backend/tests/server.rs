//! Test server of the http backend with configurable faults. Real sockets, one thread and one
//! request for each connection.

// Each including test uses a different part.
#![allow(dead_code, reason = "shared with tests of the command line")]
#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fault for the next request of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Answers with this code and does nothing.
    Code(u16),
    /// Closes the connection without doing anything.
    Lose,
    /// Carries out the request and closes the connection without an answer.
    DoAndLose,
    /// Carries out the request and does not answer while the connection is open.
    DoAndHang,
    /// Does nothing and does not answer while the connection is open.
    Hang,
    /// Sends an endless body byte by byte.
    Drip,
    /// Redirects with this code to an address.
    Redirect(u16, &'static str),
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// Does it match `METHOD` or `METHOD END-OF-THE-TARGET`?
    pub(crate) fn is(&self, what: &str) -> bool {
        let (method, end) = what.split_once(' ').unwrap_or((what, ""));
        let path = self.target.split('?').next().unwrap_or_default();
        self.method == method && path.ends_with(end)
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self
            .headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

#[derive(Default)]
struct Kept {
    state: Option<Vec<u8>>,
    lock: Option<Vec<u8>>,
    /// Objects by path, if the server stores these instead of one state.
    objects: Option<BTreeMap<String, Vec<u8>>>,
    seen: watch::Sender<Vec<Request>>,
    troubles: Vec<(String, Trouble)>,
}

pub(crate) struct Server {
    at: SocketAddr,
    kept: Arc<Mutex<Kept>>,
    scheme: &'static str,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(None)
    }

    /// A server that stores objects like S3.
    pub(crate) fn of_objects() -> Self {
        let server = Self::start();
        lock(&server.kept).objects = Some(BTreeMap::new());
        server
    }

    /// Paths of the stored objects.
    pub(crate) fn objects(&self) -> Vec<String> {
        let kept = lock(&self.kept);
        kept.objects
            .iter()
            .flatten()
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// A server with TLS.
    pub(crate) fn secured(by: Secured) -> Self {
        Self::start_with(Some(by))
    }

    fn start_with(secured: Option<Secured>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let kept = Arc::new(Mutex::new(Kept::default()));
        let (all, by_tls) = (kept.clone(), secured.is_some());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, secured) = (all.clone(), secured.clone());
                std::thread::spawn(move || match secured {
                    None => serve(stream, &kept),
                    Some(by) => {
                        let connection = rustls::ServerConnection::new(by).unwrap();
                        serve(rustls::StreamOwned::new(connection, stream), &kept);
                    }
                });
            }
        });
        let scheme = if by_tls { "https" } else { "http" };
        Self { at, kept, scheme }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.at)
    }

    pub(crate) fn state(&self) -> Option<Vec<u8>> {
        lock(&self.kept).state.clone()
    }

    pub(crate) fn set_state(&self, text: &str) {
        lock(&self.kept).state = Some(text.into());
    }

    /// Lock owner.
    pub(crate) fn lock(&self) -> Option<String> {
        let lock = lock(&self.kept).lock.clone()?;
        Some(String::from_utf8(lock).unwrap())
    }

    pub(crate) fn set_lock(&self, word: &str) {
        lock(&self.kept).lock = Some(word.into());
    }

    /// Releases the lock.
    pub(crate) fn unlock(&self) {
        lock(&self.kept).lock = None;
    }

    /// Removes all faults.
    pub(crate) fn at_ease(&self) {
        lock(&self.kept).troubles.clear();
    }

    /// Faults for the next requests of a method or of `METHOD END-OF-THE-TARGET`, in order.
    pub(crate) fn trouble(&self, method: &str, troubles: &[Trouble]) {
        let all = troubles.iter().map(|t| (method.to_owned(), *t));
        lock(&self.kept).troubles.extend(all);
    }

    /// Requests so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        lock(&self.kept).seen.borrow().clone()
    }

    /// Waits until it has received this request.
    pub(crate) async fn request(&self, what: &str) {
        let mut seen = lock(&self.kept).seen.subscribe();
        let received = seen.wait_for(|all| all.iter().any(|request| request.is(what)));
        received.await.unwrap();
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen().into_iter().map(|r| r.method).collect()
    }
}

/// TLS configuration of the server.
pub(crate) type Secured = Arc<rustls::ServerConfig>;

fn request(stream: &mut impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut words = first.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = Request {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    let length = request.header("content-length").parse().unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

fn serve(mut stream: impl Read + Write, kept: &Mutex<Kept>) {
    let Some(asked) = request(&mut stream) else {
        return;
    };
    let (code, body, trouble) = {
        let mut kept = lock(kept);
        kept.seen.send_modify(|all| all.push(asked.clone()));
        let at = kept.troubles.iter().position(|(what, _)| asked.is(what));
        let trouble = at.map(|at| kept.troubles.remove(at).1);
        match trouble {
            Some(Trouble::Code(code) | Trouble::Redirect(code, _)) => (code, Vec::new(), trouble),
            Some(Trouble::Hang | Trouble::Drip) => (200, Vec::new(), trouble),
            Some(Trouble::Lose) => return,
            _ => {
                let (code, body) = answer(&mut kept, asked);
                (code, body, trouble)
            }
        }
    };
    match trouble {
        Some(Trouble::DoAndLose) => return,
        Some(Trouble::DoAndHang | Trouble::Hang) => {
            // Waits until the client closes the connection.
            drop(stream.read(&mut [0]));
            return;
        }
        Some(Trouble::Drip) => {
            drip(stream);
            return;
        }
        _ => {}
    }
    let location = match trouble {
        Some(Trouble::Redirect(_, to)) => format!("Location: {to}\r\n"),
        _ => String::new(),
    };
    let head = format!(
        "HTTP/1.1 {code} X\r\n{location}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    drop(stream.write_all(&[head.as_bytes(), &body].concat()));
}

fn drip(mut stream: impl Write) {
    let mut written = stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 1000000\r\n\r\n");
    while written.is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(100));
        written = stream.write_all(b" ").and_then(|()| stream.flush());
    }
}

fn answer(kept: &mut Kept, asked: Request) -> (u16, Vec<u8>) {
    if let Some(objects) = &mut kept.objects {
        let path = asked.target.split('?').next().unwrap_or_default();
        let only_new = !asked.header("if-none-match").is_empty();
        return match (asked.method.as_str(), objects.get(path)) {
            ("GET", _) if asked.target.contains("list-type=") => {
                (200, b"<ListBucketResult/>".to_vec())
            }
            ("GET", Some(object)) => (200, object.clone()),
            ("GET", None) => (404, Vec::new()),
            ("PUT", Some(_)) if only_new => (412, Vec::new()),
            ("PUT", _) => {
                objects.insert(path.to_owned(), asked.body);
                (200, Vec::new())
            }
            _ => {
                objects.remove(path);
                (204, Vec::new())
            }
        };
    }
    match asked.method.as_str() {
        "GET" => match &kept.state {
            Some(state) => (200, state.clone()),
            None => (404, Vec::new()),
        },
        "POST" | "PUT" => {
            kept.state = Some(asked.body);
            (200, Vec::new())
        }
        "DELETE" => {
            kept.state = None;
            (200, Vec::new())
        }
        "LOCK" => match &kept.lock {
            Some(holder) => (423, holder.clone()),
            None => {
                kept.lock = Some(asked.body);
                (200, Vec::new())
            }
        },
        "UNLOCK" => {
            kept.lock = None;
            (200, Vec::new())
        }
        _ => (405, Vec::new()),
    }
}
