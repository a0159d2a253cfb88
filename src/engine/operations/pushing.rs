//! `state push`: replaces the state.

use super::command::Operations;
use super::import_forget::manual_change;
use crate::error::EngineError;
use model::*;
use store::records::{Settlement, State};

impl Operations {
    /// Replaces the state with a state file's text; `None` if it was equal.
    pub async fn push_state(
        &self,
        text: Vec<u8>,
        force: bool,
    ) -> Result<Option<StateChange>, EngineError> {
        let request = StageRequest::default();
        let command = self.begin_on_state(&request, "state-push").await?;
        let pushed = self.push_locked(&text, force).await;
        let said = self.report_unknown().await;
        command.finish().await;
        let pushed = pushed?;
        said.map(|()| pushed)
    }

    /// Does not wait for a silent server once the operator has asked to stop: the store has the
    /// state by then.
    async fn pushed(&self, text: &[u8], force: bool) -> Result<Option<State>, EngineError> {
        let stop = self.current().stop;
        // `biased` prefers a finished push over the stop.
        tokio::select! { biased;
            pushed = self.memory.state().push(text, force) => Ok(pushed?),
            () = stop.cancelled() => Err(EngineError::Cancelled),
        }
    }

    async fn push_locked(
        &self,
        text: &[u8],
        force: bool,
    ) -> Result<Option<StateChange>, EngineError> {
        let Some(State {
            serial, lineage, ..
        }) = self.pushed(text, force).await?
        else {
            return Ok(None);
        };
        let change = StateChange {
            to: Some(format!("serial {serial}, lineage {lineage}")),
            ..manual_change(StateChangeKind::Pushed, "the whole state")
        };
        let store = self.memory.store();
        let kept = store
            .apply_manual_edits(Vec::new(), Settlement::default(), vec![change])
            .await?;
        Ok(self.changed(kept).pop())
    }
}
