//! Launch of a plugin: port for the registration, registration, connection back, name.

use super::super::cross_plugin_calls::RunningPlugins;
use super::connection::BluelinkLink;
use super::failure::{BluelinkFailure, classify};
use super::peer;
use super::readiness::name;
use super::registration_server::{CallBack, Registered, RegistrationServer, serve};
use crate::channel::Channel;
use crate::grpc::{Stream, Watched};
use async_trait::async_trait;
use dependency::{PLUGIN_HOST, ProviderAddress};
use model::{PhaseName, PluginKind, causes};
use plugin::lifecycle::{Arrival, Environment, Lifecycle, Link, PhaseKind, Prepared, Startup};
use plugin::{ITS_ERROR, Reattach, StartFailure, StartingProcess};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Maximum size of an answer in bytes; schemas with examples are large.
pub(in super::super) const MESSAGE_LIMIT: usize = 64 << 20;
/// Maximum size of a request in bytes: the default limit of the plugins' gRPC library.
pub(in super::super) const REQUEST_LIMIT: usize = 4 << 20;

/// Extra time for a late registration, which is refused with the reason: a fraction of the deadline
/// within bounds. The next launch waits for it.
const LATE_GRACE: (u32, Duration, Duration) = (2, Duration::from_secs(2), Duration::from_secs(10));

const REGISTERED: PhaseName = PhaseName::new("registered");
const NAMESPACE: PhaseName = PhaseName::new("namespace_answered");
const TRANSFORM: PhaseName = PhaseName::new("transform_name_answered");

const REGISTRATION_PHASE: PhaseKind = PhaseKind {
    name: REGISTERED,
    activity: "waiting for its registration",
};

static PHASES: [PhaseKind; 2] = [
    REGISTRATION_PHASE,
    PhaseKind {
        name: NAMESPACE,
        activity: "asking for its namespace",
    },
];

static TRANSFORMER_PHASES: [PhaseKind; 2] = [
    REGISTRATION_PHASE,
    PhaseKind {
        name: TRANSFORM,
        activity: "asking for its transform name",
    },
];

/// Lifecycle of Bluelink plugins.
#[derive(Debug, Clone)]
pub(in super::super) struct BluelinkLifecycle {
    pub(in super::super) kind: PluginKind,
    /// Id of this host, constant while flightdeck runs.
    pub(in super::super) host_id: String,
    /// Plugins that this one can reach through the host.
    pub(in super::super) running_plugins: Arc<RunningPlugins>,
}

#[async_trait]
impl Lifecycle for BluelinkLifecycle {
    fn arrival(&self) -> Arrival {
        Arrival::Registration
    }

    fn phases(&self) -> &'static [PhaseKind] {
        match self.kind {
            PluginKind::Provider => &PHASES,
            PluginKind::Transformer => &TRANSFORMER_PHASES,
        }
    }

    fn prepare(&self, _: &Path) -> Result<Prepared, StartFailure> {
        // Opened before the process starts: it registers only once, and exits if nobody listens.
        let listen = || -> std::io::Result<(TcpListener, u16)> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            let port = listener.local_addr()?.port();
            Ok((listener, port))
        };
        let (listener, port) = listen().map_err(|e| BluelinkFailure::NoPort(e.to_string()))?;
        let with = wire::env::HOST_PORTS.map(|name| (name.into(), port.to_string().into()));
        Ok(Prepared {
            environment: Environment {
                removed_variables: Vec::new(),
                set_variables: with.to_vec(),
            },
            startup: Box::new(Registration {
                kind: self.kind,
                listener,
                host_id: self.host_id.clone(),
                running_plugins: self.running_plugins.clone(),
            }),
        })
    }

    fn explain(&self, failure: StartFailure, lines: &[String]) -> StartFailure {
        classify(failure, lines)
    }

    async fn attach(
        &self,
        _: &Reattach,
        _: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        Err(BluelinkFailure::Attached.into())
    }
}

/// Returns the ids under which the plugin may register. On the default host the id is written
/// without a host; with it, it means the same plugin.
fn ids(address: &str) -> Vec<String> {
    match address.parse::<ProviderAddress>() {
        Ok(known) if known.host.as_deref() == Some(PLUGIN_HOST) => {
            vec![
                format!("{}/{}", known.namespace, known.name),
                address.to_owned(),
            ]
        }
        _ => vec![address.to_owned()],
    }
}

/// One launch, from its registration service to the connection to the plugin.
struct Registration {
    kind: PluginKind,
    listener: TcpListener,
    host_id: String,
    running_plugins: Arc<RunningPlugins>,
}

#[async_trait]
impl Startup for Registration {
    async fn become_ready(
        self: Box<Self>,
        newborn: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        let ids = ids(&newborn.description().address);
        let (lost, deregistered) = (CancellationToken::new(), CancellationToken::new());
        // A failed launch stops its service.
        let unless_up = lost.clone().drop_guard();
        let registered = self
            .registration(newborn, &ids, (&lost, &deregistered))
            .await?;
        newborn.phase_reached(REGISTERED);
        newborn.set_dialect("bluelink1.0");
        newborn.set_description(registered.about);
        let id = ids[0].clone();
        let pid = newborn.pid().unwrap_or_default();
        let until = Instant::now() + newborn.settings().launch.connect_deadline;
        let connecting = connect(registered.address, pid, until, lost.clone());
        let channel = newborn
            .while_running(while_registered(&deregistered, connecting))
            .await?;
        // A separate limit: the name is asked repeatedly until the plugin knows its host.
        let within = newborn.settings().launch.connect_deadline;
        let asked = name(self.kind, within, &channel, &self.host_id);
        let name = newborn
            .while_running(while_registered(&deregistered, asked))
            .await?;
        match self.kind {
            PluginKind::Provider => {
                check_namespace(&id, name)?;
                newborn.phase_reached(NAMESPACE);
            }
            PluginKind::Transformer => {
                newborn.transforms(&name);
                newborn.phase_reached(TRANSFORM);
            }
        }
        // From here on the service lives as long as the connection.
        unless_up.disarm();
        Ok(Box::new(BluelinkLink {
            channel,
            host_id: self.host_id,
            id,
            version: registered.version,
            lost,
            deregistered,
        }))
    }
}

/// Runs a step of the launch; fails when the plugin deregisters.
async fn while_registered<T>(
    deregistered: &CancellationToken,
    step: impl Future<Output = Result<T, StartFailure>>,
) -> Result<T, StartFailure> {
    tokio::select! { biased; // a deregistered plugin receives no calls
        () = deregistered.cancelled() => Err(BluelinkFailure::Deregistered.into()),
        done = step => done,
    }
}

/// Checks that the namespace is the last part of the id, as the types of the plugin start with it.
fn check_namespace(id: &str, namespace: String) -> Result<(), BluelinkFailure> {
    let expected = id.rsplit('/').next().unwrap_or_default();
    if namespace == expected {
        return Ok(());
    }
    Err(BluelinkFailure::OtherNamespace {
        id: id.to_owned(),
        expected: expected.to_owned(),
        says: namespace,
    })
}

impl Registration {
    /// Starts the service and waits for the registration.
    async fn registration(
        &self,
        newborn: &mut StartingProcess<'_>,
        ids: &[String],
        (lost, deregistered): (&CancellationToken, &CancellationToken),
    ) -> Result<Registered, StartFailure> {
        let opened = || -> std::io::Result<_> {
            tokio::net::TcpListener::from_std(self.listener.try_clone()?)
        };
        let listener = opened().map_err(|e| BluelinkFailure::NoPort(e.to_string()))?;
        let (arrival, mut arrives) = mpsc::channel(4);
        let door = RegistrationServer {
            kind: self.kind,
            asks: match self.kind {
                PluginKind::Provider => ids[0].clone(),
                PluginKind::Transformer => format!("the transformer {}", ids[0]),
            },
            ids: ids.to_vec(),
            pid: newborn.pid().unwrap_or_default(),
            host_id: self.host_id.clone(),
            running_plugins: self.running_plugins.clone(),
            log: newborn.log(),
            arrival,
            arrived: false.into(),
            foreign_reported: false.into(),
            due: newborn.arrival_deadline(),
            limit: newborn.deadline(),
            deregistered: deregistered.clone(),
            lost: lost.clone(),
        };
        newborn.run_reader(serve(listener, door));
        let gone = || BluelinkFailure::NoPort("the registration service has ended".to_owned());
        let said = match newborn.wait_for_arrival(arrives.recv()).await {
            // A late registration is still answered with the reason, which gives a clear error.
            Err(timed_out @ StartFailure::TimedOut { after, .. }) => {
                let within = (after / LATE_GRACE.0).clamp(LATE_GRACE.1, LATE_GRACE.2);
                let late = newborn.wait_for_late(within, arrives.recv()).await;
                late.ok_or(timed_out)?
            }
            said => said?,
        };
        Ok(said.ok_or_else(gone)??)
    }
}

/// Connects back to the plugin on this machine. Verifies that the launched process accepts: another
/// one may use the port by now, and would receive the provider's configuration.
async fn connect(
    at: CallBack,
    pid: u32,
    until: Instant,
    lost: CancellationToken,
) -> Result<Channel, StartFailure> {
    let address = match &at {
        CallBack::Port(port) => format!("127.0.0.1:{port}"),
        CallBack::Socket(path) => path.clone(),
    };
    let failed = |why: String| StartFailure::Connect {
        address: address.clone(),
        reason: format!("{why}; {ITS_ERROR}"),
    };
    let of_another = || BluelinkFailure::OtherListener {
        address: address.clone(),
        pid,
    };
    let connecting = async {
        let socket: Box<dyn Stream> = match at {
            CallBack::Port(port) => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
                let stream = stream.map_err(|e| failed(e.to_string()))?;
                stream
                    .set_nodelay(true)
                    .map_err(|e| failed(e.to_string()))?;
                let ends = stream
                    .peer_addr()
                    .and_then(|a| Ok((a, stream.local_addr()?)));
                let (theirs, ours) = ends.map_err(|e| failed(e.to_string()))?;
                // Before the first byte is sent.
                if !peer::accepts(pid, theirs, ours, until).await {
                    return Err(of_another().into());
                }
                Box::new(stream)
            }
            CallBack::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.map_err(|e| failed(e.to_string()))?;
                if !peer::listens(pid, &stream) {
                    return Err(of_another().into());
                }
                Box::new(stream)
            }
        };
        let channel = Channel::connect_over(Watched::new(socket, lost)).await;
        channel.map_err(|e| {
            failed(format!(
                "the plugin closed the connection: {}",
                causes::told(&e)
            ))
        })
    };
    match timeout_at(until, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(failed("no answer in time".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_04_plugin_id_omits_the_default_host() {
        assert_eq!(
            ids("registry.bluelink.dev/bluelink/aws"),
            ["bluelink/aws", "registry.bluelink.dev/bluelink/aws"]
        );
        assert_eq!(ids("example.com/acme/azure"), ["example.com/acme/azure"]);
    }
}
