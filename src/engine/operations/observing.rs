//! Observations of objects: records what stages, deploys and the reconcile loop find out about
//! existence, readiness and drift.

use super::command::{Operations, Staged};
use crate::stage::change::{Change, Drift, Stage};
use crate::stage::prior;
use cty::Value;
use lang::addr::{AbsInstance, Mode};
use model::*;
use std::collections::{HashMap, HashSet};
use store::StoreError;
use store::records::StateObject;

/// Object as a read or an operation found it.
pub(super) struct ObservedObject {
    address: AbsInstance,
    deposed: Option<String>,
    at: UnixMs,
    /// `None` if the object does not exist.
    value: Option<Value>,
    drift: Vec<DriftAspect>,
}

impl Operations {
    /// Records the objects that the refresh of a stage has read.
    pub(super) async fn observe_reads(&self, stage: &Stage, cause: &str) {
        let key = |d: &Drift| {
            // The read of a moved object is recorded with its former address.
            let address = d.previous.as_ref().unwrap_or(&d.address);
            (address.to_string(), d.deposed.clone())
        };
        let drift = stage.drift.iter().map(|d| (key(d), &d.aspects));
        let drift: HashMap<_, _> = drift.collect();
        let objects = stage.reads.iter().map(|read| {
            let drift = drift.get(&(read.address.to_string(), read.deposed.clone()));
            ObservedObject {
                address: read.address.clone(),
                deposed: read.deposed.clone(),
                at: read.at,
                value: Some(read.value.clone()).filter(|value| !value.is_null()),
                drift: drift.map_or_else(Vec::new, |aspects| aspects.to_vec()),
            }
        });
        self.observe(objects.collect(), cause).await;
    }

    /// Records the objects that a deploy has changed. The deploy has also written the drift of the
    /// others to the state, so none is left.
    pub(super) async fn observe_deploy(
        &self,
        deploy: DeployId,
        staged: &Staged,
        done: &[Operation],
    ) {
        let cause = format!("deploy #{deploy}");
        match self.observed_by_deploy(staged, done).await {
            Ok((objects, written)) => {
                self.observe(objects, &cause).await;
                self.store_observations(written, &cause).await;
            }
            Err(error) => self.report_unobserved(&error),
        }
    }

    /// Returns the objects of these operations, and former observations without the drift that the
    /// deploy has written to the state.
    async fn observed_by_deploy(
        &self,
        staged: &Staged,
        done: &[Operation],
    ) -> Result<(Vec<ObservedObject>, Vec<Observation>), StoreError> {
        let store = self.memory.store();
        let changes = staged.stage.changes.iter();
        let changes: HashMap<String, _> = changes.map(|change| (change.id(), change)).collect();
        let state = store.state().await?;
        let objects = state.objects.iter();
        let objects: HashMap<_, &StateObject> = objects
            .map(|o| ((o.address.as_str(), o.deposed.as_str()), o))
            .collect();
        let changed = done.iter().filter_map(|operation| {
            let change = changes.get(&operation.address)?;
            // A forgotten object still exists, and a data source has no object of its own.
            if operation.action == Action::Forget || change.address.resource.mode == Mode::Data {
                return None;
            }
            let deposed = change.deposed.clone();
            let key = (
                &*change.address.to_string(),
                deposed.as_deref().unwrap_or_default(),
            );
            let object = objects.get(&key);
            // A failure without a recorded object tells nothing about an object.
            if operation.state == OperationState::Failed && object.is_none() {
                return None;
            }
            let ended = operation.began.zip(operation.took_ms);
            Some(ObservedObject {
                value: object.map(|object| value(staged, change, object)),
                address: change.address.clone(),
                deposed,
                at: ended.map_or_else(now_ms, |(began, took)| began.saturating_add_unsigned(took)),
                drift: Vec::new(),
            })
        });
        let changed: Vec<ObservedObject> = changed.collect();
        let key = |address: &AbsInstance, deposed: &Option<String>| {
            (address.to_string(), deposed.clone())
        };
        let drift = staged.stage.drift.iter();
        let mut drifted: HashSet<_> = drift.map(|d| key(&d.address, &d.deposed)).collect();
        // Changed objects have new observations, which must not be overwritten.
        for object in &changed {
            drifted.remove(&key(&object.address, &object.deposed));
        }
        if drifted.is_empty() {
            return Ok((changed, Vec::new()));
        }
        let mut written = store.observations().await?;
        written.retain(|o| drifted.contains(&(o.address.clone(), o.deposed.clone())));
        written.iter_mut().for_each(|o| o.drift.clear());
        Ok((changed, written))
    }

    /// Records observed objects.
    pub(super) async fn observe(&self, objects: Vec<ObservedObject>, cause: &str) {
        let overlays = self.overlays();
        // A look can have thousands of objects of a few types.
        let mut settings = HashMap::new();
        let observations = objects.into_iter().map(|object| {
            let resource_type = object.address.resource.kind.to_string();
            let of_type = settings
                .entry(object.address.resource.kind.clone())
                .or_insert_with(|| overlays.effective(&resource_type));
            let found = object.value.as_ref().and_then(|v| of_type.condition(v));
            let (readiness, status) = found.map(|found| (found.readiness, found.status)).unzip();
            Observation {
                address: object.address.to_string(),
                deposed: object.deposed,
                resource_type,
                at: object.at,
                exists: object.value.is_some(),
                readiness,
                status: status.flatten(),
                since: object.at,
                drift: object.drift,
            }
        });
        self.store_observations(observations.collect(), cause).await;
    }

    /// Stores observations. A failure is no failure of the command, which has done its work.
    async fn store_observations(&self, observations: Vec<Observation>, cause: &str) {
        if observations.is_empty() {
            return;
        }
        let store = self.memory.store();
        let stored = store.put_observations(observations, cause.to_owned());
        if let Err(error) = stored.await {
            self.report_unobserved(&error);
        }
    }

    fn report_unobserved(&self, error: &StoreError) {
        self.bus.emit(EventKind::Notice {
            text: format!(
                "cannot record existence, readiness and drift: {error}; run `flightdeck stage` to record them again"
            ),
        });
    }
}

/// Decodes an object of the state; unknown if its schema is another one.
fn value(staged: &Staged, change: &Change, object: &StateObject) -> Value {
    let schemas = staged.schemas.get(&change.provider.address);
    let kind = &*change.address.resource.kind;
    let schema = schemas.and_then(|schemas| schemas.resources.get(kind));
    let json = serde_json::from_str(&object.attributes).ok();
    let decoded = schema
        .zip(json)
        .and_then(|(schema, json)| cty::json::decode_value(&json, schema.implied_type()).ok());
    decoded.map_or_else(Value::dynamic, |value| {
        prior::marked(value, &object.sensitive)
    })
}
