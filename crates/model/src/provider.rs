//! Provider addresses (`host/namespace/type`) and names of provider configurations.

use dependency::{DEFAULT_HOST, DEFAULT_HOSTS};
use lang::addr::{InstanceKey, ModulePath};
use std::fmt;
use std::sync::Arc;

pub use dependency::BUILTIN_PROVIDER;

/// Expands a source as written to a full address: `aws`, `hashicorp/aws`, `example.com/acme/thing`.
pub fn full_address(source: &str) -> String {
    // Addresses are compared as text, so they are normalized to lower case.
    match source.split('/').count() {
        1 if source == "terraform" => BUILTIN_PROVIDER.to_owned(),
        1 => format!("{DEFAULT_HOST}/hashicorp/{}", source.to_lowercase()),
        2 => format!("{DEFAULT_HOST}/{}", source.to_lowercase()),
        _ => source.to_lowercase(),
    }
}

/// Returns the address without a default host, for display.
pub fn short_provider(address: &str) -> &str {
    match address.split_once('/') {
        // States of OpenTofu and Terraform name different default hosts.
        Some((host, rest)) if DEFAULT_HOSTS.contains(&host) => rest,
        _ => address,
    }
}

/// Provider configuration: its block, or an implied empty one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConfigKey {
    /// Full provider address.
    pub address: Arc<str>,
    /// Module of the block.
    pub module: ModulePath,
    pub alias: Option<Arc<str>>,
    /// Instance, if the block has `for_each`.
    pub instance: Option<Arc<str>>,
}

impl fmt::Display for ConfigKey {
    /// Writes it as in state version 4.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.module.is_root() {
            write!(f, "{}.", self.module)?;
        }
        write!(f, "provider[\"{}\"]", self.address)?;
        if let Some(alias) = &self.alias {
            write!(f, ".{alias}")?;
        }
        match &self.instance {
            Some(key) => write!(f, "{}", InstanceKey::Str(key.clone())),
            None => Ok(()),
        }
    }
}

impl ConfigKey {
    /// Returns the root's default configuration, declared or not.
    pub fn of_root(address: impl Into<Arc<str>>) -> Self {
        Self {
            address: address.into(),
            module: ModulePath::default(),
            alias: None,
            instance: None,
        }
    }

    /// Parses the form of state version 4; `None` if it is something else.
    pub fn parse(text: &str) -> Option<Self> {
        let at = text.find("provider[\"")?;
        let module = text[..at].trim_end_matches('.');
        let module: lang::addr::ModuleInstance = module.parse().ok()?;
        let rest = &text[at + "provider[\"".len()..];
        let (address, after) = rest.split_once("\"]")?;
        let (alias, instance) = match after.split_once('[') {
            // A key has the same syntax as that of a resource instance.
            Some((alias, key)) => {
                // Parsed as part of an arbitrary address, to reuse the syntax of keys.
                let of_anything: lang::addr::AbsInstance = format!("a.a[{key}").parse().ok()?;
                let InstanceKey::Str(key) = of_anything.key else {
                    return None;
                };
                (alias, Some(key))
            }
            None => (after, None),
        };
        Some(Self {
            address: address.into(),
            module: module.path(),
            alias: alias.strip_prefix('.').map(Arc::from),
            instance,
        })
    }

    /// Returns the block of an instance.
    #[must_use]
    pub fn block(&self) -> Self {
        Self {
            instance: None,
            ..self.clone()
        }
    }

    /// Returns an instance of the block.
    #[must_use]
    pub fn with_instance(&self, key: Option<Arc<str>>) -> Self {
        Self {
            instance: key,
            ..self.clone()
        }
    }
}

/// Providers that a configuration and a state need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredProviders {
    /// Providers of the root module.
    pub configuration: ModuleProviders,
    /// Addresses in the state.
    pub state: Vec<String>,
}

/// Providers that a module and its calls need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleProviders {
    /// Addresses with their normalized version constraints.
    pub providers: Vec<(String, String)>,
    /// By name of the call.
    pub calls: Vec<(String, ModuleProviders)>,
}

impl RequiredProviders {
    /// Returns true if the provider is needed.
    pub fn names(&self, address: &str) -> bool {
        self.configuration.names(address) || self.state.iter().any(|a| a == address)
    }
}

impl ModuleProviders {
    fn names(&self, address: &str) -> bool {
        self.providers.iter().any(|(a, _)| a == address)
            || self.calls.iter().any(|(_, called)| called.names(address))
    }
}
