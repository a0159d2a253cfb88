//! One launch of a provider process: its adapter, its users and usage counters. Shared by the
//! process and its users.

use crate::Provider;
use model::mutex::lock;
use plugin::Connection;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Launch that became ready.
pub(super) struct Launched {
    pub(super) connection: Connection,
    pub(super) adapter: Arc<dyn Provider>,
    /// True once it has received the configuration of its process.
    pub(super) configured: AtomicBool,
    /// Current users.
    pub(super) users: TaskTracker,
    pub(super) started_at: Instant,
    /// Number of calls started.
    pub(super) calls: AtomicU64,
    /// Number of open ephemeral resources, which only this process can close.
    pub(super) open: AtomicUsize,
    last_used: Mutex<Instant>,
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
            started_at: now,
            calls: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            last_used: Mutex::new(now),
        })
    }

    pub(super) fn is_alive(&self) -> bool {
        self.connection.is_open()
    }

    /// Returns the time since the last use; `None` while it is in use.
    pub(super) fn idle(&self) -> Option<Duration> {
        let unused = self.users.is_empty() && self.open.load(Ordering::SeqCst) == 0;
        unused.then(|| lock(&self.last_used).elapsed())
    }
}

/// Lease on a launch. While it exists, the process is not ended, neither as idle nor after a
/// replacement.
pub(super) struct Lease {
    pub(super) launched: Arc<Launched>,
    _token: TaskTrackerToken,
}

impl Lease {
    /// Takes a lease. Call it under the lock of `current`, so that no lease begins on a launch that
    /// has just been replaced.
    pub(super) fn of(launched: &Arc<Launched>) -> Self {
        Self {
            launched: launched.clone(),
            _token: launched.users.token(),
        }
    }

    pub(super) fn is_configured(&self) -> bool {
        self.launched.configured.load(Ordering::SeqCst)
    }

    /// Counts one more call.
    pub(super) fn count_call(self) -> Self {
        self.launched.calls.fetch_add(1, Ordering::Relaxed);
        self
    }

    /// Counts an opened ephemeral resource.
    pub(super) fn count_opened(&self) {
        self.launched.open.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a closed ephemeral resource. Saturates, because after a crash more may be closed than
    /// were opened in this process.
    pub(super) fn count_closed(&self) {
        let one_less = |open: usize| open.checked_sub(1);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        self.launched.open.fetch_update(set, fetch, one_less).ok();
    }
}

impl Deref for Lease {
    type Target = dyn Provider;

    fn deref(&self) -> &Self::Target {
        &*self.launched.adapter
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        *lock(&self.launched.last_used) = Instant::now();
    }
}
