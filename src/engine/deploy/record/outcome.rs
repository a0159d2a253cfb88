//! Intents and outcomes, committed before and after every call that may change something. An
//! outcome and its state edits share one transaction.

use super::DeployRecorder;
use crate::stage::change::Change;
use cty::{Type, Value};
use model::*;
use std::collections::BTreeMap;
use store::StoreError;
use store::records::{DestroyStepOf, Intent, Outcome, StateEdit, UnknownOutcome};

/// Attributes by which operators find an object in its target system.
const IDENTIFYING: [&str; 16] = [
    "id",
    "arn",
    "name",
    "name_prefix",
    "display_name",
    "bucket",
    "identifier",
    "function_name",
    "cluster_name",
    "user_name",
    "zone",
    "key",
    "path",
    "title",
    "domain",
    "cidr_block",
];
/// Length in bytes above which one is left out.
const MAX_VALUE: usize = 200;

impl DeployRecorder {
    /// Commits the intent of a step; the call may follow only after it. `object` is the prior
    /// object, or the planned one of a create.
    pub async fn record_intent(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        object: &Value,
    ) -> Result<(), StoreError> {
        self.store
            .record_intent(self.new_intent(change, deposed, step, object))
            .await
    }

    /// Like [`Self::record_intent`], for a provisioner; `of` identifies a destroy provisioner in
    /// later deploys.
    pub async fn record_provisioner_intent(
        &self,
        change: &Change,
        step: OperationStep,
        of: Option<&DestroyStepOf>,
    ) -> Result<(), StoreError> {
        let mut intent = self.new_intent(change, "", step, &Value::null(Type::Dynamic));
        if let Some(of) = of {
            let mut detail = Self::detail(change);
            detail["destroy"] = serde_json::json!(of);
            intent.detail = detail.to_string();
        }
        self.store.record_intent(intent).await
    }

    /// Removes an intent whose call was not sent.
    pub async fn remove_intent(
        &self,
        change: &Change,
        step: &OperationStep,
    ) -> Result<(), StoreError> {
        let index = self.index(&change.id());
        self.store
            .remove_intent(self.deploy, index, step.clone())
            .await
    }

    /// Commits a step that needs no call, together with its state edits.
    pub async fn done(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        edits: Vec<StateEdit>,
    ) -> Result<(), StoreError> {
        self.store
            .record_done(
                self.new_intent(change, deposed, step.clone(), &change.before.value),
                edits,
            )
            .await?;
        // An import settles an earlier unknown creation, because it adds the object to the state.
        if step == OperationStep::Import {
            let made = self
                .earlier
                .unknown
                .iter()
                .filter(|u| u.address == change.address.to_string() && u.is_creation());
            self.settle_earlier_outcomes(made, &step).await?;
        }
        Ok(())
    }

    fn new_intent(
        &self,
        change: &Change,
        deposed: &str,
        step: OperationStep,
        object: &Value,
    ) -> Intent {
        let mut detail = Self::detail(change);
        let mut values = plain_values(object);
        if let Some(id) = values.remove("id") {
            detail["id"] = id.into();
        }
        detail["values"] = serde_json::json!(values);
        Intent {
            deploy: self.deploy,
            index: self.index(&change.id()),
            address: change.address.to_string(),
            deposed: deposed.to_owned(),
            step,
            at: now_ms(),
            detail: detail.to_string(),
        }
    }

    fn detail(change: &Change) -> serde_json::Value {
        serde_json::json!({"provider": change.provider.to_string(), "type": &*change.address.resource.kind})
    }

    /// Commits the outcome of a step, together with its state edits.
    pub async fn record_outcome(
        &self,
        change: &Change,
        step: &OperationStep,
        ok: bool,
        edits: Vec<StateEdit>,
    ) -> Result<(), StoreError> {
        let removed = edits.iter().find_map(|e| {
            if let StateEdit::Remove { deposed, .. } = e {
                Some(deposed.clone())
            } else {
                None
            }
        });
        let deposed = removed.unwrap_or_default();
        let outcome = Outcome {
            deploy: self.deploy,
            index: self.index(&change.id()),
            step: step.clone(),
            at: now_ms(),
            ok,
            // After a failure the next destroy runs all provisioners again; after a cancellation it
            // skips those that succeeded.
            starts_over: !ok
                && !self.stopping.is_cancelled()
                && (*step == OperationStep::Destroy || step.is_provisioner()),
            edits,
        };
        self.store.record_outcome(outcome).await?;
        if ok && step.is_provisioner() {
            let again = |u: &&UnknownOutcome| {
                u.is_destroy_provisioner()
                    && u.address == change.address.to_string()
                    && u.step == *step
            };
            self.settle_earlier_outcomes(self.earlier.unknown.iter().filter(again), step)
                .await?;
        }
        if ok && *step != OperationStep::Create && !step.is_provisioner() {
            // The step has read or changed the object, which settles earlier unknown outcomes of
            // it. An unknown creation stays open: it may have made another object.
            let answered = |u: &&UnknownOutcome| {
                u.address == change.address.to_string()
                    && !u.is_creation()
                    && u.requested_call().is_none()
                    && (u.deposed.is_empty() || u.deposed == deposed)
            };
            self.settle_earlier_outcomes(self.earlier.unknown.iter().filter(answered), step)
                .await?;
        }
        Ok(())
    }

    async fn settle_earlier_outcomes(
        &self,
        unknown: impl Iterator<Item = &UnknownOutcome>,
        step: &OperationStep,
    ) -> Result<(), StoreError> {
        let ids: Vec<i64> = unknown.map(|u| u.id).collect();
        if !ids.is_empty() {
            self.store
                .settle_unknown(ids, &format!("{step} in deploy #{}", self.deploy))
                .await?;
        }
        Ok(())
    }

    /// Commits state edits without a call.
    pub async fn edit(&self, edits: Vec<StateEdit>) -> Result<(), StoreError> {
        self.store.edit_state(edits).await.map(|_| ())
    }
}

/// Returns the known texts by which an object can be found in the target system, without sensitive
/// ones.
fn plain_values(object: &Value) -> BTreeMap<String, String> {
    if object.is_null() || !object.is_known() {
        return BTreeMap::new();
    }
    let (object, marks) = object.clone().unmark_deep_with_paths();
    let is_secret = |name: &str| {
        let path = cty::Path::root().attr(name);
        let mut marks = marks.iter();
        marks.any(|(marked, marks)| marks.is_sensitive() && path.starts_with(marked))
    };
    let plain = IDENTIFYING.iter().filter(|name| !is_secret(name));
    let known = plain.filter_map(|name| {
        let value = object.get_attr(name).filter(|value| value.is_known())?;
        // An import takes the id as it is, so it is kept at any length, and nothing is cut.
        let is_kept = |text: &&str| *name == "id" || text.len() <= MAX_VALUE;
        let text = value.as_str().filter(|text| !text.is_empty());
        Some(((*name).to_owned(), text.filter(is_kept)?.to_owned()))
    });
    known.collect()
}
