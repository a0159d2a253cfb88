//! What is declared no longer, or set aside: looked at, then destroyed or forgotten.

use super::*;
use crate::engine::words::short_provider;

impl PlanWalk {
    /// Plans the destruction of an object that was looked at.
    #[allow(
        clippy::too_many_arguments,
        reason = "an object and all that was found out about it"
    )]
    pub(super) async fn destroy(
        &self,
        gone: &Gone<'_>,
        address: &AbsInstance,
        deposed: Option<&str>,
        there: &Objects,
        looked: Looked,
        reason: Option<Reason>,
        forget: bool,
        cell: &mut Cell,
    ) -> Result<(), ()> {
        let Some(object) = &looked.object else {
            return Ok(());
        };
        let Some(now) = &looked.now else {
            cell.edits.push(StateEdit::Remove {
                address: object.address.clone(),
                deposed: object.deposed.clone(),
            });
            return Ok(());
        };
        let commands = if !forget && deposed.is_none() && !object.tainted {
            self.destruction_runs(address, &now.value, cell)?
        } else {
            Vec::new()
        };
        let ctx = self
            .walk
            .context_of(&gone.key.address, address, cell)
            .ok_or(())?;
        let planned = if forget {
            Ok(Planned {
                action: Action::Forget,
                reason: None,
                before: now.value.clone(),
                after: Value::null(gone.schema.implied_type().clone()),
                private: now.private.clone(),
                identity: None,
                replace_paths: Vec::new(),
                warnings: Vec::new(),
            })
        } else {
            managed::plan_destroy(
                gone.provider.as_ref(),
                &address.resource.kind,
                gone.schema,
                now,
                gone.plan_destroy,
                &ctx,
            )
            .await
        };
        let planned = match planned {
            Ok(planned) => planned,
            Err(NoPlan::Call(error)) => {
                cell.report_call(&error, &address.to_string(), gone.span);
                return Err(());
            }
            Err(NoPlan::Refused(said)) => {
                cell.report_provider(&said, &address.to_string(), None, gone.span);
                return Err(());
            }
        };
        let change = Change {
            address: address.clone(),
            deposed: deposed.map(str::to_owned),
            previous: there
                .previous
                .clone()
                .filter(|_| self.wishes.mode != StageMode::Destroy),
            provider: gone.key.clone(),
            action: planned.action,
            reason,
            before: planned.before,
            after: planned.after,
            config: None,
            private: planned.private.to_vec(),
            prior_private: now.private.to_vec(),
            replace_paths: Vec::new(),
            schema_version: gone.schema.version,
            dependencies: object.dependencies.iter().cloned().collect(),
            prior_dependencies: object.dependencies.iter().cloned().collect(),
            needs: Needs::new(),
            prior_needs: objects::recorded_needs(object),
            create_before_destroy: object.create_before_destroy,
            skip_destroy: forget,
            tainted: object.tainted,
            importing: None,
            identity_before: now.identity.clone(),
            identity_after: None,
            drifted: looked.drifted,
            deferred_read: false,
            commands,
        };
        cell.changes.push(change);
        Ok(())
    }

    /// An instance that is not declared: its object is destroyed (or forgotten), its deposed
    /// objects too.
    pub(super) async fn gone(
        &self,
        going: &Going<'_>,
        address: &AbsInstance,
        there: &Objects,
        reason: Reason,
        cell: &mut Cell,
    ) -> bool {
        if !self.wishes.clears(address, false) {
            return true;
        }
        if address.resource.mode == Mode::Data {
            forget_data(there, cell);
            return true;
        }
        let Some(object) = &there.current else {
            return self.deposed(going, address, there, cell).await;
        };
        let Some(gone) = &self.asking(going, address, object, cell) else {
            return false;
        };
        let Some(ctx) = self.walk.context_of(&gone.key.address, address, cell) else {
            return false;
        };
        let Ok(looked) = self.look(gone, address, there, &ctx, cell).await else {
            return false;
        };
        if self.wishes.mode == StageMode::RefreshOnly {
            self.keep_looked_at(gone, address, &looked, cell);
            return self.deposed(going, address, there, cell).await;
        }
        let reason = if there.previous.is_some() && reason == Reason::DeleteBecauseNoResourceConfig
        {
            Reason::DeleteBecauseNoMoveTarget
        } else {
            reason
        };
        let (forget, reason) = match removed(&self.walk.around.root, address) {
            Some((_, removed)) => (!removed.destroy, reason),
            None => match there.current.as_ref().and_then(|o| gone.forgotten(o)) {
                Some(why) => (true, why),
                None => (false, reason),
            },
        };
        let reason = Some(reason).filter(|_| self.wishes.mode != StageMode::Destroy || forget);
        if let Some((module, resource)) = self.guard(address)
            && looked.now.is_some()
            && self
                .prevented(module, resource, address, !forget, cell)
                .is_err()
        {
            return false;
        }
        let good = self
            .destroy(gone, address, None, there, looked, reason, forget, cell)
            .await
            .is_ok();
        (self.progress)(&address.to_string());
        good & self.deposed(going, address, there, cell).await
    }

    /// Whom to ask about an object that no declared instance speaks of.
    fn asking<'a>(
        &self,
        going: &Going<'a>,
        address: &AbsInstance,
        object: &StateObject,
        cell: &mut Cell,
    ) -> Option<Gone<'a>> {
        let chosen = if going.by_record {
            self.walk
                .choose_by_record(&going.block, address, object, cell)
        } else {
            self.walk.choose(
                &Route {
                    block: going.block.clone(),
                    by: None,
                },
                address,
                &Repetition::default(),
                cell,
            )
        };
        Some(going.clone().by(chosen?))
    }

    /// The declaration that an instance belonged to, where its resource is declared still.
    fn guard(&self, address: &AbsInstance) -> Option<(&Module, &Resource)> {
        let module = self.walk.module(&address.module.path())?;
        Some((module, module.resources.get(&address.resource)?))
    }

    pub(super) async fn deposed(
        &self,
        going: &Going<'_>,
        address: &AbsInstance,
        there: &Objects,
        cell: &mut Cell,
    ) -> bool {
        let mut good = true;
        for object in there
            .deposed
            .iter()
            .filter(|_| self.wishes.clears(address, true))
        {
            let Some(gone) = &self.asking(going, address, object, cell) else {
                return false;
            };
            let Some(ctx) = self.walk.context_of(&gone.key.address, address, cell) else {
                return false;
            };
            let Ok(looked) = self.look_at(gone, address, object, None, &ctx, cell).await else {
                good = false;
                continue;
            };
            if self.wishes.mode == StageMode::RefreshOnly {
                self.keep_looked_at(gone, address, &looked, cell);
            } else {
                let reason = gone.forgotten(object);
                let forget = removed(&self.walk.around.root, address)
                    .map_or(reason.is_some(), |(_, removed)| !removed.destroy);
                good &= self
                    .destroy(
                        gone,
                        address,
                        Some(&object.deposed),
                        there,
                        looked,
                        reason,
                        forget,
                        cell,
                    )
                    .await
                    .is_ok();
            }
        }
        good
    }

    /// A node that is not worked out: what a narrowed destroy takes of it all the same goes by what
    /// the state says.
    pub async fn by_state(&self, step: Step) -> Cell {
        match &self.walk.nodes.nodes[step] {
            _ if self.wishes.mode != StageMode::Destroy => Cell::default(),
            Node::Orphan(resource) => self.orphans(resource).await,
            Node::Resource(resource) => self.declared_by_state(step, resource).await,
            _ => Cell::default(),
        }
    }

    async fn declared_by_state(&self, step: Step, address: &ConfigResource) -> Cell {
        let mut cell = Cell::default();
        let all = self.prior.of_config(address).flat_map(|(abs, i)| {
            i.iter()
                .map(|(key, there)| (abs.instance(key.clone()), there))
        });
        let all: Vec<(AbsInstance, &Objects)> = all
            .filter(|(instance, _)| self.wishes.destroys(instance))
            .collect();
        if all.is_empty() {
            return cell;
        }
        let Some(shared) = self.shared(step, address, BTreeMap::new()) else {
            return cell.ended(false);
        };
        let mut good = true;
        for (instance, there) in all {
            good &= self
                .undeclared(
                    &shared,
                    &instance,
                    there,
                    Reason::DeleteBecauseNoResourceConfig,
                    &mut cell,
                )
                .await;
        }
        cell.ended(good)
    }

    /// Objects of a resource that is declared no longer.
    pub(super) async fn orphans(&self, address: &ConfigResource) -> Cell {
        let mut cell = Cell::default();
        let all: Vec<(AbsInstance, Objects)> = self
            .prior
            .of_config(address)
            .flat_map(|(abs, instances)| {
                instances
                    .iter()
                    .map(|(k, o)| (abs.instance(k.clone()), o.clone()))
            })
            .filter(|(instance, _)| self.wishes.clears(instance, false))
            .collect();
        if address.resource.mode == Mode::Data {
            all.iter()
                .for_each(|(_, there)| forget_data(there, &mut cell));
            return cell;
        }
        let mut good = true;
        for (instance, there) in all {
            let Some(object) = there.current.as_ref().or(there.deposed.first()) else {
                continue;
            };
            let Some(key) = ConfigKey::parse(&object.provider) else {
                continue;
            };
            let Some(schemas) = self.walk.around.schemas.get(&key.address) else {
                return cell.ended(false);
            };
            let Some(schema) = schemas.resources.get(instance.resource.kind.as_ref()) else {
                let detail = format!(
                    "{} has no resource type {:?} (any more), so {instance} in the state cannot be destroyed with it. Use a version that has it, or forget the object.",
                    short_provider(&key.address),
                    &*instance.resource.kind
                );
                cell.report(
                    Diagnostic::error("Unsupported resource type", detail)
                        .about(instance.to_string()),
                );
                good = false;
                continue;
            };
            let going = Going {
                block: key.block(),
                by_record: true,
                schema,
                plan_destroy: schemas.capabilities.plan_destroy,
                forgets: None,
                span: None,
            };
            let exists = self
                .walk
                .around
                .values
                .instances(&instance.module.path())
                .contains(&instance.module);
            let call_there = instance.module.path().parent().is_some_and(|(p, call)| {
                self.walk
                    .module(&p)
                    .is_some_and(|m| m.calls.contains_key(call))
            });
            let reason = if !exists && call_there {
                Reason::DeleteBecauseNoModule
            } else {
                Reason::DeleteBecauseNoResourceConfig
            };
            good &= self
                .gone(&going, &instance, &there, reason, &mut cell)
                .await;
        }
        cell.ended(good)
    }
}

/// What was read of a data source does not stay.
pub(super) fn forget_data(there: &Objects, cell: &mut Cell) {
    if let Some(object) = &there.current {
        cell.edits.push(StateEdit::Remove {
            address: object.address.clone(),
            deposed: String::new(),
        });
    }
}

/// The `removed` block that speaks of an instance, with the module that has it; the last one
/// counts.
pub fn removed<'m>(
    root: &'m Module,
    address: &AbsInstance,
) -> Option<(&'m Module, &'m lang::config::Removed)> {
    let mut answer = None;
    for module in root.all() {
        for removed in &module.removed {
            let n = module.path.0.len();
            if address.module.0.len() < n || address.module.path().0[..n] != module.path.0[..] {
                continue;
            }
            let inner = AbsInstance {
                module: ModuleInstance(address.module.0[n..].to_vec()),
                ..address.clone()
            };
            if removed.from.contains(&inner)
                || matches!(&removed.from, Target::Resource(r) if *r == inner.abs())
            {
                answer = Some((module, removed));
            }
        }
    }
    answer
}

/// What `count` and `each` are in an instance of which the key alone is known.
pub fn repetition(key: &InstanceKey) -> Repetition {
    match key {
        InstanceKey::None => Repetition::default(),
        InstanceKey::Int(n) => Repetition {
            count_index: Some(Value::number(*n)),
            ..Repetition::default()
        },
        InstanceKey::Str(s) => Repetition {
            each_key: Some(Value::string(s)),
            each_value: Some(Value::dynamic()),
            ..Repetition::default()
        },
    }
}

pub(super) fn forgets(resource: &Resource) -> bool {
    resource.lifecycle.destroy == Some(false)
}

pub(super) fn wrong_key(expansion: &Expansion, key: &InstanceKey) -> Reason {
    match (expansion, key) {
        (Expansion::Disabled, _) => Reason::DeleteBecauseEnabledFalse,
        (Expansion::Count(_), InstanceKey::Int(_)) => Reason::DeleteBecauseCountIndex,
        (Expansion::Each(_), InstanceKey::Str(_)) => Reason::DeleteBecauseEachKey,
        _ => Reason::DeleteBecauseWrongRepetition,
    }
}
