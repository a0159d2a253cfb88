//! Checks of the end of an object, and the destruction of leftovers.

use super::compare::difference;
use super::create::{Destroyed, id_of};
use super::protection::may_keep_object;
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
        self.conclude(object, after).await;
    }

    /// Lists each destroyed object that remains or may remain, and removes the records of the
    /// others.
    async fn conclude(&mut self, object: Prior, after: AfterDestroy) {
        let replaced = self.replaced.take();
        let last = (object, self.record.take());
        let kept = kept_by(&self.subject.config);
        for (object, record) in replaced.into_iter().chain([last]) {
            let may_remain = after == AfterDestroy::Remains || kept.is_some();
            // The second destroy may have been the one that took effect.
            if may_remain && !matches!(self.read_object(&object).await, Ok(None)) {
                self.leftovers.push(Leftover {
                    type_name: self.subject.type_name.to_owned(),
                    id: id_of(&object.value),
                    why: remains(kept.as_deref()),
                });
                self.record = self.record.or(record);
            } else if after == AfterDestroy::Unproven {
                self.record = self.record.or(record);
            } else if let Some(record) = record {
                self.subject.records.remove(record);
            }
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
            self.still_returned(id, format!("the read still returns an object: {text}"));
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
                let why = "a read and an import still return the object";
                self.still_returned(id, why.to_owned());
                return AfterDestroy::Remains;
            }
            None => self.skip(
                id,
                "the read returns the recorded object, as types do that exist only in the state",
            ),
        }
        AfterDestroy::Gone
    }

    /// Reports an object that remains. It is no fault if the configuration asks for that.
    fn still_returned(&mut self, id: &str, why: String) {
        match kept_by(&self.subject.config) {
            Some(argument) => self.skip(id, format!("the configuration sets {argument:?}; {why}")),
            None => self.fail(id, why),
        }
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

/// Argument of a configuration that may keep the real object when it is destroyed.
fn kept_by(config: &Value) -> Option<String> {
    let is_set = |value: &Value| {
        let is_empty = value.is_null() || value.as_bool() == Some(false);
        value.is_known() && !is_empty && value.as_str() != Some("")
    };
    let mut members = config.elements();
    members.find_map(|(name, value)| {
        let name = name.as_str()?;
        (may_keep_object(name) && is_set(value)).then(|| name.to_owned())
    })
}

fn remains(kept: Option<&str>) -> String {
    match kept {
        Some(argument) => format!(
            "it may exist: the configuration sets {argument:?}, which can keep the object when it is destroyed"
        ),
        None => "the destroy succeeded, but a read still returns the object".to_owned(),
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

/// Destroys an object that the checks left. `is_doubtful` if another object of the type remains
/// after its destroy.
///
/// # Errors
/// Reason that the object remains, or may remain.
pub async fn clean_up(
    subject: Subject<'_>,
    object: &Prior,
    is_doubtful: bool,
) -> Result<(), String> {
    let gone = || "the provider has no such type any more".to_owned();
    let run = TypeRun::new(subject).ok_or_else(gone)?;
    run.destroy_object(object).await?;
    let kept = kept_by(&run.subject.config);
    let may_remain = is_doubtful || kept.is_some();
    match may_remain && !matches!(run.read_object(object).await, Ok(None)) {
        true => Err(remains(kept.as_deref())),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::kept_by;
    use cty::Value;

    #[test]
    fn only_a_set_argument_keeps_the_object() {
        let name = ("name", Value::string("n"));
        for (argument, value, expected) in [
            ("skip_destroy", Value::bool(true), true),
            ("skip_destroy", Value::bool(false), false),
            ("skip_destroy", Value::null(cty::Type::Bool), false),
            ("final_snapshot_identifier", Value::string("s"), true),
            ("final_snapshot_identifier", Value::string(""), false),
            ("alpha", Value::bool(true), false),
        ] {
            let config = Value::object([name.clone(), (argument, value)]);
            let kept = kept_by(&config);
            assert_eq!(kept.as_deref() == Some(argument), expected, "{argument}");
        }
    }
}
