//! What is done with a deploy whose store is lost under it.

use super::unknown::quoted;
use super::verb::Work;
use crate::engine::words::{DeployId, Diagnostic, Severity};
use crate::engine::workspace::home;

impl Work {
    /// What the store does not take any more is written beside it.
    pub(super) async fn rescue(&self, deploy: DeployId) {
        let store = self.memory.store();
        let workspace = home::store_dir(&self.settings.workspace, &self.settings.named);
        let mut rescued = store.rescue(&workspace).await;
        if rescued.is_err() {
            rescued = store.rescue(&std::env::temp_dir()).await;
        }
        let begun = format!(
            "Deploy #{deploy} could not be written down to its end, so nothing more was begun."
        );
        let detail = match rescued {
            Ok(file) => {
                let (from, to) = (
                    quoted(&file.display().to_string()),
                    quoted(&store.path().display().to_string()),
                );
                format!(
                    "{begun} The state as it is now, with all that was begun, is in {}. Before anything is staged again, put it in the place \
                     of the store: `mkdir -p -m 700 {} && rm -f {to} {to}-wal {to}-shm && mv {from} {to}`.",
                    file.display(),
                    quoted(
                        &store
                            .path()
                            .parent()
                            .unwrap_or(store.path())
                            .display()
                            .to_string()
                    )
                )
            }
            Err(error) => format!(
                "{begun} It could not be written anywhere else either: {error}. Compare the state with the world before anything is staged again."
            ),
        };
        self.diagnose(Diagnostic {
            severity: Severity::Error,
            summary: "Not all of the deploy could be written down".to_owned(),
            detail,
            address: None,
            range: None,
            snippet: None,
            further: None,
            intent: None,
        });
    }
}
