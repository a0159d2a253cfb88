//! Handles the result of an apply: records it, runs creation provisioners and checks
//! postconditions.

use super::apply::object_work;
use super::deploying::Deploying;
use super::instances::Subject;
use super::operation_error::OperationError;
use super::readiness::Looked;
use crate::deploy::instance::Applied;
use crate::stage::change::Change;
use crate::stage::managed::{self};
use crate::stage::objects::{self, RecordContext};
use crate::stage::provision::names;
use crate::stage::scope::ModuleScope;
use crate::stage::values::Extent;
use crate::stage::walk::placed;
use cty::schema::Schema;
use cty::{Marks, Path, Value};
use lang::config::{Provisioner, Resource};
use model::*;
use store::records::StateEdit;

/// Object to store; `step` is recorded as done if set.
pub(super) struct StoredOutcome<'a> {
    pub(super) value: &'a Value,
    pub(super) private: &'a [u8],
    pub(super) identity: Option<&'a Value>,
    pub(super) step: Option<OperationStep>,
}

impl Deploying {
    /// Records the result of an apply, runs provisioners and checks postconditions.
    pub(super) async fn applied(
        &self,
        i: usize,
        subject: &Subject<'_>,
        doing: OperationStep,
        applied: Applied,
        marks: &[(Path, Marks)],
    ) -> Result<(), Box<OperationError>> {
        let work = object_work(&doing);
        let (private, identity) = (applied.private.clone(), applied.identity.clone());
        let made = self.record_applied(i, subject, doing, applied, marks).await;
        let made = match made {
            Ok(Some(value)) => {
                let object = Looked {
                    value,
                    private,
                    identity,
                };
                self.wait_until_ready(subject, object).await.map(Some)
            }
            other => other,
        };
        let (phase, value) = match &made {
            Ok(value) => (ObjectPhase::Ended, value.as_ref()),
            Err(_) => (ObjectPhase::Failed, None),
        };
        self.walk
            .report_step(&subject.change.address, work, phase, value);
        match made? {
            Some(value) => self.postconditions(subject, value),
            None => Ok(()),
        }
    }

    /// Records the object of an apply and runs its provisioners.
    async fn record_applied(
        &self,
        i: usize,
        subject: &Subject<'_>,
        doing: OperationStep,
        applied: Applied,
        marks: &[(Path, Marks)],
    ) -> Result<Option<Value>, Box<OperationError>> {
        let Subject {
            change,
            resource,
            schema,
            ..
        } = *subject;
        let failed = match applied.failure.clone() {
            // An unknown outcome is an intent without an outcome.
            Some(failed) if failed.unknown => return Err(OperationError::applied(failed)),
            failed => failed,
        };
        let said = placed(
            &applied.warnings,
            &change.address,
            Some(&resource.body),
            Some(resource.span),
        );
        self.add_diagnostics(change, said);
        let value = applied
            .object
            .as_ref()
            .map(|v| managed::mark(schema, v.clone(), marks));
        let provisioners = match doing {
            OperationStep::Create if failed.is_none() => of_creation(resource),
            _ => Vec::new(),
        };
        let edits = match &value {
            Some(value) => {
                // If flightdeck dies while provisioners run, the object must not look complete.
                let tainted = applied.tainted || !provisioners.is_empty();
                vec![self.publish_object(subject, value, &applied, tainted)?]
            }
            // Without a new object, the deposed one is the current object again.
            None => self.restore_deposed_edit(i, change).into_iter().collect(),
        };
        self.recorder
            .record_outcome(change, &doing, failed.is_none(), edits)
            .await
            .map_err(|e| self.outcome_trouble(e))?;
        // Provisioners of a failed creation do not run.
        if let Some(failed) = failed {
            return Err(OperationError::applied(failed));
        }
        let Some(value) = value else {
            return Ok(None);
        };
        if !provisioners.is_empty() {
            self.provisioned(subject, provisioners, &value).await?;
            let kept = StoredOutcome {
                value: &value,
                private: &applied.private,
                identity: applied.identity.as_ref(),
                step: None,
            };
            self.store_unchanged(change, schema, kept).await?;
        }
        Ok(Some(value))
    }

    /// Publishes the object of an apply and returns its state edit.
    fn publish_object(
        &self,
        subject: &Subject<'_>,
        value: &Value,
        applied: &Applied,
        tainted: bool,
    ) -> Result<StateEdit, Box<OperationError>> {
        let change = subject.change;
        let around = RecordContext {
            tainted,
            ..self.around(change, applied.identity.as_ref())
        };
        let object = objects::record(&around, subject.schema, value, &applied.private)
            .map_err(|e| OperationError::not_storable(&e, true))?;
        self.objects
            .put(&change.address, object.clone(), value.clone());
        Ok(StateEdit::Put(Box::new(object)))
    }

    /// Returns the edit that restores a deposed object if its replacement was not created. A failed
    /// update needs none: its object stays in the state.
    fn restore_deposed_edit(&self, i: usize, change: &Change) -> Option<StateEdit> {
        let key = self.objects.take_deposed(i)?;
        let address = change.address.to_string();
        Some(StateEdit::Restore { address, key })
    }

    /// Runs the creation provisioners.
    async fn provisioned(
        &self,
        subject: &Subject<'_>,
        provisioners: Vec<(usize, &Provisioner)>,
        value: &Value,
    ) -> Result<(), Box<OperationError>> {
        let Subject {
            change,
            module,
            resource,
            ..
        } = *subject;
        // A provisioner that refers to its own resource must see the new object.
        if provisioners.iter().any(|(_, p)| names(p, &resource.name)) {
            let within = Extent::Within(change.address.module.clone());
            self.close(&change.address.config(), &within);
        }
        for (place, provisioner) in provisioners {
            let scope = ModuleScope {
                self_value: Some(value.clone()),
                own_resource: None,
                ..self.scope(module, resource, &change.address)
            };
            self.provision(&scope, provisioner, place, change, None)
                .await?;
        }
        Ok(())
    }

    /// Stores an object without a call that changes it.
    pub(super) async fn store_unchanged(
        &self,
        change: &Change,
        schema: &Schema,
        kept: StoredOutcome<'_>,
    ) -> Result<(), Box<OperationError>> {
        let around = self.around(change, kept.identity);
        let object = objects::record(&around, schema, kept.value, kept.private)
            .map_err(|e| OperationError::not_storable(&e, false))?;
        self.objects
            .put(&change.address, object.clone(), kept.value.clone());
        let edits = vec![StateEdit::Put(Box::new(object))];
        let kept = match kept.step {
            Some(step) => self.recorder.done(change, "", step, edits).await,
            None => self.recorder.edit(edits).await,
        };
        kept.map_err(|e| self.store_failure(e))
    }

    /// Returns the record data of a current object other than its values.
    fn around<'c>(&self, change: &'c Change, identity: Option<&Value>) -> RecordContext<'c> {
        RecordContext {
            address: &change.address,
            deposed: "",
            provider: &change.provider,
            tainted: false,
            create_before_destroy: change.create_first(),
            skip_destroy: change.skips_destroy(),
            dependencies: &change.dependencies,
            needs: &change.needs,
            identity: self.encode_identity(change, identity),
        }
    }

    /// Encodes an identity for the state.
    pub(super) fn encode_identity(
        &self,
        change: &Change,
        identity: Option<&Value>,
    ) -> Option<(String, i64)> {
        objects::encode_identity(
            &self.walk.context,
            &change.provider,
            &change.address.resource.kind,
            identity,
        )
    }
}

/// Returns the creation provisioners, each with its position in the resource.
fn of_creation(resource: &Resource) -> Vec<(usize, &Provisioner)> {
    (1..)
        .zip(&resource.provisioners)
        .filter(|(_, p)| !p.on_destroy)
        .collect()
}
