//! Replacement of provider processes. The new process is launched beside the old one, gets its
//! configuration and then all new calls; the old one keeps its remaining calls. This module decides
//! and configures; the plugin's supervisor owns both processes.

use super::launched::Launched;
use super::process::Process;
use crate::engine::mutex::lock;
use crate::engine::plugin::{Connection, FileIdentity, Fit, NotReplaced, Programs, Start};
use crate::engine::settings::RenewSettings;
use crate::engine::words::{LogLevel, PluginState, Renewal, UnixMs, now_ms};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Maximum pause between failed replacements. The pauses are those between launches, and the last
/// one is doubled with each further failure.
const LONGEST: Duration = Duration::from_secs(300);

/// Progress of the replacement of one process.
#[derive(Default)]
pub(super) struct Renewing {
    under_way: bool,
    /// Number of consecutive failures.
    tries: u32,
    not_before: Option<Instant>,
    /// File of the last failed replacement.
    failed: Option<FileIdentity>,
    /// Changed file at the last check: a file that still changes may be half-written and is left
    /// alone.
    seen: Option<FileIdentity>,
    said: Option<Renewal>,
}

/// Reason to replace a process.
pub(super) struct Due {
    why: String,
    /// New file to execute, if the file has changed.
    file: Option<FileIdentity>,
}

impl Due {
    /// Returns true if the reason is a changed file.
    pub(super) fn is_changed(&self) -> bool {
        self.file.is_some()
    }
}

/// Formats a duration as `90 s`, `10 min`, `2 h`.
pub(super) fn in_words(d: Duration) -> String {
    match d.as_secs() {
        0 => format!("{} ms", d.as_millis()),
        s if s % 3_600 == 0 => format!("{} h", s / 3_600),
        s if s % 60 == 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// Formats bytes as `512 MiB`.
fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

impl Process {
    /// Returns the reason to replace the process, if there is one.
    pub(super) async fn due(&self, limits: &RenewSettings) -> Option<Due> {
        if !matches!(self.start, Some(Start::Spawn(_))) {
            return None;
        }
        let launched = self.lives()?;
        if let Some(file) = self.plugin.other_file().await {
            let why = "its file has changed".to_owned();
            return Some(Due {
                why,
                file: Some(file),
            });
        }
        let why = worn(self, &launched, limits)?;
        Some(Due { why, file: None })
    }

    /// Returns true if the plugin failed for good and its file has changed since.
    pub(super) async fn has_failed_as_another(&self) -> bool {
        let for_good = matches!(
            self.state(),
            PluginState::GaveUp { .. } | PluginState::Incompatible { .. }
        );
        for_good && self.plugin.file_is_touched().await
    }

    /// Checks whether the process is to be replaced, and reports obstacles. If it returns a reason,
    /// the caller must call [`Process::renew`].
    pub(super) async fn look(&self, limits: &RenewSettings, programs: &Programs) -> Option<Due> {
        let due = self.due(limits).await;
        let mut renewing = lock(&self.renewing);
        if renewing.under_way {
            return None;
        }
        let Some(due) = due else {
            if renewing.said.take().is_some() {
                self.plugin.say_renewal(None);
            }
            (renewing.seen, renewing.tries, renewing.not_before) = (None, 0, None);
            return None;
        };
        // A file must be unchanged over two checks, because it may still be written.
        let is_settled = due.file.is_none() || renewing.seen == due.file;
        renewing.seen.clone_from(&due.file);
        if !is_settled {
            return None;
        }
        if let Some(until) = self.in_the_way(&due, programs) {
            let why = due.why;
            self.say(&mut renewing, Some(Renewal::Held { why, until }));
            return None;
        }
        // A different file is tried at once, whatever happened to the last one.
        let waits = renewing.not_before.is_some_and(|at| Instant::now() < at);
        if waits && renewing.failed == due.file {
            return None;
        }
        renewing.under_way = true;
        Some(due)
    }

    fn in_the_way(&self, due: &Due, programs: &Programs) -> Option<String> {
        if due.file.is_some() && programs.are_pinned() {
            return Some("the running stage or deploy has ended".to_owned());
        }
        let open = self.lives()?.open.load(Ordering::SeqCst);
        let things = if open == 1 {
            "resource is"
        } else {
            "resources are"
        };
        (open > 0).then(|| format!("{open} open ephemeral {things} closed"))
    }

    fn say(&self, renewing: &mut Renewing, what: Option<Renewal>) {
        if renewing.said != what {
            renewing.said.clone_from(&what);
            self.plugin.say_renewal(what);
        }
    }

    /// Claims the replacement regardless of earlier failures; false if one is in progress.
    pub(super) fn claim(&self) -> bool {
        !std::mem::replace(&mut lock(&self.renewing).under_way, true)
    }

    /// Replaces the process; requires a claim by [`Process::look`] or [`Process::claim`]. Bounded
    /// by a launch and the readiness timeout. Reports the outcome.
    pub(super) async fn renew(self: &Arc<Self>, due: Due) {
        let why = due.why.clone();
        let launching = Renewal::Launching { why: why.clone() };
        self.say(&mut lock(&self.renewing), Some(launching));
        let this = self.clone();
        let fit: Fit = Box::new(move |connection| {
            Box::pin(async move {
                let within = this.ready_within;
                let fitted = timeout(within, this.fit(connection)).await;
                fitted.unwrap_or_else(|_| Err(NotReplaced::Late(in_words(within))))
            })
        });
        let replaced = self.plugin.replace(why.clone(), fit).await;
        let mut renewing = lock(&self.renewing);
        renewing.under_way = false;
        let Err(failed) = replaced else {
            *renewing = Renewing::default();
            return;
        };
        renewing.tries += 1;
        let pause = self.pause_after(renewing.tries);
        renewing.not_before = Some(Instant::now() + pause);
        renewing.failed = due.file;
        let text = format!(
            "the replacement process failed to start: {failed}; the current process continues to serve, and the next attempt is in {}",
            in_words(pause)
        );
        self.plugin.note(LogLevel::Warn, text);
        let next = now_ms() + UnixMs::try_from(pause.as_millis()).unwrap_or(0);
        let failed = Renewal::Failed {
            why,
            failed: failed.to_string(),
            tries: renewing.tries,
            next,
        };
        self.say(&mut renewing, Some(failed));
    }

    fn pause_after(&self, tries: u32) -> Duration {
        let pauses = &self.backoff;
        let at = tries.saturating_sub(1) as usize;
        let Some(last) = pauses.last() else {
            return LONGEST;
        };
        let doubled = u32::try_from(at.saturating_sub(pauses.len() - 1)).unwrap_or(u32::MAX);
        let longer = last.saturating_mul(2_u32.saturating_pow(doubled));
        pauses.get(at).copied().unwrap_or(longer).min(LONGEST)
    }

    /// Configures a new process and redirects calls to it. Returns the tracker of the old one's
    /// users.
    async fn fit(&self, connection: Connection) -> Result<TaskTracker, NotReplaced> {
        // In this order, as everywhere: `fitting`, then `making`.
        let _fitting = self.fitting.lock().await;
        let _making = self.making.lock().await;
        let cancel = CancellationToken::new();
        let launched = self.adapted(connection, &cancel).await?;
        let config = lock(&self.config).clone();
        if let Some(config) = config {
            self.give(&*launched.adapter, config, &cancel).await?;
            launched.configured.store(true, Ordering::SeqCst);
        }
        self.swap(launched)
    }

    fn swap(&self, launched: Arc<Launched>) -> Result<TaskTracker, NotReplaced> {
        let mut current = lock(&self.current);
        // An open ephemeral resource exists only in the process that opened it.
        let open = |old: &Arc<Launched>| old.open.load(Ordering::SeqCst) > 0;
        if current.as_ref().is_some_and(open) {
            return Err(NotReplaced::InUse);
        }
        *lock(&self.schema) = launched.adapter.known_schema();
        let old = current.replace(launched);
        // Opening the lane grants slots, whose holders take this lock.
        drop(current);
        // Slots that are held belong to the old launch; reopening gives the new one all of its
        // slots.
        if self.lane.is_open() {
            self.lane.open();
        }
        let users = old.map(|o| o.users.clone()).unwrap_or_default();
        // `TaskTracker::wait` needs it; no new lease is taken on the old launch.
        users.close();
        let mut leaving = lock(&self.leaving);
        // Bounds the list over many replacements.
        leaving.retain(|users| !users.is_empty());
        leaving.push(users.clone());
        Ok(users)
    }
}

/// Returns the limit that a launch has passed, as text.
fn worn(process: &Process, launched: &Launched, limits: &RenewSettings) -> Option<String> {
    let age = launched.since.elapsed();
    // Protects against constant replacement by a limit that a fresh process already passes.
    if age < limits.youngest {
        return None;
    }
    if let Some(limit) = limits.age.filter(|limit| age > *limit) {
        return Some(format!("it is older than {}", in_words(limit)));
    }
    let calls = launched.calls.load(Ordering::Relaxed);
    if let Some(limit) = limits.calls.filter(|limit| calls >= *limit) {
        return Some(format!("it has served {calls} calls, the limit is {limit}"));
    }
    let pid = launched.connection.pid?;
    let taken = process.plugin.usage(pid)?.rss_bytes;
    let limit = limits.memory.filter(|limit| taken > *limit)?;
    Some(format!(
        "it uses {} of memory, the limit is {}",
        mebibytes(taken),
        mebibytes(limit)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_their_own_measure() {
        let words = [90, 600, 7_200].map(|s| in_words(Duration::from_secs(s)));
        assert_eq!(words, ["90 s", "10 min", "2 h"]);
        assert_eq!(in_words(Duration::from_millis(40)), "40 ms");
    }
}
