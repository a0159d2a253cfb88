//! gRPC client for both protocols: all messages except schemas are identical on the wire, only the
//! paths differ. Converts transport failures into errors of calls. Holds a clone of the connection.

use super::lifecycle::{MESSAGE_LIMIT, SchemaReply};
use crate::channel::Channel;
use crate::dialect::ExitReporter;
use crate::grpc;
use calls::{Method, ProviderError};
use model::PluginId;
use proto::{tfplugin5, tfplugin6};
use std::sync::Arc;
use tonic::client::Grpc;

/// Major version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    Five,
    Six,
}

impl Protocol {
    /// Returns the protocol with this number.
    pub fn of(version: u32) -> Option<Self> {
        match version {
            5 => Some(Self::Five),
            6 => Some(Self::Six),
            _ => None,
        }
    }

    /// Returns its name, which is also the name of its protobuf package.
    pub fn dialect(self) -> &'static str {
        match self {
            Self::Five => "tfplugin5",
            Self::Six => "tfplugin6",
        }
    }

    /// Returns the path of a method; `None` if this dialect does not have it.
    fn path(self, method: Method) -> Option<&'static str> {
        macro_rules! paths {
            ($($method:ident $five:literal $six:literal,)*) => {
                match (method, self) {
                    $((Method::$method, Self::Five) => Some(concat!("/tfplugin5.Provider/", $five)),
                      (Method::$method, Self::Six) => Some(concat!("/tfplugin6.Provider/", $six)),)*
                    #[allow(unreachable_patterns, reason = "every method there is so far is of this dialect")]
                    _ => None,
                }
            };
        }
        paths! {
            Schema "GetSchema" "GetProviderSchema",
            IdentitySchemas "GetResourceIdentitySchemas" "GetResourceIdentitySchemas",
            ValidateProvider "PrepareProviderConfig" "ValidateProviderConfig",
            Configure "Configure" "ConfigureProvider",
            ValidateResource "ValidateResourceTypeConfig" "ValidateResourceConfig",
            ValidateData "ValidateDataSourceConfig" "ValidateDataResourceConfig",
            ValidateEphemeral "ValidateEphemeralResourceConfig" "ValidateEphemeralResourceConfig",
            Upgrade "UpgradeResourceState" "UpgradeResourceState",
            UpgradeIdentity "UpgradeResourceIdentity" "UpgradeResourceIdentity",
            Read "ReadResource" "ReadResource",
            Plan "PlanResourceChange" "PlanResourceChange",
            Apply "ApplyResourceChange" "ApplyResourceChange",
            Import "ImportResourceState" "ImportResourceState",
            Move "MoveResourceState" "MoveResourceState",
            ReadData "ReadDataSource" "ReadDataSource",
            OpenEphemeral "OpenEphemeralResource" "OpenEphemeralResource",
            RenewEphemeral "RenewEphemeralResource" "RenewEphemeralResource",
            CloseEphemeral "CloseEphemeralResource" "CloseEphemeralResource",
            Functions "GetFunctions" "GetFunctions",
            CallFunction "CallFunction" "CallFunction",
            Stop "Stop" "StopProvider",
        }
    }
}

/// gRPC client of one process.
pub(super) struct Wire {
    plugin: PluginId,
    protocol: Protocol,
    grpc: Grpc<Channel>,
    exit_reporter: Arc<dyn ExitReporter>,
}

impl Wire {
    pub(super) fn new(
        plugin: PluginId,
        protocol: Protocol,
        channel: Channel,
        obituary: Arc<dyn ExitReporter>,
    ) -> Self {
        let grpc = Grpc::new(channel)
            // tonic's default of 4 MiB is too small for schemas.
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        Self {
            plugin,
            protocol,
            grpc,
            exit_reporter: obituary,
        }
    }

    /// Makes a call whose messages are identical in both protocols.
    pub(super) async fn call<Q, A>(&self, method: Method, request: Q) -> Result<A, ProviderError>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let Some(path) = self.protocol.path(method) else {
            return Err(ProviderError::Unsupported {
                plugin: self.plugin.clone(),
                method,
            });
        };
        match grpc::send(&self.grpc, path, request).await {
            Ok(answer) => Ok(answer),
            Err(status) => {
                let plugin = self.plugin.clone();
                Err(
                    grpc::explain(plugin, method, &status, MESSAGE_LIMIT, &self.exit_reporter)
                        .await,
                )
            }
        }
    }

    /// Fetches all schemas.
    pub(super) async fn schema(&self) -> Result<SchemaReply, ProviderError> {
        Ok(match self.protocol {
            // Schemas are the only messages that differ, so each version has its own type.
            Protocol::Five => SchemaReply::V5(Box::new(
                self.call(Method::Schema, tfplugin5::get_provider_schema::Request {})
                    .await?,
            )),
            Protocol::Six => SchemaReply::V6(Box::new(
                self.call(Method::Schema, tfplugin6::get_provider_schema::Request {})
                    .await?,
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    /// The adapter relies on this: a message of one protocol decodes fully as the other's.
    #[test]
    fn messages_of_both_protocols_have_the_same_encoding() {
        let value = |n: u8| {
            Some(tfplugin5::DynamicValue {
                msgpack: vec![n].into(),
                json: vec![n, n].into(),
            })
        };
        let step = |selector| tfplugin5::attribute_path::Step {
            selector: Some(selector),
        };
        use tfplugin5::attribute_path::step::Selector;
        let five = tfplugin5::plan_resource_change::Response {
            planned_state: value(1),
            requires_replace: vec![tfplugin5::AttributePath {
                steps: vec![
                    step(Selector::AttributeName("rule".into())),
                    step(Selector::ElementKeyInt(3)),
                    step(Selector::ElementKeyString("k".into())),
                ],
            }],
            planned_private: vec![9].into(),
            diagnostics: vec![tfplugin5::Diagnostic {
                severity: 1,
                summary: "s".into(),
                detail: "d".into(),
                attribute: None,
            }],
            legacy_type_system: true,
            deferred: None,
            planned_identity: Some(tfplugin5::ResourceIdentityData {
                identity_data: value(2),
            }),
        };
        let bytes = five.encode_to_vec();
        let six = tfplugin6::plan_resource_change::Response::decode(&bytes[..]).expect("decodes");
        assert_eq!(six.encode_to_vec(), bytes);
        assert_eq!(format!("{six:?}"), format!("{five:?}"));

        let five = tfplugin5::prepare_provider_config::Response {
            prepared_config: value(1),
            diagnostics: vec![tfplugin5::Diagnostic {
                severity: 2,
                summary: "w".into(),
                ..Default::default()
            }],
        };
        let six = tfplugin6::validate_provider_config::Response::decode(&five.encode_to_vec()[..])
            .expect("decodes");
        assert_eq!(six.diagnostics.len(), 1);
        assert_eq!(six.diagnostics[0].summary, "w");
    }

    #[test]
    fn methods_are_named_as_in_protocol_6() {
        for method in Method::ALL {
            assert!(
                Protocol::Six
                    .path(method)
                    .is_none_or(|path| path == format!("/tfplugin6.Provider/{}", method.name()))
            );
            assert!(
                Protocol::Five
                    .path(method)
                    .is_none_or(|path| path.starts_with("/tfplugin5.Provider/"))
            );
            assert_eq!(
                Protocol::Five.path(method).is_some(),
                Protocol::Six.path(method).is_some()
            );
            assert_eq!(Method::parse(method.name()), Some(method));
        }
        assert_eq!(
            Protocol::Five.path(Method::Schema),
            Some("/tfplugin5.Provider/GetSchema")
        );
    }
}
