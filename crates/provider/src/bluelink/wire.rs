//! Client of one plugin process. Converts transport errors and errors reported by the plugin. Owns
//! a clone of the connection.

use super::lifecycle::{BluelinkLink, MESSAGE_LIMIT, REQUEST_LIMIT};
use super::replies::Reply;
use crate::channel::Channel;
use crate::dialect::ExitReporter;
use crate::grpc;
use calls::{Method, ProviderDiagnostic, ProviderError, RefusalCode};
use model::{FailureClass, PluginId};
use prost::Message as _;
use proto::bluelink::sharedtypesv1::{ErrorCode, ErrorResponse};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tonic::client::Grpc;

/// Client of one process.
pub(super) struct Wire {
    pub(super) plugin: PluginId,
    pub(super) host_id: String,
    grpc: Grpc<Channel>,
    /// Cancelled when the plugin deregisters; no further call is sent then.
    deregistered: CancellationToken,
    exit_reporter: Arc<dyn ExitReporter>,
}

/// Failure of a call.
#[derive(Debug)]
pub(super) enum Fault {
    /// No answer, or an unreadable one.
    Call(ProviderError),
    /// Error reported by the plugin.
    Reported(PluginError),
}

/// Error reported by a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PluginError {
    pub(super) code: ErrorCode,
    message: String,
    /// Its `failureReasons`; if there are any, they replace the message as summary.
    reasons: Vec<String>,
    /// Number of attempts.
    pub(super) attempts: u32,
    /// Call that returned it.
    pub(super) method: Option<Method>,
}

impl PluginError {
    pub(super) fn of(error: ErrorResponse) -> Self {
        Self {
            code: error.code(),
            reasons: reasons(&error).unwrap_or_default(),
            message: error.message,
            attempts: 1,
            method: None,
        }
    }

    /// Returns true if another attempt may succeed.
    pub(super) fn is_transient(&self) -> bool {
        self.code == ErrorCode::Transient
    }

    /// Returns the reasons, or the message without any.
    pub(super) fn summary(&self) -> String {
        match self.reasons.is_empty() {
            true => self.message.clone(),
            false => self.reasons.join("; "),
        }
    }

    /// Converts it to a diagnostic; `doing` describes the failed action.
    pub(super) fn diagnostic(&self, doing: &str) -> ProviderDiagnostic {
        let summary = self.summary();
        let mut code = code(self.code).to_string();
        if self.is_transient() {
            let plural = if self.attempts == 1 { "" } else { "s" };
            code += &format!(", after {} attempt{plural}", self.attempts);
        }
        let said = match self.reasons.is_empty() {
            true => String::new(),
            false => format!(": {}", self.message),
        };
        let class = match self.code {
            // The generic code for everything unclassified; the text decides about the class.
            ErrorCode::Unexpected => None,
            ErrorCode::BadInput => Some(FailureClass::BadInput),
            ErrorCode::Transient => Some(FailureClass::Transient),
        };
        let detail = format!("The plugin {doing} ({code}){said}");
        ProviderDiagnostic::error(summary, detail)
            .of_class(class)
            .from_call(self.method)
    }
}

fn code(code: ErrorCode) -> RefusalCode {
    match code {
        ErrorCode::Unexpected => RefusalCode::Other("unexpected"),
        ErrorCode::BadInput => RefusalCode::BadInput,
        ErrorCode::Transient => RefusalCode::Transient,
    }
}

/// Returns the reasons in the error details: JSON in a `BytesValue`. `None` without any.
fn reasons(error: &ErrorResponse) -> Option<Vec<String>> {
    let bytes = Vec::<u8>::decode(&*error.details.as_ref()?.value).ok()?;
    let json: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let all = json.get("failureReasons")?.as_array()?.iter();
    let text = |reason: &serde_json::Value| match reason.as_str() {
        Some(text) => text.to_owned(),
        None => reason.to_string(),
    };
    Some(all.map(text).collect())
}

impl Wire {
    pub(super) fn new(
        plugin: PluginId,
        link: &BluelinkLink,
        obituary: Arc<dyn ExitReporter>,
    ) -> Self {
        Self {
            plugin,
            host_id: link.host_id.clone(),
            grpc: Grpc::new(link.channel.clone())
                .max_decoding_message_size(MESSAGE_LIMIT)
                .max_encoding_message_size(REQUEST_LIMIT),
            deregistered: link.deregistered.clone(),
            exit_reporter: obituary,
        }
    }

    /// Returns true if the plugin has not deregistered.
    pub(super) fn is_registered(&self) -> bool {
        !self.deregistered.is_cancelled()
    }

    /// Makes one call. `method` is the engine's name of its purpose.
    pub(super) async fn ask<A: Reply>(
        &self,
        method: Method,
        path: &'static str,
        request: impl prost::Message + 'static,
    ) -> Result<A::Good, Fault> {
        // Checked before sending: the gRPC library of plugins rejects larger requests.
        let size = request.encoded_len();
        if size > REQUEST_LIMIT {
            let what = format!(
                "the request has {size} bytes, but plugins accept at most {} MiB",
                REQUEST_LIMIT >> 20
            );
            return Err(Fault::Call(ProviderError::Unencodable {
                plugin: self.plugin.clone(),
                method,
                what,
            }));
        }
        // Calls already sent may still be answered.
        if !self.is_registered() {
            return Err(Fault::Call(ProviderError::Blocked {
                plugin: self.plugin.clone(),
                state: "has deregistered".to_owned(),
                why: format!(
                    "the call {method} was not sent; run the command again to relaunch the plugin"
                ),
            }));
        }
        let answer: A = match grpc::send(&self.grpc, path, request).await {
            Ok(answer) => answer,
            Err(status) => {
                let plugin = self.plugin.clone();
                let error =
                    grpc::explain(plugin, method, &status, MESSAGE_LIMIT, &self.exit_reporter)
                        .await;
                return Err(Fault::Call(error));
            }
        };
        match answer.split() {
            Some(Ok(good)) => Ok(good),
            Some(Err(error)) => Err(Fault::Reported(PluginError {
                method: Some(method),
                ..PluginError::of(error)
            })),
            None => {
                let what = "the answer is neither a result nor an error".to_owned();
                Err(Fault::Call(self.undecodable(method, what)))
            }
        }
    }

    pub(super) fn undecodable(
        &self,
        method: Method,
        what: impl std::fmt::Display,
    ) -> ProviderError {
        ProviderError::Undecodable {
            plugin: self.plugin.clone(),
            method,
            what: what.to_string(),
        }
    }

    /// Converts an error of the plugin for an answer without diagnostics.
    pub(super) fn refused(&self, method: Method, fault: Fault) -> ProviderError {
        match fault {
            Fault::Call(error) => error,
            Fault::Reported(said) => ProviderError::Refused {
                plugin: self.plugin.clone(),
                method,
                code: code(said.code),
                message: said.diagnostic("refused").summary,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_15_failure_reasons_are_the_summary_and_the_message_is_the_fallback() {
        let json = br#"{"failureReasons": ["the box is too red", {"code": 7}]}"#;
        let details = prost_types::Any {
            type_url: "type.googleapis.com/google.protobuf.BytesValue".into(),
            value: json.to_vec().encode_to_vec(),
        };
        let mut error = ErrorResponse {
            code: ErrorCode::BadInput.into(),
            message: "bad input provided with 2 input errors".into(),
            details: Some(details),
        };
        let said = PluginError::of(error.clone()).diagnostic("could not deploy it");
        assert_eq!(said.summary, "the box is too red; {\"code\":7}");
        assert_eq!(
            said.detail,
            "The plugin could not deploy it (bad input): bad input provided with 2 input errors"
        );
        error.details = None;
        let said = PluginError::of(error).diagnostic("could not deploy it");
        assert_eq!(said.summary, "bad input provided with 2 input errors");
    }
}
