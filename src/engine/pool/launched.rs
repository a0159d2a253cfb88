//! One launch of a process: its adapter, who uses it, and how much it was used. Shared by the
//! process and by those who use it.

use crate::engine::mutex::lock;
use crate::engine::plugin::Connection;
use crate::engine::provider::Provider;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// One launch that came up.
pub(super) struct Launched {
    pub(super) connection: Connection,
    pub(super) adapter: Arc<dyn Provider>,
    /// Whether it was given the configuration of its process.
    pub(super) configured: AtomicBool,
    /// Those who use it.
    pub(super) users: TaskTracker,
    pub(super) since: Instant,
    /// Calls that were begun.
    pub(super) calls: AtomicU64,
    /// What was opened in it and is not closed: that is closed where it was opened.
    pub(super) open: AtomicUsize,
    used: Mutex<Instant>,
}

impl Launched {
    pub(super) fn new(
        connection: Connection,
        adapter: Arc<dyn Provider>,
        users: TaskTracker,
    ) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Self {
            connection,
            adapter,
            configured: AtomicBool::new(false),
            users,
            since: now,
            calls: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            used: Mutex::new(now),
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.connection.is_open()
    }

    /// For how long nobody has used it; `None` while somebody does.
    pub(super) fn idle(&self) -> Option<Duration> {
        let unused = self.users.is_empty() && self.open.load(Ordering::SeqCst) == 0;
        unused.then(|| lock(&self.used).elapsed())
    }
}

/// The use of a launch: while it lasts, the process is not ended for want of use, nor after it was
/// replaced.
pub(super) struct Hold {
    pub(super) launched: Arc<Launched>,
    _token: TaskTrackerToken,
}

impl Hold {
    /// Under the lock of what is current, so that nobody begins to use what has just been replaced.
    pub(super) fn of(launched: &Arc<Launched>) -> Self {
        Self {
            launched: launched.clone(),
            _token: launched.users.token(),
        }
    }

    pub(super) fn is_configured(&self) -> bool {
        self.launched.configured.load(Ordering::SeqCst)
    }

    /// It is used for one more call.
    pub(super) fn counted(self) -> Self {
        self.launched.calls.fetch_add(1, Ordering::Relaxed);
        self
    }

    /// Something was opened in it.
    pub(super) fn opened(&self) {
        self.launched.open.fetch_add(1, Ordering::SeqCst);
    }

    /// Something was closed in it. After a crash more may be closed than was opened.
    pub(super) fn closed(&self) {
        let one_less = |open: usize| open.checked_sub(1);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        self.launched.open.fetch_update(set, fetch, one_less).ok();
    }
}

impl Deref for Hold {
    type Target = dyn Provider;

    fn deref(&self) -> &Self::Target {
        &*self.launched.adapter
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        *lock(&self.launched.used) = Instant::now();
    }
}
