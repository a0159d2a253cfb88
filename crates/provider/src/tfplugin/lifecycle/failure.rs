//! Failures of a provider's launch, with the remedy for the operator.

use plugin::{ITS_ERROR, IncompatiblePlugin, REINSTALL, StartFailure, Suspicion};
use thiserror::Error;
use wire::env::refuses_cookie;
use wire::{CertificateError, HandshakeError, TlsError};

const UNRECOGNISED: &str = "unrecognised_line";

/// Reason why a running process cannot be used as a provider.
#[derive(Debug, Error)]
pub enum TfFailure {
    #[error(
        "the process closed its standard output without a handshake; the file may not be a plugin; {REINSTALL}"
    )]
    SilentOutput,
    #[error(
        "the file is not a Terraform provider: it refused the magic cookie, so it belongs to another program; {REINSTALL}; if a script starts it, make the script pass on its environment"
    )]
    OtherProgram,
    #[error(
        "the plugin is not a Terraform provider: the request for its schema returned {0}; {REINSTALL}"
    )]
    NotAProvider(String),
    #[error("{0}; the file may not be a plugin; {REINSTALL}")]
    UnrecognisedLine(HandshakeError),
    #[error("{0}; {ITS_ERROR}")]
    BadHandshake(HandshakeError),
    #[error("{0}; install a newer or older release of the provider")]
    CoreVersion(HandshakeError),
    #[error("{0}; install a release of the provider that supports one of them")]
    ProtocolVersion(HandshakeError),
    #[error("{0}; install a newer release of the provider")]
    NetRpc(HandshakeError),
    #[error(
        "the plugin announced no certificate, so every user of this machine can connect to its TCP port; install a newer release of it, or set TF_DISABLE_PLUGIN_TLS=1 if nobody else uses the machine"
    )]
    NoCertificate,
    #[error("the certificate that the plugin announced cannot be used: {0}; {ITS_ERROR}")]
    Certificate(String),
    #[error("failed to open an encrypted connection to the plugin: {0}; {ITS_ERROR}")]
    Tls(String),
}

impl TfFailure {
    fn kind(&self) -> &'static str {
        match self {
            Self::SilentOutput | Self::UnrecognisedLine(_) | Self::BadHandshake(_) => UNRECOGNISED,
            Self::OtherProgram => "other_program",
            Self::NotAProvider(_) => "not_a_provider",
            Self::CoreVersion(_) => "core_version",
            Self::ProtocolVersion(_) => "protocol_version",
            Self::NetRpc(_) => "net_rpc",
            Self::NoCertificate | Self::Certificate(_) => "certificate",
            Self::Tls(_) => "tls",
        }
    }
}

/// Refines a failure before the handshake by the output: detects a rejected magic cookie.
pub(super) fn classify(failure: StartFailure, lines: &[String]) -> StartFailure {
    // Only before the handshake: later output may contain similar text.
    let unrecognised = match &failure {
        StartFailure::Dialect(unfit) => unfit.kind == UNRECOGNISED,
        other => other.ended_before_arrival(),
    };
    match unrecognised && lines.iter().any(|line| refuses_cookie(line)) {
        true => TfFailure::OtherProgram.into(),
        false => failure,
    }
}

impl From<TfFailure> for StartFailure {
    fn from(failure: TfFailure) -> Self {
        let suspicion = match &failure {
            // Another program may print its usage and exit; its exit code then helps more.
            TfFailure::UnrecognisedLine(_) => Suspicion::NotAPlugin,
            TfFailure::Tls(_) => Suspicion::Exiting,
            _ => Suspicion::None,
        };
        let retryable = !matches!(
            failure,
            TfFailure::OtherProgram
                | TfFailure::NotAProvider(_)
                | TfFailure::CoreVersion(_)
                | TfFailure::ProtocolVersion(_)
                | TfFailure::NetRpc(_)
        );
        Self::Dialect(IncompatiblePlugin {
            kind: failure.kind(),
            retryable,
            suspicion,
            source: Box::new(failure),
        })
    }
}

impl From<HandshakeError> for TfFailure {
    fn from(error: HandshakeError) -> Self {
        use HandshakeError as E;
        match error {
            E::CoreVersion { .. } => Self::CoreVersion(error),
            E::Protocol { .. } => Self::ProtocolVersion(error),
            E::NetRpc(_) => Self::NetRpc(error),
            E::Certificate { .. } => Self::Certificate(error.to_string()),
            E::Address { .. } | E::Kind { .. } | E::Multiplex(_) | E::Multiplexed(_) => {
                Self::BadHandshake(error)
            }
            _ => Self::UnrecognisedLine(error),
        }
    }
}

impl From<TlsError> for TfFailure {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Certificate(inner) => inner.into(),
            TlsError::WrongCertificate => Self::Certificate(error.to_string()),
            _ => Self::Tls(error.to_string()),
        }
    }
}

impl From<CertificateError> for TfFailure {
    fn from(error: CertificateError) -> Self {
        Self::Certificate(error.to_string())
    }
}
