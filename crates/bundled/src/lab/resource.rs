//! Calls of all lab resources: latency, faults, then the change of the lab file. The file changes
//! atomically, so a process killed at any time leaves an object complete or absent.

use cty::{Type, Value};
use sdk::schema::{Attr, Schema};
use sdk::{
    Change, Context, Diagnostics, Failure, Object, Partial, Resource, State, Upgrader, async_trait,
};

use super::call::{Call, blocking, own_latency, undescribable};
use super::cloud::{Change as CloudChange, Object as Stored};
use super::fault::{Fault, Kind as FaultKind, On, Origin};
use super::id::unused_id;
use super::kinds::{Kind, ObjectContext};
use super::provider::{Configured, settings};
use super::{LabError, fault, fault_block};

/// Resource type of the lab.
pub(super) struct LabResource {
    pub(super) kind: &'static Kind,
    ty: Type,
    configured: Configured,
}

impl LabResource {
    pub(super) fn new(kind: &'static Kind, configured: Configured) -> LabResource {
        let mut resource = LabResource {
            kind,
            ty: Type::Bool,
            configured,
        };
        // The type needs the complete schema, which is a method of the resource.
        resource.ty = resource.schema().implied_type();
        resource
    }

    /// Determines the faults of this call, waits for its latency, and applies the faults that
    /// precede the work.
    async fn begin_call<'a>(
        &self,
        cx: &'a Context,
        on: On,
        object: &Object,
    ) -> Result<Call<'a>, Failure> {
        let settings = settings(&self.configured)?;
        let name = object.text("name").unwrap_or_default().to_owned();
        let mut all: Vec<(Origin, Fault)> = fault_block::read(object)?
            .into_iter()
            .map(|fault| (Origin::Resource, fault))
            .collect();
        all.extend(
            settings
                .faults
                .iter()
                .cloned()
                .map(|fault| (Origin::Provider, fault)),
        );
        let (file, control, kind, struck) = (
            settings.file.clone(),
            settings.control.clone(),
            self.kind.name,
            name.clone(),
        );
        // The selection counts occurrences, so it is a change of the lab file under its lock.
        let faults = blocking(move || {
            all.extend(
                control
                    .faults()?
                    .into_iter()
                    .map(|fault| (Origin::Control, fault)),
            );
            // Without faults the lab file needs no change, and so no lock.
            if all.is_empty() {
                return Ok(Vec::new());
            }
            file.update(|change| Ok::<_, LabError>(fault::select(change, on, kind, &struck, &all)))
        })
        .await??;
        let call = Call {
            cx,
            on,
            name,
            settings,
            faults,
        };
        call.wait(
            self.kind.name,
            own_latency(object, on).unwrap_or_else(|| call.settings.latency(on)),
        )
        .await?;
        call.apply_faults_before(self.kind.name).await?;
        Ok(call)
    }

    /// Returns the attributes that the lab stores.
    fn stored(&self, value: &Value) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
        let json = sdk::to_json(value, &self.ty)?;
        let serde_json::Value::Object(mut attributes) = json else {
            return Err(undescribable("it is not an object"));
        };
        // Fault settings belong to the configuration, and secrets are never stored.
        attributes.retain(|name, _| {
            !fault_block::SWITCHES.contains(&name.as_str())
                && !self.kind.secret.contains(&name.as_str())
        });
        Ok(attributes)
    }

    /// Creates an object in the lab with the given status.
    async fn create_object(
        &self,
        call: &Call<'_>,
        planned: &Value,
        status: &'static str,
    ) -> Result<Value, Failure> {
        let mut object = Object::of(planned).map_err(undescribable)?;
        let (file, region, kind, name, ty) = (
            call.settings.file.clone(),
            call.settings.region.clone(),
            self.kind,
            call.name.clone(),
            self.ty.clone(),
        );
        let this = LabResource {
            kind,
            ty,
            configured: self.configured.clone(),
        };
        // Id, checks and insertion are one change under the lock, so that concurrent creates cannot
        // collide.
        blocking(move || {
            file.update(|change: &mut CloudChange<'_>| {
                let id = unused_id(change, kind.prefix, || {
                    uuid::Uuid::new_v4().simple().to_string()[..8].to_owned()
                })?;
                object.set("id", id.as_str());
                let ready_at = ready_at(&object).filter(|_| status == READY);
                object.set("status", if ready_at.is_some() { CREATING } else { status });
                object.set(
                    "urn",
                    format!("lab:{region}:{}/{id}", kind.name.trim_start_matches("lab_")),
                );
                (kind.compute)(
                    &mut object,
                    &ObjectContext {
                        cloud: change,
                        id: &id,
                        region: &region,
                    },
                )?;
                // The lab sets no more values, and a result must be wholly known.
                object.clear_unknown();
                let value = object.into_value().map_err(undescribable)?;
                change.put(
                    id,
                    Stored {
                        kind: kind.name.into(),
                        name,
                        attributes: this.stored(&value)?,
                        ready_at,
                    },
                );
                Ok(value)
            })
        })
        .await?
    }
}

/// Returns the prior object with all planned changes but one: that of the attribute, or of the last
/// one that changes.
fn all_but(attribute: Option<&str>, change: &Change) -> Result<Value, Failure> {
    let of = |object: &Value, name: &str| object.get_attr(name);
    let names = change
        .planned
        .as_map()
        .into_iter()
        .flat_map(|all| all.to_map().into_keys());
    // Values that the lab has yet to compute stay as they are.
    let known = |name: &str| of(&change.planned, name).is_some_and(|value| value.is_wholly_known());
    let changed =
        names.filter(|name| known(name) && of(&change.planned, name) != of(&change.prior, name));
    let mut changed: Vec<_> = changed.collect();
    match attribute {
        Some(undone) => changed.retain(|name| &**name != undone),
        None => drop(changed.pop()),
    }
    let mut partial = Partial::of(change);
    for name in &changed {
        partial.commit(name)?;
    }
    Ok(partial
        .state()
        .map_or_else(|| change.prior.clone(), |state| state.value))
}

/// Statuses of a complete object.
const READY: &str = "ready";
const CREATING: &str = "creating";

/// Time at which a new object becomes ready; `None` for now.
fn ready_at(object: &Object) -> Option<u64> {
    let value = object.get(fault_block::READY_MS);
    let number = value.as_number().filter(|_| value.is_given())?;
    let ms = cty::Number::to_u64(number).filter(|ms| *ms > 0)?;
    Some(now_ms() + ms)
}

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[async_trait]
impl Resource for LabResource {
    fn name(&self) -> &str {
        self.kind.name
    }

    fn schema(&self) -> Schema {
        let always = [
            Attr::string("id")
                .computed()
                .stable()
                .describe("Assigned by the lab."),
            Attr::string("urn")
                .computed()
                .stable()
                .describe("Unique name in the lab."),
            Attr::string("status")
                .computed()
                .stable()
                .describe("`ready`; `creating` before, and `incomplete` after a create that was only half done."),
        ];
        (self.kind.schema)()
            .attrs(always)
            .attrs(fault_block::latencies())
            .block(fault_block::block(false))
    }

    async fn create(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let planned = Object::of(&change.planned).map_err(undescribable)?;
        let call = self.begin_call(cx, On::Create, &planned).await?;
        if let Some(fault) = call.fault_of_kind(FaultKind::Partial) {
            // The host must store the partial object, so it is created like a complete one.
            let half = self
                .create_object(&call, &change.planned, "incomplete")
                .await?;
            return Err(call.half_done(self.kind.name, fault, half));
        }
        let value = self.create_object(&call, &change.planned, READY).await?;
        let id = value
            .get_attr("id")
            .and_then(|id| id.as_str().map(str::to_owned))
            .unwrap_or_default();
        sdk::log::info(
            "created",
            &[
                ("resource", &self.kind.name),
                ("name", &call.name),
                ("id", &id),
            ],
        );
        call.apply_faults_after(self.kind.name, value).await
    }

    async fn read(&self, cx: &Context, state: State) -> Result<Option<State>, Failure> {
        let object = Object::of(&state.value).map_err(undescribable)?;
        let call = self.begin_call(cx, On::Read, &object).await?;
        let id = object.text("id").unwrap_or_default().to_owned();
        let (file, wanted) = (call.settings.file.clone(), id.clone());
        let stored =
            blocking(move || file.read(|cloud| cloud.objects.get(&wanted).cloned())).await??;
        // An id of another type means that the object was replaced by hand.
        let Some(mut stored) = stored.filter(|stored| stored.kind == self.kind.name) else {
            sdk::log::info("gone", &[("resource", &self.kind.name), ("id", &id)]);
            return Ok(None);
        };
        if let Some(ready_at) = stored.ready_at {
            let status = if ready_at > now_ms() { CREATING } else { READY };
            stored.attributes.insert("status".into(), status.into());
        }
        // Attributes that the lab does not store keep the host's value.
        let mut merged = sdk::to_json(&state.value, &self.ty)?;
        if let Some(attributes) = merged.as_object_mut() {
            attributes.extend(stored.attributes);
        }
        let value = sdk::from_json(&merged, &self.ty).map_err(|failure| {
            let said: Vec<String> = failure
                .diagnostics
                .0
                .into_iter()
                .map(|one| format!("{} {}", one.summary, one.detail))
                .collect();
            Failure::new(
                format!("{} {id} in the lab's file is damaged", self.kind.name),
                said.join("; "),
            )
        })?;
        call.apply_faults_after(self.kind.name, value)
            .await
            .map(Some)
    }

    async fn update(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let mut object = Object::of(&change.planned).map_err(undescribable)?;
        let call = self.begin_call(cx, On::Update, &object).await?;
        let half = call.fault_of_kind(FaultKind::Partial);
        if let Some(fault) = half {
            let done = all_but(fault.attribute.as_deref(), &change)?;
            object = Object::of(&done).map_err(undescribable)?;
        }
        let id = object.text("id").unwrap_or_default().to_owned();
        let this = LabResource {
            kind: self.kind,
            ty: self.ty.clone(),
            configured: self.configured.clone(),
        };
        let (file, region, name) = (
            call.settings.file.clone(),
            call.settings.region.clone(),
            call.name.clone(),
        );
        let value = blocking(move || {
            file.update(|change: &mut CloudChange<'_>| {
                // Checked under the lock: another process may have deleted it after the last read.
                if !change.objects.contains_key(&id) {
                    return Err(Failure::new(
                        format!("{} {id} does not exist any more", this.kind.name),
                        "another program deleted it; stage again",
                    ));
                }
                // An update does not begin the time anew.
                let ready_at = change.objects.get(&id).and_then(|object| object.ready_at);
                (this.kind.changed)(
                    &mut object,
                    &ObjectContext {
                        cloud: change,
                        id: &id,
                        region: &region,
                    },
                )?;
                object.clear_unknown();
                let value = object.into_value().map_err(undescribable)?;
                change.put(
                    id,
                    Stored {
                        kind: this.kind.name.into(),
                        name,
                        attributes: this.stored(&value)?,
                        ready_at,
                    },
                );
                Ok(value)
            })
        })
        .await??;
        if let Some(fault) = half {
            return Err(call.half_done(self.kind.name, fault, value));
        }
        sdk::log::info(
            "updated",
            &[("resource", &self.kind.name), ("name", &call.name)],
        );
        call.apply_faults_after(self.kind.name, value).await
    }

    async fn delete(&self, cx: &Context, state: State) -> Result<Diagnostics, Failure> {
        let object = Object::of(&state.value).map_err(undescribable)?;
        let call = self.begin_call(cx, On::Delete, &object).await?;
        let id = object.text("id").unwrap_or_default().to_owned();
        let (file, kind) = (call.settings.file.clone(), self.kind.name);
        blocking(move || {
            file.update(|change| {
                // Checked under the lock, so that no server can join the network meanwhile.
                let users: Vec<String> = change
                    .members(&id)
                    .map(|object| format!("{} {}", object.kind, object.name))
                    .collect();
                if kind == "lab_network" && !users.is_empty() {
                    let detail = format!("DependencyViolation: still in it: {}", users.join(", "));
                    return Err(Failure::new(format!("network {id} is in use"), detail));
                }
                change.remove(&id);
                Ok(())
            })
        })
        .await??;
        sdk::log::info(
            "deleted",
            &[("resource", &self.kind.name), ("name", &call.name)],
        );
        call.apply_faults_after(self.kind.name, state.value)
            .await
            .map(|_| Diagnostics::new())
    }

    async fn import(&self, _: &Context, id: &str) -> Result<State, Failure> {
        let file = settings(&self.configured)?.file.clone();
        let wanted = id.to_owned();
        let found =
            blocking(move || file.read(|cloud| cloud.objects.get(&wanted).cloned())).await??;
        match found {
            Some(stored) if stored.kind == self.kind.name => {
                // The id is enough: the host reads the object next.
                sdk::import_by(&self.schema(), "id", id)
            }
            Some(stored) => Err(Failure::new(
                format!("{id} is a {}", stored.kind),
                format!("the object cannot be imported as {}", self.kind.name),
            )),
            None => Err(Failure::new(
                format!("there is no object {id} in the lab"),
                "look up the id in the lab's file",
            )),
        }
    }

    fn upgraders(&self) -> Vec<Upgrader> {
        match self.schema().version {
            0 => Vec::new(),
            _ => vec![Upgrader::new(0, flavor_to_size)],
        }
    }
}

/// Version 0 of `lab_server` had `flavor` instead of `size`.
fn flavor_to_size(mut state: serde_json::Value) -> Result<serde_json::Value, Failure> {
    if let Some(attributes) = state.as_object_mut()
        && let Some(size) = attributes.remove("flavor")
    {
        attributes.insert("size".into(), size);
    }
    Ok(state)
}
