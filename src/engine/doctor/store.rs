//! Checks of the store: readable, lock owner, unknown outcomes, unused rescue file, permissions.

use super::finding::{Area, Findings};
use super::workspace::count_text;
use model::LockHolder;
use model::lock_owner::this_process;
use model::settings::{Access, Settings};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use store::{Store, rescue_instructions, unused_rescue_file};
use workspace::store_location;

/// Runs the checks; returns the store if it is readable.
pub(super) async fn examine(settings: &Settings, found: &mut Findings) -> Option<Store> {
    let area = Area::Record;
    let dir = store_location::configured(settings).await;
    let path = store_location::file(&dir);
    // Also checked without a store, because a rescue file then matters most.
    report_rescue_file(&path, found);
    // Does not follow a link: a dangling one is not an absent store.
    if std::fs::symlink_metadata(&path).is_err() {
        found.add_ok(area, "no store yet");
        return None;
    }
    let opened = tokio::task::spawn_blocking(move || Store::open(dir, Access::ReadOnly)).await;
    let store = match opened.map(|store| store.map_err(|e| e.to_string())) {
        Ok(Ok(store)) => store,
        Ok(Err(why)) => {
            found.error(area, why);
            return None;
        }
        Err(error) => {
            found.error(area, format!("cannot open the store: {error}"));
            return None;
        }
    };
    private(&path, found);
    match store.history(0).await {
        Ok(deploys) => found.add_ok(
            area,
            format!("{} recorded", count_text(deploys.len(), "deploy")),
        ),
        Err(e) => found.error(area, e.to_string()),
    }
    match store.lock_owner().await {
        // The checks may run in the process that has the lock.
        Ok(Some(holder)) if is_this_process(&holder) => {
            found.add_ok(area, "this process has the workspace lock");
        }
        Ok(Some(holder)) => {
            found.warning(
                area,
                format!(
                    "the workspace is locked by {} on {} (pid {}): {}",
                    holder.who, holder.host, holder.pid, holder.reason
                ),
            );
            found.remedy(
                "wait until that process ends; if its machine is permanently gone, use --force-unlock",
            );
        }
        Ok(None) => {}
        Err(e) => found.error(area, e.to_string()),
    }
    match store.unknown_outcomes().await {
        Ok(unknown) if !unknown.is_empty() => {
            let have = if unknown.len() == 1 { "has" } else { "have" };
            found.warning(
                area,
                format!(
                    "{} {have} no recorded outcome; the first is {} in deploy #{}",
                    count_text(unknown.len(), "operation"),
                    unknown[0].address,
                    unknown[0].deploy
                ),
            );
            found.remedy(
                "run `flightdeck stage`: it reads the objects, and names the commands to import or discard the others",
            );
        }
        Ok(_) => {}
        Err(e) => found.error(area, e.to_string()),
    }
    Some(store)
}

/// Reports an unused rescue file.
fn report_rescue_file(path: &Path, found: &mut Findings) {
    if let Some(rescue) = unused_rescue_file(path) {
        found.warning(
            Area::Record,
            format!(
                "unused rescue file {}: it has the state of a deploy that could no longer write to its store",
                rescue.display()
            ),
        );
        found.remedy(format!(
            "run {} to replace the store with the rescue file, or move the rescue file away",
            rescue_instructions(path, &rescue)
        ));
    }
}

/// Returns true if this process is the lock owner.
fn is_this_process(holder: &LockHolder) -> bool {
    let own = this_process("");
    let who = |h: &LockHolder| (h.pid, h.start_time, h.boot_id.clone(), h.host.clone());
    who(&own) == who(holder)
}

/// Checks the store's permissions, because it has sensitive values as plain text.
fn private(path: &Path, found: &mut Findings) {
    let Ok(meta) = std::fs::metadata(path) else {
        return;
    };
    if meta.permissions().mode() & 0o077 != 0 {
        let text = format!(
            "other users can read {}, which has sensitive values",
            path.display()
        );
        found.readable_by_others(Area::Record, text, path.to_owned());
    }
}
