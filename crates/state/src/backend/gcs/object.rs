//! State manager of one state in a bucket: its object, and a second object as the lock.

use super::bucket::Bucket;
use super::error::GcsError;
use crate::error::UnlockError;
use crate::{Spelling, StateError, StateManager};
use async_trait::async_trait;
use model::mutex::lock;
use serde_json::Value as Json;
use statefile::LockInfo;
use std::sync::{Arc, Mutex};

/// Attempts to take a lock that was released between its refusal and its read.
const MAX_ATTEMPTS: u32 = 5;

/// One state in a bucket.
pub(super) struct Object {
    bucket: Arc<Bucket>,
    workspace: String,
    lock_id: Mutex<Option<String>>,
}

impl Object {
    pub(super) fn new(bucket: &Arc<Bucket>, workspace: &str) -> Self {
        Self {
            bucket: bucket.clone(),
            workspace: workspace.to_owned(),
            lock_id: Mutex::default(),
        }
    }

    fn state(&self) -> String {
        format!("{}.tfstate", self.workspace)
    }

    fn lock_object(&self) -> String {
        format!("{}.tflock", self.workspace)
    }

    /// Name of the text beside the state. States of workspaces end with `.tfstate`, so no workspace
    /// has this name.
    fn object_beside(&self) -> String {
        format!("{}.tfstate.flightdeck", self.workspace)
    }

    async fn remove(&self, object: &str) -> Result<(), StateError> {
        let answer = self.bucket.remove("delete", object, None).await?;
        match answer.status {
            200 | 204 | 404 => Ok(()),
            _ => Err(self.bucket.refused("delete", object, &answer)),
        }
    }

    async fn replace(&self, object: &str, text: String) -> Result<(), StateError> {
        let bucket = &self.bucket;
        let answer = bucket
            .upload("write", object, text.into_bytes(), false)
            .await?;
        match answer.is_success() {
            true => Ok(()),
            false => Err(bucket.refused("write", object, &answer)),
        }
    }

    async fn release(&self, generation: &str) -> Result<(), StateError> {
        let bucket = &self.bucket;
        let state = self.state();
        // A generation is a number; other text cannot name a lock of this backend.
        if generation.parse::<i64>().is_err() {
            let why = GcsError::NoLockId(generation.to_owned());
            return Err(bucket.error("unlock", &state, why));
        }
        let lock = self.lock_object();
        // Read first for a precise error; the removal itself is conditional.
        match bucket.get("unlock", &lock).await? {
            None => return Err(bucket.error("unlock", &state, UnlockError::NotLocked)),
            Some((_, id)) if id != generation => {
                let asked = generation.to_owned();
                let why = UnlockError::OtherId { id, asked };
                return Err(bucket.error("unlock", &state, why));
            }
            Some(_) => {}
        }
        let answer = bucket.remove("unlock", &lock, Some(generation)).await?;
        match answer.status {
            200 | 204 | 404 => Ok(()),
            _ => Err(bucket.refused("unlock", &state, &answer)),
        }
    }
}

#[async_trait]
impl StateManager for Object {
    fn place(&self) -> String {
        self.bucket.location(&self.state())
    }

    fn identity(&self) -> Option<String> {
        let host = self.bucket.endpoint.as_str();
        let place = self.place();
        // Names of buckets are unique within Google Cloud only.
        let is_google = host.contains(".googleapis.com");
        Some(if is_google {
            place
        } else {
            format!("{place} at {host}")
        })
    }

    fn layout(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, info: LockInfo) -> Result<(), StateError> {
        if lock(&self.lock_id).is_some() {
            return Ok(());
        }
        let bucket = &self.bucket;
        let object = self.lock_object();
        let info = LockInfo {
            path: bucket.location(&object),
            ..info
        };
        let word = info.to_line().into_bytes();
        for _ in 0..MAX_ATTEMPTS {
            let answer = bucket.upload("lock", &object, word.clone(), true).await?;
            if answer.is_success() {
                let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
                let generation = said["generation"].as_str().unwrap_or_default();
                *lock(&self.lock_id) = Some(generation.to_owned());
                return Ok(());
            }
            // 412 means that the lock object exists.
            if answer.status != 412 {
                return Err(bucket.refused("lock", &object, &answer));
            }
            // The owner released the lock after the refusal, so it is free again.
            let Some((text, generation)) = bucket.get("lock", &object).await? else {
                continue;
            };
            let holder = LockInfo::read(&text);
            // The answer to an earlier attempt was lost after the lock was created.
            if holder.as_ref().is_some_and(|holder| holder.id == info.id) {
                *lock(&self.lock_id) = Some(generation);
                return Ok(());
            }
            // The error shows the generation as the id, because `force-unlock` of OpenTofu expects
            // it.
            return Err(StateError::Locked {
                place: self.place(),
                info: holder.map(|holder| {
                    Box::new(LockInfo {
                        id: generation,
                        ..holder
                    })
                }),
            });
        }
        Err(bucket.error("lock", &object, GcsError::Contended))
    }

    async fn unlock(&self) -> Result<(), StateError> {
        // Forgotten before the request: after a failure only `force-unlock` helps, and the error
        // names the lock.
        let Some(generation) = lock(&self.lock_id).take() else {
            return Ok(());
        };
        let released = self.release(&generation).await;
        released.map_err(|e| e.with_lock_id(&generation))
    }

    /// Also accepts the id inside the lock, for a command that ended before it knew the generation.
    async fn force_unlock(&self, id: &str) -> Result<(), StateError> {
        let found = self.bucket.get("unlock", &self.lock_object()).await?;
        let named = found.filter(|(text, _)| LockInfo::read(text).is_some_and(|l| l.id == id));
        match named {
            Some((_, generation)) => self.release(&generation).await,
            None => self.release(id).await,
        }
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        let found = self.bucket.get("read", &self.state()).await?;
        Ok(found.map(|(text, _)| text).unwrap_or_default())
    }

    async fn write(&self, text: String) -> Result<(), StateError> {
        self.replace(&self.state(), text).await
    }

    async fn read_beside(&self) -> Result<Option<Vec<u8>>, StateError> {
        let found = self.bucket.get("read", &self.object_beside()).await?;
        Ok(Some(found.map(|(text, _)| text).unwrap_or_default()))
    }

    async fn write_beside(&self, text: String) -> Result<(), StateError> {
        let object = self.object_beside();
        match text.is_empty() {
            true => self.remove(&object).await,
            false => self.replace(&object, text).await,
        }
    }

    async fn delete(&self) -> Result<(), StateError> {
        self.remove(&self.state()).await
    }
}
