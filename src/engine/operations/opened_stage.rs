//! Opens the newest stored stage for a console, after the checks of a deploy.

use super::command::Operations;
use super::stale_check::Purpose;
use crate::diagnostics::convert_all;
use crate::error::{EngineError, PluginProblem};
use crate::stage::encoding;
use model::mutex::lock;
use model::view::View;
use model::*;
use store::records::StageRecord;

/// Number of deploys among which that of the newest stage is searched. After an older one, the
/// stage is out of date in any case.
const RECENT_DEPLOYS: u32 = 20;

impl Operations {
    /// Opens the newest stored stage; see [`crate::Engine::open_newest_stage`].
    pub async fn open_newest_stage(&self) -> Result<(), EngineError> {
        let _command = self.begin().await;
        if self.bus.with_view(has_work) {
            return Ok(());
        }
        let store = self.memory.store();
        let Some(record) = store.latest_stage().await? else {
            return Ok(());
        };
        let deploys = store.history(RECENT_DEPLOYS).await?;
        if deploys.iter().any(|d| d.stage == record.id) {
            return Ok(());
        }
        let read = record.summary.read();
        let mut summary: StageSummary = read.map_err(EngineError::unreadable(record.id))?;
        summary.left.clone_from(&record.left);
        if !summary.has_changes() {
            return Ok(());
        }
        let outdated = match self.restore_for_deploy(record).await {
            Ok(found) => found,
            Err(EngineError::Stale { what, .. }) => Some(what),
            Err(EngineError::Plugin(PluginProblem::Missing(what))) => {
                what.lines().next().map(str::to_owned)
            }
            Err(error) => return Err(error),
        };
        self.bus.emit(EventKind::StageOpened {
            summary: summary.into(),
            outdated,
        });
        Ok(())
    }

    /// Restores a stage as the one in use, if a deploy would accept it. Returns the errors of its
    /// variables and of the configuration, if any.
    async fn restore_for_deploy(&self, record: StageRecord) -> Result<Option<String>, EngineError> {
        // A deploy also needs the values of ephemeral variables, which are never stored.
        let purpose = Purpose::Deploy(&[]);
        let request = purpose.of_record(&record)?;
        let files = (&*record.config_digest, &*record.snapshot);
        // Without events first: the console did not ask for a deploy, and has its own place for the
        // reason.
        if let Err((sources, diags)) = self.load_same(record.id, &request, files).await? {
            let diags = convert_all(diags.iter(), &sources, self.pool.secrets());
            return Ok(Some(first_error(&diags)));
        }
        let secrets = encoding::stored_request(&record)?.secrets;
        // The console did not ask for a deploy, so no secret is resolved; the deploy restores the
        // stage with them.
        let purpose = match secrets.is_empty() {
            true => purpose,
            false => Purpose::Display,
        };
        let staged = self.restored(record, purpose).await?;
        self.check_inputs_unchanged(&staged, purpose).await?;
        let state = self.state().await?;
        self.register_sensitive(&staged.loaded, &state);
        if secrets.is_empty() {
            *lock(&self.newest) = Some(staged);
        }
        Ok(None)
    }
}

/// Returns true if the engine has work of its own, or asks for a decision that comes first.
fn has_work(view: &View) -> bool {
    let staged = view.stage.is_some() || view.staging.is_some() || view.stage_error.is_some();
    staged || view.deploy.is_some() || !view.untrusted.is_empty() || !view.absent.is_empty()
}

/// First sentence about the first error.
fn first_error(diags: &[Diagnostic]) -> String {
    let first = diags.iter().find(|d| d.severity == Severity::Error);
    let text = first.map_or("", |d| match d.detail.as_str() {
        "" => &d.summary,
        detail => detail,
    });
    let sentence = text.split_once(". ").map_or(text, |(first, _)| first);
    sentence.trim_end_matches('.').to_owned()
}
