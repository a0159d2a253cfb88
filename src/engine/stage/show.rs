use super::change::Stage;
use crate::engine::event::*;
pub fn summary(stage: &Stage) -> StageSummary {
    let mut counts = Counts::default();
    for c in &stage.changes {
        counts.add(c.action)
    }
    StageSummary {
        stage: stage.id,
        mode: stage.request.mode,
        at: stage.at,
        took_ms: stage.took_ms,
        counts,
        changes: vec![],
        outputs: vec![],
        drift: vec![],
    }
}
