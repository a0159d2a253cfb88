use super::change::Stage;
use crate::engine::api::*;
use crate::engine::event::*;
use crate::engine::store::model::StageRecord;
pub fn record(s: &Stage, sum: &StageSummary, snap: Vec<(String, String)>, name: Option<String>) -> StageRecord {
    StageRecord {
        id: s.id,
        name,
        at: s.at,
        mode: s.request.mode,
        config_digest: s.digests.config.clone(),
        variables_digest: s.digests.variables.clone(),
        plugins_digest: s.digests.plugins.clone(),
        state_serial: s.state_serial,
        counts: sum.counts,
        summary: serde_json::to_string(sum).unwrap_or_default(),
        detail: String::new(),
        left: vec![],
        snapshot: snap,
    }
}
pub fn request(_r: &StageRecord) -> Result<StageRequest, String> {
    Err("x".into())
}
pub fn restore(_r: &StageRecord, _f: impl Fn(&str, &lang::addr::Resource) -> Option<cty::schema::Schema>) -> Result<Stage, String> {
    Err("x".into())
}
