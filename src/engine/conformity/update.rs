//! Checks of changes: an update of each argument, and a replacement.

use super::TypeRun;
use super::compare::{difference, shown};
use super::steps::{Outcome, Unplanned};
use super::vary::variation;
use crate::stage::managed::{Planned, Prior, Reason, mark};
use cty::{Path, Value};
use model::Action;
use std::sync::Arc;

/// Maximum number of updated arguments of a type.
const MAX_UPDATES: usize = 40;

impl TypeRun<'_> {
    /// Updates each argument by itself.
    pub(super) async fn updates(&mut self) {
        let arguments = self.schema.block.attributes.iter();
        let arguments = arguments.filter(|(_, a)| a.required || a.optional);
        let names: Vec<Arc<str>> = arguments.map(|(name, _)| name.clone()).collect();
        for (index, name) in names.iter().enumerate() {
            if self.is_over() || self.object.is_none() {
                // Each argument has a check, so that the report lists those that were not tried.
                let why = self.reason.clone();
                self.skip(format!("update:{name}"), why);
                continue;
            }
            if index >= MAX_UPDATES {
                let why = format!("only the first {MAX_UPDATES} arguments of a type are updated");
                self.skip(format!("update:{name}"), why);
                continue;
            }
            self.update(name).await;
        }
        if names.is_empty() {
            self.skip("update", "the type has no arguments");
        }
    }

    async fn update(&mut self, name: &Arc<str>) {
        let id = format!("update:{name}");
        let config = match self.varied(name) {
            Ok(config) => config,
            Err(why) => return self.skip(id, why),
        };
        // A new value may break a rule that the type of the argument does not express.
        match self.refusal(&config).await {
            Ok(None) => {}
            Ok(Some(why)) => {
                let value = self.shown_argument(&config, name);
                return self.skip(id, format!("the provider refuses the value {value}: {why}"));
            }
            Err(why) => return self.fail(id, why),
        }
        let planned = match self.plan(self.object.as_ref(), &config, None).await {
            Ok(planned) => planned,
            Err(Unplanned::Broken(why)) => return self.fail(id, why),
            Err(Unplanned::Refused(why)) => {
                let value = self.shown_argument(&config, name);
                return self.skip(id, format!("the provider refuses the value {value}: {why}"));
            }
        };
        match planned.action {
            // A provider may treat different values as equal, such as texts in another case.
            Action::NoOp => {
                let value = self.shown_argument(&config, name);
                let why = format!("the plan has no change for the value {value}");
                self.skip(id, why);
            }
            Action::Update => {
                let result = self.updated(&planned, config, name).await;
                self.result(id, result);
            }
            _ => {
                self.skip(
                    id,
                    "a change requires a replacement; see the check `replace`",
                );
            }
        }
    }

    /// Returns the configuration with another value of an argument.
    fn varied(&self, name: &Arc<str>) -> Result<Value, String> {
        let attribute = &self.schema.block.attributes[name];
        if attribute.write_only {
            return Err("a write-only value is not part of the object".to_owned());
        }
        if attribute.deprecated {
            return Err("the argument is deprecated".to_owned());
        }
        let none = || {
            let kind = attribute.ty.friendly_name();
            format!("a value of the type {kind} is not varied")
        };
        if attribute.nested.is_some() {
            return Err("nested attributes are not varied".to_owned());
        }
        let value = self.config.get_attr(name).filter(|value| !value.is_null());
        // The provider's default must differ from the new value, too.
        let default = || self.object.as_ref()?.value.get_attr(name);
        let value = value.or_else(default).ok_or_else(none)?.unmark_deep().0;
        let placeholder = format!("{}{name}", self.subject.prefix);
        let varied = variation(&attribute.ty, &value, &placeholder).ok_or_else(none)?;
        let path = Path::root().attr(name.clone());
        self.config.with_at(&path, varied).ok_or_else(none)
    }

    fn shown_argument(&self, config: &Value, name: &str) -> String {
        let marked = mark(self.schema, config.clone(), &[]);
        marked
            .get_attr(name)
            .as_ref()
            .map_or_else(String::new, shown)
    }

    /// Applies an update, then reads and plans the object.
    async fn updated(
        &mut self,
        planned: &Planned,
        config: Value,
        name: &str,
    ) -> Result<String, String> {
        let before = self.object.clone();
        let value = self.shown_argument(&config, name);
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
        // Other values may change as a consequence; the plan below covers them.
        let path = Path::root().attr(name);
        let [made, came] = [&object.value, &read.value].map(|of| path.apply(of));
        if let (Ok(made), Ok(came)) = (made, came)
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
        // The plan of a replacement has two steps, and this apply is only the second one.
        let created = Planned {
            action: Action::Create,
            ..planned
        };
        let outcome = self.apply(None, &created, &config).await;
        if outcome.is_unknown {
            let why = outcome.failure.clone().unwrap_or_default();
            self.leave(None, &format!("it may exist: {why}"));
        }
        self.keep(&outcome, None);
        match (outcome.failure, &self.object) {
            (Some(why), _) => return Err(why),
            (None, None) => return Err("the answer has no object".to_owned()),
            (None, Some(_)) => {}
        }
        self.plan_without_changes().await?;
        Ok("destroyed and created anew, then no changes".to_owned())
    }
}
