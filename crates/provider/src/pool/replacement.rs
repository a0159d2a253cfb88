//! Replacement of provider processes. The new process is launched beside the old one, gets its
//! configuration and then all new calls; the old one keeps its remaining calls. This module decides
//! and configures; the plugin's supervisor owns both processes.

use super::launched::Launched;
use super::process::PooledProcess;
use model::mutex::lock;
use model::settings::RenewSettings;
use model::{LogLevel, PluginState, Renewal, UnixMs, now_ms};
use plugin::{Connection, FileIdentity, Fit, NotReplaced, PinnedExecutables, Start};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Maximum pause between failed replacements. The pauses are those between launches, and the last
/// one is doubled with each further failure.
const MAX_PAUSE: Duration = Duration::from_secs(300);

/// Progress of the replacement of one process.
#[derive(Default)]
pub(super) struct Renewing {
    under_way: bool,
    /// Number of consecutive failures.
    failures: u32,
    not_before: Option<Instant>,
    /// File of the last failed replacement.
    failed: Option<FileIdentity>,
    /// Changed file at the last check: a file that still changes may be half-written and is left
    /// alone.
    changed_file: Option<FileIdentity>,
    reported: Option<Renewal>,
}

/// Reason to replace a process.
pub(super) struct Due {
    why: String,
    /// New file to execute, if the file has changed.
    file: Option<FileIdentity>,
}

impl Due {
    /// Returns true if the reason is a changed file.
    pub(super) fn is_file_changed(&self) -> bool {
        self.file.is_some()
    }
}

/// Formats a duration as `90 s`, `10 min`, `2 h`.
pub(super) fn format_duration(d: Duration) -> String {
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

impl PooledProcess {
    /// Returns the reason to replace the process, if there is one.
    pub(super) async fn replacement_due(&self, limits: &RenewSettings) -> Option<Due> {
        if !matches!(self.start, Some(Start::Spawn(_))) {
            return None;
        }
        let launched = self.launch_if_alive()?;
        if let Some(file) = self.plugin.changed_file().await {
            let why = "its file has changed".to_owned();
            return Some(Due {
                why,
                file: Some(file),
            });
        }
        let why = exceeded_limit(self, &launched, limits)?;
        Some(Due { why, file: None })
    }

    /// Returns true if the plugin failed for good and its file has changed since.
    pub(super) async fn has_failed_with_old_file(&self) -> bool {
        let for_good = matches!(
            self.state(),
            PluginState::GaveUp { .. } | PluginState::Incompatible { .. }
        );
        for_good && self.plugin.file_is_touched().await
    }

    /// Checks whether the process is to be replaced, and reports obstacles. If it returns a reason,
    /// the caller must call [`PooledProcess::renew`].
    pub(super) async fn check_replacement(
        &self,
        limits: &RenewSettings,
        programs: &PinnedExecutables,
    ) -> Option<Due> {
        let due = self.replacement_due(limits).await;
        let mut renewing = lock(&self.renewing);
        if renewing.under_way {
            return None;
        }
        let Some(due) = due else {
            if renewing.reported.take().is_some() {
                self.plugin.report_replacement(None);
            }
            (
                renewing.changed_file,
                renewing.failures,
                renewing.not_before,
            ) = (None, 0, None);
            return None;
        };
        // A file must be unchanged over two checks, because it may still be written.
        let is_settled = due.file.is_none() || renewing.changed_file == due.file;
        renewing.changed_file.clone_from(&due.file);
        if !is_settled {
            return None;
        }
        if let Some(until) = self.obstacle(&due, programs) {
            let why = due.why;
            self.report_replacement(&mut renewing, Some(Renewal::Held { why, until }));
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

    fn obstacle(&self, due: &Due, programs: &PinnedExecutables) -> Option<String> {
        if due.file.is_some() && programs.are_pinned() {
            return Some("the running stage or deploy has ended".to_owned());
        }
        let open = self.launch_if_alive()?.open.load(Ordering::SeqCst);
        let things = if open == 1 {
            "resource is"
        } else {
            "resources are"
        };
        (open > 0).then(|| format!("{open} open ephemeral {things} closed"))
    }

    fn report_replacement(&self, renewing: &mut Renewing, what: Option<Renewal>) {
        if renewing.reported != what {
            renewing.reported.clone_from(&what);
            self.plugin.report_replacement(what);
        }
    }

    /// Claims the replacement regardless of earlier failures; false if one is in progress.
    pub(super) fn try_claim(&self) -> bool {
        !std::mem::replace(&mut lock(&self.renewing).under_way, true)
    }

    /// Replaces the process; requires a claim by [`PooledProcess::check_replacement`] or
    /// [`PooledProcess::try_claim`]. Bounded by a launch and the readiness timeout. Reports the
    /// outcome.
    pub(super) async fn renew(self: &Arc<Self>, due: Due) {
        let why = due.why.clone();
        let launching = Renewal::Launching { why: why.clone() };
        self.report_replacement(&mut lock(&self.renewing), Some(launching));
        let this = self.clone();
        let fit: Fit = Box::new(move |connection| {
            Box::pin(async move {
                let within = this.ready_timeout;
                let fitted = timeout(within, this.configure_and_swap(connection)).await;
                fitted.unwrap_or_else(|_| Err(NotReplaced::Late(format_duration(within))))
            })
        });
        let replaced = self.plugin.replace(why.clone(), fit).await;
        let mut renewing = lock(&self.renewing);
        renewing.under_way = false;
        let Err(failed) = replaced else {
            *renewing = Renewing::default();
            return;
        };
        renewing.failures += 1;
        let pause = self.retry_pause(renewing.failures);
        renewing.not_before = Some(Instant::now() + pause);
        renewing.failed = due.file;
        let text = format!(
            "the replacement process failed to start: {failed}; the current process continues to serve, and the next attempt is in {}",
            format_duration(pause)
        );
        self.plugin.log_engine_line(LogLevel::Warn, text);
        let next = now_ms() + UnixMs::try_from(pause.as_millis()).unwrap_or(0);
        let failed = Renewal::Failed {
            why,
            failed: failed.to_string(),
            tries: renewing.failures,
            next,
        };
        self.report_replacement(&mut renewing, Some(failed));
    }

    fn retry_pause(&self, tries: u32) -> Duration {
        let pauses = &self.backoff;
        let at = tries.saturating_sub(1) as usize;
        let Some(last) = pauses.last() else {
            return MAX_PAUSE;
        };
        let doubled = u32::try_from(at.saturating_sub(pauses.len() - 1)).unwrap_or(u32::MAX);
        let longer = last.saturating_mul(2_u32.saturating_pow(doubled));
        pauses.get(at).copied().unwrap_or(longer).min(MAX_PAUSE)
    }

    /// Configures a new process and redirects calls to it. Returns the tracker of the old one's
    /// users.
    async fn configure_and_swap(&self, connection: Connection) -> Result<TaskTracker, NotReplaced> {
        // In this order, as everywhere: `fitting`, then `making`.
        let _fitting = self.reconfiguring.lock().await;
        let _making = self.making.lock().await;
        let cancel = CancellationToken::new();
        let launched = self.adapted(connection, &cancel).await?;
        let config = lock(&self.config).clone();
        if let Some(config) = config {
            self.send_configuration(&*launched.adapter, config, &cancel)
                .await?;
            launched.configured.store(true, Ordering::SeqCst);
        }
        self.swap_launch(launched)
    }

    fn swap_launch(&self, launched: Arc<Launched>) -> Result<TaskTracker, NotReplaced> {
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
        let mut leaving = lock(&self.draining);
        // Bounds the list over many replacements.
        leaving.retain(|users| !users.is_empty());
        leaving.push(users.clone());
        Ok(users)
    }
}

/// Returns the limit that a launch has passed, as text.
fn exceeded_limit(
    process: &PooledProcess,
    launched: &Launched,
    limits: &RenewSettings,
) -> Option<String> {
    let age = launched.started_at.elapsed();
    // Protects against constant replacement by a limit that a fresh process already passes.
    if age < limits.youngest {
        return None;
    }
    if let Some(limit) = limits.age.filter(|limit| age > *limit) {
        return Some(format!("it is older than {}", format_duration(limit)));
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
    fn durations_are_formatted_in_their_largest_exact_unit() {
        let words = [90, 600, 7_200].map(|s| format_duration(Duration::from_secs(s)));
        assert_eq!(words, ["90 s", "10 min", "2 h"]);
        assert_eq!(format_duration(Duration::from_millis(40)), "40 ms");
    }
}
