//! Providers that test startup: `slowstart` refuses its first two launches, `broken` refuses all.
//! Launches are counted in a file, because each one is a new process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cty::Value;
use sdk::schema::{Attr, Schema};
use sdk::{
    Change, Context, Diagnostics, Failure, Object, Options, Provider, Resource, State, async_trait,
};

use crate::lab::{LabError, SharedFile};

/// Number of the first successful launch.
const WARM_AT: u32 = 3;
const COUNT_FILE: &str = "slowstart.json";

/// Deliberate failure to start.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Started by hand.
    #[error(transparent)]
    StartedByHand(#[from] sdk::ServeError),
    /// Launch before the first successful one.
    #[error(
        "[ERROR] slowstart: caches are cold: launch {launch} fails on purpose, launch {WARM_AT} succeeds"
    )]
    Cold {
        /// Number of this launch, from 1.
        launch: u32,
    },
    /// The launches cannot be counted.
    #[error("[ERROR] slowstart: cannot count launches: {0}")]
    Uncounted(#[from] LabError),
    /// Output of a Go program after an assignment to a nil map.
    #[error(
        "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\n\
         broken/internal/registry.(*Registry).Add(...)\n\tbroken/internal/registry/registry.go:42\n\
         main.main()\n\tbroken/main.go:17 +0x6c"
    )]
    Panic,
}

/// Returns the path of the launch counter of `slowstart`. Removing the file resets it.
pub fn count_file(folder: &Path) -> PathBuf {
    folder.join(COUNT_FILE)
}

fn check_host(options: &Options) -> Result<(), Refusal> {
    if options.started_by_host() {
        Ok(())
    } else {
        Err(sdk::ServeError::StartedByHand.into())
    }
}

/// Counts a launch, and refuses it if it is too early.
pub(crate) fn check_cold_start(options: &Options, folder: &Path) -> Result<(), Refusal> {
    // A start by hand must not use up a launch.
    check_host(options)?;
    let launch = SharedFile::new(count_file(folder)).update(|count: &mut u32| {
        *count = count.saturating_add(1);
        Ok::<_, LabError>(*count)
    })?;
    if launch < WARM_AT {
        Err(Refusal::Cold { launch })
    } else {
        Ok(())
    }
}

/// Returns the failure of `broken`.
pub(crate) fn broken_refusal(options: &Options) -> Refusal {
    check_host(options).err().unwrap_or(Refusal::Panic)
}

/// Provider `slowstart`, after its start.
pub struct Slowstart;

#[async_trait]
impl Provider for Slowstart {
    fn name(&self) -> &str {
        "slowstart"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn resources(&self) -> Vec<Arc<dyn Resource>> {
        vec![Arc::new(Probe)]
    }
}

/// Resource that exists in the state only, to show that the provider started.
struct Probe;

fn finished(planned: &Value) -> Result<State, Failure> {
    let wrong = |problem| Failure::new("the probe is not valid", problem);
    let mut object = Object::of(planned).map_err(wrong)?;
    let id = format!("probe-{}", object.text("name").unwrap_or_default());
    object.fill("id", id);
    object.into_value().map(State::new).map_err(wrong)
}

#[async_trait]
impl Resource for Probe {
    fn name(&self) -> &str {
        "slowstart_probe"
    }

    fn schema(&self) -> Schema {
        Schema::new()
            .describe("Exists only in the state.")
            .attr(Attr::string("name").required().replaces())
            .attr(Attr::string("message").describe("Any text."))
            .attr(Attr::string("id").computed().stable())
    }

    async fn create(&self, _: &Context, change: Change) -> Result<State, Failure> {
        finished(&change.planned)
    }

    async fn read(&self, _: &Context, state: State) -> Result<Option<State>, Failure> {
        Ok(Some(state))
    }

    async fn update(&self, _: &Context, change: Change) -> Result<State, Failure> {
        finished(&change.planned)
    }

    async fn delete(&self, _: &Context, _: State) -> Result<Diagnostics, Failure> {
        Ok(Diagnostics::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Options {
        Options {
            cookie: Some(wire::env::MAGIC_COOKIE_VALUE.into()),
            ..Options::default()
        }
    }

    #[test]
    fn cold_start_fails_twice_and_then_succeeds() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(
            check_cold_start(&host(), dir.path()),
            Err(Refusal::Cold { launch: 1 })
        ));
        assert!(matches!(
            check_cold_start(&host(), dir.path()),
            Err(Refusal::Cold { launch: 2 })
        ));
        assert!(check_cold_start(&host(), dir.path()).is_ok());
        assert!(check_cold_start(&host(), dir.path()).is_ok());
    }

    #[test]
    fn manual_start_is_not_counted() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(
            check_cold_start(&Options::default(), dir.path()),
            Err(Refusal::StartedByHand(_))
        ));
        assert!(!count_file(dir.path()).exists());
        assert!(matches!(
            broken_refusal(&Options::default()),
            Refusal::StartedByHand(_)
        ));
        assert!(broken_refusal(&host()).to_string().starts_with("panic: "));
    }
}
