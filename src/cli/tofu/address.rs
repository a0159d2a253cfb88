//! The address of a resource instance in its parts, as OpenTofu's lines have them.

use lang::addr::{AbsInstance, InstanceKey, ModuleInstance};
use serde_json::{Value, json};

/// An instance.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    /// The whole of it.
    pub(super) address: String,
    module: String,
    /// Without the module.
    resource: String,
    kind: String,
    name: String,
    key: Value,
}

impl Resource {
    /// Of an address as the engine writes it; one that is none stands for itself.
    pub(super) fn of(address: &str) -> Self {
        match address.parse::<AbsInstance>() {
            Ok(parsed) => Self {
                address: address.to_owned(),
                module: parsed.module.to_string(),
                resource: AbsInstance {
                    module: ModuleInstance::root(),
                    ..parsed.clone()
                }
                .to_string(),
                kind: parsed.resource.kind.to_string(),
                name: parsed.resource.name.to_string(),
                key: match &parsed.key {
                    InstanceKey::None => Value::Null,
                    InstanceKey::Int(n) => json!(n),
                    InstanceKey::Str(text) => json!(&**text),
                },
            },
            Err(_) => Self {
                address: address.to_owned(),
                module: String::new(),
                resource: address.to_owned(),
                kind: String::new(),
                name: String::new(),
                key: Value::Null,
            },
        }
    }

    /// As the lines have it.
    pub(super) fn json(&self) -> Value {
        let provider = self.kind.split('_').next().unwrap_or_default();
        json!({
            "addr": self.address,
            "module": self.module,
            "resource": self.resource,
            "implied_provider": provider,
            "resource_type": self.kind,
            "resource_name": self.name,
            "resource_key": self.key,
        })
    }
}
