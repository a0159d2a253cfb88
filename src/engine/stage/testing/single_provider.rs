//! A provider in this process as the only one of a walk, with helpers for its objects. Planning and
//! deploys have each their provider; both are used through this.

use crate::stage::walk::Providers;
use async_trait::async_trait;
use calls::{CallContext, LinkEnd, ProviderError};
use cty::{Type, Value};
use model::ConfigKey;
use model::bus::{Bus, EventSink};
use model::secrets::Secrets;
use provider::Provider;
use provider::functions::Functions;
use std::sync::Arc;

/// Source of one provider: all configurations share it.
pub struct SingleProvider {
    provider: Arc<dyn Provider>,
    bus: Bus,
    secrets: Secrets,
}

impl SingleProvider {
    pub fn new(provider: Arc<dyn Provider>, bus: Bus) -> Self {
        let secrets = EventSink::secrets(&bus);
        Self {
            provider,
            bus,
            secrets,
        }
    }
}

#[async_trait]
impl Providers for SingleProvider {
    async fn unconfigured(
        &self,
        _: &str,
        _: &CallContext,
    ) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(self.provider.clone())
    }

    async fn configured(
        &self,
        _: &ConfigKey,
        _: &Value,
        _: &CallContext,
    ) -> Result<(Arc<dyn Provider>, bool), ProviderError> {
        Ok((self.provider.clone(), false))
    }

    fn functions(&self) -> Functions {
        Functions::default()
    }

    fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    fn sink(&self) -> &dyn EventSink {
        &self.bus
    }
}

/// Returns a string attribute of an object, if it is known.
pub fn text(object: &Value, name: &str) -> Option<String> {
    object.get_attr(name)?.as_str().map(str::to_owned)
}

/// Replaces attributes of an object; names that it does not have are ignored.
pub fn with(object: &Value, changed: &[(&str, Value)]) -> Value {
    let all = object.as_map().expect("an object").iter();
    Value::object_from_map(all.map(|(name, value)| {
        let new = changed.iter().find(|(changed, _)| **changed == **name);
        (name.clone(), new.map_or(value, |(_, new)| new).clone())
    }))
}

pub fn unknown() -> Value {
    Value::unknown(Type::String)
}

/// Returns the id of a link: the ids of the objects at its ends, `a1-b1`; `None` if one is unknown.
pub fn link_id(ctx: &CallContext) -> Option<String> {
    let ends = ctx.linked.as_ref()?.ends.as_ref()?;
    let id = |end: &LinkEnd| match (&end.after, &end.state_entry) {
        (Some(after), _) => text(after, "id"),
        (None, Some(held)) => {
            let json: serde_json::Value = serde_json::from_str(&held.attributes).ok()?;
            Some(json["id"].as_str()?.to_owned())
        }
        (None, None) => None,
    };
    let [from, to] = [id(&ends[0])?, id(&ends[1])?];
    Some(format!("{from}-{to}"))
}
