//! State edits before an operation: adds an imported object, or deposes the current one for
//! `create_before_destroy`.

use super::deploying::Deploying;
use super::operation_error::OperationError;
use super::outcome::StoredOutcome;
use crate::stage::change::Change;
use model::*;
use store::records::StateEdit;

impl Deploying {
    /// Puts an imported object into the state before its operation.
    pub(super) async fn add_imported_object(
        &self,
        change: &Change,
    ) -> Result<(), Box<OperationError>> {
        if change.importing().is_none() || self.objects.contains(&change.address) {
            return Ok(());
        }
        let Some(schema) = self
            .walk
            .context
            .schema(&change.provider.address, &change.address.resource)
        else {
            return Err(OperationError::text(
                "The installed version of the provider does not support the resource type. Stage again to see the details.",
            ));
        };
        let value = if change.action() == Action::NoOp {
            &change.after.value
        } else {
            &change.before.value
        };
        let kept = StoredOutcome {
            value,
            private: &change.before.private,
            identity: change.before.identity.as_ref(),
            step: Some(OperationStep::Import),
        };
        self.store_unchanged(change, schema, kept).await
    }

    /// Deposes the current object, so that its address is free for the new one.
    pub(super) async fn depose(
        &self,
        i: usize,
        change: &Change,
    ) -> Result<(), Box<OperationError>> {
        // OpenTofu's format of deposed keys: eight hexadecimal digits.
        let key: String = uuid::Uuid::new_v4()
            .simple()
            .to_string()
            .chars()
            .take(8)
            .collect();
        let edit = StateEdit::Depose {
            address: change.address.to_string(),
            key: key.clone(),
        };
        self.recorder
            .edit(vec![edit])
            .await
            .map_err(|e| self.store_failure(e))?;
        self.objects.set_deposed(i, key);
        Ok(())
    }
}
