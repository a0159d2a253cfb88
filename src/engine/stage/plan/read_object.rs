//! Reads stored objects: decodes the record, lets the provider read the object, and records drift
//! and state edits.

use super::instance::Declared;
use super::links::LinkContexts;
use super::options::PlanOptions;
use super::removal_input::{ReadObject, RemovalOf};
use crate::stage::aspects::aspects;
use crate::stage::cell::Cell;
use crate::stage::change::{Drift, ObjectRead};
use crate::stage::managed::{self, Prior};
use crate::stage::needs::Needs;
use crate::stage::objects::{self, RecordContext, Unusable};
use crate::stage::prior::Objects;
use crate::stage::walk::Walk;
use calls::CallContext;
use cty::Value;
use cty::schema::Schema;
use lang::addr::AbsInstance;
use lang::diag::Diagnostic;
use model::{Action, ConfigKey, ObjectPhase, ObjectWork, StageMode, now_ms};
use provider::ReadRequest;
use std::collections::BTreeSet;
use store::records::{StateEdit, StateObject};

/// Reads of recorded objects.
#[derive(Clone, Copy)]
pub(super) struct ObjectReader<'a> {
    pub(super) walk: &'a Walk,
    pub(super) options: &'a PlanOptions,
    pub(super) links: LinkContexts<'a>,
}

impl ObjectReader<'_> {
    /// Reads the current object of an instance; records drift.
    pub(super) async fn read_current(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        there: &Objects,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<ReadObject, ()> {
        let Some(object) = &there.current else {
            return Ok(ReadObject::default());
        };
        self.read_object(gone, address, object, there.previous.as_ref(), ctx, cell)
            .await
    }

    pub(super) async fn read_object(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        object: &StateObject,
        previous: Option<&AbsInstance>,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<ReadObject, ()> {
        let ctx = &self.links.read_context(ctx, address, object);
        // After a move between resource types only the provider can convert the object.
        let stored = match previous.filter(|p| p.resource.kind != address.resource.kind) {
            Some(previous) => {
                self.convert_type(gone, previous, address, object, ctx, cell)
                    .await?
            }
            None => self.load(gone, address, object, ctx, cell).await?,
        };
        // Without a refresh the recorded object counts as current.
        if !self.options.refresh {
            return Ok(ReadObject {
                current: Some(stored),
                object: Some(object.clone()),
                ..ReadObject::default()
            });
        }
        let refresh = |phase, known: Option<&Prior>| {
            let value = known.map(|known| &known.value);
            self.walk
                .report_step(address, ObjectWork::Refresh, phase, value);
        };
        refresh(ObjectPhase::Begun, Some(&stored));
        let now = self.read(gone, address, object, &stored, ctx, cell).await?;
        refresh(ObjectPhase::Ended, now.as_ref());
        // Compared without marks, which a read does not return.
        let drifted =
            (now.as_ref()).is_none_or(|now| !now.value.raw_equals_ignoring_marks(&stored.value));
        let deposed = Some(object.deposed.clone()).filter(|key| !key.is_empty());
        let found = found_value(gone.schema, now.as_ref());
        cell.reads.push(ObjectRead {
            address: previous.unwrap_or(address).clone(),
            deposed: deposed.clone(),
            at: now_ms(),
            value: found.clone(),
        });
        // A refresh-only stage reports moves as drift too, because it has no changes to show them.
        let moved = previous.is_some_and(|p| p.resource.kind == address.resource.kind)
            && self.options.mode == StageMode::RefreshOnly;
        if drifted || moved {
            cell.drift.push(Drift {
                address: address.clone(),
                deposed,
                previous: previous.cloned(),
                provider: gone.key.clone(),
                action: match &now {
                    Some(_) if drifted => Action::Update,
                    Some(_) => Action::NoOp,
                    None => Action::Destroy,
                },
                aspects: aspects(gone.schema, &stored.value, &found),
                before: stored.value.clone(),
                after: found,
            });
        }
        Ok(ReadObject {
            current: now,
            object: Some(object.clone()),
            drifted,
            imported: None,
        })
    }

    /// Lets the provider read an object; `None` if it does not exist any more.
    async fn read(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        object: &StateObject,
        stored: &Prior,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<Option<Prior>, ()> {
        let request = ReadRequest {
            type_name: address.resource.kind.to_string(),
            current: stored.value.clone().unmark_deep().0,
            private: stored.private.clone(),
            identity: stored.identity.clone(),
        };
        let settings = self.walk.context.overlays.effective(&address.resource.kind);
        let ctx = &CallContext {
            deadline: settings.limit("read").or(ctx.deadline),
            ..ctx.clone()
        };
        let answer = match gone.provider.read(request, ctx).await {
            Ok(answer) => answer,
            Err(error) => {
                cell.report_call(&error, address, gone.span);
                return Err(());
            }
        };
        if !cell.report_provider(&answer.diagnostics, address, None, gone.span) {
            return Err(());
        }
        if answer.state.is_null() {
            return Ok(None);
        }
        // The marks of the record are kept until the next change, as the read cannot know them.
        let (_, marks) = stored.value.clone().unmark_deep_with_paths();
        Ok(Some(Prior {
            value: managed::normalize_read(gone.schema, &answer.state, &marks),
            private: answer.private,
            tainted: object.tainted,
            // A read may return no identity; the recorded one still applies then.
            identity: answer.identity.or_else(|| stored.identity.clone()),
        }))
    }

    /// Lets the provider convert an object to another resource type.
    async fn convert_type(
        &self,
        gone: &RemovalOf<'_>,
        previous: &AbsInstance,
        address: &AbsInstance,
        object: &StateObject,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<Prior, ()> {
        let request = provider::MoveRequest {
            source_provider: ConfigKey::parse(&object.provider)
                .map(|k| k.address.to_string())
                .unwrap_or_default(),
            source_type: previous.resource.kind.to_string(),
            source_version: object.schema_version,
            raw_json: object.attributes.clone().into_bytes().into(),
            source_private: object.private.clone().into(),
            source_identity: object.identity.clone().map(|text| text.into_bytes().into()),
            source_identity_version: object.identity_version,
            target_type: address.resource.kind.to_string(),
        };
        let answer = match gone.provider.move_state(request, ctx).await {
            Ok(answer) => answer,
            Err(error) => {
                cell.report_call(&error, address, gone.span);
                return Err(());
            }
        };
        if !cell.report_provider(&answer.diagnostics, address, None, gone.span) {
            return Err(());
        }
        if answer.state.is_null() {
            let detail = format!(
                "{previous} cannot move to {address}: the provider returned no object of the new type."
            );
            let mut d = Diagnostic::error("Unable to move resource state", detail)
                .with_address(address.to_string());
            d.subject = gone.span;
            cell.report(d);
            return Err(());
        }
        // Recorded marks are dropped: their paths belong to the old type.
        let value = managed::mark(gone.schema, answer.state, &[]);
        Ok(Prior {
            value,
            private: answer.private,
            tainted: object.tainted,
            identity: answer.identity,
        })
    }

    pub(super) async fn load(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        object: &StateObject,
        ctx: &CallContext,
        cell: &mut Cell,
    ) -> Result<Prior, ()> {
        match objects::load(
            gone.provider.as_ref(),
            gone.schema,
            object,
            &address.resource.kind,
            ctx,
        )
        .await
        {
            Ok(mut prior) => {
                // The current schema may mark more paths as sensitive than the record.
                let (plain, marks) = prior.value.unmark_deep_with_paths();
                prior.value = managed::mark(gone.schema, plain, &marks);
                Ok(prior)
            }
            Err(Unusable::Call(error)) => {
                cell.report_call(&error, address, gone.span);
                Err(())
            }
            Err(Unusable::Refused(said)) => {
                cell.report_provider(&said, address, None, gone.span);
                Err(())
            }
        }
    }

    /// Adds the state edit from reading an undeclared or deposed object.
    pub(super) fn record_read(
        &self,
        gone: &RemovalOf<'_>,
        address: &AbsInstance,
        looked: &ReadObject,
        cell: &mut Cell,
    ) {
        let Some(object) = &looked.object else { return };
        let identity = looked
            .current
            .as_ref()
            .and_then(|now| now.identity.as_ref());
        let around = RecordContext {
            address,
            deposed: &object.deposed,
            provider: &gone.key,
            tainted: object.tainted,
            create_before_destroy: object.create_before_destroy,
            skip_destroy: object.skip_destroy,
            dependencies: &object.dependencies.iter().cloned().collect(),
            needs: &object.needs.iter().cloned().collect(),
            identity: objects::encode_identity(
                &self.walk.context,
                &gone.key,
                &address.resource.kind,
                identity,
            ),
        };
        record_if_changed(gone.schema, &around, looked, cell);
    }

    /// Adds the state edit from reading an object. `dependencies` replace the recorded ones if
    /// given.
    pub(super) fn record_refreshed(
        &self,
        declared: &Declared<'_>,
        address: &AbsInstance,
        looked: &ReadObject,
        dependencies: Option<(&BTreeSet<String>, &Needs)>,
        cell: &mut Cell,
    ) {
        let Some(object) = &looked.object else { return };
        let old: (BTreeSet<String>, Needs) = (
            object.dependencies.iter().cloned().collect(),
            object.needs.iter().cloned().collect(),
        );
        let (dependencies, needs) = dependencies.unwrap_or((&old.0, &old.1));
        let identity = looked
            .current
            .as_ref()
            .and_then(|now| now.identity.as_ref());
        let around = RecordContext {
            address,
            deposed: "",
            provider: &declared.key,
            tainted: object.tainted,
            create_before_destroy: declared.create_first,
            skip_destroy: declared.resource.lifecycle.forgets(),
            dependencies,
            needs,
            identity: objects::encode_identity(
                &self.walk.context,
                &declared.key,
                &address.resource.kind,
                identity,
            ),
        };
        record_if_changed(declared.schema, &around, looked, cell);
    }
}

/// Value of the object found; null if it does not exist.
fn found_value(schema: &Schema, now: Option<&Prior>) -> Value {
    let missing = || Value::null(schema.implied_type().clone());
    now.map_or_else(missing, |now| now.value.clone())
}

/// Adds a state edit if the record has changed.
fn record_if_changed(
    schema: &Schema,
    around: &RecordContext<'_>,
    looked: &ReadObject,
    cell: &mut Cell,
) {
    let Some(object) = &looked.object else { return };
    let edit = match &looked.current {
        None => StateEdit::Remove {
            address: object.address.clone(),
            deposed: object.deposed.clone(),
        },
        Some(now) => match objects::record(around, schema, &now.value, &now.private) {
            Ok(new) if same_record(&new, object) => return,
            Ok(new) => StateEdit::Put(Box::new(new)),
            Err(_) => return,
        },
    };
    cell.edits.push(edit);
}

/// Returns true if two records are equal; JSON is compared by value, not by text.
pub(super) fn same_record(new: &StateObject, old: &StateObject) -> bool {
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    new.schema_version == old.schema_version
        && new.private == old.private
        && new.tainted == old.tainted
        && new.create_before_destroy == old.create_before_destroy
        && new.dependencies == old.dependencies
        && new.needs == old.needs
        && new.sensitive == old.sensitive
        && new.provider == old.provider
        && new.identity_version == old.identity_version
        && (new.identity == old.identity
            || new.identity.as_deref().map(json) == old.identity.as_deref().map(json))
        && (new.attributes == old.attributes || json(&new.attributes) == json(&old.attributes))
}

#[cfg(test)]
mod tests {
    use super::super::links::LinkContexts;
    use super::super::removal_input::Removal;
    use super::*;
    use crate::stage::testing::{Unplanned, address};

    /// Reads `lab_thing.a` of a state with this line.
    async fn read(line: &str, flags: &[&str]) -> (ReadObject, Cell) {
        let unplanned = Unplanned::new("locals {}", &[line], flags);
        let links = LinkContexts {
            walk: &unplanned.walk,
            prior: &unplanned.prior,
            by_end: &unplanned.by_end,
        };
        let reader = ObjectReader {
            walk: &unplanned.walk,
            options: &unplanned.options,
            links,
        };
        let key = ConfigKey::parse(&format!("provider[\"{}\"]", address())).expect("a key");
        let schemas = unplanned.lab.schemas();
        let removal = Removal {
            block: key.clone(),
            by_record: false,
            schema: &schemas.resources["lab_thing"],
            plan_destroy: false,
            forgets: None,
            span: None,
        };
        let gone = removal.by((key, unplanned.lab.clone()));
        let instance: AbsInstance = "lab_thing.a".parse().expect("an address");
        let there = unplanned.prior.objects(&instance).cloned();
        let (ctx, mut cell) = (unplanned.walk.context(line), Cell::default());
        let there = there.unwrap_or_default();
        let found = reader
            .read_current(&gone, &instance, &there, &ctx, &mut cell)
            .await
            .expect("a read");
        reader.record_read(&gone, &instance, &found, &mut cell);
        (found, cell)
    }

    #[tokio::test]
    async fn read_finds_the_object_drifted_or_gone() {
        for (line, flags, name, drifted, edits) in [
            ("lab_thing.a name=x", &[][..], Some("x"), false, 0),
            ("lab_thing.a name=x ~name=y", &[], Some("y"), true, 1),
            ("lab_thing.a name=x !gone", &[], None, true, 1),
            // Without a refresh the record counts.
            (
                "lab_thing.a name=x !gone",
                &["-refresh=false"],
                Some("x"),
                false,
                0,
            ),
            // An upgraded record is written even if a read finds no drift.
            ("lab_thing.a title=x !version=0", &[], Some("x"), false, 1),
            // No object, no read.
            ("lab_thing.other name=x", &[], None, false, 0),
        ] {
            let (found, cell) = read(line, flags).await;
            let now = found.current.and_then(|now| now.value.get_attr("name"));
            let now = now.as_ref().and_then(Value::as_str);
            assert_eq!((now, found.drifted), (name, drifted), "{line}");
            assert_eq!(cell.drift.len(), usize::from(drifted), "{line}");
            let read = cell.reads.first().map(|read| !read.value.is_null());
            let expected = match (line.contains("other"), flags) {
                (false, []) => Some(name.is_some()),
                _ => None,
            };
            assert_eq!(read, expected, "{line}");
            assert_eq!(cell.edits.len(), edits, "{line}: {:?}", cell.edits);
        }
    }

    #[tokio::test]
    async fn read_keeps_the_sensitive_paths_and_the_taint_of_the_record() {
        let (found, _) = read("lab_thing.a secret=s !tainted ~secret=other", &[]).await;
        let now = found.current.expect("an object");
        assert!(now.tainted);
        let secret = now.value.get_attr("secret").expect("the attribute");
        assert!(secret.has_mark(&cty::Mark::Sensitive));
    }

    #[test]
    fn records_are_equal_if_their_json_is() {
        let stored = Unplanned::new("locals {}", &["lab_thing.a"], &[]).workspace;
        let object = stored.input.state.objects.into_iter().next();
        let object = object.expect("an object");
        let record = |attributes: &str| StateObject {
            attributes: attributes.to_owned(),
            ..object.clone()
        };
        let old = record("{\"a\": 1, \"b\": null}");
        for (new, same) in [
            (record("{\"b\":null,\"a\":1}"), true),
            (record("{\"a\":1}"), false),
            (record("{\"a\":2,\"b\":null}"), false),
            (
                StateObject {
                    tainted: true,
                    ..old.clone()
                },
                false,
            ),
            (
                StateObject {
                    needs: vec!["lab_thing.b".to_owned()],
                    ..old.clone()
                },
                false,
            ),
        ] {
            assert_eq!(same_record(&new, &old), same, "{new:?}");
        }
    }
}
