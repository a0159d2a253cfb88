//! Failures between the start of a process and the first call to it, with remedies.

use model::{PluginKind, seconds};
use plugin::{ITS_ERROR, IncompatiblePlugin, REINSTALL, StartFailure, Suspicion};
use std::time::Duration;
use thiserror::Error;
use wire::env::refuses_cookie;

/// Reason why a running process cannot be used.
#[derive(Debug, Clone, Error)]
pub(super) enum BluelinkFailure {
    #[error("cannot listen on a local port for the registration of the plugin: {0}")]
    NoPort(String),
    #[error(
        "the plugin is installed as {installed}, but it registered as {calls}; move it to the directory of {calls}, or install {installed} there"
    )]
    OtherId { installed: String, calls: String },
    #[error(
        "the plugin is installed as a {}, but it registered as a {registers}; move it to the right directory, or install a {} in its place", installed.word(), installed.word()
    )]
    OtherKind {
        installed: PluginKind,
        registers: &'static str,
    },
    #[error(
        "the plugin uses protocol version {offered}, but flightdeck supports 1.0; install another release of the plugin"
    )]
    Protocol { offered: String },
    #[error(
        "the plugin registered with process ID {said}, but flightdeck launched process {launched}; the launched process must register itself"
    )]
    OtherPid { said: String, launched: u32 },
    #[error(
        "the launched process {pid} does not listen at {address}, the address in its registration; another process may listen there, so flightdeck does not connect; {ITS_ERROR}"
    )]
    OtherListener { address: String, pid: u32 },
    #[error("the plugin deregistered before its launch was complete; {ITS_ERROR}")]
    Deregistered,
    #[error("the plugin registered without a port or a socket; {ITS_ERROR}")]
    NoAddress,
    #[error("the plugin registered {} too late: the limit is {} after its launch; raise FLIGHTDECK_LAUNCH_DEADLINE_MS if the plugin needs longer", seconds(*.by), seconds(*.after))]
    Late { by: Duration, after: Duration },
    #[error("the plugin did not report its name within {}: {last}; raise FLIGHTDECK_CONNECT_DEADLINE_MS if the plugin needs longer", seconds(*.after))]
    Unready {
        kind: PluginKind,
        after: Duration,
        last: String,
    },
    #[error(
        "the file is not a Bluelink plugin: it refused the magic cookie, so it belongs to another program; {REINSTALL}"
    )]
    OtherProgram,
    #[error("the plugin registered as a {} but does not serve one: the request for its {} failed: {why}; {ITS_ERROR}", .kind.word(), name_of(*.kind))]
    NotServed { kind: PluginKind, why: String },
    #[error("the plugin refused the request for its {}: {why}; {ITS_ERROR}", name_of(*.kind))]
    NoName { kind: PluginKind, why: String },
    #[error(
        "the namespace of the plugin is {says}, but {id} must use {expected} to keep its types unambiguous; {ITS_ERROR}"
    )]
    OtherNamespace {
        id: String,
        expected: String,
        says: String,
    },
    #[error(
        "cannot attach to a running plugin: a Bluelink plugin registers only once, with the host that launched it"
    )]
    Attached,
}

/// Returns the name that a registered plugin of this kind must return.
fn name_of(kind: PluginKind) -> &'static str {
    match kind {
        PluginKind::Provider => "namespace",
        PluginKind::Transformer => "transform name",
    }
}

impl BluelinkFailure {
    fn kind(&self) -> &'static str {
        match self {
            Self::NoPort(_) => "no_port",
            Self::OtherId { .. } => "registered_as_another",
            Self::OtherKind { .. } => "plugin_type",
            Self::Protocol { .. } => "protocol_version",
            Self::OtherPid { .. } | Self::OtherListener { .. } => "foreign",
            Self::OtherProgram => "other_program",
            Self::NotServed { kind, .. } => match kind {
                PluginKind::Provider => "not_a_provider",
                PluginKind::Transformer => "not_a_transformer",
            },
            Self::Deregistered => "deregistered",
            Self::NoAddress => "no_address",
            Self::Late { .. } => "late",
            Self::Unready { kind, .. } | Self::NoName { kind, .. } => match kind {
                PluginKind::Provider => "namespace",
                PluginKind::Transformer => "transform_name",
            },
            Self::OtherNamespace { .. } => "namespace",
            Self::Attached => "attached",
        }
    }

    /// Returns true if another launch may succeed.
    fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::NoPort(_)
                | Self::Late { .. }
                | Self::Unready { .. }
                | Self::NoName { .. }
                | Self::NoAddress
                | Self::Deregistered
                | Self::OtherListener { .. }
        )
    }
}

/// Replaces a failure before the registration if the output names its cause.
pub(super) fn classify(failure: StartFailure, lines: &[String]) -> StartFailure {
    let refused = || lines.iter().any(|line| refuses_cookie(line));
    match failure.ended_before_arrival() && refused() {
        true => BluelinkFailure::OtherProgram.into(),
        false => failure,
    }
}

impl From<BluelinkFailure> for StartFailure {
    fn from(failure: BluelinkFailure) -> Self {
        // A refused plugin prints the reason and exits, so its output may explain the failure.
        let suspicion = match failure {
            BluelinkFailure::Unready { .. } => Suspicion::Exiting,
            _ => Suspicion::NotAPlugin,
        };
        Self::Dialect(IncompatiblePlugin {
            kind: failure.kind(),
            retryable: failure.is_transient(),
            suspicion,
            source: Box::new(failure),
        })
    }
}
