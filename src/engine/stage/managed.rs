//! The plan of one managed resource instance: what the provider is asked, how its answer is
//! checked, and which action follows. Knows nothing of configuration files: it gets values. Rules:
//! `engine.md` 3.3 of the project's references, after the reference engine.

use super::ignore::Ignore;
use crate::engine::calls::{CallContext, ProviderDiagnostic, ProviderError};
use crate::engine::provider::{PlanRequest, PlanResponse, Provider};
use crate::engine::words::Action;
use cty::schema::Schema;
use cty::{Marks, Path, Value};
use proto::Bytes;

/// Why a change is what it is, in the words of the plan representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    ReplaceBecauseTainted,
    ReplaceByRequest,
    ReplaceByTriggers,
    ReplaceBecauseCannotUpdate,
    DeleteBecauseNoResourceConfig,
    DeleteBecauseWrongRepetition,
    DeleteBecauseCountIndex,
    DeleteBecauseEachKey,
    DeleteBecauseNoModule,
    DeleteBecauseNoMoveTarget,
    DeleteBecauseEnabledFalse,
    ForgotBecauseLifecycleDestroyInConfig,
    ForgotBecauseLifecycleDestroyInState,
    ReadBecauseConfigUnknown,
    ReadBecauseDependencyPending,
    ReadBecauseCheckNested,
}

impl Reason {
    /// As the plan representation writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReplaceBecauseTainted => "replace_because_tainted",
            Self::ReplaceByRequest => "replace_by_request",
            Self::ReplaceByTriggers => "replace_by_triggers",
            Self::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            Self::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            Self::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            Self::DeleteBecauseCountIndex => "delete_because_count_index",
            Self::DeleteBecauseEachKey => "delete_because_each_key",
            Self::DeleteBecauseNoModule => "delete_because_no_module",
            Self::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            Self::DeleteBecauseEnabledFalse => "delete_because_enabled_false",
            Self::ForgotBecauseLifecycleDestroyInConfig => {
                "forgot_because_lifecycle_destroy_in_config"
            }
            Self::ForgotBecauseLifecycleDestroyInState => {
                "forgot_because_lifecycle_destroy_in_state"
            }
            Self::ReadBecauseConfigUnknown => "read_because_config_unknown",
            Self::ReadBecauseDependencyPending => "read_because_dependency_pending",
            Self::ReadBecauseCheckNested => "read_because_check_nested",
        }
    }

    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Self::ReplaceBecauseTainted => "the object is tainted: its creation did not finish",
            Self::ReplaceByRequest => "asked for",
            Self::ReplaceByTriggers => "something in replace_triggered_by changes",
            Self::ReplaceBecauseCannotUpdate => "an attribute cannot be changed in place",
            Self::DeleteBecauseNoResourceConfig => "no longer in the configuration",
            Self::DeleteBecauseWrongRepetition => {
                "the resource's repetition (count, for_each) changed"
            }
            Self::DeleteBecauseCountIndex => "the index is out of range of count",
            Self::DeleteBecauseEachKey => "the key is no longer in for_each",
            Self::DeleteBecauseNoModule => "its module instance is gone",
            Self::DeleteBecauseNoMoveTarget => {
                "it was moved to an address that is not in the configuration"
            }
            Self::DeleteBecauseEnabledFalse => "enabled is false",
            Self::ForgotBecauseLifecycleDestroyInConfig => "its lifecycle says destroy = false",
            Self::ForgotBecauseLifecycleDestroyInState => {
                "its lifecycle said destroy = false when it was last deployed"
            }
            Self::ReadBecauseConfigUnknown => {
                "its configuration depends on values known only after apply"
            }
            Self::ReadBecauseDependencyPending => "something it depends on is going to change",
            Self::ReadBecauseCheckNested => "it belongs to a check",
        }
    }
}

/// The object that is there, fit for the schema of now.
#[derive(Debug, Clone, PartialEq)]
pub struct Prior {
    /// Of the schema's implied type, marked where the state says sensitive.
    pub value: Value,
    pub private: Bytes,
    pub tainted: bool,
    pub identity: Option<Value>,
}

/// What is planned for.
pub struct Question<'a> {
    pub type_name: &'a str,
    pub schema: &'a Schema,
    /// The configured object, marked; it may have unknown values.
    pub config: Value,
    pub prior: Option<&'a Prior>,
    pub ignore: &'a Ignore,
    /// Replace whatever the provider says, for this reason.
    pub force: Option<Reason>,
    /// Whether a replacement is created before the old object is destroyed.
    pub create_first: bool,
}

/// The plan.
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

/// Why there is no plan.
#[derive(Debug)]
pub enum NoPlan {
    /// The call failed.
    Call(ProviderError),
    /// The provider answered errors, or an answer that breaks the rules.
    Refused(Vec<ProviderDiagnostic>),
}

impl From<ProviderError> for NoPlan {
    fn from(error: ProviderError) -> Self {
        Self::Call(error)
    }
}

/// Marks of the configuration and of the schema, put on an object.
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

/// Asks the provider and decides.
pub async fn plan(
    provider: &dyn Provider,
    question: Question<'_>,
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
    // A tainted object is planned as if it were not there, and replaced.
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
    let first = ask(provider, &question, &prior, &asked, private, identity, ctx).await?;
    let mut warnings = warnings(&first);
    let planned = if first.legacy {
        question.ignore.apply(&schema.block, &prior, &first.planned)
    } else {
        first.planned.clone()
    };

    if prior.is_null() && !tainted {
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
        // Equal objects are one: most of what there is does not change.
        let (action, after) = if !same || marks_differ(&before, &after) {
            (Action::Update, after)
        } else {
            (Action::NoOp, before.clone())
        };
        return Ok(Planned {
            action,
            reason: None,
            before,
            after,
            private: first.private,
            identity: first.identity,
            replace_paths: Vec::new(),
            warnings,
        });
    }
    // The create half is planned against nothing, with the configuration as written.
    let null = Value::null(ty);
    let second = if tainted {
        first
    } else {
        ask(
            provider,
            &question,
            &null,
            &config,
            first.private,
            None,
            ctx,
        )
        .await?
    };
    warnings.truncate(64);
    let reason = match () {
        // What the configuration asks for says more than what would have come of it anyway.
        () if question.force == Some(Reason::ReplaceByTriggers) => Reason::ReplaceByTriggers,
        () if tainted => Reason::ReplaceBecauseTainted,
        () if !replace_paths.is_empty() => Reason::ReplaceBecauseCannotUpdate,
        () => question.force.unwrap_or(Reason::ReplaceByRequest),
    };
    Ok(Planned {
        action: if question.create_first {
            Action::ReplaceCreateFirst
        } else {
            Action::Replace
        },
        reason: Some(reason),
        before,
        after: mark(schema, second.planned, &config_marks),
        private: second.private,
        identity: second.identity,
        replace_paths,
        warnings,
    })
}

fn warnings(response: &PlanResponse) -> Vec<ProviderDiagnostic> {
    response
        .diagnostics
        .iter()
        .filter(|d| d.severity == crate::engine::words::Severity::Warning)
        .cloned()
        .collect()
}

/// One PlanResourceChange, checked.
async fn ask(
    provider: &dyn Provider,
    question: &Question<'_>,
    prior: &Value,
    config: &Value,
    private: Bytes,
    identity: Option<Value>,
    ctx: &CallContext,
) -> Result<PlanResponse, NoPlan> {
    let block = &question.schema.block;
    let proposed = question.schema.proposed_new(prior, config);
    let request = PlanRequest {
        type_name: question.type_name.to_owned(),
        prior: prior.clone(),
        proposed,
        config: config.clone(),
        prior_private: private,
        prior_identity: identity,
    };
    let response = provider.plan(request, ctx).await?;
    if response
        .diagnostics
        .iter()
        .any(|d| d.severity == crate::engine::words::Severity::Error)
    {
        return Err(NoPlan::Refused(response.diagnostics));
    }
    if response.planned.is_null() {
        return Err(NoPlan::Refused(vec![ProviderDiagnostic::error(
            "Provider produced invalid plan",
            format!(
                "{} planned no object where one is configured. This is a bug in the provider; report it there.",
                provider.info().address
            ),
        )]));
    }
    if !response.legacy {
        let broken = cty::plan::assert_plan_valid(block, prior, config, &response.planned);
        if !broken.is_empty() {
            let secret = |path: &Path| {
                let before = question.prior.and_then(|p| p.value.hides_at(path));
                question
                    .config
                    .hides_at(path)
                    .or(before)
                    .or_else(|| at_sensitive(question.schema, &response.planned, path))
            };
            let said = |(path, text): (Path, String)| match secret(&path) {
                Some(path) => invalid(
                    provider,
                    path,
                    "it is not what the configuration and the state have there, and it is sensitive",
                ),
                None => invalid(provider, path, &text),
            };
            return Err(NoPlan::Refused(broken.into_iter().map(said).collect()));
        }
    }
    Ok(response)
}

fn invalid(provider: &dyn Provider, path: Path, text: &str) -> ProviderDiagnostic {
    let detail = format!(
        "{} planned an invalid value for {path}: {text}. This is a bug in the provider; report it there.",
        provider.info().address
    );
    ProviderDiagnostic::error("Provider produced invalid plan", detail).at(path)
}

/// The paths that really force a replacement: those whose value changes.
fn replace_paths(
    prior: &Value,
    planned: &Value,
    asked: &[Path],
    schema: &Schema,
) -> Result<Vec<Path>, NoPlan> {
    let mut out = Vec::new();
    for path in asked {
        if prior.is_null() {
            continue;
        }
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
                // Nulls of all types are one; so nothing is replaced for their sake.
                if !b.is_known() || a.equals(&b).unmark().0.as_bool() != Some(true) {
                    out.push(path.clone());
                }
            }
            (Err(_), Err(_)) => {
                return Err(NoPlan::Refused(vec![ProviderDiagnostic::error(
                    "Provider produced invalid plan",
                    format!(
                        "it says that {path} requires replacement, and there is no such attribute. This is a bug in the provider."
                    ),
                )]));
            }
            _ => out.push(path.clone()),
        }
    }
    Ok(out)
}

/// Whether what is sensitive differs between two objects of the same value.
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

/// The plan of a destroy; asks the provider only where it wants to be asked. `None` means there is
/// nothing to plan with.
pub async fn plan_destroy(
    provider: &dyn Provider,
    type_name: &str,
    schema: &Schema,
    prior: &Prior,
    plan_destroy: bool,
    ctx: &CallContext,
) -> Result<Planned, NoPlan> {
    let null = Value::null(schema.implied_type().clone());
    let mut planned = Planned {
        action: Action::Destroy,
        reason: None,
        before: prior.value.clone(),
        after: null.clone(),
        private: prior.private.clone(),
        identity: prior.identity.clone(),
        replace_paths: Vec::new(),
        warnings: Vec::new(),
    };
    if !plan_destroy {
        return Ok(planned);
    }
    let request = PlanRequest {
        type_name: type_name.to_owned(),
        prior: prior.value.clone().unmark_deep().0,
        proposed: null.clone(),
        config: null,
        prior_private: prior.private.clone(),
        prior_identity: prior.identity.clone(),
    };
    let response = provider.plan(request, ctx).await?;
    if response
        .diagnostics
        .iter()
        .any(|d| d.severity == crate::engine::words::Severity::Error)
    {
        return Err(NoPlan::Refused(response.diagnostics));
    }
    if !response.planned.is_null() {
        return Err(NoPlan::Refused(vec![ProviderDiagnostic::error(
            "Provider produced invalid plan",
            format!(
                "{} planned an object for a destroy. This is a bug in the provider; report it there.",
                provider.info().address
            ),
        )]));
    }
    planned.warnings = warnings(&response);
    planned.private = response.private;
    Ok(planned)
}

/// As much of a path as may be told, where the schema says that what is there is sensitive.
pub fn at_sensitive(schema: &Schema, value: &Value, path: &Path) -> Option<Path> {
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
