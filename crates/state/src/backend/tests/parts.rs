//! Service programs, started for the tests that need them and ended with the last test.

// Also included by tests of the command line.
#![allow(clippy::unwrap_used, reason = "a test ends at its first surprise")]

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Time limit for a program to answer, in CI.
const UP: Duration = Duration::from_secs(180);

/// A listening program on this machine.
pub(super) struct Part {
    child: Child,
    pub(super) port: u16,
    /// Working directory.
    _dir: tempfile::TempDir,
}

impl Drop for Part {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Finds a program by an environment variable, or on the path.
pub(super) fn find(variable: &str, name: &str) -> Option<PathBuf> {
    if let Some(said) = std::env::var_os(variable) {
        return Some(said.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&path).map(|dir| dir.join(name));
    all.find(|file| file.is_file())
}

/// A port without a listener.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Part {
    /// Starts a program on a free port and waits until it listens.
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

/// One instance shared by concurrent tests.
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
