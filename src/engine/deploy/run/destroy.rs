//! Destroying and forgetting one object.

use super::*;
use crate::engine::deploy::provision;

impl Deploying {
    /// Destroys or forgets one object.
    pub(super) async fn destroy(&self, i: usize, turn: &mut Option<Turn>) -> bool {
        let change = &self.stage.changes[i];
        let id = change.id();
        let second = change.action == Action::ReplaceCreateFirst;
        let doing = match (change.action, change.forgets()) {
            (Action::Forget, _) => Doing::Forgetting,
            (_, true) => Doing::ForgettingOld,
            (Action::Destroy, _) => Doing::Destroying,
            _ => Doing::DestroyingOld,
        };
        self.recorder.began(&id, doing).await;
        match self.destroy_object(i, change, turn).await {
            Ok(()) => {
                let done = second || matches!(change.action, Action::Destroy | Action::Forget);
                self.recorder
                    .ended(&id, done.then_some(OperationState::Done))
                    .await;
                true
            }
            Err(failure) => {
                self.fail(change, *failure).await;
                false
            }
        }
    }

    pub(super) async fn destroy_object(
        &self,
        i: usize,
        change: &Change,
        turn: &mut Option<Turn>,
    ) -> Result<(), Box<Trouble>> {
        let deposed = match change.action {
            // The object that creating first has set aside; none where there was nothing to set
            // aside.
            Action::ReplaceCreateFirst => match lock(&self.deposed).get(&i).cloned() {
                Some(key) => key,
                None => return Ok(()),
            },
            _ => change.deposed.clone().unwrap_or_default(),
        };
        let remove = StateEdit::Remove {
            address: change.address.to_string(),
            deposed: deposed.clone(),
        };
        if change.action == Action::Replace {
            self.adopt(change).await?;
        }
        if change.forgets() {
            if deposed.is_empty() {
                lock(&self.state).remove(&change.address);
            }
            self.recorder
                .done(change, &deposed, OperationStep::Forget, vec![remove])
                .await
                .map_err(|e| self.store_trouble(e))?;
            return Ok(());
        }
        let Some(provider) = self.walk.ready(&change.provider) else {
            return Err(Trouble::text("its provider is not configured"));
        };
        let schemas = self.walk.around.schemas.get(&change.provider.address);
        let Some(schema) =
            schemas.and_then(|s| s.resources.get(change.address.resource.kind.as_ref()))
        else {
            return Err(Trouble::text(
                "its provider does not know the resource type any more",
            ));
        };
        let ctx = self.context(change);
        if !change.tainted
            && change.deposed.is_none()
            && change.action != Action::ReplaceCreateFirst
        {
            self.destroy_provisioners(change, &ctx).await?;
        }
        let null = Value::null(schema.implied_type().clone());
        let order = Order {
            type_name: &change.address.resource.kind,
            schema,
            action: Action::Destroy,
            prior: change.before.clone().unmark_deep().0,
            planned: null.clone(),
            shown: &change.before,
            config: null,
            private: Bytes::from(if change.action == Action::Destroy {
                change.private.clone()
            } else {
                change.prior_private.clone()
            }),
            identity: change.identity_before.clone(),
        };
        self.recorder
            .intend(change, &deposed, OperationStep::Destroy, &change.before)
            .await
            .map_err(|e| self.store_trouble(e))?;
        let applied = instance::apply(provider.as_ref(), order, &ctx).await;
        if change.action != Action::Replace {
            drop(turn.take());
        }
        let failed = match applied.failure.clone() {
            Some(failed) if failed.unknown => return Err(Trouble::applied(failed)),
            failed => failed,
        };
        let edit = match &applied.object {
            None => remove,
            Some(value) => {
                let (_, marks) = change.before.clone().unmark_deep_with_paths();
                let needs = change.prior_needs.clone().unwrap_or_default();
                let around = Around {
                    address: &change.address,
                    deposed: &deposed,
                    provider: &change.provider,
                    tainted: change.tainted,
                    create_before_destroy: change.create_before_destroy,
                    skip_destroy: change.skip_destroy,
                    dependencies: &change.prior_dependencies,
                    needs: &needs,
                    identity: self.kept_identity(
                        change,
                        applied
                            .identity
                            .as_ref()
                            .or(change.identity_before.as_ref()),
                    ),
                };
                let object = objects::record(
                    &around,
                    schema,
                    &managed::mark(schema, value.clone(), &marks),
                    &applied.private,
                );
                StateEdit::Put(Box::new(object.map_err(|e| Trouble::unkept(&e, true))?))
            }
        };
        if matches!(edit, StateEdit::Remove { .. }) && deposed.is_empty() {
            lock(&self.state).remove(&change.address);
        }
        self.recorder
            .settle(
                change,
                &OperationStep::Destroy,
                failed.is_none(),
                vec![edit],
            )
            .await
            .map_err(|e| self.outcome_trouble(e))?;
        self.say(
            change,
            placed(&applied.warnings, &change.address.to_string(), None, None),
        );
        match failed {
            None => Ok(()),
            Some(failed) => Err(Trouble::applied(failed)),
        }
    }

    /// Runs one provisioner; what is on record of it is the store's.
    pub(super) async fn provision(
        &self,
        scope: &ModuleScope<'_>,
        provisioner: &lang::config::Provisioner,
        place: usize,
        change: &Change,
    ) -> Result<(), Box<Trouble>> {
        let done = provision::run(
            scope,
            provisioner,
            place,
            &self.recorder,
            change,
            &self.walk.cancel,
        )
        .await;
        done.map_err(|failed| match failed {
            provision::Failed::Trouble(trouble) => trouble,
            provision::Failed::Store(error, true) => self.outcome_trouble(error),
            provision::Failed::Store(error, false) => self.store_trouble(error),
        })
    }

    pub(super) async fn destroy_provisioners(
        &self,
        change: &Change,
        _ctx: &CallContext,
    ) -> Result<(), Box<Trouble>> {
        let root = &self.walk.around.root;
        let (module, provisioners) = match self.declared(&change.address.config()) {
            Some((module, resource)) => (module, &resource.provisioners),
            None => match plan::removed(root, &change.address) {
                Some((module, removed)) => (module, &removed.provisioners),
                None => return Ok(()),
            },
        };
        let within = ModuleInstance(change.address.module.0[..module.path.0.len()].to_vec());
        for (place, provisioner) in (1..).zip(provisioners).filter(|(_, p)| p.on_destroy) {
            let scope = ModuleScope {
                self_value: Some(change.before.clone()),
                ..ModuleScope::new(&self.walk.around, module, &within)
            }
            .repeated(plan::repetition(&change.address.key));
            self.provision(&scope, provisioner, place, change).await?;
        }
        Ok(())
    }
}
