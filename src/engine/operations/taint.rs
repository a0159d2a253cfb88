//! `taint` and `untaint`. Untainting declares an object intact and settles the unknown outcomes of
//! its provisioners; destroy-time provisioners count as run.

use super::command::Operations;
use super::import_forget::manual_change;
use crate::error::{EngineError, NotFound};
use model::*;
use store::records::{Settlement, StateEdit, StateObject, UnknownOutcome};

/// Reasons why a mark cannot be changed.
#[derive(Debug, thiserror::Error)]
enum TaintError {
    #[error("{0} is already tainted; nothing was changed")]
    Tainted(String),
    #[error("{0} is not tainted; nothing was changed")]
    Untainted(String),
}

impl From<TaintError> for EngineError {
    fn from(error: TaintError) -> Self {
        Self::refused(error)
    }
}

impl Operations {
    /// Taints or untaints the current object of an instance.
    pub async fn taint(&self, address: String, tainted: bool) -> Result<StateChange, EngineError> {
        let request = StageRequest::default();
        let command = self.begin_on_state(&request, "taint").await?;
        let result = self.taint_locked(&address, tainted).await;
        let said = self.report_unknown().await;
        command.finish().await;
        let change = result?;
        said.map(|()| change)
    }

    async fn taint_locked(&self, address: &str, tainted: bool) -> Result<StateChange, EngineError> {
        let store = self.memory.store();
        let Some(object) = self.memory.state().object(address).await? else {
            return Err(NotFound::ToMark(address.to_owned()).into());
        };
        let unknown = store.unknown_outcomes().await?;
        let settled: Vec<&UnknownOutcome> = unknown
            .iter()
            .filter(|u| !tainted && u.address == address && u.is_provisioner())
            .collect();
        // An unfinished destroy does not taint its object.
        let destroy_time = settled.iter().any(|u| u.is_destroy_provisioner());
        if object.tainted == tainted && !destroy_time {
            let already = if tainted {
                TaintError::Tainted
            } else {
                TaintError::Untainted
            };
            return Err(already(address.to_owned()).into());
        }
        let what = if tainted {
            StateChangeKind::Tainted
        } else {
            StateChangeKind::Untainted
        };
        let change = StateChange {
            provider: Some(object.provider.clone()),
            settled: settled.iter().map(|u| u.text()).collect(),
            ..manual_change(what, address)
        };
        let edits = match object.tainted == tainted {
            true => Vec::new(),
            false => vec![StateEdit::Put(Box::new(StateObject { tainted, ..object }))],
        };
        let settling = Settlement {
            intents: settled.iter().map(|u| u.id).collect(),
            description: what.label().to_owned(),
            done: true,
        };
        let kept = store
            .apply_manual_edits(edits, settling, vec![change])
            .await?;
        self.changed(kept)
            .pop()
            .ok_or_else(|| EngineError::NotRecorded {
                what: "the taint mark",
            })
    }
}
