//! Registration service of the host: one per launch, at its own port, so that only the launched
//! plugin knows it. Lives as long as the connection to the plugin.

use super::super::cross_plugin_calls::RunningPlugins;
use super::caller::{Verified, connections};
use super::failure::BluelinkFailure;
use model::{LogStream, PluginAbout, PluginKind};
use plugin::LogInput;
use proto::bluelink::pluginservicev1::service_server::{Service, ServiceServer};
use proto::bluelink::pluginservicev1::*;
use proto::bluelink::sharedtypesv1 as shared;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

/// Supported major and highest minor version of the protocol.
const VERSION: (u32, u32) = (1, 0);

/// Maximum number of characters kept of each text in a registration.
const MAX_TEXT: usize = 500;

/// Data of a registration.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) address: CallBack,
    pub(super) version: String,
    pub(super) about: PluginAbout,
}

/// Address at which the plugin listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallBack {
    Port(u16),
    Socket(String),
}

/// Registration service of one launch.
pub(super) struct RegistrationServer {
    /// Kind of the installed plugin, which must match the registration.
    pub(super) kind: PluginKind,
    /// Name under which it sends requests to other plugins.
    pub(super) asks: String,
    /// Accepted ids.
    pub(super) ids: Vec<String>,
    /// Process id of the launched process.
    pub(super) pid: u32,
    pub(super) host_id: String,
    /// Plugins that it can reach through the host.
    pub(super) running_plugins: Arc<RunningPlugins>,
    pub(super) log: LogInput,
    /// Receives the first valid registration; none after it.
    pub(super) arrival: mpsc::Sender<Result<Registered, BluelinkFailure>>,
    pub(super) arrived: AtomicBool,
    /// True if the operator was told of calls from another process.
    pub(super) foreign_reported: AtomicBool,
    /// Deadline of the registration; `None` for a process that flightdeck did not launch.
    pub(super) due: Option<Instant>,
    /// Duration of the deadline from the launch.
    pub(super) limit: Duration,
    /// Cancelled when the plugin deregisters.
    pub(super) deregistered: CancellationToken,
    /// Cancelled when the plugin can no longer be called.
    pub(super) lost: CancellationToken,
}

/// Serves until the connection to the plugin ends or the plugin deregisters.
pub(super) async fn serve(listener: TcpListener, door: RegistrationServer) {
    let (gone, log, pid) = (door.lost.clone(), door.log.clone(), door.pid);
    let served = Server::builder()
        .add_service(ServiceServer::new(door))
        .serve_with_incoming_shutdown(connections(listener, pid), gone.cancelled())
        .await;
    if let Err(error) = served {
        let line = format!("the registration service has failed: {error}");
        log.line(LogStream::Engine, line.as_bytes());
    }
}

/// Reason for a refused registration.
enum Refusal {
    /// The launch fails with it.
    Fails(BluelinkFailure),
    /// Ignored; the launch continues.
    Unexpected(String),
    /// It comes from another process.
    Foreign(String),
}

impl RegistrationServer {
    fn check_registration(
        &self,
        said: &PluginRegistrationRequest,
        is_plugin: bool,
    ) -> Result<Registered, Refusal> {
        let pid = self.pid;
        if !is_plugin {
            return Err(Refusal::Foreign(format!(
                "refused a registration of {} as process {}: it does not come from the launched process {pid}",
                shorten(&said.plugin_id),
                shorten(&said.instance_id)
            )));
        }
        // A verified connection can still carry the registration of another instance.
        if said.instance_id != pid.to_string() {
            return Err(Refusal::Fails(BluelinkFailure::OtherPid {
                said: said.instance_id.clone(),
                launched: pid,
            }));
        }
        if self.arrived.load(Ordering::Acquire) {
            return Err(Refusal::Unexpected(format!(
                "refused a second registration of {}: it is already registered",
                said.plugin_id
            )));
        }
        let late = self.due.map(|due| due.elapsed());
        if let Some(by) = late.filter(|by| !by.is_zero()) {
            let after = self.limit;
            return Err(Refusal::Fails(BluelinkFailure::Late { by, after }));
        }
        self.check_compatibility(said).map_err(Refusal::Fails)
    }

    fn check_compatibility(
        &self,
        said: &PluginRegistrationRequest,
    ) -> Result<Registered, BluelinkFailure> {
        if !self.ids.contains(&said.plugin_id) {
            return Err(BluelinkFailure::OtherId {
                installed: self.ids[0].clone(),
                calls: said.plugin_id.clone(),
            });
        }
        let registers = match said.plugin_type() {
            PluginType::Provider => Some(PluginKind::Provider),
            PluginType::Transformer => Some(PluginKind::Transformer),
            PluginType::None => None,
        };
        if registers != Some(self.kind) {
            return Err(BluelinkFailure::OtherKind {
                installed: self.kind,
                registers: registers.map_or("plugin of unknown kind", PluginKind::word),
            });
        }
        if !supports_version(&said.protocol_versions) {
            let offered = match said.protocol_versions.is_empty() {
                true => "none".to_owned(),
                false => said.protocol_versions.join(", "),
            };
            return Err(BluelinkFailure::Protocol { offered });
        }
        let address = match (u16::try_from(said.port), said.unix_socket.as_str()) {
            (Ok(port @ 1..), _) => CallBack::Port(port),
            (_, socket) if !socket.is_empty() => CallBack::Socket(socket.to_owned()),
            _ => return Err(BluelinkFailure::NoAddress),
        };
        let metadata = said.metadata.clone().unwrap_or_default();
        Ok(Registered {
            address,
            version: metadata.plugin_version,
            about: PluginAbout {
                display_name: shorten(&metadata.display_name),
                description: shorten(&metadata.plain_text_description),
                author: shorten(&metadata.author),
                repository: shorten(&metadata.repository_url),
            },
        })
    }

    /// Refuses calls that do not come from the launched process: another process must not read the
    /// state or deploy in the plugin's name.
    fn check_caller<T>(&self, request: &Request<T>) -> Result<(), Status> {
        if is_verified(request) {
            return Ok(());
        }
        let text = format!(
            "refused a call that does not come from the launched process {}",
            self.pid
        );
        self.report_foreign(&text);
        Err(Status::permission_denied(text))
    }

    /// Logs a call from another process and tells the operator of the first one, because such a
    /// process can repeat it without end.
    fn report_foreign(&self, text: &str) {
        match self.foreign_reported.swap(true, Ordering::AcqRel) {
            true => self.log_line(text),
            false => self.log.warn(&format!(
                "{text}; another process on this machine connects to the port of this launch: find and stop it"
            )),
        }
    }

    fn log_line(&self, text: &str) {
        self.log.line(LogStream::Engine, text.as_bytes());
    }
}

/// Shortens a text.
fn shorten(text: &str) -> String {
    text.trim().chars().take(MAX_TEXT).collect()
}

/// Returns true if the launched process made the connection of a request.
fn is_verified<T>(request: &Request<T>) -> bool {
    request.extensions().get() == Some(&Verified(true))
}

/// Returns true if one of the versions has the supported major version and no newer minor one.
/// False for a list with an invalid version.
fn supports_version(versions: &[String]) -> bool {
    let parse = |text: &String| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    let all: Option<Vec<_>> = versions.iter().map(parse).collect();
    let spoken = |(major, minor): (u32, u32)| major == VERSION.0 && minor <= VERSION.1;
    all.is_some_and(|all| all.into_iter().any(spoken))
}

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Service for RegistrationServer {
    async fn register(
        &self,
        request: Request<PluginRegistrationRequest>,
    ) -> Answer<PluginRegistrationResponse> {
        let is_plugin = is_verified(&request);
        let said = request.into_inner();
        let refused = match self.check_registration(&said, is_plugin) {
            Ok(registered) => {
                // Of two simultaneous registrations only one is accepted.
                if !self.arrived.swap(true, Ordering::AcqRel) {
                    // The receiver waits, or the launch has ended.
                    self.arrival.try_send(Ok(registered)).ok();
                }
                return Ok(Response::new(PluginRegistrationResponse {
                    success: true,
                    message: "registered".to_owned(),
                    host_id: self.host_id.clone(),
                }));
            }
            Err(Refusal::Fails(failure)) => {
                let text = failure.to_string();
                self.arrival.try_send(Err(failure)).ok();
                text
            }
            Err(Refusal::Foreign(text)) => {
                self.report_foreign(&text);
                text
            }
            Err(Refusal::Unexpected(text)) => {
                self.log_line(&text);
                text
            }
        };
        Ok(Response::new(PluginRegistrationResponse {
            success: false,
            message: refused,
            host_id: String::new(),
        }))
    }

    async fn deregister(
        &self,
        request: Request<PluginDeregistrationRequest>,
    ) -> Answer<PluginDeregistrationResponse> {
        self.check_caller(&request)?;
        let said = request.into_inner();
        let known = said.host_id == self.host_id && said.instance_id == self.pid.to_string();
        let message = if known {
            self.log_line("the plugin has deregistered and receives no further calls");
            // First, so that a call that sees the lost connection finds the reason.
            self.deregistered.cancel();
            self.lost.cancel();
            "deregistered".to_owned()
        } else {
            format!(
                "process {} is not registered with flightdeck",
                said.instance_id
            )
        };
        Ok(Response::new(PluginDeregistrationResponse {
            success: known,
            message,
        }))
    }

    async fn call_function(
        &self,
        request: Request<shared::FunctionCallRequest>,
    ) -> Answer<shared::FunctionCallResponse> {
        self.check_caller(&request)?;
        use shared::function_call_response::Response as R;
        let called = self.running_plugins.call(&self.asks, request.into_inner());
        let response = called
            .await
            .map_or_else(R::ErrorResponse, R::FunctionResult);
        let response = Some(response);
        Ok(Response::new(shared::FunctionCallResponse { response }))
    }

    async fn get_function_definition(
        &self,
        request: Request<shared::FunctionDefinitionRequest>,
    ) -> Answer<shared::FunctionDefinitionResponse> {
        self.check_caller(&request)?;
        use shared::function_definition_response::Response as R;
        let name = request.into_inner().function_name;
        let found = self.running_plugins.definition(&self.asks, &name);
        let response = Some(found.map_or_else(R::ErrorResponse, R::FunctionDefinition));
        Ok(Response::new(shared::FunctionDefinitionResponse {
            response,
        }))
    }

    async fn has_function(
        &self,
        request: Request<HasFunctionRequest>,
    ) -> Answer<HasFunctionResponse> {
        self.check_caller(&request)?;
        use has_function_response::Response as R;
        let name = request.into_inner().function_name;
        let found = FunctionCheckResult {
            has_function: self.running_plugins.functions().contains(&name),
        };
        let response = Some(R::FunctionCheckResult(found));
        Ok(Response::new(HasFunctionResponse { response }))
    }

    async fn list_functions(&self, request: Request<()>) -> Answer<ListFunctionsResponse> {
        self.check_caller(&request)?;
        use list_functions_response::Response as R;
        let functions = self.running_plugins.functions();
        let response = Some(R::FunctionList(FunctionList { functions }));
        Ok(Response::new(ListFunctionsResponse { response }))
    }

    async fn deploy_resource(
        &self,
        request: Request<DeployResourceServiceRequest>,
    ) -> Answer<shared::DeployResourceResponse> {
        self.check_caller(&request)?;
        use shared::deploy_resource_response::Response as R;
        let done = self
            .running_plugins
            .deploy(&self.asks, request.into_inner());
        let response = done
            .await
            .map_or_else(R::ErrorResponse, R::CompleteResponse);
        let response = Some(response);
        Ok(Response::new(shared::DeployResourceResponse { response }))
    }

    async fn destroy_resource(
        &self,
        request: Request<shared::DestroyResourceRequest>,
    ) -> Answer<shared::DestroyResourceResponse> {
        self.check_caller(&request)?;
        use shared::destroy_resource_response::Response as R;
        let done = self
            .running_plugins
            .destroy(&self.asks, request.into_inner());
        let response = Some(done.await.map_or_else(R::ErrorResponse, R::Result));
        Ok(Response::new(shared::DestroyResourceResponse { response }))
    }

    async fn lookup_resource_in_state(
        &self,
        request: Request<LookupResourceInStateRequest>,
    ) -> Answer<LookupResourceInStateResponse> {
        self.check_caller(&request)?;
        use lookup_resource_in_state_response::Response as R;
        let found = self
            .running_plugins
            .look_up_resource(&self.asks, request.get_ref());
        let response = Some(found.map_or_else(R::ErrorResponse, R::Resource));
        Ok(Response::new(LookupResourceInStateResponse { response }))
    }

    async fn acquire_resource_lock(
        &self,
        request: Request<AcquireResourceLockRequest>,
    ) -> Answer<AcquireResourceLockResponse> {
        self.check_caller(&request)?;
        use acquire_resource_lock_response::Response as R;
        let gate = &self.running_plugins.active_calls;
        let locked = gate.acquire(&self.asks, request.into_inner()).await;
        let acquired = |()| R::Result(AcquireResourceLockResult { acquired: true });
        let response = Some(locked.map_or_else(R::ErrorResponse, acquired));
        Ok(Response::new(AcquireResourceLockResponse { response }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_version_needs_the_same_major_and_no_newer_minor() {
        let spoken = |all: &[&str]| {
            supports_version(&all.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert!(spoken(&["1.0"]) && spoken(&["2.3", "1.0"]));
        assert!(!spoken(&["1.1"]) && !spoken(&["2.0"]) && !spoken(&[]));
        assert!(
            !spoken(&["1.0", "new"]),
            "an invalid version makes the list invalid"
        );
    }
}
