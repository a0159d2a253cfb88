//! temp
use crate::{body::Body, diag::Diagnostics, eval::Scope, syntax::ast::Traversal};
pub fn decode_block(_b: &Body, s: &cty::schema::Block, _sc: &dyn Scope) -> (cty::Value, Diagnostics) { (cty::Value::unknown(s.implied_type()), Diagnostics::new()) }
pub fn references(_b: &Body, _s: &cty::schema::Block) -> Vec<Traversal> { Vec::new() }
