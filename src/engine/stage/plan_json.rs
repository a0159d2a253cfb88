pub fn plan_json(
    _s: &super::change::Stage,
    _st: &crate::engine::store::model::State,
    _sc: &std::collections::HashMap<std::sync::Arc<str>, std::sync::Arc<crate::engine::provider::ProviderSchema>>,
) -> serde_json::Value {
    serde_json::json!({})
}
