//! State manager of one state in a container: its blob, and the blob's lease as the lock.

use super::super::http_client::HttpResponse;
use super::container::{Container, Headers, refusal};
use crate::error::UnlockError;
use crate::{Spelling, StateError, StateManager};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::mutex::lock;
use reqwest::Method;
use statefile::LockInfo;
use std::sync::{Arc, Mutex};

/// Metadata key of the lock owner, as OpenTofu writes it.
const HOLDER: &str = "x-ms-meta-terraformlockid";

/// One state in a container.
pub(super) struct Blob {
    container: Arc<Container>,
    name: String,
    lock_id: Mutex<Option<String>>,
}

impl Blob {
    pub(super) fn new(container: &Arc<Container>, name: String) -> Self {
        Self {
            container: container.clone(),
            name,
            lock_id: Mutex::default(),
        }
    }

    /// Blob with the text beside the state. Blobs of workspaces begin with the key and `env:`, so
    /// no workspace has this one.
    fn beside(&self) -> Self {
        let key = &self.container.key;
        let workspace = self.name.strip_prefix(key.as_str()).unwrap_or_default();
        Self::new(&self.container, format!("{key}.flightdeck{workspace}"))
    }

    async fn upload(&self, mut headers: Headers, text: String) -> Result<(), StateError> {
        headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
        headers.push(("content-type", "application/json".to_owned()));
        let answer = self
            .request("write", Method::PUT, "", headers, text.into_bytes())
            .await?;
        self.require_success("write", answer).map(drop)
    }

    fn error(&self, what: &'static str, why: UnlockError) -> StateError {
        self.container.error(what, &self.name, why)
    }

    async fn request(
        &self,
        what: &'static str,
        method: Method,
        query: &str,
        headers: Headers,
        body: Vec<u8>,
    ) -> Result<HttpResponse, StateError> {
        let url = self.container.url(Some(&self.name), query);
        self.container
            .request(what, &self.name, (method, url), headers, body)
            .await
    }

    /// Returns a successful answer, else the refusal as an error.
    fn require_success(
        &self,
        what: &'static str,
        answer: HttpResponse,
    ) -> Result<HttpResponse, StateError> {
        if answer.is_success() {
            return Ok(answer);
        }
        Err(self.container.refused(what, &self.name, &answer))
    }

    /// Adds the id of the lease, if one is held.
    fn leased(&self, mut headers: Headers) -> Headers {
        let held = lock(&self.lock_id).clone();
        headers.extend(held.map(|id| ("x-ms-lease-id", id)));
        headers
    }

    /// Reads the blob's headers; `None` if there is no blob.
    async fn properties(&self, what: &'static str) -> Result<Option<HttpResponse>, StateError> {
        let headers = self.container.encryption.clone();
        let answer = self
            .request(what, Method::HEAD, "", headers, Vec::new())
            .await?;
        if answer.status == 404 {
            return Ok(None);
        }
        self.require_success(what, answer).map(Some)
    }

    /// Reads the lock owner from the blob's metadata.
    async fn read_lock_owner(&self, what: &'static str) -> Result<Option<LockInfo>, StateError> {
        let found = self.properties(what).await?;
        let text = found.and_then(|a| STANDARD.decode(a.header(HOLDER)?).ok());
        Ok(text.and_then(|text| LockInfo::read(&text)))
    }

    async fn acquire(&self, id: &str) -> Result<HttpResponse, StateError> {
        let headers = vec![
            ("x-ms-lease-action", "acquire".to_owned()),
            // Without an end: a limited lease could expire during a long deploy.
            ("x-ms-lease-duration", "-1".to_owned()),
            ("x-ms-proposed-lease-id", id.to_owned()),
        ];
        self.request("lock", Method::PUT, "comp=lease", headers, Vec::new())
            .await
    }

    /// Creates an empty blob unless there is one.
    async fn create_if_missing(&self) -> Result<(), StateError> {
        let mut headers = self.container.encryption.clone();
        headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
        headers.push(("if-none-match", "*".to_owned()));
        let answer = self
            .request("lock", Method::PUT, "", headers, Vec::new())
            .await?;
        // Another process created the blob first, which is as good.
        if matches!(answer.status, 409 | 412) {
            return Ok(());
        }
        self.require_success("lock", answer).map(drop)
    }

    /// Writes the lock owner to the blob's metadata, or clears it.
    async fn write_lock_owner(
        &self,
        what: &'static str,
        id: &str,
        info: Option<&LockInfo>,
    ) -> Result<(), StateError> {
        let mut headers = self.container.encryption.clone();
        headers.push(("x-ms-lease-id", id.to_owned()));
        if let Some(info) = info {
            headers.push((HOLDER, STANDARD.encode(info.to_line())));
        }
        let answer = self
            .request(what, Method::PUT, "comp=metadata", headers, Vec::new())
            .await?;
        self.require_success(what, answer).map(drop)
    }

    async fn release(&self, id: &str) -> Result<(), StateError> {
        let headers = vec![
            ("x-ms-lease-action", "release".to_owned()),
            ("x-ms-lease-id", id.to_owned()),
        ];
        let answer = self
            .request("unlock", Method::PUT, "comp=lease", headers, Vec::new())
            .await?;
        self.require_success("unlock", answer).map(drop)
    }

    async fn give_back(&self, id: &str) -> Result<(), StateError> {
        // The metadata needs the lease id, so it is cleared before the release.
        self.write_lock_owner("unlock", id, None).await?;
        self.release(id).await
    }
}

#[async_trait]
impl StateManager for Blob {
    fn place(&self) -> String {
        self.container.url(Some(&self.name), "").to_string()
    }

    fn layout(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, info: LockInfo) -> Result<(), StateError> {
        if lock(&self.lock_id).is_some() {
            return Ok(());
        }
        let info = LockInfo {
            path: self.place(),
            ..info
        };
        let mut answer = self.acquire(&info.id).await?;
        // A lease needs a blob, and a new workspace has none.
        if answer.status == 404 {
            self.create_if_missing().await?;
            answer = self.acquire(&info.id).await?;
        }
        // Another lease is active. Its owner may not be in the metadata yet.
        if answer.status == 409 {
            return Err(StateError::Locked {
                place: self.place(),
                info: self.read_lock_owner("lock").await?.map(Box::new),
            });
        }
        self.require_success("lock", answer)?;
        // Without its owner in the metadata, a lease could not be released by a later force-unlock.
        if let Err(error) = self.write_lock_owner("lock", &info.id, Some(&info)).await {
            self.release(&info.id).await?;
            return Err(error);
        }
        *lock(&self.lock_id) = Some(info.id);
        Ok(())
    }

    async fn unlock(&self) -> Result<(), StateError> {
        // Forgotten before the request: after a failure only `force-unlock` helps, and the error
        // names the lock.
        let Some(id) = lock(&self.lock_id).take() else {
            return Ok(());
        };
        let given = self.give_back(&id).await;
        given.map_err(|e| e.with_lock_id(&id))
    }

    async fn force_unlock(&self, id: &str) -> Result<(), StateError> {
        match self.read_lock_owner("unlock").await? {
            None => Err(self.error("unlock", UnlockError::NotLocked)),
            Some(holder) if holder.id != id => {
                let asked = id.to_owned();
                Err(self.error(
                    "unlock",
                    UnlockError::OtherId {
                        id: holder.id,
                        asked,
                    },
                ))
            }
            Some(_) => self.give_back(id).await,
        }
    }

    async fn read(&self) -> Result<Vec<u8>, StateError> {
        let headers = self.container.encryption.clone();
        let answer = self
            .request("read", Method::GET, "", headers, Vec::new())
            .await?;
        // A missing container is an error, a missing blob an empty state.
        if answer.status == 404 && refusal(&answer).code != "ContainerNotFound" {
            return Ok(Vec::new());
        }
        Ok(self.require_success("read", answer)?.body)
    }

    /// Copies the metadata, because a write replaces it and the lock owner is in it.
    async fn write(&self, text: String) -> Result<(), StateError> {
        let encryption = self.container.encryption.clone();
        if self.container.snapshot {
            let headers = self.leased(encryption.clone());
            let answer = self
                .request("write", Method::PUT, "comp=snapshot", headers, Vec::new())
                .await?;
            // Without a blob there is nothing to snapshot.
            if answer.status != 404 {
                self.require_success("write", answer)?;
            }
        }
        let mut headers = self.leased(encryption);
        let before = self.properties("write").await?;
        let holder = before.and_then(|a| a.header(HOLDER).map(str::to_owned));
        headers.extend(holder.map(|holder| (HOLDER, holder)));
        self.upload(headers, text).await
    }

    async fn read_beside(&self) -> Result<Option<Vec<u8>>, StateError> {
        self.beside().read().await.map(Some)
    }

    async fn write_beside(&self, text: String) -> Result<(), StateError> {
        let blob = self.beside();
        match text.is_empty() {
            true => blob.delete().await,
            false => blob.upload(self.container.encryption.clone(), text).await,
        }
    }

    async fn delete(&self) -> Result<(), StateError> {
        let headers = self.leased(Vec::new());
        let answer = self
            .request("delete", Method::DELETE, "", headers, Vec::new())
            .await?;
        if answer.status != 404 {
            self.require_success("delete", answer)?;
        }
        // Azure ends the lease together with the blob.
        lock(&self.lock_id).take();
        Ok(())
    }
}
