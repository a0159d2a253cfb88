//! Checks of changes: an update of each argument, and a replacement.

use super::TypeRun;
use super::arguments::{Argument, Change, arguments};
use super::compare::{difference, shown};
use super::steps::{Outcome, Unplanned};
use super::vary::variation;
use crate::stage::managed::{Planned, Prior, Reason, mark};
use conform::Status;
use cty::Value;
use model::Action;

/// Maximum number of updated arguments of a type.
const MAX_UPDATES: usize = 40;

impl TypeRun<'_> {
    /// Updates each argument by itself.
    pub(super) async fn updates(&mut self) {
        let all = arguments(&self.schema.block, &self.config);
        for (index, argument) in all.iter().enumerate() {
            let id = format!("update:{}", argument.name);
            if self.is_over() || self.object.is_none() {
                // Each argument has a check, so that the report lists those that were not tried.
                let why = self.reason.clone();
                self.skip(id, why);
                continue;
            }
            if index >= MAX_UPDATES {
                let why = format!("only the first {MAX_UPDATES} arguments of a type are updated");
                self.skip(id, why);
                continue;
            }
            match self.planned_update(argument, &all).await {
                Ok((planned, config)) => {
                    let result = self.updated(&planned, config, argument).await;
                    self.result(id, result);
                }
                Err((Status::Fail, why)) => self.fail(id, why),
                Err((_, why)) => self.skip(id, why),
            }
        }
        if all.is_empty() {
            self.skip("update", "the type has no arguments");
        }
    }

    /// Plans the update of an argument, with its configuration.
    async fn planned_update(
        &self,
        argument: &Argument<'_>,
        all: &[Argument<'_>],
    ) -> Result<(Planned, Value), (Status, String)> {
        let skipped = |why: String| (Status::Skipped, why);
        let is_write_only = matches!(argument.change, Change::VaryWriteOnly(_));
        let mut config = self.varied(argument, &self.config).map_err(skipped)?;
        let mut planned = self.accepted(argument, &config).await;
        // A provider does not see another write-only value without the version beside it, and may
        // require both.
        let is_unseen = match &planned {
            Ok(planned) => planned.action == Action::NoOp,
            Err((status, _)) => *status == Status::Skipped,
        };
        if is_write_only
            && is_unseen
            && let Some(version) = argument.version(all)
        {
            config = self.varied(version, &config).map_err(skipped)?;
            planned = self.accepted(version, &config).await;
        }
        let planned = planned?;
        let why = match planned.action {
            Action::Update => return Ok((planned, config)),
            Action::NoOp if is_write_only => {
                "the plan has no change, because a write-only value is not part of the object"
                    .to_owned()
            }
            // A provider may treat different values as equal, such as texts in another case.
            Action::NoOp => {
                let value = self.shown_argument(&config, argument);
                format!("the plan has no change for {value}")
            }
            _ => {
                "a change of this argument requires a replacement, which is not checked".to_owned()
            }
        };
        Err(skipped(why))
    }

    /// Validates and plans a configuration. A new value may break a rule that the type of the
    /// argument does not express, so that a refusal is no failure.
    async fn accepted(
        &self,
        argument: &Argument<'_>,
        config: &Value,
    ) -> Result<Planned, (Status, String)> {
        let refused = |why: String| {
            let value = self.shown_argument(config, argument);
            let text = format!("the provider refuses {value}: {why}");
            (Status::Skipped, text)
        };
        match self.refusal(config).await {
            Ok(None) => {}
            Ok(Some(why)) => return Err(refused(why)),
            Err(why) => return Err((Status::Fail, why)),
        }
        let planned = self.plan(self.object.as_ref(), config, None).await;
        planned.map_err(|failed| match failed {
            Unplanned::Broken(why) => (Status::Fail, why),
            Unplanned::Refused(why) => refused(why),
        })
    }

    /// Returns the configuration with another value of an argument.
    fn varied(&self, argument: &Argument<'_>, config: &Value) -> Result<Value, String> {
        let (name, prefix) = (argument.last_name(), self.subject.prefix);
        let new = match &argument.change {
            Change::Nothing(why) => return Err((*why).to_owned()),
            Change::Add(absent) => absent
                .starter(name, prefix)
                .ok_or("its starter has no values; give some with --config")?,
            Change::Vary(ty) | Change::VaryWriteOnly(ty) => {
                let value = argument.first_of(config).filter(|value| !value.is_null());
                // The provider's default must differ from the new value, too.
                let default = || argument.of(&self.object.as_ref()?.value);
                let value = value.or_else(default);
                let value = value.map_or(Value::null((*ty).clone()), |v| v.unmark_deep().0);
                let varied = variation(ty, &value, &format!("{prefix}{name}"));
                let kind = || format!("a value of the type {} is not varied", ty.friendly_name());
                varied.ok_or_else(kind)?
            }
        };
        let changed = argument.with(config, new);
        changed.ok_or_else(|| "the value is not part of the configuration any more".to_owned())
    }

    fn shown_argument(&self, config: &Value, argument: &Argument<'_>) -> String {
        match argument.change {
            Change::VaryWriteOnly(_) => return "another write-only value".to_owned(),
            Change::Add(_) => return "the starter value".to_owned(),
            Change::Vary(_) | Change::Nothing(_) => {}
        }
        let value = argument.of(&mark(self.schema, config.clone(), &[]));
        value.map_or("another element".to_owned(), |value| {
            format!("the value {}", shown(&value))
        })
    }

    /// Applies an update, then reads and plans the object.
    async fn updated(
        &mut self,
        planned: &Planned,
        config: Value,
        argument: &Argument<'_>,
    ) -> Result<String, String> {
        let before = self.object.clone();
        let value = self.shown_argument(&config, argument);
        let outcome = self.apply(before.as_ref(), planned, &config).await;
        // Kept before the result is judged, because the object may have changed anyway.
        self.keep(&outcome, before);
        if let Some(why) = outcome.failure {
            return Err(why);
        }
        self.config = config;
        let Some(object) = self.object.clone() else {
            return Err("the answer has no object".to_owned());
        };
        let Some(read) = self.read_object(&object).await? else {
            return Err("the updated object does not exist".to_owned());
        };
        // Other values may change as a consequence, also inside of an addition; the plan below
        // covers them.
        let is_varied = matches!(argument.change, Change::Vary(_));
        let [made, came] = [&object.value, &read.value].map(|of| argument.of(of));
        if let (Some(made), Some(came), true) = (made, came, is_varied)
            && !made.raw_equals(&came)
        {
            let text = difference(self.schema, &object.value, &read.value);
            return Err(format!("the read differs: {}", text.unwrap_or_default()));
        }
        let identity = read.identity.clone().or(object.identity);
        self.object = Some(Prior { identity, ..read });
        self.plan_without_changes().await?;
        Ok(format!("updated to {value}, then no changes"))
    }

    /// Keeps the object of an answer; after a failure without one, the earlier object stays.
    fn keep(&mut self, outcome: &Outcome, before: Option<Prior>) {
        let applied = outcome.applied.as_ref();
        self.object = applied.and_then(|a| self.object_of(a)).or(before);
        self.record_object();
    }

    /// Replaces the object: destroys it and creates the new one.
    pub(super) async fn replace(&mut self) {
        let Some(object) = self.object.clone() else {
            return;
        };
        if self.is_over() {
            return;
        }
        let result = self.replaced(object).await;
        self.result("replace", result);
    }

    /// Replaces by request and with the first configuration, because other values may have no use.
    async fn replaced(&mut self, object: Prior) -> Result<String, String> {
        let (config, force) = (self.subject.config.clone(), Some(Reason::ReplaceByRequest));
        self.config.clone_from(&config);
        let planned = self.plan(Some(&object), &config, force).await;
        let planned = planned.map_err(Unplanned::text)?;
        // Destroyed first, because two objects at once may conflict by their names.
        self.destroy_object(&object).await?;
        self.object = None;
        // A destroy without effect shows only at the end, so that the first object stays recorded.
        self.replaced = Some((object, self.record.take()));
        // The plan of a replacement has two steps, and this apply is only the second one.
        let created = Planned {
            action: Action::Create,
            ..planned
        };
        self.record_create(&created)?;
        let outcome = self.apply(None, &created, &config).await;
        self.keep_created(&outcome);
        match (outcome.failure, &self.object) {
            (Some(why), _) => return Err(why),
            (None, None) => return Err("the answer has no object".to_owned()),
            (None, Some(_)) => {}
        }
        self.plan_without_changes().await?;
        Ok("destroyed and created anew, then no changes".to_owned())
    }
}
