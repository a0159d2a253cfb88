//! Changes of the selection, sent to the engine in the order of the keys.

use super::convert_result;
use crate::app::msg::{Answer, Msg, Subject};
use engine::Engine;
use engine::EngineError;
use model::{Select, Selection, StageId};
use tokio::sync::mpsc;

/// Applies requests of the queue until it is closed.
pub(super) async fn select_in_order(
    engine: Engine,
    mut queue: mpsc::Receiver<(StageId, Vec<Select>)>,
    messages: mpsc::Sender<Msg>,
) {
    while let Some((stage, selects)) = queue.recv().await {
        let mut along = Vec::new();
        // Only a saved selection replaces the whole selection by addresses.
        let loads = selects.iter().any(|s| matches!(s, Select::Only(_)));
        let mut last: Result<Selection, EngineError> = Ok(Selection::default());
        for select in selects {
            last = engine.select(stage, select).await;
            match &last {
                Ok(s) => along.extend(s.along.iter().cloned()),
                // Later changes of this request may depend on the failed one.
                Err(_) => break,
            }
        }
        let answer = convert_result(Subject::Select, last, |mut selection| {
            selection.along = along;
            Some(match loads {
                true => Answer::LoadedSelection { stage, selection },
                false => Answer::Selected { stage, selection },
            })
        });
        if let Some(answer) = answer {
            messages.send(Msg::Answer(answer)).await.ok();
        }
    }
}
