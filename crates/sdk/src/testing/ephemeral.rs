//! Ephemeral resources of a test: open, renewal and close.

use std::time::SystemTime;

use proto::tfplugin6 as pb;
use serde_json::Value as Json;

use super::operations::{config_value, deferred_failure, json_of};
use super::start::{TestProvider, accepted, ask};
use crate::codec;
use crate::diagnostics::{Diagnostics, Failure};

/// Open ephemeral resource.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenResource {
    /// Type name.
    pub type_name: String,
    /// Attributes as JSON.
    pub result: Json,
    /// Private data of the provider.
    pub private: Vec<u8>,
    /// Time of the next renewal, if one is needed.
    pub renew_at: Option<SystemTime>,
}

impl TestProvider {
    /// Validates a configuration and opens an ephemeral resource.
    ///
    /// # Errors
    /// The configuration is not valid, or the open failed or was deferred.
    pub async fn open(&self, type_name: &str, config: Json) -> Result<OpenResource, Failure> {
        let entry = self.service.ephemeral(type_name)?;
        let value = config_value(type_name, &entry.schema, config)?;
        let config = Some(codec::encode(&value, &entry.ty)?);
        let request = pb::validate_ephemeral_resource_config::Request {
            type_name: type_name.to_owned(),
            config: config.clone(),
        };
        accepted(ask!(self, validate_ephemeral_resource_config, request)?.diagnostics)?;
        let request = pb::open_ephemeral_resource::Request {
            type_name: type_name.to_owned(),
            config,
            ..Default::default()
        };
        let answer = ask!(self, open_ephemeral_resource, request)?;
        accepted(answer.diagnostics)?;
        if let Some(deferred) = &answer.deferred {
            return Err(deferred_failure(deferred));
        }
        Ok(OpenResource {
            type_name: type_name.to_owned(),
            result: json_of(&codec::decode(answer.result, &entry.ty)?),
            private: answer.private.unwrap_or_default().to_vec(),
            renew_at: answer.renew_at.and_then(|at| at.try_into().ok()),
        })
    }

    /// Renews an open resource, which changes its private data and the time of the next renewal.
    ///
    /// # Errors
    /// The renewal failed.
    pub async fn renew(&self, open: &mut OpenResource) -> Result<Diagnostics, Failure> {
        let request = pb::renew_ephemeral_resource::Request {
            type_name: open.type_name.clone(),
            private: Some(open.private.clone().into()),
        };
        let answer = ask!(self, renew_ephemeral_resource, request)?;
        let said = accepted(answer.diagnostics)?;
        open.private = answer.private.unwrap_or_default().to_vec();
        open.renew_at = answer.renew_at.and_then(|at| at.try_into().ok());
        Ok(said)
    }

    /// Closes an open resource.
    ///
    /// # Errors
    /// The close failed.
    pub async fn close(&self, open: OpenResource) -> Result<Diagnostics, Failure> {
        let request = pb::close_ephemeral_resource::Request {
            type_name: open.type_name,
            private: Some(open.private.into()),
        };
        accepted(ask!(self, close_ephemeral_resource, request)?.diagnostics)
    }
}
