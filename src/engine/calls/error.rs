//! What can go wrong with a call to a provider besides its own diagnostics: the process, the
//! transport, the bytes. Words are for an operator: what, where, why, what to do. Plain data.

use super::Method;
use crate::engine::secrets::Secrets;
use crate::engine::words::{CallOutcome, FailureClass, PluginId, seconds};
use std::time::Duration;

/// A call that was not answered, or whose answer is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The process died under the call. All calls that one crash took down carry the same incident.
    #[error("{plugin} died during {method} (incident {incident}): {text}")]
    Crashed {
        plugin: PluginId,
        method: Method,
        incident: String,
        text: String,
    },
    /// The process was stopped, restarted or killed on request under the call. What it did is not
    /// known.
    #[error("{plugin} was stopped while {method} ran")]
    Ended { plugin: PluginId, method: Method },
    /// The connection failed and nothing is known of a crash.
    #[error("{plugin} cannot be reached for {method}: {why}")]
    Unavailable {
        plugin: PluginId,
        method: Method,
        why: String,
    },
    /// Not answered within its time. What the plugin did is not known.
    #[error("{plugin} did not answer {method} within {}; raise the deadline of this method, or look at the plugin's log", seconds(*after))]
    Deadline {
        plugin: PluginId,
        method: Method,
        after: Duration,
    },
    /// It was not its turn: all slots were held, and none was given back for so long. Nothing was
    /// sent.
    #[error("{method} was not sent: all slots of {plugin} are held and none became free within {}{by}; end what holds them, or raise FLIGHTDECK_WAIT_S", seconds(*after))]
    NoTurn {
        plugin: PluginId,
        method: Method,
        after: Duration,
        /// Who has held one longest, in words with a space before; may be empty.
        by: String,
    },
    /// Given up by us, before or after it was sent.
    #[error("{method} of {plugin} was cancelled {}", if *sent { "while it ran" } else { "before it was sent" })]
    Cancelled {
        plugin: PluginId,
        method: Method,
        sent: bool,
    },
    /// An answer that does not fit the protocol or the provider's own schema.
    #[error(
        "{plugin} answered {method} with something that cannot be read: {what}; this is an error of the plugin"
    )]
    Undecodable {
        plugin: PluginId,
        method: Method,
        what: String,
    },
    /// A value that cannot be sent to this provider.
    #[error("a value for {method} of {plugin} cannot be encoded: {what}")]
    Unencodable {
        plugin: PluginId,
        method: Method,
        what: String,
    },
    /// The plugin refused the call, by a status of gRPC or by an error in its answer.
    #[error("{plugin} refused {method}: {message} ({})", of_grpc(code))]
    Refused {
        plugin: PluginId,
        method: Method,
        /// The name of a gRPC code, or lower-case words.
        code: String,
        message: String,
    },
    /// The plugin does not know this call.
    #[error("{plugin} does not support {method}; a newer version of the plugin may")]
    Unsupported { plugin: PluginId, method: Method },
    /// The provider's schema has no such resource type, data source or function.
    #[error("{plugin} has no {kind} {name:?}")]
    NoSuchType {
        plugin: PluginId,
        kind: &'static str,
        name: String,
    },
    /// The plugin does not run and will not be launched without an operator: gave up, incompatible,
    /// rejected, disabled, stopped.
    #[error("{plugin} {state}: {why}")]
    Blocked {
        plugin: PluginId,
        state: String,
        why: String,
    },
    /// The plugin did not become ready in time; it may still.
    #[error("{plugin} was not ready after {} (now: {state})", seconds(*after))]
    NotReady {
        plugin: PluginId,
        after: Duration,
        state: String,
    },
}

/// The code of a refusal with its protocol: the names of gRPC codes are in camel case.
fn of_grpc(code: &str) -> String {
    match code.starts_with(char::is_uppercase) {
        true => format!("gRPC {code}"),
        false => code.to_owned(),
    }
}

impl ProviderError {
    /// The class for failure reasons and counts.
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Crashed { .. } => FailureClass::PluginCrashed,
            Self::Unavailable { .. } | Self::NotReady { .. } => FailureClass::Transient,
            Self::Deadline { .. } | Self::NoTurn { .. } => FailureClass::Deadline,
            Self::Cancelled { .. } | Self::Ended { .. } => FailureClass::Cancelled,
            Self::Refused { code, .. }
                if matches!(
                    code.as_str(),
                    "InvalidArgument" | "OutOfRange" | "bad input"
                ) =>
            {
                FailureClass::BadInput
            }
            Self::Refused { code, .. }
                if matches!(
                    code.as_str(),
                    "Aborted" | "Unavailable" | "ResourceExhausted" | "transient"
                ) =>
            {
                FailureClass::Transient
            }
            Self::Refused { code, .. }
                if matches!(code.as_str(), "PermissionDenied" | "Unauthenticated") =>
            {
                FailureClass::Denied
            }
            Self::NoSuchType { .. } => FailureClass::BadInput,
            Self::Undecodable { .. }
            | Self::Unencodable { .. }
            | Self::Refused { .. }
            | Self::Unsupported { .. }
            | Self::Blocked { .. } => FailureClass::Unexpected,
        }
    }

    /// How the call counts on the board of calls.
    pub fn outcome(&self) -> CallOutcome {
        match self {
            Self::Crashed { .. } => CallOutcome::Crashed,
            Self::Deadline { .. } | Self::NoTurn { .. } => CallOutcome::Deadline,
            Self::Cancelled { .. } | Self::Ended { .. } => CallOutcome::Cancelled,
            _ => CallOutcome::Error,
        }
    }

    /// Whether the plugin may have changed the world before the call failed: the outcome of an
    /// apply is then unknown.
    pub fn may_have_acted(&self) -> bool {
        match self {
            Self::Crashed { .. }
            | Self::Ended { .. }
            | Self::Unavailable { .. }
            | Self::Deadline { .. }
            | Self::Undecodable { .. } => true,
            Self::Cancelled { sent, .. } => *sent,
            Self::Refused { code, .. } => {
                !matches!(code.as_str(), "InvalidArgument" | "Unimplemented")
            }
            _ => false,
        }
    }

    /// The error of the last of so many attempts.
    #[must_use]
    pub fn tried(mut self, attempts: u32) -> Self {
        if let (Self::Refused { message, .. }, 2..) = (&mut self, attempts) {
            message.push_str(&format!("; so it did at each of {attempts} attempts"));
        }
        self
    }

    /// Takes out of the plugin's words what must not be shown.
    pub fn hide(&mut self, secrets: &Secrets) {
        match self {
            Self::Crashed { text, .. } | Self::Refused { message: text, .. } => {
                secrets.hide_in(text)
            }
            Self::Unavailable { why: text, .. } | Self::Blocked { why: text, .. } => {
                secrets.hide_in(text)
            }
            Self::Undecodable { what: text, .. } | Self::Unencodable { what: text, .. } => {
                secrets.hide_in(text)
            }
            Self::Ended { .. }
            | Self::Deadline { .. }
            | Self::NoTurn { .. }
            | Self::Cancelled { .. }
            | Self::Unsupported { .. }
            | Self::NoSuchType { .. }
            | Self::NotReady { .. } => {}
        }
    }

    /// Whom it is about.
    pub fn plugin(&self) -> &PluginId {
        match self {
            Self::Crashed { plugin, .. }
            | Self::Ended { plugin, .. }
            | Self::Unavailable { plugin, .. }
            | Self::Deadline { plugin, .. }
            | Self::NoTurn { plugin, .. }
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

    /// The call it is about, where it is about one.
    pub fn method(&self) -> Option<Method> {
        match self {
            Self::Crashed { method, .. }
            | Self::Ended { method, .. }
            | Self::Unavailable { method, .. }
            | Self::Deadline { method, .. }
            | Self::NoTurn { method, .. }
            | Self::Cancelled { method, .. }
            | Self::Undecodable { method, .. }
            | Self::Unencodable { method, .. }
            | Self::Refused { method, .. }
            | Self::Unsupported { method, .. } => Some(*method),
            Self::NoSuchType { .. } | Self::Blocked { .. } | Self::NotReady { .. } => None,
        }
    }

    /// The crash that took the call down.
    pub fn incident(&self) -> Option<&str> {
        match self {
            Self::Crashed { incident, .. } => Some(incident),
            _ => None,
        }
    }
}
