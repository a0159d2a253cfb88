//! The block of a backend and the record of the directory, brought together.

use super::home::unsaid;
use crate::engine::state::Place;
use crate::engine::state::backend::{Record, Settings};
use std::path::Path;

/// What to record of a backend, and what is said of that.
pub(super) type ToRecord = Option<(Record, Option<String>)>;

/// What the block says and what is on record, brought together as tofu does: a block that was not
/// changed since then means what is on record, which may have more.
pub(super) fn agreed(
    dir: &Path,
    named: &str,
    said: Option<Settings>,
    recorded: Option<Record>,
) -> Result<(Option<Settings>, ToRecord), String> {
    let changed = |reason: String| {
        format!(
            "{reason}, and the state may have to be brought there. `flightdeck init -migrate-state` brings it, `flightdeck init -reconfigure` goes on with what is there."
        )
    };
    match (said, recorded) {
        (None, None) => Ok((None, None)),
        (None, Some(record)) => Err(changed(format!(
            "The backend {:?}, for which this directory was initialized, is not in the configuration any more",
            record.kind
        ))),
        // Nothing is anywhere else that could be missed.
        (Some(said), None) if said.kind() == "local" => Ok((Some(said), None)),
        (Some(said), None) => first(dir, named, said),
        (Some(said), Some(record)) if record.kind != said.kind() => Err(changed(format!(
            "The type of the backend was changed from {:?} to {:?}",
            record.kind,
            said.kind()
        ))),
        (Some(said), Some(record)) => {
            let before = Settings::recorded(&record.kind, &record.config)
                .map_err(|e| format!("{e} So says the record of this directory's backend; `flightdeck init -reconfigure` writes it anew."))?;
            if record.hash == u64::from(said.hash()) {
                Ok((Some(before), None))
            } else if before == said {
                let hash = said.hash().into();
                Ok((Some(said), Some((Record { hash, ..record }, None))))
            } else {
                Err(changed(
                    "The block of the backend was changed since this directory was initialized"
                        .to_owned(),
                ))
            }
        }
    }
}

/// A backend that this directory was not initialized for: gone on with where it can be reached as
/// it is written, and no state is left behind.
fn first(dir: &Path, named: &str, said: Settings) -> Result<(Option<Settings>, ToRecord), String> {
    let kind = said.kind();
    let not = |why: String| {
        format!("This directory was not initialized for the backend {kind:?} yet, and {why}.")
    };
    if let Err(error) = said.open(dir) {
        return Err(not(format!(
            "{error}; say what is missing with `flightdeck init -backend-config=…`"
        )));
    }
    let Place::File(file) = unsaid(named).place else {
        return Err(not("its state has no place".to_owned()));
    };
    let text = lang::functions::read_regular(dir.join(&file)).unwrap_or_default();
    if is_used(&text) {
        return Err(not(format!(
            "there is a state with objects in {}; `flightdeck init -migrate-state` brings it there",
            file.display()
        )));
    }
    let record = Record::of(&said, said.hash());
    let told = format!(
        "this directory is initialized for the backend {kind:?} now, as its block says; the record of that is .terraform/terraform.tfstate"
    );
    Ok((Some(said), Some((record, Some(told)))))
}

/// Whether something would be missed with a state.
pub(super) fn is_used(text: &[u8]) -> bool {
    match statefile::StateFile::read(text) {
        Ok(None) => false,
        Ok(Some(state)) => !state.resources.is_empty() || !state.outputs.is_empty(),
        Err(_) => true,
    }
}
