//! Plans one object: the request for it, and the action that follows from the answer.

use super::plan_request::{request_plan, warnings};
use super::replacement::{replace_paths, replace_reason};
use super::{NoPlan, PlanQuestion, Planned, Reason, mark};
use calls::CallContext;
use cty::{Marks, Path, Value};
use model::Action;
use provider::{PlanResponse, Provider};

/// Limit of warnings of one plan.
const MAX_WARNINGS: usize = 64;

/// Plan of one object.
pub(super) struct Planning<'a> {
    provider: &'a dyn Provider,
    question: &'a PlanQuestion<'a>,
    ctx: &'a CallContext,
    /// Configuration without marks, and the marks.
    config: Value,
    config_marks: Vec<(Path, Marks)>,
    /// Prior object as recorded, marked.
    before: Value,
    /// Prior object to plan with, without marks. A tainted object is planned as a create, because
    /// it is replaced in any case.
    prior: Value,
}

impl<'a> Planning<'a> {
    pub(super) fn new(
        provider: &'a dyn Provider,
        question: &'a PlanQuestion<'a>,
        ctx: &'a CallContext,
    ) -> Self {
        let null = || Value::null(question.schema.implied_type().clone());
        let (config, config_marks) = question.config.clone().unmark_deep_with_paths();
        let planned_from = question.prior.filter(|prior| !prior.tainted);
        Self {
            provider,
            question,
            ctx,
            config,
            config_marks,
            before: question.prior.map_or_else(null, |p| p.value.clone()),
            prior: planned_from.map_or_else(null, |p| p.value.clone().unmark_deep().0),
        }
    }

    fn tainted(&self) -> bool {
        self.question.prior.is_some_and(|prior| prior.tainted)
    }

    /// Returns true if there is no prior object.
    pub(super) fn creates(&self) -> bool {
        self.prior.is_null() && !self.tainted()
    }

    /// Returns true if the object is replaced even if the provider does not require it.
    pub(super) fn is_forced(&self) -> bool {
        self.question.force.is_some() || self.tainted()
    }

    /// Requests the plan of a change of the prior object, without ignored changes.
    pub(super) async fn request(&self) -> Result<PlanResponse, NoPlan> {
        let question = self.question;
        let (ignore, block) = (question.ignore, &question.schema.block);
        let config = ignore.apply(block, &self.prior, &self.config);
        let recorded = question.prior;
        let private = recorded.map(|p| p.private.clone()).unwrap_or_default();
        let identity = recorded.and_then(|p| p.identity.clone());
        let prior = &self.prior;
        let asked = request_plan(
            self.provider,
            question,
            prior,
            &config,
            private,
            identity,
            self.ctx,
        );
        let mut answer = asked.await?;
        // Providers on the legacy SDK may plan changes of ignored attributes, so these are restored
        // once more.
        if answer.legacy {
            answer.planned = ignore.apply(block, prior, &answer.planned);
        }
        Ok(answer)
    }

    /// Requests the plan of the new object of a replacement: without a prior object, and from the
    /// unfiltered configuration.
    async fn request_new(&self, first: PlanResponse) -> Result<PlanResponse, NoPlan> {
        // A tainted object was already planned that way.
        if self.tainted() {
            return Ok(first);
        }
        let null = Value::null(self.question.schema.implied_type().clone());
        // The private data of the first plan is input of the second, as in OpenTofu.
        let private = first.private;
        request_plan(
            self.provider,
            self.question,
            &null,
            &self.config,
            private,
            None,
            self.ctx,
        )
        .await
    }

    pub(super) fn created(self, answer: PlanResponse) -> Planned {
        // Like OpenTofu, which records a trigger as the reason whatever the action is.
        let force = self.question.force;
        let reason = force.filter(|r| *r == Reason::ReplaceByTriggers);
        let said = warnings(&answer);
        let after = self.marked(answer.planned.clone());
        Planned {
            reason,
            warnings: said,
            ..self.planned(Action::Create, after, answer)
        }
    }

    pub(super) fn kept_or_updated(self, answer: PlanResponse) -> Planned {
        let said = warnings(&answer);
        let same = answer.planned.raw_equals(&self.prior);
        let after = self.marked(answer.planned.clone());
        // If nothing changes both sides share one value, which saves memory for most objects.
        let (action, after) = if !same || marks_differ(&self.before, &after) {
            (Action::Update, after)
        } else {
            (Action::NoOp, self.before.clone())
        };
        Planned {
            warnings: said,
            ..self.planned(action, after, answer)
        }
    }

    /// Returns the paths of an answer that force a replacement.
    pub(super) fn replace_paths(&self, answer: &PlanResponse) -> Result<Vec<Path>, NoPlan> {
        let (required, schema) = (&answer.requires_replace, self.question.schema);
        replace_paths(&self.prior, &answer.planned, required, schema)
    }

    pub(super) async fn replaced(
        self,
        first: PlanResponse,
        replace_paths: Vec<Path>,
    ) -> Result<Planned, NoPlan> {
        // The second plan has the same warnings again, so they are not added.
        let mut said = warnings(&first);
        said.truncate(MAX_WARNINGS);
        let second = self.request_new(first).await?;
        let after = self.marked(second.planned.clone());
        let action = match self.question.create_first {
            true => Action::ReplaceCreateFirst,
            false => Action::Replace,
        };
        let (force, tainted) = (self.question.force, self.tainted());
        Ok(Planned {
            reason: Some(replace_reason(force, tainted, &replace_paths)),
            replace_paths,
            warnings: said,
            ..self.planned(action, after, second)
        })
    }

    /// Returns a planned object with the marks of its configuration and its schema.
    fn marked(&self, planned: Value) -> Value {
        mark(self.question.schema, planned, &self.config_marks)
    }

    /// Result without a reason, paths and warnings.
    fn planned(self, action: Action, after: Value, answer: PlanResponse) -> Planned {
        Planned {
            action,
            reason: None,
            before: self.before,
            after,
            private: answer.private,
            identity: answer.identity,
            replace_paths: Vec::new(),
            warnings: Vec::new(),
        }
    }
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
