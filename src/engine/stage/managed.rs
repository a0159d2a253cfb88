//! Plans one managed resource instance: the request to the provider, the checks of its answer, and
//! the resulting action. Works on values, without the configuration. Same rules as OpenTofu.

mod destroy;
mod plan_request;
mod reason;

use super::ignore::Ignore;
use crate::engine::calls::{CallContext, ProviderDiagnostic, ProviderError};
use crate::engine::model::Action;
use crate::engine::provider::{PlanResponse, Provider};
use cty::schema::Schema;
use cty::{Marks, Path, Value};
pub use destroy::plan_destroy;
use plan_request::{request_plan, warnings};
use proto::Bytes;
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
    let schema = question.schema;
    let ty = schema.implied_type().clone();
    let (config, config_marks) = question.config.clone().unmark_deep_with_paths();
    let tainted = question.prior.is_some_and(|p| p.tainted);
    let before = question
        .prior
        .map_or_else(|| Value::null(ty.clone()), |p| p.value.clone());
    let there = before.clone().unmark_deep().0;
    // A tainted object is planned as a create, because it is replaced in any case.
    let prior = if tainted {
        Value::null(ty.clone())
    } else {
        there.clone()
    };
    let asked = question.ignore.apply(&schema.block, &prior, &config);
    let private = question
        .prior
        .map(|p| p.private.clone())
        .unwrap_or_default();
    let identity = question.prior.and_then(|p| p.identity.clone());
    let first = request_plan(provider, &question, &prior, &asked, private, identity, ctx).await?;
    let mut warnings = warnings(&first);
    // Providers on the legacy SDK may plan changes of ignored attributes, so these are restored
    // once more.
    let planned = if first.legacy {
        question.ignore.apply(&schema.block, &prior, &first.planned)
    } else {
        first.planned.clone()
    };

    if prior.is_null() && !tainted {
        // Like OpenTofu, which records a trigger as the reason whatever the action is.
        let reason = question.force.filter(|r| *r == Reason::ReplaceByTriggers);
        let after = mark(schema, planned, &config_marks);
        return Ok(Planned {
            action: Action::Create,
            reason,
            before,
            after,
            private: first.private,
            identity: first.identity,
            replace_paths: Vec::new(),
            warnings,
        });
    }
    let replace_paths = replace_paths(&prior, &planned, &first.requires_replace, schema)?;
    let forced = question.force.is_some() || tainted;
    let same = planned.raw_equals(&prior);
    if !forced && replace_paths.is_empty() {
        let after = mark(schema, planned, &config_marks);
        return Ok(no_op_or_update(before, after, same, first, warnings));
    }
    // The create half is planned without a prior object, from the unfiltered configuration. A
    // tainted object was already planned that way.
    let null = Value::null(ty);
    let second = if tainted {
        first
    } else {
        // The private data of the first plan is input of the second, as in OpenTofu.
        let private = first.private;
        // Its warnings are those of the first plan again, so they are not added.
        request_plan(provider, &question, &null, &config, private, None, ctx).await?
    };
    warnings.truncate(64);
    Ok(Planned {
        action: if question.create_first {
            Action::ReplaceCreateFirst
        } else {
            Action::Replace
        },
        reason: Some(replace_reason(question.force, tainted, &replace_paths)),
        before,
        after: mark(schema, second.planned, &config_marks),
        private: second.private,
        identity: second.identity,
        replace_paths,
        warnings,
    })
}

fn no_op_or_update(
    before: Value,
    after: Value,
    same: bool,
    answer: PlanResponse,
    warnings: Vec<ProviderDiagnostic>,
) -> Planned {
    // If nothing changes both sides share one value, which saves memory for most objects.
    let (action, after) = if !same || marks_differ(&before, &after) {
        (Action::Update, after)
    } else {
        (Action::NoOp, before.clone())
    };
    Planned {
        action,
        reason: None,
        before,
        after,
        private: answer.private,
        identity: answer.identity,
        replace_paths: Vec::new(),
        warnings,
    }
}

fn replace_reason(force: Option<Reason>, tainted: bool, paths: &[Path]) -> Reason {
    match () {
        // An explicit trigger explains more than the other reasons.
        () if force == Some(Reason::ReplaceByTriggers) => Reason::ReplaceByTriggers,
        () if tainted => Reason::ReplaceBecauseTainted,
        () if !paths.is_empty() => Reason::ReplaceBecauseCannotUpdate,
        () => force.unwrap_or(Reason::ReplaceByRequest),
    }
}

/// Returns the paths that force a replacement: those whose value changes.
fn replace_paths(
    prior: &Value,
    planned: &Value,
    asked: &[Path],
    schema: &Schema,
) -> Result<Vec<Path>, NoPlan> {
    let mut out = Vec::new();
    for path in asked {
        // A tainted object is planned as a create, so there is nothing to compare with.
        if prior.is_null() {
            continue;
        }
        // A write-only value is null in both objects, so the provider's word has to be enough.
        let write_only = match path.steps() {
            [cty::PathStep::Attr(name)] => schema
                .block
                .attributes
                .get(name.as_ref())
                .is_some_and(|a| a.write_only),
            _ => false,
        };
        match (path.apply(prior), path.apply(planned)) {
            _ if write_only => out.push(path.clone()),
            (Ok(a), Ok(b)) => {
                // Nulls of different types are equal and do not force a replacement.
                if !b.is_known() || a.equals(&b).unmark().0.as_bool() != Some(true) {
                    out.push(path.clone());
                }
            }
            (Err(_), Err(_)) => {
                return Err(NoPlan::Refused(vec![ProviderDiagnostic::error(
                    "Provider produced invalid plan",
                    format!(
                        "The provider requires a replacement for {path}, but the object has no such attribute. This is a bug in the provider; report it to the provider's developers."
                    ),
                )]));
            }
            _ => out.push(path.clone()),
        }
    }
    Ok(out)
}

/// Returns true if two equal values differ in their sensitive parts.
fn marks_differ(before: &Value, after: &Value) -> bool {
    let paths = |v: &Value| {
        let mut all: Vec<String> = v
            .clone()
            .unmark_deep_with_paths()
            .1
            .into_iter()
            .filter(|(_, m)| m.is_sensitive())
            .map(|(p, _)| p.to_string())
            .collect();
        all.sort();
        all
    };
    paths(before) != paths(after)
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
