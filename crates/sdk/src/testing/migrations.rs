//! Migrations of stored objects: upgrades of states and identities, and moves between types.

use proto::tfplugin6 as pb;
use serde_json::Value as Json;

use super::operations::{Instance, identity_of};
use super::start::{TestProvider, accepted, ask};
use crate::codec;
use crate::diagnostics::Failure;
use crate::provider::MovedState;

impl TestProvider {
    /// Upgrades a stored state of an older schema version.
    ///
    /// # Errors
    /// The upgrade failed.
    pub async fn upgrade(
        &self,
        type_name: &str,
        version: i64,
        state: Json,
    ) -> Result<Instance, Failure> {
        let entry = self.service.resource(type_name)?;
        let request = pb::upgrade_resource_state::Request {
            type_name: type_name.to_owned(),
            version,
            raw_state: Some(raw(&state)),
        };
        let answer = ask!(self, upgrade_resource_state, request)?;
        accepted(answer.diagnostics)?;
        Ok(Instance {
            type_name: type_name.to_owned(),
            value: codec::decode(answer.upgraded_state, &entry.ty)?,
            private: Vec::new(),
            identity: None,
            tainted: false,
        })
    }

    /// Upgrades a stored identity of an older version.
    ///
    /// # Errors
    /// The upgrade failed.
    pub async fn upgrade_identity(
        &self,
        type_name: &str,
        version: i64,
        identity: Json,
    ) -> Result<Json, Failure> {
        let entry = self.service.resource(type_name)?;
        let request = pb::upgrade_resource_identity::Request {
            type_name: type_name.to_owned(),
            version,
            raw_identity: Some(raw(&identity)),
        };
        let answer = ask!(self, upgrade_resource_identity, request)?;
        accepted(answer.diagnostics)?;
        let none = || Failure::new("the provider returned no identity", "");
        identity_of(&entry, answer.upgraded_identity)?.ok_or_else(none)
    }

    /// Moves an object of another type to a type of this provider.
    ///
    /// # Errors
    /// The move failed, or is not supported.
    pub async fn move_state(&self, from: MovedState, to: &str) -> Result<Instance, Failure> {
        let entry = self.service.resource(to)?;
        let request = pb::move_resource_state::Request {
            source_provider_address: from.provider,
            source_type_name: from.type_name,
            source_schema_version: from.version,
            source_state: Some(raw(&from.state)),
            target_type_name: to.to_owned(),
            ..Default::default()
        };
        let answer = ask!(self, move_resource_state, request)?;
        accepted(answer.diagnostics)?;
        Ok(Instance {
            type_name: to.to_owned(),
            value: codec::decode(answer.target_state, &entry.ty)?,
            private: answer.target_private.to_vec(),
            identity: identity_of(&entry, answer.target_identity)?,
            tainted: false,
        })
    }
}

fn raw(json: &Json) -> pb::RawState {
    pb::RawState {
        json: json.to_string().into_bytes().into(),
        ..Default::default()
    }
}
