//! Checks of the end of an object, and the destruction of leftovers.

use super::compare::difference;
use super::create::{Destroyed, id_of};
use super::steps::{Outcome, Unplanned};
use super::{ObjectRecord, Subject, TypeRun};
use crate::stage::managed::{Planned, Prior, plan_destroy};
use conform::{Leftover, Status};
use cty::Value;

impl TypeRun<'_> {
    /// Destroys the object, also after an interruption.
    pub(super) async fn destroy(&mut self) {
        // The caller destroys it then, because the plugin may have been asked to stop its work.
        if self.is_over() {
            return;
        }
        let Some(object) = self.object.clone() else {
            self.because("there is no object any more");
            return;
        };
        let result = self.destroy_object(&object).await;
        let result = result.map(|()| "the object is destroyed".to_owned());
        if !self.result("destroy", result) {
            self.because("the destroy failed");
            return;
        }
        // Without an object here, no clean-up follows if a later check fails.
        self.object = None;
        let after = self.read_after_destroy(&object).await;
        // Somebody else may destroy an object between a read and a destroy.
        let again = self.destroy_object(&object).await;
        let again = again.map(|()| "the second destroy has no errors".to_owned());
        self.result("destroy-again", again);
        // The second destroy may have been the one that took effect.
        let remains = after == AfterDestroy::Remains;
        if remains && !matches!(self.read_object(&object).await, Ok(None)) {
            self.leftovers.push(Leftover {
                type_name: self.subject.type_name.to_owned(),
                id: id_of(&object.value),
                why: "the destroy succeeded, but a read still returns the object".to_owned(),
            });
        } else if after != AfterDestroy::Unproven {
            let proven = [self.record.take(), self.replaced.take()];
            let records = self.subject.records;
            proven
                .into_iter()
                .flatten()
                .for_each(|of| records.remove(of));
        }
    }

    /// Reads the destroyed object.
    async fn read_after_destroy(&mut self, object: &Prior) -> AfterDestroy {
        let id = "read-after-destroy";
        let read = match self.read_object(object).await {
            Ok(Some(read)) => read,
            Ok(None) => {
                self.pass(id, "the object does not exist");
                return AfterDestroy::Gone;
            }
            Err(why) => {
                self.fail(id, why);
                return AfterDestroy::Unproven;
            }
        };
        if let Some(text) = difference(self.schema, &object.value, &read.value) {
            self.fail(id, format!("the read still returns an object: {text}"));
            return AfterDestroy::Remains;
        }
        // Types that exist only in the state return the recorded object, too. An import that
        // passed before and fails now proves that the provider sees the target system.
        match self.import_of_destroyed(object).await {
            Some(Destroyed::Gone(why)) => self.fail(
                id,
                format!("the read returns the recorded object, but an import does not: {why}"),
            ),
            Some(Destroyed::Remains) => {
                self.fail(id, "a read and an import still return the object");
                return AfterDestroy::Remains;
            }
            None => self.skip(
                id,
                "the read returns the recorded object, as types do that exist only in the state",
            ),
        }
        AfterDestroy::Gone
    }

    pub(super) async fn destroy_object(&self, object: &Prior) -> Result<(), String> {
        let ctx = self.context();
        let planned = plan_destroy(
            self.subject.provider,
            self.subject.type_name,
            self.schema,
            object,
            self.subject.schemas.capabilities.plan_destroy,
            &ctx,
        );
        let planned = planned
            .await
            .map_err(|failed| Unplanned::from(failed).text())?;
        let outcome = self.apply(Some(object), &planned, &self.config).await;
        outcome.failure.map_or(Ok(()), Err)
    }

    /// Keeps the object of a create, or records that one may exist although no answer has it.
    pub(super) fn keep_created(&mut self, outcome: &Outcome) {
        self.object = outcome.applied.as_ref().and_then(|a| self.object_of(a));
        if self.object.is_some() {
            return self.record_object();
        }
        if !outcome.may_have_created() {
            let refused = self.record.take();
            return refused
                .into_iter()
                .for_each(|of| self.subject.records.remove(of));
        }
        // The record stays until an operator discards it, because no answer has an id.
        self.record = None;
        // Without an object there is no id; the name helps an operator to find it.
        let name = self.config.get_attr("name");
        let name = name.as_ref().and_then(Value::as_str);
        let why = outcome.failure.as_deref().unwrap_or_default();
        self.leftovers.push(Leftover {
            type_name: self.subject.type_name.to_owned(),
            id: name.map(str::to_owned),
            why: format!("it may exist: {why}"),
        });
    }

    /// Records an object before its create.
    ///
    /// # Errors
    /// It cannot be recorded, so that it must not be created.
    pub(super) fn record_create(&mut self, planned: &Planned) -> Result<(), String> {
        let Subject {
            records, type_name, ..
        } = self.subject;
        let added = records.add(type_name, self.schema, &planned.after, &self.config)?;
        self.record = Some(added);
        Ok(())
    }

    /// Updates the record of the present object.
    pub(super) fn record_object(&self) {
        if let (Some(record), Some(object)) = (self.record, &self.object) {
            let schemas = self.subject.schemas;
            self.subject.records.update(record, schemas, object);
        }
    }
}

/// State of an object after its destroy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterDestroy {
    Gone,
    Remains,
    /// The read failed.
    Unproven,
}

/// Destroys a recorded object of an earlier run, and removes its record when a read proves that the
/// object is gone.
///
/// # Errors
/// Reason that the object remains, or may remain.
pub async fn destroy_recorded(subject: Subject<'_>, of: &ObjectRecord) -> Result<(), String> {
    let gone = || "the provider has no such type any more".to_owned();
    let recorded = of.prior(subject.schemas)?;
    let recorded = recorded.ok_or("no answer has its id")?;
    let mut run = TypeRun::new(subject).ok_or_else(gone)?;
    let read = run.read_object(&recorded).await?;
    let Some(read) = read else {
        run.subject.records.remove(of.number);
        return Ok(());
    };
    let identity = read.identity.clone().or(recorded.identity);
    run.object = Some(Prior { identity, ..read });
    run.record = Some(of.number);
    // An import that finds the object makes the check after the destroy stronger.
    run.import().await;
    run.destroy().await;
    if run.record.is_none() {
        return Ok(());
    }
    let failed = run.checks.iter().filter(|c| c.status == Status::Fail);
    let mut failed = failed
        .filter(|check| check.id != "import")
        .map(|c| &c.evidence);
    Err(failed.next_back().cloned().unwrap_or(run.reason))
}

/// Destroys an object that the checks left.
///
/// # Errors
/// Reason that the object remains.
pub async fn clean_up(subject: Subject<'_>, object: &Prior) -> Result<(), String> {
    match TypeRun::new(subject) {
        Some(run) => run.destroy_object(object).await,
        None => Err("the provider has no such type any more".to_owned()),
    }
}
