//! Start of a provider under test, and its calls.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use proto::tfplugin6 as pb;
use proto::tfplugin6::provider_client::ProviderClient;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};

use super::connect::connect;
use crate::bluelink::TestHost;
use crate::diagnostics::{Diagnostics, Failure};
use crate::provider::Provider;
use crate::serve::{MESSAGE_LIMIT, Options, serve_with};
use crate::service::Service;

/// Maximum time until a provider prints its handshake line.
const START: Duration = Duration::from_secs(20);

/// Way to the provider.
pub(super) enum Link {
    /// Calls of the service in this process.
    Local,
    /// Calls over a socket.
    Remote(ProviderClient<Channel>),
    /// Calls of a Bluelink host in this process.
    Bluelink(Box<TestHost>),
}

/// Provider under test. It ends when the value is dropped.
pub struct TestProvider {
    /// Service of the same provider in this process; over a socket, only its schemas are used.
    pub(super) service: Service,
    pub(super) link: Link,
    end: CancellationToken,
    _process: Option<Child>,
    _folder: Option<tempfile::TempDir>,
}

impl Drop for TestProvider {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// Makes a call of the protocol.
macro_rules! ask {
    ($test:expr, $method:ident, $request:expr) => {
        $test
            .call(
                $request,
                async |service, request| {
                    proto::tfplugin6::provider_server::Provider::$method(service, request).await
                },
                async |mut client, request| client.$method(request).await,
            )
            .await
    };
}
pub(super) use ask;

impl TestProvider {
    /// Calls the provider in this process, without a socket and an encoding of calls.
    ///
    /// # Errors
    /// The provider has a mistake that [`crate::internal_validate`] reports.
    pub fn in_process(provider: impl Provider) -> Result<TestProvider, Failure> {
        TestProvider::new(Arc::new(provider))
    }

    /// Calls the provider in this process as a Bluelink host does: the host plans by the schema,
    /// sends the configuration with each call, and stores nothing of a failed deploy. For applies,
    /// reads, imports and destroys of resources. A mistake in the configuration is reported by the
    /// first call that uses it.
    ///
    /// # Errors
    /// As [`TestProvider::in_process`].
    pub fn bluelink_plugin(provider: impl Provider) -> Result<TestProvider, Failure> {
        let provider: Arc<dyn Provider> = Arc::new(provider);
        let mut test = TestProvider::new(provider.clone())?;
        let service = Service::new(provider, TaskTracker::new(), test.end.clone());
        let host = service.and_then(TestHost::new).map_err(Failure::of)?;
        test.link = Link::Bluelink(Box::new(host));
        Ok(test)
    }

    fn new(provider: Arc<dyn Provider>) -> Result<TestProvider, Failure> {
        let end = CancellationToken::new();
        let service = Service::new(provider, TaskTracker::new(), end.clone());
        Ok(TestProvider {
            service: service.map_err(Failure::of)?,
            link: Link::Local,
            end,
            _process: None,
            _folder: None,
        })
    }

    /// Serves the provider in this process, and calls it over a socket with mutual TLS, as a host
    /// does.
    ///
    /// # Errors
    /// As [`TestProvider::in_process`], or the provider cannot be served.
    pub async fn over_protocol(provider: impl Provider) -> Result<TestProvider, Failure> {
        let provider: Arc<dyn Provider> = Arc::new(provider);
        let test = TestProvider::new(provider.clone())?;
        let folder = tempfile::tempdir()?;
        let identity = wire::Identity::generate().map_err(Failure::of)?;
        let options = Options {
            cookie: Some(wire::env::MAGIC_COOKIE_VALUE.to_owned()),
            client_cert: Some(identity.pem().to_owned()),
            socket_dir: Some(folder.path().to_owned()),
            ..Options::default()
        };
        let (announced, line) = tokio::sync::oneshot::channel();
        let served = serve_with(provider, options, test.end.clone(), |line| {
            // Without a receiver the test has already failed.
            announced.send(line.to_owned()).ok();
            Ok(())
        });
        let tasks = TaskTracker::new();
        let served = tasks.spawn(served);
        let Ok(line) = line.await else {
            let failed = served.await.map_err(Failure::of)?;
            return Err(failed.err().map_or_else(no_handshake, Failure::of));
        };
        test.connected(&line, &identity, folder).await
    }

    /// Starts the executable of the provider as a host does, and calls it over its socket. The
    /// value `provider` has the same schemas as the executable.
    ///
    /// # Errors
    /// As [`TestProvider::in_process`], or the executable does not start.
    pub async fn process(
        provider: impl Provider,
        executable: &Path,
    ) -> Result<TestProvider, Failure> {
        let mut test = TestProvider::new(Arc::new(provider))?;
        let folder = tempfile::tempdir()?;
        let identity = wire::Identity::generate().map_err(Failure::of)?;
        let mut process = Command::new(executable)
            .env(wire::env::MAGIC_COOKIE_KEY, wire::env::MAGIC_COOKIE_VALUE)
            .env(wire::env::CLIENT_CERT, identity.pem())
            .env(wire::env::UNIX_SOCKET_DIR, folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().ok_or_else(no_handshake)?;
        test._process = Some(process);
        let mut line = String::new();
        let read = async { BufReader::new(output).read_line(&mut line).await };
        let read = tokio::time::timeout(START, read).await;
        read.map_err(|_| no_handshake())??;
        test.connected(&line, &identity, folder).await
    }

    async fn connected(
        mut self,
        line: &str,
        identity: &wire::Identity,
        folder: tempfile::TempDir,
    ) -> Result<TestProvider, Failure> {
        let channel = connect(line.trim_end(), Some(identity)).await?;
        let client = ProviderClient::new(channel)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        self.link = Link::Remote(client);
        self._folder = Some(folder);
        Ok(self)
    }

    /// Makes a call over the link of this test.
    pub(super) async fn call<R, A>(
        &self,
        request: R,
        local: impl AsyncFnOnce(&Service, Request<R>) -> Result<Response<A>, Status>,
        remote: impl AsyncFnOnce(ProviderClient<Channel>, Request<R>) -> Result<Response<A>, Status>,
    ) -> Result<A, Failure> {
        let request = Request::new(request);
        let answered = match &self.link {
            Link::Local => local(&self.service, request).await,
            Link::Remote(client) => remote(client.clone(), request).await,
            Link::Bluelink(_) => {
                let why =
                    "a test of a Bluelink plugin applies, reads, imports and destroys resources";
                Err(Status::unimplemented(why))
            }
        };
        answered.map(Response::into_inner).map_err(|status| {
            Failure::new(
                "the call failed",
                format!("{}: {}", status.code(), status.message()),
            )
        })
    }

    /// Asks the provider to stop its running calls.
    ///
    /// # Errors
    /// The call failed.
    pub async fn stop(&self) -> Result<(), Failure> {
        let answer = ask!(self, stop_provider, pb::stop_provider::Request {})?;
        match answer.error.is_empty() {
            true => Ok(()),
            false => Err(Failure::new("the provider did not stop", answer.error)),
        }
    }
}

fn no_handshake() -> Failure {
    let detail = format!("it printed no handshake line within {} s", START.as_secs());
    Failure::new("the provider did not start", detail)
}

/// Returns the diagnostics of an answer; those with an error are a failure.
pub(super) fn accepted(said: Vec<pb::Diagnostic>) -> Result<Diagnostics, Failure> {
    let said = Diagnostics::from_wire(said);
    match said.has_errors() {
        true => Err(said.into()),
        false => Ok(said),
    }
}
