//! A server that keeps a state as those behind the http backend do, and that can be told to do it
//! badly. Real sockets, a thread a connection, one request a connection.

// Each that includes it needs another part of it.
#![allow(dead_code, reason = "shared with tests of the command line")]
#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What it is told to do with the next request of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Answers with this code, and does nothing.
    Code(u16),
    /// Closes the connection without having done anything.
    Lose,
    /// Does what was asked, and closes the connection without an answer.
    DoAndLose,
    /// Does what was asked, and does not answer for as long as the connection is there.
    DoAndHang,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
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
    seen: Vec<Request>,
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

    /// One that is spoken to over TLS.
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

    /// Who has the lock.
    pub(crate) fn lock(&self) -> Option<String> {
        let lock = lock(&self.kept).lock.clone()?;
        Some(String::from_utf8(lock).unwrap())
    }

    pub(crate) fn set_lock(&self, word: &str) {
        lock(&self.kept).lock = Some(word.into());
    }

    /// Whoever has the lock gives it back.
    pub(crate) fn unlock(&self) {
        lock(&self.kept).lock = None;
    }

    /// Nothing that it was told to do badly is left.
    pub(crate) fn at_ease(&self) {
        lock(&self.kept).troubles.clear();
    }

    /// What the next requests of a method meet, one after the other.
    pub(crate) fn trouble(&self, method: &str, troubles: &[Trouble]) {
        let all = troubles.iter().map(|t| (method.to_owned(), *t));
        lock(&self.kept).troubles.extend(all);
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        lock(&self.kept).seen.clone()
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen().into_iter().map(|r| r.method).collect()
    }
}

/// How the two sides of a connection come to trust each other, where they are to.
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
        kept.seen.push(asked.clone());
        let at = kept.troubles.iter().position(|(m, _)| *m == asked.method);
        let trouble = at.map(|at| kept.troubles.remove(at).1);
        match trouble {
            Some(Trouble::Code(code)) => (code, Vec::new(), trouble),
            Some(Trouble::Lose) => return,
            _ => {
                let (code, body) = answer(&mut kept, asked);
                (code, body, trouble)
            }
        }
    };
    match trouble {
        Some(Trouble::DoAndLose) => return,
        Some(Trouble::DoAndHang) => {
            // Until the other side has had enough.
            drop(stream.read(&mut [0]));
            return;
        }
        _ => {}
    }
    let head = format!(
        "HTTP/1.1 {code} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    drop(stream.write_all(&[head.as_bytes(), &body].concat()));
}

fn answer(kept: &mut Kept, asked: Request) -> (u16, Vec<u8>) {
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
