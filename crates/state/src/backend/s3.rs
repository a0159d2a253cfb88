//! The s3 backend, for AWS and compatible services: one object for each workspace, locked by a
//! second object, by a DynamoDB item, or by both.

mod bucket;
mod config;
mod credentials;
mod error;
mod ini;
mod service;
mod signing_io;
mod sts;
mod table;

pub(super) use service::{element, elements};

use super::http_client::{MAX_PAGES, WebError};
use super::values::Values;
use super::{Backend, StateError, StateManager};
use crate::Spelling;
use crate::error::UnlockError;
use async_trait::async_trait;
use bucket::Bucket;
use config::Config;
use error::S3Error;
use md5::{Digest as _, Md5};
use model::mutex::lock;
use statefile::LockInfo;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use table::{Put, Table};
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// Time limit and interval of reads until state and digest match.
const DIGEST_TIMEOUT: Duration = Duration::from_secs(10);
const DIGEST_INTERVAL: Duration = Duration::from_secs(2);

/// States in a bucket.
pub(super) struct S3(Arc<Bucket>);

/// One state in a bucket.
#[derive(Clone)]
struct Object(Arc<Inner>);

struct Inner {
    bucket: Arc<Bucket>,
    key: String,
    lock_id: Mutex<Option<String>>,
}

impl S3 {
    pub(super) fn new(values: &Values<'_>, dir: &Path) -> Result<Self, S3Error> {
        Ok(Self(Arc::new(Bucket {
            config: Config::new(values, dir)?,
            checked: OnceCell::new(),
        })))
    }
}

impl Inner {
    fn lock_key(&self) -> String {
        format!("{}.tflock", self.key)
    }

    /// Key of the text beside the state. Keys of workspaces end with the configured key, so no
    /// workspace has this one.
    fn key_beside(&self) -> String {
        format!("{}.flightdeck", self.key)
    }

    /// Id of the state in the table and in lock info.
    fn item(&self) -> String {
        format!("{}/{}", self.bucket.config.bucket, self.key)
    }

    fn error(&self, what: &'static str, why: impl Into<S3Error>) -> StateError {
        self.bucket.error(what, &self.key, why)
    }

    fn locked_error(&self, holder: Option<LockInfo>) -> StateError {
        StateError::Locked {
            place: self.bucket.location(&self.key),
            info: holder.map(Box::new),
        }
    }

    async fn lock_by_object(&self, word: &str, id: &str) -> Result<(), StateError> {
        let bucket = &self.bucket;
        let key = self.lock_key();
        let more = [
            ("if-none-match", Some("*".to_owned())),
            ("x-amz-tagging", bucket.config.lock_tags.clone()),
        ];
        let body = word.as_bytes().to_vec();
        let answer = bucket.upload("lock", &key, body, &more).await?;
        if answer.is_success() {
            return Ok(());
        }
        // 409 is a concurrent request for the same key.
        if !matches!(answer.status, 409 | 412) {
            return Err(bucket.refused("lock", &key, &answer));
        }
        let holder = bucket.get("lock", &key).await?;
        let holder = holder.and_then(|text| LockInfo::read(&text));
        // The answer to an earlier attempt was lost after the lock was created.
        if holder.as_ref().is_some_and(|holder| holder.id == id) {
            return Ok(());
        }
        Err(self.locked_error(holder))
    }

    async fn lock_by_item(
        &self,
        table: &Table<'_>,
        word: &str,
        id: &str,
    ) -> Result<(), StateError> {
        let wrap = |why: S3Error| self.error("lock", why);
        let item = self.item();
        let put = table.put_lock(&item, word).await.map_err(wrap)?;
        if put == Put::Done {
            return Ok(());
        }
        let holder = table.get(&item, "Info").await.map_err(wrap)?;
        let holder = holder.and_then(|text| LockInfo::read(text.as_bytes()));
        if holder.as_ref().is_some_and(|holder| holder.id == id) {
            return Ok(());
        }
        Err(self.locked_error(holder))
    }

    async fn unlock_object(&self, id: &str) -> Result<(), StateError> {
        let key = self.lock_key();
        let holder = self.bucket.get("unlock", &key).await?;
        let holder = holder.and_then(|text| LockInfo::read(&text));
        self.require_lock_id(holder, id)?;
        self.bucket.remove("unlock", &key).await
    }

    async fn unlock_item(&self, table: &Table<'_>, id: &str) -> Result<(), StateError> {
        let wrap = |why: S3Error| self.error("unlock", why);
        let item = self.item();
        let text = table.get(&item, "Info").await.map_err(wrap)?;
        let holder = text.as_ref().and_then(|t| LockInfo::read(t.as_bytes()));
        self.require_lock_id(holder, id)?;
        let text = text.unwrap_or_default();
        table.remove_lock(&item, &text).await.map_err(wrap)
    }

    fn require_lock_id(&self, holder: Option<LockInfo>, id: &str) -> Result<(), StateError> {
        match holder {
            None => Err(self.error("unlock", UnlockError::NotLocked)),
            Some(holder) if holder.id != id => Err(self.error(
                "unlock",
                UnlockError::OtherId {
                    id: holder.id,
                    asked: id.to_owned(),
                },
            )),
            Some(_) => Ok(()),
        }
    }

    async fn release(&self, id: &str) -> Result<(), StateError> {
        let by_object = if self.bucket.config.use_lockfile {
            self.unlock_object(id).await
        } else {
            Ok(())
        };
        let by_item = match self.bucket.table() {
            Some(table) => self.unlock_item(&table, id).await,
            None => Ok(()),
        };
        // Both are always tried, so one failure does not leave the other lock behind.
        by_object.and(by_item)
    }
}

#[async_trait]
impl StateManager for Object {
    fn place(&self) -> String {
        self.0.bucket.location(&self.0.key)
    }

    fn identity(&self) -> Option<String> {
        let host = self.0.bucket.config.s3.endpoint.as_str();
        let place = self.place();
        // Names of buckets are unique within AWS only.
        let is_aws = host.contains(".amazonaws.com");
        Some(if is_aws {
            place
        } else {
            format!("{place} at {host}")
        })
    }

    fn layout(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, info: LockInfo) -> Result<(), StateError> {
        let inner = &self.0;
        if lock(&inner.lock_id).is_some() {
            return Ok(());
        }
        let config = &inner.bucket.config;
        let info = LockInfo {
            path: inner.item(),
            ..info
        };
        let word = info.to_line();
        // Always in this order, so that two processes cannot wait for each other.
        if config.use_lockfile {
            inner.lock_by_object(&word, &info.id).await?;
        }
        if let Some(table) = inner.bucket.table()
            && let Err(error) = inner.lock_by_item(&table, &word, &info.id).await
        {
            // The first of the two locks must not stay behind without the second.
            if config.use_lockfile {
                inner.unlock_object(&info.id).await?;
            }
            return Err(error);
        }
        if config.use_lockfile || config.table.is_some() {
            *lock(&inner.lock_id) = Some(info.id);
        }
        Ok(())
    }

    async fn unlock(&self) -> Result<(), StateError> {
        let Some(id) = lock(&self.0.lock_id).take() else {
            return Ok(());
        };
        let released = self.0.release(&id).await;
        released.map_err(|e| e.with_lock_id(&id))
    }

    async fn force_unlock(&self, id: &str) -> Result<(), StateError> {
        let config = &self.0.bucket.config;
        if !config.use_lockfile && config.table.is_none() {
            return Err(self.0.error("unlock", S3Error::NoLocks));
        }
        self.0.release(id).await
    }

    /// Compares the text with the digest in the table, if there is one. S3-compatible stores may
    /// answer with an older object shortly after a write.
    async fn read(&self) -> Result<Vec<u8>, StateError> {
        let inner = &self.0;
        let until = Instant::now() + DIGEST_TIMEOUT;
        loop {
            let text = inner.bucket.get("read", &inner.key).await?;
            let Some(table) = inner.bucket.table() else {
                return Ok(text.unwrap_or_default());
            };
            let digest = table.get(&format!("{}-md5", inner.item()), "Digest").await;
            let digest = digest.map_err(|why| inner.error("read", why))?;
            let digest = digest
                .filter(|text| text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit()));
            let actual = text.as_ref().map(|text| hex::encode(Md5::digest(text)));
            if digest.is_none() || digest == actual {
                return Ok(text.unwrap_or_default());
            }
            if Instant::now() >= until {
                let actual = actual.unwrap_or_else(|| "missing".to_owned());
                let why = S3Error::Digest {
                    actual,
                    item: format!("{}-md5", inner.item()),
                    expected: digest.unwrap_or_default(),
                };
                return Err(inner.error("read", why));
            }
            tokio::time::sleep(DIGEST_INTERVAL).await;
        }
    }

    async fn write(&self, text: String) -> Result<(), StateError> {
        let inner = &self.0;
        let digest = hex::encode(Md5::digest(text.as_bytes()));
        let tags = inner.bucket.config.state_tags.clone();
        let more = [("x-amz-tagging", tags)];
        let answer = inner
            .bucket
            .upload("write", &inner.key, text.into_bytes(), &more)
            .await?;
        if !answer.is_success() {
            return Err(inner.bucket.refused("write", &inner.key, &answer));
        }
        if let Some(table) = inner.bucket.table() {
            // A failure must be reported: the next read would find a digest that differs.
            let put = table
                .put_digest(&format!("{}-md5", inner.item()), &digest)
                .await;
            put.map_err(|why| inner.error("write", S3Error::DigestNotStored(Box::new(why))))?;
        }
        Ok(())
    }

    async fn read_beside(&self) -> Result<Option<Vec<u8>>, StateError> {
        let text = self.0.bucket.get("read", &self.0.key_beside()).await?;
        Ok(Some(text.unwrap_or_default()))
    }

    async fn write_beside(&self, text: String) -> Result<(), StateError> {
        let (bucket, key) = (&self.0.bucket, self.0.key_beside());
        if text.is_empty() {
            return bucket.remove("delete", &key).await;
        }
        let more = [("x-amz-tagging", bucket.config.state_tags.clone())];
        let answer = bucket
            .upload("write", &key, text.into_bytes(), &more)
            .await?;
        match answer.is_success() {
            true => Ok(()),
            false => Err(bucket.refused("write", &key, &answer)),
        }
    }

    async fn delete(&self) -> Result<(), StateError> {
        let inner = &self.0;
        inner.bucket.remove("delete", &inner.key).await?;
        if let Some(table) = inner.bucket.table() {
            let removed = table.remove(&format!("{}-md5", inner.item())).await;
            removed.map_err(|why| inner.error("delete", why))?;
        }
        Ok(())
    }
}

#[async_trait]
impl Backend for S3 {
    fn state_manager(&self, named: &str) -> Result<Arc<dyn StateManager>, StateError> {
        Ok(Arc::new(Object(Arc::new(Inner {
            bucket: self.0.clone(),
            key: self.0.key(named),
            lock_id: Mutex::default(),
        }))))
    }

    async fn workspaces(&self) -> Result<Vec<String>, StateError> {
        let mut names = Vec::new();
        let mut from = None;
        // Bounded, in case a server repeats its token.
        for _ in 0..MAX_PAGES {
            let (found, next) = self.0.page(from).await?;
            names.extend(found);
            from = next;
            if from.is_none() {
                names.sort();
                return Ok(names);
            }
        }
        Err(self.0.error("list", "", WebError::TooManyPages))
    }
}
