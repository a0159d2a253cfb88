//! States in a bucket of Google's storage: an object a workspace, locked by another beside it that may
//! not be there yet. The lock's id is the generation of that object.

pub(super) mod credentials;

use super::values::Values;
use super::web::{Answer, Ask, Attempts, Reach, Web};
use super::{Backend, Home, HomeError};
use crate::engine::mutex::lock;
use crate::engine::state::Spelling;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credentials::Credentials;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use statefile::LockInfo;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the default workspace is called there.
const DEFAULT: &str = "default";
/// A lock that is there and gone before it is looked at is tried for again that often.
const TRIES: u32 = 5;

/// States in a bucket.
pub(super) struct Gcs(Arc<Bucket>);

struct Bucket {
    web: Web,
    attempts: Attempts,
    credentials: Credentials,
    /// Up to `/storage/v1/`.
    endpoint: Url,
    name: String,
    prefix: String,
    /// Headers of a key of one's own.
    key: Vec<(&'static str, String)>,
    managed_key: Option<String>,
}

/// One state in it.
struct Object {
    bucket: Arc<Bucket>,
    workspace: String,
    held: Mutex<Option<String>>,
}

impl Gcs {
    pub(super) fn new(values: &Values<'_>) -> Result<Self, String> {
        let prefix = values.text("prefix", &[]).unwrap_or_default();
        let prefix = prefix.trim_start_matches('/');
        let prefix = match prefix {
            "" => String::new(),
            prefix if prefix.ends_with('/') => prefix.to_owned(),
            prefix => format!("{prefix}/"),
        };
        let managed_key = values.text("kms_encryption_key", &["GOOGLE_KMS_ENCRYPTION_KEY"]);
        let key = values.text("encryption_key", &["GOOGLE_ENCRYPTION_KEY"]);
        if key.is_some() && managed_key.is_some() {
            return Err(
                "\"encryption_key\" and \"kms_encryption_key\" exclude each other".to_owned(),
            );
        }
        Ok(Self(Arc::new(Bucket {
            web: Web::new(Reach::default()),
            attempts: Attempts {
                most: 5,
                first_pause: Duration::from_secs(1),
                longest_pause: Duration::from_secs(20),
            },
            credentials: Credentials::new(values)?,
            endpoint: endpoint(values)?,
            name: values.needed("bucket", &[])?,
            prefix,
            key: key
                .map(|key| own_key(&key))
                .transpose()?
                .unwrap_or_default(),
            managed_key,
        })))
    }
}

fn endpoint(values: &Values<'_>) -> Result<Url, String> {
    let custom = values.text(
        "storage_custom_endpoint",
        &[
            "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT",
            "GOOGLE_STORAGE_CUSTOM_ENDPOINT",
        ],
    );
    let universe = values.text("universe_domain", &["GOOGLE_BACKEND_UNIVERSE_DOMAIN"]);
    let universe = universe.unwrap_or_else(|| "googleapis.com".to_owned());
    let text = match (custom, values.variable(&["STORAGE_EMULATOR_HOST"])) {
        (Some(custom), _) => custom,
        (None, Some(host)) if host.contains("://") => format!("{host}/storage/v1/"),
        (None, Some(host)) => format!("http://{host}/storage/v1/"),
        (None, None) => format!("https://storage.{universe}/storage/v1/"),
    };
    let text = format!("{}/", text.trim_end_matches('/'));
    Url::parse(&text).map_err(|e| format!("the endpoint {text:?} is no address: {e}"))
}

/// A key as text or in a file: 32 bytes in base64.
fn own_key(said: &str) -> Result<Vec<(&'static str, String)>, String> {
    let text = std::fs::read_to_string(said).unwrap_or_else(|_| said.to_owned());
    let key = STANDARD.decode(text.trim()).ok().filter(|k| k.len() == 32);
    let key = key.ok_or("\"encryption_key\" must be 32 bytes in base64, or a file with them")?;
    Ok(vec![
        ("x-goog-encryption-algorithm", "AES256".to_owned()),
        ("x-goog-encryption-key", STANDARD.encode(&key)),
        (
            "x-goog-encryption-key-sha256",
            STANDARD.encode(Sha256::digest(&key)),
        ),
    ])
}

impl Bucket {
    fn place(&self, object: &str) -> String {
        format!("gs://{}/{}{object}", self.name, self.prefix)
    }

    fn trouble(&self, what: &'static str, object: &str, why: impl Into<String>) -> HomeError {
        HomeError::Remote {
            what,
            place: self.place(object),
            why: why.into(),
        }
    }

    /// What a refusal means.
    fn refused(&self, what: &'static str, object: &str, answer: &Answer) -> HomeError {
        let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
        let message = said["error"]["message"].as_str().unwrap_or_default();
        let why = match answer.status {
            401 => format!("the credentials are not accepted: {message} (code 401)"),
            403 => format!("it is forbidden: {message} (code 403)"),
            404 => format!("the bucket {} does not exist (code 404)", self.name),
            other => format!("it answers with code {other}: {message}"),
        };
        self.trouble(what, object, why)
    }

    /// The address of the bucket's objects, or of one of them.
    fn url(&self, upload: bool, object: Option<&str>) -> Url {
        let mut url = self.endpoint.clone();
        if upload {
            let path = url.path().to_owned();
            let path = path.strip_suffix("storage/v1/").map_or_else(
                || format!("{path}upload/"),
                |before| format!("{before}upload/storage/v1/"),
            );
            url.set_path(&path);
        }
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["b", &self.name, "o"]);
            if let Some(object) = object {
                path.push(&format!("{}{object}", self.prefix));
            }
        }
        url
    }

    async fn ask(
        &self,
        what: &'static str,
        object: &str,
        method: Method,
        url: Url,
        body: Vec<u8>,
    ) -> Result<Answer, HomeError> {
        let asked = async {
            let mut ask = Ask::new(method, url);
            let token = self.credentials.token(&self.web, self.attempts).await?;
            // Of states alone: locks are nobody's secret, and are read by who has no key.
            let sealed = object.ends_with(".tfstate") && ask.method != Method::DELETE;
            let mut headers = if sealed { self.key.clone() } else { Vec::new() };
            headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
            headers.push(("content-type", "application/json".to_owned()));
            for (name, value) in headers {
                let mut value =
                    HeaderValue::from_str(&value).map_err(|_| format!("{name} fits no header"))?;
                value.set_sensitive(true);
                ask.headers.insert(HeaderName::from_static(name), value);
            }
            ask.body = body;
            self.web.send(ask, self.attempts).await
        };
        let answer = asked.await;
        answer.map_err(|why| self.trouble(what, object, why))
    }

    /// What an object has, and its generation; nothing where it is not there.
    async fn get(
        &self,
        what: &'static str,
        object: &str,
    ) -> Result<Option<(Vec<u8>, String)>, HomeError> {
        let mut url = self.url(false, Some(object));
        url.set_query(Some("alt=media"));
        let answer = self.ask(what, object, Method::GET, url, Vec::new()).await?;
        let generation = answer.header("x-goog-generation").unwrap_or_default();
        match answer.status {
            200 => {
                let generation = generation.to_owned();
                Ok(Some((answer.body, generation)))
            }
            404 => Ok(None),
            _ => Err(self.refused(what, object, &answer)),
        }
    }

    async fn put(
        &self,
        what: &'static str,
        object: &str,
        body: Vec<u8>,
        new: bool,
    ) -> Result<Answer, HomeError> {
        let mut url = self.url(true, None);
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("uploadType", "media");
            query.append_pair("name", &format!("{}{object}", self.prefix));
            if new {
                query.append_pair("ifGenerationMatch", "0");
            }
            if let Some(key) = self.managed_key.as_ref().filter(|_| !new) {
                query.append_pair("kmsKeyName", key);
            }
        }
        self.ask(what, object, Method::POST, url, body).await
    }

    async fn remove(
        &self,
        what: &'static str,
        object: &str,
        generation: Option<&str>,
    ) -> Result<Answer, HomeError> {
        let mut url = self.url(false, Some(object));
        if let Some(generation) = generation {
            url.query_pairs_mut()
                .append_pair("ifGenerationMatch", generation);
        }
        self.ask(what, object, Method::DELETE, url, Vec::new())
            .await
    }
}

impl Object {
    fn state(&self) -> String {
        format!("{}.tfstate", self.workspace)
    }

    fn lock_object(&self) -> String {
        format!("{}.tflock", self.workspace)
    }

    async fn release(&self, generation: &str) -> Result<(), HomeError> {
        let bucket = &self.bucket;
        let state = self.state();
        if generation.parse::<i64>().is_err() {
            let why = format!("{generation:?} is no id of a lock there: that is a number");
            return Err(bucket.trouble("unlock", &state, why));
        }
        let lock = self.lock_object();
        match bucket.get("unlock", &lock).await? {
            None => return Err(bucket.trouble("unlock", &state, "it is not locked")),
            Some((_, id)) if id != generation => {
                let why = format!("the lock has the id {id}, and not {generation:?}");
                return Err(bucket.trouble("unlock", &state, why));
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
impl Home for Object {
    fn place(&self) -> String {
        self.bucket.place(&self.state())
    }

    fn spelling(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, info: LockInfo) -> Result<(), HomeError> {
        if lock(&self.held).is_some() {
            return Ok(());
        }
        let bucket = &self.bucket;
        let object = self.lock_object();
        let info = LockInfo {
            path: bucket.place(&object),
            ..info
        };
        let word = info.to_line().into_bytes();
        for _ in 0..TRIES {
            let answer = bucket.put("lock", &object, word.clone(), true).await?;
            if answer.is_success() {
                let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
                let generation = said["generation"].as_str().unwrap_or_default();
                *lock(&self.held) = Some(generation.to_owned());
                return Ok(());
            }
            if answer.status != 412 {
                return Err(bucket.refused("lock", &object, &answer));
            }
            let Some((text, generation)) = bucket.get("lock", &object).await? else {
                continue;
            };
            let holder = LockInfo::read(&text);
            // The answer to an earlier attempt was lost, and what it asked for was done.
            if holder.as_ref().is_some_and(|holder| holder.id == info.id) {
                *lock(&self.held) = Some(generation);
                return Ok(());
            }
            return Err(HomeError::Locked {
                place: self.place(),
                info: holder.map(|holder| {
                    Box::new(LockInfo {
                        id: generation,
                        ..holder
                    })
                }),
            });
        }
        Err(bucket.trouble(
            "lock",
            &object,
            "others take the lock and give it back all the time",
        ))
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        let Some(generation) = lock(&self.held).take() else {
            return Ok(());
        };
        let released = self.release(&generation).await;
        released.map_err(|e| e.left_locked(&generation))
    }

    async fn force_unlock(&self, id: &str) -> Result<(), HomeError> {
        self.release(id).await
    }

    async fn read(&self) -> Result<Vec<u8>, HomeError> {
        let found = self.bucket.get("read", &self.state()).await?;
        Ok(found.map(|(text, _)| text).unwrap_or_default())
    }

    async fn write(&self, text: String) -> Result<(), HomeError> {
        let state = self.state();
        let answer = self
            .bucket
            .put("write", &state, text.into_bytes(), false)
            .await?;
        if answer.is_success() {
            return Ok(());
        }
        Err(self.bucket.refused("write", &state, &answer))
    }

    async fn delete(&self) -> Result<(), HomeError> {
        let state = self.state();
        let answer = self.bucket.remove("delete", &state, None).await?;
        match answer.status {
            200 | 204 | 404 => Ok(()),
            _ => Err(self.bucket.refused("delete", &state, &answer)),
        }
    }
}

#[async_trait]
impl Backend for Gcs {
    fn home(&self, named: &str) -> Result<Arc<dyn Home>, HomeError> {
        let workspace = if named.is_empty() { DEFAULT } else { named };
        Ok(Arc::new(Object {
            bucket: self.0.clone(),
            workspace: workspace.to_owned(),
            held: Mutex::default(),
        }))
    }

    async fn workspaces(&self) -> Result<Vec<String>, HomeError> {
        let bucket = &self.0;
        let mut names = Vec::new();
        let mut from: Option<String> = None;
        loop {
            let mut url = bucket.url(false, None);
            {
                let mut query = url.query_pairs_mut();
                query.append_pair("prefix", &bucket.prefix);
                query.append_pair("delimiter", "/");
                if let Some(from) = &from {
                    query.append_pair("pageToken", from);
                }
            }
            let answer = bucket.ask("list", "", Method::GET, url, Vec::new()).await?;
            if !answer.is_success() {
                return Err(bucket.refused("list", "", &answer));
            }
            let said: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
            let items = said["items"].as_array().into_iter().flatten();
            names.extend(items.filter_map(|item| {
                let name = item["name"].as_str()?.strip_prefix(&bucket.prefix)?;
                let name = name.strip_suffix(".tfstate")?;
                (name != DEFAULT && !name.contains('/')).then(|| name.to_owned())
            }));
            from = said["nextPageToken"].as_str().map(str::to_owned);
            if from.as_deref().unwrap_or_default().is_empty() {
                names.sort();
                return Ok(names);
            }
        }
    }
}
