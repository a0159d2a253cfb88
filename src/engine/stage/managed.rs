//! Plans one managed resource instance: the request to the provider, the checks of its answer, and
//! the resulting action. Works on values, without the configuration. Same rules as OpenTofu.

mod destroy;
mod plan_request;
mod planning;
mod reason;
mod replacement;

use super::ignore::Ignore;
use calls::{CallContext, ProviderDiagnostic, ProviderError};
use cty::schema::Schema;
use cty::{Marks, Path, Value};
pub use destroy::plan_destroy;
use model::Action;
use planning::Planning;
use proto::Bytes;
use provider::Provider;
pub use reason::Reason;

/// Prior object, converted to the current schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    /// Has the schema's implied type; marked if sensitive in the state.
    pub value: Value,
    pub private: Bytes,
    pub tainted: bool,
    pub identity: Option<Value>,
}

/// Input of a plan.
pub struct PlanQuestion<'a> {
    pub type_name: &'a str,
    pub schema: &'a Schema,
    /// Configured object, marked; may contain unknown values.
    pub config: Value,
    pub prior: Option<&'a Prior>,
    pub ignore: &'a Ignore,
    /// Reason to replace even if the provider does not require it.
    pub force: Option<Reason>,
    /// True if a replacement is created before the old object is destroyed.
    pub create_first: bool,
}

/// Result of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub action: Action,
    pub reason: Option<Reason>,
    /// Marked; null for a create.
    pub before: Value,
    /// Marked.
    pub after: Value,
    pub private: Bytes,
    pub identity: Option<Value>,
    pub replace_paths: Vec<Path>,
    pub warnings: Vec<ProviderDiagnostic>,
}

/// Reason that there is no plan.
#[derive(Debug)]
pub enum NoPlan {
    /// The call failed.
    Call(ProviderError),
    /// The provider returned errors, or an answer that breaks the protocol's rules.
    Refused(Vec<ProviderDiagnostic>),
}

impl From<ProviderError> for NoPlan {
    fn from(error: ProviderError) -> Self {
        Self::Call(error)
    }
}

/// Applies the marks of the configuration and of the schema to an object.
pub fn mark(schema: &Schema, value: Value, config_marks: &[(Path, Marks)]) -> Value {
    let sensitive: Vec<(Path, Marks)> = schema
        .block
        .sensitive_paths(&value)
        .into_iter()
        .map(|p| (p, Marks::sensitive()))
        .collect();
    value
        .mark_with_paths(config_marks)
        .mark_with_paths(&sensitive)
}

/// Normalizes an object that a provider read: a null block becomes the equivalent empty one.
/// OpenTofu does this for all providers.
pub fn normalize_read(schema: &Schema, state: &Value, marks: &[(Path, Marks)]) -> Value {
    mark(
        schema,
        cty::plan::normalize_legacy(&schema.block, state),
        marks,
    )
}

/// Requests a plan and derives the action.
pub async fn plan(
    provider: &dyn Provider,
    question: PlanQuestion<'_>,
    ctx: &CallContext,
) -> Result<Planned, NoPlan> {
    let planning = Planning::new(provider, &question, ctx);
    let answer = planning.request().await?;
    if planning.creates() {
        return Ok(planning.created(answer));
    }
    let paths = planning.replace_paths(&answer)?;
    if planning.is_forced() || !paths.is_empty() {
        return planning.replaced(answer, paths).await;
    }
    Ok(planning.kept_or_updated(answer))
}

/// Returns the longest prefix of a path that may be shown if the schema marks its value as
/// sensitive.
pub fn shown_prefix(schema: &Schema, value: &Value, path: &Path) -> Option<Path> {
    let found = schema
        .block
        .sensitive_paths(value)
        .into_iter()
        .find(|p| path.starts_with(p) || p.starts_with(path))?;
    Some(if path.starts_with(&found) {
        found
    } else {
        path.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cty::schema::{Block, NestedBlock, Nesting};

    /// State from before the type had the block, returned unchanged by the read.
    #[test]
    fn block_read_as_null_becomes_empty() {
        let inner = Block::default();
        let empty = Value::list(inner.implied_type(), Vec::new());
        let rule = NestedBlock {
            block: inner,
            nesting: Nesting::List,
            min_items: 0,
            max_items: 0,
        };
        let block = Block {
            blocks: [("rule".into(), rule)].into(),
            ..Block::default()
        };
        let schema = Schema::new(0, block);
        let gone = Value::null(schema.implied_type().clone());
        assert!(normalize_read(&schema, &gone, &[]).is_null());
        let read = Value::object_from_map([("rule".into(), Value::null(empty.ty().clone()))]);
        let now = normalize_read(&schema, &read, &[]);
        assert!(now.get_attr("rule").unwrap().raw_equals(&empty), "{now:?}");
    }
}
