//! Checks up to an object that exists and is read: validation, plan, create, obligations of the
//! answer, read, plan without changes, import.

use super::TypeRun;
use super::compare::{are_alike_in_legacy, chosen_arguments, difference, first_error, shown};
use super::steps::Outcome;
use crate::stage::managed::{self, Planned, Prior};
use calls::ProviderError;
use conform::Status;
use cty::Value;
use model::Action;
use provider::{ImportRequest, Imported};
use tokio::time::Instant;

impl TypeRun<'_> {
    pub(super) async fn validate(&mut self) -> bool {
        match self.refusal(&self.config).await {
            Ok(None) => self.pass("validate", "the configuration is valid"),
            Ok(Some(why)) if self.subject.is_given => {
                self.fail("validate", why);
                self.because("the configuration is refused");
                return false;
            }
            // A starter guesses its values, so that a refusal is no fault of the provider.
            Ok(Some(why)) => {
                self.because(&format!(
                    "the provider refuses the starter configuration: {why}; give a configuration of your own with --config"
                ));
                return false;
            }
            Err(why) => {
                self.fail("validate", why);
                self.because("validation failed");
                return false;
            }
        }
        true
    }

    pub(super) async fn plan_create(&mut self) -> Option<Planned> {
        match self.plan(None, &self.config, None).await {
            Ok(planned) => {
                let unknown = attributes(&planned.after, |value| !value.is_known());
                let evidence = match unknown.is_empty() {
                    true => "all values are known".to_owned(),
                    false => format!("known after the apply: {}", unknown.join(", ")),
                };
                self.pass("plan-create", evidence);
                Some(planned)
            }
            Err(failed) => {
                self.fail("plan-create", failed.text());
                self.because("there is no plan to create an object");
                None
            }
        }
    }

    /// Creates the object; returns true if it is usable for further checks.
    pub(super) async fn create(&mut self, planned: Planned) -> bool {
        if self.is_over() {
            return false;
        }
        let config = self.config.clone();
        if let Err(why) = self.record_create(&planned) {
            self.fail("create", &why);
            self.because("the object was not created, because it cannot be recorded");
            return false;
        }
        let began = Instant::now();
        let outcome = self.apply(None, &planned, &config).await;
        let took = began.elapsed();
        // An answer with errors may still have an object, which must be destroyed later.
        self.keep_created(&outcome);
        self.obligations(&outcome);
        let is_done = match (&outcome.failure, &self.object) {
            (Some(why), _) if outcome.is_refused() && !self.subject.is_given => Err(format!(
                "{why} (starter configuration; give one of your own with --config)"
            )),
            (Some(why), _) => Err(why.clone()),
            (None, Some(object)) => Ok(match id_of(&object.value) {
                Some(id) => format!("created with the id {}", lang::addr::quote(&id)),
                None => "created".to_owned(),
            }),
            (None, None) => Err("the answer has no object".to_owned()),
        };
        if self.result("create", is_done) {
            self.created_in = Some(took);
            return true;
        }
        self.because("the object could not be created");
        false
    }

    /// Checks the obligations of an answer with an object.
    fn obligations(&mut self, outcome: &Outcome) {
        let Some(received) = outcome.received.as_ref().filter(|v| !v.is_null()) else {
            return;
        };
        let unknown = attributes(received, |value| !value.is_wholly_known());
        let unknown = match unknown.is_empty() {
            true => Ok("all values of the created object are known".to_owned()),
            false => Err(format!("unknown after the apply: {}", unknown.join(", "))),
        };
        self.result("unknowns", unknown);
        if outcome.is_legacy {
            self.skip("nulls", "the provider declares the legacy type system, which does not tell null from zero values");
        } else {
            let chosen = chosen_arguments(&self.schema.block, &self.config, received);
            let chosen = match chosen.is_empty() {
                true => Ok("no null argument has a value".to_owned()),
                false => Err(format!(
                    "set by the provider although null in the configuration: {}",
                    chosen.join(", ")
                )),
            };
            self.result("nulls", chosen);
        }
    }

    pub(super) async fn read(&mut self) {
        let Some(created) = self.object.clone().filter(|_| !self.is_over()) else {
            return;
        };
        let found = match self.read_object(&created).await {
            Err(why) => Err(why),
            Ok(None) => Err("the object that was just created does not exist".to_owned()),
            Ok(Some(found)) => Ok(found),
        };
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                self.fail("read", why);
                self.because("the object cannot be read");
                return;
            }
        };
        // Values that only the provider chooses may be complete later than the object.
        let text = match difference(self.schema, &created.value, &found.value) {
            None => Ok("equals the created object".to_owned()),
            Some(text) if self.argument_differs(&created.value, &found.value) => Err(text),
            Some(text) => Ok(format!("a value that the provider chooses changed: {text}")),
        };
        self.result("read", text);
        self.private_state(&created, &found);
        self.identity(&created, &found);
        // Later calls need the identity, also if the read returned none.
        let identity = found.identity.clone().or(created.identity);
        self.object = Some(Prior { identity, ..found });
    }

    /// Returns true if an argument of the configuration has another value after a read.
    fn argument_differs(&self, created: &Value, read: &Value) -> bool {
        let block = &self.schema.block;
        // Values that the configuration does not give are the concern of other checks.
        let given = |name: &str| {
            let value = self.config.get_attr(name);
            value.is_some_and(|value| !value.is_null())
        };
        let names = block.attributes.keys().chain(block.blocks.keys());
        names.filter(|name| given(name)).any(|name| {
            let [a, b] = [created, read].map(|of| of.get_attr(name).map(|v| v.unmark_deep().0));
            match (a, b) {
                (Some(a), Some(b)) => !a.raw_equals(&b),
                (a, b) => a.is_some() != b.is_some(),
            }
        })
    }

    fn private_state(&mut self, created: &Prior, read: &Prior) {
        match (created.private.len(), read.private.len()) {
            (0, _) => self.skip("private-state", "the provider stores no private data"),
            (before, 0) => self.fail(
                "private-state",
                format!("the create returned {before} bytes of private data, and the read none"),
            ),
            (before, after) => self.pass(
                "private-state",
                format!("{before} bytes after the create, {after} after the read"),
            ),
        }
    }

    fn identity(&mut self, created: &Prior, read: &Prior) {
        let schemas = &self.subject.schemas.identities;
        if !schemas.contains_key(self.subject.type_name) {
            return self.skip("identity", "the type has no identity");
        }
        let result = match (&created.identity, &read.identity) {
            (None, _) => Err("the created object has no identity".to_owned()),
            (Some(made), _) if !made.is_wholly_known() => {
                Err(format!("the identity has unknown values: {}", shown(made)))
            }
            (Some(_), None) => Err("the read returned no identity".to_owned()),
            (Some(a), Some(b)) if !a.raw_equals(b) => Err(format!(
                "the identity was {}, but now {}",
                shown(a),
                shown(b)
            )),
            (Some(identity), _) => Ok(shown(identity)),
        };
        self.result("identity", result);
    }

    pub(super) async fn no_op_plan(&mut self) {
        if !self.is_over() && self.object.is_some() {
            let result = self.plan_without_changes().await;
            self.result("no-op-plan", result);
        }
    }

    /// Plans the present configuration, which must change nothing.
    pub(super) async fn plan_without_changes(&self) -> Result<String, String> {
        let Some(object) = &self.object else {
            return Err("there is no object".to_owned());
        };
        let planned = self.plan(Some(object), &self.config, None).await;
        let planned = planned.map_err(super::steps::Unplanned::text)?;
        if planned.action == Action::NoOp {
            return Ok("no changes".to_owned());
        }
        let change = difference(self.schema, &object.value, &planned.after);
        let change = change.unwrap_or_else(|| "marks of sensitive values differ".to_owned());
        Err(format!(
            "the plan has the action {}: {change}",
            planned.action.label()
        ))
    }

    pub(super) async fn import(&mut self) {
        let Some(object) = self.object.clone().filter(|_| !self.is_over()) else {
            return;
        };
        let Some(request) = self.import_request(&object) else {
            return self.skip("import", "the object has neither an id nor an identity");
        };
        let answer = self.subject.provider.import(request, &self.context()).await;
        let imported = match answer {
            Err(ProviderError::Unsupported { .. }) => {
                return self.skip("import", "the provider does not support imports");
            }
            Err(error) => return self.fail("import", error.to_string()),
            Ok(answer) => match first_error(&answer.diagnostics) {
                // Types without imports report an error, and errors have no code to recognise it
                // by.
                Some(why) => {
                    return self.skip("import", format!("the provider refuses the import: {why}"));
                }
                None => answer.imported,
            },
        };
        match self.imported(&object, &imported).await.transpose() {
            Some(result) => drop(self.result("import", result)),
            // Some types are imported by another text than their id.
            None => self.skip("import", "no object was found by the id of the created one"),
        }
    }

    /// Returns the request to import an object, if it has an id or an identity.
    fn import_request(&self, object: &Prior) -> Option<ImportRequest> {
        let id = id_of(&object.value);
        // The protocol allows an id or an identity in a request, and not both.
        let identity = object.identity.clone().filter(|_| id.is_none());
        (id.is_some() || identity.is_some()).then(|| ImportRequest {
            type_name: self.subject.type_name.to_owned(),
            identity,
            id: id.unwrap_or_default(),
        })
    }

    /// Imports a destroyed object; `None` if this says nothing about it, for instance because the
    /// import before the destroy did not pass.
    pub(super) async fn import_of_destroyed(&self, object: &Prior) -> Option<Destroyed> {
        let mut checks = self.checks.iter();
        checks.find(|check| check.id == "import" && check.status == Status::Pass)?;
        let request = self.import_request(object)?;
        if let Some(why) = self.refused_import(request.clone(), object).await? {
            return Some(Destroyed::Gone(why));
        }
        // An identity has rules of its own, so that no missing one can be made.
        if request.identity.is_some() {
            return None;
        }
        // A type that exists only in the state imports any id of the right form.
        for id in missing_ids(&request.id) {
            let missing = ImportRequest {
                id,
                ..request.clone()
            };
            self.refused_import(missing, object).await??;
        }
        Some(Destroyed::Remains)
    }

    /// Returns the error of an import, or "no object"; `None` if it finds one. The outer `None` is
    /// a failed call, which says nothing about the object.
    async fn refused_import(
        &self,
        request: ImportRequest,
        object: &Prior,
    ) -> Option<Option<String>> {
        let answer = self.subject.provider.import(request, &self.context()).await;
        let answer = answer.ok()?;
        if let Some(why) = first_error(&answer.diagnostics) {
            return Some(Some(why));
        }
        let is_missing = self.imported(object, &answer.imported).await == Ok(None);
        Some(is_missing.then(|| "no object".to_owned()))
    }

    /// Compares the imported object with the created one; `None` if it does not exist.
    async fn imported(
        &self,
        object: &Prior,
        imported: &[Imported],
    ) -> Result<Option<String>, String> {
        let [found] = imported else {
            return Err(format!(
                "the answer has {} objects, not one",
                imported.len()
            ));
        };
        if found.type_name != self.subject.type_name {
            return Err(format!("the object has the type {}", found.type_name));
        }
        let found = Prior {
            value: managed::mark(self.schema, found.state.clone(), &[]),
            private: found.private.clone(),
            tainted: false,
            identity: found.identity.clone(),
        };
        // An imported object may be partial; a read completes it.
        let Some(read) = self.read_object(&found).await? else {
            return Ok(None);
        };
        let (mut absent, mut merged) = (Vec::new(), read.value.clone());
        for name in self.schema.block.attributes.keys() {
            let [made, came] = [&object.value, &read.value].map(|of| of.get_attr(name));
            let (Some(made), Some(came)) = (made, came) else {
                continue;
            };
            // An import cannot find out values that the target system does not return, or tell
            // null from a zero value there.
            let is_absent = came.is_null() && !made.is_null();
            if is_absent {
                absent.push(name.to_string());
            }
            if is_absent || are_alike_in_legacy(&made, &came) {
                let path = cty::Path::root().attr(name.clone());
                merged = merged.with_at(&path, made).unwrap_or(merged);
            }
        }
        match (
            difference(self.schema, &object.value, &merged),
            absent.is_empty(),
        ) {
            (Some(text), _) => Err(text),
            (None, true) => Ok(Some("equals the created object".to_owned())),
            (None, false) => Ok(Some(format!("not imported: {}", absent.join(", ")))),
        }
    }
}

/// Returns ids that probably no object has. Most keep the form of `id`, for instance a timestamp,
/// and differ in one digit or letter.
fn missing_ids(id: &str) -> Vec<String> {
    const MAX_CHANGED: usize = 8;
    let mut missing = vec![format!("{id}-flightdeck-never-created")];
    let places = id.char_indices().rev();
    for (at, old) in places
        .filter(|(_, c)| c.is_ascii_alphanumeric())
        .take(MAX_CHANGED)
    {
        let new = match old {
            '9' => '0',
            'z' => 'a',
            'Z' => 'A',
            other => char::from(other as u8 + 1),
        };
        missing.push(format!("{}{new}{}", &id[..at], &id[at + 1..]));
    }
    missing
}

/// Answer of an import about an object whose destroy succeeded.
pub(super) enum Destroyed {
    /// The import does not find it, for this reason.
    Gone(String),
    /// The import finds it, and no object by an id that never existed.
    Remains,
}

/// Returns the id of an object, if it has one that may be shown.
pub fn id_of(object: &Value) -> Option<String> {
    let id = object.get_attr("id")?;
    let (id, marks) = id.unmark();
    id.as_str().filter(|_| marks.is_empty()).map(str::to_owned)
}

/// Returns the attributes of an object with such values.
fn attributes(object: &Value, fits: impl Fn(&Value) -> bool) -> Vec<String> {
    let all = object.clone().unmark_deep().0;
    let members = all.as_map().into_iter().flat_map(|all| all.iter());
    let names = members.filter(|(_, value)| fits(value));
    names.map(|(name, _)| name.to_string()).collect()
}
