//! Calls of the checks: validation, plans, applies and reads, with the rules of stages and deploys.

use super::TypeRun;
use super::compare::{are_alike_in_legacy, first_error};
use crate::deploy::instance::{Applied, Applying, checked_result};
use crate::stage::ignore::Ignore;
use crate::stage::managed::{self, NoPlan, PlanQuestion, Planned, Prior, Reason};
use cty::{Path, Value};
use model::{Action, FailureClass};
use provider::{ApplyRequest, ReadRequest};

/// Summary of plans that break the protocol's rules.
const INVALID_PLAN: &str = "Provider produced invalid plan";

/// Failed plan.
pub(super) enum Unplanned {
    /// The provider refuses the configuration with this text.
    Refused(String),
    /// The call failed or its answer breaks a rule.
    Broken(String),
}

impl From<NoPlan> for Unplanned {
    fn from(failed: NoPlan) -> Self {
        match failed {
            NoPlan::Call(error) => Self::Broken(error.to_string()),
            NoPlan::Refused(diagnostics) => {
                // Violations that the engine finds are diagnostics, too, and differ by their
                // summary.
                let is_broken = diagnostics.iter().any(|d| d.summary == INVALID_PLAN);
                let text = first_error(&diagnostics).unwrap_or_default();
                match is_broken {
                    true => Self::Broken(text),
                    false => Self::Refused(text),
                }
            }
        }
    }
}

impl Unplanned {
    pub(super) fn text(self) -> String {
        match self {
            Self::Refused(text) | Self::Broken(text) => text,
        }
    }
}

/// Result of an apply.
pub(super) struct Outcome {
    pub(super) applied: Option<Applied>,
    /// Object of the answer as it was received.
    pub(super) received: Option<Value>,
    pub(super) is_legacy: bool,
    /// Failure of the call or violation of a rule.
    pub(super) failure: Option<String>,
    /// True if the call may have changed objects without an answer.
    pub(super) is_unknown: bool,
}

impl Outcome {
    /// Returns true if the provider itself reports an error.
    pub(super) fn is_refused(&self) -> bool {
        let failed = self.applied.as_ref().and_then(|a| a.failure.as_ref());
        failed.is_some_and(|failed| failed.class != FailureClass::InconsistentResult)
    }

    /// Returns true if a create whose answer has no object may have made one: without an answer, or
    /// with a success that has none.
    pub(super) fn may_have_created(&self) -> bool {
        self.is_unknown || (self.applied.is_some() && !self.is_refused())
    }
}

impl TypeRun<'_> {
    /// Returns the reason that the provider refuses a configuration, if it does.
    pub(super) async fn refusal(&self, config: &Value) -> Result<Option<String>, String> {
        let (provider, name) = (self.subject.provider, self.subject.type_name);
        let ctx = self.context();
        let asked = provider.validate_resource(name, config.clone(), &ctx);
        let answer = asked.await.map_err(|error| error.to_string())?;
        Ok(first_error(&answer.diagnostics))
    }

    pub(super) async fn plan(
        &self,
        prior: Option<&Prior>,
        config: &Value,
        force: Option<Reason>,
    ) -> Result<Planned, Unplanned> {
        let question = PlanQuestion {
            type_name: self.subject.type_name,
            schema: self.schema,
            config: config.clone(),
            prior,
            // Ignored changes would hide the differences that the checks look for.
            ignore: &Ignore::Nothing,
            force,
            create_first: false,
        };
        let ctx = self.context();
        let asked = managed::plan(self.subject.provider, question, &ctx);
        Ok(asked.await?)
    }

    /// Applies a planned change, and checks the answer like a deploy. Rules that deploys waive for
    /// the legacy SDK apply to arguments, except that null and zero values are alike.
    pub(super) async fn apply(
        &self,
        prior: Option<&Prior>,
        planned: &Planned,
        config: &Value,
    ) -> Outcome {
        let null = Value::null(self.schema.implied_type().clone());
        let destroys = planned.action == Action::Destroy;
        // The protocol requires a null configuration for a destroy.
        let config = if destroys {
            null.clone()
        } else {
            config.clone()
        };
        // Marks belong to the engine; requests carry plain values.
        let after = planned.after.clone().unmark_deep().0;
        let before = prior.map_or(null, |prior| prior.value.clone().unmark_deep().0);
        let request = ApplyRequest {
            type_name: self.subject.type_name.to_owned(),
            prior: before.clone(),
            planned: after.clone(),
            config: config.clone(),
            private: planned.private.clone(),
            planned_identity: planned.identity.clone(),
        };
        let mut response = match self.subject.provider.apply(request, &self.context()).await {
            Ok(response) => response,
            Err(error) => {
                return Outcome {
                    applied: None,
                    received: None,
                    is_legacy: false,
                    failure: Some(error.to_string()),
                    is_unknown: error.may_have_changed_infrastructure(),
                };
            }
        };
        let received = response.new_state.clone();
        // The flag would make `checked_result` waive violations that `failure_of` must see.
        let is_legacy = std::mem::replace(&mut response.legacy, false);
        let asked = Applying {
            type_name: self.subject.type_name,
            schema: self.schema,
            action: planned.action,
            prior: before,
            planned: after.clone(),
            marked_plan: &planned.after,
            config,
            private: planned.private.clone(),
            identity: planned.identity.clone(),
        };
        let applied = checked_result(asked, response, &self.subject.provider.info().address);
        let failure = self.failure_of(&applied, &after, is_legacy);
        Outcome {
            failure,
            received,
            is_legacy,
            applied: Some(applied),
            is_unknown: false,
        }
    }

    /// Returns the first failure of an apply that is not waived for the legacy SDK.
    fn failure_of(&self, applied: &Applied, after: &Value, is_legacy: bool) -> Option<String> {
        let made = applied.object.as_ref();
        let is_waived = |path: Option<&Path>| {
            let (Some(path), Some(made), true) = (path, made, is_legacy) else {
                return false;
            };
            // The SDK plans most computed values as unchanged.
            let attribute = self.schema.block.attribute_at(path);
            if attribute.is_some_and(|attribute| attribute.computed) {
                return true;
            }
            let sides = [after, made].map(|side| path.apply(side));
            matches!(sides, [Ok(a), Ok(b)] if are_alike_in_legacy(&a, &b))
        };
        let failure = applied.failure.as_ref().and_then(|failed| {
            let mut errors = failed.diagnostics.iter();
            let error = errors.find(|d| !is_waived(d.path.as_ref()))?;
            first_error(std::slice::from_ref(error))
        });
        failure.or_else(|| self.unstorable(applied.object.as_ref()?))
    }

    /// Returns the reason that a state cannot store an object, if there is one.
    fn unstorable(&self, object: &Value) -> Option<String> {
        // States store objects as JSON, so that encoding one is the test.
        let error = cty::json::encode(object, self.schema.implied_type()).err()?;
        Some(format!("a state cannot store the object: {error}"))
    }

    /// Reads an object; `None` if it does not exist.
    pub(super) async fn read_object(&self, of: &Prior) -> Result<Option<Prior>, String> {
        let request = ReadRequest {
            type_name: self.subject.type_name.to_owned(),
            current: of.value.clone().unmark_deep().0,
            private: of.private.clone(),
            identity: of.identity.clone(),
        };
        let ctx = self.context();
        let asked = self.subject.provider.read(request, &ctx);
        let answer = asked.await.map_err(|error| error.to_string())?;
        if let Some(error) = first_error(&answer.diagnostics) {
            return Err(error);
        }
        // By the protocol an object that exists has no unknown values.
        if !answer.state.is_wholly_known() {
            return Err("the read object contains unknown values".to_owned());
        }
        if answer.state.is_null() {
            return Ok(None);
        }
        Ok(Some(Prior {
            value: managed::normalize_read(self.schema, &answer.state, &[]),
            private: answer.private,
            tainted: false,
            identity: answer.identity,
        }))
    }

    /// Returns an applied object as the prior of later calls.
    pub(super) fn object_of(&self, applied: &Applied) -> Option<Prior> {
        let value = applied.object.clone()?;
        Some(Prior {
            value: managed::mark(self.schema, value, &[]),
            private: applied.private.clone(),
            tainted: false,
            identity: applied.identity.clone(),
        })
    }
}
