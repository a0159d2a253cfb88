//! Programs that stand for services, started for the tests that need them and ended with the last.

// Tests of the command line include it too.
#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// For a program to answer; machines of others are slow.
const UP: Duration = Duration::from_secs(180);

/// A program of this machine that listens.
pub(super) struct Part {
    child: Child,
    pub(super) port: u16,
    /// What it works in.
    _dir: tempfile::TempDir,
}

impl Drop for Part {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A program by the variable that names it, or on the path.
pub(super) fn find(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(said) = std::env::var_os(variable) {
        return Some(said.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&path).map(|dir| dir.join(name));
    all.find(|file| file.is_file())
}

/// A port that nothing listens on.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Part {
    /// Starts a program on a port of its own and waits until it listens.
    pub(super) fn start(make: impl FnOnce(&std::path::Path, u16) -> Command) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut command = make(dir.path(), port);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut part = Self {
            child,
            port,
            _dir: dir,
        };
        let until = Instant::now() + UP;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "{command:?} does not listen");
            let ended = part.child.try_wait().unwrap();
            assert!(ended.is_none(), "{command:?} ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        part
    }
}

/// One of a kind for all tests that run at a time.
pub(super) struct Shared(Mutex<Weak<Part>>);

impl Shared {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Weak::new()))
    }

    pub(super) fn get(&self, start: impl FnOnce() -> Part) -> Arc<Part> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = known.upgrade() {
            return part;
        }
        let part = Arc::new(start());
        *known = Arc::downgrade(&part);
        part
    }
}
