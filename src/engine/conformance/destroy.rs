//! Checks of the end of an object, and the destruction of leftovers.

use super::compare::difference;
use super::create::id_of;
use super::steps::{Outcome, Unplanned};
use super::{Subject, TypeRun};
use crate::stage::managed::{Prior, plan_destroy};
use conform::Leftover;
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
        self.read_after_destroy(&object).await;
        // Somebody else may destroy an object between a read and a destroy.
        let again = self.destroy_object(&object).await;
        let again = again.map(|()| "the second destroy has no errors".to_owned());
        self.result("destroy-again", again);
    }

    async fn read_after_destroy(&mut self, object: &Prior) {
        let id = "read-after-destroy";
        let read = match self.read_object(object).await {
            Ok(None) => return self.pass(id, "the object does not exist"),
            Ok(Some(read)) => read,
            Err(why) => return self.fail(id, why),
        };
        if let Some(text) = difference(self.schema, &object.value, &read.value) {
            return self.fail(id, format!("the read still returns an object: {text}"));
        }
        // Types that exist only in the state return the recorded object, too. An import tells them
        // apart, because it finds nothing any more only if it reads the target system.
        match self.import_of_destroyed(object).await {
            Some(why) => self.fail(
                id,
                format!("the read returns the recorded object, but an import does not: {why}"),
            ),
            None => self.skip(
                id,
                "the read returns the recorded object, as types do that exist only in the state",
            ),
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

    /// Records an object that may exist after a create without an answer.
    pub(super) fn may_exist(&mut self, outcome: &Outcome) {
        // Without an answer there is no id; the name helps an operator to find the object.
        let name = self.config.get_attr("name");
        let name = name.as_ref().and_then(Value::as_str);
        let why = outcome.failure.as_deref().unwrap_or_default();
        self.leftovers.push(Leftover {
            type_name: self.subject.type_name.to_owned(),
            id: name.map(str::to_owned),
            why: format!("it may exist: {why}"),
        });
    }
}

/// Destroys an object that the checks left. Returns it as a leftover if that fails.
pub async fn clean_up(subject: Subject<'_>, object: Prior) -> Option<Leftover> {
    let type_name = subject.type_name.to_owned();
    let run = TypeRun::new(subject)?;
    let why = run.destroy_object(&object).await.err()?;
    let id = id_of(&object.value);
    Some(Leftover { type_name, id, why })
}
