//! States in a container of Azure's storage: a blob a workspace, locked by a lease without an end, whose
//! holder stands in the blob's metadata.

mod credentials;

use super::values::Values;
use super::web::{Answer, Ask, Attempts, Reach, Web};
use super::{Backend, Home, HomeError};
use crate::engine::mutex::lock;
use crate::engine::state::Spelling;
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use credentials::{Access, Cloud, cloud, why};
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use sha2::{Digest as _, Sha256};
use statefile::LockInfo;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The version of the interface.
const VERSION: &str = "2021-12-02";
/// Where the holder of a lock stands.
const HOLDER: &str = "x-ms-meta-terraformlockid";
/// What follows the key in the names of other workspaces.
const BETWEEN: &str = "env:";

/// States in a container.
pub(super) struct Azure(Arc<Container>);

struct Container {
    web: Web,
    attempts: Attempts,
    access: Access,
    account: String,
    /// Up to the container.
    endpoint: Url,
    name: String,
    key: String,
    snapshot: bool,
    /// Headers of every request for what is in a blob.
    encryption: Vec<(&'static str, String)>,
}

/// One state in it.
struct Blob {
    container: Arc<Container>,
    name: String,
    held: Mutex<Option<String>>,
}

type Headers = Vec<(&'static str, String)>;

impl Azure {
    pub(super) fn new(values: &Values<'_>) -> Result<Self, String> {
        let account = values.needed("storage_account_name", &[])?;
        let end = match cloud(values)? {
            Cloud::Public => "core.windows.net",
            Cloud::Government => "core.usgovcloudapi.net",
            Cloud::China => "core.chinacloudapi.cn",
        };
        Self::at(values, &format!("https://{account}.blob.{end}/"))
    }

    /// With another address of the service.
    pub(super) fn at(values: &Values<'_>, endpoint: &str) -> Result<Self, String> {
        let account = values.needed("storage_account_name", &[])?;
        let snapshot = values.flag("snapshot", &["ARM_SNAPSHOT"])?;
        Ok(Self(Arc::new(Container {
            web: Web::new(Reach::default()),
            attempts: Attempts {
                most: 5,
                first_pause: Duration::from_secs(1),
                longest_pause: Duration::from_secs(20),
            },
            access: Access::new(values, &account)?,
            endpoint: Url::parse(endpoint).map_err(|e| format!("{endpoint:?}: {e}"))?,
            account,
            name: values.needed("container_name", &[])?,
            key: values.needed("key", &[])?,
            snapshot: snapshot == Some(true),
            encryption: encryption(values)?,
        })))
    }
}

fn encryption(values: &Values<'_>) -> Result<Headers, String> {
    let scope = values.text("encryption_scope", &["ARM_ENCYRPTION_SCOPE"]);
    let key = values.text("customer_provided_key", &["ARM_CUSTOMER_PROVIDED_KEY"]);
    match (scope, key) {
        (Some(_), Some(_)) => {
            Err("\"encryption_scope\" and \"customer_provided_key\" exclude each other".to_owned())
        }
        (Some(scope), None) => Ok(vec![("x-ms-encryption-scope", scope)]),
        (None, Some(key)) => {
            let bytes = STANDARD
                .decode(&key)
                .map_err(|_| "\"customer_provided_key\" is no base64".to_owned())?;
            let sum = STANDARD.encode(Sha256::digest(bytes));
            Ok(vec![
                ("x-ms-encryption-key", key),
                ("x-ms-encryption-key-sha256", sum),
                ("x-ms-encryption-algorithm", "AES256".to_owned()),
            ])
        }
        (None, None) => Ok(Vec::new()),
    }
}

impl Container {
    fn url(&self, blob: Option<&str>, query: &str) -> Url {
        let mut url = self.endpoint.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(&self.name);
            path.extend(blob.into_iter().flat_map(|name| name.split('/')));
        }
        url.set_query((!query.is_empty()).then_some(query));
        url
    }

    fn trouble(&self, what: &'static str, blob: &str, why: impl Into<String>) -> HomeError {
        HomeError::Remote {
            what,
            place: self.url(Some(blob), "").to_string(),
            why: why.into(),
        }
    }

    fn refused(&self, what: &'static str, blob: &str, answer: &Answer) -> HomeError {
        let (code, message) = why(answer);
        let said = format!("{code} {message} (code {})", answer.status);
        let said = said.trim_start();
        let why = match (code.as_str(), answer.status) {
            ("ContainerNotFound", _) => format!("the container {} does not exist", self.name),
            (_, 401 | 403) => format!("it is forbidden: {said}"),
            _ => said.to_owned(),
        };
        self.trouble(what, blob, why)
    }

    async fn ask(
        &self,
        what: &'static str,
        blob: &str,
        (method, url): (Method, Url),
        headers: Headers,
        body: Vec<u8>,
    ) -> Result<Answer, HomeError> {
        let asked = async {
            let mut ask = Ask::new(method, url);
            let now = jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT");
            let always = [
                ("x-ms-version", VERSION.to_owned()),
                ("x-ms-date", now.to_string()),
            ];
            for (name, value) in always.into_iter().chain(headers) {
                let value =
                    HeaderValue::from_str(&value).map_err(|_| format!("{name} fits no header"))?;
                ask.headers.insert(HeaderName::from_static(name), value);
            }
            if body.is_empty() && ask.method == Method::PUT {
                let none = HeaderValue::from_static("0");
                ask.headers
                    .insert(HeaderName::from_static("content-length"), none);
            }
            ask.body = body;
            self.access
                .sign(&mut ask, &self.account, &self.web, self.attempts)
                .await?;
            self.web.send(ask, self.attempts).await
        };
        let answer = asked.await;
        answer.map_err(|why| self.trouble(what, blob, why))
    }
}

impl Blob {
    fn trouble(&self, what: &'static str, why: impl Into<String>) -> HomeError {
        self.container.trouble(what, &self.name, why)
    }

    async fn ask(
        &self,
        what: &'static str,
        method: Method,
        query: &str,
        headers: Headers,
        body: Vec<u8>,
    ) -> Result<Answer, HomeError> {
        let url = self.container.url(Some(&self.name), query);
        self.container
            .ask(what, &self.name, (method, url), headers, body)
            .await
    }

    /// An answer that must be a good one.
    fn good(&self, what: &'static str, answer: Answer) -> Result<Answer, HomeError> {
        if answer.is_success() {
            return Ok(answer);
        }
        Err(self.container.refused(what, &self.name, &answer))
    }

    /// Headers with the lease, where one is held.
    fn leased(&self, mut headers: Headers) -> Headers {
        let held = lock(&self.held).clone();
        headers.extend(held.map(|id| ("x-ms-lease-id", id)));
        headers
    }

    /// What stands beside the blob; `None` where there is none.
    async fn properties(&self, what: &'static str) -> Result<Option<Answer>, HomeError> {
        let headers = self.container.encryption.clone();
        let answer = self
            .ask(what, Method::HEAD, "", headers, Vec::new())
            .await?;
        if answer.status == 404 {
            return Ok(None);
        }
        self.good(what, answer).map(Some)
    }

    /// Who has the lock.
    async fn holder(&self, what: &'static str) -> Result<Option<LockInfo>, HomeError> {
        let found = self.properties(what).await?;
        let text = found.and_then(|a| STANDARD.decode(a.header(HOLDER)?).ok());
        Ok(text.and_then(|text| LockInfo::read(&text)))
    }

    async fn acquire(&self, id: &str) -> Result<Answer, HomeError> {
        let headers = vec![
            ("x-ms-lease-action", "acquire".to_owned()),
            ("x-ms-lease-duration", "-1".to_owned()),
            ("x-ms-proposed-lease-id", id.to_owned()),
        ];
        self.ask("lock", Method::PUT, "comp=lease", headers, Vec::new())
            .await
    }

    /// An empty blob, where none is.
    async fn make(&self) -> Result<(), HomeError> {
        let mut headers = self.container.encryption.clone();
        headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
        headers.push(("if-none-match", "*".to_owned()));
        let answer = self
            .ask("lock", Method::PUT, "", headers, Vec::new())
            .await?;
        if matches!(answer.status, 409 | 412) {
            return Ok(());
        }
        self.good("lock", answer).map(drop)
    }

    /// Says beside the blob who has it, or that nobody has.
    async fn say(
        &self,
        what: &'static str,
        id: &str,
        info: Option<&LockInfo>,
    ) -> Result<(), HomeError> {
        let mut headers = self.container.encryption.clone();
        headers.push(("x-ms-lease-id", id.to_owned()));
        if let Some(info) = info {
            headers.push((HOLDER, STANDARD.encode(info.to_line())));
        }
        let answer = self
            .ask(what, Method::PUT, "comp=metadata", headers, Vec::new())
            .await?;
        self.good(what, answer).map(drop)
    }

    async fn release(&self, id: &str) -> Result<(), HomeError> {
        let headers = vec![
            ("x-ms-lease-action", "release".to_owned()),
            ("x-ms-lease-id", id.to_owned()),
        ];
        let answer = self
            .ask("unlock", Method::PUT, "comp=lease", headers, Vec::new())
            .await?;
        self.good("unlock", answer).map(drop)
    }

    async fn give_back(&self, id: &str) -> Result<(), HomeError> {
        self.say("unlock", id, None).await?;
        self.release(id).await
    }
}

#[async_trait]
impl Home for Blob {
    fn place(&self) -> String {
        self.container.url(Some(&self.name), "").to_string()
    }

    fn spelling(&self) -> Spelling {
        Spelling::Line
    }

    async fn lock(&self, info: LockInfo) -> Result<(), HomeError> {
        if lock(&self.held).is_some() {
            return Ok(());
        }
        let info = LockInfo {
            path: self.place(),
            ..info
        };
        let mut answer = self.acquire(&info.id).await?;
        if answer.status == 404 {
            self.make().await?;
            answer = self.acquire(&info.id).await?;
        }
        if answer.status == 409 {
            return Err(HomeError::Locked {
                place: self.place(),
                info: self.holder("lock").await?.map(Box::new),
            });
        }
        self.good("lock", answer)?;
        if let Err(error) = self.say("lock", &info.id, Some(&info)).await {
            self.release(&info.id).await?;
            return Err(error);
        }
        *lock(&self.held) = Some(info.id);
        Ok(())
    }

    async fn unlock(&self) -> Result<(), HomeError> {
        let Some(id) = lock(&self.held).take() else {
            return Ok(());
        };
        let given = self.give_back(&id).await;
        given.map_err(|e| e.left_locked(&id))
    }

    async fn force_unlock(&self, id: &str) -> Result<(), HomeError> {
        match self.holder("unlock").await? {
            None => Err(self.trouble("unlock", "it is not locked")),
            Some(holder) if holder.id != id => Err(self.trouble(
                "unlock",
                format!("the lock has the id {}, and not {id:?}", holder.id),
            )),
            Some(_) => self.give_back(id).await,
        }
    }

    async fn read(&self) -> Result<Vec<u8>, HomeError> {
        let headers = self.container.encryption.clone();
        let answer = self
            .ask("read", Method::GET, "", headers, Vec::new())
            .await?;
        if answer.status == 404 && why(&answer).0 != "ContainerNotFound" {
            return Ok(Vec::new());
        }
        Ok(self.good("read", answer)?.body)
    }

    /// With what stands beside the blob: who has the lock is there.
    async fn write(&self, text: String) -> Result<(), HomeError> {
        let encryption = self.container.encryption.clone();
        if self.container.snapshot {
            let headers = self.leased(encryption.clone());
            let answer = self
                .ask("write", Method::PUT, "comp=snapshot", headers, Vec::new())
                .await?;
            if answer.status != 404 {
                self.good("write", answer)?;
            }
        }
        let mut headers = self.leased(encryption);
        headers.push(("x-ms-blob-type", "BlockBlob".to_owned()));
        headers.push(("content-type", "application/json".to_owned()));
        let before = self.properties("write").await?;
        let holder = before.and_then(|a| a.header(HOLDER).map(str::to_owned));
        headers.extend(holder.map(|holder| (HOLDER, holder)));
        let answer = self
            .ask("write", Method::PUT, "", headers, text.into_bytes())
            .await?;
        self.good("write", answer).map(drop)
    }

    async fn delete(&self) -> Result<(), HomeError> {
        let headers = self.leased(Vec::new());
        let answer = self
            .ask("delete", Method::DELETE, "", headers, Vec::new())
            .await?;
        if answer.status != 404 {
            self.good("delete", answer)?;
        }
        // The lease went with it.
        lock(&self.held).take();
        Ok(())
    }
}

#[async_trait]
impl Backend for Azure {
    fn home(&self, named: &str) -> Result<Arc<dyn Home>, HomeError> {
        let key = &self.0.key;
        let name = if named.is_empty() {
            key.clone()
        } else {
            format!("{key}{BETWEEN}{named}")
        };
        Ok(Arc::new(Blob {
            container: self.0.clone(),
            name,
            held: Mutex::default(),
        }))
    }

    async fn workspaces(&self) -> Result<Vec<String>, HomeError> {
        let container = &self.0;
        let before = format!("{}{BETWEEN}", container.key);
        let mut names = Vec::new();
        let mut from = String::new();
        loop {
            let mut url = container.url(None, "restype=container&comp=list");
            url.query_pairs_mut().append_pair("prefix", &before);
            if !from.is_empty() {
                url.query_pairs_mut().append_pair("marker", &from);
            }
            let answer = container
                .ask("list", "", (Method::GET, url), Vec::new(), Vec::new())
                .await?;
            if !answer.is_success() {
                return Err(container.refused("list", "", &answer));
            }
            let found = super::s3::elements(&answer.body, "Name");
            names.extend(found.iter().filter_map(|name| {
                let name = name.strip_prefix(&before)?;
                (!name.is_empty() && !name.contains('/')).then(|| name.to_owned())
            }));
            from = super::s3::element(&answer.body, "NextMarker").unwrap_or_default();
            if from.is_empty() {
                names.sort();
                return Ok(names);
            }
        }
    }
}

#[cfg(test)]
impl Azure {
    /// For tests: a container is nobody's but an operator's to make.
    pub(super) async fn make_container(&self) -> Result<(), HomeError> {
        let container = &self.0;
        let url = container.url(None, "restype=container");
        let made = container.ask("make", "", (Method::PUT, url), Vec::new(), Vec::new());
        made.await.map(drop)
    }
}
