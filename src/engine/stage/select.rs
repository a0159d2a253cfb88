use super::change::Stage;
use crate::engine::api::*;
use std::collections::BTreeSet;
pub fn references(_s: &Stage) -> Vec<u8> {
    vec![]
}
pub fn select(_c: &[u8], _l: &BTreeSet<String>, _h: &Select) -> Result<Selection, String> {
    Err(String::new())
}
