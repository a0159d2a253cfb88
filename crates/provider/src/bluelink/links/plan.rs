//! Plans links. The plugin stages the changes of its link data field by field; with an unknown end,
//! some changes are known only during the deploy.

use super::annotations::for_ends;
use super::ends::{Side, link_name, link_type};
use super::private_data::LinkPrivate;
use super::record::{PARTS, Record, object, steps};
use super::schema::{IDS, INTERMEDIARIES, SECRETS};
use crate::bluelink::adapter::BluelinkProvider;
use crate::bluelink::convert::{decode_any, is_null_or_empty, member_of};
use crate::bluelink::paths::{Step, get, remove_at, set_at};
use crate::bluelink::wire::Fault;
use crate::{Bytes, PlanRequest, PlanResponse};
use calls::{CallContext, Method, ProviderDiagnostic, ProviderError};
use cty::{Path, Value};
use proto::bluelink::providerserverv1::{StageLinkChangesRequest, StageLinkChangesResponse};
use proto::bluelink::sharedtypesv1::LinkChanges;
use std::collections::BTreeMap;
use std::sync::Arc;

fn plan_response(
    planned: Value,
    private: Bytes,
    diagnostics: Vec<ProviderDiagnostic>,
) -> PlanResponse {
    PlanResponse {
        planned,
        requires_replace: Vec::new(),
        private,
        identity: None,
        // The staged changes are what the plugin intends; the final data may contain more.
        legacy: true,
        diagnostics,
    }
}

fn is_empty(changes: &LinkChanges) -> bool {
    changes.modified_fields.is_empty()
        && changes.new_fields.is_empty()
        && changes.removed_fields.is_empty()
        && changes.field_changes_known_on_deploy.is_empty()
}

impl BluelinkProvider {
    /// Plans a link.
    pub(in super::super) async fn plan_link(
        &self,
        request: PlanRequest,
        ctx: &CallContext,
    ) -> Result<PlanResponse, ProviderError> {
        let private = request.prior_private.clone();
        if request.config.is_null() && request.proposed.is_null() {
            // A destroy needs no staging.
            return Ok(plan_response(request.proposed, private, Vec::new()));
        }
        let (prior, config) = (&request.prior, &request.config);
        let (record, kept) = (Record::from_object(prior), LinkPrivate::decode(&private));
        let (kind, sides) = match self.sides(ctx, (prior, &kept)) {
            Ok(found) => found,
            Err(wrong) => return Ok(plan_response(request.proposed, private, vec![wrong])),
        };
        let instance = &self.settings.instance_id;
        let annotations = for_ends(kind, config);
        let [a, b] = [0, 1].map(|i: usize| sides[i].reported_changes(instance, &annotations[i]));
        let there = !prior.is_null();
        let asked = StageLinkChangesRequest {
            link_type: link_type(kind),
            host_id: self.wire.host_id.clone(),
            resource_a_changes: Some(a),
            resource_b_changes: Some(b),
            current_link_state: there.then(|| record.state(&kept, link_name(&sides), instance)),
            context: Some(self.link_context(ctx)),
        };
        let path = "/providerserverv1.Provider/StageLinkChanges";
        let call = (Method::StageLinkChanges, path);
        let asked = self.item::<StageLinkChangesResponse>(call, (ctx, None), asked);
        let changes = match Box::pin(asked).await {
            Ok(complete) => complete.changes.unwrap_or_default(),
            Err(Fault::Call(error)) => return Err(error),
            Err(Fault::Reported(said)) => {
                let said = said.diagnostic("could not stage the link");
                return Ok(plan_response(request.proposed, private, vec![said]));
            }
        };
        let planning = Planning {
            prior,
            config,
            record,
            private: kept,
            sides,
            changes,
        };
        Ok(planning.into_response(private))
    }
}

struct Planning<'r> {
    prior: &'r Value,
    config: &'r Value,
    record: Record,
    private: LinkPrivate,
    sides: [Side; 2],
    changes: LinkChanges,
}

impl Planning<'_> {
    fn into_response(mut self, private: Bytes) -> PlanResponse {
        let ids = [self.sides[0].id(), self.sides[1].id()];
        if !self.prior.is_null() && !self.needs_update() && self.same_ends(&ids) {
            return plan_response(self.prior.clone(), private, Vec::new());
        }
        let kept_private = self.private.clone().with_staged(&self.changes);
        let replaced = self.replaced_ends(&ids);
        let changed = self
            .changes
            .modified_fields
            .iter()
            .chain(&self.changes.new_fields);
        let hidden = changed.filter(|field| field.sensitive);
        let hidden: Vec<String> = hidden.map(|field| field.field_path.clone()).collect();
        self.private.sensitive.extend(hidden);
        let planned = object(self.config, ids, self.attributes());
        PlanResponse {
            requires_replace: replaced,
            ..plan_response(planned, kept_private.bytes(), Vec::new())
        }
    }

    /// Returns true if the link was created for these ends.
    fn same_ends(&self, ids: &[Value; 2]) -> bool {
        let same = |name: &str, now: &Value| {
            let before = member_of(self.prior, name);
            now.is_known()
                && (before.raw_equals(now) || (is_null_or_empty(&before) && is_null_or_empty(now)))
        };
        let named = ["from", "to"].map(|name| same(name, &member_of(self.config, name)));
        let known = [0, 1].map(|i: usize| same(IDS[i], &ids[i]));
        named == [true, true] && known == [true, true]
    }

    /// Returns the paths that require replacement: a link to another object is another link.
    fn replaced_ends(&self, ids: &[Value; 2]) -> Vec<Path> {
        if self.prior.is_null() {
            return Vec::new();
        }
        let other = |name: &&str| {
            let index = usize::from(**name == *IDS[1]);
            let before = member_of(self.prior, name);
            let same = ids[index].is_known() && before.raw_equals(&ids[index]);
            !is_null_or_empty(&before) && !same
        };
        let all = IDS.iter().copied().filter(other);
        all.map(|name| Path::root().attr(name)).collect()
    }

    /// Returns true if an existing link must be deployed again: the plugin staged changes, a deploy
    /// was not completed, the annotations differ, its intermediaries changed, or an end that it has
    /// written into is updated.
    fn needs_update(&self) -> bool {
        let [before, now] = [self.prior, self.config].map(|o| member_of(o, "annotations"));
        let same = before.raw_equals(&now) || (is_null_or_empty(&before) && is_null_or_empty(&now));
        !is_empty(&self.changes)
            || !self.record.unfinished.is_empty()
            || self.record.intermediaries != self.private.left_intermediaries()
            || !same
            || self.may_be_overwritten()
    }

    /// Returns true if an end into which the link has written is updated, which may overwrite it.
    fn may_be_overwritten(&self) -> bool {
        self.sides.iter().any(|side| self.is_end_overwritten(side))
    }

    fn is_end_overwritten(&self, side: &Side) -> bool {
        let of_it = format!("{}::", side.name);
        side.changes()
            && self
                .private
                .mappings
                .keys()
                .any(|field| field.starts_with(&of_it))
    }

    /// Returns the part of the link data that contains a field: an existing one, else by the
    /// resource name in the path.
    fn part(&self, steps: &[Step]) -> usize {
        let has = |part: usize| get(&self.record.parts[part], steps).is_some();
        let named = |side: usize| steps.first() == Some(&Step::Name(self.sides[side].name.clone()));
        let there = (0..3).find(|part| has(*part));
        there
            .or_else(|| (0..2).find(|side| named(*side)))
            .unwrap_or(2)
    }

    /// Returns the planned attributes.
    fn attributes(&mut self) -> BTreeMap<Arc<str>, Value> {
        let creates = self.prior.is_null();
        let mut unknown: Vec<(usize, Vec<Step>)> = Vec::new();
        let mut touched = [false; 3];
        let fields = self
            .changes
            .modified_fields
            .iter()
            .chain(&self.changes.new_fields);
        let fields: Vec<_> = fields
            .filter_map(|f| {
                Some((
                    steps(&f.field_path)?,
                    f.new_value.clone().unwrap_or_default(),
                ))
            })
            .collect();
        for (steps, value) in fields {
            let part = self.part(&steps);
            touched[part] = true;
            set_at(&mut self.record.parts[part], &steps, value);
        }
        let removed = self.changes.removed_fields.iter();
        for steps in removed.filter_map(|path| steps(path)).collect::<Vec<_>>() {
            let part = self.part(&steps);
            touched[part] = true;
            remove_at(&mut self.record.parts[part], &steps);
        }
        let later = self.changes.field_changes_known_on_deploy.iter();
        for steps in later.filter_map(|path| steps(path)) {
            let part = self.part(&steps);
            touched[part] = true;
            unknown.push((part, steps));
        }
        // The deploy runs all remaining phases, so the plan shows none as unfinished.
        let left = std::mem::take(&mut self.record.unfinished);
        self.record.intermediaries = self.private.left_intermediaries();
        let mut all = self.record.attributes(&self.private.sensitive);
        // Only the paths are known, so their values become unknown.
        for (part, steps) in unknown {
            let value = all.get(PARTS[part]).cloned().unwrap_or_else(Value::dynamic);
            all.insert(PARTS[part].into(), with_unknown(&value, &steps));
        }
        for (part, name) in PARTS.into_iter().enumerate() {
            let over = part < 2 && self.is_end_overwritten(&self.sides[part]);
            let again = left.iter().any(|phase| phase == name);
            // An untouched part can still change if its phase runs.
            if (!touched[part] && (creates || again)) || over {
                all.insert(name.into(), Value::dynamic());
            }
        }
        if creates || touched[2] || left.iter().any(|phase| phase == PARTS[2]) {
            all.insert(INTERMEDIARIES.into(), Value::dynamic());
        }
        if creates {
            all.insert(SECRETS.into(), Value::dynamic());
        }
        all
    }
}

/// Returns the value with the member at the steps unknown.
fn with_unknown(value: &Value, steps: &[Step]) -> Value {
    let Some((Step::Name(name), rest)) = steps.split_first() else {
        return Value::dynamic();
    };
    if !value.is_known() {
        return value.clone();
    }
    let members = value.as_map().filter(|_| !value.is_null());
    let mut members = members.map(|all| all.to_map()).unwrap_or_default();
    let inner = members.get(name.as_str()).cloned();
    let inner = inner.unwrap_or_else(|| decode_any(&Default::default()));
    members.insert(name.as_str().into(), with_unknown(&inner, rest));
    Value::object_from_map(members)
}
