//! Destroys or forgets one object.

use super::deploying::Deploying;
use super::operation::RunningOperation;
use super::operation_error::OperationError;
use crate::deploy::instance::{self, Applied, Applying};
use crate::deploy::provision;
use crate::deploy::record::object_digest;
use crate::stage::change::Change;
use crate::stage::managed::{self};
use crate::stage::objects::{self, RecordContext};
use crate::stage::plan::{self};
use crate::stage::provision::text_digest;
use crate::stage::scope::ModuleScope;
use crate::stage::walk::placed;
use cty::Value;
use cty::schema::Schema;
use lang::addr::ModuleInstance;
use lang::config::{Module, Provisioner};
use model::*;
use proto::Bytes;
use provider::Provider;
use store::records::{DestroyStepOf, StateEdit};

/// Object to destroy.
#[derive(Clone, Copy)]
struct DestroyTarget<'a> {
    provider: &'a dyn Provider,
    change: &'a Change,
    /// Key of a deposed object, otherwise empty.
    deposed: &'a str,
    schema: &'a Schema,
}

impl RunningOperation<'_> {
    /// Destroys or forgets one object.
    pub(super) async fn destroy(&mut self) -> bool {
        let (deploy, change) = (self.deploy, self.change);
        match self.destroy_object().await {
            Ok(()) => {
                // After the first half of a plain replacement, the operation continues.
                let done = matches!(
                    change.action(),
                    Action::Destroy | Action::Forget | Action::ReplaceCreateFirst
                );
                let state = done.then_some(OperationState::Done);
                deploy.recorder.step_succeeded(&change.id(), state);
                true
            }
            Err(failure) => {
                self.fail(*failure).await;
                false
            }
        }
    }

    async fn destroy_object(&mut self) -> Result<(), Box<OperationError>> {
        let (deploy, change) = (self.deploy, self.change);
        let deposed = match change.action() {
            // The object that the first half has deposed; none if there was no object.
            Action::ReplaceCreateFirst => match deploy.objects.deposed(self.index) {
                Some(key) => key,
                None => return Ok(()),
            },
            _ => change.deposed.clone().unwrap_or_default(),
        };
        if change.action() == Action::Replace {
            deploy.add_imported_object(change).await?;
        }
        if change.forgets() {
            return deploy.forget(change, &deposed).await;
        }
        let Some(provider) = deploy.walk.ready(&change.provider) else {
            return Err(OperationError::text("The provider is not configured."));
        };
        let schemas = deploy.walk.context.schemas.get(&change.provider.address);
        let Some(schema) =
            schemas.and_then(|s| s.resources.get(change.address.resource.kind.as_ref()))
        else {
            return Err(OperationError::text(
                "The installed version of the provider does not support the resource type. Stage again to see the details.",
            ));
        };
        let ending = DestroyTarget {
            provider: provider.as_ref(),
            change,
            deposed: &deposed,
            schema,
        };
        self.destroy_with_turn(ending).await
    }

    /// Records the intent, waits for the turn and destroys the object. With destroy provisioners
    /// the turn comes first.
    async fn destroy_with_turn(
        &mut self,
        ending: DestroyTarget<'_>,
    ) -> Result<(), Box<OperationError>> {
        let (deploy, change) = (self.deploy, self.change);
        // As in OpenTofu, destroy provisioners run only for objects that were in use: not for
        // tainted or deposed ones.
        let was_in_use = !change.recorded.tainted
            && change.deposed.is_none()
            && change.action() != Action::ReplaceCreateFirst;
        let last = match was_in_use {
            true => deploy.destroy_provisioners(change),
            false => None,
        };
        // Provisioners run before the destroy's intent, so the operation must have its turn by
        // then.
        let intended = last.is_none() && self.turn.is_ahead() && self.turn.may_write();
        if intended {
            self.record_destroy_intent(ending).await?;
        } else {
            self.wait_for_turn().await?;
        }
        let follow = |phase, value| {
            let work = ObjectWork::Apply(Action::Destroy);
            deploy.walk.report_step(&change.address, work, phase, value);
        };
        follow(ObjectPhase::Begun, Some(&change.before.value));
        let destroyed = async {
            if let Some((module, provisioners)) = last {
                deploy
                    .run_destroy_provisioners(change, module, provisioners)
                    .await?;
            }
            if !intended {
                self.record_destroy_intent(ending).await?;
            }
            self.destroy_by_plugin(ending).await
        };
        let destroyed = destroyed.await;
        let phase = match &destroyed {
            Ok(()) => ObjectPhase::Ended,
            Err(_) => ObjectPhase::Failed,
        };
        follow(phase, None);
        destroyed
    }

    async fn record_destroy_intent(
        &mut self,
        ending: DestroyTarget<'_>,
    ) -> Result<(), Box<OperationError>> {
        let object = &ending.change.before.value;
        self.record_intent(ending.deposed, OperationStep::Destroy, object)
            .await
    }

    async fn destroy_by_plugin(
        &mut self,
        ending: DestroyTarget<'_>,
    ) -> Result<(), Box<OperationError>> {
        let (deploy, change) = (self.deploy, self.change);
        let ctx = deploy.changing_context(change, true);
        let request = destruction(change, ending.schema);
        let applied = instance::apply(ending.provider, request, &ctx).await;
        // The second half of a replacement keeps the turn.
        if change.action() != Action::Replace {
            self.turn.release();
        }
        deploy.destroyed(ending, applied).await
    }
}

impl Deploying {
    /// Removes an object from the state without destroying it.
    async fn forget(&self, change: &Change, deposed: &str) -> Result<(), Box<OperationError>> {
        if deposed.is_empty() {
            self.objects.remove(&change.address);
        }
        let edits = vec![removal(change, deposed)];
        self.recorder
            .done(change, deposed, OperationStep::Forget, edits)
            .await
            .map_err(|e| self.store_failure(e))
    }

    /// Records the result of a destroy.
    async fn destroyed(
        &self,
        ending: DestroyTarget<'_>,
        applied: Applied,
    ) -> Result<(), Box<OperationError>> {
        let DestroyTarget {
            change, deposed, ..
        } = ending;
        let failed = match applied.failure.clone() {
            // An unknown outcome is an intent without an outcome.
            Some(failed) if failed.unknown => return Err(OperationError::applied(failed)),
            failed => failed,
        };
        let edit = match &applied.object {
            Some(value) => Some(self.edit_for_remaining_object(ending, value, &applied)?),
            // The provider refused with an error, so the object still exists.
            None if failed.is_some() => None,
            None => {
                if deposed.is_empty() {
                    self.objects.remove(&change.address);
                }
                Some(removal(change, deposed))
            }
        };
        self.recorder
            .record_outcome(
                change,
                &OperationStep::Destroy,
                failed.is_none(),
                edit.into_iter().collect(),
            )
            .await
            .map_err(|e| self.outcome_trouble(e))?;
        self.add_diagnostics(
            change,
            placed(&applied.warnings, &change.address, None, None),
        );
        match failed {
            None => Ok(()),
            Some(failed) => Err(OperationError::applied(failed)),
        }
    }

    /// Returns the state edit for an object that still exists after its destroy.
    fn edit_for_remaining_object(
        &self,
        ending: DestroyTarget<'_>,
        value: &Value,
        applied: &Applied,
    ) -> Result<StateEdit, Box<OperationError>> {
        let change = ending.change;
        let (_, marks) = change.before.value.clone().unmark_deep_with_paths();
        let needs = change.recorded.needs.clone().unwrap_or_default();
        let known_by = applied.identity.as_ref();
        let around = RecordContext {
            address: &change.address,
            deposed: ending.deposed,
            provider: &change.provider,
            tainted: change.recorded.tainted,
            create_before_destroy: change.create_first(),
            skip_destroy: change.skips_destroy(),
            dependencies: &change.recorded.dependencies,
            needs: &needs,
            identity: self.encode_identity(change, known_by.or(change.before.identity.as_ref())),
        };
        let value = managed::mark(ending.schema, value.clone(), &marks);
        let object = objects::record(&around, ending.schema, &value, &applied.private);
        let object = object.map_err(|e| OperationError::not_storable(&e, true))?;
        Ok(StateEdit::Put(Box::new(object)))
    }

    /// Runs one provisioner, which is recorded in the store.
    pub(super) async fn provision(
        &self,
        scope: &ModuleScope<'_>,
        provisioner: &Provisioner,
        place: usize,
        change: &Change,
        of: Option<&DestroyStepOf>,
    ) -> Result<(), Box<OperationError>> {
        let done = provision::run(
            scope,
            provisioner,
            place,
            &self.recorder,
            change,
            of,
            &self.scheduler.stops().commands,
        )
        .await;
        done.map_err(|failed| match failed {
            provision::Failed::Error(trouble) => trouble,
            provision::Failed::Store(error, true) => self.outcome_trouble(error),
            provision::Failed::Store(error, false) => self.store_failure(error),
        })
    }

    /// Returns the destroy provisioners of an object, each with its position in the resource, and
    /// their module.
    fn destroy_provisioners(
        &self,
        change: &Change,
    ) -> Option<(&Module, Vec<(usize, &Provisioner)>)> {
        let (module, provisioners) = match self.declared(&change.address.config()) {
            Some((module, resource)) => (module, &resource.provisioners),
            None => {
                let (module, removed) = plan::removed(&self.walk.context.root, &change.address)?;
                (module, &removed.provisioners)
            }
        };
        let all = (1..).zip(provisioners).filter(|(_, p)| p.on_destroy);
        Some((module, all.collect::<Vec<_>>())).filter(|(_, all)| !all.is_empty())
    }

    async fn run_destroy_provisioners(
        &self,
        change: &Change,
        module: &Module,
        provisioners: Vec<(usize, &Provisioner)>,
    ) -> Result<(), Box<OperationError>> {
        // Recorded runs count only if the object's record and the command's text are the same.
        let object = self.objects.object(&change.address);
        let object = object.as_ref().map(object_digest);
        let address = change.address.to_string();
        let mut earlier = self.recorder.destroy_progress(&address);
        // A `removed` block may be declared in an ancestor of the object's module.
        let within = ModuleInstance(change.address.module.0[..module.path.0.len()].to_vec());
        for (place, provisioner) in provisioners {
            let scope = ModuleScope {
                self_value: Some(change.before.value.clone()),
                ..ModuleScope::new(&self.walk.context, module, &within)
            }
            .with_repetition(plan::repetition(&change.address.key));
            let of = object.clone().map(|object| DestroyStepOf {
                object,
                command: text_digest(&scope, provisioner),
            });
            if let Some(done) = of.as_ref().and_then(|of| earlier.take_run(of)) {
                self.recorder.skipped(&address, done);
                continue;
            }
            self.provision(&scope, provisioner, place, change, of.as_ref())
                .await?;
        }
        Ok(())
    }
}

fn removal(change: &Change, deposed: &str) -> StateEdit {
    StateEdit::Remove {
        address: change.address.to_string(),
        deposed: deposed.to_owned(),
    }
}

/// Returns the apply request of a destroy.
fn destruction<'a>(change: &'a Change, schema: &'a Schema) -> Applying<'a> {
    let null = Value::null(schema.implied_type().clone());
    // The private data of a replacement's plan belongs to the new object.
    let private = match change.action() {
        Action::Destroy => &change.after.private,
        _ => &change.before.private,
    };
    Applying {
        type_name: &change.address.resource.kind,
        schema,
        action: Action::Destroy,
        prior: change.before.value.clone().unmark_deep().0,
        planned: null.clone(),
        marked_plan: &change.before.value,
        config: null,
        private: Bytes::from(private.clone()),
        identity: change.before.identity.clone(),
    }
}
