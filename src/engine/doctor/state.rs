//! Checks of the state: readable, lock owner, difference from the store's copy.

use super::finding::{Area, Findings, Fix};
use super::workspace::count_text;
use dependency::Version;
use lang::config::LANGUAGE_VERSION;
use model::settings::Settings;
use model::{ConfigKey, StageRequest, TERRAFORM_VERSION};
use state::{LeftLock, StateError, StateOfRecord, StatePlace, check_lock};
use statefile::encryption::EncryptionError;
use statefile::{ReadError, StateFile};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use store::Store;
use workspace::state_location::{self, StateLocation};

/// Runs the checks; returns the providers in the state.
pub(super) async fn examine(
    settings: &Settings,
    store: Option<&Store>,
    found: &mut Findings,
) -> BTreeSet<String> {
    let area = Area::State;
    let (dir, named) = (settings.workspace.clone(), settings.workspace_name.clone());
    // Parsing a large configuration takes time.
    let located = tokio::task::spawn_blocking(move || {
        state_location::locate(&dir, &named, &StageRequest::default()).map_err(|lost| {
            let first = lost.diags.iter().find(|d| d.is_error());
            first.map_or_else(String::new, |d| format!("{}: {}", d.summary, d.detail))
        })
    });
    let place = match located.await {
        Ok(Ok(place)) => place,
        Ok(Err(why)) => {
            found.error(
                area,
                format!("cannot determine the location of the state: {why}"),
            );
            return BTreeSet::new();
        }
        Err(error) => {
            found.error(area, format!("the check of the state failed: {error}"));
            return BTreeSet::new();
        }
    };
    // Only a local state has a system lock.
    if let StatePlace::File(file) = &place.place {
        check_state_lock(&settings.workspace, file, found);
        match fsroot::RootedPath::from_workspace(&settings.workspace, file).check_file() {
            Ok(()) => private(&settings.workspace.join(file), &place, found),
            Err(why) => found.error(area, why.to_string()),
        }
    }
    let providers = match content(settings, &place).await {
        Ok(Some(file)) => {
            report_state(&file, found);
            providers(&file)
        }
        Ok(None) => {
            found.add_ok(area, "no state yet");
            BTreeSet::new()
        }
        Err(why) => {
            found.error(area, why.to_string());
            return BTreeSet::new();
        }
    };
    if let Some(store) = store {
        let state = StateOfRecord::new(&settings.workspace, store, place.place, place.encryption);
        on_record(&state, found).await;
    }
    providers
}

/// Compares the state with the store's copy.
async fn on_record(state: &StateOfRecord, found: &mut Findings) {
    let area = Area::State;
    if let Err(why) = state.read().await {
        found.error(area, why.to_string());
    }
    match state.backend_is_behind().await {
        Ok(true) => {
            found.warning(
                area,
                format!(
                    "the store has changes that are not yet written to {}",
                    state.place_name()
                ),
            );
            found.remedy("run `flightdeck stage`, which writes them");
        }
        Ok(false) => {}
        Err(why) => found.error(area, why.to_string()),
    }
}

/// Reasons why the state cannot be read.
#[derive(Debug, thiserror::Error)]
enum ContentError {
    #[error(transparent)]
    State(#[from] StateError),
    /// A task on another thread failed.
    #[error(transparent)]
    Task(#[from] tokio::task::JoinError),
    #[error("cannot decrypt the state: {0}")]
    Encryption(#[from] EncryptionError),
    #[error("cannot read the state: {0}")]
    Unreadable(#[from] ReadError),
}

/// Reads and decrypts the state.
async fn content(
    settings: &Settings,
    place: &StateLocation,
) -> Result<Option<StateFile>, ContentError> {
    let text = place.place.text(&settings.workspace).await?;
    if text.is_empty() {
        return Ok(None);
    }
    // Key derivation is slow.
    let encryption = place.encryption.clone();
    let opened =
        tokio::task::spawn_blocking(move || encryption.open(&text).map(|text| text.into_owned()));
    Ok(StateFile::read(&opened.await??)?)
}

fn report_state(file: &StateFile, found: &mut Findings) {
    let objects: usize = file.resources.iter().map(|r| r.instances.len()).sum();
    found.add_ok(
        Area::State,
        format!(
            "the state can be read: serial {}, {}",
            file.serial,
            count_text(objects, "object")
        ),
    );
    // flightdeck writes this version itself.
    let newer = match (
        file.terraform_version.parse::<Version>(),
        TERRAFORM_VERSION.parse::<Version>(),
    ) {
        (Ok(theirs), Ok(ours)) => theirs > ours,
        _ => false,
    };
    if newer {
        found.warning(
            Area::State,
            format!(
                "the state was written by version {}, which is newer than the supported language version {LANGUAGE_VERSION}",
                file.terraform_version
            ),
        );
        found.remedy("check that the configuration needs no newer language version; the state format is the same");
    }
}

fn providers(file: &StateFile) -> BTreeSet<String> {
    file.providers()
        .filter_map(|key| Some(ConfigKey::parse(key)?.address.to_string()))
        .collect()
}

/// Checks for a lock, or for lock info left behind.
fn check_state_lock(dir: &Path, file: &Path, found: &mut Findings) {
    match check_lock(dir, file) {
        LeftLock::Nobody => {}
        LeftLock::Held(info) => {
            let who = info.map_or_else(
                || "an unknown owner".to_owned(),
                |info| format!("{} ({}, since {})", info.who, info.operation, info.created),
            );
            found.warning(Area::State, format!("the state is locked by {who}"));
            found.remedy(
                "wait until the process that has the lock ends, or end it; the lock ends with it",
            );
        }
        LeftLock::Stale { info, path } => {
            let who = info.map_or_else(|| "a lock owner".to_owned(), |info| info.who);
            found.warning(
                Area::State,
                format!(
                    "stale lock information in {}: it names {who}, but the state is not locked",
                    path.display()
                ),
            );
            found.remedy(format!(
                "remove the file with `rm {}`; it does not block any command",
                path.display()
            ));
            found.fix(Fix::Remove { path });
        }
    }
}

/// Checks for a plain-text state that everyone can read.
fn private(path: &Path, place: &StateLocation, found: &mut Findings) {
    let open = std::fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o007 != 0);
    if open && !place.encryption.encrypts() {
        let text = format!(
            "every user on this machine can read {}, which may have secrets",
            path.display()
        );
        found.readable_by_others(Area::State, text, path.to_owned());
        found.remedy(format!(
            "run `chmod 600 {}`, or add an encryption block",
            path.display()
        ));
    }
}
