//! The calls of every lab resource: latency, faults, and the change of the lab file, in this order.
//! The file is changed in one step, so that a process killed at any moment leaves an object whole
//! or absent.

use std::time::Duration;

use cty::{Number, Type, Value};
use sdk::schema::{Attr, Schema};
use sdk::{
    Change, Context, Diagnostic, Diagnostics, Failure, Object, Resource, State, async_trait,
};

use super::cloud::{Change as CloudChange, Cloud, Object as Stored};
use super::fault::{self, Fault, Kind as FaultKind, On, Origin};
use super::kinds::{Kind, Made};
use super::provider::{Configured, Settings, settings};
use super::{LabError, fault_block};

/// How often a long call says that it is still at work.
const PROGRESS: Duration = Duration::from_secs(3);
/// How many ids are drawn before the lab counts as full.
const DRAWS: u32 = 100;
/// Exit code of a Go program that panicked, which is what a crash imitates.
const PANIC_EXIT: i32 = 2;

/// A resource type of the lab.
pub(super) struct LabResource {
    kind: &'static Kind,
    ty: Type,
    configured: Configured,
}

/// A call of a resource: what, and about whom.
struct Call<'a> {
    cx: &'a Context,
    on: On,
    name: String,
    settings: std::sync::Arc<Settings>,
    faults: Vec<Fault>,
}

fn broken(problem: String) -> Failure {
    Failure::new("the object cannot be described", problem)
}

impl LabResource {
    pub(super) fn new(kind: &'static Kind, configured: Configured) -> LabResource {
        let mut resource = LabResource {
            kind,
            ty: Type::Bool,
            configured,
        };
        resource.ty = resource.schema().implied_type();
        resource
    }

    /// Finds out what strikes this call, and lets what strikes before the work strike.
    async fn begin<'a>(
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
        let faults = blocking(move || {
            all.extend(
                control
                    .faults()?
                    .into_iter()
                    .map(|fault| (Origin::Control, fault)),
            );
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
        call.strike_before(self.kind.name).await?;
        Ok(call)
    }

    /// What the lab keeps of an object.
    fn stored(&self, value: &Value) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
        let json = sdk::to_json(value, &self.ty)?;
        let serde_json::Value::Object(mut attributes) = json else {
            return Err(broken("it is no object".into()));
        };
        attributes.retain(|name, _| {
            !fault_block::SWITCHES.contains(&name.as_str())
                && !self.kind.secret.contains(&name.as_str())
        });
        Ok(attributes)
    }

    /// Makes an object in the lab; `spoil` is applied to its status.
    async fn make(
        &self,
        call: &Call<'_>,
        planned: &Value,
        status: &'static str,
    ) -> Result<Value, Failure> {
        let mut object = Object::of(planned).map_err(broken)?;
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
        blocking(move || {
            file.update(|change: &mut CloudChange<'_>| {
                let id = unused_id(change, kind.prefix, || {
                    uuid::Uuid::new_v4().simple().to_string()[..8].to_owned()
                })?;
                object.set("id", id.as_str());
                object.set("status", status);
                object.set(
                    "urn",
                    format!("lab:{region}:{}/{id}", kind.name.trim_start_matches("lab_")),
                );
                (kind.made)(
                    &mut object,
                    &Made {
                        cloud: change,
                        id: &id,
                        region: &region,
                    },
                )?;
                object.clear_unknown();
                let value = object.into_value().map_err(broken)?;
                change.put(
                    id,
                    Stored {
                        kind: kind.name.into(),
                        name,
                        attributes: this.stored(&value)?,
                    },
                );
                Ok(value)
            })
        })
        .await?
    }
}

/// An id that nothing has: among 20,000 of eight hex digits it is not that rare that one is drawn
/// again.
fn unused_id(
    cloud: &Cloud,
    prefix: &str,
    mut draw: impl FnMut() -> String,
) -> Result<String, Failure> {
    let mut drawn = (0..DRAWS).map(|_| format!("{prefix}-{}", draw()));
    drawn
        .find(|id| !cloud.objects.contains_key(id))
        .ok_or_else(|| {
            Failure::new(
                "the lab has no free id",
                format!("{DRAWS} were drawn, and each is taken; remove objects from the lab"),
            )
        })
}

fn own_latency(object: &Object, on: On) -> Option<u64> {
    let (name, _) = fault_block::LATENCIES
        .into_iter()
        .find(|(_, call)| *call == on)?;
    object.get(name).as_number().and_then(Number::to_u64)
}

/// Runs work on files where it may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Failure::new("the lab's work was lost", error.to_string()))
}

impl Call<'_> {
    fn of(&self, kind: FaultKind) -> Option<&Fault> {
        self.faults.iter().find(|fault| fault.kind == kind)
    }

    fn doing(&self, resource: &str) -> String {
        format!(
            "cannot {} {} {}",
            self.on.as_str(),
            resource.trim_start_matches("lab_"),
            self.name
        )
    }

    fn stopped(&self, resource: &str) -> Failure {
        Failure::new(
            format!("{}: stopped", self.doing(resource)),
            "the host asked the provider to stop before the lab had begun; nothing was changed",
        )
    }

    /// The latency of the call and of the faults that strike it, unless the host asks to stop.
    async fn wait(&self, resource: &str, base: u64) -> Result<(), Failure> {
        let slower: u64 = self
            .faults
            .iter()
            .filter(|fault| fault.kind == FaultKind::Latency)
            .map(|fault| fault.ms.unwrap_or(1000))
            .sum();
        let mut left = Duration::from_millis(base.saturating_add(slower));
        let whole = left;
        while !left.is_zero() {
            let step = left.min(PROGRESS);
            tokio::select! {
                biased; // to stop comes first
                () = self.cx.stop().cancelled() => return Err(self.stopped(resource)),
                () = tokio::time::sleep(step) => left -= step,
            }
            if !left.is_zero() {
                let percent = 100 - left.as_millis() * 100 / whole.as_millis().max(1);
                sdk::log::info(
                    "still at work",
                    &[
                        ("call", &self.on.as_str()),
                        ("resource", &resource),
                        ("name", &self.name),
                        ("percent", &percent),
                    ],
                );
            }
        }
        Ok(())
    }

    async fn strike_before(&self, resource: &str) -> Result<(), Failure> {
        let text = |fault: &Fault, otherwise: &str| {
            fault.text.clone().unwrap_or_else(|| otherwise.to_owned())
        };
        if let Some(fault) = self.of(FaultKind::Crash).filter(|fault| !fault.after) {
            crash(self.on, fault);
        }
        if self.of(FaultKind::Hang).is_some_and(|fault| !fault.after) {
            sdk::log::warn(
                "waiting for an answer that will not come",
                &[("resource", &resource), ("name", &self.name)],
            );
            self.cx.stop().cancelled().await;
            return Err(self.stopped(resource));
        }
        if let Some(fault) = self.of(FaultKind::Transient) {
            sdk::log::warn(
                "throttled",
                &[("resource", &resource), ("name", &self.name)],
            );
            let detail = text(
                fault,
                "ThrottlingException: rate exceeded (status 429); try again in a moment",
            );
            return Err(Failure::new(
                format!("{}: throttled", self.doing(resource)),
                detail,
            ));
        }
        if let Some(fault) = self.of(FaultKind::BadInput) {
            let attribute = fault.attribute.as_deref().unwrap_or("name");
            let detail = text(
                fault,
                &format!(
                    "ValidationException: the lab does not accept this {attribute} (status 400)"
                ),
            );
            return Err(Diagnostic::error(
                format!("{}: invalid {attribute}", self.doing(resource)),
                detail,
            )
            .at_attr(attribute)
            .into());
        }
        if let Some(fault) = self.of(FaultKind::Permanent) {
            sdk::log::warn("refused", &[("resource", &resource), ("name", &self.name)]);
            let detail = text(
                fault,
                "AccessDenied: this account may not do that (status 403)",
            );
            return Err(Failure::new(
                format!("{}: refused", self.doing(resource)),
                detail,
            ));
        }
        Ok(())
    }

    /// What strikes once the work is done.
    async fn strike_after(&self, resource: &str, value: Value) -> Result<State, Failure> {
        if let Some(fault) = self.of(FaultKind::Crash).filter(|fault| fault.after) {
            crash(self.on, fault);
        }
        if self.of(FaultKind::Hang).is_some_and(|fault| fault.after) {
            sdk::log::warn(
                "done, but the answer is held back",
                &[("resource", &resource), ("name", &self.name)],
            );
            self.cx.stop().cancelled().await;
        }
        let Some(fault) = self.of(FaultKind::Inconsistent) else {
            return Ok(State::new(value));
        };
        let attribute = fault.attribute.as_deref().unwrap_or("name");
        let mut object = Object::of(&value).map_err(broken)?;
        let other = match object.get(attribute) {
            value if value.as_bool().is_some() => Value::bool(value.as_bool() == Some(false)),
            value if value.as_number().is_some() => {
                Value::int(object.int(attribute).unwrap_or(0) + 1)
            }
            _ => Value::string(format!(
                "{}-and-something-else",
                object.text(attribute).unwrap_or_default()
            )),
        };
        object.set(attribute, other);
        object.into_value().map(State::new).map_err(broken)
    }
}

/// Ends the process as a Go program does that dereferences nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "a crash on purpose: nothing may be stopped or cleaned up"
)]
fn crash(on: On, fault: &Fault) -> ! {
    let what = fault
        .text
        .as_deref()
        .unwrap_or("runtime error: invalid memory address or nil pointer dereference");
    let call = match on {
        On::Create => "Create",
        On::Read => "Read",
        On::Update => "Update",
        _ => "Delete",
    };
    eprintln!(
        "panic: {what}\n[signal SIGSEGV: segmentation violation code=0x1 addr=0x18 pc=0x8a1f3c]\n\n\
         goroutine 87 [running]:\n\
         lab/internal/cloud.(*Client).{call}(0x0, {{0xc0003a4000, 0x5}})\n\tlab/internal/cloud/client.go:118 +0x3c\n\
         lab/internal/provider.resource{call}({{0xd2c6f0, 0xc0004b2300}}, 0xc000512180)\n\tlab/internal/provider/resource.go:64 +0x1d5\n\
         created by lab/internal/provider.serve in goroutine 1\n\tlab/internal/provider/serve.go:31 +0x9a"
    );
    std::process::exit(PANIC_EXIT)
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
                .describe("Given by the lab."),
            Attr::string("urn")
                .computed()
                .stable()
                .describe("Its name in the whole lab."),
            Attr::string("status")
                .computed()
                .stable()
                .describe("`ready`, or `incomplete` after a create that failed half-way."),
        ];
        (self.kind.schema)()
            .attrs(always)
            .attrs(fault_block::latencies())
            .block(fault_block::block(false))
    }

    async fn create(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let planned = Object::of(&change.planned).map_err(broken)?;
        let call = self.begin(cx, On::Create, &planned).await?;
        if let Some(fault) = call.of(FaultKind::Partial) {
            let text = fault.text.clone().unwrap_or_else(|| {
                "the lab ran out of capacity half-way; the object exists and is incomplete".into()
            });
            let half = self.make(&call, &change.planned, "incomplete").await?;
            return Err(Failure::new(
                format!("{}: only half done", call.doing(self.kind.name)),
                text,
            )
            .with_partial(State::new(half)));
        }
        let value = self.make(&call, &change.planned, "ready").await?;
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
        call.strike_after(self.kind.name, value).await
    }

    async fn read(&self, cx: &Context, state: State) -> Result<Option<State>, Failure> {
        let object = Object::of(&state.value).map_err(broken)?;
        let call = self.begin(cx, On::Read, &object).await?;
        let id = object.text("id").unwrap_or_default().to_owned();
        let (file, wanted) = (call.settings.file.clone(), id.clone());
        let stored =
            blocking(move || file.read(|cloud| cloud.objects.get(&wanted).cloned())).await??;
        let Some(stored) = stored.filter(|stored| stored.kind == self.kind.name) else {
            sdk::log::info("gone", &[("resource", &self.kind.name), ("id", &id)]);
            return Ok(None);
        };
        // what the lab does not keep stays as the host has it
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
                format!(
                    "{} {id} in the lab's file is not what it should be",
                    self.kind.name
                ),
                said.join("; "),
            )
        })?;
        call.strike_after(self.kind.name, value).await.map(Some)
    }

    async fn update(&self, cx: &Context, change: Change) -> Result<State, Failure> {
        let mut object = Object::of(&change.planned).map_err(broken)?;
        let call = self.begin(cx, On::Update, &object).await?;
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
                if !change.objects.contains_key(&id) {
                    return Err(Failure::new(
                        format!("{} {id} does not exist any more", this.kind.name),
                        "somebody removed it; stage again",
                    ));
                }
                (this.kind.changed)(
                    &mut object,
                    &Made {
                        cloud: change,
                        id: &id,
                        region: &region,
                    },
                )?;
                object.clear_unknown();
                let value = object.into_value().map_err(broken)?;
                change.put(
                    id,
                    Stored {
                        kind: this.kind.name.into(),
                        name,
                        attributes: this.stored(&value)?,
                    },
                );
                Ok(value)
            })
        })
        .await??;
        sdk::log::info(
            "updated",
            &[("resource", &self.kind.name), ("name", &call.name)],
        );
        call.strike_after(self.kind.name, value).await
    }

    async fn delete(&self, cx: &Context, state: State) -> Result<Diagnostics, Failure> {
        let object = Object::of(&state.value).map_err(broken)?;
        let call = self.begin(cx, On::Delete, &object).await?;
        let id = object.text("id").unwrap_or_default().to_owned();
        let (file, kind) = (call.settings.file.clone(), self.kind.name);
        blocking(move || {
            file.update(|change| {
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
        call.strike_after(self.kind.name, state.value)
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
                sdk::import_by(&self.schema(), "id", id)
            }
            Some(stored) => Err(Failure::new(
                format!("{id} is a {}", stored.kind),
                format!("it cannot be imported as {}", self.kind.name),
            )),
            None => Err(Failure::new(
                format!("there is no {id} in the lab"),
                "look for the id in the lab's file",
            )),
        }
    }

    /// Version 0 of `lab_server` called its size a flavour.
    async fn upgrade(
        &self,
        _: &Context,
        _: i64,
        mut state: serde_json::Value,
    ) -> Result<serde_json::Value, Failure> {
        if let Some(attributes) = state.as_object_mut()
            && let Some(size) = attributes.remove("flavor")
        {
            attributes.insert("size".into(), size);
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_is_taken_is_not_given_again() {
        let mut cloud = Cloud::default();
        let taken = Stored {
            kind: "lab_thing".into(),
            name: "t".into(),
            attributes: serde_json::Map::new(),
        };
        CloudChange::new(&mut cloud).put("thing-1", taken);
        let mut numbers = ["1", "1", "2"].into_iter().map(str::to_owned);
        assert_eq!(
            unused_id(&cloud, "thing", || numbers.next().unwrap()).unwrap(),
            "thing-2"
        );
        assert!(
            unused_id(&cloud, "thing", || "1".to_owned()).is_err(),
            "it does not look for ever"
        );
    }
}
