//! Check of a workspace's store before it is opened: one that came with a clone is set aside. Its
//! unwritten outcomes are listed, and `flightdeck state adopt-store` takes it.

use crate::error::EngineError;
use fsroot::RootedPath;
use model::settings::{Access, Settings};
use plugin::find::tracks_below;
use state::resolved_directory;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use store::Store;
use trust::ownership::{Ownership, StoreKey};
use workspace::store_location;

/// Addresses that are listed.
const MAX_LISTED: usize = 20;

/// Result of the check.
#[derive(Default)]
pub(super) struct Checked {
    /// True if the directory must not be read.
    pub(super) is_foreign: bool,
    /// Message for the operator.
    text: Option<String>,
    /// Key and number of a store that was set aside.
    aside: Option<(StoreKey, u32)>,
}

impl Checked {
    /// Message for the operator, with the unwritten outcomes of a store that was set aside.
    pub(super) async fn notice(self) -> Option<String> {
        let mut text = self.text?;
        if let Some((key, number)) = self.aside {
            let outcomes = unwritten_outcomes(&key, number).await;
            if !outcomes.is_empty() {
                text.push_str(&format!(
                    ". Its unwritten outcomes: {}",
                    outcomes.join("; ")
                ));
            }
        }
        Some(text)
    }
}

/// Key of this process' user.
///
/// # Errors
/// The key cannot be read.
pub fn store_key(workspace: &Path) -> Result<StoreKey, EngineError> {
    let variable = |name: &str| std::env::var(name).ok();
    let key = StoreKey::load(workspace, variable).map_err(EngineError::failed_to(
        "failed to check the owner of the store",
    ))?;
    Ok(key.in_directory(store_location::root(workspace).path()))
}

/// Checks the store of a workspace. With write access, sets a foreign one aside. Blocks.
///
/// # Errors
/// The key cannot be read, or the store cannot be set aside.
pub(super) fn check(settings: &Settings, access: Access) -> Result<Checked, EngineError> {
    if access == Access::NoStore || !is_checked(settings) {
        return Ok(Checked::default());
    }
    let workspace = &settings.workspace;
    let root = store_location::root(workspace).path();
    let key = match store_key(workspace) {
        // The guard of the store names the owner of another user's directory.
        Err(_) if !access.can_write() || is_of_another_user(&root) => {
            StoreKey::without_key(workspace).in_directory(root.clone())
        }
        key => key?,
    };
    let reason = match key.owner(tracks_below(&root.join(".flightdeck"))) {
        Ownership::Foreign(reason) => reason,
        _ => return Ok(Checked::default()),
    };
    if !access.can_write() {
        let notice = format!(
            "the store .flightdeck is not used: {reason}. The next command that writes sets it aside"
        );
        return Ok(Checked {
            is_foreign: true,
            text: Some(notice),
            aside: None,
        });
    }
    let number = key
        .set_aside()
        .map_err(EngineError::failed_to("failed to set the store aside"))?;
    let place = key.aside(number);
    let notice = format!(
        "the store .flightdeck is set aside in {}: {reason}. Nothing of it is used or deleted. If it is yours, run `flightdeck state adopt-store {number}`",
        place.display()
    );
    Ok(Checked {
        is_foreign: false,
        text: Some(notice),
        aside: Some((key, number)),
    })
}

/// Must the store have a mark? One outside of the workspace did not come with a clone: the operator
/// has named its directory.
fn is_checked(settings: &Settings) -> bool {
    let root = resolved_directory(&store_location::root(&settings.workspace).path());
    settings.binds_store && root.starts_with(resolved_directory(&settings.workspace))
}

fn is_of_another_user(workspace: &Path) -> bool {
    let found = std::fs::symlink_metadata(workspace.join(".flightdeck"));
    found.is_ok_and(|dir| dir.uid() != rustix::process::geteuid().as_raw())
}

/// Marks a store without a mark, which this process has opened. Blocks.
pub(super) fn mark_unmarked(settings: &Settings) {
    if !is_checked(settings) {
        return;
    }
    let key = store_key(&settings.workspace);
    let marked = key.map(|key| match key.owner(Some(false)) {
        Ownership::Unmarked => key.mark().err(),
        _ => None,
    });
    if let Ok(Some(error)) = marked {
        tracing::warn!(%error, "the store is not marked as this user's own");
    }
}

/// Describes the outcomes of a store that is set aside which its backend may not have.
pub async fn unwritten_outcomes(key: &StoreKey, number: u32) -> Vec<String> {
    let dir = RootedPath::new(key.directory(), key.aside(number));
    let opened = tokio::task::spawn_blocking(move || Store::open(dir, Access::ReadOnly)).await;
    let Ok(Ok(store)) = opened else {
        return vec!["its records cannot be read".to_owned()];
    };
    let mut lines = Vec::new();
    for unknown in store.unknown_outcomes().await.unwrap_or_default() {
        lines.push(format!("{}: no recorded outcome", unknown.address));
    }
    let state = store.state().await.unwrap_or_default();
    let written = store.backend_version().await.unwrap_or_default();
    if state.serial != written.serial {
        lines.push(format!(
            "its copy of the state has serial {}, and {} was written to the backend",
            state.serial, written.serial
        ));
        let newest = store.history(1).await.unwrap_or_default();
        for deploy in newest {
            let operations = store.operations(deploy.deploy).await.unwrap_or_default();
            let ended = operations.iter().filter(|o| o.took_ms.is_some());
            lines.extend(ended.map(|o| format!("{}: {}", o.address, o.state.label())));
        }
    }
    if lines.len() > MAX_LISTED {
        let more = lines.len() - MAX_LISTED;
        lines.truncate(MAX_LISTED);
        lines.push(format!("and {more} more"));
    }
    lines
}
