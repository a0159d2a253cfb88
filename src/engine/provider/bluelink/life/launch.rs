//! From a process that was started to one that can be called: a port to register at, the
//! registration, the connection back, the namespace.

use super::super::neighbours::Neighbours;
use super::failure::BluelinkFailure;
use super::link::BluelinkLink;
use super::service::{CallBack, Door, Registered, serve};
use crate::engine::causes;
use crate::engine::plugin::find::{PLUGIN_HOST, ProviderAddress};
use crate::engine::plugin::life::{Arrival, Birth, Environment, Life, Link, PhaseKind, Prepared};
use crate::engine::plugin::{ITS_ERROR, Newborn, Reattach, StartFailure};
use crate::engine::provider::grpc::{self, Stream, Watched};
use crate::engine::words::PhaseName;
use async_trait::async_trait;
use proto::bluelink::providerserverv1::namespace_response::Response as Said;
use proto::bluelink::providerserverv1::{NamespaceResponse, ProviderRequest};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::client::Grpc;
use tonic::transport::Channel;

/// Largest answer that is taken, in bytes: schemas with examples can be large.
pub(in super::super) const MESSAGE_LIMIT: usize = 64 << 20;
/// Largest request that plugins take, in bytes: their library's own limit.
pub(in super::super) const REQUEST_LIMIT: usize = 4 << 20;

/// How long a plugin that has not registered in time is given to be told that it is late, as a part
/// of its time and within these bounds: its next launch waits for that.
const LATE: (u32, Duration, Duration) = (2, Duration::from_secs(2), Duration::from_secs(10));

/// What a plugin says that does not know its host yet: it learns it a moment after the reply.
const TOO_EARLY: &str = "invalid host ID";
/// Between two tries at a plugin that does not know its host yet: from here, doubled, to there.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

const REGISTERED: PhaseName = PhaseName::new("registered");
const NAMESPACE: PhaseName = PhaseName::new("namespace_answered");

static PHASES: [PhaseKind; 2] = [
    PhaseKind {
        name: REGISTERED,
        until: "waiting for it to register",
    },
    PhaseKind {
        name: NAMESPACE,
        until: "asking for its namespace",
    },
];

/// The life of Bluelink's plugins.
#[derive(Debug, Clone)]
pub(in super::super) struct BluelinkLife {
    /// By which plugins know us, for as long as we run.
    pub(in super::super) host_id: String,
    /// Whom plugins reach through us.
    pub(in super::super) neighbours: Arc<Neighbours>,
}

#[async_trait]
impl Life for BluelinkLife {
    fn arrival(&self) -> Arrival {
        Arrival::Registration
    }

    fn phases(&self) -> &'static [PhaseKind] {
        &PHASES
    }

    fn prepare(&self, _: &Path) -> Result<Prepared, StartFailure> {
        // Before there is a process: it registers once, and ends where nobody listens.
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
                without: Vec::new(),
                with: with.to_vec(),
            },
            birth: Box::new(Registration {
                listener,
                host_id: self.host_id.clone(),
                neighbours: self.neighbours.clone(),
            }),
        })
    }

    async fn attach(
        &self,
        _: &Reattach,
        _: &mut Newborn<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        Err(BluelinkFailure::Attached.into())
    }
}

/// What the plugin must call itself by the address that it was found for. On the usual host the id
/// is written without one; with it, it is the same plugin.
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

/// One launch.
struct Registration {
    listener: TcpListener,
    host_id: String,
    neighbours: Arc<Neighbours>,
}

#[async_trait]
impl Birth for Registration {
    async fn come_up(
        self: Box<Self>,
        newborn: &mut Newborn<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        let ids = ids(&newborn.found().address);
        let lost = CancellationToken::new();
        // A launch that fails takes its service with it.
        let unless_up = lost.clone().drop_guard();
        let registered = self.registration(newborn, &ids, &lost).await?;
        newborn.reached(REGISTERED);
        newborn.speaks("bluelink1.0");
        let id = ids[0].clone();
        let until = Instant::now() + newborn.settings().launch.connect_deadline;
        let channel = newborn
            .alive(connect(registered.address, until, lost.clone()))
            .await?;
        let asked = namespace(
            newborn.settings().launch.connect_deadline,
            &channel,
            &self.host_id,
        );
        let namespace = newborn.alive(asked).await?;
        let expected = id.rsplit('/').next().unwrap_or_default();
        if namespace != expected {
            let expected = expected.to_owned();
            return Err(BluelinkFailure::OtherNamespace {
                id,
                expected,
                says: namespace,
            }
            .into());
        }
        newborn.reached(NAMESPACE);
        unless_up.disarm();
        Ok(Box::new(BluelinkLink {
            channel,
            host_id: self.host_id,
            id,
            version: registered.version,
            lost,
        }))
    }
}

impl Registration {
    /// Opens the service, and waits for the plugin to register there.
    async fn registration(
        &self,
        newborn: &mut Newborn<'_>,
        ids: &[String],
        lost: &CancellationToken,
    ) -> Result<Registered, StartFailure> {
        let opened = || -> std::io::Result<_> {
            let listener = self.listener.try_clone()?;
            let ours = listener.local_addr()?;
            Ok((tokio::net::TcpListener::from_std(listener)?, ours))
        };
        let (listener, ours) = opened().map_err(|e| BluelinkFailure::NoPort(e.to_string()))?;
        let (arrival, mut arrives) = mpsc::channel(4);
        let door = Door {
            ids: ids.to_vec(),
            pid: newborn.pid().unwrap_or_default(),
            ours,
            host_id: self.host_id.clone(),
            neighbours: self.neighbours.clone(),
            log: newborn.log(),
            arrival,
            arrived: false.into(),
            due: newborn.due(),
            limit: newborn.settings().launch.deadline,
            lost: lost.clone(),
        };
        newborn.follow(serve(listener, door));
        let gone = || BluelinkFailure::NoPort("the service has ended".to_owned());
        let said = match newborn.arrives(arrives.recv()).await {
            Err(timed_out @ StartFailure::TimedOut { after, .. }) => {
                let within = (after / LATE.0).clamp(LATE.1, LATE.2);
                let late = newborn.comes_late(within, arrives.recv()).await;
                late.ok_or(timed_out)?
            }
            said => said?,
        };
        Ok(said.ok_or_else(gone)??)
    }
}

/// Calls the plugin back, on this machine alone.
async fn connect(
    at: CallBack,
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
    let connecting = async {
        let socket: Box<dyn Stream> = match at {
            CallBack::Port(port) => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
                let stream = stream.map_err(|e| failed(e.to_string()))?;
                stream
                    .set_nodelay(true)
                    .map_err(|e| failed(e.to_string()))?;
                Box::new(stream)
            }
            CallBack::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                Box::new(stream.map_err(|e| failed(e.to_string()))?)
            }
        };
        let channel = grpc::channel(Box::new(Watched::new(socket, lost))).await;
        channel.map_err(|e| failed(format!("the plugin hung up: {}", causes::told(&e))))
    };
    match timeout_at(until, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(failed("no answer in time".to_owned())),
    }
}

/// Asks for the namespace until the plugin knows who asks.
async fn namespace(
    within: Duration,
    channel: &Channel,
    host_id: &str,
) -> Result<String, StartFailure> {
    let until = Instant::now() + within;
    let grpc = Grpc::new(channel.clone()).max_decoding_message_size(MESSAGE_LIMIT);
    let mut pause = PAUSES.0;
    let mut last = "no answer".to_owned();
    // Bounded by the deadline.
    while Instant::now() < until {
        let request = ProviderRequest {
            host_id: host_id.to_owned(),
        };
        let path = "/providerserverv1.Provider/GetNamespace";
        let asked = grpc::send::<_, NamespaceResponse>(&grpc, path, request);
        match timeout_at(until, asked).await {
            Ok(Ok(answer)) => match answer.response {
                Some(Said::Namespace(said)) => return Ok(said.namespace),
                Some(Said::ErrorResponse(error)) if error.message.contains(TOO_EARLY) => {
                    last = error.message;
                }
                Some(Said::ErrorResponse(error)) => {
                    return Err(BluelinkFailure::NoNamespace(error.message).into());
                }
                None => {
                    let what = "an answer with nothing in it".to_owned();
                    return Err(BluelinkFailure::NoNamespace(what).into());
                }
            },
            Ok(Err(status)) if grpc::is_transport(&status) => {
                return Err(StartFailure::Schema(grpc::status_text(&status)));
            }
            Ok(Err(status)) => {
                return Err(BluelinkFailure::NoNamespace(grpc::status_text(&status)).into());
            }
            Err(_) => break,
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
    Err(BluelinkFailure::Unready {
        after: within,
        last,
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_04_an_id_on_the_usual_host_has_no_host_in_it() {
        assert_eq!(
            ids("registry.bluelink.dev/bluelink/aws"),
            ["bluelink/aws", "registry.bluelink.dev/bluelink/aws"]
        );
        assert_eq!(ids("example.com/acme/azure"), ["example.com/acme/azure"]);
    }
}
