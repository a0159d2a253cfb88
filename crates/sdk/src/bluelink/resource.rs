//! Calls about one object. A Bluelink host has planned by the schema and sends the desired spec
//! without computed values. This module passes prior state, configuration and plan to the author's
//! code, as protocol 6 does.

use std::collections::HashMap;
use std::sync::Arc;

use cty::Value;
use cty::plan::assert_object_compatible;
use proto::bluelink::schema::MappingNode;
use proto::bluelink::sharedtypesv1::{
    Changes, Diagnostic as Told, DiagnosticLevel, ResourceSpecDefinition,
};

use super::computed_values::by_provider;
use super::error::sentence;
use super::node::{definition, id_field};
use super::value::{decode, encode, is_null_node};
use crate::calls::{changed, deleted, found};
use crate::check;
use crate::diagnostics::{Diagnostics, Failure, Severity};
use crate::provider::{Change, Context, Planned, Planning, Resource, State};
use crate::schema::model;
use crate::service::{Entry, Outcome};

/// Resource type with its definition for the host.
pub(super) struct Kind {
    pub(super) entry: Arc<Entry<dyn Resource>>,
    pub(super) definition: ResourceSpecDefinition,
    model: cty::schema::Schema,
}

impl Kind {
    pub(super) fn of(entry: Arc<Entry<dyn Resource>>) -> Kind {
        Kind {
            definition: definition(&entry.schema),
            model: model::of(&entry.schema),
            entry,
        }
    }

    fn item(&self) -> &dyn Resource {
        &*self.entry.item
    }

    fn decode(&self, spec: &MappingNode) -> Outcome<Value> {
        let value = decode(Some(spec), &self.entry.ty).map_err(|why| {
            let summary = format!(
                "the spec does not match the schema of {}",
                self.item().name()
            );
            Failure::new(summary, why.to_string())
        })?;
        // A spec leaves out repeated blocks that are empty, which would otherwise be null.
        Ok(self.entry.schema.block.with_empty_blocks(value))
    }

    /// Converts a spec to the state of an existing object.
    fn state(&self, spec: Option<&MappingNode>) -> Outcome<State> {
        let given = spec.filter(|spec| !is_null_node(spec)).ok_or_else(|| {
            let why = "the host sent an empty state; this is a bug in the host";
            Failure::new("the object cannot be identified", why)
        })?;
        self.decode(given).map(State::new)
    }

    async fn plan(&self, cx: &Context, prior: &Value, config: &Value) -> Outcome<Planned> {
        let planning = Planning {
            schema: &self.entry.schema,
            prior: prior.clone(),
            // Protocol 6 hosts send the proposed value; here it is computed by the same rules.
            proposed: self.model.proposed_new(prior, config),
            config: config.clone(),
            // The host stores no private data of a provider.
            private: Vec::new(),
        };
        let planned = self.item().plan(cx, planning).await?;
        if prior.is_null() || planned.replace.is_empty() {
            return Ok(planned);
        }
        // The host detects replacement only for attributes that had a value before, so the
        // provider's plan can require a replacement that the host did not plan.
        let paths: Vec<String> = planned.replace.iter().map(ToString::to_string).collect();
        let paths = paths.join(", ");
        let summary = format!(
            "a change of {} requires a replacement",
            paths.trim_start_matches('.')
        );
        let why = "the host planned an update; replace the object instead (flightdeck: --replace)";
        Err(Failure::new(summary, why))
    }

    async fn destroyed(&self, cx: &Context, state: State) -> Outcome<()> {
        // Over protocol 6 the host plans the destroy first, so the author may refuse it there.
        let said = self.item().plan_destroy(cx, &state).await?;
        said.log_warnings();
        if said.has_errors() {
            return Err(said.into());
        }
        deleted(&self.entry, cx, state).await?.log_warnings();
        Ok(())
    }

    async fn created(&self, cx: &Context, change: Change) -> Outcome<State> {
        let mut failure = match changed(&self.entry, cx, change).await {
            Ok(state) => return Ok(state),
            Err(failure) => failure,
        };
        // The host stores nothing of a failed create, so a partial object would be orphaned. It is
        // deleted, or the error names it.
        let Some(half) = failure.partial.take() else {
            return Err(failure);
        };
        // The id is read before the delete, which consumes the object.
        let id = id_field(&self.entry.schema);
        let id = half
            .value
            .get_attr(id)
            .unwrap_or(Value::null(cty::Type::String));
        let id = id.as_str().unwrap_or("without an id").to_owned();
        match self.item().delete(cx, *half).await {
            Ok(said) if !said.has_errors() => {
                let what = format!("the partly created object ({id}) was removed");
                failure.diagnostics.error(what, "");
            }
            // A delete can also report errors in its diagnostics, and then the object remains.
            Ok(why)
            | Err(Failure {
                diagnostics: why, ..
            }) => {
                let what =
                    format!("the partly created object ({id}) was not removed and still exists");
                let why: Vec<String> = why.0.iter().map(sentence).collect();
                failure.diagnostics.error(what, why.join("; "));
            }
        }
        Err(failure)
    }

    /// Logs differences between plan and result; the response has no field for them.
    fn log_differences(&self, planned: &Value, made: &Value) {
        for (path, why) in assert_object_compatible(&self.model.block, planned, made) {
            let path = path.to_string();
            crate::log::warn(
                "the object differs from the plan",
                &[
                    ("resource", &self.item().name()),
                    ("at", &path),
                    ("why", &why),
                ],
            );
        }
    }
}

/// Creates, updates or replaces an object. Returns the values set by the provider, by path.
pub(super) async fn deploy(
    kind: Arc<Kind>,
    cx: Context,
    changes: Changes,
) -> Outcome<HashMap<String, MappingNode>> {
    let info = changes.applied_resource_info.unwrap_or_default();
    let spec = info.resource_with_resolved_subs.and_then(|all| all.spec);
    let spec = spec.unwrap_or_default();
    // Computed values are not configuration, even if a host sends them.
    let config = kind
        .entry
        .schema
        .block
        .without_computed(&kind.decode(&spec)?);
    // The host marks an existing object only by its state.
    let prior = match info.current_resource_state {
        None => None,
        Some(state) => Some(kind.state(state.spec_data.as_ref())?),
    };
    let prior = match prior {
        // One deploy call replaces an object by a destroy followed by a create.
        Some(former) if changes.must_recreate => {
            kind.destroyed(&cx, former).await?;
            None
        }
        prior => prior,
    };
    let creates = prior.is_none();
    let prior = prior.map_or_else(|| Value::null(kind.entry.ty.clone()), |state| state.value);
    // The host's plan follows the schema only; the author's plan also has defaults and unknown
    // values.
    let planned = kind.plan(&cx, &prior, &config).await?;
    let change = Change {
        prior,
        planned: planned.value.clone(),
        config,
        private: planned.private,
    };
    let made = match creates {
        true => kind.created(&cx, change).await?,
        false => changed(&kind.entry, &cx, change).await?,
    };
    kind.log_differences(&planned.value, &made.value);
    // The host takes all other values from the spec.
    Ok(by_provider(&kind.entry.schema.block, &made.value, &spec))
}

/// Returns true if a created or updated object is stable.
pub(super) async fn stable(
    kind: Arc<Kind>,
    cx: Context,
    spec: Option<MappingNode>,
) -> Outcome<bool> {
    let state = kind.state(spec.as_ref())?;
    kind.item().is_stable(&cx, &state).await
}

/// Deletes an object.
pub(super) async fn destroy(
    kind: Arc<Kind>,
    cx: Context,
    spec: Option<MappingNode>,
) -> Outcome<()> {
    let state = kind.state(spec.as_ref())?;
    kind.destroyed(&cx, state).await
}

/// Reads an object; an empty spec if it no longer exists.
pub(super) async fn read_object(
    kind: Arc<Kind>,
    cx: Context,
    spec: Option<MappingNode>,
) -> Outcome<MappingNode> {
    let mut state = kind.state(spec.as_ref())?;
    if let Some(id) = only_id(&kind, &state.value) {
        // The host sends only the id of an object to import.
        let id = id.as_str().unwrap_or_default().to_owned();
        let imported = kind.item().import(&cx, &id).await?;
        state = imported;
    }
    let Some(found) = found(&kind.entry, &cx, state).await? else {
        return Ok(MappingNode::default());
    };
    let seen = encode(&found.value, &kind.entry.ty, spec.as_ref());
    Ok(seen.unwrap_or_default())
}

/// Returns the id of an object if nothing else of it is known.
fn only_id(kind: &Kind, object: &Value) -> Option<Value> {
    let name = id_field(&kind.entry.schema);
    let others = kind.entry.schema.block.attributes.iter();
    let mut others = others.filter(|attr| attr.name != name);
    // A created object always has some of these values.
    let tells = others.clone().any(|attr| attr.required || attr.computed);
    let unknown = others.all(|attr| object.get_attr(&attr.name).is_none_or(|v| v.is_null()));
    let id = object.get_attr(name).filter(Value::is_given)?;
    // Without such attributes an import looks like any object, which is then only read.
    (tells && unknown).then_some(id)
}

/// Validates a configuration, which can have unresolved parts.
pub(super) async fn validate(
    kind: Arc<Kind>,
    cx: Context,
    spec: MappingNode,
) -> Outcome<Vec<Told>> {
    let config = kind.decode(&spec)?;
    // Checks of attributes are code of the provider, so the host cannot run them itself.
    let mut said = check::check_attributes(&kind.entry.schema, &config);
    said.extend(kind.item().validate(&cx, &config).await);
    Ok(convert_diagnostics(&said))
}

pub(super) fn convert_diagnostics(said: &Diagnostics) -> Vec<Told> {
    let one = |one: &crate::diagnostics::Diagnostic| Told {
        level: match one.severity {
            Severity::Error => DiagnosticLevel::Error,
            Severity::Warning => DiagnosticLevel::Warning,
        }
        .into(),
        message: sentence(one),
        context: None,
    };
    said.0.iter().map(one).collect()
}

#[cfg(test)]
#[path = "resource_tests.rs"]
mod tests;
