//! Parts of a resource instance's address (module, type, name, key) in OpenTofu's JSON lines.

use lang::addr::{AbsInstance, InstanceKey, ModuleInstance};
use serde_json::{Value, json};

/// Resource instance.
#[derive(Debug, Clone)]
pub(super) struct Resource {
    /// Complete address.
    pub(super) address: String,
    module: String,
    /// Address without the module.
    resource: String,
    kind: String,
    name: String,
    key: Value,
}

impl Resource {
    /// Parses an address. Text that is no address becomes the address itself, without parts.
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

    /// Returns the JSON object of OpenTofu's lines.
    pub(super) fn json(&self) -> Value {
        // By convention, the type starts with the local name of its provider.
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
