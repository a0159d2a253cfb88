//! What is done with an object before its operation: an imported one is taken into the state, one
//! that is replaced by creating first is set aside.

use super::deploying::Deploying;
use super::outcome::Kept;
use super::trouble::Trouble;
use crate::engine::mutex::lock;
use crate::engine::stage::change::Change;
use crate::engine::store::model::StateEdit;
use crate::engine::words::*;

impl Deploying {
    /// Takes an object that is imported into the state, before anything else is done with it.
    pub(super) async fn adopt(&self, change: &Change) -> Result<(), Box<Trouble>> {
        if change.importing().is_none() || lock(&self.state).contains_key(&change.address) {
            return Ok(());
        }
        let Some(schema) = self
            .walk
            .around
            .schema(&change.provider.address, &change.address.resource)
        else {
            return Err(Trouble::text(
                "its provider does not know the resource type any more",
            ));
        };
        let value = if change.action() == Action::NoOp {
            &change.after.value
        } else {
            &change.before.value
        };
        let kept = Kept {
            value,
            private: &change.before.private,
            identity: change.before.identity.as_ref(),
            step: Some(OperationStep::Import),
        };
        self.keep(change, schema, kept).await
    }

    /// Sets the current object aside, so that its place is free for the new one.
    pub(super) async fn depose(&self, i: usize, change: &Change) -> Result<(), Box<Trouble>> {
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
            .map_err(|e| self.store_trouble(e))?;
        lock(&self.deposed).insert(i, key);
        Ok(())
    }
}
