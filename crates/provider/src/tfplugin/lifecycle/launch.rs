//! Launch of a provider from exec, or from a running process, to readiness: environment, handshake
//! line, connection, schema.

use super::connection::TfLink;
use super::failure::{TfFailure, classify};
use super::schema::fetch_schema;
use super::stdio;
use super::transport::connect;
use crate::tfplugin::wire::Protocol;
use ::wire::{Address, Handshake, HandshakeError, Identity, env};
use async_trait::async_trait;
use model::logging::LogRequest;
use model::{LogStream, PhaseName, seconds};
use plugin::lifecycle::{Arrival, Environment, Lifecycle, Link, PhaseKind, Prepared, Startup};
use plugin::{self, Reattach, StartFailure, StartingProcess};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Offered protocol versions.
const OFFERED_VERSIONS: [u32; 2] = [5, 6];

const HANDSHAKE: PhaseName = PhaseName::new("handshake");
const CONNECTED: PhaseName = PhaseName::new("connected");

static PHASES: [PhaseKind; 4] = [
    PhaseKind {
        name: PhaseName::FIRST_OUTPUT,
        activity: "waiting for its first output",
    },
    PhaseKind {
        name: HANDSHAKE,
        activity: "waiting for its handshake line",
    },
    PhaseKind {
        name: CONNECTED,
        activity: "connecting",
    },
    PhaseKind {
        name: PhaseName::SCHEMA,
        activity: "asking for its schema",
    },
];

/// Lifecycle of provider processes.
#[derive(Debug, Clone)]
pub struct TfLifecycle {
    /// True to encrypt and authenticate the connection in both directions (AutoMTLS).
    pub tls: bool,
}

impl Default for TfLifecycle {
    fn default() -> Self {
        Self { tls: true }
    }
}

impl TfLifecycle {
    /// Reads the environment: any value of `TF_DISABLE_PLUGIN_TLS` disables encryption.
    #[must_use]
    pub fn from_environment() -> Self {
        Self {
            tls: std::env::var_os(env::DISABLE_TLS).is_none(),
        }
    }
}

#[async_trait]
impl Lifecycle for TfLifecycle {
    fn arrival(&self) -> Arrival {
        Arrival::Handshake
    }

    fn phases(&self) -> &'static [PhaseKind] {
        &PHASES
    }

    fn prepare(&self, folder: &Path) -> Result<Prepared, StartFailure> {
        let identity = if self.tls {
            Some(Identity::session().map_err(TfFailure::from)?)
        } else {
            None
        };
        let environment = environment(folder, identity.as_deref());
        Ok(Prepared {
            environment,
            startup: Box::new(Launch { identity }),
        })
    }

    fn explain(&self, failure: StartFailure, lines: &[String]) -> StartFailure {
        classify(failure, lines)
    }

    async fn attach(
        &self,
        other: &Reattach,
        newborn: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        // A running process prints no handshake line: protocol and address come from the variable.
        let Some(protocol) = Protocol::of(other.protocol) else {
            return Err(TfFailure::from(HandshakeError::Protocol {
                found: other.protocol,
                offered: OFFERED_VERSIONS.to_vec(),
            })
            .into());
        };
        let address = match &other.address {
            plugin::Address::Unix(path) => Address::Unix(path.clone()),
            plugin::Address::Tcp(address) => Address::Tcp(*address),
        };
        // The variable has no certificate, so the connection is not encrypted.
        connect_and_fetch_schema(newborn, &address, None, protocol).await
    }
}

/// Returns the environment of a provider process.
fn environment(folder: &Path, identity: Option<&Identity>) -> Environment {
    let versions = OFFERED_VERSIONS
        .map(|version| version.to_string())
        .join(",");
    let mut with: Vec<(OsString, OsString)> = vec![
        (env::MAGIC_COOKIE_KEY.into(), env::MAGIC_COOKIE_VALUE.into()),
        (env::PROTOCOL_VERSIONS.into(), versions.into()),
        // The default range of go-plugin, for plugins that use TCP.
        (env::MIN_PORT.into(), "10000".into()),
        (env::MAX_PORT.into(), "25000".into()),
        (env::UNIX_SOCKET_DIR.into(), folder.into()),
        // Plugins older than PLUGIN_UNIX_SOCKET_DIR create their socket in the temporary directory.
        ("TMPDIR".into(), folder.into()),
    ];
    if let Some(identity) = identity {
        with.push((env::CLIENT_CERT.into(), identity.pem().into()));
    }
    with.extend(log_levels(|name| std::env::var_os(name)));
    // Inherited values of these would change the plugin's socket or its certificate check.
    let without = [env::MULTIPLEX, env::UNIX_SOCKET_GROUP, env::CLIENT_CERT]
        .map(OsString::from)
        .to_vec();
    Environment {
        removed_variables: without,
        set_variables: with,
    }
}

/// Returns the log levels for a provider. The official SDKs read neither TF_LOG nor JSON as a
/// level, and by default write a line at trace level for every step of every call.
fn log_levels(variable: impl Fn(&str) -> Option<OsString>) -> Vec<(OsString, OsString)> {
    let asked = LogRequest::of_providers(&variable);
    let level = asked.map_or("INFO", |asked| asked.level());
    let mut with = vec![("TF_LOG_PROVIDER".into(), level.into())];
    // An operator's own level for the SDK takes precedence.
    if variable("TF_LOG_SDK").is_none_or(|value| value.is_empty()) {
        with.push(("TF_LOG_SDK".into(), level.into()));
    }
    with
}

/// Process between exec and readiness.
struct Launch {
    identity: Option<Arc<Identity>>,
}

#[async_trait]
impl Startup for Launch {
    async fn become_ready(
        self: Box<Self>,
        newborn: &mut StartingProcess<'_>,
    ) -> Result<Box<dyn Link>, StartFailure> {
        let line = newborn.first_line().await?.ok_or(TfFailure::SilentOutput)?;
        let handshake = match read_handshake(&line) {
            Ok(handshake) => handshake,
            // The line is no handshake, so it belongs to the log like any other output.
            Err(failure) => {
                newborn
                    .log()
                    .line(LogStream::Stdout, line.strip_suffix(b"\n").unwrap_or(&line));
                return Err(failure.into());
            }
        };
        newborn.phase_reached(HANDSHAKE);
        let Some(protocol) = Protocol::of(handshake.protocol) else {
            return Err(TfFailure::from(HandshakeError::Protocol {
                found: handshake.protocol,
                offered: OFFERED_VERSIONS.to_vec(),
            })
            .into());
        };
        newborn.set_dialect(protocol.dialect());
        let tls = self.tls(&handshake)?;
        connect_and_fetch_schema(newborn, &handshake.address, tls, protocol).await
    }
}

fn read_handshake(line: &[u8]) -> Result<Handshake, TfFailure> {
    let handshake = Handshake::parse(line)?;
    handshake.expect_protocol(&OFFERED_VERSIONS)?;
    Ok(handshake)
}

impl Launch {
    fn tls(&self, handshake: &Handshake) -> Result<Option<Arc<rustls::ClientConfig>>, TfFailure> {
        match (&self.identity, &handshake.certificate) {
            (Some(identity), Some(der)) => Ok(Some(::wire::tls::client_config(identity, der)?)),
            // A Unix socket in the private directory is safe without TLS; a TCP port is open to
            // every local user.
            (Some(_), None) if matches!(handshake.address, Address::Tcp(_)) => {
                Err(TfFailure::NoCertificate)
            }
            _ => Ok(None),
        }
    }
}

/// Connects to an address and fetches the schema.
async fn connect_and_fetch_schema(
    newborn: &mut StartingProcess<'_>,
    address: &Address,
    tls: Option<Arc<rustls::ClientConfig>>,
    protocol: Protocol,
) -> Result<Box<dyn Link>, StartFailure> {
    let settings = newborn.settings().clone();
    let (limit, lost) = (settings.launch.connect_deadline, CancellationToken::new());
    let connecting = timeout(limit, connect(address, tls, lost.clone()));
    let no_answer = |_| {
        let reason = format!(
            "no answer within {}; raise FLIGHTDECK_CONNECT_DEADLINE_MS if the plugin needs longer",
            seconds(limit)
        );
        Err(StartFailure::Connect {
            address: address.to_string(),
            reason,
        })
    };
    let channel = newborn
        .while_running(async { connecting.await.unwrap_or_else(no_answer) })
        .await?;
    newborn.phase_reached(CONNECTED);
    newborn.set_dialect(protocol.dialect());
    // Before the schema call, so that output during it is in the log.
    newborn.run_reader(stdio::read_stream(channel.clone(), newborn.log()));
    let schema = newborn
        .while_running(fetch_schema(&settings, &channel, protocol))
        .await?;
    // The settings may skip the schema, and the phase with it.
    if schema.is_some() {
        newborn.phase_reached(PhaseName::SCHEMA);
    }
    Ok(Box::new(TfLink::new(channel, protocol, schema, lost)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_log_level_comes_from_the_environment() {
        for (variables, provider, sdk) in [
            (&[][..], "INFO", Some("INFO")),
            (&[("TF_LOG", "debug")], "DEBUG", Some("DEBUG")),
            (&[("TF_LOG", "JSON")], "TRACE", Some("TRACE")),
            (&[("TF_LOG", "nonsense")], "TRACE", Some("TRACE")),
            (&[("TF_LOG", "off")], "OFF", Some("OFF")),
            (&[("TF_LOG_CORE", "TRACE")], "INFO", Some("INFO")),
            (
                &[("TF_LOG", "WARN"), ("TF_LOG_PROVIDER", "json")],
                "TRACE",
                Some("TRACE"),
            ),
            (
                &[("TF_LOG", "TRACE"), ("TF_LOG_SDK", "ERROR")],
                "TRACE",
                None,
            ),
        ] {
            let found = log_levels(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| value.into())
            });
            let level = |name: &str| {
                let found = found.iter().find(|(known, _)| known == name);
                found.and_then(|(_, level)| level.to_str())
            };
            assert_eq!(level("TF_LOG_PROVIDER"), Some(provider), "{variables:?}");
            assert_eq!(level("TF_LOG_SDK"), sdk, "{variables:?}");
        }
    }
}
