//! Writes a rescue file when a deploy has lost its store, and reports an unused one.

use super::command::Operations;
use model::{DeployId, Diagnostic, EventKind, Severity};
use store::{rescue_instructions, unused_rescue_file};

impl Operations {
    /// Reports an unused rescue file with instructions.
    pub async fn report_rescue_file(&self) {
        let store = self.memory.store().path().to_owned();
        let found = tokio::task::spawn_blocking(move || {
            let file = unused_rescue_file(&store)?;
            let how = rescue_instructions(&store, &file);
            Some(format!(
                "unused rescue file {}: it has the state of a deploy that could no longer write to its store. Run {how} to replace the store with the rescue file, or move the rescue file away",
                file.display()
            ))
        });
        if let Ok(Some(text)) = found.await {
            self.bus.emit(EventKind::Notice { text });
        }
    }

    /// Warns that the state is read without the store, which this user may not open.
    pub fn warn_unread_store(&self) {
        if let Some(text) = self.memory.owner_notice() {
            self.diagnose(Diagnostic {
                severity: Severity::Warning,
                summary: "Store of another origin is not used".to_owned(),
                detail: format!("{text}."),
                address: None,
                range: None,
                snippet: None,
                further: None,
                intent: None,
            });
        }
        let Some(error) = self.memory.unopened_reason() else {
            return;
        };
        let place = self.memory.state().place_name();
        self.diagnose(Diagnostic {
            severity: Severity::Warning,
            summary: "State read without flightdeck's store".to_owned(),
            detail: format!(
                "{error}. The state was read from {place} only; results that only the store has are missing."
            ),
            address: None,
            range: None,
            snippet: None,
            further: None,
            intent: None,
        });
    }

    /// Writes a rescue file next to the configuration, or in the temporary directory.
    pub(super) async fn rescue(&self, deploy: DeployId) {
        let store = self.memory.store();
        let mut rescued = store.rescue(&self.memory.directory().path()).await;
        // The workspace's disk may be the cause of the failure.
        if rescued.is_err() {
            rescued = store.rescue(&std::env::temp_dir()).await;
        }
        let begun = format!(
            "Deploy #{deploy} could not be recorded completely, so no further operations were started."
        );
        let detail = match rescued {
            Ok(file) => {
                let how = rescue_instructions(store.path(), &file);
                format!(
                    "{begun} The current state and all started operations are in {}. Before you stage again, run {how} to replace the store with this file.",
                    file.display(),
                )
            }
            Err(error) => format!(
                "{begun} A rescue file could not be written either: {error}. Before you stage again, compare the state with the existing objects."
            ),
        };
        self.diagnose(Diagnostic {
            severity: Severity::Error,
            summary: "Deploy not completely recorded".to_owned(),
            detail,
            address: None,
            range: None,
            snippet: None,
            further: None,
            intent: None,
        });
    }
}
