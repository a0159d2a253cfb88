//! Creating, updating and reading: one instance, from its configuration to what is written down of
//! it.

use super::*;
use crate::engine::stage::provision::names;
use crate::engine::stage::walk::call_failed;

impl Deploying {
    /// Creates, updates or reads one instance; everything that goes wrong ends in the record of its
    /// operation.
    pub(super) async fn apply(&self, i: usize, step: Step, turn: &mut Option<Turn>) -> bool {
        let change = &self.stage.changes[i];
        let id = change.id();
        let doing = match change.action {
            Action::Update => Doing::Updating,
            Action::Read => Doing::Reading,
            Action::NoOp => Doing::Importing,
            _ => Doing::Creating,
        };
        self.recorder.began(&id, doing).await;
        // What is destroyed first was adopted by that half.
        let adopted = if change.action == Action::Replace {
            Ok(())
        } else {
            self.adopt(change).await
        };
        let done = match (adopted, change.action) {
            (Err(trouble), _) => Err(trouble),
            (Ok(()), Action::NoOp) => Ok(()),
            (Ok(()), Action::Read) => self.read(change).await,
            (Ok(()), _) => self.apply_managed(i, change, step, turn).await,
        };
        match done {
            Ok(()) => {
                let more = change.action == Action::ReplaceCreateFirst;
                self.recorder
                    .ended(
                        &id,
                        if more {
                            None
                        } else {
                            Some(OperationState::Done)
                        },
                    )
                    .await;
                true
            }
            Err(failure) => {
                self.fail(change, *failure).await;
                false
            }
        }
    }

    pub(super) async fn apply_managed(
        &self,
        i: usize,
        change: &Change,
        step: Step,
        turn: &mut Option<Turn>,
    ) -> Result<(), Box<Trouble>> {
        let config_address = change.address.config();
        let Some((module, resource)) = self.declared(&config_address) else {
            return Err(Trouble::text("it is not in the configuration"));
        };
        let Some(provider) = self.walk.ready(&change.provider) else {
            return Err(Trouble::text("its provider is not configured"));
        };
        let Some(schema) = self
            .walk
            .around
            .schema(&change.provider.address, &change.address.resource)
        else {
            return Err(Trouble::text(
                "its provider does not know the resource type any more",
            ));
        };
        let address = &change.address;
        let scope = self.scope(module, resource, address);
        self.conditions(
            &scope,
            &resource.lifecycle.preconditions,
            Kind::Precondition,
        )?;
        let (config, diags) = self.walk.decode(&resource.body, &schema.block, &scope);
        if diags.has_errors() {
            return Err(diags.into());
        }
        self.say(change, diags);
        let (plain, marks) = config.clone().unmark_deep_with_paths();
        if !plain.is_wholly_known() {
            return Err(Trouble::text(
                "the configuration still has values that are not known; what it depends on was not applied",
            ));
        }
        let ctx = self.context(change);
        let same_as_staged = change
            .config
            .as_ref()
            .is_some_and(|c| c.clone().unmark_deep().0.raw_equals(&plain));
        if !same_as_staged {
            let answer = provider
                .validate_resource(&address.resource.kind, plain.clone(), &ctx)
                .await?;
            self.said(&answer.diagnostics, change, resource)?;
        }
        let object = lock(&self.state).get(address).cloned();
        let prior = match (&object, change.action) {
            (Some(object), Action::Update) => Some(Prior {
                value: self
                    .value(address, schema)
                    .unwrap_or_else(|| Value::null(schema.implied_type().clone())),
                private: Bytes::from(object.private.clone()),
                tainted: false,
                identity: change.identity_before.clone(),
            }),
            _ => None,
        };
        let ignored = ignore(&resource.lifecycle.ignore_changes);
        let question = Question {
            type_name: &address.resource.kind,
            schema,
            config: config.clone(),
            prior: prior.as_ref(),
            ignore: &ignored,
            force: None,
            create_first: false,
        };
        let planned = match managed::plan(provider.as_ref(), question, &ctx).await {
            Ok(planned) => planned,
            Err(NoPlan::Call(error)) => return Err(error.into()),
            Err(NoPlan::Refused(said)) => {
                self.said(&said, change, resource)?;
                return Err(Trouble::text("the provider refused the plan"));
            }
        };
        self.as_approved(change, schema, &provider, &plain, &planned)?;
        // The end may have been asked for while this was planned; what was not sent by then is not
        // sent at all.
        if !self.may_start(step) {
            return Err(Box::new(Trouble::NotBegun));
        }
        let after = planned.after.clone().unmark_deep().0;
        if planned.action == Action::NoOp
            || after.raw_equals(&planned.before.clone().unmark_deep().0)
        {
            // Nothing is left to do but to keep what is sensitive now.
            return self
                .keep(
                    change,
                    schema,
                    &planned.after,
                    &planned.private,
                    change.identity_before.as_ref(),
                    Some(OperationStep::Update),
                )
                .await;
        }
        if change.action == Action::ReplaceCreateFirst && object.is_some() {
            self.depose(i, change).await?;
        }
        let order = Order {
            type_name: &address.resource.kind,
            schema,
            action: change.action,
            prior: prior.as_ref().map_or_else(
                || Value::null(schema.implied_type().clone()),
                |p| p.value.clone().unmark_deep().0,
            ),
            planned: after,
            shown: &planned.after,
            config: plain,
            private: planned.private.clone(),
            identity: planned.identity.clone(),
        };
        let doing = if change.action == Action::Update {
            OperationStep::Update
        } else {
            OperationStep::Create
        };
        let known = prior.as_ref().map_or(&planned.after, |p| &p.value);
        self.recorder
            .intend(change, "", doing.clone(), known)
            .await
            .map_err(|e| self.store_trouble(e))?;
        let applied = instance::apply(provider.as_ref(), order, &ctx).await;
        // What provisioners do belongs to the operation, and so does the other half of a
        // replacement.
        if resource.provisioners.is_empty() && change.action != Action::ReplaceCreateFirst {
            drop(turn.take());
        }
        self.applied(i, change, module, resource, schema, doing, applied, &marks)
            .await
    }

    /// Writes down what an apply led to, runs provisioners, checks postconditions.
    #[allow(clippy::too_many_arguments)]
    pub(super) async fn applied(
        &self,
        i: usize,
        change: &Change,
        module: &Module,
        resource: &Resource,
        schema: &Schema,
        doing: OperationStep,
        applied: Applied,
        marks: &[(Path, Marks)],
    ) -> Result<(), Box<Trouble>> {
        let address = &change.address;
        let failed = match applied.failure.clone() {
            // The intent stays open: that is what an unknown outcome is.
            Some(failed) if failed.unknown => return Err(Trouble::applied(failed)),
            failed => failed,
        };
        self.say(
            change,
            placed(
                &applied.warnings,
                &address.to_string(),
                Some(&resource.body),
                Some(resource.span),
            ),
        );
        let value = applied
            .object
            .as_ref()
            .map(|v| managed::mark(schema, v.clone(), marks));
        let provisioners: Vec<(usize, &lang::config::Provisioner)> =
            if doing == OperationStep::Create && failed.is_none() {
                (1..)
                    .zip(&resource.provisioners)
                    .filter(|(_, p)| !p.on_destroy)
                    .collect()
            } else {
                Vec::new()
            };
        let mut edits = Vec::new();
        match &value {
            Some(value) => {
                let around = Around {
                    address,
                    deposed: "",
                    provider: &change.provider,
                    tainted: applied.tainted || !provisioners.is_empty(),
                    create_before_destroy: change.create_before_destroy,
                    skip_destroy: change.skip_destroy,
                    dependencies: &change.dependencies,
                    needs: &change.needs,
                    identity: self.kept_identity(change, applied.identity.as_ref()),
                };
                let object = objects::record(&around, schema, value, &applied.private)
                    .map_err(|e| Trouble::unkept(&e, true))?;
                lock(&self.state).insert(address.clone(), object.clone());
                lock(&self.values).insert(address.clone(), value.clone());
                edits.push(StateEdit::Put(Box::new(object)));
            }
            None => {
                let restored = lock(&self.deposed).remove(&i);
                match restored {
                    Some(key) => edits.push(StateEdit::Restore {
                        address: address.to_string(),
                        key,
                    }),
                    None if doing == OperationStep::Update => edits.push(StateEdit::Remove {
                        address: address.to_string(),
                        deposed: String::new(),
                    }),
                    None => {}
                }
            }
        }
        self.recorder
            .settle(change, &doing, failed.is_none(), edits)
            .await
            .map_err(|e| self.outcome_trouble(e))?;
        if let Some(failed) = failed {
            return Err(Trouble::applied(failed));
        }
        let Some(value) = value else { return Ok(()) };
        if !provisioners.is_empty() {
            if provisioners.iter().any(|(_, p)| names(p, &resource.name)) {
                self.close(&address.config());
            }
            for (place, provisioner) in provisioners {
                let scope = ModuleScope {
                    self_value: Some(value.clone()),
                    own: None,
                    ..self.scope(module, resource, address)
                };
                self.provision(&scope, provisioner, place, change).await?;
            }
            self.keep(
                change,
                schema,
                &value,
                &applied.private,
                applied.identity.as_ref(),
                None,
            )
            .await?;
        }
        let scope = ModuleScope {
            self_value: Some(value),
            own: None,
            ..self.scope(module, resource, address)
        };
        self.conditions(
            &scope,
            &resource.lifecycle.postconditions,
            Kind::Postcondition,
        )?;
        Ok(())
    }

    /// Takes an object that is imported into the state, before anything else is done with it.
    pub(super) async fn adopt(&self, change: &Change) -> Result<(), Box<Trouble>> {
        if change.importing.is_none() || lock(&self.state).contains_key(&change.address) {
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
        let value = if change.action == Action::NoOp {
            &change.after
        } else {
            &change.before
        };
        self.keep(
            change,
            schema,
            value,
            &change.prior_private,
            change.identity_before.as_ref(),
            Some(OperationStep::Import),
        )
        .await
    }

    /// Keeps an object without having called the provider to change it; with a step, that step is
    /// on record as done.
    pub(super) async fn keep(
        &self,
        change: &Change,
        schema: &Schema,
        value: &Value,
        private: &[u8],
        identity: Option<&Value>,
        step: Option<OperationStep>,
    ) -> Result<(), Box<Trouble>> {
        let around = Around {
            address: &change.address,
            deposed: "",
            provider: &change.provider,
            tainted: false,
            create_before_destroy: change.create_before_destroy,
            skip_destroy: change.skip_destroy,
            dependencies: &change.dependencies,
            needs: &change.needs,
            identity: self.kept_identity(change, identity),
        };
        let object = objects::record(&around, schema, value, private)
            .map_err(|e| Trouble::unkept(&e, false))?;
        lock(&self.state).insert(change.address.clone(), object.clone());
        lock(&self.values).insert(change.address.clone(), value.clone());
        let edits = vec![StateEdit::Put(Box::new(object))];
        let kept = match step {
            Some(step) => self.recorder.done(change, "", step, edits).await,
            None => self.recorder.edit(edits).await,
        };
        kept.map_err(|e| self.store_trouble(e))
    }

    /// An identity as the state keeps it.
    pub(super) fn kept_identity(
        &self,
        change: &Change,
        identity: Option<&Value>,
    ) -> Option<(String, i64)> {
        objects::kept_identity(
            &self.walk.around,
            &change.provider,
            &change.address.resource.kind,
            identity,
        )
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

    pub(super) async fn read(&self, change: &Change) -> Result<(), Box<Trouble>> {
        let Some((module, resource)) = self.declared(&change.address.config()) else {
            return Err(Trouble::text("it is not in the configuration"));
        };
        let Some(provider) = self.walk.ready(&change.provider) else {
            return Err(Trouble::text("its provider is not configured"));
        };
        let Some(schema) = self
            .walk
            .around
            .schema(&change.provider.address, &change.address.resource)
        else {
            return Err(Trouble::text(
                "its provider does not know the data source any more",
            ));
        };
        let scope = self.scope(module, resource, &change.address);
        self.conditions(
            &scope,
            &resource.lifecycle.preconditions,
            Kind::Precondition,
        )?;
        let (config, diags) = self.walk.decode(&resource.body, &schema.block, &scope);
        if diags.has_errors() {
            return Err(diags.into());
        }
        let (plain, marks) = config.unmark_deep_with_paths();
        if !plain.is_wholly_known() {
            return Err(Trouble::text(
                "the configuration still has values that are not known",
            ));
        }
        let ctx = self.context(change);
        let state = match &resource.check {
            None => {
                let answer = provider
                    .read_data(&change.address.resource.kind, plain, &ctx)
                    .await?;
                self.said(&answer.diagnostics, change, resource)?;
                answer.state
            }
            Some(check) => {
                let text = change.address.to_string();
                let span = Some(resource.span);
                let (said, state) = match provider
                    .read_data(&change.address.resource.kind, plain.clone(), &ctx)
                    .await
                {
                    Err(error) => (call_failed(&error, &text, span).into(), None),
                    Ok(answer) => (
                        placed(&answer.diagnostics, &text, Some(&resource.body), span),
                        Some(answer.state),
                    ),
                };
                let mut cell = Cell::default();
                let good = self
                    .walk
                    .report_of_check(check, &change.address, said, &mut cell);
                self.of_operation(change, cell);
                // What was not read is kept as what was asked for.
                state.filter(|_| good).unwrap_or(plain)
            }
        };
        let value = managed::mark(schema, state, &marks);
        let none = Change {
            dependencies: BTreeSet::new(),
            needs: Needs::new(),
            ..change.clone()
        };
        self.keep(&none, schema, &value, &[], None, Some(OperationStep::Read))
            .await?;
        let scope = ModuleScope {
            self_value: Some(value),
            own: None,
            ..scope
        };
        self.conditions(
            &scope,
            &resource.lifecycle.postconditions,
            Kind::Postcondition,
        )?;
        Ok(())
    }
}
