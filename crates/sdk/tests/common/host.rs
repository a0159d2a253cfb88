//! Test host: makes the calls of a provider in the right order, and keeps the state.

use cty::Value;
use proto::tfplugin6 as pb;
use proto::tfplugin6::provider_client::ProviderClient;
use serde_json::Value as Json;
use tonic::transport::Channel;

use super::proposed::{config, proposed, type_of};
use super::{LIMIT, decode, encode, path_text};

/// Connected provider with its schema.
pub struct Host {
    pub client: ProviderClient<Channel>,
    pub channel: Channel,
    pub schema: pb::get_provider_schema::Response,
}

/// Result of a change.
#[derive(Debug)]
pub struct Applied {
    pub state: Value,
    pub private: Vec<u8>,
    pub diagnostics: Vec<pb::Diagnostic>,
}

/// Result of a plan.
#[derive(Debug)]
pub struct Plan {
    pub planned: Value,
    pub private: Vec<u8>,
    pub replace: Vec<String>,
    pub diagnostics: Vec<pb::Diagnostic>,
}

impl Host {
    pub async fn new(channel: Channel) -> Host {
        let mut client = ProviderClient::new(channel.clone())
            .max_decoding_message_size(LIMIT)
            .max_encoding_message_size(LIMIT);
        let schema = client
            .get_provider_schema(pb::get_provider_schema::Request {})
            .await
            .unwrap()
            .into_inner();
        assert_eq!(schema.diagnostics, []);
        Host {
            client,
            channel,
            schema,
        }
    }

    pub fn block(&self, name: &str) -> &pb::schema::Block {
        self.schema.resource_schemas[name].block.as_ref().unwrap()
    }

    /// Builds a configuration: attributes not named are null, and absent blocks are empty.
    pub fn config(&self, name: &str, json: Json) -> Value {
        config(self.block(name), json)
    }

    pub async fn configure(&mut self, json: Json) -> Vec<pb::Diagnostic> {
        let block = self
            .schema
            .provider
            .as_ref()
            .unwrap()
            .block
            .clone()
            .unwrap();
        let value = Some(encode(&config(&block, json), &type_of(&block)));
        let checked = self
            .client
            .validate_provider_config(pb::validate_provider_config::Request {
                config: value.clone(),
            })
            .await
            .unwrap();
        let mut diagnostics = checked.into_inner().diagnostics;
        let request = pb::configure_provider::Request {
            terraform_version: "1.13.0".into(),
            config: value,
            ..Default::default()
        };
        diagnostics.extend(
            self.client
                .configure_provider(request)
                .await
                .unwrap()
                .into_inner()
                .diagnostics,
        );
        diagnostics
    }

    pub async fn validate(&mut self, name: &str, config: &Value) -> Vec<pb::Diagnostic> {
        let config = Some(encode(config, &type_of(self.block(name))));
        let request = pb::validate_resource_config::Request {
            type_name: name.into(),
            config,
            ..Default::default()
        };
        self.client
            .validate_resource_config(request)
            .await
            .unwrap()
            .into_inner()
            .diagnostics
    }

    pub async fn plan(
        &mut self,
        name: &str,
        prior: &Value,
        config: &Value,
        private: &[u8],
    ) -> Plan {
        let ty = type_of(self.block(name));
        let proposed = if config.is_null() {
            config.clone()
        } else {
            proposed(self.block(name), prior, config)
        };
        let request = pb::plan_resource_change::Request {
            type_name: name.into(),
            prior_state: Some(encode(prior, &ty)),
            proposed_new_state: Some(encode(&proposed, &ty)),
            config: Some(encode(config, &ty)),
            prior_private: private.to_vec().into(),
            ..Default::default()
        };
        let answer = self
            .client
            .plan_resource_change(request)
            .await
            .unwrap()
            .into_inner();
        Plan {
            planned: decode(answer.planned_state.as_ref(), &ty),
            private: answer.planned_private.to_vec(),
            replace: answer.requires_replace.iter().map(path_text).collect(),
            diagnostics: answer.diagnostics,
        }
    }

    /// Plans and applies; the outer error is that of the connection.
    pub async fn try_apply(
        &mut self,
        name: &str,
        prior: &Value,
        config: &Value,
    ) -> Result<Applied, tonic::Status> {
        let ty = type_of(self.block(name));
        let plan = self.plan(name, prior, config, b"").await;
        assert_eq!(plan.diagnostics, [], "planning {name}");
        let request = pb::apply_resource_change::Request {
            type_name: name.into(),
            prior_state: Some(encode(prior, &ty)),
            planned_state: Some(encode(&plan.planned, &ty)),
            config: Some(encode(config, &ty)),
            planned_private: plan.private.into(),
            ..Default::default()
        };
        let answer = self
            .client
            .apply_resource_change(request)
            .await?
            .into_inner();
        let state = decode(answer.new_state.as_ref(), &ty);
        assert!(state.is_wholly_known(), "{state:?}");
        Ok(Applied {
            state,
            private: answer.private.to_vec(),
            diagnostics: answer.diagnostics,
        })
    }

    pub async fn apply(&mut self, name: &str, prior: &Value, config: &Value) -> Applied {
        self.try_apply(name, prior, config).await.unwrap()
    }

    pub async fn create(&mut self, name: &str, json: Json) -> Applied {
        let config = self.config(name, json);
        let null = self.null(name);
        self.apply(name, &null, &config).await
    }

    /// Creates an object; panics on failure.
    pub async fn made(&mut self, name: &str, json: Json) -> Value {
        let applied = self.create(name, json).await;
        assert_eq!(applied.diagnostics, [], "creating {name}");
        applied.state
    }

    pub async fn delete(&mut self, name: &str, state: &Value) -> Applied {
        let null = self.null(name);
        self.apply(name, state, &null).await
    }

    pub async fn read(&mut self, name: &str, state: &Value) -> (Value, Vec<pb::Diagnostic>) {
        let ty = type_of(self.block(name));
        let request = pb::read_resource::Request {
            type_name: name.into(),
            current_state: Some(encode(state, &ty)),
            ..Default::default()
        };
        let answer = self
            .client
            .read_resource(request)
            .await
            .unwrap()
            .into_inner();
        (decode(answer.new_state.as_ref(), &ty), answer.diagnostics)
    }

    pub async fn import(&mut self, name: &str, id: &str) -> Result<Value, Vec<pb::Diagnostic>> {
        let ty = type_of(self.block(name));
        let request = pb::import_resource_state::Request {
            type_name: name.into(),
            id: id.into(),
            ..Default::default()
        };
        let answer = self.client.import_resource_state(request).await.unwrap();
        let answer = answer.into_inner();
        match answer.imported_resources.first() {
            Some(imported) => Ok(decode(imported.state.as_ref(), &ty)),
            None => Err(answer.diagnostics),
        }
    }

    pub async fn read_data(
        &mut self,
        name: &str,
        json: Json,
    ) -> Result<Value, Vec<pb::Diagnostic>> {
        let block = self.schema.data_source_schemas[name].block.clone().unwrap();
        let ty = type_of(&block);
        let request = pb::read_data_source::Request {
            type_name: name.into(),
            config: Some(encode(&config(&block, json), &ty)),
            ..Default::default()
        };
        let answer = self
            .client
            .read_data_source(request)
            .await
            .unwrap()
            .into_inner();
        if answer.diagnostics.is_empty() {
            Ok(decode(answer.state.as_ref(), &ty))
        } else {
            Err(answer.diagnostics)
        }
    }

    pub fn null(&self, name: &str) -> Value {
        Value::null(type_of(self.block(name)))
    }

    pub async fn stop(&mut self) {
        self.client
            .stop_provider(pb::stop_provider::Request {})
            .await
            .unwrap();
    }

    pub async fn shutdown(&self) {
        let mut client =
            proto::plugin::grpc_controller_client::GrpcControllerClient::new(self.channel.clone());
        // The server can end before its response arrives.
        let _asked = client.shutdown(proto::plugin::Empty {}).await;
    }
}
