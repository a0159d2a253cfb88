//! `--rest-of`: stages the unfinished changes of a deploy, with the mode, the variables and the
//! `--replace` addresses of its stage.

use super::command::Operations;
use crate::error::EngineError;
use crate::stage::encoding;
use crate::stage::managed::Reason;
use model::*;
use std::collections::BTreeSet;
use store::records::StageRecord;

/// Reasons why the rest of a deploy cannot be staged.
#[derive(Debug, thiserror::Error)]
enum UnfinishedError {
    #[error("deploy #{0} is still running; wait until it ends")]
    Running(DeployId),
    /// The deploy's stage is no longer stored.
    #[error(
        "cannot stage the rest of deploy #{0}: its stage is too old, and its plan options are no longer stored; run \
         `flightdeck history {0}` to list the unfinished changes, and stage them with --target and --replace"
    )]
    TooOld(DeployId),
    #[error("deploy #{0} has no unfinished changes")]
    Ended(DeployId),
    /// A value of the variable `name`, which is needed again.
    #[error(
        "deploy #{deploy} used a value for the ephemeral variable {name}, which is never stored; pass it again: \
         `flightdeck stage --rest-of {deploy} --var {name}=VALUE`"
    )]
    Withheld { deploy: DeployId, name: String },
}

impl From<UnfinishedError> for EngineError {
    fn from(error: UnfinishedError) -> Self {
        Self::refused(error)
    }
}

impl Operations {
    /// Resolves a request for the rest of a deploy or for its configuration; other requests are
    /// unchanged.
    pub(super) async fn resolved(
        &self,
        request: StageRequest,
    ) -> Result<StageRequest, EngineError> {
        let Some(deploy) = request.rest_of else {
            return self.with_configuration(request).await;
        };
        let record = self.memory.deploy_record(deploy).await?;
        if record.summary.ended.is_none() {
            return Err(UnfinishedError::Running(deploy).into());
        }
        let Some(stage) = self.memory.store().stage(record.summary.stage).await? else {
            return Err(UnfinishedError::TooOld(deploy).into());
        };
        let rest = unfinished_request(request, deploy, &stage, &record.operations)?;
        self.with_configuration(rest).await
    }
}

/// The stage's request, limited to unfinished operations. Variables given now override those of the
/// stage.
fn unfinished_request(
    now: StageRequest,
    deploy: DeployId,
    stage: &StageRecord,
    operations: &[Operation],
) -> Result<StageRequest, EngineError> {
    let left: Vec<&Operation> = operations.iter().filter(|o| o.is_incomplete()).collect();
    if left.is_empty() {
        return Err(UnfinishedError::Ended(deploy).into());
    }
    let encoding::StoredRequest {
        request: then,
        withheld,
        ..
    } = encoding::stored_request(stage)?;
    let environment = lang::config::environment::variables();
    let again = |name: &&String| {
        let variable = format!("{}{name}", lang::config::environment::PREFIX);
        let given =
            |flag: &VariableFlag| matches!(flag, VariableFlag::Value { name: n, .. } if n == *name);
        !now.variables.iter().any(given) && !environment.iter().any(|(n, _)| *n == *variable)
    };
    // Ephemeral values are not stored, so they must be given again.
    if let Some(name) = withheld.iter().find(again) {
        let name = name.clone();
        return Err(UnfinishedError::Withheld { deploy, name }.into());
    }
    let wanted = replaced_instances(&then, stage)?;
    let mut target: Vec<String> = left.iter().map(|o| o.instance().to_owned()).collect();
    target.dedup();
    Ok(StageRequest {
        mode: then.mode,
        target,
        // Exclusions of that stage do not concern unfinished operations.
        exclude: Vec::new(),
        // With the new object in place, only the deposed one is left, and every stage plans its
        // destroy.
        replace: left
            .iter()
            .filter(|o| wanted.contains(&o.address) && !has_new_object(o))
            .map(|o| o.address.clone())
            .collect(),
        variables: then.variables.into_iter().chain(now.variables).collect(),
        // The deploy's own stage has that configuration.
        configuration_of: then.configuration_of.map(|_| deploy),
        ..now
    })
}

/// Instances whose replacement the next stage would not plan again: it was requested, or triggered
/// by a change that may already be applied.
fn replaced_instances(
    then: &StageRequest,
    stage: &StageRecord,
) -> Result<BTreeSet<String>, EngineError> {
    let summary: StageSummary = stage
        .summary
        .read()
        .map_err(EngineError::unreadable(stage.id))?;
    let triggered =
        |c: &ChangeView| c.action_reason.as_deref() == Some(Reason::ReplaceByTriggers.plan_name());
    let triggered = summary
        .changes
        .into_iter()
        .filter(triggered)
        .map(|c| c.address);
    Ok(then.replace.iter().cloned().chain(triggered).collect())
}

/// Returns true if only the destroy of the old object is left of a replacement.
fn has_new_object(operation: &Operation) -> bool {
    operation.action == Action::ReplaceCreateFirst && operation.half_done
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::show;
    use crate::stage::test_stages::{change, stage};
    use cty::Value;

    fn operation(address: &str, state: OperationState) -> Operation {
        Operation {
            deploy: 4,
            index: 0,
            address: address.to_owned(),
            plugin: None,
            action: Action::Replace,
            state,
            half_done: false,
            step: OperationProgress::Unsaid,
            attempt: 1,
            retry: None,
            waits_until_ready: None,
            began: None,
            took_ms: None,
            waits_for: Vec::new(),
            waits_for_more: 0,
            waits_for_all_of: Vec::new(),
            usual_ms: None,
            failure: None,
            warnings: Vec::new(),
            beside: Vec::new(),
        }
    }

    fn replacing(address: &str, reason: Reason) -> crate::stage::change::Change {
        let mut change = change(address, Action::Replace, Value::int(1), Value::int(2));
        change.reason = Some(reason);
        change
    }

    fn record(request: StageRequest) -> StageRecord {
        let mut staged = stage(vec![
            replacing("x_y.a", Reason::ReplaceByRequest),
            replacing("x_y.b", Reason::ReplaceByRequest),
            replacing("x_y.c", Reason::ReplaceByTriggers),
            replacing("x_y.d", Reason::ReplaceBecauseCannotUpdate),
        ]);
        staged.request = request;
        staged.variables = [(
            "token".into(),
            Value::string("s").mark(cty::Mark::Ephemeral),
        )]
        .into();
        let show = || show::redacted_summary(&staged, &Default::default());
        encoding::record(&staged, show, Vec::new(), None).unwrap().0
    }

    fn value(name: &str, text: &str) -> VariableFlag {
        VariableFlag::Value {
            name: name.into(),
            text: text.into(),
        }
    }

    fn asked() -> StageRequest {
        StageRequest {
            mode: StageMode::Normal,
            exclude: vec!["x_y.z".into()],
            replace: vec!["x_y.a".into(), "x_y.b".into()],
            variables: vec![value("size", "1"), VariableFlag::File("prod.tfvars".into())],
            ..StageRequest::default()
        }
    }

    #[test]
    fn rest_of_a_deploy_keeps_variables_and_unfinished_replacements() {
        use OperationState::{Done, Failed, HalfReplaced, NotAttempted};
        let states = [
            ("x_y.a", Done),
            ("x_y.b", Failed),
            ("x_y.c", NotAttempted),
            ("x_y.d", HalfReplaced),
        ];
        let operations: Vec<Operation> = states
            .map(|(address, state)| operation(address, state))
            .into();
        let now = StageRequest {
            rest_of: Some(4),
            variables: vec![value("size", "2")],
            ..StageRequest::default()
        };
        let request = unfinished_request(now, 4, &record(asked()), &operations).unwrap();
        assert_eq!(request.target, ["x_y.b", "x_y.c", "x_y.d"]);
        assert_eq!(
            request.replace,
            ["x_y.b", "x_y.c"],
            "what was triggered is not triggered again by what is done"
        );
        assert!(request.exclude.is_empty());
        assert_eq!(
            request.variables,
            [
                value("size", "1"),
                VariableFlag::File("prod.tfvars".into()),
                value("size", "2")
            ]
        );
    }

    #[test]
    fn rest_of_a_deploy_of_an_earlier_configuration_is_of_that_configuration() {
        let failed = [operation("x_y.b", OperationState::Failed)];
        for (before, expected) in [(Some(2), Some(4)), (None, None)] {
            let then = StageRequest {
                configuration_of: before,
                ..asked()
            };
            let now = StageRequest::default();
            let request = unfinished_request(now, 4, &record(then), &failed).unwrap();
            assert_eq!(request.configuration_of, expected);
        }
    }

    #[test]
    fn replacement_with_an_existing_new_object_is_not_requested_again() {
        let mut half = operation("x_y.a", OperationState::HalfReplaced);
        let request = |o: &Operation| {
            unfinished_request(
                StageRequest::default(),
                4,
                &record(asked()),
                std::slice::from_ref(o),
            )
            .unwrap()
        };
        half.half_done = true;
        assert_eq!(
            request(&half).replace,
            ["x_y.a"],
            "destroyed first, it is still to be made"
        );
        half.action = Action::ReplaceCreateFirst;
        assert!(request(&half).replace.is_empty());
        assert_eq!(request(&half).target, ["x_y.a"]);
    }

    #[test]
    fn rest_of_a_deploy_is_refused_when_done_or_a_variable_is_missing() {
        let now = StageRequest::default;
        let done = [operation("x_y.a", OperationState::Done)];
        assert!(
            unfinished_request(now(), 4, &record(asked()), &done)
                .unwrap_err()
                .to_string()
                .contains("no unfinished changes")
        );
        let failed = [operation("x_y.a", OperationState::Failed)];
        let secret = record(StageRequest {
            variables: vec![value("token", "s")],
            ..asked()
        });
        let detail = secret.detail.text().unwrap();
        assert!(!detail.contains("\"s\""), "{detail}");
        let error = unfinished_request(now(), 4, &secret, &failed)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("token") && error.contains("--rest-of 4"),
            "{error}"
        );
        let given = StageRequest {
            variables: vec![value("token", "t")],
            ..now()
        };
        assert_eq!(
            unfinished_request(given, 4, &secret, &failed)
                .unwrap()
                .variables
                .last(),
            Some(&value("token", "t"))
        );
    }
}
