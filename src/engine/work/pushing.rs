//! `state push`: replaces the state.

use super::by_hand::by_hand;
use super::verb::Work;
use crate::engine::error::EngineError;
use crate::engine::store::model::{Settling, State};
use crate::engine::words::*;

impl Work {
    /// Replaces the state with a state file's text; `None` if it was equal.
    pub async fn push_state(
        &self,
        text: Vec<u8>,
        force: bool,
    ) -> Result<Option<StateChange>, EngineError> {
        let _turn = self.turn.lock().await;
        self.begin_on_state(&StageRequest::default(), "state-push")
            .await?;
        let pushed = self.push_locked(&text, force).await;
        let said = self.say_unknown().await;
        self.end_on_state().await;
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
            ..by_hand(StateChangeKind::Pushed, "the whole state")
        };
        let store = self.memory.store();
        let kept = store
            .change_by_hand(Vec::new(), Settling::default(), vec![change])
            .await?;
        Ok(self.changed(kept).pop())
    }
}
