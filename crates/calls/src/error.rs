//! Errors of calls to a provider other than its diagnostics: process, transport, encoding. Each
//! text names cause and remedy for the operator.

use super::Method;
use model::secrets::Secrets;
use model::{CallOutcome, FailureClass, PluginId, seconds};
use std::fmt;
use std::time::Duration;
use tonic::Code;

/// Error of a call without a usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The process crashed during the call. All calls interrupted by one crash have the same
    /// incident.
    #[error("{plugin} crashed during {method} (incident {incident}): {text}")]
    Crashed {
        plugin: PluginId,
        method: Method,
        incident: String,
        text: String,
    },
    /// The process was stopped, restarted or killed by an order during the call. The outcome of the
    /// call is unknown.
    #[error("{plugin} was stopped during {method}")]
    Ended { plugin: PluginId, method: Method },
    /// The connection failed without a recorded crash.
    #[error("the connection to {plugin} failed during {method}: {why}")]
    Unavailable {
        plugin: PluginId,
        method: Method,
        why: String,
    },
    /// No answer before the deadline. The outcome of the call is unknown.
    #[error("{plugin} did not answer {method} within {}; check the plugin's log, and its connection to the target system", seconds(*after))]
    Deadline {
        plugin: PluginId,
        method: Method,
        after: Duration,
    },
    /// The operator no longer waits for the answer. The outcome of the call is unknown.
    #[error("the operator stopped waiting for {method} of {plugin} after {}; the plugin may still work on it", seconds(*after))]
    GivenUp {
        plugin: PluginId,
        method: Method,
        after: Duration,
    },
    /// No slot: all were held, and none was released for this long. Nothing was sent.
    #[error("{method} was not sent: all slots of {plugin} are held and none became free within {}{by}; end the calls that hold them, or raise FLIGHTDECK_WAIT_S", seconds(*after))]
    NoSlot {
        plugin: PluginId,
        method: Method,
        after: Duration,
        /// Call that has held its slot longest, as text with a leading space; may be empty.
        by: String,
    },
    /// Cancelled by flightdeck, before or after it was sent.
    #[error("{method} of {plugin} was cancelled {}", if *sent { "while it ran" } else { "before it was sent" })]
    Cancelled {
        plugin: PluginId,
        method: Method,
        sent: bool,
    },
    /// The answer violates the protocol or the provider's own schema.
    #[error(
        "cannot decode the answer of {plugin} to {method}: {what}; this is a bug in the plugin"
    )]
    Undecodable {
        plugin: PluginId,
        method: Method,
        what: String,
    },
    /// A value cannot be encoded for this provider.
    #[error("cannot encode the request for {method} of {plugin}: {what}")]
    Unencodable {
        plugin: PluginId,
        method: Method,
        what: String,
    },
    /// The plugin refused the call: a gRPC error status, or an error in its answer.
    #[error("{plugin} refused {method}: {message} ({code})")]
    Refused {
        plugin: PluginId,
        method: Method,
        code: RefusalCode,
        message: String,
    },
    /// The plugin does not implement the method.
    #[error("{plugin} does not support {method}; a newer version may support it")]
    Unsupported { plugin: PluginId, method: Method },
    /// The provider's schema has no such resource type, data source or function.
    #[error("{plugin} has no {kind} {name:?}")]
    NoSuchType {
        plugin: PluginId,
        kind: &'static str,
        name: String,
    },
    /// The plugin does not run and is launched only by an operator: gave up, incompatible,
    /// rejected, disabled or stopped.
    #[error("{plugin} {state}: {why}")]
    Blocked {
        plugin: PluginId,
        state: String,
        why: String,
    },
    /// The plugin did not become ready in time; it still may.
    #[error("{plugin} did not become ready within {} (state: {state}); check the plugin's log", seconds(*after))]
    NotReady {
        plugin: PluginId,
        after: Duration,
        state: String,
    },
}

/// Code of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// Error status of gRPC.
    Grpc(Code),
    /// Wrong input, by the plugin's own code.
    BadInput,
    /// Temporary failure, by the plugin's own code.
    Transient,
    /// Words without a meaning for the engine.
    Other(&'static str),
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grpc(code) => write!(f, "gRPC {code:?}"),
            Self::BadInput => f.write_str("bad input"),
            Self::Transient => f.write_str("transient"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl RefusalCode {
    fn class(self) -> FailureClass {
        match self {
            Self::BadInput | Self::Grpc(Code::InvalidArgument | Code::OutOfRange) => {
                FailureClass::BadInput
            }
            Self::Transient
            | Self::Grpc(Code::Aborted | Code::Unavailable | Code::ResourceExhausted) => {
                FailureClass::Transient
            }
            Self::Grpc(Code::PermissionDenied | Code::Unauthenticated) => FailureClass::Denied,
            Self::Grpc(_) | Self::Other(_) => FailureClass::Unexpected,
        }
    }
}

impl ProviderError {
    /// Returns the class for failure reasons and statistics.
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Crashed { .. } => FailureClass::PluginCrashed,
            Self::Unavailable { .. } | Self::NotReady { .. } => FailureClass::Transient,
            Self::Deadline { .. } | Self::NoSlot { .. } => FailureClass::Deadline,
            Self::Cancelled { .. } | Self::Ended { .. } | Self::GivenUp { .. } => {
                FailureClass::Cancelled
            }
            Self::Refused { code, .. } => code.class(),
            Self::NoSuchType { .. } => FailureClass::BadInput,
            Self::Undecodable { .. }
            | Self::Unencodable { .. }
            | Self::Unsupported { .. }
            | Self::Blocked { .. } => FailureClass::Unexpected,
        }
    }

    /// Returns the outcome for the events of the call.
    pub fn outcome(&self) -> CallOutcome {
        match self {
            Self::Crashed { .. } => CallOutcome::Crashed,
            Self::Deadline { .. } | Self::NoSlot { .. } => CallOutcome::Deadline,
            Self::Cancelled { .. } | Self::Ended { .. } | Self::GivenUp { .. } => {
                CallOutcome::Cancelled
            }
            _ => CallOutcome::Error,
        }
    }

    /// Returns true if the plugin may have changed infrastructure before the call failed: the
    /// outcome of an apply is then unknown.
    pub fn may_have_changed_infrastructure(&self) -> bool {
        match self {
            Self::Crashed { .. }
            | Self::Ended { .. }
            | Self::GivenUp { .. }
            | Self::Unavailable { .. }
            | Self::Deadline { .. }
            | Self::Undecodable { .. } => true,
            Self::Cancelled { sent, .. } => *sent,
            Self::Refused { code, .. } => {
                // Servers send these codes before they act.
                !matches!(
                    code,
                    RefusalCode::Grpc(Code::InvalidArgument | Code::Unimplemented)
                )
            }
            _ => false,
        }
    }

    /// Adds the number of attempts to the error of the last one.
    #[must_use]
    pub fn with_attempts(mut self, attempts: u32) -> Self {
        if let (Self::Refused { message, .. }, 2..) = (&mut self, attempts) {
            message.push_str(&format!("; all {attempts} attempts failed"));
        }
        self
    }

    /// Redacts secrets in texts of the plugin.
    pub fn redact(&mut self, secrets: &Secrets) {
        match self {
            Self::Crashed { text, .. } | Self::Refused { message: text, .. } => {
                secrets.redact_in_place(text)
            }
            Self::Unavailable { why: text, .. } | Self::Blocked { why: text, .. } => {
                secrets.redact_in_place(text)
            }
            Self::Undecodable { what: text, .. } | Self::Unencodable { what: text, .. } => {
                secrets.redact_in_place(text)
            }
            Self::Ended { .. }
            | Self::GivenUp { .. }
            | Self::Deadline { .. }
            | Self::NoSlot { .. }
            | Self::Cancelled { .. }
            | Self::Unsupported { .. }
            | Self::NoSuchType { .. }
            | Self::NotReady { .. } => {}
        }
    }

    /// Returns the plugin that was called.
    pub fn plugin(&self) -> &PluginId {
        match self {
            Self::Crashed { plugin, .. }
            | Self::Ended { plugin, .. }
            | Self::GivenUp { plugin, .. }
            | Self::Unavailable { plugin, .. }
            | Self::Deadline { plugin, .. }
            | Self::NoSlot { plugin, .. }
            | Self::Cancelled { plugin, .. }
            | Self::Undecodable { plugin, .. }
            | Self::Unencodable { plugin, .. }
            | Self::Refused { plugin, .. }
            | Self::Unsupported { plugin, .. }
            | Self::NoSuchType { plugin, .. }
            | Self::Blocked { plugin, .. }
            | Self::NotReady { plugin, .. } => plugin,
        }
    }

    /// Returns the method, if the error is about a call.
    pub fn method(&self) -> Option<Method> {
        match self {
            Self::Crashed { method, .. }
            | Self::Ended { method, .. }
            | Self::GivenUp { method, .. }
            | Self::Unavailable { method, .. }
            | Self::Deadline { method, .. }
            | Self::NoSlot { method, .. }
            | Self::Cancelled { method, .. }
            | Self::Undecodable { method, .. }
            | Self::Unencodable { method, .. }
            | Self::Refused { method, .. }
            | Self::Unsupported { method, .. } => Some(*method),
            Self::NoSuchType { .. } | Self::Blocked { .. } | Self::NotReady { .. } => None,
        }
    }

    /// Returns the incident of the crash that interrupted the call.
    pub fn incident(&self) -> Option<&str> {
        match self {
            Self::Crashed { incident, .. } => Some(incident),
            _ => None,
        }
    }
}
